"""The index of results/ names each of its files, and no other."""

import re
from pathlib import Path

RESULTS = Path(__file__).parents[1] / "results"


def test_the_index_names_every_table():
    named = set(re.findall(r"\]\(([\w.-]+\.md)\)", (RESULTS / "README.md").read_text()))
    assert named == {each.name for each in RESULTS.glob("*.md")} - {"README.md"}
