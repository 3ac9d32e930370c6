#!/usr/bin/env python3
"""Writes the graphs of workloads/blocks/*.hlo, in the spelling JAX gives its HLO dumps.

Standard library only. The YAML files beside the graphs are written by hand: this file knows shapes
and operations, not inputs or tolerances. The graphs are committed; `--check` (run by ctest) fails
when a committed one differs from what this script would write.
"""
import argparse
import pathlib
import sys

BLOCKS = pathlib.Path(__file__).resolve().parent.parent / "workloads" / "blocks"


class Value:
    """One instruction: its name and shape."""

    def __init__(self, name, dtype, dims):
        self.name, self.dtype, self.dims = name, dtype, tuple(dims)

    def shape(self):
        layout = ",".join(str(i) for i in reversed(range(len(self.dims))))
        dims = ",".join(str(d) for d in self.dims)
        return f"{self.dtype}[{dims}]" + (f"{{{layout}}}" if self.dims else "")


def braces(values):
    return "{" + ",".join(str(v) for v in values) + "}"


class Graph:
    """Appends instructions as JAX lowers its primitives (names included)."""

    def __init__(self, name):
        self.name, self.lines, self.parameters = name, [], []
        self.counts, self.regions, self.scalars = {}, [], {}

    def emit(self, hint, dtype, dims, text):
        self.counts[hint] = self.counts.get(hint, 0) + 1
        value = Value(f"{hint}.{self.counts[hint]}", dtype, dims)
        self.lines.append(f"{value.name} = {value.shape()} {text}")
        return value

    def parameter(self, name, dims, dtype="f32"):
        value = self.emit(name, dtype, dims, f"parameter({len(self.parameters)})")
        self.parameters.append(value)
        return value

    def scalar(self, text, dtype="f32"):
        if (text, dtype) not in self.scalars:
            self.scalars[text, dtype] = self.emit("constant", dtype, (), f"constant({text})")
        return self.scalars[text, dtype]

    def fill(self, text, dims, dtype="f32"):
        constant = self.scalar(text, dtype)
        return self.emit("broadcast", dtype, dims, f"broadcast({constant.name}), dimensions={{}}")

    def binary(self, hint, op, a, b):
        assert (a.dtype, a.dims) == (b.dtype, b.dims), (hint, a.dims, b.dims)
        return self.emit(hint, a.dtype, a.dims, f"{op}({a.name}, {b.name})")

    def unary(self, hint, op, a):
        return self.emit(hint, a.dtype, a.dims, f"{op}({a.name})")

    def reshape(self, a, dims, hint="reshape"):
        return self.emit(hint, a.dtype, dims, f"reshape({a.name})")

    def transpose(self, a, order):
        return self.emit("transpose", a.dtype, [a.dims[i] for i in order],
                         f"transpose({a.name}), dimensions={braces(order)}")

    def spread(self, hint, a, dims):
        """Broadcasts `a` (same rank, sizes 1 or equal) to `dims`: three steps, as JAX does it."""
        if a.dims == tuple(dims):
            return a
        every = braces(range(len(dims)))
        a = self.emit(hint, a.dtype, a.dims, f"broadcast({a.name}), dimensions={every}")
        kept = [i for i, d in enumerate(a.dims) if d == dims[i]]
        a = self.emit(hint, a.dtype, [a.dims[i] for i in kept], f"reshape({a.name})")
        return self.emit(hint, a.dtype, dims, f"broadcast({a.name}), dimensions={braces(kept)}")

    def last_axis(self, hint, vector, dims):
        """A vector along the last axis of `dims`."""
        row = self.reshape(vector, [1] * (len(dims) - 1) + [dims[-1]], "broadcast_in_dim")
        return self.spread(hint, row, dims)

    def dot(self, a, b, contract, batch=((), ())):
        (ac, bc), (ab, bb) = contract, batch
        dims = [a.dims[i] for i in ab]
        dims += [d for i, d in enumerate(a.dims) if i not in ab + ac]
        dims += [d for i, d in enumerate(b.dims) if i not in bb + bc]
        text = f"dot({a.name}, {b.name})"
        if ab:
            text += f", lhs_batch_dims={braces(ab)}"
        text += f", lhs_contracting_dims={braces(ac)}"
        if bb:
            text += f", rhs_batch_dims={braces(bb)}"
        return self.emit("dot_general", a.dtype, dims, f"{text}, rhs_contracting_dims={braces(bc)}")

    def region(self, hint, op, dtype="f32"):
        number = len(self.regions)
        name = f"region_{number}.{number + 1}"
        self.regions.append(
            f"{name} {{\n  {hint}.a{number} = {dtype}[] parameter(0)\n"
            f"  {hint}.b{number} = {dtype}[] parameter(1)\n"
            f"  ROOT {hint}.r{number} = {dtype}[] {op}({hint}.a{number}, {hint}.b{number})\n}}\n")
        return name

    def reduce(self, hint, op, init, a):
        """Over the last axis."""
        region, last = self.region(hint, op), len(a.dims) - 1
        return self.emit(hint, a.dtype, a.dims[:-1],
                         f"reduce({a.name}, {self.scalar(init).name}), dimensions={{{last}}}, "
                         f"to_apply={region}")

    def keep_axis(self, a):
        return self.reshape(a, a.dims + (1,), "broadcast_in_dim")

    def dense(self, x, name, size, activation=None):
        weight = self.parameter(f"{name}_w", (x.dims[-1], size))
        bias = self.parameter(f"{name}_b", (size,))
        y = self.dot(x, weight, ((len(x.dims) - 1,), (0,)))
        y = self.binary("add", "add", y, self.last_axis("add", bias, y.dims))
        return activation(y) if activation else y

    def relu(self, x):
        return self.binary("max", "maximum", x, self.fill("0", x.dims))

    def gelu(self, x):
        half = self.binary("mul", "multiply", x, self.fill("0.5", x.dims))
        scaled = self.binary("mul", "multiply", x, self.fill("0.707106769", x.dims))
        erf = self.unary("erf", "erf", scaled)
        return self.binary("mul", "multiply", half,
                           self.binary("add", "add", erf, self.fill("1", x.dims)))

    def sigmoid(self, x):
        e = self.unary("exp", "exponential", self.unary("neg", "negate", x))
        one = self.fill("1", x.dims)
        return self.binary("div", "divide", one, self.binary("add", "add", e, one))

    def softmax(self, x):
        top = self.reduce("reduce_max", "maximum", "-inf", x)
        top = self.binary("max", "maximum", top, self.fill("-inf", top.dims))
        shifted = self.binary("sub", "subtract", x, self.spread("sub", self.keep_axis(top), x.dims))
        e = self.unary("exp", "exponential", shifted)
        total = self.keep_axis(self.reduce("reduce_sum", "add", "0", e))
        return self.binary("div", "divide", e, self.spread("div", total, x.dims))

    def mean(self, x):
        total = self.keep_axis(self.reduce("reduce_sum", "add", "0", x))
        return self.binary("div", "divide", total, self.fill(str(x.dims[-1]), total.dims))

    def layer_norm(self, x, name):
        gain = self.parameter(f"{name}_g", (x.dims[-1],))
        bias = self.parameter(f"{name}_b", (x.dims[-1],))
        centred = self.binary("sub", "subtract", x, self.spread("sub", self.mean(x), x.dims))
        variance = self.mean(self.binary("square", "multiply", centred, centred))
        variance = self.binary("add", "add", variance, self.fill("1e-05", variance.dims))
        scale = self.spread("mul", self.unary("rsqrt", "rsqrt", variance), x.dims)
        y = self.binary("mul", "multiply", centred, scale)
        y = self.binary("mul", "multiply", y, self.last_axis("mul", gain, x.dims))
        return self.binary("add", "add", y, self.last_axis("add", bias, x.dims))

    def take(self, table, indices):
        """table[indices] with negative indices counted from the end, as NumPy means it."""
        zero, rows = self.fill("0", indices.dims, "s32"), str(table.dims[0])
        negative = self.emit("lt", "pred", indices.dims,
                             f"compare({indices.name}, {zero.name}), direction=LT")
        wrapped = self.binary("add", "add", indices, self.fill(rows, indices.dims, "s32"))
        chosen = self.emit("select_n", "s32", indices.dims,
                           f"select({negative.name}, {wrapped.name}, {indices.name})")
        starts = self.reshape(chosen, chosen.dims + (1,), "broadcast_in_dim")
        return self.emit("gather", table.dtype, indices.dims + (table.dims[1],),
                         f"gather({table.name}, {starts.name}), "
                         f"offset_dims={{{len(indices.dims)}}}, "
                         "collapsed_slice_dims={0}, start_index_map={0}, "
                         f"index_vector_dim={len(indices.dims)}, slice_sizes={{1,{table.dims[1]}}}")

    def concatenate(self, values, axis):
        dims = list(values[0].dims)
        dims[axis] = sum(v.dims[axis] for v in values)
        names = ", ".join(v.name for v in values)
        return self.emit("concatenate", values[0].dtype, dims,
                         f"concatenate({names}), dimensions={{{axis}}}")

    def text(self, root):
        assert self.lines[-1].startswith(root.name + " "), "the root must come last"
        shapes = []
        for i, p in enumerate(self.parameters):
            shapes.append((f"/*index={i}*/" if i and i % 5 == 0 else "") + p.shape())
        layout = f"{{({', '.join(shapes)})->{root.shape()}}}"
        body = "".join(f"  {line}\n" for line in self.lines[:-1])
        return (f"HloModule jit_{self.name}, entry_computation_layout={layout}\n\n"
                + "".join(region + "\n" for region in self.regions)
                + f"ENTRY main.{len(self.regions) + 1} {{\n{body}  ROOT {self.lines[-1]}\n}}\n")


