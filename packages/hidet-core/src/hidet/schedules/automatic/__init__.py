"""The automatic schedule: any definition, on any target."""

from hidet.schedules.automatic.schedule import automatic

__all__ = ["automatic"]
