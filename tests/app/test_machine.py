"""How many processors there are can be said from outside, and a full disk is a sentence."""

import errno
import os

import pytest

from topiary.app.jobs import launcher
from topiary.app.machine import choose_threads, count_processors, explain_full_disk

pytestmark = pytest.mark.cores


@pytest.mark.parametrize(("said", "found"), [("1", 1), ("16", 16), ("", os.cpu_count()), ("0", os.cpu_count())])
def test_the_number_of_processors_is_the_machines_unless_it_is_said(monkeypatch, said, found):
    monkeypatch.setenv("TOPIARY_CPUS", said)
    assert count_processors() == (found or 1)


@pytest.mark.parametrize(("said", "runs", "threads"), [("1", 1, 1), ("2", 1, 2), ("16", 8, 2)])
def test_half_the_processors_train_runs_and_a_run_gets_two_threads(monkeypatch, said, runs, threads):
    monkeypatch.setenv("TOPIARY_CPUS", said)
    monkeypatch.delenv("TOPIARY_WORKERS", raising=False)
    assert (launcher.limit_runs(), choose_threads()) == (runs, threads)


def test_a_full_disk_and_a_limit_on_files_are_told_and_other_errors_are_not():
    assert explain_full_disk(OSError(errno.ENOSPC, "No space left", "/x/y")).startswith("/x/y cannot be written (No")
    assert "a temporary one in" in explain_full_disk(OSError(errno.EFBIG, "File too large"))
    assert explain_full_disk(OSError(errno.ENOENT, "none")) == ""
