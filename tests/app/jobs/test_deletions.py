"""The log of deletions."""

import os
import re
import stat

import pytest

from app.jobs import deletions, launcher


@pytest.fixture
def log(tmp_path, monkeypatch):
    monkeypatch.setattr(launcher, "log_folder", lambda: tmp_path / "logs")
    return tmp_path / "logs" / deletions.NAME


def test_every_deletion_is_a_line_with_its_time_and_who_it_was(log):
    deletions.record("postgresql://me@host/db", "run 3 (first\ntry)", "analyst in the browser at 192.0.2.7")
    deletions.record("store.db", "corpus 1 (garden)")
    first, second = log.read_text(encoding="utf-8").splitlines()
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC deleted run 3 \(first try\) of the store postgresql://me@host/db, "
        r"by analyst in the browser at 192\.0\.2\.7",
        first,
    )
    assert ", by the user " in second


@pytest.mark.skipif(os.name != "posix", reason="rights of this kind are those of POSIX")
def test_only_its_owner_reads_it(log):
    deletions.record("store.db", "run 1")
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert stat.S_IMODE(log.parent.stat().st_mode) == 0o700
