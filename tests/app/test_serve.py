"""The server listens where it should, and its page is painted before its scripts are read."""

import socket

import pytest

from app import serve, theme
from app.board import Board
from app.pages.guide import chapter, chapters


@pytest.fixture
def taken():
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        yield holder.getsockname()[1]


def test_a_port_somebody_chose_is_never_exchanged_for_another(taken):
    with pytest.raises(serve.ServeError, match=rf"port {taken} of 127.0.0.1 is taken; choose another with --port"):
        serve.choose_port("127.0.0.1", taken)


def test_without_a_chosen_port_the_next_free_one_is_taken(taken, monkeypatch):
    monkeypatch.setattr(serve, "USUAL_PORT", taken)
    assert taken < serve.choose_port("127.0.0.1", None) < taken + serve.TRIED_PORTS


def test_port_zero_is_any_free_port():
    assert serve.choose_port("127.0.0.1", 0) > 0


def test_only_this_machine_may_open_sessions_by_default():
    assert serve.origins("127.0.0.1", 5006) == ["127.0.0.1:5006", "localhost:5006"]
    assert serve.origins("0.0.0.0", 5006) == ["*:5006"]


def test_the_skeleton_stands_before_the_scripts():
    text = theme.template()
    assert text.index('id="tp-skeleton"') < text.index("{{ bokeh_js")
    assert "http://" not in text
    assert "https://" not in text


def test_the_page_names_no_other_machine():
    from app.paths import asset

    for folder, ending in (("css", "css"), ("js", "js"), ("icons", "svg")):
        for path in asset(folder).glob(f"*.{ending}"):
            text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
            assert "http://" not in text, path
            assert "https://" not in text, path
            assert "@import" not in text, path


def test_every_chapter_of_the_guide_has_a_title_and_no_raw_markup_passes():
    titles = chapters()
    assert next(iter(titles)) == "index"
    for name in titles:
        assert "<h1>" in chapter(name)
        assert "<script" not in chapter(name)


def test_a_board_hears_only_messages_that_say_what_to_do():
    heard = []
    board = Board("<b>x</b>", heard.append)
    for message in ("text", {"no": "do"}, {"do": 3}, {"do": "go", "page": "runs"}):
        board._handle_msg(message)
    assert heard == [{"do": "go", "page": "runs"}]
