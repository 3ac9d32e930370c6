"""The whole models as ONNX, in the form an exporter writes them, which is the form the engines'
optimizers look for: NCHW convolutions with BatchNormalization, LayerNormalization, Softmax, erf
GELU, Gather. Weights are initializers, so an engine may fold and pack them. The graph's inputs are
those parameters of the HLO that are not weights, in its own types and layouts.

Needs numpy and onnx; the caller gives the arrays, so that the bytes are those of every engine.
"""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import architectures
import parameters as names

OPSET = 17
_TYPES = {"f32": TensorProto.FLOAT, "s32": TensorProto.INT32}


class Graph:
    """Collects nodes; every method returns the name of its result."""

    def __init__(self, weights):
        self.weights, self.nodes, self.initializers = weights, [], {}

    def op(self, kind, *inputs, **attributes):
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def constant(self, values, dtype=np.float32):
        values = np.asarray(values, dtype)
        name = f"constant_{len(self.initializers)}"
        self.initializers[name] = values
        return name

    def weight(self, name, change=None):
        """A parameter as an initializer; `change` lays it out as ONNX wants it."""
        values = self.weights[name]
        self.initializers[name] = np.ascontiguousarray(change(values)) if change else values
        return name

    def shape(self, *dims):
        return self.constant(dims, np.int64)

    def linear(self, x, weight, bias):
        return self.op("Add", self.op("MatMul", x, self.weight(weight)), self.weight(bias))

    def model(self, inputs, outputs):
        """`inputs`: (name, dtype, shape); `outputs`: names, of f32."""
        given = [helper.make_tensor_value_info(n, _TYPES[d], s) for n, d, s in inputs]
        results = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs]
        graph = helper.make_graph(self.nodes, "model", given, results, [
            numpy_helper.from_array(values, name) for name, values in self.initializers.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        model.ir_version = 8
        return model


def _bert_layer(g, x, mask, i, batch, length):
    heads, width = architectures.BERT_HEADS, architectures.BERT_HEAD_WIDTH

    def split(name, order):
        y = g.linear(x, f"{i}_{name}_w", f"{i}_{name}_b")
        y = g.op("Reshape", y, g.shape(batch, length, heads, width))
        return g.op("Transpose", y, perm=order)

    query, key = split("q", [0, 2, 1, 3]), split("k", [0, 2, 3, 1])
    scores = g.op("Mul", g.op("MatMul", query, key), g.constant(width ** -0.5))
    shares = g.op("Softmax", g.op("Add", scores, mask), axis=-1)
    mixed = g.op("Transpose", g.op("MatMul", shares, split("v", [0, 2, 1, 3])), perm=[0, 2, 1, 3])
    mixed = g.op("Reshape", mixed, g.shape(batch, length, heads * width))
    x = g.op("Add", x, g.linear(mixed, f"{i}_o_w", f"{i}_o_b"))
    x = _layer_norm(g, x, f"{i}_ln1")
    hidden = g.linear(x, f"{i}_f1_w", f"{i}_f1_b")
    erf = g.op("Erf", g.op("Div", hidden, g.constant(2 ** 0.5)))
    gelu = g.op("Mul", g.op("Mul", hidden, g.op("Add", erf, g.constant(1))), g.constant(0.5))
    x = g.op("Add", x, g.linear(gelu, f"{i}_f2_w", f"{i}_f2_b"))
    return _layer_norm(g, x, f"{i}_ln2")


def _layer_norm(g, x, name):
    return g.op("LayerNormalization", x, g.weight(name + "_g"), g.weight(name + "_b"), axis=-1,
                epsilon=architectures.LAYER_NORM_EPSILON)


def bert(g, inputs):
    (tokens, segments, attended), (batch, length) = [n for n, _, _ in inputs], inputs[0][2]
    x = g.op("Add", g.op("Gather", g.weight("tok"), tokens),
             g.op("Gather", g.weight("seg"), segments))
    x = g.op("Add", x, g.weight("pos", lambda w: w[None, :length]))
    x = _layer_norm(g, x, "ln")
    mask = g.op("Cast", attended, to=TensorProto.FLOAT)
    mask = g.op("Mul", g.op("Sub", g.constant(1), mask), g.constant(architectures.MASKED))
    mask = g.op("Reshape", mask, g.shape(batch, 1, 1, length))
    for i in range(architectures.bert_layers(g.weights)):
        x = _bert_layer(g, x, mask, i, batch, length)
    first = g.op("Gather", x, g.constant(0, np.int64), axis=1)
    return [x, g.op("Tanh", g.linear(first, "pool_w", "pool_b"))]


def _conv(g, x, name, stride=1, relu=True):
    size = g.weights[name + "_w"].shape[0]
    weight = g.weight(name + "_w", lambda w: w.transpose(3, 2, 0, 1))
    y = g.op("Conv", x, weight, kernel_shape=[size, size], strides=[stride, stride],
             pads=[size // 2] * 4)
    y = g.op("BatchNormalization", y, *(g.weight(f"{name}_{p}") for p in "gbmv"),
             epsilon=architectures.BATCH_NORM_EPSILON)
    return g.op("Relu", y) if relu else y


def resnet50(g, inputs):
    x = g.op("Transpose", inputs[0][0], perm=[0, 3, 1, 2])
    x = _conv(g, x, "stem", stride=2)
    x = g.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for name, stride, projects in architectures.resnet50_blocks():
        y = _conv(g, x, name + "c1")
        y = _conv(g, y, name + "c2", stride=stride)
        y = _conv(g, y, name + "c3", relu=False)
        kept = _conv(g, x, name + "d", stride=stride, relu=False) if projects else x
        x = g.op("Relu", g.op("Add", y, kept))
    x = g.op("Flatten", g.op("GlobalAveragePool", x))
    return [g.op("Gemm", x, g.weight("fc_w"), g.weight("fc_b"))]


def _tower(g, x, names, last_relu):
    for i, name in enumerate(names):
        x = g.op("Gemm", x, g.weight(name + "_w"), g.weight(name + "_b"))
        if last_relu or i + 1 < len(names):
            x = g.op("Relu", x)
    return x


def dlrm(g, inputs):
    (dense, _, (batch, _)), (sparse, _, (_, tables)) = inputs
    bottom = _tower(g, dense, architectures.DLRM_BOTTOM, last_relu=True)
    width = g.weights[architectures.DLRM_BOTTOM[-1] + "_b"].size
    rows = [g.op("Reshape", bottom, g.shape(batch, 1, width))]
    for t in range(tables):
        index = g.op("Gather", sparse, g.constant([t], np.int64), axis=1)
        rows.append(g.op("Gather", g.weight(f"t{t}"), index))
    stacked = g.op("Concat", *rows, axis=1)
    products = g.op("MatMul", stacked, g.op("Transpose", stacked, perm=[0, 2, 1]))
    count = tables + 1
    pairs = architectures.dlrm_pairs(count)
    products = g.op("Reshape", products, g.shape(batch, count * count))
    chosen = g.op("Gather", products, g.constant(pairs, np.int64), axis=1)
    top = g.op("Concat", bottom, chosen, axis=1)
    top = _tower(g, top, architectures.DLRM_TOP, last_relu=False)
    return [g.op("Sigmoid", top)]


FAMILIES = {"bert": bert, "resnet50": resnet50, "dlrm": dlrm}


def build(family, parameters, arrays):
    """The model and its input arrays by name."""
    weights, inputs, given = names.split(parameters, arrays)
    graph = Graph(weights)
    outputs = FAMILIES[family](graph, inputs)
    unused = set(weights) - set(graph.initializers)
    if unused:
        raise ValueError(f"the ONNX form does not use {sorted(unused)[:3]}")
    # The outputs' shapes follow from the nodes; the checker wants them written down.
    model = onnx.shape_inference.infer_shapes(graph.model(inputs, outputs))
    onnx.checker.check_model(model)
    return model, given
