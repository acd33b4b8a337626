"""Conditional nodes of CUDA graphs: parts of a graph that run, or run again, as the GPU decides.

CUDA driver API: cuGraphConditionalHandleCreate, CUDA_CONDITIONAL_NODE_PARAMS; what works from
Python and what it costs is in benchmarks/results/h200-conditional.md.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

from hidet.runtime.devices.driver import call, cu, expect
from hidet.runtime.plans.plan import present

SINCE = 12080
"""The version of CUDA whose driver knows an IF with two bodies."""

DECIDE = """
.version 7.0
.target sm_80
.address_size 64
.extern .func cudaGraphSetConditional (.param .b64 handle, .param .b32 value);
.visible .entry decide (.param .u64 handle, .param .u64 iteration, .param .u64 flag,
                        .param .u64 trips, .param .s64 limit, .param .s64 step, .param .s64 words)
{
  .reg .pred %p;
  .reg .b64 %h, %a, %t, %l, %s, %r, %n, %w;
  .reg .b32 %v;
  ld.param.u64 %h, [handle];
  ld.param.s64 %l, [limit];
  ld.param.s64 %s, [step];
  mov.b64 %t, 0;
  mov.b32 %v, 1;
  ld.param.u64 %a, [iteration];
  setp.eq.u64 %p, %a, 0;
  @%p bra has_iteration;
  cvta.to.global.u64 %a, %a;
  ld.global.s64 %t, [%a];
  add.s64 %t, %t, %s;
  ld.param.s64 %w, [words];
  mov.b64 %n, 0;
next_word:
  add.s64 %r, %t, %n;
  st.global.s64 [%a], %r;
  add.u64 %a, %a, 8;
  add.s64 %n, %n, 1;
  setp.lt.s64 %p, %n, %w;
  @%p bra next_word;
has_iteration:
  ld.param.u64 %a, [trips];
  setp.eq.u64 %p, %a, 0;
  @%p bra has_limit;
  cvta.to.global.u64 %a, %a;
  ld.global.s64 %r, [%a];
  min.s64 %l, %l, %r;
has_limit:
  ld.param.u64 %a, [flag];
  setp.eq.u64 %p, %a, 0;
  @%p bra has_flag;
  cvta.to.global.u64 %a, %a;
  ld.global.u8 %v, [%a];
has_flag:
  setp.lt.s64 %p, %t, %l;
  selp.b32 %v, %v, 0, %p;
  {
    .param .b64 first;
    .param .b32 second;
    st.param.b64 [first], %h;
    st.param.b32 [second], %v;
    call.uni cudaGraphSetConditional, (first, second);
  }
  ret;
}
"""
"""Adds `step` to the i64 `iteration`, the number of the pass, writes it and the `words - 1` numbers
after it, and sets a condition: whether the first is below `limit` and the i64 `trips`, and the bool
`flag` holds. Addresses of 0 are left out. It is PTX, which the driver compiles, so that archives
with loops run without the compiler."""


@lru_cache(maxsize=1)
def conditional_nodes() -> bool:
    """Whether the driver has all kinds of conditional nodes that control flow becomes."""
    return int(call("cuDriverGetVersion")) >= SINCE


@lru_cache(maxsize=64)
def decider(context: int) -> Any:
    """The kernel `decide` in a context; the module stays loaded."""
    return call("cuModuleGetFunction", call("cuModuleLoadData", DECIDE.encode() + b"\0"), b"decide")


def current_context() -> Any:
    """The context of this thread."""
    return call("cuCtxGetCurrent")


class Decision:
    """A condition of a graph, and a kernel node that sets it.

    `iteration`, `flag` and `trips` are buffers, None where nothing depends on them. `step` and
    `words` are as in `DECIDE`.
    """

    def __init__(
        self,
        iteration: int | None,
        flag: int | None,
        trips: int | None,
        step: int = 0,
        words: int = 1,
    ) -> None:
        self.iteration, self.flag, self.trips = iteration, flag, trips
        self.values = (ctypes.c_int64 * 7)(0, 0, 0, 0, 1, step, words)
        first = ctypes.addressof(self.values)
        self.slots = (ctypes.c_uint64 * 7)(*(first + 8 * slot for slot in range(7)))

    @property
    def params(self) -> Any:
        """What the driver wants to know of the node."""
        params = cu.CUDA_KERNEL_NODE_PARAMS()
        params.func = decider(int(current_context()))
        params.gridDimX = params.gridDimY = params.gridDimZ = 1
        params.blockDimX = params.blockDimY = params.blockDimZ = 1
        params.kernelParams = ctypes.addressof(self.slots)
        return params

    def point(self, pointers: Sequence[int], limit: int) -> None:
        """Fill in the addresses of the buffers, and the number that iterations stay below."""
        places = (self.iteration, self.flag, self.trips)
        self.values[1:4] = [0 if each is None else pointers[each] for each in places]
        self.values[4] = limit

    def add(
        self, graph: Any, before: Sequence[Any], handle: Any, pointers: Sequence[int], limit: int
    ) -> Any:
        """The node, behind others, that sets the condition of a handle."""
        self.values[0] = int(handle)
        self.point(pointers, limit)
        return call("cuGraphAddKernelNode", graph, [*before], len(before), self.params)

    def update(self, executable: Any, node: Any, pointers: Sequence[int], limit: int) -> None:
        """Let the node read what lies at other addresses."""
        self.point(pointers, limit)
        (status,) = cu.cuGraphExecKernelNodeSetParams(executable, node, self.params)
        expect(status, "cuGraphExecKernelNodeSetParams")

    @property
    def buffers(self) -> set[int]:
        """The buffers that it reads and writes."""
        return {*present(self.iteration, self.flag, self.trips)}


def new_handle(graph: Any) -> Any:
    """A condition of a graph, which does not hold before a node says so."""
    return call("cuGraphConditionalHandleCreate", graph, current_context(), 0, 1)


def add_conditional(
    graph: Any, before: Sequence[Any], handle: Any, kind: Literal["IF", "WHILE"], bodies: int
) -> tuple[Any, list[Any]]:
    """A conditional node of a graph behind others, and the graphs of its bodies, still empty."""
    params = cu.CUgraphNodeParams()
    params.type = cu.CUgraphNodeType.CU_GRAPH_NODE_TYPE_CONDITIONAL
    params.conditional.handle = handle
    params.conditional.type = getattr(cu.CUgraphConditionalNodeType, f"CU_GRAPH_COND_TYPE_{kind}")
    params.conditional.size = bodies
    params.conditional.ctx = current_context()
    # CUDA 12 has two functions of that purpose, 13 only that which takes edge data.
    edges = [] if hasattr(cu, "cuGraphAddNode_v2") else [None]
    node = call("cuGraphAddNode", graph, [*before], *edges, len(before), params)
    return node, [cu.CUgraph(int(each)) for each in params.conditional.phGraph_out]
