"""Processes that answer questions: each thread its own, and none left behind."""

import importlib
import io
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from hidet.build.workers.remote import POOL, Ended, Remote, Team, receive, send

QUESTIONS = """
import os
import time
from dataclasses import dataclass
from hidet.toolchain.host import run

@dataclass(frozen=True)
class Process:
    def answer(self):
        return os.getpid()

@dataclass(frozen=True)
class Exit:
    status: int
    def answer(self):
        os._exit(self.status)

class Slow:
    def __init__(self, file):
        self.file = file
    def __del__(self):
        open(self.file, "w").close()
        time.sleep(60)

@dataclass(frozen=True)
class Destroy:
    file: str
    def answer(self):
        Slow(self.file)
        while True:
            time.sleep(0.01)

@dataclass(frozen=True)
class Compile:
    file: str
    def answer(self):
        tell = f"echo $$ > {self.file}.part; mv {self.file}.part {self.file}"
        return run(["sh", "-c", f"{tell}; sleep 60"])
"""


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Questions that a process finds by name; no processes from other tests, and none left."""
    (tmp_path / "asked_in_tests.py").write_text(QUESTIONS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(POOL, "waiting", [])
    yield importlib.import_module("asked_in_tests")
    sys.modules.pop("asked_in_tests")
    for each in POOL.waiting:
        each.end()


def test_a_process_waits_for_the_next_question(asked):
    team = Team()
    first = team.ask(asked.Process())
    assert first != os.getpid()
    assert team.ask(asked.Process()) == first
    assert Team().ask(asked.Process()) == first
    assert not team.busy


def test_one_that_breaks_down_is_told_and_another_takes_its_place(asked):
    team = Team()
    first = team.ask(asked.Process())
    with pytest.raises(Ended, match="status 3"):
        team.ask(asked.Exit(3))
    assert team.ask(asked.Process()) != first


def test_one_that_left_because_it_had_nothing_to_do_costs_no_answer(asked, monkeypatch):
    class Left:
        ready = False

        def ask(self, question):
            raise Ended(0)

    POOL.give(Remote())
    takes = [Left(), POOL.take()]
    monkeypatch.setattr(POOL, "take", lambda: takes.pop(0))
    assert Team().ask(asked.Process()) == POOL.waiting[0].process.pid


def test_an_end_reaches_the_compilers_too(asked, tmp_path, alive, eventually):
    team, file = Team(), tmp_path / "pid"
    with ThreadPoolExecutor(1) as threads:
        future = threads.submit(team.ask, asked.Compile(str(file)))
        eventually(file.exists)
        team.end()
        with pytest.raises(Ended, match="status 143"):
            future.result()
    pid = int(file.read_text())
    eventually(lambda: not alive(pid))
    assert not POOL.waiting
    with pytest.raises(Ended):
        team.ask(asked.Process())


def test_an_end_within_a_destructor_is_no_traceback(asked, tmp_path, eventually, capfd):
    """An exception is lost there: Python prints it and goes on."""
    team, file = Team(), tmp_path / "destroying"
    with ThreadPoolExecutor(1) as threads:
        future = threads.submit(team.ask, asked.Destroy(str(file)))
        eventually(file.exists)
        team.end()
        with pytest.raises(Ended, match="status 142"):
            future.result(timeout=30)
    assert "SystemExit" not in capfd.readouterr().err


def test_a_second_end_is_no_traceback(asked, tmp_path, alive, eventually, capfd):
    """As where a team ends a process that a pool ends too, while it is at work."""
    team, file = Team(), tmp_path / "pid"
    with ThreadPoolExecutor(1) as threads:
        future = threads.submit(team.ask, asked.Compile(str(file)))
        eventually(file.exists)
        for _ in range(20):
            team.end()
        with pytest.raises(Ended, match="status 143"):
            future.result(timeout=30)
    assert capfd.readouterr().err == ""


def test_half_an_answer_is_none():
    whole = io.BytesIO()
    send(whole, [1, 2, 3])
    assert receive(io.BytesIO(whole.getvalue())) == [1, 2, 3]
    for length in (0, 5, 8, len(whole.getvalue()) - 1):
        with pytest.raises(EOFError):
            receive(io.BytesIO(whole.getvalue()[:length]))


SCRIPT = """
from hidet.build.workers.remote import Remote
print(Remote().process.pid, flush=True)
"""


def test_a_process_ends_with_the_one_that_started_it(alive, eventually):
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    pid = int(done.stdout)
    eventually(lambda: not alive(pid))
