"""Networks as files of ONNX, by PyTorch's exporters: `python -m benchmarks.exports FOLDER`.

Each is made small, for tests, or at its published size, with random weights, the same everywhere.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers
from torch import nn

from benchmarks.networks.mobilenet import MobileNetV2
from benchmarks.networks.resnet import resnet18, resnet50
from benchmarks.networks.settle import settle
from benchmarks.networks.tensors_only import First, LstmClassifier, WithCache
from benchmarks.networks.vit import VisionTransformer

Tensors = tuple[torch.Tensor, ...]
Axes = tuple[Mapping[int, str], ...]


class Subject(NamedTuple):
    """A network with inputs for it, and the axes of each input whose sizes vary."""

    model: nn.Module
    inputs: Tensors
    axes: Axes = ()
    opset: int = 18


def settled(model: nn.Module, size: int) -> Subject:
    """A network of convolutions, for one image."""
    settle(model, torch.randn(4, 3, size, size))
    return Subject(model, (torch.randn(1, 3, size, size),))


def of_transformers(kind: str, sizes: Mapping[str, Any], config: str = "") -> nn.Module:
    """A model of transformers of these sizes, the others as they are published."""
    made = getattr(transformers, f"{config or kind}Config")(**sizes)
    made._attn_implementation = "sdpa"
    return getattr(transformers, kind)(made)


def tokens(vocabulary: int, *shape: int) -> torch.Tensor:
    """Random token numbers."""
    return torch.randint(3, vocabulary, shape)


def resnet(small: bool) -> Subject:
    return settled(resnet18(), 64) if small else settled(resnet50(), 224)


def mobilenet(small: bool) -> Subject:
    return settled(MobileNetV2(), 32 if small else 224)


def vit(small: bool) -> Subject:
    if not small:
        return Subject(VisionTransformer(), (torch.randn(1, 3, 224, 224),))
    sizes = {**NARROW, "image_size": 32, "patch_size": 8}
    model = transformers.ViTModel(transformers.ViTConfig(**sizes))
    return Subject(First(model, "pixel_values"), (torch.randn(2, 3, 32, 32),))


NARROW = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
}


def bert(small: bool) -> Subject:
    sizes = {**NARROW, "vocab_size": 99} if small else {}
    model = of_transformers("BertModel", sizes, "Bert")
    ids = tokens(99, 2, 9) if small else tokens(30522, 1, 128)
    mask = torch.ones_like(ids)
    mask[-1, 6:] = 0
    axes: Axes = ({0: "batch", 1: "length"},) * 2 if small else ()
    return Subject(First(model, "input_ids", "attention_mask"), (ids, mask), axes)


def bert_fixed(small: bool) -> Subject:
    sizes = {**NARROW, "vocab_size": 99} if small else {}
    ids = tokens(99, 2, 9) if small else tokens(30522, 1, 128)
    return Subject(First(of_transformers("BertModel", sizes, "Bert"), "input_ids"), (ids,))


def gpt2(small: bool, varies: bool = False) -> Subject:
    sizes = {"vocab_size": 99, "n_embd": 32, "n_layer": 2, "n_head": 4} if small else {}
    config = transformers.GPT2Config(**sizes)
    size = config.n_embd // config.n_head
    length, past = (3, 5) if small else (1, 128)
    shape = (2 if small else 1, config.n_head, past, size)
    given = tuple(torch.randn(shape) for _ in range(2 * config.n_layer))
    ids = tokens(config.vocab_size, shape[0], length)
    axes: Axes = ()
    if varies:
        axes = (
            {0: "batch", 1: "length"},
            *({0: "batch", 2: "past"},) * len(given),
        )
    return Subject(WithCache(transformers.GPT2LMHeadModel(config)), (ids, *given), axes)


def gpt2_dynamic(small: bool) -> Subject:
    return gpt2(small, varies=True)


def whisper(small: bool) -> transformers.WhisperForConditionalGeneration:
    """Whisper of the published size `tiny`, or small."""
    sizes: dict[str, Any] = {
        **{"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "vocab_size": 99},
        **{"encoder_attention_heads": 4, "decoder_attention_heads": 4, "pad_token_id": 0},
        **{"encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "num_mel_bins": 16},
        **{"max_source_positions": 20, "max_target_positions": 20, "bos_token_id": 1},
        **{"eos_token_id": 2, "decoder_start_token_id": 1},
    }
    return transformers.WhisperForConditionalGeneration(
        transformers.WhisperConfig(**(sizes if small else {}))
    )


def whisper_encoder(small: bool) -> Subject:
    sound = torch.randn(1, 16, 40) if small else torch.randn(1, 80, 3000)
    return Subject(First(whisper(small).model.encoder, "input_features"), (sound,))


def whisper_decoder(small: bool) -> Subject:
    model = whisper(small).model.decoder
    width, length = model.config.d_model, model.config.max_source_positions
    ids = tokens(model.config.vocab_size, 1, 5 if small else 32)
    names = ("input_ids", "encoder_hidden_states")
    return Subject(First(model, *names), (ids, torch.randn(1, length, width)))


def swin(small: bool) -> Subject:
    sizes = {
        **{"image_size": 32, "patch_size": 2, "embed_dim": 8},
        **{"depths": [2, 2], "num_heads": [2, 2], "window_size": 4},
    }
    model = of_transformers("SwinModel", sizes if small else {}, "Swin")
    size = 32 if small else 224
    return Subject(First(model, "pixel_values"), (torch.randn(1, 3, size, size),))


def lstm(small: bool) -> Subject:
    if small:
        return Subject(LstmClassifier(99, 16).eval(), (tokens(99, 3, 7),), ({0: "batch"},))
    return Subject(LstmClassifier(20000, 256), (tokens(20000, 1, 64),))


def detr(small: bool) -> Subject:
    backbone = transformers.ResNetConfig(
        **({"embedding_size": 8, "hidden_sizes": [8, 8, 16, 16]} if small else {}),
        **({"depths": [1, 1, 1, 1], "layer_type": "basic"} if small else {}),
        out_features=["stage4"],
    )
    sizes: dict[str, Any] = {
        **{"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "num_queries": 7},
        **{"encoder_attention_heads": 4, "decoder_attention_heads": 4},
        **{"encoder_ffn_dim": 48, "decoder_ffn_dim": 48},
    }
    config = transformers.DetrConfig(
        use_timm_backbone=False,
        use_pretrained_backbone=False,
        backbone=None,
        backbone_config=backbone,
        **(sizes if small else {}),
    )
    size = 64 if small else 480
    image = torch.randn(1, 3, size, size)
    model = transformers.DetrForObjectDetection(config)
    settle(model, image)
    return Subject(First(model, "pixel_values"), (image,))


def mixtral(small: bool) -> Subject:
    sizes: dict[str, Any] = {
        **{"vocab_size": 99 if small else 4096, "num_local_experts": 4 if small else 8},
        **{"num_key_value_heads": 2 if small else 4, "num_hidden_layers": 2},
        **{"hidden_size": 32 if small else 512, "intermediate_size": 48 if small else 1024},
        **{"num_attention_heads": 4 if small else 8},
        **{"use_cache": False},
    }
    config = transformers.MixtralConfig(**sizes)
    model = transformers.MixtralForCausalLM(config)
    config._experts_implementation = "batched_mm"
    ids = tokens(sizes["vocab_size"], 1, 9 if small else 64)
    return Subject(First(model, "input_ids"), (ids,))


def llama(small: bool) -> Subject:
    sizes: dict[str, Any] = {
        **NARROW,
        "vocab_size": 99,
        "num_key_value_heads": 2,
        "use_cache": False,
    }
    if not small:
        sizes = {
            **{"vocab_size": 4096, "hidden_size": 2048, "intermediate_size": 8192},
            **{"num_hidden_layers": 2, "num_attention_heads": 32, "num_key_value_heads": 8},
            **{"head_dim": 64, "use_cache": False},
        }
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes))
    ids = tokens(sizes["vocab_size"], 1, 9 if small else 128)
    return Subject(First(model, "input_ids"), (ids,))


def llama_23(small: bool) -> Subject:
    return llama(small)._replace(opset=23)


SUBJECTS: dict[str, Callable[[bool], Subject]] = {
    "resnet": resnet,
    "mobilenet": mobilenet,
    "vit": vit,
    "bert": bert,
    "bert without mask": bert_fixed,
    "gpt2 with cache": gpt2,
    "gpt2 with cache, dynamic": gpt2_dynamic,
    "whisper encoder": whisper_encoder,
    "whisper decoder": whisper_decoder,
    "swin": swin,
    "lstm": lstm,
    "detr": detr,
    "mixtral": mixtral,
    "llama": llama,
    "llama, opset 23": llama_23,
}


def subject(name: str, small: bool) -> Subject:
    """A network in evaluation mode with its inputs; the caller's random state is kept."""
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        made = SUBJECTS[name](small)
    made.model.eval().requires_grad_(False)
    return made


