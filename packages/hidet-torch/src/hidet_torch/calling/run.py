"""Calls of a compiled graph: PyTorch's tensors in, PyTorch's tensors out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from hidet.frontend.running.execute import Runner, View, prepare_runner
from hidet.types.strides import inverse
from hidet_torch.calling.fixed import Quick, fixed_call
from hidet_torch.calling.overwriting import as_written, overwritten
from hidet_torch.calling.share import Share
from hidet_torch.importing.foreign import SYMBOLS, numbers
from hidet_torch.importing.imported import Imported, Interface, LiveInput, Number, Output
from hidet_torch.memory.streams import stream_of
from hidet_torch.memory.tensors import TorchAllocator
from hidet_torch.weights.weight import ALIGNMENT
from hidet_torch.weights.weights import Weights


class GraphCall:
    """A compiled graph as AOTAutograd calls it: a list of arguments, which it empties."""

    _boxed_call = True

    def __init__(self, interface: Interface, weights: Weights, runner: Runner) -> None:
        self.interface, self.weights, self.runner = interface, weights, runner
        self.device = interface.device
        weights.watch(runner)
        self.inputs = [reader(each, self.device) for each in interface.inputs]
        self.outputs = [writer(each) for each in interface.outputs]
        self.needs_symbols = bool(interface.symbols)
        self.stream = stream_of(self.device)
        self.fixed = fixed = fixed_call(interface)
        self.is_plain = fixed is not None and not interface.updates
        """Whether arguments and results are plain tensors of which none shares another's memory."""
        self.run: Callable[[list[Any]], list[Any]] = self.general
        if fixed is not None:
            self.quick = fixed.on(self.runner, self.weights, self.device, self.stream)
            self.run = self.usual = fixed.boxed(self.quick, self.general)

    def __call__(self, boxed: list[Any]) -> list[Any]:
        """The results for these arguments."""
        return self.run(boxed)

    def quick_for(self, places: Sequence[int], given: Sequence[Any]) -> Quick | None:
        """The call of tensors like those given, which are the arguments at `places`; None unless
        these are all that the graph reads, and it is called as usual."""
        if self.fixed is None or self.run is not self.usual or not self.is_plain:
            return None
        if [position for position, _ in self.fixed.inputs] != [*places]:
            return None
        return self.quick if self.fixed.takes(given) else None

    def general(self, boxed: list[Any]) -> list[Any]:
        """The results, however the arguments lie and whatever the results share."""
        given = list(boxed)
        boxed.clear()
        return self.call(given)

    def call(self, given: Sequence[Any]) -> list[Any]:
        """The results; inputs that the model writes to have changed."""
        stream = self.stream()
        self.weights.check()
        symbols = self.read_symbols(given) if self.needs_symbols else {}
        views = [read(given) for read in self.inputs]
        views += [
            View(0, (symbols[name],), "uint8", self.device) for name in self.interface.carriers
        ]
        token = SYMBOLS.set(symbols)
        try:
            made = [view.owner for view in self.runner(views, stream)]
        finally:
            SYMBOLS.reset(token)
        groups: dict[int, torch.Tensor] = {}
        results = [write(given, made, symbols, groups) for write in self.outputs]
        if self.interface.mutations:
            self.mutate(given, made)
        for update in self.interface.updates:
            target, memory = given[update.position], views[update.index].owner
            if memory.data_ptr() != target.data_ptr():  # the kernels were given a copy of it
                target.detach().copy_(memory)
        return results

    def mutate(self, given: Sequence[Any], made: Sequence[torch.Tensor]) -> None:
        """Write results into the inputs that the model changes: all of them by one kernel, where
        each would take one, as lengths of caches do that count on their own in each layer."""
        targets, sources = [], []
        for mutation in self.interface.mutations:
            target = given[mutation.position].detach()
            parts = torch.view_as_real(target) if target.is_complex() else target
            targets.append(parts)
            sources.append(made[mutation.index].view(parts.shape))
        torch._foreach_copy_(targets, sources)

    def read_symbols(self, given: Sequence[Any]) -> dict[str, int]:
        """The value of each symbolic size."""
        return {
            name: int(given[place] if axis is None else given[place].shape[axis])
            for name, (place, axis) in self.interface.symbols.items()
        }


class CompiledCall(GraphCall):
    """The call of a graph that was imported here."""

    def __init__(self, imported: Imported, use_graph: bool = True) -> None:
        self.imported = imported
        weights = Weights(imported.weights, imported.device)
        share = Share(imported.coverage, imported.device)
        steps = {key: share.timed(call.step) for key, call in imported.calls.items()}
        runner = prepare_runner(
            imported.graph,
            weights.view,
            allocator=TorchAllocator(),
            host_steps=steps,
            use_graph=use_graph,
            origin=weights.origin,
            stream=stream_of(imported.device)(),
            threads=torch.get_num_threads,
            over=overwritten(imported),
        )
        super().__init__(as_written(imported, runner.over), weights, runner)
        if steps:
            share.watch(self)


