"""Do the links of the pages lead anywhere? `python -m ci.links` names those that do not."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from ci.address import linked

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")
GENERATED = "reference"
"""The folder of pages whose headings come from docstrings: mkdocs knows these alone."""
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def pages(root: Path = ROOT) -> list[Path]:
    """The pages that readers see: READMEs, changelogs, all of docs/, and results."""
    found = [*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("packages/*/*.md")]
    return sorted([*found, *root.glob("benchmarks/**/*.md"), *root.glob("packages/*/src/**/*.md")])


def broken(page: Path) -> Iterator[str]:
    """The links of a page that lead to no file, or to no heading of one."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for match in LINK.finditer(text):
        target, _, anchor = (match[1] or match[2]).partition("#")
        ours = linked(target)
        if ours is None and ("://" in target or target.startswith("mailto:")):
            continue
        file = ours or ((page.parent / target).resolve() if target else page)
        if not file.exists():
            yield target
        elif anchor and is_checked(file) and anchor not in headings(file.read_text("utf-8")):
            yield f"{target}#{anchor}"


def is_checked(file: Path) -> bool:
    """Whether the headings of a file are known."""
    return file.suffix == ".md" and file.parent.name != GENERATED


def headings(text: str) -> set[str]:
    """The anchors of a page's headings, as mkdocs spells them, and those that it sets itself."""
    found = {
        re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", each.lower()).strip())
        for each in re.findall(r"^#+\s+(.+?)\s*$", FENCE.sub("", text), re.MULTILINE)
    }
    return found | set(re.findall(r'id="([^"]+)"', text))


def main() -> int:
    """Print each link that leads nowhere; 1 if there are any."""
    found = [(page, link) for page in pages() for link in broken(page)]
    for page, link in found:
        print(f"{page.relative_to(ROOT)}: {link}")
    return min(len(found), 1)


if __name__ == "__main__":
    sys.exit(main())
