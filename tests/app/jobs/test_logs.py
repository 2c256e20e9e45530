"""The audit log."""

import os
import re
import stat

import garden
import pytest
from databases import open_filled

from topiary.app.cli import main
from topiary.app.jobs import control, launcher, logs
from topiary.store import runs
from topiary.stores import open as open_store


@pytest.fixture
def log(tmp_path, monkeypatch):
    monkeypatch.setattr(logs, "log_folder", lambda: tmp_path / "logs")
    return tmp_path / "logs" / logs.AUDIT_NAME


def test_every_line_has_its_time_the_store_who_it_was_and_what_was_done(log):
    logs.record_action("postgresql://me@host/db", "deleted run 3 (first\ntry)", "analyst in the browser at 192.0.2.7")
    logs.record_action("store.db", f"deleted {logs.name_subject('corpus', 1, 'garden')}")
    first, second = log.read_text(encoding="utf-8").splitlines()
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC \| postgresql://me@host/db \| analyst in the browser at 192\.0\.2\.7 "
        r"\| deleted run 3 \(first try\)",
        first,
    )
    assert " | the user " in second
    assert second.endswith(" | deleted corpus 1 (garden)")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such rights")
def test_the_log_of_a_run_and_its_folder_are_of_their_owner_only_even_if_they_were_not(log):
    path = logs.find_log("sqlite:///x.db", 1)
    path.parent.mkdir(parents=True)
    path.parent.chmod(0o755)
    path.write_text("before\n")
    path.chmod(0o644)
    with logs.open_log("sqlite:///x.db", 1) as stream:
        stream.write(b"after\n")
    assert path.read_text() == "before\nafter\n"
    assert [stat.S_IMODE(item.stat().st_mode) for item in (path, path.parent, log.parent)] == [0o600, 0o700, 0o700]


def test_a_name_makes_no_second_line_and_steers_no_terminal(log):
    logs.record_action(
        "store.db", "renamed run 1 to x\n2026-01-01 00:00:00 UTC | store.db | root | deleted\u2028run 2\x1b[2J\x9b"
    )
    (line,) = log.read_text(encoding="utf-8").splitlines()
    assert (
        line.split(" | ", 3)[3] == "renamed run 1 to x 2026-01-01 00:00:00 UTC | store.db | root | deleted run 2?[2J?"
    )


def test_what_commands_and_python_do_is_recorded_too(log, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(control, "find_state", lambda row: "paused")
    monkeypatch.setattr(launcher, "start_queued_runs", lambda _: [])
    for name in ("send_request", "requeue_run"):
        monkeypatch.setattr(runs, name, lambda *_, **__: None)
    store = f"sqlite:///{tmp_path / 'store.db'}"
    open_filled(tmp_path / "store.db", garden.plant).close()
    for command in ("stop", "pause", "resume"):
        assert main.main([command, "1", "--store", store]) == 0
    with open_store(store) as opened:
        run = opened.runs[1]
        run.rename("second spring")
        run.rename_topic("L2:3", "tools")
        run.stop()
        run.delete()
    assert main.main(["corpora", "delete", "1", "--store", store]) == 0
    lines = [line.split(" | ", 3) for line in log.read_text(encoding="utf-8").splitlines()]
    assert [line[3] for line in lines] == [
        "stopped run 1",
        "paused run 1",
        "resumed run 1",
        "renamed run 1 to second spring",
        "named topic L2:3 of run 1 tools",
        "stopped run 1",
        "deleted run 1 (second spring)",
        "deleted corpus 1 (allotment)",
    ]
    assert all(line[2].startswith("the user ") for line in lines)


def test_what_cannot_be_written_is_said_in_the_log_of_the_server(log, caplog):
    log.mkdir(parents=True)
    logs.record_action("store.db", "deleted run 1")
    assert "the audit log cannot be written" in caplog.text
    assert "deleted run 1" in caplog.text


@pytest.mark.skipif(os.name != "posix", reason="rights of this kind are those of POSIX")
def test_only_its_owner_reads_it(log):
    logs.record_action("store.db", "deleted run 1")
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert stat.S_IMODE(log.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("block", [1 << 16, 7])
def test_the_last_lines_are_read_from_the_end(tmp_path, monkeypatch, block):
    monkeypatch.setattr(logs, "LOG_BLOCK", block)
    path = tmp_path / "run-1.log"
    path.write_text("".join(f"line {n} ä\n" for n in range(100)), encoding="utf-8")
    assert logs.read_tail(path, 3) == ["line 97 ä", "line 98 ä", "line 99 ä"]
    assert len(logs.read_tail(path, 1000)) == 100


def test_where_there_is_no_log_there_are_no_lines(tmp_path):
    assert logs.read_tail(tmp_path / "none.log", 5) == []


def test_two_stores_have_two_logs_of_a_run_and_a_password_is_in_no_path():
    one, other = (logs.find_log(f"sqlite:////home/{name}.db", 1) for name in ("a", "b"))
    assert one != other
    assert one.name == other.name == "run-1.log"
    secret = logs.find_log("postgresql://me:secret@here/db", 1)
    assert secret == logs.find_log("postgresql://me:other@here/db", 1)


def test_the_log_of_a_process_that_memory_ended_is_understood_and_no_older_one(log):
    url = "sqlite:///x.db"
    for text, known in (
        ("run 1: process 5 begins\nterminate called after throwing an instance of 'std::bad_alloc'\n", True),
        ("run 1: process 6 begins\n", False),
        ("ImportError: libopenblas.so: failed to map segment from shared object\n", True),
    ):
        with logs.open_log(url, 1) as stream:
            stream.write(text.encode())
        assert logs.tells_of_memory(url, 1) is known
