import subprocess
import sys
import time

import pytest

import hidet

HEAVY = ("numpy", "torch", "onnx", "tensorflow", "cuda", "tqdm")


def fresh(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_importing_hidet_imports_nothing_heavy():
    loaded = fresh("import sys, hidet; print(*sys.modules)").split()
    assert not set(loaded).intersection(HEAVY)
    assert [name for name in loaded if name.startswith("hidet.")] == ["hidet.__about__"]


def test_importing_hidet_takes_less_than_150_milliseconds():
    code = (
        "import time; start = time.process_time(); import hidet; print(time.process_time() - start)"
    )
    assert min(float(fresh(code)) for _ in range(3)) < 0.15


@pytest.mark.parametrize("name", sorted(hidet.NAMES))
def test_each_name_is_where_the_table_says(name):
    assert getattr(hidet, name) is not None


def test_dtypes_have_a_long_and_a_short_name():
    assert hidet.float16 is hidet.f16
    assert hidet.f16.name == "float16"


def test_modules_are_attributes():
    assert fresh("import hidet; print(hidet.lang.f32, hidet.types.i8)") == "f32 i8"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'hidet' has no attribute 'nonsense'"):
        hidet.nonsense  # noqa: B018


def test_names_are_listed():
    assert {"script", "ops", "torch", "f32", "__version__"} <= set(dir(hidet))


def test_a_looked_up_name_is_found_again_quickly():
    hidet.f32  # noqa: B018
    start = time.process_time()
    for _ in range(1000):
        hidet.f32  # noqa: B018
    assert time.process_time() - start < 0.15
