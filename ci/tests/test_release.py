import pytest

from ci.release import Refused, folder


@pytest.fixture
def repository(tmp_path):
    package = tmp_path / "packages" / "hidet-torch"
    (package / "src" / "hidet_torch").mkdir(parents=True)
    (package / "src" / "hidet_torch" / "__about__.py").write_text('__version__ = "1.2.3"\n')
    (package / "CHANGELOG.md").write_text("# Changes\n\n## 1.2.3\n\n- All.\n\n## 1.2.30\n")
    return tmp_path


def test_a_tag_that_agrees_gives_the_folder(repository):
    expected = repository / "packages" / "hidet-torch"
    assert folder("hidet-torch-v1.2.3", repository) == expected


@pytest.mark.parametrize(
    ("tag", "reason"),
    [
        ("v1.2.3", "not a tag like"),
        ("hidet-torch-v1.2", "not a tag like"),
        ("hidet-jax-v1.2.3", "no package hidet-jax"),
        ("hidet-torch-v1.2.4", "declares version 1.2.3"),
    ],
)
def test_a_tag_that_disagrees_is_refused(repository, tag, reason):
    with pytest.raises(Refused, match=reason):
        folder(tag, repository)


@pytest.mark.parametrize(
    ("text", "reason"),
    [("## 1.2.30\n", "no heading"), ("## 1.2.3 (unreleased)\n", "still calls 1.2.3 unreleased")],
)
def test_the_changelog_must_agree(repository, text, reason):
    (repository / "packages" / "hidet-torch" / "CHANGELOG.md").write_text(text)
    with pytest.raises(Refused, match=reason):
        folder("hidet-torch-v1.2.3", repository)
