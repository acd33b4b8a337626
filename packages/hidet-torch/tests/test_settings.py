import re
from pathlib import Path

import pytest
import torch

from hidet import options
from hidet.errors import BadArgument
from hidet_torch.config import DynamoConfig
from hidet_torch.settings import MODES, OWN, settings_for


def test_modes_are_presets_that_options_override() -> None:
    assert settings_for("max-autotune", None).core["search_space"] == 2
    assert not settings_for("max-autotune-no-cudagraphs", None).use_graph
    found = settings_for(None, {"mode": "max-autotune", "search_space": 1})
    assert found.core["search_space"] == 1


def test_unknown_names_are_refused_with_the_nearest_one() -> None:
    with pytest.raises(BadArgument, match="did you mean 'search_space'"):
        settings_for(None, {"serch_space": 1})
    with pytest.raises(BadArgument, match="there is no mode"):
        settings_for("fast", None)


def test_core_options_are_in_force_only_inside() -> None:
    with settings_for(None, {"search_space": 2, "tf32": True}).in_force():
        assert options.search_space.get() == 2
        assert options.tf32.get() is True
    assert options.search_space.get() == 0


def test_tf32_follows_pytorch_unless_it_is_asked_for() -> None:
    products = torch.backends.cuda.matmul
    before = products.allow_tf32
    try:
        for allowed in (True, False):
            products.allow_tf32 = allowed
            with settings_for(None, None).in_force():
                assert options.tf32.get() is allowed
            with settings_for(None, {"use_tensor_core": not allowed}).in_force():
                assert options.tf32.get() is not allowed
    finally:
        products.allow_tf32 = before


PAGE = (Path(__file__).parents[3] / "docs" / "pytorch.md").read_text()


def test_the_page_names_every_option_of_this_frontend() -> None:
    section = PAGE.partition("## Options")[2].partition("\n## ")[0]
    named = set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))
    methods = {name for name in vars(DynamoConfig) if not name.startswith("_")} - {"reset"}
    other_words = {"use_graph"}  # of `use_cuda_graph`
    assert named == methods | set(OWN) - other_words
    assert set(re.findall(r'^\| `"([\w-]+)"` \|', section, re.MULTILINE)) == set(MODES)
