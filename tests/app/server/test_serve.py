"""The server listens where it should, and its page is painted before its scripts are read."""

import errno
import io
import logging
import socket
from types import SimpleNamespace
from urllib.parse import urlencode

import pytest
from bokeh.settings import settings
from panel.io.resources import use_cdn
from raw_sessions import ANALYSTS, running
from tornado.websocket import WebSocketClosedError

from topiary.app.cli import main
from topiary.app.pages.components import Board
from topiary.app.pages.guide import list_chapters, render_chapter
from topiary.app.server import hosts, serve
from topiary.app.server.access import Passwords
from topiary.app.server.guarded_files import read_prefix
from topiary.app.server.hosts import Hosts, Proxies
from topiary.app.server.serve import LONGEST, MOST, SPAN, RateFilter, ShortFormatter, limit_log
from topiary.app.views import theme


@pytest.fixture
def taken():
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        yield holder.getsockname()[1]


def test_a_port_somebody_chose_is_never_exchanged_for_another(taken):
    with pytest.raises(hosts.ServeError, match=rf"port {taken} of 127.0.0.1 is taken; choose another with --port"):
        hosts.choose_port("127.0.0.1", taken)


def test_without_a_chosen_port_the_next_free_one_is_taken(taken, monkeypatch):
    monkeypatch.setattr(hosts, "USUAL_PORT", taken)
    assert taken < hosts.choose_port("127.0.0.1", None) < taken + hosts.TRIED_PORTS


@pytest.mark.parametrize(
    ("address", "port", "sentence"),
    [
        ("127.0.0.1", 70_000, "a port is a number from 0 to 65535; got 70000"),
        ("127.0.0.1", -1, "a port is a number from 0 to 65535; got -1"),
        ("nohost.invalid", 0, "cannot listen at the address 'nohost.invalid'"),
        ("nohost.invalid", None, "cannot listen at the address 'nohost.invalid'"),
        ("192.0.2.7", 5006, "cannot listen at the address '192.0.2.7'"),
    ],
)
def test_a_port_or_an_address_that_cannot_be_is_told(address, port, sentence):
    with pytest.raises(hosts.ServeError, match=sentence):
        hosts.choose_port(address, port)


def test_port_zero_is_any_free_port():
    assert hosts.choose_port("127.0.0.1", 0) > 0


def test_the_skeleton_stands_before_the_scripts():
    start = theme.PageStart(("bokeh.js", "panel.js"))
    text = start.draw("x", dark=True).partition("<body>")[2] + start.draw_scripts("x")
    places = [text.index(part) for part in ('id="tp-skeleton"', "styles/", "bokeh.js", "register_plugin", "panel.js")]
    assert places == sorted(places)
    assert "http://" not in text
    assert "https://" not in text


def test_the_page_names_no_other_machine():
    from topiary.app.machine import find_asset

    for folder, ending in (("css", "css"), ("js", "js"), ("icons", "svg")):
        for path in find_asset(folder).glob(f"*.{ending}"):
            text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
            assert "http://" not in text, path
            assert "https://" not in text, path
            assert "@import" not in text, path


def test_every_chapter_of_the_guide_has_a_title_and_no_raw_markup_passes():
    titles = {name: title for group in list_chapters().values() for name, title in group.items()}
    assert next(iter(titles)) == "index"
    for name in titles:
        assert "<h1>" in render_chapter(name)
        assert "<script" not in render_chapter(name)


def test_a_board_hears_only_messages_that_say_what_to_do():
    on_message = []
    board = Board("<b>x</b>", on_message.append)
    for message in ("text", {"no": "do"}, {"do": 3}, {"do": "go", "page": "runs"}):
        board._handle_msg(message)
    assert on_message == [{"do": "go", "page": "runs"}]


@pytest.mark.parametrize("command", [("serve",), ("demo", "--no-browser")])
def test_a_taken_port_is_one_sentence_for_every_command_that_serves(command, taken, tmp_path, capsys):
    store = str(tmp_path / "store.db")
    assert main.main([*command, "--store", store, "--port", str(taken)]) == 2
    said = capsys.readouterr().err.strip()
    assert said.startswith(f"topiary {command[0]}: port {taken} of 127.0.0.1 is taken; choose another with --port")
    assert "\n" not in said


def test_the_demo_takes_the_next_port_where_another_process_took_the_first_meanwhile(monkeypatch, tmp_path):
    first = hosts.choose_port("127.0.0.1", 0)
    monkeypatch.setattr(hosts, "USUAL_PORT", first)
    holder, served = socket.socket(), []

    def begin(url, **_):
        holder.bind(("127.0.0.1", first))
        holder.listen()
        return SimpleNamespace(poll=lambda: 0)

    monkeypatch.setattr("topiary.app.jobs.demo.begin_demo", begin)
    monkeypatch.setattr(serve, "serve", lambda url, port, **_: served.append(hosts.choose_port("127.0.0.1", port)))
    with holder:
        assert main.main(["demo", "--no-browser", "--store", str(tmp_path / "store.db")]) == 0
    assert first < served[0] < first + hosts.TRIED_PORTS


def test_a_port_taken_between_choosing_and_binding_is_not_the_end(monkeypatch):
    tried = []

    def bind(site, address, port, hosts):
        tried.append(port)
        if len(tried) == 1:
            raise OSError(errno.EADDRINUSE, "taken")
        return "bound"

    monkeypatch.setattr(serve, "_make_server", bind)
    assert serve._bind_server(None, "127.0.0.1", None, None) == "bound"
    assert len(tried) == 2


