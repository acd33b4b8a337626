"""The options under which schedules take the operators that they are for."""

from __future__ import annotations

from contextlib import AbstractContextManager

from hidet.options import options
from hidet.schedules.base import Schedule


def asked(schedule: Schedule) -> AbstractContextManager[None]:
    """The options that a schedule asks for: that float32 may be rounded to tf32, or that tensor
    cores are left alone where these are faster."""
    units = "simt" if schedule.name == "attention_simt" else "mma"
    return options(tf32=schedule.name.endswith("tf32"), mma=units)
