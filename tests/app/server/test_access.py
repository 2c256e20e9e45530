"""Passwords, roles and the cookie that proves them."""

import time

import pytest

from topiary.app.cli import main
from topiary.app.server import access
from topiary.app.server.access import (
    FREE_ATTEMPTS,
    LONGEST_WAIT,
    MOST_FAILURES_A_MINUTE,
    MOST_PLACES,
    Attempts,
    Authentication,
    Logins,
    Passwords,
    check_open_address,
    read_passwords,
)
from topiary.app.server.hosts import ServeError

A, V = "analysts-secret", "viewers-secret"
BOTH = Passwords(A, V)


def written(folder, name, text, mode=0o600):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return str(path)


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.0.2.7", "host.example", ""])
def test_an_address_that_others_reach_needs_a_password(address):
    with pytest.raises(ServeError, match="give a password with --password-file FILE or in the environment"):
        check_open_address(address, Passwords(), insecure=False)
    check_open_address(address, BOTH, insecure=False)
    check_open_address(address, Passwords(), insecure=True)


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.1.1", "::1", "localhost"])
def test_this_machine_needs_none(address):
    check_open_address(address, Passwords(), insecure=False)


def test_the_command_refuses_in_one_sentence(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("TOPIARY_PASSWORD", raising=False)
    store = tmp_path / "store.db"
    assert main.main(["serve", "--host", "0.0.0.0", "--store", str(store)]) == 2
    said = capsys.readouterr().err.strip()
    assert said.startswith("topiary serve: anyone who reaches 0.0.0.0 can change and delete everything;")
    assert "\n" not in said
    assert not store.exists()


def test_passwords_are_read_from_files_and_from_the_environment(tmp_path):
    analyst = written(tmp_path, "a", "analysts-secret\nmore\n")
    viewer = written(tmp_path, "v", "viewers-secret")
    assert read_passwords(analyst, viewer, {}) == BOTH
    assert read_passwords(None, None, {"TOPIARY_PASSWORD": "from-outside"}) == Passwords("from-outside")
    assert read_passwords(analyst, None, {"TOPIARY_PASSWORD": "from-outside"}) == Passwords("analysts-secret")
    assert not read_passwords(None, None, {})


@pytest.mark.parametrize(
    ("first", "second", "sentence"),
    [
        ("short", None, "must have 8 to 1000 characters"),
        ("", None, "the first line of the password file .* is empty"),
        (None, "viewers-secret", "viewers have a password but analysts have none"),
        ("the-same-for-both", "the-same-for-both", "the passwords of analysts and viewers are the same"),
    ],
)
def test_passwords_of_no_use_are_told(tmp_path, first, second, sentence):
    files = [None if text is None else written(tmp_path, name, text) for name, text in (("a", first), ("v", second))]
    with pytest.raises(ServeError, match=sentence):
        read_passwords(*files, {})


def test_a_file_that_is_not_there_or_no_text_is_told(tmp_path):
    with pytest.raises(ServeError, match="cannot be read: No such file or directory; its first line is the password"):
        read_passwords(str(tmp_path / "none"), None, {})
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(ServeError, match="cannot be read: it is no text"):
        read_passwords(str(tmp_path / "bytes"), None, {})


def test_a_file_that_others_can_read_is_said(tmp_path):
    said = []
    read_passwords(written(tmp_path, "a", "analysts-secret", 0o644), None, {}, said.append)
    assert len(said) == 1
    assert "chmod 600" in said[0]
    read_passwords(written(tmp_path, "b", "analysts-secret"), None, {}, said.append)
    assert len(said) == 1


def test_a_password_gives_its_role_and_no_other_text_does():
    assert BOTH.role_of("analysts-secret") == "analyst"
    assert BOTH.role_of("viewers-secret") == "viewer"
    for typed in ("", "analysts-secret ", "ANALYSTS-SECRET", "\ud800", "x" * 10_000):
        assert BOTH.role_of(typed) is None
    assert Passwords("analysts-secret").role_of("") is None  # there is no password of viewers


def test_a_cookie_proves_the_role_to_the_server_that_signed_it_only():
    authentication, other = Authentication(BOTH), Authentication(BOTH)
    role, cookie = authentication.log_in("viewers-secret")
    assert (role, authentication.role_of(cookie)) == ("viewer", "viewer")
    assert authentication.log_in("wrong") is None
    assert other.role_of(cookie) is None
    assert authentication.role_of(None) is None
    assert authentication.role_of(cookie.replace("dmlld2Vy", "YW5hbHlzdA==")) is None


def test_a_login_ends_after_days(monkeypatch):
    authentication = Authentication(BOTH)
    _, cookie = authentication.log_in("analysts-secret")
    monkeypatch.setattr(access, "DAYS", -1.0)
    assert authentication.role_of(cookie) is None


def test_after_logging_out_the_cookie_proves_nothing_and_its_sessions_end():
    authentication, ended = Authentication(BOTH), []
    (_, mine), (_, others) = (authentication.log_in("analysts-secret") for _ in range(2))
    for cookie in (mine, others):
        login = authentication.find_visitor(cookie, "").login
        authentication.logins.add_session(login, lambda cookie=cookie: ended.append(cookie))
    authentication.log_out(mine)
    assert ended == [mine]
    assert (authentication.role_of(mine), authentication.role_of(others)) == (None, "analyst")
    assert authentication.explain_end(mine) == "You have logged out"
    assert authentication.explain_end(others) == authentication.explain_end(None) == "Your login has ended"


def test_an_analyst_ends_all_logins_and_a_viewer_only_the_own():
    authentication, ended = Authentication(BOTH), []
    typed = ("analysts-secret", "analysts-secret", "viewers-secret", "viewers-secret")
    cookies = [authentication.log_in(password)[1] for password in typed]
    authentication.logins.add_session(authentication.find_visitor(cookies[1], "").login, lambda: ended.append(1))
    authentication.log_out_everywhere(cookies[3])
    assert [authentication.role_of(cookie) for cookie in cookies] == ["analyst", "analyst", "viewer", None]
    authentication.log_out_everywhere(cookies[0])
    assert [authentication.role_of(cookie) for cookie in cookies] == [None] * 4
    assert ended == [1]


def test_a_changed_password_file_counts_at_once_and_ends_the_logins_of_the_old_password(tmp_path, caplog):
    first = written(tmp_path, "analysts", "analysts-secret")
    files = access.PasswordFiles(first, written(tmp_path, "viewers", "viewers-secret"))
    authentication = Authentication(files.read(), files.read_changes)
    cookies = [authentication.log_in(password)[1] for password in ("analysts-secret", "viewers-secret")]
    authentication.update_passwords()
    assert [authentication.role_of(cookie) for cookie in cookies] == ["analyst", "viewer"]
    written(tmp_path, "analysts", "short")  # of no use: the old one stays until it is mended
    assert authentication.log_in("analysts-secret") is not None
    assert "must have 8 to 1000 characters; until then the password from before is accepted" in caplog.text
    written(tmp_path, "analysts", "another-secret")
    assert authentication.log_in("analysts-secret") is None
    assert authentication.log_in("another-secret") is not None
    assert [authentication.role_of(cookie) for cookie in cookies] == [None, "viewer"]


def test_a_login_is_forgotten_with_its_sessions_when_its_days_are_over(monkeypatch):
    now = time.time()
    authentication, ended = Authentication(BOTH), []
    _, cookie = authentication.log_in("analysts-secret")
    authentication.logins.add_session(authentication.find_visitor(cookie, "").login, lambda: ended.append(1))
    monkeypatch.setattr(time, "time", lambda: now + access.DAYS * 24 * 3600 + 1)
    authentication.forget(cookie)
    assert ended == [1]
    assert authentication.role_of(cookie) is None


def test_without_passwords_no_session_waits_for_a_logout():
    authentication = Authentication()
    authentication.logins.add_session("", lambda: pytest.fail("nobody logged out"))
    authentication.log_out("a cookie of another server")


def test_without_passwords_everybody_is_an_analyst():
    authentication = Authentication()
    assert not authentication.guarded
    assert authentication.find_visitor(None, "127.0.0.1").role == "analyst"


def test_whoever_proves_nothing_may_at_most_look():
    authentication = Authentication(BOTH)
    for cookie in (None, "", "a cookie of another server"):
        assert authentication.find_visitor(cookie, "192.0.2.7").only_looks
    _, cookie = authentication.log_in("analysts-secret")
    visitor = authentication.find_visitor(cookie, "192.0.2.7")
    assert not visitor.only_looks
    authentication.log_out(cookie)
    assert visitor.only_looks  # the role is that of this moment, not that of the beginning
    assert str(visitor) == f"analyst in the browser at 192.0.2.7 (login {visitor.login[:6]})"


def test_a_login_has_so_many_sessions_and_all_of_them_so_many_together(monkeypatch):
    monkeypatch.setattr(access, "MOST_SESSIONS", 2)
    monkeypatch.setattr(access, "MOST_IN_TOTAL", 3)
    authentication = Authentication(BOTH)
    mine, others = (authentication.find_visitor(authentication.log_in(text)[1], "").login for text in (A, V))
    leave = [authentication.logins.add_session(mine, lambda: None) for _ in range(2)]
    assert authentication.explain_limit(mine).startswith("You have 2 views open")
    assert authentication.explain_limit(others) == ""
    authentication.logins.add_session(others, lambda: None)
    assert authentication.explain_limit(others).startswith("This server has 3 views open")
    leave[0]()
    assert authentication.explain_limit(mine) == authentication.explain_limit(others) == ""


def test_a_password_is_in_no_text_about_the_server():
    assert "secret" not in repr(BOTH)


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


def test_a_few_are_free_and_every_further_one_doubles_the_wait():
    clock = Clock()
    attempts = Attempts(clock)
    waits = []
    for _ in range(FREE_ATTEMPTS + 4):
        attempts.count_failure("192.0.2.7")
        waits.append(attempts.wait("192.0.2.7"))
    assert waits == [0.0] * (FREE_ATTEMPTS - 1) + [1.0, 2.0, 4.0, 8.0, 16.0]
    clock.now += 15.0
    assert attempts.wait("192.0.2.7") == 1.0
    for _ in range(40):
        attempts.count_failure("192.0.2.7")
    assert attempts.wait("192.0.2.7") == LONGEST_WAIT


def test_others_do_not_wait_and_the_right_password_ends_it():
    attempts = Attempts(Clock())
    for _ in range(FREE_ATTEMPTS + 1):
        attempts.count_failure("192.0.2.7")
    assert attempts.wait("192.0.2.8") == 0.0
    attempts.clear_failures("192.0.2.7")
    assert attempts.wait("192.0.2.7") == 0.0


def test_the_addresses_of_one_customer_are_one_place():
    attempts = Attempts(Clock())
    for last in range(FREE_ATTEMPTS):
        attempts.count_failure(f"2001:db8::{last}")
    assert attempts.wait("2001:db8::ffff") > 0
    assert attempts.wait("2001:db8:0:1::1") == 0.0


def test_addresses_of_ipv4_in_the_clothes_of_ipv6_are_places_of_their_own():
    attempts = Attempts(Clock())
    for _ in range(FREE_ATTEMPTS):
        attempts.count_failure("::ffff:192.0.2.7")
    assert attempts.wait("192.0.2.7") > 0
    assert attempts.wait("::ffff:192.0.2.8") == 0.0


def test_wrong_passwords_from_everywhere_are_slowed_down_together():
    clock = Clock()
    attempts = Attempts(clock)
    attempts.clear_failures("192.0.2.9")
    for number in range(MOST_FAILURES_A_MINUTE):
        attempts.count_failure(f"10.{number // 250}.0.{number % 250}")
    assert attempts.wait("192.0.2.1") == 60.0
    assert attempts.wait("192.0.2.9") == 0.0  # the right password came from there
    clock.now += 60.0
    assert attempts.wait("192.0.2.1") == 0.0


def test_a_place_is_forgotten_after_an_hour_and_the_list_is_bounded():
    clock = Clock()
    attempts = Attempts(clock)
    for _ in range(FREE_ATTEMPTS):
        attempts.count_failure("192.0.2.7")
    clock.now += 4000.0
    attempts.count_failure("192.0.2.7")
    assert attempts.wait("192.0.2.7") == 0.0
    for number in range(MOST_PLACES + 100):
        attempts.count_failure(f"unknown {number}")
    assert len(attempts._places) == MOST_PLACES


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
    logins.add_session(mine, lambda: ended.append("one"))
    logins.add_session(mine, lambda: ended.append("two"))
    logins.add_session(others, lambda: ended.append("of another browser"))
    for _ in range(2):
        logins.log_out(mine)
    assert ended == ["one", "two"]


def test_a_session_that_is_gone_is_not_ended_and_not_kept():
    logins, ended = Logins(), []
    name = logins.begin("analyst")
    leave = logins.add_session(name, lambda: ended.append(1))
    for _ in range(2):
        leave()
    assert logins._sessions == {}
    logins.log_out(name)
    assert ended == []


def test_a_session_that_comes_too_late_ends_at_once():
    logins, ended = Logins(), []
    name = logins.begin("analyst")
    logins.log_out(name)
    logins.add_session(name, lambda: ended.append(1))()
    assert ended == [1]


def test_only_who_logged_out_is_told_so_and_nothing_is_kept_of_a_login_whose_time_is_over():
    logins, ended = Logins(), []
    name, other = logins.begin("analyst"), logins.begin("analyst")
    logins.add_session(other, lambda: ended.append(1))
    logins.log_out(name)
    logins.log_out("never begun")
    assert [logins.is_logged_out(each) for each in (name, other, "never begun")] == [True, False, False]
    for each in (name, other):
        logins.forget(each)
    assert ended == [1]
    assert [logins._open, logins._logged_out, logins._sessions] == [{}, set(), {}]


def test_open_logins_are_bounded_and_those_with_a_session_stay(monkeypatch):
    monkeypatch.setattr(access, "MOST_LOGINS", 3)
    logins = Logins()
    used = logins.begin("analyst")
    logins.add_session(used, lambda: None)
    names = [logins.begin("viewer") for _ in range(5)]
    assert [logins.role_of(name) for name in (used, names[0], names[-1])] == ["analyst", None, "viewer"]
    assert len(logins._open) == 3
