"""Recipes are data: they can be sent, and mean the same on any tensors."""

import gc
import pickle

from hidet import ops
from hidet.build.choosing.choices import has_schedule
from hidet.build.planning.effects import FEW
from hidet.build.planning.kernels import group_of, key_of_group, shape_of, signature, worked_out
from hidet.build.planning.recipe import shared_bytes
from hidet.fusion import partition
from hidet.fusion.group import Group
from hidet.graph import symbol, trace_from
from hidet.ir.expr import Var
from hidet.ir.kernel import Kernel, Launch
from hidet.options import options
from hidet.runtime.plans.plan import Pointer, Scalar
from hidet.target import Target
from hidet.types import i32

CUDA = Target.parse("sm_90a")


def groups_of(outputs, inputs):
    return partition(trace_from(outputs, inputs), lambda op: has_schedule(op, CUDA))


def test_launches_speak_of_inputs_results_and_workspaces_by_number():
    x = symbol((512, 3000), device="cuda")
    (group,) = groups_of([ops.softmax(ops.relu(x))], [x])
    ((inputs, results, recipe),) = worked_out(group, CUDA)
    assert recipe.count == len(inputs) + len(results)
    assert [each.name for each in recipe.functions] == [each.function for each in recipe.launches]
    there = recipe.count + len(recipe.workspaces)
    for launch in recipe.launches:
        assert all(number < there for number in (*launch.reads, *launch.writes))
        assert all(arg.buffer < there for arg in launch.args if isinstance(arg, Pointer))
    assert pickle.loads(pickle.dumps(recipe)) == recipe


def test_a_group_that_was_sent_is_worked_out_alike():
    x = symbol((Var("n", i32), 24), "float16", "cuda")
    w, b = symbol((24, 16), "float16", "cuda"), symbol((16,), "float16", "cuda")
    for group in groups_of([ops.relu(ops.matmul(x * 2.0, w) + b)], [x, w, b]):
        shape = shape_of(group)
        again = group_of(pickle.loads(pickle.dumps(shape)))
        assert again.name == group.name
        assert len(again.nodes) == len(group.nodes)
        made = worked_out(again, CUDA)
        assert made == worked_out(group, CUDA)
        sizes = [a for _, _, r in made for each in r.launches for a in each.args]
        assert any(isinstance(each, Scalar) for each in sizes)  # the symbolic size is an argument


def test_one_variable_stays_one_where_a_group_is_sent():
    n = Var("n", i32)
    x, y = symbol((n, 4)), symbol((n, 4))
    (group,) = groups_of([x + y], [x, y])
    shape = pickle.loads(pickle.dumps(shape_of(group)))
    ((op, _),) = shape.wiring
    assert shape.inputs[0].shape[0] is op.types()[0].shape[0]
    assert signature(group_of(shape)) != signature(group)  # not the variable it was here


def test_no_more_blocks_fit_than_a_multiprocessor_should_hold():
    per_core, reserved = CUDA.shared_bytes_per_sm, 1024
    for most in range(1, 9):
        few = shared_bytes(Kernel("k", (), (), launch=Launch(max_blocks=most)), CUDA)
        assert (few + reserved) * most <= per_core < few * (most + 1)
    assert shared_bytes(Kernel("k", (), (), launch=Launch(shared_bytes=7)), CUDA) == 7
    large = Launch(shared_bytes=100_000, max_blocks=4)
    assert shared_bytes(Kernel("k", (), (), launch=large), CUDA) == 100_000


def test_launches_know_where_their_blocks_go():
    x = symbol((512, 3000), device="cuda")
    (group,) = groups_of([ops.sum(x, (0,))], [x])
    ((_, _, recipe),) = worked_out(group, CUDA)
    (launch,) = recipe.launches
    assert launch.room.cores == CUDA.cores_in_clusters(2)
    assert launch.room.most == CUDA.max_threads_per_sm // launch.block[0]
    assert launch.room.fixed > 1024
    with options(overlap_launches=False):
        ((_, _, late),) = worked_out(group, CUDA)
    assert late.launches[0].room is None


def test_what_may_lie_in_an_operands_place_gives_a_signal_as_well():
    x, y = symbol((64, 64), device="cuda"), symbol((64, 64), device="cuda")

    def facts(output):
        (group,) = groups_of([output], [x, y])
        ((_, _, recipe),) = worked_out(group, CUDA)
        return [(bool(each.in_place), each.signals) for each in recipe.launches]

    assert facts(ops.softmax(x)) == [(False, True)]
    assert facts(ops.softmax(x) + y) == [(True, True)]


def test_groups_that_give_more_results_are_not_alike():
    x = symbol((4, 8))
    y = x + 1
    z = y * 2
    nodes = [y.trace[0], z.trace[0]]
    one, both = Group(list(nodes)), Group(list(nodes), also=(y,))
    assert key_of_group(one, Target.parse("cpu")) != key_of_group(both, Target.parse("cpu"))
    again = group_of(shape_of(both))
    assert again.also[0] is again.nodes[0].outputs[0]


def kernels():
    gc.collect()
    return sum(isinstance(each, Kernel) for each in gc.get_objects())


def test_kernels_are_let_go_once_they_are_written_down():
    before = kernels()
    for size in range(1, 4 * FEW + 1):
        x = symbol((size, 3), device="cuda")
        (group,) = groups_of([ops.relu(x)], [x])
        worked_out(group, CUDA)
    assert kernels() - before <= 2 * FEW
