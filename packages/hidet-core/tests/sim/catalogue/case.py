"""What an entry of the catalogue is: one kernel, wrong or right by a flag, and what to expect."""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hidet.errors import SimulationError
from hidet.ir.kernel import Module
from hidet.lang import ScriptFunction, ScriptModule
from hidet.sim import Deadlock, MbarrierMisuse, StepLimit

Array = np.ndarray[Any, Any]
CASES: list[Case] = []
POISON = 0xA5
"""Every byte of a result before the launch."""


@dataclass(frozen=True, eq=False)
class Case:
    """A mistake: `build(False)` makes the kernel that has it, `build(True)` the corrected twin.

    In the source of `build` the comment `# wrong` marks the line that the report has to name,
    `# other` the line of the other access, where there is one, and `# waited` that of a wait that
    goes through and should not, which the advice has to name.
    """

    kind: str
    """The kind of mistake, in words."""
    fault: type[SimulationError]
    build: Callable[[bool], ScriptFunction | ScriptModule]
    inputs: Sequence[Array]
    expected: Callable[..., Array]
    """What the corrected twin computes from the inputs."""
    start: float | None
    """What the result holds before the launch; None: nothing of use."""
    says: str
    """What the message has to match besides."""
    marks: Mapping[str, str]
    """For "wrong", "other" and "waited": what else marks the line, anywhere in the file."""

    @property
    def name(self) -> str:
        """The mistake itself, as the name of the function that makes the kernel."""
        return self.build.__name__

    @property
    def file(self) -> Path:
        """The file of the script."""
        return Path(inspect.getsourcefile(self.build) or "")

    @property
    def may_hang(self) -> bool:
        """Whether threads of the wrong kernel may wait for ever on a GPU."""
        waits = (Deadlock, StepLimit, MbarrierMisuse)
        return self.fault in waits or "mbarrier phase" in self.kind

    @cached_property
    def line(self) -> int:
        """The line that the report has to name."""
        (line,) = self.marked("wrong")
        return line

    @cached_property
    def others(self) -> list[int]:
        """The line of the other access, if the mistake has two."""
        return self.marked("other")

    @cached_property
    def waits(self) -> list[int]:
        """The line of a wait for the wrong thing, which the advice has to name."""
        return self.marked("waited")

    def marked(self, word: str) -> list[int]:
        """The lines of `build` whose comment begins with a word; those of the file, if the case
        has a word of its own for it."""
        found, first = inspect.getsourcelines(self.build)
        if word in self.marks:
            found, first = linecache.getlines(str(self.file)), 1
        comments = (line.partition("  # ")[2].split() for line in found)
        wanted = self.marks.get(word, word)
        return [first + n for n, words in enumerate(comments) if words[:1] == [wanted]]

    def module(self, right: bool) -> Module:
        """The kernels, named after the case so that reports of other tools tell it."""
        module = self.build(right).ir_module()
        alone = len(module.kernels) == 1
        names = {k.name: self.name + ("" if alone else f"_{k.name}") for k in module.kernels}
        return replace(
            module,
            kernels=tuple(replace(k, name=names[k.name]) for k in module.kernels),
            body=tuple(replace(call, kernel=names[call.kernel]) for call in module.calls),
        )

    def arrays(self) -> tuple[Array, ...]:
        """Fresh arguments: the inputs, then the result."""
        wanted = self.expected(*self.inputs)
        result = np.empty_like(wanted)
        if self.start is None:
            result.view(np.uint8)[...] = POISON
        else:
            result[...] = self.start
        copies = [np.array(each) for each in self.inputs]
        for copy, each in zip(copies, self.inputs, strict=True):
            copy.flags.writeable = each.flags.writeable
        return (*copies, result)

    def check(self, result: Array) -> None:
        """The values of the corrected twin's result."""
        np.testing.assert_array_equal(result, self.expected(*self.inputs))


def mistake(
    kind: str,
    fault: type[SimulationError],
    *inputs: Array,
    expected: Callable[..., Array],
    start: float | None = None,
    says: str = "",
    **marks: str,
) -> Callable[[Callable[[bool], Any]], Callable[[bool], Any]]:
    """Enter the function below into the catalogue."""

    def enter(build: Callable[[bool], Any]) -> Callable[[bool], Any]:
        CASES.append(Case(kind, fault, build, inputs, expected, start, says, marks))
        return build

    return enter


def ramp(*shape: int, of: Any = np.float32) -> Array:
    """0, 1, 2, ...: every element has a value of its own. Kernels may only read it."""
    values = np.arange(np.prod(shape)).reshape(shape).astype(of)
    values.flags.writeable = False
    return values


def same(x: Array) -> Array:
    """The input itself."""
    return x


def backwards(x: Array) -> Array:
    """The last axis from its end."""
    return np.ascontiguousarray(x[..., ::-1])