def mlp_gelu():
    g = Graph("mlp_gelu")
    x = g.parameter("x", (128, 256))
    hidden = g.dense(x, "up", 1024, g.gelu)
    return g.text(g.dense(hidden, "down", 256))


def conv_relu_pool():
    g = Graph("conv_relu_pool")
    x = g.parameter("x", (1, 56, 56, 32))
    w = g.parameter("conv_w", (3, 3, 32, 64))
    bias = g.parameter("conv_b", (64,))
    y = g.emit("conv_general_dilated", "f32", (1, 56, 56, 64),
               f"convolution({x.name}, {w.name}), window={{size=3x3 pad=1_1x1_1}}, "
               "dim_labels=b01f_01io->b01f")
    y = g.relu(g.binary("add", "add", y, g.last_axis("add", bias, y.dims)))
    region, low = g.region("reduce_window_max", "maximum"), g.scalar("-inf")
    return g.text(g.emit("reduce_window_max", "f32", (1, 28, 28, 64),
                         f"reduce-window({y.name}, {low.name}), window={{size=1x3x3x1 "
                         f"stride=1x2x2x1 pad=0_0x0_1x0_1x0_0}}, to_apply={region}"))


def transformer_layer(batch=1, seq=128, hidden=256, heads=4):
    """A pre-norm encoder layer: attention and a gelu MLP, each with its residual."""
    g, depth = Graph("transformer_layer"), hidden // heads
    x = g.parameter("x", (batch, seq, hidden))

    normed = g.layer_norm(x, "ln1")
    split = []
    for name in "qkv":
        y = g.reshape(g.dense(normed, name, hidden), (batch, seq, heads, depth))
        split.append(g.transpose(y, (0, 2, 1, 3)))
    query, key, value = split
    scores = g.dot(query, key, ((3,), (3,)), ((0, 1), (0, 1)))
    scores = g.binary("mul", "multiply", scores, g.fill(repr(depth ** -0.5), scores.dims))
    mixed = g.dot(g.softmax(scores), value, ((3,), (2,)), ((0, 1), (0, 1)))
    mixed = g.reshape(g.transpose(mixed, (0, 2, 1, 3)), (batch, seq, hidden))
    x = g.binary("add", "add", x, g.dense(mixed, "out", hidden))

    y = g.dense(g.layer_norm(x, "ln2"), "up", 4 * hidden, g.gelu)
    return g.text(g.binary("add", "add", x, g.dense(y, "down", hidden)))


