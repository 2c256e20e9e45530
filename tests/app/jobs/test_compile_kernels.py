"""Kernels compiled ahead: what decides which, and the note that they are there."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from topiary.app.jobs import compile_kernels
from topiary.app.jobs.compile_kernels import KernelRequest
from topiary.engine import jit, models, settings


def request(*, averaged=False, real=False, scored=False, **texts):
    config = settings.parse(models.load("dlda").Config, texts)
    return KernelRequest("dlda", settings.to_json(config), real, scored, averaged)


def test_numbers_do_not_matter_but_choices_and_shapes_do():
    base = request(layers="8-4", eta="0.1")
    assert base.digest == request(layers="64-32", eta="0.05", batch_size="7").digest
    others = [
        request(layers="8-4-2", eta="0.1"),
        request(layers="8-4", inference="gibbs"),
        request(layers="8-4", link="bernoulli"),
        request(layers="8-4", averaged=True),
        request(layers="8-4", real=True),
        request(layers="8-4", scored=True),
    ]
    assert len({each.digest for each in (base, *others)}) == 7


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Notes in the test's own folder; the kernels themselves stay where they are."""
    monkeypatch.setattr(jit, "find_cache_folder", lambda: tmp_path)
    return tmp_path


def test_what_was_compiled_is_not_missing_any_more(folder):
    run = request(layers="6-3")
    assert compile_kernels.list_missing(run) == ["step", "rest"]
    compile_kernels.compile_here(run, "step")
    assert compile_kernels.list_missing(run) == ["rest"]
    compile_kernels.compile_here(run, "rest")
    assert compile_kernels.list_missing(run) == []
    assert compile_kernels.start_compilers.__wrapped__(run, "unused") == []


def test_kernels_of_models_that_move_pictures_are_compiled_ahead(folder):
    config = settings.parse(models.load("sdatm").Config, {"layers": "6-3", "moved": "1"})
    run = KernelRequest("sdatm", settings.to_json(config), real=False, scored=False, averaged=False)
    for part in compile_kernels.PARTS:
        compile_kernels.compile_here(run, part)
    assert compile_kernels.list_missing(run) == []


def test_where_nothing_can_be_kept_nothing_is_compiled_ahead(folder, monkeypatch):
    monkeypatch.setattr("topiary.engine.jit.is_private", lambda _: False)
    assert compile_kernels.list_missing(request()) == []


# Of two processes that compile at the same time one waits; a killed one keeps nobody waiting.

HOLD = """
import sys, time
from filelock import FileLock
with FileLock(sys.argv[1]):
    print("mine", flush=True)
    time.sleep(60)
"""
WANTED = KernelRequest("dlda", {"layers": [4, 2]}, real=False, scored=False, averaged=False)


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


def test_who_comes_second_waits_and_does_not_compile_what_the_first_has_compiled(lock, holder, monkeypatch):
    monkeypatch.setattr(jit, "find_cache_folder", lambda: lock.parent)
    compiled, naps = [], []
    monkeypatch.setattr(compile_kernels, "compile_here", lambda request, part: compiled.append(part))

    def nap(seconds):
        assert compile_kernels.is_awaited(WANTED)
        naps.append(seconds)
        if len(naps) == 2:  # the first one is done
            compile_kernels._find_marker(lock.parent, WANTED, "step").touch()
            holder.kill()
            holder.wait()

    monkeypatch.setattr(time, "sleep", nap)
    compile_kernels.compile_part(WANTED, "step")
    assert naps
    assert compiled == []


def test_who_comes_second_compiles_what_a_killed_first_left_undone(lock, holder, monkeypatch):
    monkeypatch.setattr(jit, "find_cache_folder", lambda: lock.parent)
    compiled = []
    monkeypatch.setattr(compile_kernels, "compile_here", lambda request, part: compiled.append(part))
    holder.kill()
    holder.wait()
    compile_kernels.compile_part(WANTED, "step")
    assert compiled == ["step"]
    assert not compile_kernels.is_awaited(WANTED)
