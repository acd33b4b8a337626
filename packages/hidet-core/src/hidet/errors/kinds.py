"""One class for each way a user can go wrong; `code` names its heading in codes.md."""

from __future__ import annotations

from typing import ClassVar

from hidet.errors.place import Place, Placed
from hidet.errors.render import render


class HidetError(Placed):
    """Anything hidet raises on purpose: a sentence, and where known a place and a next step."""

    code: ClassVar[str] = "error"

    def __init__(self, message: str, *, place: Place | None = None, help: str | None = None):
        super().__init__(message)
        self.message = message
        self.place = place
        self.help = help

    def __str__(self) -> str:
        return render(self.code, self.message, self.place, self.help)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.message,), {"place": self.place, "help": self.help}


class BadArgument(HidetError, ValueError):
    """A value outside of what the function accepts."""

    code = "bad-argument"


class ShapeMismatch(BadArgument):
    """Shapes that do not fit together, or not what was compiled for."""

    code = "shape-mismatch"


class DtypeMismatch(BadArgument):
    """Element types that do not fit together, or not what was compiled for."""

    code = "dtype-mismatch"


class LimitExceeded(BadArgument):
    """A model file asks for more than is accepted of files."""

    code = "limit-exceeded"


class BadTensorMap(BadArgument):
    """A tensor map that the copy engine does not have, or that does not fit its tensor."""

    code = "bad-tensor-map"


class BadScript(HidetError):
    """A script function uses something the language does not have."""

    code = "bad-script"


class BadKernel(HidetError):
    """Kernel IR that breaks the grammar of its stage."""

    code = "bad-kernel"


class UnsupportedOp(HidetError):
    """A model uses operators that the compiler does not have; all of them are listed."""

    code = "unsupported-op"


class MissingCompiler(HidetError):
    """No C++ compiler, or no NVRTC, where one is needed."""

    code = "missing-compiler"


class CompilerError(HidetError):
    """The compiler of the machine rejected generated code, or could not finish."""

    code = "compiler-error"


class NoDevice(HidetError):
    """The device asked for is not there: no GPU, no driver, or no such index."""

    code = "no-device"


class CudaError(HidetError):
    """A call of the CUDA driver failed."""

    code = "cuda-error"


class OutOfMemory(CudaError):
    """The device has not enough free memory."""

    code = "out-of-memory"


class Capturing(HidetError):
    """The caller captures a CUDA graph, and something has to be computed before it could run."""

    code = "capturing"


class BadArchive(HidetError):
    """An archive or cache entry is truncated, altered, or made for another version or target."""

    code = "bad-archive"


class SimulationError(HidetError):
    """The simulator saw a kernel do something wrong."""

    code = "simulation-error"


class FrontendMissing(HidetError, LookupError):
    """No installed package provides the frontend asked for."""

    code = "frontend-missing"


class FrontendMismatch(HidetError):
    """A frontend package and this core, or its framework, do not fit together."""

    code = "frontend-mismatch"


class NotYet(HidetError, NotImplementedError):
    """A part of hidet that is announced but not there yet."""

    code = "not-yet"


class NeedsValue(NotYet):
    """A shape, an axis or a count is asked of a tensor whose elements only a call tells.

    `tensor` is the tensor; `inputs` are the graph inputs whose values would tell it, all of them
    small, or none if it depends on more than such inputs.
    """

    code = "needs-value"

    def __init__(
        self, message: str, *, tensor: object = None, inputs: tuple[object, ...] = (),
        place: Place | None = None, help: str | None = None,
    ):  # fmt: skip
        super().__init__(message, place=place, help=help)
        self.tensor = tensor
        self.inputs = inputs


class InternalError(HidetError):
    """A defect of hidet itself; please report it."""

    code = "internal"


def every_kind() -> list[type[HidetError]]:
    """Every error class, in the order of definition."""
    found: list[type[HidetError]] = []
    pending: list[type[HidetError]] = [HidetError]
    while pending:
        kind = pending.pop(0)
        found.append(kind)
        pending += kind.__subclasses__()
    return list(dict.fromkeys(found))
