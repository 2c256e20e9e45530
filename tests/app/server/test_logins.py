"""With a login end its sessions, and no others."""

from app.server import logins as logins_of
from app.server.logins import Logins


def test_a_login_gives_its_role_until_it_ends():
    logins = Logins()
    name, other = logins.begin("viewer"), logins.begin("viewer")
    assert name != other
    assert logins.role_of(name) == "viewer"
    assert logins.role_of("") is None
    logins.log_out(name)
    assert (logins.role_of(name), logins.role_of(other)) == (None, "viewer")


def test_logging_out_ends_every_session_of_that_login_once():
    logins, ended = Logins(), []
    mine, others = logins.begin("analyst"), logins.begin("analyst")
    logins.attend(mine, lambda: ended.append("one"))
    logins.attend(mine, lambda: ended.append("two"))
    logins.attend(others, lambda: ended.append("of another browser"))
    for _ in range(2):
        logins.log_out(mine)
    assert ended == ["one", "two"]


def test_a_session_that_is_gone_is_not_ended_and_not_kept():
    logins, ended = Logins(), []
    name = logins.begin("analyst")
    leave = logins.attend(name, lambda: ended.append(1))
    for _ in range(2):
        leave()
    assert logins._sessions == {}
    logins.log_out(name)
    assert ended == []


def test_a_session_that_comes_too_late_ends_at_once():
    logins, ended = Logins(), []
    name = logins.begin("analyst")
    logins.log_out(name)
    logins.attend(name, lambda: ended.append(1))()
    assert ended == [1]


def test_only_who_logged_out_is_told_so_and_nothing_is_kept_of_a_login_whose_time_is_over():
    logins, ended = Logins(), []
    name, other = logins.begin("analyst"), logins.begin("analyst")
    logins.attend(other, lambda: ended.append(1))
    logins.log_out(name)
    logins.log_out("never begun")
    assert [logins.logged_out(each) for each in (name, other, "never begun")] == [True, False, False]
    for each in (name, other):
        logins.forget(each)
    assert ended == [1]
    assert [logins._open, logins._logged_out, logins._sessions] == [{}, set(), {}]


def test_open_logins_are_bounded_and_those_with_a_session_stay(monkeypatch):
    monkeypatch.setattr(logins_of, "MOST_LOGINS", 3)
    logins = Logins()
    used = logins.begin("analyst")
    logins.attend(used, lambda: None)
    names = [logins.begin("viewer") for _ in range(5)]
    assert [logins.role_of(name) for name in (used, names[0], names[-1])] == ["analyst", None, "viewer"]
    assert len(logins._open) == 3
