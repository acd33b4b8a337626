"""The plots of the pages are those of the tables."""

from xml.etree import ElementTree

import pytest

from benchmarks.plot import ASSETS, COLOURS, PLOTS, drawn, rows, speedups


@pytest.mark.parametrize("plot", PLOTS, ids=lambda each: each.name)
@pytest.mark.parametrize("theme", COLOURS)
def test_a_committed_plot_is_that_of_its_table(plot, theme):
    text = (ASSETS / f"{plot.name}-{theme}.svg").read_text()
    assert text == drawn(plot, theme), "draw them again: python -m benchmarks.plot"
    ElementTree.fromstring(text)


def test_speed_is_over_the_first_system():
    for plot in PLOTS:
        found = speedups(plot)
        assert len(found) >= 4
        for each in found.values():
            assert each[plot.systems[0]] == 1.0
            assert each["hidet"] > 0


def test_rows_of_other_batches_are_left_out():
    page = (
        "# A\n\n| network | system | ms |\n|---|---|---|\n| resnet50, float16, batch 32 | a | 2 |\n"
    )
    assert [*rows(page + "| resnet50, float16, batch 1 | a | 1.5 |\n")] == [("ResNet-50", "a", 1.5)]
