"""Files that others see whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

OWNER, AS_USUAL = 0o600, 0o666
"""Who may read and write a file, before the umask takes its part: its owner, or as `open` does."""


def write_whole(path: str | os.PathLike[str], content: bytes, mode: int = OWNER) -> None:
    """Write a file under another name, then give it its own; on failure nothing is left behind."""
    target = Path(path)
    part = target.with_name(f"{target.name}.{uuid4().hex}.part")
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(part, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(part)
        raise
