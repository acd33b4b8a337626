"""What conditional nodes of CUDA graphs can do from Python, and what an iteration of a loop costs.

    python -m benchmarks.conditional [question ...]

Each line is a question of its own: one that fails says why, and the others are still asked.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from benchmarks.measure.conditional import (
    IF,
    OPEN,
    SOURCE,
    SWITCH,
    WHILE,
    Chain,
    Kernel,
    memset_params,
)
from benchmarks.measure.iterations import (
    ITERATIONS,
    Answer,
    Loops,
    amortised,
    check,
    flat,
    host_driven,
    iterations,
    launching,
    relaunched,
)
from benchmarks.measure.machine import headline, installed, machine
from benchmarks.measure.table import table
from benchmarks.measure.timing import milliseconds
from hidet.runtime.devices.driver import call, cu
from hidet.runtime.graphs.conditional import add_conditional, current_context
from hidet.toolchain import compile_cuda


def setters(loops: Loops) -> Answer:
    """By which setters a condition can be set."""
    for value in (0, 1):
        chain = Chain()
        loops.reset(chain)
        handle = chain.handle(0)
        chain.kernel(loops.step(trips=value + 1))
        chain.kernel(loops.set(handle))
        (body,) = chain.conditional(handle, IF)
        body.kernel(loops.add())
        yield f"PTX setter, IF of {value}", check(loops.run(chain.instantiate())[0], value)
    yield "loading the PTX setter", f"{loops.load_ms:.2f} ms"
    arch = "sm_{}{}".format(*torch.cuda.get_device_capability())
    module = call("cuModuleLoadData", compile_cuda(SOURCE + OPEN, arch=arch).cubin)
    function = call("cuModuleGetFunction", module, b"step_and_set")
    chain = Chain()
    loops.reset(chain)
    handle = chain.handle(1)
    (body,) = chain.conditional(handle, WHILE)
    body.kernel(loops.add())
    body.kernel(Kernel(function, int(handle), loops.iteration.data_ptr(), ITERATIONS))
    executable = chain.instantiate()
    yield "cubin of NVRTC with an open symbol, WHILE", check(loops.run(executable)[0], ITERATIONS)
    yield (
        "an iteration of 1 kernel and one that counts and sets",
        f"{loops.milliseconds(executable) / ITERATIONS * 1e3:.2f} us",
    )


def nested(loops: Loops) -> Answer:
    """An IF with an else body in a WHILE, a WHILE in a WHILE, a SWITCH."""
    for owner in ("the outer graph", "the body"):
        chain = Chain()
        loops.reset(chain)
        handle = chain.handle(1)
        (body,) = chain.conditional(handle, WHILE)
        odd = (chain if owner == "the outer graph" else body).handle(0)
        body.kernel(loops.parity())
        body.kernel(loops.set(odd, 4))
        then, other = body.conditional(odd, IF, 2)
        then.kernel(loops.add(1))
        other.kernel(loops.add(1, to=1))
        body.kernel(loops.step())
        body.kernel(loops.set(handle))
        executable = chain.instantiate()
        found = check(loops.run(executable), [ITERATIONS // 2] * 2)
        took = loops.milliseconds(executable) / ITERATIONS * 1e3
        yield f"IF with else in a WHILE, handle of {owner}, an iteration", f"{took:.2f} us, {found}"
    chain = Chain()
    loops.reset(chain)
    outer = chain.handle(1)
    (body,) = chain.conditional(outer, WHILE)
    body.memset(loops.iteration.data_ptr() + 4, 0, 1)
    inner = body.handle(1)
    body.kernel(loops.step(10))
    body.kernel(loops.set(inner))  # goes on unless the outer loop ends: 9 inner loops of 100
    (within,) = body.conditional(inner, WHILE)
    within.kernel(loops.add())
    within.kernel(loops.step(100, at=1))
    within.kernel(loops.set(inner, 1))
    body.kernel(loops.set(outer))
    yield "WHILE in a WHILE, 9 x 100 iterations", check(loops.run(chain.instantiate())[0], 900)
    chain = Chain()
    loops.reset(chain)
    handle = chain.handle(2)
    for value, each in enumerate(chain.conditional(handle, SWITCH, 3)):
        each.kernel(loops.add(10**value))
    yield "SWITCH of three", check(loops.run(chain.instantiate())[0], 100)


def patched(loops: Loops) -> Answer:
    """Arguments of nodes in bodies, changed after instantiation."""
    chain, body = loops.loop(1)
    executable = chain.instantiate()
    loops.run(executable)
    moved = [loops.add(to=1), loops.add(to=0)]
    found = []
    for each in moved:
        call("cuGraphExecKernelNodeSetParams", executable, body.nodes[0], each.params)
        found.append(loops.run(executable))
    yield (
        "kernel node in a WHILE by cuGraphExecKernelNodeSetParams",
        check(found, [[0, ITERATIONS], [ITERATIONS, 0]]),
    )
    start = time.perf_counter()
    for iteration in range(1000):
        cu.cuGraphExecKernelNodeSetParams(executable, body.nodes[0], moved[iteration % 2].params)
    yield "such a change, host", f"{(time.perf_counter() - start) * 1e3:.2f} us"
    changed = [loops.milliseconds(executable)]
    flip = iter(range(10**9))

    def change_and_launch() -> None:
        cu.cuGraphExecKernelNodeSetParams(executable, body.nodes[0], moved[next(flip) % 2].params)
        cu.cuGraphLaunch(executable, loops.stream)

    changed.append(milliseconds(change_and_launch, "cuda", seconds=0.2).median)
    yield "a launch of 1,000 iterations, and after a change", "{:.3f}, {:.3f} ms".format(*changed)
    chain = Chain()
    handle = chain.handle(1)
    (body,) = chain.conditional(handle, IF)
    node = body.memset(loops.x.data_ptr(), 7, 32)
    body.copy(loops.x.data_ptr() + 128, loops.x.data_ptr(), 128)
    executable = chain.instantiate()
    yield "memset and copy nodes in an IF", check(loops.run(executable), [7, 7])
    status = cu.cuGraphExecMemsetNodeSetParams(
        executable, node, memset_params(loops.x.data_ptr(), 9, 32), current_context()
    )[0]
    yield "memset node in a body changed", f"{status.name}, {loops.run(executable)}"


def edges(loops: Loops) -> Answer:
    """Programmatic edges at the node itself; clusters and large shared memory in a body."""
    for end in ("into", "out of"):
        chain = Chain()
        chain.kernel(loops.add())
        handle = chain.handle(1)
        data = cu.CUgraphEdgeData()
        data.type = cu.CUgraphDependencyType.CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC
        data.from_port = 1
        node, (body,) = add_conditional(chain.graph, [], handle, IF, 1)
        Chain(body).kernel(loops.add())
        pair = [chain.nodes[0]], [node]
        if end == "out of":
            last = call("cuGraphAddKernelNode", chain.graph, [], 0, loops.add().params)
            pair = [node], [last]
        status = cu.cuGraphAddDependencies(chain.graph, *pair, [data], 1)[0]
        if int(status) == 0:
            status = cu.cuGraphInstantiate(chain.graph, 0)[0]
        yield f"programmatic edge {end} a conditional node", status.name
    large = loops.function("add_in_cluster")
    call("cuFuncSetAttribute", large, cu.CUfunction_attribute(8), 150 * 1024)
    chain = Chain()
    (body,) = chain.conditional(chain.handle(1), IF)
    body.kernel(loops.add(function="add_in_cluster", blocks=2, shared=150 * 1024))
    yield (
        "cluster of 2 with 150 KiB of shared memory in an IF",
        check(loops.run(chain.instantiate())[0], 1),
    )
    chain, _ = loops.loop(1)
    first = chain.instantiate()
    yield "a second instantiation", cu.cuGraphInstantiate(chain.graph, 0)[0].name
    yield "a clone", cu.cuGraphClone(chain.graph)[0].name
    outer = Chain()
    yield "as a child graph", cu.cuGraphAddChildGraphNode(outer.graph, [], 0, chain.graph)[0].name
    call("cuGraphDestroy", chain.graph)
    yield "launched once its graph is destroyed", check(loops.run(first)[0], ITERATIONS)


def captured(loops: Loops) -> Answer:
    """A conditional node put into somebody else's capture, its body by calls and by a capture."""
    for by_capture in (False, True):
        graph = torch.cuda.CUDAGraph()
        stream = torch.cuda.Stream()
        with torch.cuda.graph(graph, stream=stream):
            raw = cu.CUstream(stream.cuda_stream)
            loops.x.zero_()
            loops.iteration.zero_()
            fill(loops, raw, by_capture)
            loops.x.add_(1)
        found = []
        for _ in range(2):
            graph.replay()
            torch.cuda.synchronize()
            found.append(int(loops.x[0]))
        how = "a capture" if by_capture else "calls"
        yield f"WHILE in PyTorch's capture, body by {how}", check(found, [ITERATIONS + 1] * 2)


