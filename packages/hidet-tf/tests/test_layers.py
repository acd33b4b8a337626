"""Keras' layers: each is converted whole and gives what TensorFlow gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import hidet_tf
from hidet.graph import evaluate
from hidet.testing.compare import assert_close
from hidet.types import dtype, f32
from hidet_tf.importing.imported import import_function

layers: Any = keras.layers
IMAGE, ROWS, VOLUME = (8, 9, 4), (7, 6), (5, 4, 6, 3)


@dataclass(frozen=True)
class Case:
    """A layer, made when it is needed, and the shapes of its inputs without the batch."""

    make: Callable[[], Any]
    shapes: tuple[tuple[int, ...], ...]
    whole: bool = False
    """Whether inputs are whole numbers below 5."""

    def model(self) -> keras.Model:
        """The layer as a model, its weights drawn."""
        keras.utils.set_random_seed(0)
        inputs = [keras.Input(s, dtype="int32" if self.whole else "float32") for s in self.shapes]
        model = keras.Model(inputs, self.make()(inputs if len(inputs) > 1 else inputs[0]))
        draw = np.random.default_rng(0)
        for each in model.weights:
            if each.dtype == "float32":
                each.assign(draw.uniform(0.2, 1.0, each.shape))
        return model

    def inputs(self) -> list[np.ndarray]:
        """Values for a batch of 3."""
        draw = np.random.default_rng(1)
        if self.whole:
            return [draw.integers(0, 5, (3, *each)).astype(np.int32) for each in self.shapes]
        return [draw.standard_normal((3, *each)).astype(np.float32) for each in self.shapes]


CASES: dict[str, Case] = {}


def rows(*shapes: tuple[int, ...], whole: bool = False, **makes: Callable[[], Any]) -> None:
    """File layers that take inputs of these shapes."""
    CASES.update({name: Case(make, shapes, whole) for name, make in makes.items()})


def attention(layer: Any, **how: Any) -> Callable[[Any], Any]:
    """Attention of rows to themselves."""
    return lambda x: layer(x, x, **how)


def masked(x: Any) -> Any:
    """Attention among words, of which number 0 is none."""
    words = layers.Embedding(11, 6, mask_zero=True)(x)
    return layers.MultiHeadAttention(2, 4)(words, words)


rows(
    ROWS,
    dense=lambda: layers.Dense(3, "gelu"),
    einsum_dense=lambda: layers.EinsumDense("abc,cd->abd", (None, 5), bias_axes="d"),
    conv_1d=lambda: layers.Conv1D(5, 3, strides=2, padding="same"),
    conv_1d_causal=lambda: layers.Conv1D(5, 3, dilation_rate=2, padding="causal"),
    depthwise_1d=lambda: layers.DepthwiseConv1D(3, depth_multiplier=2),
    separable_1d=lambda: layers.SeparableConv1D(5, 3),
    transpose_1d=lambda: layers.Conv1DTranspose(5, 3, strides=2),
    max_pool_1d=lambda: layers.MaxPooling1D(2),
    global_average_1d=layers.GlobalAveragePooling1D,
    layer_norm=layers.LayerNormalization,
    rms_norm=layers.RMSNormalization,
    unit_norm=layers.UnitNormalization,
    upsampling_1d=lambda: layers.UpSampling1D(2),
    normalization=lambda: layers.Normalization(mean=[1.0] * 6, variance=[2.0] * 6),
    discretization=lambda: layers.Discretization([-1.0, 0.0, 0.5]),
    permute=lambda: layers.Permute((2, 1)),
    reshape=lambda: layers.Reshape((-1, 2)),
    time_distributed=lambda: layers.TimeDistributed(layers.Dense(3)),
    dropout=lambda: layers.Dropout(0.5),
    attention=lambda: attention(layers.MultiHeadAttention(2, 4)),
    attention_causal=lambda: attention(layers.MultiHeadAttention(2, 4), use_causal_mask=True),
    attention_grouped=lambda: attention(layers.GroupQueryAttention(4, 4, 2)),
    attention_plain=lambda: lambda x: layers.Attention()([x, x]),
    attention_additive=lambda: lambda x: layers.AdditiveAttention()([x, x]),
    prelu=layers.PReLU,
    softmax=layers.Softmax,
)
rows(
    ROWS,
    **{
        name: lambda name=name: layers.Activation(name)
        for name in (
            "relu6", "silu", "gelu", "hard_sigmoid", "hard_silu", "mish", "log_softmax", "softplus",
            "softsign", "selu", "elu", "celu", "glu", "tanh_shrink", "hard_tanh", "hard_shrink",
            "soft_shrink", "squareplus", "log_sigmoid", "sparsemax", "sparse_plus", "leaky_relu",
            "sparse_sigmoid", "exponential",
        )
    },
)  # fmt: skip
rows(
    IMAGE,
    conv_2d_dilated=lambda: layers.Conv2D(5, 3, dilation_rate=2, padding="same"),
    conv_2d_groups=lambda: layers.Conv2D(8, 3, groups=2),
    depthwise_2d=lambda: layers.DepthwiseConv2D(3, dilation_rate=2),
    separable_2d=lambda: layers.SeparableConv2D(5, 3, padding="same"),
    transpose_2d=lambda: layers.Conv2DTranspose(5, 3, strides=2, padding="same"),
    transpose_2d_more=lambda: layers.Conv2DTranspose(5, 3, strides=2, output_padding=1),
    max_pool_2d=lambda: layers.MaxPooling2D(2, padding="same"),
    average_pool_2d=lambda: layers.AveragePooling2D(3, 2, "same"),
    adaptive_pool=lambda: layers.AdaptiveAveragePooling2D((3, 2)),
    global_max=layers.GlobalMaxPooling2D,
    batch_norm=layers.BatchNormalization,
    group_norm=lambda: layers.GroupNormalization(2),
    upsampling_nearest=lambda: layers.UpSampling2D(2),
    upsampling_bilinear=lambda: layers.UpSampling2D(2, interpolation="bilinear"),
    zero_padding=lambda: layers.ZeroPadding2D(((1, 0), (2, 3))),
    cropping=lambda: layers.Cropping2D(1),
    flatten=layers.Flatten,
    resizing=lambda: layers.Resizing(5, 6),
    resizing_cropped=lambda: layers.Resizing(5, 6, crop_to_aspect_ratio=True),
    resizing_padded=lambda: layers.Resizing(5, 6, pad_to_aspect_ratio=True),
    resizing_smooth=lambda: layers.Resizing(5, 6, "bicubic", antialias=True),
    center_crop=lambda: layers.CenterCrop(4, 5),
    rescaling=lambda: layers.Rescaling(1 / 255),
    random_flip=layers.RandomFlip,
)
rows(
    VOLUME,
    conv_3d=lambda: layers.Conv3D(5, 3, padding="same"),
    transpose_3d=lambda: layers.Conv3DTranspose(5, 3, strides=2, padding="same"),
    max_pool_3d=lambda: layers.MaxPooling3D(2),
    upsampling_3d=lambda: layers.UpSampling3D(2),
)
rows(
    ROWS, ROWS,
    add=layers.Add, subtract=layers.Subtract, maximum=layers.Maximum, average=layers.Average,
    concatenate=layers.Concatenate, dot=lambda: layers.Dot(axes=2, normalize=True),
)  # fmt: skip
rows(
    (4,),
    whole=True,
    embedding=lambda: layers.Embedding(11, 5, mask_zero=True),
    attention_masked=lambda: masked,
    category_counts=lambda: layers.CategoryEncoding(5, "count"),
    category_many=lambda: layers.CategoryEncoding(5, "multi_hot"),
)
rows((400,), mel=lambda: layers.MelSpectrogram(64, 32, 64, num_mel_bins=5))
rows((5,), repeat=lambda: layers.RepeatVector(3))


def traced(model: keras.Model) -> Any:
    """The model as a function of a batch of any size."""
    specs = [tf.TensorSpec(each.shape, each.dtype) for each in model.inputs]
    run = tf.function(lambda *given: model([*given], training=False), autograph=False)
    return run.get_concrete_function(*specs)


@pytest.mark.parametrize("name", CASES)
def test_gives_what_tensorflow_gives(name: str) -> None:
    case = CASES[name]
    model, inputs = case.model(), case.inputs()
    imported = import_function(traced(model), "cpu")
    assert not [use for use in imported.coverage.uses if use.reason]
    (found,) = evaluate(imported.graph, *inputs)
    expected = np.asarray(model(inputs, training=False))
    assert found.shape == expected.shape
    assert_close(found, expected, dtype(expected.dtype), 64)


@pytest.mark.parametrize("kind", ["int8", "int4", "float8"])
def test_quantized_layers(kind: str) -> None:
    """Weights of few bits; TensorFlow rounds products of float8 in float32."""
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((16,)), layers.Dense(8)])
    model.quantize(kind)
    x = np.random.default_rng(0).standard_normal((3, 16)).astype(np.float32)
    found = hidet_tf.compile(model, options={"fallback": "error"})(x)
    assert_close(np.asarray(found), np.asarray(model(x, training=False)), f32, 256)


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_mixed_precision(policy: str) -> None:
    """Weights in float32, products and results in fewer bits."""
    keras.utils.set_random_seed(0)
    keras.config.set_dtype_policy(policy)
    try:
        model = keras.Sequential(
            [keras.Input(IMAGE), layers.Conv2D(4, 3), layers.BatchNormalization(),
             layers.ReLU(), layers.Flatten(), layers.Dense(3)]
        )  # fmt: skip
    finally:
        keras.config.set_dtype_policy("float32")
    x = np.random.default_rng(0).standard_normal((3, *IMAGE)).astype(np.float32)
    expected = np.asarray(model(x, training=False))
    found = np.asarray(hidet_tf.compile(model, options={"fallback": "error"})(x))
    assert found.dtype == expected.dtype
    assert_close(found, expected.astype(np.float64), dtype(expected.dtype), 8)


def test_a_batch_of_layers_compiled() -> None:
    """One of each family, compiled at once."""
    names = ("conv_2d_dilated", "batch_norm", "average_pool_2d", "transpose_2d", "resizing")
    models = [CASES[each].model() for each in names]
    (x,) = CASES[names[0]].inputs()
    whole = tf.function(lambda x: [each(x, training=False) for each in models], autograph=False)
    found = hidet_tf.compile(whole, tf.TensorSpec((None, *IMAGE)), options={"fallback": "error"})(x)
    for one, model in zip(found, models, strict=True):
        assert_close(np.asarray(one), np.asarray(model(x, training=False)), f32, 64)