def export(made: Subject, *, dynamo: bool = True) -> bytes:
    """The network as a file of ONNX, by the exporter on torch.export or the one on TorchScript."""
    file = io.BytesIO()
    names = [f"x{number}" for number in range(len(made.inputs))]
    how: dict[str, Any] = {"opset_version": made.opset, "input_names": names, "dynamo": dynamo}
    if made.axes and dynamo:
        dims = [dict.fromkeys(axes, torch.export.Dim.DYNAMIC) for axes in made.axes]
        how["dynamic_shapes"] = by_parameter(made.model, dims)
    elif made.axes:
        how["dynamic_axes"] = dict(zip(names, map(dict, made.axes), strict=True))
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(made.model, made.inputs, file, **how)
    return file.getvalue()


def by_parameter(model: nn.Module, each: Sequence[Any]) -> tuple[Any, ...]:
    """Something for each input as the parameters of `forward` take inputs: `*inputs` takes many."""
    kinds = [parameter.kind for parameter in signature(model.forward).parameters.values()]
    alone = len(kinds) - (Parameter.VAR_POSITIONAL in kinds)
    return (*each[:alone], tuple(each[alone:])) if alone < len(kinds) else tuple(each)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("networks", nargs="*", choices=[[], *SUBJECTS], default=[])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--torchscript", action="store_true", help="by the old exporter")
    asked = parser.parse_args(arguments)
    asked.folder.mkdir(exist_ok=True)
    for name in asked.networks or SUBJECTS:
        data = export(subject(name, asked.small), dynamo=not asked.torchscript)
        (asked.folder / f"{name}.onnx").write_bytes(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
