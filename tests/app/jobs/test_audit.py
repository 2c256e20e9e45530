"""The audit log."""

import os
import re
import stat

import pytest

from app.jobs import audit, launcher


@pytest.fixture
def log(tmp_path, monkeypatch):
    monkeypatch.setattr(launcher, "log_folder", lambda: tmp_path / "logs")
    return tmp_path / "logs" / audit.NAME


def test_every_line_has_its_time_the_store_who_it_was_and_what_was_done(log):
    audit.record("postgresql://me@host/db", "deleted run 3 (first\ntry)", "analyst in the browser at 192.0.2.7")
    audit.record("store.db", f"deleted {audit.called('corpus', 1, 'garden')}")
    first, second = log.read_text(encoding="utf-8").splitlines()
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC \| postgresql://me@host/db \| analyst in the browser at 192\.0\.2\.7 "
        r"\| deleted run 3 \(first try\)",
        first,
    )
    assert " | the user " in second
    assert second.endswith(" | deleted corpus 1 (garden)")


def test_a_name_makes_no_second_line_and_steers_no_terminal(log):
    audit.record(
        "store.db", "renamed run 1 to x\n2026-01-01 00:00:00 UTC | store.db | root | deleted\u2028run 2\x1b[2J\x9b"
    )
    (line,) = log.read_text(encoding="utf-8").splitlines()
    assert (
        line.split(" | ", 3)[3] == "renamed run 1 to x 2026-01-01 00:00:00 UTC | store.db | root | deleted run 2?[2J?"
    )


def test_what_cannot_be_written_is_said_in_the_log_of_the_server(log, caplog):
    log.mkdir(parents=True)
    audit.record("store.db", "deleted run 1")
    assert "the audit log cannot be written" in caplog.text
    assert "deleted run 1" in caplog.text


@pytest.mark.skipif(os.name != "posix", reason="rights of this kind are those of POSIX")
def test_only_its_owner_reads_it(log):
    audit.record("store.db", "deleted run 1")
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert stat.S_IMODE(log.parent.stat().st_mode) == 0o700
