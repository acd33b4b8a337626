"""Does a release tag agree with the repository? Prints the package's folder if it does."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


class Refused(Exception):
    """The tag may not be released; the message says why."""


def folder(tag: str, root: Path = ROOT) -> Path:
    """The folder of `hidet-x-v1.2.3`, its version and changelog checked against the tag."""
    match = re.fullmatch(r"(hidet-[a-z]+)-v(\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?)", tag)
    if match is None:
        raise Refused(f"{tag!r} is not a tag like hidet-torch-v1.2.3")
    name, version = match.groups()
    package = root / "packages" / name
    if not package.is_dir():
        raise Refused(f"there is no package {name}")
    if (declared := declared_version(package)) != version:
        raise Refused(f"{name} declares version {declared}, the tag says {version}")
    changelog = (package / "CHANGELOG.md").read_text()
    heading = re.search(rf"^## {re.escape(version)}(?=\s|$)(.*)$", changelog, re.MULTILINE)
    if heading is None:
        raise Refused(f"the changelog of {name} has no heading '## {version}'")
    if "unreleased" in heading[1]:
        raise Refused(f"the changelog of {name} still calls {version} unreleased")
    return package


def declared_version(package: Path) -> str:
    """What the package's `__about__.py` says."""
    [about] = package.glob("src/*/__about__.py")
    match = re.search(r'^__version__ = "(.+)"$', about.read_text(), re.MULTILINE)
    if match is None:
        raise Refused(f"{about} declares no version")
    return match[1]


def main(tag: str) -> int:
    """Print `folder=...`, or the reason against the release."""
    try:
        print(f"folder={folder(tag).relative_to(ROOT)}")
    except Refused as reason:
        print(f"not released: {reason}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
