"""What points state of an iteration of the main loop is what its lowered IR does."""

import re
from math import prod

import pytest

from hidet.ir.evaluate import evaluate
from hidet.ir.expr import Builtin, Load, Var
from hidet.ir.stmt import Declare, For, If, Invoke, Store
from hidet.ir.walk import postorder, statements, substitute
from hidet.ops.products.matmul import Linear, Matmul
from hidet.passes.pipeline import lower
from hidet.schedules import load
from hidet.schedules.base import SCHEDULES
from hidet.schedules.forms import contraction_of
from hidet.target import WARP, WARPGROUP, Target
from hidet.types import Scope, TensorType, f16, f32, i8, i32

assert load.LOADED


class Counts:
    """What a block does in an iteration of the first main loop of a kernel."""

    def __init__(self, kernel):
        self.params = set(kernel.params)
        self.threads = prod(map(evaluate, kernel.launch.block))
        every = statements(kernel.body)
        self.values = {each.var: each.init for each in every if isinstance(each, Declare)}
        self.operations = self.memory_bytes = self.shared_bytes = 0
        names = {each.name for each in every if isinstance(each, Invoke)}
        self.tensor_cores = bool(names & {"mma_sync", "wgmma"})
        loops = [each for each in kernel.body if isinstance(each, For)]
        self.visit(next(each for each in loops if each.var.name == "iteration").body, 1)

    def visit(self, body, times):
        for each in body:
            if isinstance(each, For):
                self.visit(each.body, times * evaluate(each.extent))
            elif isinstance(each, If):  # a block loads no tiles after its last iteration
                self.visit(each.then, times)
            else:
                self.count(each, times)

    def count(self, each, times):
        if isinstance(each, Invoke):
            self.invoke(each.name, each.options, times)
        elif isinstance(each, Store) and self.is_shared(each.tensor):
            lanes = getattr(each.value.type, "lanes", 1)
            self.shared_bytes += times * self.threads * lanes * each.tensor.dtype.nbytes
        elif isinstance(each, Store) and each.tensor.name == "accumulators":
            self.operations += 0 if self.tensor_cores else 2 * times * self.threads
        for e in postorder(each):
            if isinstance(e, Load) and e.tensor in self.params:
                self.memory_bytes += times * self.threads * e.lanes * e.tensor.dtype.nbytes
            elif isinstance(e, Load) and self.is_shared(e.tensor):
                self.shared_bytes += times * self.threads // WARP * self.moved(e)

    def invoke(self, name, options, times):
        if name in ("mma_sync", "wgmma"):
            m, n, k = map(int, re.findall(r"\d+", options[0]))
            workers = self.threads // (WARP if name == "mma_sync" else WARPGROUP)
            self.operations += times * workers * 2 * m * n * k
            if name == "wgmma":
                self.shared_bytes += times * workers * (m + n) * k * f32.nbytes
        elif name == "ldmatrix":
            self.shared_bytes += times * self.threads // WARP * options[0] * 128
        elif name == "cp_async":
            self.memory_bytes += times * self.threads * options[0]
            self.shared_bytes += times * self.threads * options[0]

    def is_shared(self, tensor):
        """Whether this is an array in shared memory, or a pointer into one."""
        of, init = tensor.of, self.values.get(tensor)
        if isinstance(of, TensorType):
            return of.scope is Scope.SHARED
        return init is not None and any(
            isinstance(each, Var) and self.is_shared(each) for each in postorder(init)
        )

    def moved(self, e):
        """Bytes that a load of a warp moves: what its lanes have no two of, and half at least."""
        index = e.index[0]
        while inner := [v for v in postorder(index) if self.values.get(v) is not None]:
            index = substitute(index, {v: self.values[v] for v in inner})
        free = [v for v in postorder(index) if isinstance(v, Var | Builtin)]
        places = {
            evaluate(index, {v: lane if str(v) == "threadIdx.x" else 0 for v in free}) + i
            for lane in range(WARP)
            for i in range(e.lanes)
        }
        return max(len(places), WARP * e.lanes / 2) * e.tensor.dtype.nbytes


SQUARE = 256
CASES = [
    ("matmul_mma", "sm_80", Linear(f16[SQUARE, 1024], f16[SQUARE, 1024], None)),
    ("matmul_mma", "sm_80", Matmul(f16[SQUARE, 1024], f16[1024, SQUARE])),
    ("matmul_stages", "sm_80", Linear(f16[SQUARE, 1024], f16[SQUARE, 1024], None)),
    ("matmul_stages", "sm_80", Matmul(f16[SQUARE, 1024], f16[1024, SQUARE])),
    ("matmul_single", "sm_80", Linear(f32[SQUARE, 1024], f32[SQUARE, 1024], None)),
    ("matmul_wgmma_single", "sm_90a", Linear(f32[SQUARE, 1024], f32[SQUARE, 1024], None)),
    ("matmul_bytes", "sm_80", Matmul(i8[SQUARE, 1024], i8[SQUARE, 1024], False, True, i32)),
    ("matmul_byte_stages", "sm_80", Matmul(i8[SQUARE, 1024], i8[SQUARE, 1024], False, True, i32)),
    ("matmul_simt", "sm_80", Matmul(f32[SQUARE, 1024], f32[1024, SQUARE])),
    ("matmul_simt", "sm_80", Linear(f32[SQUARE, 1024], f32[SQUARE, 1024], None)),
]


@pytest.mark.parametrize(("name", "arch", "op"), CASES, ids=str)
def test_an_iteration_does_what_its_point_states(name, arch, op):
    target, p = Target.parse(arch), contraction_of(op)
    (schedule,) = (each for each in SCHEDULES if each.name == name and isinstance(op, each.ops))
    points = [each for each in schedule.fitting(op, target) if each.slices == 1]
    for point in points[:: max(1, len(points) // 3)][:3]:
        kernel = lower(schedule.apply(op, target, point).module.kernels[0])
        found, stated = Counts(kernel), point.iteration(p, target, 1)
        assert found.threads == point.threads
        assert found.operations == stated.operations, point
        assert found.memory_bytes == stated.l2_bytes, point
        assert found.shared_bytes == stated.shared_bytes, point
