"""How operators are computed: schedules written for them, and the automatic one for the rest."""

from hidet.schedules.automatic import automatic_schedule
from hidet.schedules.base import (
    SCHEDULES,
    Candidate,
    Choice,
    Schedule,
    Scheduled,
    candidates,
    schedule_for,
)
from hidet.schedules.space import choice, points

__all__ = [
    "SCHEDULES",
    "Candidate",
    "Choice",
    "Schedule",
    "Scheduled",
    "automatic_schedule",
    "candidates",
    "choice",
    "points",
    "schedule_for",
]
