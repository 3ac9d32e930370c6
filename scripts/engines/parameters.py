"""Which parameters of a JAX dump are weights: they are called p__<name>__.1, inputs x_<i>_.1.

Standard library only.
"""


def is_weight(name):
    return name.startswith("p__")


def split(parameters, arrays):
    """(weights by their short names, [(input name, dtype, shape)], input arrays by name), the
    inputs in the order of their names."""
    weights, inputs, given = {}, [], {}
    for (name, dtype, shape), values in zip(parameters, arrays):
        if is_weight(name):
            weights[name.removeprefix("p__").split("__.")[0]] = values
        else:
            inputs.append((name, dtype, shape))
            given[name] = values
    inputs.sort()
    return weights, inputs, given
