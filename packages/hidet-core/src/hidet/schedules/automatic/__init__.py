"""The automatic schedule: any definition, on any target."""

from hidet.schedules.automatic.schedule import automatic_schedule

__all__ = ["automatic_schedule"]
