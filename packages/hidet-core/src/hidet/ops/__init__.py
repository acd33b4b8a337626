"""The public functions of all operators: `ops.relu(x)`, `ops.matmul(a, b)`."""

from hidet.graph.operands import checked
from hidet.ops.elementwise.activation import (
    celu,
    elu,
    gelu,
    glu,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    leaky_relu,
    log_sigmoid,
    mish,
    prelu,
    relu,
    relu6,
    selu,
    sigmoid,
    silu,
    softplus,
    softshrink,
    softsign,
    tanhshrink,
    threshold,
)
from hidet.ops.elementwise.bessel import (
    modified_bessel_i0,
    modified_bessel_i1,
    modified_bessel_k0,
    modified_bessel_k1,
    scaled_modified_bessel_i0,
    scaled_modified_bessel_i1,
    scaled_modified_bessel_k0,
    scaled_modified_bessel_k1,
    spherical_bessel_j0,
)
from hidet.ops.elementwise.binary import (
    add,
    atan2,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    copysign,
    divide,
    floor_divide,
    fmax,
    fmin,
    fmod,
    hypot,
    logical_and,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    multiply,
    pow,
    remainder,
    shift_left,
    shift_right,
    subtract,
    trunc_divide,
)
from hidet.ops.elementwise.compare import equal, greater, greater_equal, less, less_equal, not_equal
from hidet.ops.elementwise.narrow_casts import exponent_cast, saturating_cast
from hidet.ops.elementwise.polygamma import polygamma
from hidet.ops.elementwise.scaled_erfc import erfcx
from hidet.ops.elementwise.select import clamp, masked_fill, tril, triu, where
from hidet.ops.elementwise.special import digamma, erfinv, lgamma
from hidet.ops.elementwise.unary import (
    absolute,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atanh,
    bitwise_not,
    ceil,
    cos,
    cosh,
    erf,
    erfc,
    exp,
    exp2,
    expm1,
    floor,
    isfinite,
    isinf,
    isnan,
    log,
    log1p,
    log2,
    log10,
    logical_not,
    negative,
    reciprocal,
    round,
    rsqrt,
    sign,
    signbit,
    sin,
    sinh,
    sqrt,
    square,
    tan,
    tanh,
    trunc,
)
from hidet.ops.flow.branches import if_
from hidet.ops.flow.loops import loop, scan, while_loop
from hidet.ops.indexing.compact import nonzero
from hidet.ops.indexing.in_place import in_place, origin, updated_tensor
from hidet.ops.indexing.index import embedding, gather, index, index_select, one_hot, take
from hidet.ops.indexing.ordering import argsort, sort, topk
from hidet.ops.indexing.positions_nd import gather_nd, one_hot_values, scatter_nd, tensor_scatter
from hidet.ops.indexing.rearrange import depth_to_space, reverse_sequence, space_to_depth
from hidet.ops.indexing.scatter import index_add, index_put, scatter
from hidet.ops.indexing.search import searchsorted
from hidet.ops.indexing.selection import compress, masked_select, repeat_interleave
from hidet.ops.matrices.factors import cholesky, lu, triangular_solve
from hidet.ops.matrices.householder import qr, reflected, reflections
from hidet.ops.matrices.linalg import det, inverse, slogdet, solve
from hidet.ops.matrices.singular import pseudo_inverse, singular_values, symmetric_eigenvalues
from hidet.ops.models.losses import cross_entropy, negative_log_likelihood
from hidet.ops.models.non_max_suppression import non_max_suppression, ranked_boxes
from hidet.ops.models.optimizers import adagrad, adam, momentum_step
from hidet.ops.models.recurrent import gates, interleave_gates, recurrence
from hidet.ops.models.scores import binarized, imputed, kernel_products, post_transform, scaled_by
from hidet.ops.models.tree_ensemble import tree_ensemble
from hidet.ops.models.unique import unique, unique_consecutive
from hidet.ops.products.attention import attention
from hidet.ops.products.attention_weights import attention_weights
from hidet.ops.products.einsum import einsum
from hidet.ops.products.grouped_matmul import grouped_matmul
from hidet.ops.products.matmul import linear, matmul
from hidet.ops.quantized.integer_matmul import conv_integer, matmul_integer
from hidet.ops.quantized.packed_linear import packed_linear
from hidet.ops.quantized.quantize import dequantize, quantize
from hidet.ops.random_numbers.random import (
    bernoulli,
    dropout,
    multinomial,
    random_bits,
    random_normal,
    random_uniform,
)
from hidet.ops.reductions.channel_norm import (
    batch_norm,
    batch_norm_training,
    group_norm,
    instance_norm,
)
from hidet.ops.reductions.cumulative import cummax, cummin, cumprod, cumsum
from hidet.ops.reductions.local_norm import local_response_norm
from hidet.ops.reductions.norm import layer_norm, moments, rms_norm
from hidet.ops.reductions.partial_statistics import linear_moments, normed_linear
from hidet.ops.reductions.reduce import all, any, argmax, argmin, max, mean, min, prod, sum
from hidet.ops.reductions.softmax import hardmax, log_softmax, softmax
from hidet.ops.reductions.statistics import logsumexp, norm, std, var
from hidet.ops.resampling.grid_sample import affine_grid, grid_sample
from hidet.ops.resampling.resize import resize
from hidet.ops.resampling.roi_align import roi_align
from hidet.ops.signals.fourier import dft, stft
from hidet.ops.signals.signal_windows import (
    blackman_window,
    hamming_window,
    hann_window,
    mel_weights,
)
from hidet.ops.tensors.bitcast import bitcast
from hidet.ops.tensors.cast import cast
from hidet.ops.tensors.create import (
    arange,
    full,
    full_like,
    iota,
    linspace,
    ones,
    ones_like,
    scalar,
    size_value,
    zeros,
    zeros_like,
)
from hidet.ops.tensors.joining import concat, stack, tile
from hidet.ops.tensors.pad import pad
from hidet.ops.tensors.shape import (
    copy,
    expand,
    flatten,
    permute,
    reshape,
    squeeze,
    transpose,
    unsqueeze,
)
from hidet.ops.tensors.size_from import size_from
from hidet.ops.tensors.slicing import (
    chunk,
    flip,
    roll,
    select,
    select_scatter,
    slice,
    slice_scatter,
    split,
    window,
)
from hidet.ops.tensors.strided import as_strided, diagonal, sliding
from hidet.ops.windows.adaptive_pool import (
    adaptive_avg_pool,
    adaptive_max_indices,
    adaptive_max_pool,
)
from hidet.ops.windows.auto_pad import same_padding
from hidet.ops.windows.conv import conv, conv1d, conv2d, conv3d
from hidet.ops.windows.conv_transpose import conv_transpose
from hidet.ops.windows.deform_conv import deform_conv
from hidet.ops.windows.fold import fold
from hidet.ops.windows.lp_pool import lp_pool
from hidet.ops.windows.max_unpool import max_unpool
from hidet.ops.windows.pool import avg_pool, max_pool, max_pool_with_indices

