"""Which passes lower a kernel, in order, each with the reason for its place."""

from __future__ import annotations

from collections.abc import Iterable

from hidet.ir.kernel import Kernel, KernelKind
from hidet.passes.addresses.copy_vectors import copy_vectors
from hidet.passes.addresses.evaluate_both import evaluate_both
from hidet.passes.addresses.flatten_indices import flatten_indices
from hidet.passes.addresses.guard_bounds import guard_bounds
from hidet.passes.addresses.load_ahead import load_ahead
from hidet.passes.addresses.place_shared import place_shared
from hidet.passes.addresses.read_anyway import read_anyway
from hidet.passes.addresses.transpose_tiles import transpose_tiles
from hidet.passes.addresses.vectorize_access import vectorize_access
from hidet.passes.arithmetic.bind_subexpressions import bind_subexpressions
from hidet.passes.arithmetic.narrow_casts import narrow_casts
from hidet.passes.arithmetic.round_quotients import round_quotients
from hidet.passes.arithmetic.simplify import simplify
from hidet.passes.base import Observer, Pass, run
from hidet.passes.launches.join_team import join_team
from hidet.passes.launches.launch_configuration import launch_configuration
from hidet.passes.launches.order_barriers import order_barriers
from hidet.passes.launches.overlap_launches import overlap_launches
from hidet.passes.launches.signal_next import signal_next
from hidet.passes.loops.align_stores import align_stores
from hidet.passes.loops.alternate_loops import alternate_loops
from hidet.passes.loops.powers_in_vectors import powers_in_vectors
from hidet.passes.loops.shorten_loops import shorten_loops
from hidet.passes.loops.split_loops import split_loops
from hidet.passes.loops.unfold_tasks import unfold_tasks
from hidet.passes.loops.unroll import unroll
from hidet.passes.loops.unswitch_loops import unswitch_loops

CUDA: tuple[Pass, ...] = (
    round_quotients,  # first: quotients look as operators wrote them, in narrow types too
    narrow_casts,  # nothing below knows types that are stored only
    unfold_tasks,  # early: everything below sees plain loops only
    bind_subexpressions,  # ahead of all that looks at values under the conditions of their uses
    guard_bounds,  # while tensors have shapes; the loops just made say what indices can be
    simplify,  # guards that are certain vanish before they are copied into lanes and iterations
    flatten_indices,  # after guards, which speak in tensor coordinates
    vectorize_access,  # wants flat addresses, and its loops not yet unrolled
    unroll,  # after vector loops: they may be inside of unrolled ones
    simplify,  # constant iterations and lanes make constant indices; the only pass that comes twice
    load_ahead,  # while all iterations lie one after the other, with what is certain gone
    place_shared,  # once it is certain which shared arrays are still used
    order_barriers,  # last that looks at memory accesses
    launch_configuration,  # at the end: only symbols that are still used become parameters
)

CPU: tuple[Pass, ...] = (
    round_quotients,  # first: quotients look as operators wrote them, in narrow types too
    narrow_casts,  # early: nothing below knows types that are stored only
    unfold_tasks,  # early: everything below sees plain loops only
    bind_subexpressions,  # ahead of all that looks at values under the conditions of their uses
    guard_bounds,  # while tensors have shapes
    alternate_loops,  # before choices are decided: those of what alternates are then
    simplify,  # guards that are certain vanish: the C++ compiler can then use vectors
    transpose_tiles,  # before guards become loops: a tile is read with those of its own
    shorten_loops,  # of the guards that are left; while indices are apart
    split_loops,  # of the conditions on reads that change once along a loop
    unswitch_loops,  # before reads get other indices; those conditions are no masks
    read_anyway,  # where the choices that are left are; an element there is known by its indices
    evaluate_both,  # of the conditions that are left, while indices say what is there
    flatten_indices,  # after guards, which speak in tensor coordinates
    copy_vectors,  # wants flat addresses, and loops without conditions
    align_stores,  # of the vector loops that are left; looks at flat addresses
    unroll,  # small task loops; vector loops stay for the C++ compiler
    simplify,  # constant iterations make constant indices
    join_team,  # once it is known how often loops iteration
    launch_configuration,  # at the end: only symbols that are still used become parameters
)


def passes_for(kind: KernelKind, overlap: int = 0, lanes: int = 0) -> tuple[Pass, ...]:
    """The passes of a kind of kernel; `overlap`: the threads that a device holds at once on which
    launches may begin early, 0 on others; `lanes`: those of vectors of float32 in which a CPU
    computes powers, 0 where it does so number by number.

    The wait is placed last, so that no pass moves an access to memory ahead of it. Powers get
    vectors while loads have flat addresses, and before arrays that are read by vectors are known.
    """
    if kind is KernelKind.CPU:
        place = CPU.index(copy_vectors)
        return (*CPU[:place], powers_in_vectors(lanes), *CPU[place:]) if lanes else CPU
    return (*CUDA, overlap_launches, signal_next(overlap)) if overlap else CUDA


def lower(
    kernel: Kernel, observers: Iterable[Observer] = (), overlap: int = 0, lanes: int = 0
) -> Kernel:
    """The kernel as code generation takes it; `overlap` and `lanes` as `passes_for` has them."""
    return run(kernel, passes_for(kernel.kind, overlap, lanes), observers)
