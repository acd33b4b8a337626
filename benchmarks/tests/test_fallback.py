import pytest
import torch

from benchmarks.fallback import MODELS, main, measure


@pytest.mark.filterwarnings("ignore::hidet.frontend.importing.report.FallbackWarning")
@torch.no_grad()
def test_systems_give_what_eager_does():
    rows = list(measure("rotary", 0.01))
    assert [row.system for row in rows] == [
        "eager", "dynamo", "torch.compile", "hidet_torch.compile",
    ]  # fmt: skip
    assert all(row.error < 1e-5 and row.milliseconds > 0 for row in rows)


@pytest.mark.filterwarnings("ignore::hidet.frontend.importing.report.FallbackWarning")
def test_the_table_has_a_line_for_each_system(capsys):
    before = torch.get_num_threads()
    main(["all left", "--seconds", "0.01"])
    torch.set_num_threads(before)
    assert capsys.readouterr().out.count("all left") == 4
    assert "all left" in MODELS