def fill(loops: Loops, stream: Any, by_capture: bool) -> None:
    """Put a loop behind what the stream has captured."""
    name = "cuStreamGetCaptureInfo"
    new = not hasattr(cu, f"{name}_v3")
    _, _, graph, before, *_ = call(name if new else f"{name}_v3", stream)
    handle = call("cuGraphConditionalHandleCreate", graph, current_context(), 1, 1)
    node, (made,) = add_conditional(graph, before, handle, WHILE, 1)
    body = Chain(made)
    inside = [loops.add(), loops.step(), loops.set(handle)]
    if by_capture:
        other = call("cuStreamCreate", 1)
        relaxed = cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        call("cuStreamBeginCaptureToGraph", other, body.graph, [], [], 0, relaxed)
        for each in inside:
            each.launch(other)
        call("cuStreamEndCapture", other)
    else:
        for each in inside:
            body.kernel(each)
    name = "cuStreamUpdateCaptureDependencies"
    if new:
        call(name, stream, [node], [cu.CUgraphEdgeData()], 1, 1)
    else:
        call(name, stream, [node], 1, 1)


QUESTIONS: tuple[Callable[[Loops], Answer], ...] = (
    setters,
    iterations,
    amortised,
    flat,
    relaunched,
    host_driven,
    nested,
    patched,
    launching,
    edges,
    captured,
)


def main(names: Sequence[str]) -> int:
    """Ask the questions named, all by default; status 1 if one failed."""
    driver = call("cuDriverGetVersion")
    torch.zeros(1, device="cuda")
    print(headline(machine("cuda")), f"driver {driver}, bindings {installed('cuda-bindings')}")
    loops = Loops()
    lines: list[list[str]] = []
    failed = 0
    for question in [each for each in QUESTIONS if not names or each.__name__ in names]:
        start = time.perf_counter()
        try:
            for line in question(loops):
                lines.append(list(line))
                print(*line, sep=": ", flush=True)
        except Exception as problem:  # the other questions are asked all the same
            failed += 1
            lines.append([f"{question.__name__}: failed", f"{type(problem).__name__}: {problem}"])
            print(*lines[-1], flush=True)
        print(f"({question.__name__} took {time.perf_counter() - start:.1f} s)", flush=True)
    print(table(("what", "found"), lines))
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
