"""Cases by what they need most, the rarest need first."""

from __future__ import annotations

from onnx import GraphProto, ModelProto, NodeProto, TensorProto

OPERATORS = {
    "training": ("Adagrad", "Adam", "Momentum", "Gradient", "Dropout"),
    "image files": ("ImageDecoder",),
    "strings": (
        "StringConcat", "StringNormalizer", "StringSplit", "RegexFullMatch", "TfIdfVectorizer",
    ),
    "sequences, optionals": (
        "SequenceMap", "SequenceEmpty", "SequenceConstruct", "SequenceInsert", "SequenceAt",
        "SequenceErase", "SequenceLength", "SplitToSequence", "ConcatFromSequence",
        "OptionalHasElement", "OptionalGetElement",
    ),
    "data-dependent sizes": ("NonZero", "Compress", "Unique", "NonMaxSuppression"),
    "recurrent": ("LSTM", "GRU", "RNN"),
    "attention, rotary, RMS norm": (
        "Attention", "RotaryEmbedding", "RMSNormalization", "FlexAttention", "LinearAttention",
        "CausalConvWithState",
    ),
    "control flow": ("If", "Loop", "Scan"),
    "quantisation": (
        "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "QLinearConv",
        "QLinearMatMul", "MatMulInteger", "ConvInteger",
    ),
    "resampling, signals, random": (
        "Resize", "Upsample", "GridSample", "AffineGrid", "RoiAlign", "DeformConv", "Einsum",
        "BitCast", "DFT", "STFT", "MelWeightMatrix", "HannWindow", "HammingWindow",
        "BlackmanWindow", "Bernoulli", "RandomUniformLike", "Det", "Col2Im",
    ),
}  # fmt: skip
NARROW = (17, 18, 19, 20, 21, 22, 23, 24, 25, 26)
"""ONNX's numbers of types of 8 bits and fewer that are no plain integers."""


def group(name: str, model: ModelProto) -> str:
    """The group of a case."""
    kinds = {each.op_type for each in nodes(model.graph)}
    values = [*model.graph.input, *model.graph.output]
    types = {each.type.tensor_type.elem_type for each in values}
    if any(each.domain == "ai.onnx.ml" for each in model.graph.node):
        return "ai.onnx.ml"
    if types & set(NARROW):
        return "narrow types"
    if TensorProto.STRING in types:
        return "strings"
    if "_expanded" in name:
        return "expanded functions"
    found = [title for title, operators in OPERATORS.items() if kinds & set(operators)]
    return found[0] if found else "plain operators"


def nodes(graph: GraphProto) -> list[NodeProto]:
    """The nodes of a graph and of those inside it."""
    found = list(graph.node)
    for node in graph.node:
        for attribute in node.attribute:
            found += nodes(attribute.g)
    return found
