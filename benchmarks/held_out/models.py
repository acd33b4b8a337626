"""Models that the compiler was not developed against, each with the inputs of a call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import transformers
from torch import Tensor, nn

from benchmarks.held_out import pictures, sequences


@dataclass(frozen=True)
class Case:
    """`inputs(batch)` gives those of a call; those in `batched` have the batch as their axis 0."""

    model: Callable[[], nn.Module]
    inputs: Callable[[int], dict[str, Any]]
    batched: tuple[str, ...] = ()


def published(kind: str, config: str, **sizes: Any) -> Callable[[], nn.Module]:
    """A class of transformers with sizes of its configuration."""
    return lambda: getattr(transformers, kind)(getattr(transformers, config)(**sizes))


def tokens(batch: int, length: int) -> Tensor:
    """Texts of random tokens."""
    return torch.randint(3, 90, (batch, length))


def own(model: Callable[[], nn.Module], *, fixed: tuple[str, ...] = (), **makers: Any) -> Case:
    """A model written here; all inputs but the fixed ones have the batch."""
    names = tuple(name for name in makers if name not in fixed)
    return Case(model, lambda batch: {k: make(batch) for k, make in makers.items()}, names)


def normal(*sizes: int) -> Callable[[int], Tensor]:
    """Random numbers, the batch first."""
    return lambda batch: torch.randn(batch, *sizes)


def text(kind: str, config: str, length: int = 12, **sizes: Any) -> Case:
    """A model of texts, the last of them padded."""
    own_sizes = {
        "vocab_size": 99,
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
    }
    own_sizes |= {"intermediate_size": 48, "pad_token_id": 0}

    def inputs(batch: int) -> dict[str, Any]:
        mask = torch.ones(batch, length, dtype=torch.int64)
        mask[-1, length - 3 :] = 0
        return {"input_ids": tokens(batch, length), "attention_mask": mask}

    made = published(
        kind, config, **{k: v for k, v in {**own_sizes, **sizes}.items() if v is not None}
    )
    return Case(made, inputs, ("input_ids", "attention_mask"))


def one(kind: str, config: str, name: str, make: Callable[[int], Tensor], **sizes: Any) -> Case:
    """A model of one input."""
    return Case(published(kind, config, **sizes), lambda batch: {name: make(batch)}, (name,))


def vilt() -> Case:
    """A text beside a picture."""
    sizes = {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    made = published(
        "ViltModel",
        "ViltConfig",
        **sizes,
        intermediate_size=48,
        image_size=32,
        patch_size=8,
        max_image_length=-1,
    )
    return Case(
        made,
        lambda batch: {
            "input_ids": tokens(batch, 7),
            "pixel_values": torch.randn(batch, 3, 32, 32),
            "pixel_mask": torch.ones(batch, 32, 32, dtype=torch.int64),
        },
        ("input_ids", "pixel_values", "pixel_mask"),
    )


def layout() -> Case:
    """A text whose words have boxes."""
    made = published(
        "LayoutLMModel",
        "LayoutLMConfig",
        vocab_size=99,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=48,
    )

    def inputs(batch: int) -> dict[str, Any]:
        return {
            "input_ids": tokens(batch, 9),
            "bbox": torch.randint(0, 500, (batch, 9, 2)).repeat(1, 1, 2),
        }

    return Case(made, inputs, ("input_ids", "bbox"))


def segment_anything() -> Case:
    """A picture and points on it, to masks."""

    def make() -> nn.Module:
        vision = {
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": 64,
            "patch_size": 8,
            "mlp_dim": 48,
            "window_size": 3,
            "global_attn_indexes": [1],
            "output_channels": 16,
            "num_pos_feats": 8,
        }
        prompt = {"hidden_size": 16, "image_size": 64, "patch_size": 8, "mask_input_channels": 4}
        decoder = {
            "hidden_size": 16,
            "mlp_dim": 24,
            "num_attention_heads": 2,
            "iou_head_hidden_dim": 16,
        }
        config = transformers.SamConfig(
            vision_config=vision, prompt_encoder_config=prompt, mask_decoder_config=decoder
        )
        return transformers.SamModel(config)

    return Case(
        make,
        lambda batch: {
            "pixel_values": torch.randn(batch, 3, 64, 64),
            "input_points": torch.rand(batch, 1, 2, 2) * 64,
        },
        ("pixel_values", "input_points"),
    )


def perceiver() -> Case:
    """Texts read by latents."""
    made = published(
        "PerceiverForMaskedLM",
        "PerceiverConfig",
        num_latents=6,
        d_latents=24,
        d_model=16,
        num_blocks=1,
        num_self_attends_per_block=2,
        num_self_attention_heads=2,
        num_cross_attention_heads=2,
        vocab_size=99,
        max_position_embeddings=12,
        qk_channels=16,
        v_channels=24,
    )
    return Case(
        made,
        lambda batch: {"inputs": tokens(batch, 12), "attention_mask": torch.ones(batch, 12)},
        ("inputs", "attention_mask"),
    )


def speech() -> Case:
    """VITS: a text spoken by a flow, without its noise; lengths are told by the data."""

    def make() -> nn.Module:
        config = transformers.VitsConfig(
            vocab_size=40,
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            ffn_dim=16,
            flow_size=16,
            spectrogram_bins=9,
            prior_encoder_num_flows=2,
            upsample_initial_channel=16,
            upsample_rates=[4, 4],
            upsample_kernel_sizes=[8, 8],
            resblock_kernel_sizes=[3],
            resblock_dilation_sizes=[[1, 3]],
            posterior_encoder_num_wavenet_layers=2,
            prior_encoder_num_wavenet_layers=2,
            duration_predictor_num_flows=2,
        )
        model = transformers.VitsModel(config)
        model.noise_scale = model.noise_scale_duration = 0.0
        return model

    return Case(make, lambda batch: {"input_ids": torch.randint(1, 39, (batch, 6))}, ("input_ids",))


def edges(_: int) -> Tensor:
    """Edges among eleven nodes at least."""
    return torch.randint(0, 11, (2, 40))


def absent(batch: int) -> Tensor:
    """The last two of nine members are absent from every set."""
    return torch.arange(9).expand(batch, -1) >= 7


CASES: dict[str, Case] = {
    "3-D U-Net": own(pictures.UNet3D, x=normal(1, 8, 8, 6)),
    "diffusion U-Net": own(
        pictures.TimedUNet, x=normal(3, 16, 16), time=lambda n: torch.rand(n) * 99
    ),
    "StyleGAN": own(pictures.Modulated, style=normal(24)),
    "ESRGAN": own(pictures.DenseUpscaler, x=normal(3, 13, 11)),
    "VQ-VAE": own(pictures.VectorQuantized, x=normal(3, 16, 16)),
    "capsules": own(pictures.Capsules, x=normal(1, 16, 16)),
    "NeRF": own(pictures.RadianceField, origins=normal(3), ways=normal(3)),
    "soft rasterizer": own(pictures.SoftRaster, points=normal(4, 3), rotation=normal(3)),
    "WaveNet": own(sequences.WaveNet, wave=lambda n: torch.rand(n, 50) * 2 - 1),
    "ConvLSTM": own(sequences.ConvLSTM, film=normal(4, 1, 9, 7)),
    "neural ODE": own(sequences.NeuralODE, x=normal(3)),
    "CRF": own(
        sequences.FieldTagger, x=normal(7, 8), mask=lambda n: torch.arange(7).expand(n, -1) < 5
    ),
    "Set Transformer": own(sequences.SetTransformer, members=normal(9, 3), absent=absent),
    "Hyena": own(sequences.Hyena, x=normal(30, 16)),
    "KAN": own(sequences.SplineNetwork, x=normal(4)),
    "RetNet": own(sequences.Retention, x=normal(12, 16)),
    "graph attention": own(
        sequences.GraphNetwork, nodes=lambda n: torch.randn(n + 9, 7), edges=edges, fixed=("edges",)
    ),
    "Gemma 3": text(
        "Gemma3ForCausalLM",
        "Gemma3TextConfig",
        num_key_value_heads=2,
        head_dim=8,
        sliding_window=4,
        layer_types=["sliding_attention", "full_attention"],
    ),
    "Funnel": text(
        "FunnelModel",
        "FunnelConfig",
        d_model=32,
        n_head=4,
        d_head=8,
        d_inner=48,
        block_sizes=[1, 1],
        num_hidden_layers=None,
        hidden_size=None,
        num_attention_heads=None,
        intermediate_size=None,
    ),
    "BigBird": text("BigBirdModel", "BigBirdConfig", length=64, block_size=4, num_random_blocks=2),
    "RecurrentGemma": text(
        "RecurrentGemmaForCausalLM",
        "RecurrentGemmaConfig",
        num_key_value_heads=1,
        lru_width=32,
        attention_window_size=6,
        num_hidden_layers=3,
        head_dim=8,
    ),
    "LayoutLM": layout(),
    "Perceiver": perceiver(),
    "PatchTST": one(
        "PatchTSTForPrediction",
        "PatchTSTConfig",
        "past_values",
        normal(32, 3),
        context_length=32,
        prediction_length=8,
        num_input_channels=3,
        patch_length=8,
        patch_stride=4,
        d_model=16,
        num_attention_heads=2,
        num_hidden_layers=2,
        ffn_dim=24,
    ),
    "SAM": segment_anything(),
    "ViLT": vilt(),
    "SEW": one(
        "SEWModel",
        "SEWConfig",
        "input_values",
        normal(800),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=48,
        conv_dim=(16, 16, 16),
        conv_stride=(5, 2, 2),
        conv_kernel=(10, 3, 3),
        squeeze_factor=2,
        num_conv_pos_embeddings=8,
        num_conv_pos_embedding_groups=4,
    ),
    "EnCodec": one(
        "EncodecModel",
        "EncodecConfig",
        "input_values",
        normal(1, 480),
        num_filters=4,
        hidden_size=16,
        codebook_size=32,
        codebook_dim=16,
        upsampling_ratios=[4, 2],
        target_bandwidths=[6.0],
        sampling_rate=800,
    ),
    "VITS": speech(),
    "FocalNet": one(
        "FocalNetModel",
        "FocalNetConfig",
        "pixel_values",
        normal(3, 32, 32),
        image_size=32,
        patch_size=4,
        embed_dim=16,
        hidden_sizes=[16, 32],
        depths=[1, 1],
        focal_levels=[2, 2],
        focal_windows=[3, 3],
    ),
}
"""Every model by its name."""
