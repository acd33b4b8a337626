from collections.abc import Iterator

import pytest

from hidet.errors import BadArgument, NotYet
from hidet_torch import dynamo_config
from hidet_torch.settings import settings_for


@pytest.fixture(autouse=True)
def _reset() -> Iterator[None]:
    yield
    dynamo_config.reset()


def test_defaults_hold_until_options_say_otherwise() -> None:
    dynamo_config.search_space(2).use_tensor_core(True).use_cuda_graph(False)
    found = settings_for(None, None)
    assert dict(found.core) == {"search_space": 2, "tf32": True}
    assert not found.use_graph
    assert settings_for(None, {"search_space": 1}).core["search_space"] == 1
    dynamo_config.reset()
    assert dict(settings_for(None, None).core) == {}


def test_a_bad_value_is_refused_at_once() -> None:
    with pytest.raises(BadArgument, match="search_space is 7"):
        dynamo_config.search_space(7)


@pytest.mark.parametrize(
    "name", ["use_fp16", "use_attention", "steal_weights", "correctness_report"]
)
def test_what_is_not_there_says_so(name: str) -> None:
    with pytest.raises(NotYet):
        getattr(dynamo_config, name)()
