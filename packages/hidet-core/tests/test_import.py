"""What importing and compiling needs of a machine: little."""

import subprocess
import sys
from importlib import import_module
from pkgutil import walk_packages

import hidet

FRAMEWORKS = ("torch", "onnx", "tensorflow")


def fresh(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_no_module_of_core_imports_a_framework():
    code = f"""
import pkgutil, sys
from importlib import import_module
import hidet
for found in pkgutil.walk_packages(hidet.__path__, "hidet."):
    import_module(found.name)
print(*set(sys.modules).intersection({FRAMEWORKS}))
"""
    assert fresh(code) == ""


def test_a_machine_without_a_driver_compiles_for_a_gpu(tmp_path):
    """The driver's library is never opened: every attempt to is refused here."""
    code = f"""
import ctypes, sys
opened = ctypes.CDLL.__init__
def refuse(self, name, *args, **kwargs):
    if name and "libcuda.so" in str(name):
        raise OSError("libcuda.so.1: cannot open shared object file")
    opened(self, name, *args, **kwargs)
ctypes.CDLL.__init__ = refuse
import hidet
from hidet.build.compile import compile_graph
from hidet.options import options
x = hidet.symbol((4, 5), device="cuda")
graph = hidet.trace_from([hidet.ops.relu(x + 1.0)], [x])
with options(cache_dir={str(tmp_path)!r}):
    archive = compile_graph(graph, "sm_90a").archive
(binary,) = archive.binaries.values()
assert binary[:4] == bytes([0x7F]) + b"ELF"
maps = open("/proc/self/maps").read() if sys.platform == "linux" else ""
print("libcuda.so" in maps)
"""
    assert fresh(code) == "False"


def test_no_function_hides_a_package_of_its_name():
    """`import hidet.schedules.automatic.split as x` looks the packages up as attributes."""
    for each in walk_packages(hidet.__path__, "hidet."):
        if each.ispkg:
            parent, _, name = each.name.rpartition(".")
            package = import_module(each.name)
            assert getattr(import_module(parent), name) is package
