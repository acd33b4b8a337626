from concurrent.futures import ThreadPoolExecutor

import pytest

from hidet.errors import CompilerError, MissingCompiler
from hidet.toolchain import compile_cuda, cuda_version, nvrtc

SOURCE = """
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
extern "C" __global__ void halve(__half *x) {
  __shared__ __half kept[512];
  kept[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = kept[511 - threadIdx.x] * __float2half(0.5f);
}
extern "C" __global__ void nothing() {}
"""


def test_a_source_becomes_a_cubin_without_a_gpu():
    made = compile_cuda(SOURCE, arch="sm_90a", name="halves")
    assert made.cubin.startswith(b"\x7fELF")
    assert set(made.usage) == {"halve", "nothing"}
    usage = made.usage["halve"]
    assert usage.shared_bytes == 1024
    assert usage.spill_bytes == 0
    assert 4 <= usage.registers <= 64
    assert made.doubts == []


@pytest.mark.parametrize("arch", ["sm_80", "sm_89", "sm_90a", "sm_100", "sm_120"])
def test_every_architecture_can_be_compiled_for(arch):
    assert compile_cuda(SOURCE, arch=arch).cubin


def test_spills_are_counted():
    body = "".join(f"float v{i} = x[{i} * n];" for i in range(100))
    body += "__syncthreads();" + "".join(f"x[{i} * n + 1] = v{i};" for i in range(100))
    source = (
        'extern "C" __global__ void __launch_bounds__(1024, 2) '
        f"full(volatile float *x, int n) {{ {body} }}"
    )
    assert compile_cuda(source, arch="sm_90a").usage["full"].spill_bytes > 0


def test_options_reach_the_compiler():
    source = 'extern "C" __global__ void f(int *x) { *x = SEVEN; }'
    assert compile_cuda(source, arch="sm_90a", options=("-DSEVEN=7",)).cubin


def test_a_rejected_source_shows_its_line():
    with pytest.raises(CompilerError) as told:
        compile_cuda("int a;\n__global__ void f() { oops = 1; }", arch="sm_90a", name="broken")
    assert "broken.cu(2): error" in told.value.message
    assert "oops = 1;" in told.value.message


def test_a_header_that_is_not_there_is_told(monkeypatch):
    monkeypatch.setattr("hidet.toolchain.nvrtc.headers", tuple)
    with pytest.raises(MissingCompiler, match="does not find its header cuda_fp16") as found:
        compile_cuda("#include <cuda_fp16.h>", arch="sm_90a")
    assert "hidet-core[cuda13]" in found.value.help


def test_an_unknown_architecture_is_refused():
    with pytest.raises(CompilerError, match="sm_77"):
        compile_cuda(SOURCE, arch="sm_77")


@pytest.mark.parametrize("code", ["C7508", "C7510", "C7517"])
def test_advice_that_means_another_kernel_is_reported(code):
    log = f"ptxas info    : ({code}) Potential Performance Loss"
    assert len(nvrtc.CompiledCuda(b"", log, {}).doubts) == 1


def test_the_version_is_known():
    assert cuda_version().startswith("nvrtc 1")


def test_a_missing_library_is_said(monkeypatch):
    class Missing:
        @staticmethod
        def nvrtcVersion():
            raise RuntimeError("no libnvrtc")

    nvrtc.library.cache_clear()
    monkeypatch.setattr(nvrtc, "nvrtc", Missing)
    with pytest.raises(MissingCompiler, match="NVRTC cannot be loaded: no libnvrtc") as told:
        compile_cuda(SOURCE, arch="sm_90a")
    assert "pip install" in told.value.help
    monkeypatch.setattr(nvrtc, "nvrtc", None)
    with pytest.raises(MissingCompiler, match="cuda-bindings is not installed"):
        cuda_version()
    nvrtc.library.cache_clear()


def test_threads_compile_at_once():
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda i: compile_cuda(SOURCE, arch="sm_90a", name=f"k{i}"), range(4)))
    assert len({each.cubin[:4] for each in made}) == 1
