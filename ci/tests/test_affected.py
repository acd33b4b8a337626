import pytest

from ci.affected import affected, workspace

USES = {
    "hidet-core": set(),
    "hidet-onnx": {"hidet-core"},
    "hidet-tf": {"hidet-core"},
    "hidet-torch": {"hidet-core"},
}


def test_the_workspace_is_read_from_the_projects():
    assert workspace() == USES


@pytest.mark.parametrize(
    ("paths", "tags"),
    [
        ([], []),
        (["packages/hidet-core/src/hidet/ir/node.py"], ["checks", *USES]),
        (["packages/hidet-torch/src/hidet_torch/backend.py"], ["checks", "hidet-torch"]),
        (["ci/affected.py"], ["checks", "docs", *USES]),
        (["constraints.txt"], ["checks", "docs", *USES]),
        (["packages/hidet-core/README.md"], ["checks", "docs"]),
        (["packages/hidet-core/src/hidet/errors/codes.md"], ["checks", "docs", *USES]),
        (["docs/development.md", "packages/hidet-tf/x.py"], ["checks", "docs", "hidet-tf"]),
        (["packages/removed/x.py"], ["checks"]),
    ],
)
def test_a_change_reaches_what_depends_on_it(paths, tags):
    assert affected(paths, USES) == tags
