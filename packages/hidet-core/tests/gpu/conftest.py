"""Running script functions in the simulator and on a GPU, on arrays of the host."""

import pytest

from hidet.driver import build_ir_module
from hidet.runtime.binding.memory import array_of, to_device

DEVICE = "cuda:0"


def simulated(function, *arrays):
    """The arrays after the function has run in the simulator."""
    copies = [each.copy() for each in arrays]
    build_ir_module(function.ir_module(), target="sim")(*copies)
    return copies


def on_device(function, *arrays):
    """The arrays after the function has run on the GPU."""
    views = [to_device(each, DEVICE) for each in arrays]
    build_ir_module(function.ir_module())(*views)
    return [array_of(view) for view in views]


@pytest.fixture(name="simulated")
def fixture_simulated():
    """Runs a script function in the simulator."""
    return simulated


@pytest.fixture(name="on_device")
def fixture_on_device():
    """Runs a script function on the GPU."""
    return on_device


@pytest.fixture(
    params=[
        pytest.param(simulated, id="simulated"),
        pytest.param(on_device, id="device", marks=pytest.mark.gpu),
    ]
)
def run(request):
    """Runs a script function: in the simulator, and, if there is a GPU to be tested, on it."""
    return request.param
