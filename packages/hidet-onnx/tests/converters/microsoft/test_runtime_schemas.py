"""Every operator of `com.microsoft` is converted as its schema says, or accounted for."""

from __future__ import annotations

from inspect import Parameter, signature
from typing import Any

import pytest
from onnx import AttributeProto, helper

pytest.importorskip("onnxruntime")

from onnxruntime.capi import onnxruntime_pybind11_state as state

from hidet_onnx.converters import load, table

load()
SCHEMAS = {each.name: each for each in state.get_all_operator_schema()
           if each.domain == "com.microsoft"}  # fmt: skip
CONVERTED = sorted(name for domain, name in table if domain == "com.microsoft")


def default_of(attribute: Any) -> Any:
    """What a schema says an attribute is by default; None if it says nothing."""
    if not attribute._default_value:
        return None
    found = helper.get_attribute_value(AttributeProto.FromString(attribute._default_value))
    return found.decode() if isinstance(found, bytes) else found


@pytest.mark.parametrize("name", CONVERTED)
def test_attributes_and_operands_are_the_schemas(name: str) -> None:
    schema, convert = SCHEMAS[name], table.find(("com.microsoft", name), 1)
    assert convert is not None
    each = signature(convert).parameters.values()
    named = {one.name: one for one in each if one.kind is Parameter.KEYWORD_ONLY}
    operands = [one for one in each if one.kind is Parameter.POSITIONAL_OR_KEYWORD]
    assert schema.attributes.keys() <= named.keys()
    for key, attribute in schema.attributes.items():
        given, default = named[key].default, default_of(attribute)
        assert (given is Parameter.empty) == attribute.required, key
        if default is not None:
            assert given == (pytest.approx(default) if isinstance(default, float) else default), key
    is_variadic = any(one.kind is Parameter.VAR_POSITIONAL for one in each)
    assert is_variadic or len(operands) >= len(schema.inputs)
    for one, formal in zip(operands, schema.inputs, strict=False):
        if "Optional" in str(formal.option):
            assert "None" in one.annotation, f"{formal.name} may be left out"


def test_every_operator_is_converted_or_listed() -> None:
    listed = {name for names in MISSING.values() for name in names.split()}
    assert SCHEMAS.keys() - {*CONVERTED} == listed


MISSING = {
    "searches, which run a model's decoder as often as they need": """
        BeamSearch GreedySearch Sampling WhisperBeamSearch BifurcationDetector NGramRepeatBlock
        NGramHashMapping VarlenNGramHashMapping SpeculativePrefixCommit""",
    "other compilers' parts of a model": "EPContext Snpe",
    "strings, and hashes of them": "Tokenizer MurmurHash3 WordConvEmbedding",
    "sparse tensors": "SparseToDenseMatMul",
    "samples packed without padding, and pages of caches": """
        PackedMultiHeadAttention RemovePadding RestorePadding PagedAttention
        SparsePagedAttention VarlenCausalConvWithState""",
    "layouts and number formats of one kernel": """
        QOrderedAttention QOrderedGelu QOrderedLayerNormalization QOrderedLongformerAttention
        QOrderedMatMul QuantizeWithOrder DequantizeWithOrder QuantizeBFP DequantizeBFP MatMulFpQ4
        MatMulPacked MoEPacked GatherPacked GemmFloat8 MatMulBlockQuantizedFp4Weight
        MatMulBlockQuantizedFp8Weight MatMulNBitsMlp MatMulNBitsQLoRA MatMulNBitsQkv""",
    "attention of single networks": """
        AttnLSTM DecoderAttention DecoderMaskedSelfAttention LongformerAttention SparseAttention
        DynamicSparseAttention SparseAttentionIndexer PackedSparseAttentionIndexer
        PackedSparseAttentionIndexerMerge GatedRelativePositionBias RelativePositionBias
        GemmaRotaryEmbedding MRotaryEmbedding RMSNormRotary""",
    "linear attention and state space models": """
        LinearAttention LinearAttentionGate GatedDeltaNet GatedDeltaNetStateReplay Mamba2Verify
        CausalConvWithState ConvStateReplay""",
    "other parts of single networks": """
        BranchwiseRMSNorm EngramGate GatedAdd HyperConnectionLowRankMix HyperConnectionPostMix
        HyperConnectionPreMix MoEGroupRouter RouterGateUpProj DynamicTimeWarping""",
    "seldom written": """
        BitmaskBiasDropout BitmaskDropout IsAllFinite MatMulInteger16 MaxpoolWithMask MulInteger
        ReduceSumInteger SampleOp""",
}
"""Operators without a converter, by why. A model that has one is refused, with the node's name."""
