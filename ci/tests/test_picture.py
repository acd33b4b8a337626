"""The picture of the architecture is the one that its command draws."""

import pytest

from ci.picture import ASSETS, COLOURS, STEPS, drawn

SOURCES = ASSETS.parents[1] / "packages"


@pytest.mark.parametrize("theme", COLOURS)
def test_the_committed_picture_is_what_the_command_draws(theme):
    text = (ASSETS / f"architecture-{theme}.svg").read_text(encoding="utf-8")
    assert text == drawn(theme), "draw it again: python -m ci.picture"


def test_the_boxes_name_folders_that_exist():
    folders = {each.name for each in SOURCES.glob("*/src/*")}
    folders |= {f"{each.name}/" for each in SOURCES.glob("hidet-core/src/hidet/*")}
    named = {word for step in STEPS for box in step.boxes for word in box.title.split()}
    assert named <= folders
