"""What the whole models are made of, whichever library spells them: how often each layer comes,
what its weights are called, how wide and how far it strides. Not here: how a library says it.

Standard library only.
"""
BERT_HEADS, BERT_HEAD_WIDTH = 12, 64
LAYER_NORM_EPSILON = 1e-12
MASKED = -1e9   # added to the score of what must not be attended
BATCH_NORM_EPSILON = 1e-5
DLRM_BOTTOM, DLRM_TOP = ("b0", "b1", "b2"), ("u0", "u1", "u2")


def bert_layers(weights):
    """How many; layer i's weights are called `i`_..."""
    return sum(name.endswith("_q_w") for name in weights)


def resnet50_blocks():
    """(name, stride of the second convolution and of the shortcut, whether the shortcut has one)"""
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for block in range(blocks):
            yield f"s{stage}b{block}", 2 if stage > 0 and block == 0 else 1, block == 0


def dlrm_pairs(count):
    """Where a flat count x count matrix of products holds those of two different vectors, once."""
    return [i * count + j for i in range(count) for j in range(i)]
