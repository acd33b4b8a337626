import pytest

import hidet_tf
from hidet.errors import HidetError


def test_compile_says_what_is_missing_and_what_works() -> None:
    with pytest.raises(HidetError, match="cannot compile a model yet") as caught:
        hidet_tf.compile("model")
    assert caught.value.code == "not-yet"
    assert "hidet-torch" in (caught.value.help or "")
