"""Which frontend takes a model file."""

from types import SimpleNamespace

import pytest

from hidet.errors import BadArgument
from hidet.frontend import API, Frontend, files

TOY = Frontend("toy", API, "hidet_toy", "numpy", files=(".toy", ".json"), beside="toy:others")


@pytest.fixture
def toy(monkeypatch):
    monkeypatch.setattr(files, "installed", lambda: {"toy": TOY})


def test_a_file_goes_to_the_frontend_that_takes_it(toy, monkeypatch):
    module = SimpleNamespace(compile=lambda path, device: (path, device))
    monkeypatch.setattr(files, "load", lambda name: {"toy": module}[name])
    assert files.frontend_for("folder/model.json") == "toy"
    assert files.compile_file("model.toy", "cuda:1") == ("model.toy", "cuda:1")


def test_a_file_that_nobody_takes(toy, monkeypatch):
    assert files.frontend_for("model.onnx") is None
    with pytest.raises(BadArgument, match=r"no installed frontend takes model\.onnx") as raised:
        files.compile_file("model.onnx")
    assert raised.value.help == "files that end in .toy, .json are taken"
    monkeypatch.setattr(files, "installed", lambda: {})
    with pytest.raises(BadArgument) as raised:
        files.compile_file("model.onnx")
    assert raised.value.help == "pip install hidet-onnx, for files that end in .onnx"


def test_other_programs_for_a_file(toy, monkeypatch):
    found = {"toy:others": lambda path, device: {"other": lambda named: [path, device, named]}}
    monkeypatch.setattr(files, "resolve_name", found.__getitem__)
    assert files.others("a.toy", "cpu")["other"]({}) == ["a.toy", "cpu", {}]
