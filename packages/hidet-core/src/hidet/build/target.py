"""Which target to compile for."""

from __future__ import annotations

from hidet import options
from hidet.errors import BadArchive, BadArgument
from hidet.graph.flow import FlowGraph
from hidet.runtime.devices.device import canonical, cuda_capability, device_count
from hidet.runtime.executor import check_target
from hidet.runtime.plans.plan import Plan
from hidet.target import Target
from hidet.toolchain import probe_isa


def target_for(graph: FlowGraph, given: Target | str | None) -> Target:
    """The target asked for: here, by option, or that of the device of the graph's tensors."""
    if isinstance(given, Target):
        return given
    return Target.parse(given) if given else target_on(device_of(graph))


def target_on(device: str) -> Target:
    """The target of graphs on a device: that of the option, if it is set."""
    text = options.target.get()
    return Target.parse(text) if text else target_of_device(device)


def measurable(target: Target, device: str) -> str | None:
    """The device of this machine on which to measure code for a target; None if there is none.

    `device`, if it runs such code.
    """
    if target.simulated:
        return None
    if target.kind == "cpu":
        return "cpu" if runs(target, "cpu") else None
    every = [f"cuda:{index}" for index in range(device_count())]
    ordered = sorted(every, key=lambda each: each != canonical(device))
    return next((each for each in ordered if runs(target, each)), None)


def runs(target: Target, device: str) -> bool:
    """Whether code for a target runs on a device."""
    try:
        check_target(Plan(str(target), (), (), (), (), {}), device)
    except BadArchive:
        return False
    return True


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
