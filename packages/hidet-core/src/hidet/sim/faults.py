"""What the simulator can see a kernel do wrong: one class for each kind of mistake."""

from __future__ import annotations

from hidet.errors import SimulationError


class OutOfBounds(SimulationError):
    """An access outside of a tensor, or outside of the memory behind a pointer."""

    code = "out-of-bounds"


GUARD = "guard the access by `if`, or use `x.get(i)` and `y.put(i, v)`, which check the bounds"
"""What to do about an access that leaves a tensor."""


class Misaligned(SimulationError):
    """An access at an address that is not a multiple of the access's width."""

    code = "misaligned-access"


class Uninitialised(SimulationError):
    """A read of memory or of a variable that was not written before."""

    code = "uninitialised-read"


class Race(SimulationError):
    """Two threads touch one element, at least one writes, and nothing orders them."""

    code = "race"


class MissingWait(SimulationError):
    """An access to what an asynchronous operation reads or writes, before a wait for its end."""

    code = "missing-wait"


class MissingFence(SimulationError):
    """An asynchronous operation on what was written without a proxy fence since."""

    code = "missing-fence"


class RegisterBudget(SimulationError):
    """More registers than the block has, or than the threads of a warpgroup were given."""

    code = "register-budget"


class MbarrierMisuse(SimulationError):
    """An mbarrier that is used otherwise than its instructions allow."""

    code = "mbarrier-misuse"


class ClusterMisuse(SimulationError):
    """A use of another block of the cluster before it has begun, or after it may have ended."""

    code = "cluster-misuse"


class DivergentBarrier(SimulationError):
    """A barrier or warp-wide operation that some of its threads do not reach."""

    code = "divergent-barrier"


class InactiveLane(SimulationError):
    """A shuffle from a lane that does not take part in it."""

    code = "inactive-lane"


class Deadlock(SimulationError):
    """Every thread that is left waits for another one."""

    code = "deadlock"


class StepLimit(SimulationError):
    """The kernel ran longer than the limit given to `launch`."""

    code = "step-limit"


class MissingGridWait(SimulationError):
    """A dependent kernel touches what the one before it does, without waiting for it."""

    code = "missing-grid-wait"


class WriteToInput(SimulationError):
    """A write to an array that the caller gave to be read only."""

    code = "write-to-input"


class ResourceOveruse(SimulationError):
    """More shared memory or registers than a block may have."""

    code = "resource-overuse"


class Trapped(SimulationError):
    """The kernel executed a trap."""

    code = "trap"


class AssertionFailed(SimulationError):
    """The condition of an `assert` in the kernel does not hold."""

    code = "assertion-failed"
