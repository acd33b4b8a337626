"""The automatic schedule computes every operator: CUDA kernels in the simulator, its C++ here."""

import ctypes
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from hidet import seams, sim
from hidet.codegen import cpu
from hidet.graph import OPERATORS, refer
from hidet.passes.pipeline import lower
from hidet.schedules.automatic import automatic_schedule
from hidet.target import Target
from hidet.testing.compare import assert_close
from hidet.testing.fused import as_run
from hidet.toolchain import compile_cpp, flags_for, probe_isa

seams.call("load_operators")
SAMPLES = [
    pytest.param(op, id=f"{name}-{number}")
    for name, kind in sorted(OPERATORS.items())
    for number, op in enumerate(kind.samples())
    if op.kind == "kernels"
]
HERE = Target.parse("cpu" if probe_isa() == "generic" else f"cpu+{probe_isa()}")


def scheduled(op, target, name="kernel"):
    definition = op.definition()
    return automatic_schedule(name, definition.inputs, definition.outputs, target)


def results(op):
    """Arrays to be filled, poisoned so that what is not written shows."""
    made = [np.empty(each.shape, each.dtype.numpy) for each in op.results()]
    for each in made:
        each.view(np.uint8 if each.ndim else each.dtype)[...] = 0xA5 if each.ndim else 1
    return made


def check(op, found, arrays):
    for value, wanted, of in zip(found, refer(op, arrays), op.precisions(), strict=True):
        assert_close(value, wanted, of, op.factor)


@pytest.mark.parametrize("op", SAMPLES)
def test_cuda_kernels_in_the_simulator(op):
    arrays, found = op.examples(seed=0), results(op)
    sim.launch(scheduled(op, Target.parse("sm_90a")), *arrays, *found)
    check(op, found, arrays)


@pytest.mark.parametrize("op", SAMPLES)
def test_lowered_cuda_kernels_in_the_simulator(op):
    arrays, found = op.examples(seed=1), results(op)
    sim.launch(as_run(scheduled(op, Target.parse("sm_90a"))), *arrays, *found)
    check(op, found, arrays)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Modules and functions of the operators for this machine, by the names of the samples.

    Few translation units, because starting the compiler costs, and one for each of two cores.
    """
    modules = {
        parameter.id: scheduled(parameter.values[0], HERE, f"op{number}")
        for number, parameter in enumerate(SAMPLES)
    }
    lowered = [lower(kernel) for module in modules.values() for kernel in module.kernels]
    parts = [lowered[::2], lowered[1::2]]
    texts = [cpu.emit(part) for part in parts]
    flags = (*cpu.FLAGS, *flags_for(HERE))
    with ThreadPoolExecutor() as pool:
        binaries = list(pool.map(lambda text: compile_cpp(text, flags=flags), texts))
    functions = {}
    for part, binary in zip(parts, binaries, strict=True):
        path = tmp_path_factory.mktemp("operators") / "unit.so"
        path.write_bytes(binary)
        library = ctypes.CDLL(str(path))
        functions |= {kernel.name: getattr(library, kernel.name) for kernel in part}
    return modules, functions


@pytest.mark.parametrize("sample", [each.id for each in SAMPLES])
def test_cpu_kernels(sample, compiled):
    (op,) = next(each.values for each in SAMPLES if each.id == sample)
    modules, functions = compiled
    module = modules[sample]
    arrays, found = op.examples(seed=2), results(op)
    values = dict(zip(module.params, [*arrays, *found], strict=True))
    for var in module.workspaces:
        values[var] = np.zeros(var.of.shape, var.of.dtype.numpy)
    for call in module.calls:
        pointers = [ctypes.c_void_p(values[arg].ctypes.data) for arg in call.args]
        functions[call.kernel](*pointers)
    check(op, found, arrays)
