"""The single ideas of the performance table: each is one JAX function and what it is called with.

Its HLO text is lowered from the function (`lowered`), so that our engines and XLA run one program,
and JAX op by op runs the function itself. A new idea is a function and a row of IDEAS.

To declare them needs the standard library only; the functions get the `jax` module as their first
argument, because only the private environment has it.
"""
import dataclasses

SQUARE = (4096, 4096)
EPSILON = 1e-5
# So many that launching is nothing beside them; no multiple of 2n and not one more, so that a loop
# that is not run, or once only, gives another result.
TRIPS = 10_003


@dataclasses.dataclass(frozen=True)
class Idea:
    """`inputs`: (dtype, shape, override as in workloads/INPUTS.md) of each argument."""
    name: str
    function: object
    inputs: tuple


def _roll_stencil(jax, x):
    for _ in range(10):
        x = 0.2 * (x + jax.numpy.roll(x, 1, 0) + jax.numpy.roll(x, -1, 0)
                   + jax.numpy.roll(x, 1, 1) + jax.numpy.roll(x, -1, 1))
    return x


def _elementwise(jax, x):
    x = jax.numpy.abs(x * 1.25 + 0.5)
    x = jax.numpy.maximum(jax.numpy.sqrt(x) - 0.75, -0.5)
    return -(jax.numpy.minimum(x * x, 2.0) / 1.75)


def _softmax(jax, x):
    powers = jax.numpy.exp(x - jax.numpy.max(x, axis=-1, keepdims=True))
    return powers / jax.numpy.sum(powers, axis=-1, keepdims=True)


def _layer_norm(jax, x, scale, shift):
    centred = x - jax.numpy.mean(x, axis=-1, keepdims=True)
    variance = jax.numpy.mean(centred * centred, axis=-1, keepdims=True)
    return centred * jax.lax.rsqrt(variance + EPSILON) * scale + shift


def _sum_squares(axis):
    return lambda jax, x: jax.numpy.sum(x * x, axis=axis)


def _scatter_add(_, x, indices, updates):
    return x.at[indices].add(updates)


def _dot_loop(jax, x, matrix):
    return jax.lax.fori_loop(0, TRIPS, lambda _, carry: carry @ matrix, x)


def _signed_shift(n):
    """Moves every column by one and turns the sign of the last: its products are exact in any
    order, so that no rounding piles up and the carry never shrinks to subnormal numbers, whose
    arithmetic is another measurement; only after 2n trips is it where it was."""
    values = [0] * (n * n)
    for i in range(n):
        values[i * n + (i + 1) % n] = 1 if i + 1 < n else -1
    return {"kind": "values", "values": values}


_X = ("f32", SQUARE, {"scale": 2.0})
IDEAS = (
    Idea("roll_stencil", _roll_stencil, (("f32", (2048, 2048), {}),)),
    Idea("elementwise", _elementwise, (("f32", (1 << 24,), {"scale": 2.0}),)),
    Idea("softmax", _softmax, (_X,)),
    Idea("layer_norm", _layer_norm,
         (_X, ("f32", SQUARE[1:], {"kind": "range", "low": 0.5, "high": 1.5}),
          ("f32", SQUARE[1:], {}))),
    Idea("sum_squares_0", _sum_squares(0), (_X,)),
    Idea("sum_squares_1", _sum_squares(1), (_X,)),
    Idea("scatter_add", _scatter_add,
         (("f32", (100_000,), {}),
          ("s32", (1_000_000,), {"kind": "int", "low": 0, "high": 100_000}),
          ("f32", (1_000_000,), {}))),
    *(Idea(f"dot_loop_{n}", _dot_loop, (("f32", (n, n), {}), ("f32", (n, n), _signed_shift(n))))
      for n in (2, 4, 8, 16)),
)
BY_NAME = {idea.name: idea for idea in IDEAS}


def bound(name):
    """(the function of its arguments alone, the arguments' shapes), for JAX."""
    import jax  # pylint: disable=import-outside-toplevel
    jax.config.update("jax_platforms", "cpu")
    idea = BY_NAME[name]

    def function(*arguments):
        return idea.function(jax, *arguments)

    function.__name__ = name
    return function, [jax.ShapeDtypeStruct(shape, {"f32": "float32", "s32": "int32"}[dtype])
                      for dtype, shape, _ in idea.inputs]


def lowered(name):
    """The program as HLO text, as JAX gives it to XLA."""
    import jax  # pylint: disable=import-outside-toplevel
    function, shapes = bound(name)
    return jax.jit(function).lower(*shapes).compiler_ir("hlo").as_hlo_text()
