"""Architectures that people run, as small models of random weights with inputs that fit them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import transformers
from torch import nn

Made = tuple[nn.Module, dict[str, Any]]

TEXT: dict[str, Any] = {
    "vocab_size": 99,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
PICTURE: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "image_size": 32,
    "patch_size": 8,
}


def tokens(rows: int = 2, length: int = 9) -> torch.Tensor:
    """Texts of random tokens."""
    return torch.randint(3, 90, (rows, length))


def built(kind: str, config: str, **sizes: Any) -> nn.Module:
    """The model of a class of transformers."""
    return getattr(transformers, kind)(getattr(transformers, config)(**sizes))


def encoder(stem: str, model: str = "Model", **sizes: Any) -> Callable[[], Made]:
    """A model that reads a text, with padding told by a mask."""

    def make() -> Made:
        mask = torch.ones(2, 9, dtype=torch.int64)
        mask[1, 6:] = 0
        net = built(f"{stem}{model}", f"{stem}Config", **{**TEXT, **sizes})
        return net, {"input_ids": tokens(), "attention_mask": mask}

    return make


def decoder(stem: str, model: str = "ForCausalLM", **sizes: Any) -> Callable[[], Made]:
    """A model that continues a text."""

    def make() -> Made:
        net = built(f"{stem}{model}", f"{stem}Config", **{**TEXT, **sizes})
        return net, {"input_ids": tokens()}

    return make


def pair(stem: str, model: str = "ForConditionalGeneration", **sizes: Any) -> Callable[[], Made]:
    """A model that reads a text and continues another."""

    def make() -> Made:
        net = built(f"{stem}{model}", f"{stem}Config", **sizes)
        return net, {"input_ids": tokens(), "decoder_input_ids": tokens(2, 5)}

    return make


def picture(stem: str, model: str = "Model", *, size: int = 32, **sizes: Any) -> Callable[[], Made]:
    """A model that looks at a picture."""

    def make() -> Made:
        net = built(f"{stem}{model}", f"{stem}Config", **sizes)
        return net, {"pixel_values": torch.randn(1, 3, size, size)}

    return make


def sound(stem: str, model: str = "Model", **sizes: Any) -> Callable[[], Made]:
    """A model that listens to a waveform."""

    def make() -> Made:
        net = built(f"{stem}{model}", f"{stem}Config", **sizes)
        return net, {"input_values": torch.randn(1, 1200)}

    return make


TOWERS: dict[str, Any] = {
    **{"vocab_size": 99, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2},
    **{"encoder_attention_heads": 4, "decoder_attention_heads": 4},
    **{"encoder_ffn_dim": 48, "decoder_ffn_dim": 48},
    **{"pad_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 1},
}
SEQUENCES: dict[str, Any] = {**TOWERS, "max_position_embeddings": 20}
WINDOWS: dict[str, Any] = {
    **{"image_size": 32, "patch_size": 2, "embed_dim": 8},
    **{"depths": [2, 2], "num_heads": [2, 2], "window_size": 4},
}
GROUPED = {"num_key_value_heads": 2}
WAVES: dict[str, Any] = {
    **{name: TEXT[name] for name in list(TEXT)[1:5]},
    "conv_dim": (16, 16),
    "conv_kernel": (10, 3),
    "conv_stride": (5, 2),
    "num_feat_extract_layers": 2,
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
}


def whisper() -> Made:
    """A model that writes down what it hears."""
    config = transformers.WhisperConfig(
        **TOWERS, num_mel_bins=16, max_source_positions=20, max_target_positions=20, bos_token_id=1
    )
    net = transformers.WhisperForConditionalGeneration(config)
    return net, {"input_features": torch.randn(1, 16, 40), "decoder_input_ids": tokens(1, 5)}


def two_towers(stem: str) -> Callable[[], Made]:
    """A model that compares texts with pictures."""

    def make() -> Made:
        text = {**TEXT, "max_position_embeddings": 16}
        config = getattr(transformers, f"{stem}Config")(
            text_config=text, vision_config=PICTURE, projection_dim=16
        )
        net = getattr(transformers, f"{stem}Model")(config)
        given = {"input_ids": tokens(), "pixel_values": torch.randn(2, 3, 32, 32)}
        return net, given

    return make


ARCHITECTURES: dict[str, Callable[[], Made]] = {
    "bert": encoder("Bert"),
    "bert classifier": encoder("Bert", "ForSequenceClassification"),
    "roberta": encoder("Roberta"),
    "xlm-roberta": encoder("XLMRoberta"),
    "distilbert": encoder("DistilBert", dim=32, n_layers=2, n_heads=4, hidden_dim=48),
    "albert": encoder("Albert", embedding_size=16),
    "electra": encoder("Electra", embedding_size=16),
    "deberta-v2": encoder("DebertaV2", relative_attention=True, pos_att_type=["p2c", "c2p"]),
    "mpnet": encoder("MPNet"),
    "modernbert": encoder("ModernBert"),
    "longformer": encoder("Longformer", attention_window=4),
    "xlnet": encoder("XLNet", d_model=32, n_layer=2, n_head=4, d_inner=48),
    "fnet": decoder("FNet", "Model"),
    "gpt2": decoder("GPT2", "LMHeadModel", n_embd=32, n_layer=2, n_head=4),
    "gpt-neo": decoder(
        "GPTNeo", num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]]
    ),
    "gpt-neox": decoder("GPTNeoX"),
    "gpt-j": decoder("GPTJ", n_embd=32, n_layer=2, n_head=4, rotary_dim=4),
    "opt": decoder("OPT", ffn_dim=48, word_embed_proj_dim=32),
    "bloom": decoder("Bloom", n_layer=2, n_head=4),
    "falcon": decoder("Falcon"),
    "mpt": decoder("Mpt", d_model=32, n_heads=4, n_layers=2),
    "codegen": decoder("CodeGen", n_embd=32, n_layer=2, n_head=4, rotary_dim=4),
    "llama": decoder("Llama", **GROUPED),
    "mistral": decoder("Mistral", sliding_window=4, **GROUPED),
    "mixtral": decoder("Mixtral", num_local_experts=4, **GROUPED),
    "qwen2": decoder("Qwen2", **GROUPED),
    "qwen3": decoder("Qwen3", head_dim=8, **GROUPED),
    "qwen2-moe": decoder(
        "Qwen2Moe",
        num_experts=4,
        moe_intermediate_size=16,
        shared_expert_intermediate_size=16,
        **GROUPED,
    ),
    "gemma": decoder("Gemma", head_dim=8, **GROUPED),
    "gemma2": decoder("Gemma2", head_dim=8, sliding_window=4, **GROUPED),
    "phi": decoder("Phi"),
    "phi3": decoder("Phi3", **GROUPED),
    "stablelm": decoder("StableLm", **GROUPED),
    "olmo": decoder("Olmo", **GROUPED),
    "cohere": decoder("Cohere", **GROUPED),
    "granite": decoder("Granite", **GROUPED),
    "starcoder2": decoder("Starcoder2", **GROUPED),
    "mamba": decoder("Mamba", state_size=4),
    "mamba2": decoder("Mamba2", state_size=4, num_heads=8, head_dim=8, n_groups=2, chunk_size=4),
    "rwkv": decoder("Rwkv", attention_hidden_size=32),
    "t5": pair("T5", vocab_size=99, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4),
    "bart": pair("Bart", **SEQUENCES, bos_token_id=1),
    "marian": pair("Marian", "MTModel", **SEQUENCES),
    "vit": picture("ViT", **PICTURE),
    "deit": picture("DeiT", **PICTURE),
    "beit": picture("Beit", **PICTURE, use_relative_position_bias=True),
    "dinov2": picture("Dinov2", **PICTURE),
    "swin": picture("Swin", **WINDOWS),
    "swinv2": picture("Swinv2", **WINDOWS),
    "convnext": picture("ConvNext", hidden_sizes=[8, 16], depths=[1, 1], num_stages=2),
    "convnextv2": picture("ConvNextV2", hidden_sizes=[8, 16], depths=[1, 1], num_stages=2),
    "resnet": picture(
        "ResNet", embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic"
    ),
    "regnet": picture(
        "RegNet", embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], groups_width=8
    ),
    "mobilenet-v1": picture("MobileNetV1", image_size=32, depth_multiplier=0.25),
    "mobilenet-v2": picture("MobileNetV2", image_size=32, depth_multiplier=0.25),
    "mobilevit": picture(
        "MobileViT",
        image_size=32,
        hidden_sizes=[16, 16, 16],
        neck_hidden_sizes=[8] * 7,
        num_attention_heads=4,
        size=64,
    ),
    "efficientnet": picture(
        "EfficientNet",
        in_channels=[32, 16, 24],
        out_channels=[16, 24, 40],
        kernel_sizes=[3, 3, 5],
        strides=[1, 2, 2],
        num_block_repeats=[1, 1, 1],
        expand_ratios=[1, 6, 6],
        depthwise_padding=[],
        width_coefficient=0.05,
        hidden_dim=64,
        size=64,
    ),
    "segformer": picture(
        "Segformer",
        "ForSemanticSegmentation",
        num_encoder_blocks=2,
        depths=[1, 1],
        sr_ratios=[2, 1],
        hidden_sizes=[8, 16],
        patch_sizes=[3, 3],
        strides=[2, 2],
        num_attention_heads=[1, 2],
        mlp_ratios=[2, 2],
        decoder_hidden_size=16,
    ),
    "poolformer": picture(
        "PoolFormer",
        hidden_sizes=[8, 16],
        depths=[1, 1],
        num_encoder_blocks=2,
        patch_sizes=[3, 3],
        strides=[2, 2],
        padding=[1, 1],
        mlp_ratio=2.0,
    ),
    "pvt": picture(
        "Pvt",
        image_size=32,
        num_encoder_blocks=2,
        depths=[1, 1],
        sequence_reduction_ratios=[2, 1],
        hidden_sizes=[8, 16],
        patch_sizes=[4, 2],
        strides=[4, 2],
        num_attention_heads=[1, 2],
        mlp_ratios=[2, 2],
    ),
    "yolos": picture(
        "Yolos", "ForObjectDetection", **{**PICTURE, "image_size": [32, 32]}, num_detection_tokens=5
    ),
    "dpt": picture(
        "DPT",
        "ForDepthEstimation",
        **{**PICTURE, "num_hidden_layers": 4},
        backbone_out_indices=[0, 1, 2, 3],
        neck_hidden_sizes=[8, 8, 16, 16],
        reassemble_factors=[4, 2, 1, 0.5],
        fusion_hidden_size=16,
        is_hybrid=False,
    ),
    "vit-mae": picture("ViTMAE", **PICTURE),
    "clip": two_towers("CLIP"),
    "siglip": two_towers("Siglip"),
    "whisper": whisper,
    "wav2vec2": sound("Wav2Vec2", **WAVES),
    "hubert": sound("Hubert", **WAVES),
    "wav2vec2 ctc": sound("Wav2Vec2", "ForCTC", **WAVES, vocab_size=20),
}
