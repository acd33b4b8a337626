import subprocess
import sys

import pytest

from hidet.errors import BadArgument, NoDevice
from hidet.runtime.devices.device import canonical, cuda_capability, device_count, index_of


def test_devices_have_one_spelling():
    assert canonical("cpu") == "cpu"
    assert canonical("cuda") == canonical("cuda:0") == "cuda:0"
    assert index_of("cuda:3") == 3


@pytest.mark.parametrize("device", ["gpu", "cuda:x", "cuda:-1", "", "cpu:0"])
def test_others_are_refused(device):
    with pytest.raises(BadArgument, match="there is no device"):
        canonical(device)


def test_a_device_that_is_not_there_is_named():
    with pytest.raises(NoDevice):
        cuda_capability("cuda:99")


def test_counting_never_fails():
    assert device_count() >= 0


def test_importing_needs_no_driver_and_no_compiler():
    code = (
        "import sys, hidet.runtime; "
        "bad = [m for m in sys.modules if m.split('.')[:2] in (['hidet', 'ir'], "
        "['hidet', 'toolchain'], ['hidet', 'graph']) or m == 'torch']; "
        "assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.gpu
def test_the_capability_is_plausible():
    major, minor = cuda_capability("cuda:0")
    assert major >= 7
    assert 0 <= minor <= 9
