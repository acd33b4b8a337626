"""The modules that file schedules: importing this one loads them all."""

from hidet.schedules.cpu import attention as _cpu_attention
from hidet.schedules.cpu import compact as _cpu_compact
from hidet.schedules.cpu import conv as _cpu_conv
from hidet.schedules.cpu import conv_last as _cpu_conv_last
from hidet.schedules.cpu import conv_patches as _cpu_conv_patches
from hidet.schedules.cpu import conv_pointwise as _cpu_conv_pointwise
from hidet.schedules.cpu import conv_rows as _cpu_conv_rows
from hidet.schedules.cpu import depthwise as _cpu_depthwise
from hidet.schedules.cpu import depthwise_last as _cpu_depthwise_last
from hidet.schedules.cpu import grouped_matmul as _cpu_grouped_matmul
from hidet.schedules.cpu import matmul as _cpu_matmul
from hidet.schedules.cpu import matvec as _cpu_matvec
from hidet.schedules.cpu import packed_linear as _cpu_packed_linear
from hidet.schedules.cpu import packed_panels as _cpu_packed_panels
from hidet.schedules.cpu import sort as _cpu_sort
from hidet.schedules.cuda.attention import schedule as _cuda_attention
from hidet.schedules.cuda.attention import simt as _cuda_attention_simt
from hidet.schedules.cuda.attention import warpgroups as _cuda_attention_wgmma
from hidet.schedules.cuda.convolution import conv_overlap as _cuda_conv_overlap
from hidet.schedules.cuda.convolution import depthwise as _cuda_depthwise
from hidet.schedules.cuda.convolution import depthwise_last as _cuda_depthwise_last
from hidet.schedules.cuda.normed import matmul as _cuda_matmul_normed
from hidet.schedules.cuda.small_m import matmul as _cuda_matmul_small_m
from hidet.schedules.cuda.small_m import packed_linear as _cuda_packed_linear
from hidet.schedules.cuda.tiles import schedules as _cuda_tiles
from hidet.schedules.cuda.warpgroups import convolution as _cuda_conv_wgmma
from hidet.schedules.cuda.warpgroups import matmul as _cuda_matmul_wgmma

LOADED = (
    _cpu_attention,
    _cpu_compact,
    _cpu_conv,
    _cpu_conv_last,
    _cpu_conv_patches,
    _cpu_conv_pointwise,
    _cpu_conv_rows,
    _cpu_depthwise,
    _cpu_depthwise_last,
    _cpu_grouped_matmul,
    _cpu_matmul,
    _cpu_matvec,
    _cpu_packed_linear,
    _cpu_packed_panels,
    _cpu_sort,
    _cuda_attention,
    _cuda_attention_wgmma,
    _cuda_tiles,
    _cuda_conv_overlap,
    _cuda_conv_wgmma,
    _cuda_depthwise,
    _cuda_depthwise_last,
    _cuda_matmul_small_m,
    _cuda_matmul_normed,
    _cuda_matmul_wgmma,
    _cuda_packed_linear,
    _cuda_attention_simt,
)
"""In this order schedules are filed."""
