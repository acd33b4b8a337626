import numpy as np

from hidet import ops
from hidet.frontend.running.execute import View, prepare_runner
from hidet.graph import FlowGraph, Foreign, Tensor, apply, from_numpy, symbol, tracing
from hidet.graph.foreign import ResultTypes
from hidet.runtime.binding.memory import aligned, array_of, exposed, view_of
from hidet.types import f32


def given(values: object) -> View:
    """Values in aligned memory."""
    array = np.asarray(values, np.float32)
    made = aligned(array.shape, f32)
    made.owner[...] = array
    return made


def memory(tensor: Tensor) -> View:
    return view_of(tensor.numpy())


def test_weights_move_and_what_is_derived_follows() -> None:
    direct, source = (from_numpy(aligned((4,), f32).owner) for _ in range(2))
    direct.numpy()[:], source.numpy()[:] = 2, 3
    x = symbol((4,))
    with tracing():
        y = x * direct + ops.square(source)
    runner = prepare_runner(FlowGraph([x], [y]), memory)
    names = {id(tensor): name for name, tensor in runner.weights.items()}
    assert runner.sources == {names[id(source)]}
    (found,) = runner([given([1, 2, 3, 4])])
    assert array_of(found).tolist() == [11, 13, 15, 17]
    source.numpy()[:] = 0
    runner.renew({name: memory(tensor) for name, tensor in runner.weights.items()})
    assert array_of(runner([given([1, 2, 3, 4])])[0]).tolist() == [2, 4, 6, 8]
    moved = {names[id(direct)]: given([1, 1, 1, 1]), names[id(source)]: given([5, 5, 5, 5])}
    runner.renew(moved)
    assert array_of(runner([given([1, 2, 3, 4])])[0]).tolist() == [26, 27, 28, 29]


def test_host_steps_run_between_kernels() -> None:
    x = symbol((3,))
    with tracing():
        middle = apply(Foreign, (x + 1.0,), key="twice", gives=ResultTypes((x.type,)))
        y = middle - 1.0

    def twice(reads: object, writes: object) -> None:
        (source,), (target,) = reads, writes  # type: ignore[misc]
        exposed(target)[:] = 2 * exposed(source)

    runner = prepare_runner(FlowGraph([x], [y]), memory, host_steps={"twice": twice})
    assert array_of(runner([given([0, 1, 2])])[0]).tolist() == [1, 3, 5]
