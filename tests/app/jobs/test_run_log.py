"""The tail of a log is its last lines, however long it is."""

import pytest

from app.jobs import launcher, run_log


@pytest.mark.parametrize("block", [1 << 16, 7])
def test_the_last_lines_are_read_from_the_end(tmp_path, monkeypatch, block):
    monkeypatch.setattr(run_log, "BLOCK", block)
    path = tmp_path / "run-1.log"
    path.write_text("".join(f"line {n} ä\n" for n in range(100)), encoding="utf-8")
    assert run_log.tail(path, 3) == ["line 97 ä", "line 98 ä", "line 99 ä"]
    assert len(run_log.tail(path, 1000)) == 100


def test_where_there_is_no_log_there_are_no_lines(tmp_path):
    assert run_log.tail(tmp_path / "none.log", 5) == []


def test_two_stores_have_two_logs_of_a_run_and_a_password_is_in_no_path():
    one, other = (launcher.log_path(f"sqlite:////home/{name}.db", 1) for name in ("a", "b"))
    assert one != other
    assert one.name == other.name == "run-1.log"
    secret = launcher.log_path("postgresql://me:secret@here/db", 1)
    assert secret == launcher.log_path("postgresql://me:other@here/db", 1)