def recommender(batch=128, tables=8, rows=10000, width=32):
    """Embeddings and a dense tower, their pairwise products, and a second tower (as in DLRM)."""
    g = Graph("recommender")
    dense = g.parameter("dense", (batch, 13))
    sparse = g.parameter("sparse", (batch, tables), "s32")
    bottom = g.dense(g.dense(dense, "bottom0", 64, g.relu), "bottom1", width, g.relu)
    features = [g.reshape(bottom, (batch, 1, width))]
    for t in range(tables):
        table = g.parameter(f"table{t}", (rows, width))
        column = g.emit("slice", "s32", (batch, 1),
                        f"slice({sparse.name}), slice={{[0:{batch}], [{t}:{t + 1}]}}")
        features.append(g.take(table, column))
    stacked, count = g.concatenate(features, 1), tables + 1
    pairs = g.dot(stacked, stacked, ((2,), (2,)), ((0,), (0,)))
    flat = g.reshape(pairs, (batch, count * count))
    lower = [i * count + j for i in range(count) for j in range(i)]
    literal = "{ " + ", ".join(f"{{{p}}}" for p in lower) + " }"
    picked = g.emit("constant", "s32", (len(lower), 1), f"constant({literal})")
    products = g.emit("gather", "f32", (batch, len(lower)),
                      f"gather({flat.name}, {picked.name}), offset_dims={{0}}, "
                      "collapsed_slice_dims={1}, start_index_map={1}, index_vector_dim=1, "
                      f"slice_sizes={{{batch},1}}")
    top = g.concatenate([bottom, products], 1)
    top = g.dense(g.dense(top, "top0", 128, g.relu), "top1", 64, g.relu)
    return g.text(g.sigmoid(g.dense(top, "top2", 1)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    check, stale = parser.parse_args().check, []
    for make in (mlp_gelu, conv_relu_pool, transformer_layer, recommender):
        path, text = BLOCKS / f"{make.__name__}.hlo", make()
        if not check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(str(path))
    if stale:
        print("differs from scripts/make_workloads.py: " + ", ".join(stale))
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
