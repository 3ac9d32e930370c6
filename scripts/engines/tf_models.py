"""The whole models in TensorFlow, as its users write them: NHWC, the library's own batch
normalization, softmax and GELU. The weights are tensors the program captures, as a Keras model's
are: TensorFlow neither folds nor packs them. Each function of FAMILIES takes them by name and
returns the program, a function of the inputs in name order.

Needs tensorflow; the caller gives the arrays, so that the bytes are those of every engine.
"""
import tensorflow as tf

import architectures


def _dense(w, x, name):
    return tf.nn.bias_add(tf.matmul(x, w[name + "_w"]), w[name + "_b"])


def _layer_norm(w, x, name):
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return tf.nn.batch_normalization(x, mean, variance, w[name + "_b"], w[name + "_g"],
                                     architectures.LAYER_NORM_EPSILON)


def _linear(w, x, name):
    """A dense layer of (batch, length, width) rows; one product, as Keras does it."""
    rows = _dense(w, tf.reshape(x, [-1, x.shape[-1]]), name)
    return tf.reshape(rows, [*x.shape[:-1], rows.shape[-1]])


def _bert_layer(w, x, mask, i):
    heads, width = architectures.BERT_HEADS, architectures.BERT_HEAD_WIDTH
    batch, length, _ = x.shape

    def split(name):
        y = tf.reshape(_linear(w, x, f"{i}_{name}"), [batch, length, heads, width])
        return tf.transpose(y, [0, 2, 1, 3])

    scores = tf.matmul(split("q"), split("k"), transpose_b=True) * width ** -0.5
    mixed = tf.matmul(tf.nn.softmax(scores + mask), split("v"))
    mixed = tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [batch, length, heads * width])
    x = _layer_norm(w, x + _linear(w, mixed, f"{i}_o"), f"{i}_ln1")
    hidden = tf.nn.gelu(_linear(w, x, f"{i}_f1"), approximate=False)
    return _layer_norm(w, x + _linear(w, hidden, f"{i}_f2"), f"{i}_ln2")


def bert(w):
    def program(tokens, segments, attended):
        x = tf.gather(w["tok"], tokens) + tf.gather(w["seg"], segments)
        x = _layer_norm(w, x + w["pos"][:tokens.shape[1]], "ln")
        mask = (1 - tf.cast(attended, tf.float32)) * architectures.MASKED
        mask = mask[:, None, None, :]
        for i in range(architectures.bert_layers(w)):
            x = _bert_layer(w, x, mask, i)
        return [x, tf.tanh(_dense(w, x[:, 0], "pool"))]

    return program


def _conv(w, x, name, stride=1, relu=True):
    weight = w[name + "_w"]
    pad = weight.shape[0] // 2
    y = tf.nn.conv2d(x, weight, stride, [[0, 0], [pad, pad], [pad, pad], [0, 0]])
    y, *_ = tf.compat.v1.nn.fused_batch_norm(
        y, w[name + "_g"], w[name + "_b"], mean=w[name + "_m"], variance=w[name + "_v"],
        epsilon=architectures.BATCH_NORM_EPSILON, is_training=False)
    return tf.nn.relu(y) if relu else y


def resnet50(w):
    def program(image):
        x = _conv(w, image, "stem", stride=2)
        x = tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]])   # zeros: after relu as good as -inf
        x = tf.nn.max_pool2d(x, 3, 2, "VALID")
        for name, stride, projects in architectures.resnet50_blocks():
            y = _conv(w, x, name + "c1")
            y = _conv(w, y, name + "c2", stride=stride)
            y = _conv(w, y, name + "c3", relu=False)
            kept = _conv(w, x, name + "d", stride=stride, relu=False) if projects else x
            x = tf.nn.relu(y + kept)
        return [_dense(w, tf.reduce_mean(x, [1, 2]), "fc")]

    return program


def dlrm(w):
    def program(dense, sparse):
        bottom = dense
        for name in architectures.DLRM_BOTTOM:
            bottom = tf.nn.relu(_dense(w, bottom, name))
        rows = [bottom] + [tf.gather(w[f"t{t}"], sparse[:, t]) for t in range(sparse.shape[1])]
        stacked = tf.stack(rows, 1)
        products = tf.matmul(stacked, stacked, transpose_b=True)
        count = len(rows)
        products = tf.reshape(products, [-1, count * count])
        chosen = tf.gather(products, architectures.dlrm_pairs(count), axis=1)
        top = tf.concat([bottom, chosen], 1)
        *hidden, last = architectures.DLRM_TOP
        for name in hidden:
            top = tf.nn.relu(_dense(w, top, name))
        return [tf.sigmoid(_dense(w, top, last))]

    return program


FAMILIES = {"bert": bert, "resnet50": resnet50, "dlrm": dlrm}