def without_wrapper(call: GraphCall) -> Callable[..., Any]:
    """A call as Dynamo makes it, without what AOTAutograd does around it for aliases, mutations and
    subclasses: there are none, and it takes longer than the call itself."""
    return lambda *args: call.run(list(args))  # whatever it is by then


Read = Callable[[Sequence[Any]], View]
Write = Callable[
    [Sequence[Any], Sequence[torch.Tensor], dict[str, int], dict[int, torch.Tensor]], Any
]


def reader(live: LiveInput, device: str) -> Read:
    """What turns an argument into a view: in rows, aligned, on the graph's device."""
    position, name = live.position, live.tensor.dtype.name
    order = None if live.order == tuple(range(len(live.order))) else live.order
    moved = live.device != device

    def read(given: Sequence[Any]) -> View:
        tensor = filled(given[position], device) if moved else given[position]
        if tensor.is_neg() or tensor.is_conj():  # a sign that is still to be changed
            tensor = tensor.detach().resolve_conj().resolve_neg()
        if order is not None:
            tensor = tensor.permute(order)
        if live.complex:
            tensor = torch.view_as_real(tensor)
        if not tensor.is_contiguous():
            tensor = tensor.contiguous()
        pointer = tensor.data_ptr()
        if pointer % ALIGNMENT:
            tensor = tensor.clone()
            pointer = tensor.data_ptr()
        return View(pointer, tuple(tensor.shape), name, device, tensor)

    return read


def filled(number: torch.Tensor, device: str) -> torch.Tensor:
    """A 0-d tensor of the CPU on a device, by a kernel that is told the number: nobody waits.

    A copy would: from memory that is not pinned it ends when the device has read it.
    """
    return torch.full((), number.item(), dtype=number.dtype, device=device)


def writer(output: Output) -> Write:
    """What turns the graph's results into one of the model's."""
    if output.alias is not None:
        return aliasing(output)
    index = output.index
    if index is None:
        value = output.value
        if isinstance(value, Number):
            return lambda given, made, symbols, groups: value.read(symbols)
        return lambda given, made, symbols, groups: value
    if not output.complex and output.order == tuple(range(len(output.order))):
        return lambda given, made, symbols, groups: shaped(made[index], output, symbols)
    return lambda given, made, symbols, groups: laid_out(made[index], output, symbols)


def shaped(made: torch.Tensor, output: Output, symbols: dict[str, int]) -> torch.Tensor:
    """A result in the shape that the graph gives it."""
    if output.shape is None:
        return made
    shape = tuple(numbers(output.shape, symbols)) if symbols else output.shape
    return made if made.shape == shape else made.view(shape)


def laid_out(made: torch.Tensor, output: Output, symbols: dict[str, int]) -> torch.Tensor:
    """A result with its axes as the model has them."""
    rows = shaped(made, output, symbols)
    return (torch.view_as_complex(rows) if output.complex else rows).permute(inverse(output.order))


def aliasing(output: Output) -> Write:
    """What gives a result that shares memory with an input, or with other results."""
    alias = output.alias
    assert alias is not None

    def write(
        given: Sequence[Any],
        made: Sequence[torch.Tensor],
        symbols: dict[str, int],
        groups: dict[int, torch.Tensor],
    ) -> Any:
        size, stride, offset = alias.at(symbols)
        if alias.position is not None:
            base = given[alias.position].detach()
            start = base.storage_offset() * base.dtype.itemsize // alias.dtype.itemsize
            return view_as(base, alias.dtype).as_strided(size, stride, start + offset)
        assert output.index is not None
        source = laid_out(made[output.index], output, symbols)
        base = groups.get(alias.group)
        if base is None:
            count = alias.extent.read(symbols) if isinstance(alias.extent, Number) else alias.extent
            nbytes = torch.empty(count, dtype=torch.uint8, device=source.device)
            base = groups[alias.group] = nbytes
        view = base.view(alias.dtype).as_strided(size, stride, offset)
        single = [slice(0, 1) if step == 0 else slice(None) for step in stride]
        if view.numel():
            view[tuple(single)] = source[tuple(single)]
        return view

    return write


def view_as(base: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The tensor's memory from where its storage starts, as elements of a type."""
    if base.dtype == dtype:
        return base
    flat = torch.empty(0, dtype=dtype, device=base.device)
    return flat.set_(base.untyped_storage())
