"""Of two processes that compile at the same time one waits and takes over; a killed one keeps nobody waiting."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.jobs import compile_kernels
from app.jobs.compile_kernels import Wanted
from app.jobs.file_lock import taken, turn
from engine import jit

HOLD = """
import sys, time
from pathlib import Path
from app.jobs.file_lock import turn
with turn(Path(sys.argv[1])):
    print("mine", flush=True)
    time.sleep(60)
"""
WANTED = Wanted("dlda", {"layers": [4, 2]}, real=False, scored=False, averaged=False)


@pytest.fixture
def lock(tmp_path):
    return tmp_path / "dlda.step.lock"


@pytest.fixture
def holder(lock):
    """Another process that holds the lock."""
    other = subprocess.Popen([sys.executable, "-c", HOLD, str(lock)], stdout=subprocess.PIPE, cwd=Path.cwd())
    assert other.stdout is not None
    assert other.stdout.readline().strip() == b"mine"
    yield other
    other.kill()
    other.wait()
    other.stdout.close()


def test_a_lock_that_another_process_holds_is_taken(lock, holder):
    assert taken(lock)
    holder.kill()
    holder.wait()
    assert not taken(lock)


def test_a_killed_holder_keeps_nobody_waiting(lock, holder):
    holder.kill()
    holder.wait()
    with turn(lock):
        assert lock.exists()


def test_who_comes_second_waits_and_does_not_compile_what_the_first_has_compiled(lock, holder, monkeypatch):
    monkeypatch.setattr(jit, "cache_folder", lambda: lock.parent)
    compiled, naps = [], []
    monkeypatch.setattr(compile_kernels, "compile_here", lambda wanted, part: compiled.append(part))

    def nap(seconds):
        assert compile_kernels.awaited(WANTED)
        naps.append(seconds)
        if len(naps) == 2:  # the first one is done
            compile_kernels._note(lock.parent, WANTED, "step").touch()
            holder.kill()
            holder.wait()

    monkeypatch.setattr(time, "sleep", nap)
    compile_kernels.compile_in_turn(WANTED, "step")
    assert naps
    assert compiled == []


def test_who_comes_second_compiles_what_a_killed_first_left_undone(lock, holder, monkeypatch):
    monkeypatch.setattr(jit, "cache_folder", lambda: lock.parent)
    compiled = []
    monkeypatch.setattr(compile_kernels, "compile_here", lambda wanted, part: compiled.append(part))
    holder.kill()
    holder.wait()
    compile_kernels.compile_in_turn(WANTED, "step")
    assert compiled == ["step"]
    assert not compile_kernels.awaited(WANTED)
