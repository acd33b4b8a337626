"""The contract between core and the plugins that bring models in; knows no framework."""

from hidet.frontend.api import API, Frontend
from hidet.frontend.discover import frontend, installed, load

__all__ = ["API", "Frontend", "frontend", "installed", "load"]
