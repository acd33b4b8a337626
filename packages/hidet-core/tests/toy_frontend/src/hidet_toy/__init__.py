"""A third-party frontend plugin; its "framework" is numpy."""

from hidet_toy.__about__ import __version__

__all__ = ["__version__"]
