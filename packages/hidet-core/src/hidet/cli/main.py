"""The command line: subcommands and their arguments."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from hidet.__about__ import __version__
from hidet.cli.bench import bench
from hidet.cli.cache import clear, status
from hidet.cli.compile import compile
from hidet.cli.doctor import doctor
from hidet.cli.explain import explain
from hidet.cli.frontends import frontends
from hidet.cli.operators import operators
from hidet.cli.run import run
from hidet.cli.show import show
from hidet.errors import BadArgument, HidetError

AGAIN = "may be given several times"
INPUT = "a .npy file for each input, in order or as name=file; others are random"


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
        case "compile":
            return compile(given.path, given.output, given.target, given.device, given.order)
        case "bench":
            return bench(given.model, given.device, given.input, given.size, given.repeat)
        case "run":
            return run(
                given.path, given.device, given.input, given.size, given.output, given.repeat,
                given.profile,
            )  # fmt: skip
        case _:
            return clear() if given.action == "clear" else status()


def parser() -> argparse.ArgumentParser:
    """What the command understands."""
    top = argparse.ArgumentParser(prog="hidet", description="A deep-learning inference compiler.")
    top.add_argument("--version", action="version", version=f"hidet {__version__}")
    commands = top.add_subparsers(dest="command", required=True)

    def command(name: str, does: str, *examples: str) -> argparse.ArgumentParser:
        lines = ["examples:", *(f"hidet {name} {each}".rstrip() for each in examples)]
        return commands.add_parser(
            name,
            help=does,
            description=f"{does[0].upper()}{does[1:]}.",
            epilog="\n  ".join(lines),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    compiling = command("compile", "compile a model file into one that hidet run takes", *COMPILE)
    compiling.add_argument("path", help="a model file of an installed frontend, such as .onnx")
    compiling.add_argument("-o", "--output", help="the file to write; else the same name in .hidet")
    compiling.add_argument("--target", action="append", default=[], help=f"such as sm_90a; {AGAIN}")
    compiling.add_argument("--device", help="compile for this device: cpu, cuda:1")
    compiling.add_argument("--order", action="append", default=[], help=f"{ORDER}; {AGAIN}")
    running = command("run", "run a compiled file, or a model file, on arrays", *RUN)
    running.add_argument("path", help="what hidet compile or CompiledGraph.save wrote, or a model")
    calling(running, repeat=0)
    running.add_argument("--output", help="the .npz file to write the results to")
    running.add_argument("--profile", action="store_true", help="say where the time of a call goes")
    measuring = command("bench", "measure a model beside other programs that run it", *BENCH)
    measuring.add_argument("model", help="a file, or module:function for (model, *inputs)")
    calling(measuring, repeat=20)
    command("doctor", "say what works on this machine, and what is missing", "")
    cache = command("cache", "look at the compile cache, or empty it", "status", "clear")
    cache.add_argument("action", choices=["status", "clear"])
    explaining = command("explain", "say what an error code means", "shape-mismatch")
    explaining.add_argument("code", nargs="?", help="such as shape-mismatch; none lists all")
    command("frontends", "list the installed frontends", "")
    listing = command("ops", "list the operators, or say all about one", "softmax")
    listing.add_argument("name", nargs="?", help="such as softmax; none lists all")
    showing = command("show", "look at what HIDET_DUMP wrote", "dump/main 03 04")
    showing.add_argument("folder", help="the folder, or that of one kernel in it")
    showing.add_argument("stages", nargs="*", help="one to see it, two to compare; such as 03")
    return top


COMPILE = ("model.onnx", "model.onnx -o model.hidet --target sm_90a --target cpu")
ORDER = "how an input lies: its axes, outermost in memory first, such as image=0,2,3,1"
RUN = ("model.hidet --input x=x.npy --output y.npz", "model.onnx --size batch=8 --repeat 20")
BENCH = ("model.onnx --size batch=8", "model.hidet --device cuda", "my_module:make_model")


def calling(command: argparse.ArgumentParser, repeat: int) -> None:
    """The arguments that say what a model is called with."""
    command.add_argument("--device", help="such as cpu or cuda:1; else the first that fits")
    command.add_argument("--input", action="append", default=[], help=INPUT)
    command.add_argument(
        "--size",
        action="append",
        default=[],
        help=f"a size, such as n=8; {AGAIN}",
    )
    command.add_argument("--repeat", type=int, default=repeat, help="measure this many calls")
