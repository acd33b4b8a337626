"""The command line: subcommands and their arguments."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from hidet.__about__ import __version__
from hidet.cli.bench import bench
from hidet.cli.cache import clear, status
from hidet.cli.doctor import doctor
from hidet.cli.explain import explain
from hidet.cli.frontends import frontends
from hidet.cli.operators import operators
from hidet.cli.run import run
from hidet.cli.show import show
from hidet.errors import BadArgument, HidetError

INPUT = "a .npy file for each input, in order or as name=file"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status: 0 if all is well."""
    given = parser().parse_args(arguments)
    try:
        code = chosen(given)
        sys.stdout.flush()
        return code
    except HidetError as error:
        print(error, file=sys.stderr)
        return 1
    except BrokenPipeError:  # who reads has seen enough, as `hidet ops | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a file that is not there, or may not be read or written
        print(BadArgument(f"{error.filename}: {error.strerror}"), file=sys.stderr)
        return 1


def chosen(given: argparse.Namespace) -> int:
    """Run the subcommand that was given."""
    match given.command:
        case "doctor":
            return doctor()
        case "explain":
            return explain(given.code)
        case "frontends":
            return frontends()
        case "ops":
            return operators(given.name)
        case "show":
            return show(given.folder, given.stages)
        case "bench":
            return bench(given.model, given.device, given.size, given.repeat)
        case "run":
            return run(
                given.path, given.device, given.input, given.size, given.output, given.repeat
            )
        case _:
            return clear() if given.action == "clear" else status()


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
    commands.add_parser("frontends", help="list the installed frontends")
    listing = commands.add_parser("ops", help="list the operators, or say all about one")
    listing.add_argument("name", nargs="?", help="such as softmax; none lists all")
    showing = commands.add_parser("show", help="look at what HIDET_DUMP wrote")
    showing.add_argument("folder", help="the folder, or that of one kernel in it")
    showing.add_argument("stages", nargs="*", help="one to see it, two to compare; such as 03")
    measuring = commands.add_parser("bench", help="measure a model beside its framework")
    measuring.add_argument("model", help="a saved graph, or module:function for (model, *inputs)")
    measuring.add_argument("--device", help="such as cpu or cuda:1; of a saved graph")
    measuring.add_argument("--size", action="append", default=[], help="a size, such as n=8")
    measuring.add_argument("--repeat", type=int, default=20, help="measure this many calls")
    running = commands.add_parser("run", help="run a graph that was saved to a file")
    running.add_argument("path", help="what CompiledGraph.save wrote")
    running.add_argument("--device", help="such as cpu or cuda:1; else the first that fits")
    running.add_argument("--input", action="append", default=[], help=INPUT)
    running.add_argument("--size", action="append", default=[], help="a size, such as n=8")
    running.add_argument("--output", help="the .npz file to write the results to")
    running.add_argument("--repeat", type=int, default=0, help="measure this many calls")
    return top
