"""What becomes of a damaged model; run as a program, of models of some numbers, one line each.

python -m ci.onnx_fuzz.judge FIRST COUNT EVERY
"""

from __future__ import annotations

import json
import resource
import signal
import sys
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from onnx import ModelProto

from ci.onnx_fuzz.mutations import mutated
from ci.onnx_suite.cases import cases
from hidet.errors import HidetError, InternalError
from hidet_onnx.model import CompiledModel
from hidet_onnx.reading.load import load
from hidet_onnx.settings import Settings

SECONDS, GIGABYTES = 10, 3
LARGE = 200_000


class Slow(BaseException):
    """A model took longer than any may."""


@cache
def bases() -> list[tuple[str, ModelProto, Sequence[Any]]]:
    """The models that are damaged: all small ones of ONNX's suite, with their inputs."""
    found = []
    for case in cases().values():
        if case.kind == "real":
            continue
        model, data = case.load()
        if model.ByteSize() < LARGE and data:
            found.append((case.name, model, data[0][0]))
    return found


def damaged(number: int) -> tuple[str, bytes, Sequence[Any]]:
    """The damaged model of a number: always the same."""
    random = Random(number)
    name, model, inputs = random.choice(bases())
    return name, mutated(model, random), inputs


def judged(data: bytes, inputs: Sequence[Any], is_called: bool) -> str:
    """What is wrong with how a damaged model ends; empty if nothing is.

    It is imported for these inputs, compiled and called if it `is_called`.
    """
    signal.signal(signal.SIGPROF, too_slow)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        model = CompiledModel(load(data), "cpu", Settings(), lazy=True)
        if is_called:
            model.run(inputs)
        else:
            model.variant_for(model.ordered(inputs, {}))
    except InternalError as error:
        return f"internal error: {error}"
    except HidetError:
        return ""
    except Slow:
        return f"more than {SECONDS} s"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return ""


def too_slow(*_: object) -> None:
    """End the model that is being tried."""
    raise Slow


def limit_memory() -> None:
    """Let this process take few gigabytes more than it has."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    most = used + GIGABYTES * 2**30
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def main() -> None:
    """Try models; each `EVERY`-th is called too."""
    first, count, every = map(int, sys.argv[1:])
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    bases()
    limit_memory()
    for number in range(first, first + count):
        print(json.dumps({"begun": number}), flush=True)
        name, data, inputs = damaged(number)
        problem = judged(data, inputs, number % every == 0)
        if problem:
            print(json.dumps({"number": number, "model": name, "problem": problem}), flush=True)


if __name__ == "__main__":
    main()