def test_only_a_message_to_a_closed_browser_is_overlooked():
    reported = []
    loop = SimpleNamespace(default_exception_handler=reported.append)
    serve._handle_loop_error(loop, {"exception": WebSocketClosedError()})
    assert reported == []
    for context in ({"exception": ValueError("x")}, {"exception": ConnectionError()}, {"message": "slow"}):
        serve._handle_loop_error(loop, context)
    assert len(reported) == 3


def test_nothing_comes_from_another_machine_whatever_the_variables_of_bokeh_say(make_site, monkeypatch):
    monkeypatch.setattr(settings.resources, "_user_value", settings.resources._user_value)  # restored afterwards
    settings.resources = "cdn"
    site, reach = make_site(Passwords(ANALYSTS)), serve.ServerReach(Hosts("127.0.0.1"))
    with running(lambda: serve._bind_server(site, "127.0.0.1", 0, reach), "127.0.0.1"):
        assert not use_cdn()


def test_the_server_answers_at_an_address_of_ipv6(make_site):
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    site = make_site(Passwords(ANALYSTS))
    with running(lambda: serve._bind_server(site, "::1", 0, serve.ServerReach(Hosts("::1"))), "[::1]") as server:
        cookie = server.log_in(ANALYSTS)
        assert server.ask("/?page=runs", Cookie=cookie).status == 200
        assert server.opened(server.page_token("page=runs", cookie), cookie) == (101, "")


def test_what_others_than_the_proxy_say_of_the_browser_is_not_believed(make_site):
    site, reach = make_site(Passwords(ANALYSTS)), serve.ServerReach(Hosts("127.0.0.1"), Proxies(["192.0.2.1"]))
    said = {"X_Forwarded_For": "192.0.2.7", "X_Forwarded_Proto": "https", "X_Forwarded_Host": "evil.example"}
    with running(lambda: serve._bind_server(site, "127.0.0.1", 0, reach)) as server:
        answer = server.ask("/login", urlencode({"password": ANALYSTS}).encode(), **said)
    assert answer.status == 303
    assert "Secure" not in answer.headers["Set-Cookie"]


def test_a_server_below_a_path_says_where_it_is(make_site):
    site = make_site(Passwords())
    reach = serve.ServerReach(Hosts("127.0.0.1"), prefix=read_prefix("topiary/papers/"))
    paths = ("/topiary/papers", "/topiary/papers/?page=guide", "/topiary/papers/runs?run=1", "/", "/topiary/x")
    with running(lambda: serve._bind_server(site, "127.0.0.1", 0, reach)) as server:
        answers = {path: server.ask(path) for path in paths}
    assert [answers[path].status for path in paths] == [302, 200, 302, 404, 404]
    assert answers["/topiary/papers"].headers["Location"] == "/topiary/papers/"
    assert answers["/topiary/papers/runs?run=1"].headers["Location"] == "./?page=runs&run=1"
    for path in ("/", "/topiary/x"):
        said = "This server answers below /topiary/papers/ only; have the proxy pass"
        assert answers[path].text.startswith(said)


@pytest.mark.parametrize(
    ("address", "shown"),
    [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("::", "[::1]"), ("::1", "[::1]"), ("fd00::2", "[fd00::2]")],
)
def test_the_address_that_is_printed_opens_the_page(address, shown):
    assert serve._format_address(address) == shown


def written(seldom, line, text="odd"):
    record = logging.LogRecord("bokeh", logging.WARNING, "place.py", line, "%s", (text,), None)
    return record.getMessage() if seldom.filter(record) else None


def test_each_place_may_log_so_often_and_then_says_what_it_left_out():
    now = [100.0]
    seldom = RateFilter(lambda: now[0])
    lines = [written(seldom, 1) for _ in range(MOST + 500)]
    assert lines == ["odd"] * MOST + [None] * 500
    assert written(seldom, 2) == "odd"  # another place
    now[0] += SPAN
    assert written(seldom, 1) == "odd (500 like it were left out)"
    assert written(seldom, 1) == "odd"
    assert written(seldom, 2) == "odd"


def test_an_entry_is_cut_and_steers_no_terminal():
    record = logging.LogRecord("bokeh", logging.ERROR, "place.py", 1, "%s", ("\x1b[2J\r\n" + "x" * 10**6,), None)
    text = ShortFormatter(logging.Formatter("%(message)s")).format(record)
    assert text.startswith("?[2J?\nxxx")
    assert len(text) < LONGEST + 20
    assert ShortFormatter(None).format(record).startswith("ERROR:bokeh:")


def test_handlers_of_every_logger_are_limited(monkeypatch, caplog):
    names = ("bokeh.core.has_props", "topiary.access")
    for name in names:
        caplog.set_level(logging.WARNING, logger=name)  # Dask, once imported, silences Bokeh's
    handlers = [logging.StreamHandler(io.StringIO()) for _ in range(2)]
    loggers = [logging.getLogger(), logging.getLogger("bokeh")]
    for logger, handler in zip(loggers, handlers, strict=True):
        monkeypatch.setattr(logger, "handlers", [handler])
    monkeypatch.setattr(loggers[1], "propagate", False)
    limit_log()
    for number in range(MOST + 10):
        logging.getLogger(names[0]).warning("an unknown attribute %s", number)
        logging.getLogger(names[1]).warning("404%s", number)
    assert [len(handler.stream.getvalue().splitlines()) for handler in handlers] == [MOST, MOST]