__all__ = [
    "absolute", "acos", "acosh", "adagrad", "adam", "adaptive_avg_pool", "adaptive_max_indices",
    "adaptive_max_pool", "add", "affine_grid", "all", "any", "arange", "argmax", "argmin",
    "argsort", "as_strided", "asin", "asinh", "atan", "atan2", "atanh", "attention",
    "attention_weights", "avg_pool", "batch_norm", "batch_norm_training", "bernoulli", "binarized",
    "bitcast", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "blackman_window", "cast",
    "ceil", "celu", "cholesky", "chunk", "clamp", "compress", "concat", "conv", "conv1d", "conv2d",
    "conv3d", "conv_integer", "conv_transpose", "copy", "copysign", "cos", "cosh", "cross_entropy",
    "cummax", "cummin", "cumprod", "cumsum", "deform_conv", "depth_to_space", "dequantize", "det",
    "dft", "diagonal", "digamma", "divide", "dropout", "einsum", "elu", "embedding", "equal", "erf",
    "erfc", "erfcx", "erfinv", "exp", "exp2", "expand", "expm1", "exponent_cast", "flatten", "flip",
    "floor", "floor_divide", "fmax", "fmin", "fmod", "fold", "full", "full_like", "gates", "gather",
    "gather_nd", "gelu", "glu", "greater", "greater_equal", "grid_sample", "group_norm",
    "grouped_matmul", "hamming_window", "hann_window", "hardmax", "hardshrink", "hardsigmoid",
    "hardswish", "hardtanh", "hypot", "if_", "imputed", "in_place", "index", "index_add",
    "index_put", "index_select", "instance_norm", "interleave_gates", "inverse", "iota", "isfinite",
    "isinf", "isnan", "kernel_products", "layer_norm", "leaky_relu", "less", "less_equal", "lgamma",
    "linear", "linear_moments", "linspace", "local_response_norm", "log", "log1p", "log2", "log10",
    "log_sigmoid", "log_softmax", "logical_and", "logical_not", "logical_or", "logical_xor",
    "logsumexp", "loop", "lp_pool", "lu", "masked_fill", "masked_select", "matmul",
    "matmul_integer", "max", "max_pool", "max_pool_with_indices", "max_unpool", "maximum", "mean",
    "mel_weights", "min", "minimum", "mish", "modified_bessel_i0", "modified_bessel_i1",
    "modified_bessel_k0", "modified_bessel_k1", "moments", "momentum_step", "multinomial",
    "multiply", "negative", "negative_log_likelihood", "non_max_suppression", "nonzero", "norm",
    "normed_linear", "not_equal", "one_hot", "one_hot_values", "ones", "ones_like", "origin",
    "packed_linear", "pad", "permute", "polygamma", "post_transform", "pow", "prelu", "prod",
    "pseudo_inverse", "qr", "quantize", "random_bits", "random_normal", "random_uniform",
    "ranked_boxes", "reciprocal", "recurrence", "reflected", "reflections", "relu", "relu6",
    "remainder", "repeat_interleave", "reshape", "resize", "reverse_sequence", "rms_norm",
    "roi_align", "roll", "round", "rsqrt", "same_padding", "saturating_cast", "scalar", "scaled_by",
    "scaled_modified_bessel_i0", "scaled_modified_bessel_i1", "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1", "scan", "scatter", "scatter_nd", "searchsorted", "select",
    "select_scatter", "selu", "shift_left", "shift_right", "sigmoid", "sign", "signbit", "silu",
    "sin", "singular_values", "sinh", "size_from", "size_value", "slice", "slice_scatter",
    "sliding", "slogdet", "softmax", "softplus", "softshrink", "softsign", "solve", "sort",
    "space_to_depth", "spherical_bessel_j0", "split", "sqrt", "square", "squeeze", "stack", "std",
    "stft", "subtract", "sum", "symmetric_eigenvalues", "take", "tan", "tanh", "tanhshrink",
    "tensor_scatter", "threshold", "tile", "topk", "transpose", "tree_ensemble", "triangular_solve",
    "tril", "triu", "trunc", "trunc_divide", "unique", "unique_consecutive", "unsqueeze",
    "updated_tensor", "var", "where", "while_loop", "window", "zeros", "zeros_like",
]  # fmt: skip

# Callers get operators that look at their operands; operators call each other without.
globals().update((name, checked(globals()[name])) for name in __all__)
