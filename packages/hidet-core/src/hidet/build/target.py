"""Which target to compile for."""

from __future__ import annotations

from hidet import options
from hidet.errors import BadArgument
from hidet.graph.flow import FlowGraph
from hidet.runtime.device import cuda_capability
from hidet.target import Target
from hidet.toolchain import probe_isa


def target_for(graph: FlowGraph, given: Target | str | None) -> Target:
    """The target asked for: here, by option, or that of the device of the graph's tensors."""
    if isinstance(given, Target):
        return given
    text = given or options.target.get()
    return Target.parse(text) if text else target_of_device(device_of(graph))


def target_of_device(device: str) -> Target:
    """The target that describes a device of this machine."""
    if device == "cpu":
        isa = probe_isa()
        return Target.parse("cpu" if isa == "generic" else f"cpu+{isa}")
    return Target.for_capability(*cuda_capability(device))


def device_of(graph: FlowGraph) -> str:
    """The one device of a graph's tensors."""
    tensors = [*graph.inputs, *graph.constants, *graph.outputs]
    devices = list(dict.fromkeys(each.device for each in tensors))
    if len(devices) > 1:
        raise BadArgument(f"the graph lies on {' and '.join(devices)}", help="compile each part")
    return devices[0] if devices else "cpu"
