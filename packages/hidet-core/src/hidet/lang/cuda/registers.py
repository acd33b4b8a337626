"""Registers that the warpgroups of a block give to each other (sm_90a)."""

from __future__ import annotations

from hidet.lang.cuda.invoke import invoke


def setmaxnreg_inc(count: int) -> None:
    """Raise the registers of each thread of the warpgroup to `count`, from the block's pool.

    Waits until others have given enough back. A multiple of 8 up to 256; the kernel must set
    `attr.cuda_min_blocks`. PTX ISA: setmaxnreg.
    """
    invoke("setmaxnreg_inc", options=(count,))


def setmaxnreg_dec(count: int) -> None:
    """Lower the registers of each thread of the warpgroup to `count`: the rest is for others.

    A multiple of 8 from 24 on; the kernel must set `attr.cuda_min_blocks`. PTX ISA: setmaxnreg.
    """
    invoke("setmaxnreg_dec", options=(count,))
