"""A driver without a GPU that knows what a capture in the mode "global" forbids, as measured.

A status other than success would not do: on a GPU the capture is over as well. So what ends it is
noted, also where nobody looks at the status.
"""

import sys
import threading
from itertools import count

from hidet.runtime.devices import captures, device
from hidet.runtime.graphs import early

WAITS = {"cuEventSynchronize", "cuEventQuery", "cuStreamSynchronize", "cuStreamQuery"}
UNSAFE = WAITS | {
    "cuGraphInstantiate", "cuGraphExecDestroy", "cuMemAlloc", "cuMemFree", "cuMemHostAlloc",
    "cuMemFreeHost", "cuModuleUnload"
}  # fmt: skip
"""What ends a capture unless the thread's mode is relaxed; on an H200 with CUDA 13."""
FATAL = "cuCtxSynchronize"
"""What ends one in any case; so does a captured stream that waits for an event of another."""
CACHED = (
    device.device_count,
    device.cuda_name,
    device.handle,
    device.primary_context,
    device.cuda_capability,
    early.early_edges,
    captures.kept_piece,
)


class CaptureRules:
    """Stands for `cuda.bindings.driver`; `capturing` are the streams that somebody captures."""

    def __init__(self, cu):
        self.cu = cu
        self.modes = cu.CUstreamCaptureMode
        self.mine = threading.local()
        self.capturing = set()
        self.ended = []
        self.told = []
        self.full = False
        self.numbers = count(4096, 4096)
        self.ok = cu.CUresult.CUDA_SUCCESS
        capability = cu.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
        self.answers = {
            "cuDeviceGetCount": lambda: 1,
            "cuDeviceGet": lambda index: index,
            "cuDevicePrimaryCtxRetain": lambda each: cu.CUcontext(77),
            "cuCtxGetCurrent": lambda: cu.CUcontext(77),
            "cuDeviceGetAttribute": lambda kind, each: 9 if kind == capability else 0,
            "cuDriverGetVersion": lambda: 13000,
            "cuModuleLoadData": lambda binary: cu.CUmodule(next(self.numbers)),
            "cuModuleGetFunction": lambda module, name: cu.CUfunction(next(self.numbers)),
            "cuFuncGetAttribute": lambda kind, function: 0,
            "cuEventCreate": lambda flags: cu.CUevent(next(self.numbers)),
            "cuStreamCreate": lambda flags: cu.CUstream(next(self.numbers)),
            "cuStreamIsCapturing": lambda stream: int(int(stream) in self.capturing),
            "cuMemAlloc": lambda nbytes: cu.CUdeviceptr(next(self.numbers)),
            "cuMemHostAlloc": lambda nbytes, flags: next(self.numbers),
            "cuGraphCreate": lambda flags: cu.CUgraph(next(self.numbers)),
            "cuGraphAddKernelNode": lambda *of: cu.CUgraphNode(next(self.numbers)),
            "cuGraphInstantiate": lambda *of: cu.CUgraphExec(next(self.numbers)),
            "cuThreadExchangeStreamCaptureMode": self.exchange,
        }

    def exchange(self, mode):
        """The mode of this thread from now on, for the one it had."""
        before = getattr(self.mine, "mode", self.modes.CU_STREAM_CAPTURE_MODE_GLOBAL)
        self.mine.mode = mode
        return before

    def __getattr__(self, name):
        real = getattr(self.cu, name)
        if not name.startswith("cu") or isinstance(real, type):
            return real
        return lambda *args: self.answer(name, args)

    def answer(self, name, args):
        """What the driver says to a call of a function."""
        relaxed = self.modes.CU_STREAM_CAPTURE_MODE_RELAXED
        unsafe = name in UNSAFE and getattr(self.mine, "mode", None) != relaxed
        joins = name == "cuStreamWaitEvent" and int(args[0]) in self.capturing
        self.told.append(name)
        if name == FATAL or unsafe or joins:
            self.ended.append(name)
            return self.cu.CUresult.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 0
        if name == "cuMemAlloc" and self.full:
            return self.cu.CUresult.CUDA_ERROR_OUT_OF_MEMORY, 0
        if name.startswith("cuStreamGetCaptureInfo"):
            status = self.cu.CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_ACTIVE
            return self.ok, status, 1, 2, [], [], 0
        if name in self.answers:
            return self.ok, self.answers[name](*args)
        return (self.ok,)


def install(monkeypatch, cu):
    """Let the runtime talk to such a driver, and forget what it knows of another."""
    rules = CaptureRules(cu)
    for name, module in list(sys.modules.items()):
        if name.startswith("hidet.runtime.") and getattr(module, "cu", None) is cu:
            monkeypatch.setattr(module, "cu", rules)
    forget()
    return rules


def forget():
    """Ask the driver again what does not change."""
    for each in CACHED:
        each.cache_clear()
