import pytest

from hidet.errors import CudaError, OutOfMemory
from hidet.runtime.devices import driver

cu = pytest.importorskip("cuda.bindings.driver")


def failing(status):
    class Driver:
        CUresult = cu.CUresult

        @staticmethod
        def cuDoSomething():
            return (status,)

    return Driver


def test_a_failed_call_is_named(monkeypatch):
    monkeypatch.setattr(driver, "cu", failing(cu.CUresult.CUDA_ERROR_ILLEGAL_ADDRESS))
    with pytest.raises(CudaError, match="cuDoSomething failed: CUDA_ERROR_ILLEGAL_ADDRESS") as told:
        driver.call("cuDoSomething")
    assert "read or wrote outside" in told.value.help


def test_lack_of_memory_has_its_own_error(monkeypatch):
    monkeypatch.setattr(driver, "cu", failing(cu.CUresult.CUDA_ERROR_OUT_OF_MEMORY))
    with pytest.raises(OutOfMemory):
        driver.call("cuDoSomething")


def test_success_without_value(monkeypatch):
    monkeypatch.setattr(driver, "cu", failing(cu.CUresult.CUDA_SUCCESS))
    assert driver.call("cuDoSomething") is None


def test_every_function_we_name_exists():
    names = """cuInit cuDeviceGetCount cuDeviceGet cuDevicePrimaryCtxRetain cuCtxGetCurrent
    cuCtxSetCurrent cuCtxGetDevice cuCtxSynchronize cuDeviceGetAttribute cuModuleLoadData
    cuModuleGetFunction cuFuncGetAttribute cuFuncSetAttribute cuMemAlloc cuMemFree cuMemcpyHtoD
    cuMemcpyDtoH cuThreadExchangeStreamCaptureMode cuStreamIsCapturing cuStreamCreate
    cuStreamDestroy cuStreamSynchronize cuStreamWaitEvent cuEventCreate cuEventRecord
    cuEventSynchronize cuEventElapsedTime cuEventDestroy cuGraphCreate cuGraphAddKernelNode
    cuGraphInstantiate cuGraphExecKernelNodeSetParams cuGraphLaunch cuGraphExecDestroy
    cuGraphDestroy cuLaunchKernel"""
    assert [name for name in names.split() if not hasattr(cu, name)] == []
