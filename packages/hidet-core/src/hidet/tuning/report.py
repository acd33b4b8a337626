"""What is said about candidates that were measured: those that were refused, and the best."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from tqdm import tqdm

from hidet.errors.warning import warn
from hidet.runtime.progress import COLUMNS, is_watched, short
from hidet.schedules.base import Choice
from hidet.tuning.record import Trial

LOG = logging.getLogger("hidet.tuning")
EXPECTED = ("registers are spilled", "wgmma was serialised", "setmaxnreg", "waits were put")
"""Beginnings of the reasons that are no defect of a schedule: the point does not suit."""


TITLE = 24
"""Columns of a bar that are its title's; the best time comes at its end."""


class TuningWarning(UserWarning):
    """A candidate computed something else than its operator, crashed, or was not measured."""


def is_broken(trial: Trial) -> bool:
    """Whether a candidate failed, or computed nonsense, rather than merely did not suit."""
    return trial.seconds is None and not trial.reason.startswith(EXPECTED)


def report_refused(title: str, trials: Sequence[Trial]) -> None:
    """Warn of candidates that failed; those whose point merely does not suit are logged."""
    refused = [each for each in trials if each.seconds is None]
    for each in refused:
        LOG.info("%s: %s is not used: %s", title, each.name, each.reason)
    broken = [each for each in refused if is_broken(each)]
    if broken:
        lines = "\n".join(f"  {each.name}: {each.reason}" for each in broken)
        said = f"{len(broken)} of {len(trials)} schedules of {title} are not used:\n{lines}"
        warn(TuningWarning(said))


def report_hopeless(title: str, left_out: Sequence[Choice], count: int) -> None:
    """Log how many of the candidates were not compiled, since they cannot be the best."""
    if left_out:
        LOG.info("%s: %d of %d cannot be the best, and are left out", title, len(left_out), count)


class Bar:
    """The progress of one operator, with the best time so far; quiet where nobody is looking."""

    def __init__(self, title: str, total: int) -> None:
        self.shown = tqdm(
            total=total,
            desc=short(f"Tuning {title}", TITLE),
            disable=not is_watched(),
            leave=False,  # the next operator takes the line
            unit="schedule",
            ncols=COLUMNS,
        )

    def step(self, best: float | None) -> None:
        """One more candidate is judged."""
        self.best(best)
        self.shown.update()

    def best(self, best: float | None) -> None:
        """Show the best time so far."""
        if best is not None:
            self.shown.set_postfix_str(f"best {1e6 * best:.1f} µs")

    def close(self) -> None:
        """Take the bar away."""
        self.shown.close()
