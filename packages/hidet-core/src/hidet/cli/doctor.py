"""`hidet doctor`: what works on this machine, and for what does not, the next step."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator
from difflib import get_close_matches

from hidet.__about__ import __version__
from hidet.build.caching.cache import Cache
from hidet.cli import busy
from hidet.cli.cache import spelled
from hidet.errors import BadArgument, HidetError, NoDevice
from hidet.frontend import Frontend, installed
from hidet.frontend.discover import require_framework
from hidet.options import OPTIONS
from hidet.runtime.cores import cores
from hidet.runtime.devices.device import cuda_capability, cuda_name, device_count
from hidet.runtime.devices.driver import call
from hidet.runtime.team import threads_of
from hidet.toolchain import compile_cpp, compile_cuda, cpp_version, cuda_version, probe_isa

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "HIDET_THREADS")
"""Variables that say how many threads numeric libraries use."""
PROBE = 'extern "C" {} void probe(float *x) {{ x[0] = 0.0f; }}'


def doctor() -> int:
    """Print a line for each thing looked at; 1 if nothing can be compiled for this machine."""
    print(f"hidet {__version__}, Python {platform.python_version()}, {platform.platform()}")
    works: dict[str, bool] = {}
    for name, look in CHECKS.items():
        try:
            lines = list(look())
            works[name] = True
        except (HidetError, OSError) as error:
            lines = failure(error)
            works[name] = False
        mark = "ok" if works[name] else "--"
        for number, line in enumerate(lines):
            print(f"{mark if number == 0 else '':2}  {name if number == 0 else '':12}  {line}")
    usable = works["C++ compiler"] or (works["NVRTC"] and works["GPU"])
    if not usable:
        print("nothing can be compiled for this machine")
    return 0 if usable else 1


def failure(error: HidetError | OSError) -> list[str]:
    """What is wrong, and what to do about it."""
    if not isinstance(error, HidetError):
        return [str(error)]
    lines = error.message.splitlines()[:1]
    return [*lines, f"help: {error.help}"] if error.help else lines


def host_compiler() -> Iterator[str]:
    """The C++ compiler, tried."""
    yield cpp_version()
    compile_cpp(PROBE.format(""))
    yield f"instruction set: {probe_isa()}"


def nvrtc() -> Iterator[str]:
    """NVRTC, tried."""
    yield cuda_version()
    source = "#include <cuda_fp16.h>\n" + PROBE.format("__global__")
    compile_cuda(source, arch="sm_90a")


def gpus() -> Iterator[str]:
    """Each GPU with its compute capability."""
    call("cuInit", 0)
    if not device_count():
        raise NoDevice("the driver sees no GPU", help="models run on the CPU")
    version = int(call("cuDriverGetVersion"))
    yield f"driver for CUDA {version // 1000}.{version % 1000 // 10}"
    for index in range(device_count()):
        device = f"cuda:{index}"
        major, minor = cuda_capability(device)
        yield f"{device} {cuda_name(device)}, sm_{major}{minor}"


def frontends() -> Iterator[str]:
    """Each installed frontend; their frameworks are not imported."""
    found = installed()
    if not found:
        yield "none installed; pip install hidet-torch, hidet-onnx or hidet-tf"
    for name, manifest in found.items():
        if manifest.usable and lacks(manifest) is None:
            yield f"{name} ({manifest.requires or 'for any version'})"


def lacks(manifest: Frontend) -> HidetError | None:
    """What a frontend needs of its framework and does not have."""
    try:
        require_framework(manifest)
    except HidetError as error:
        return error
    return None


def frameworks() -> Iterator[str]:
    """Nothing, unless the framework of an installed frontend is absent, or of another version."""
    for manifest in installed().values():
        require_framework(manifest)
    yield from ()


def unfinished() -> Iterator[str]:
    """Nothing, unless a frontend is announced that cannot compile models yet."""
    names = [name for name, manifest in installed().items() if not manifest.usable]
    if names:
        raise BadArgument(f"frontend {', '.join(names)} cannot compile models yet")
    yield from ()


def threads() -> Iterator[str]:
    """How many threads kernels on the CPU use, and what says so."""
    yield f"{threads_of()()} for kernels on the CPU; {cores()} of {os.cpu_count()} cores are ours"
    settings = [f"{name}={os.environ[name]}" for name in THREADS if name in os.environ]
    if settings:
        yield ", ".join(settings)


def load() -> Iterator[str]:
    """Whether other processes have the cores, so that measured times would mean little."""
    is_busy, settings = busy.load()
    if is_busy:
        raise BadArgument(f"the machine is busy: {settings}", help="measure when nothing else runs")
    yield settings


def cache() -> Iterator[str]:
    """The compile cache."""
    kept = Cache()
    yield f"{kept.root}, {spelled(sum(size for _, size, _ in kept.entries()))}"
    kept.prepare(kept.root / "00")


def settings() -> Iterator[str]:
    """The options that the environment sets; one that is none has no effect."""
    known = [each.environment for each in OPTIONS.values()]
    for name in sorted(os.environ):
        near = get_close_matches(name, known, 1, 0.8) if name.startswith("HIDET_") else []
        if near and name not in known:
            raise BadArgument(f"{name} is no option", help=f"did you mean {near[0]}?")
    changed = [each for each in OPTIONS.values() if each.environment in os.environ]
    yield ", ".join(f"{each.environment}={each.get()}" for each in changed) or "all as they come"


CHECKS: dict[str, Callable[[], Iterator[str]]] = {
    "C++ compiler": host_compiler,
    "NVRTC": nvrtc,
    "GPU": gpus,
    "frontends": frontends,
    "frameworks": frameworks,
    "unfinished": unfinished,
    "threads": threads,
    "load": load,
    "cache": cache,
    "options": settings,
}
