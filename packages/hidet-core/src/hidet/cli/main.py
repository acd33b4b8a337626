"""The command line: subcommands and their arguments."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from hidet.__about__ import __version__
from hidet.cli.cache import clear, status
from hidet.cli.doctor import doctor
from hidet.cli.explain import explain
from hidet.errors import HidetError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status: 0 if all is well."""
    given = parser().parse_args(arguments)
    try:
        if given.command == "doctor":
            return doctor()
        if given.command == "explain":
            return explain(given.code)
        return clear() if given.action == "clear" else status()
    except HidetError as error:
        print(error, file=sys.stderr)
        return 1


def parser() -> argparse.ArgumentParser:
    """What the command understands."""
    top = argparse.ArgumentParser(prog="hidet", description="A deep-learning inference compiler.")
    top.add_argument("--version", action="version", version=f"hidet {__version__}")
    commands = top.add_subparsers(dest="command", required=True)
    commands.add_parser("doctor", help="say what works on this machine, and what is missing")
    cache = commands.add_parser("cache", help="look at the compile cache, or empty it")
    cache.add_argument("action", choices=["status", "clear"])
    explaining = commands.add_parser("explain", help="say what an error code means")
    explaining.add_argument("code", nargs="?", help="such as shape-mismatch; none lists all")
    return top
