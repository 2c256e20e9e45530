"""The browser code of our own components: a file with an address, and messages that wait for the page to be open."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import panel as pn
import pytest
from bokeh.document import Document
from panel.io.state import set_curdoc

from topiary.app.machine import find_asset, make_asset_url
from topiary.app.pages.components import Board, TreeView, ask_before_changes, list_refused
from topiary.app.pages.messages import LatestRequest


def test_the_address_of_browser_code_changes_with_the_code(tmp_path: Path) -> None:
    first, second = (tmp_path / name / "js" / "board.js" for name in ("first", "second"))
    for path, text in ((first, "1"), (second, "2")):
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    assert make_asset_url(first) != make_asset_url(second)
    assert make_asset_url(first).startswith("topiary/js/board.js?v=")


@pytest.mark.parametrize(("component", "name"), [(Board, "board"), (TreeView, "tree")])
def test_a_served_component_names_its_file_instead_of_carrying_the_code(component: type, name: str) -> None:
    address = component._render_esm(compiled=True, server=True)  # type: ignore[attr-defined]
    assert address == "./" + make_asset_url(find_asset(f"js/{name}.js"))


def test_a_click_before_the_page_is_open_is_heard_when_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting: list[Callable[[], None]] = []
    monkeypatch.setattr(pn.state, "onload", waiting.append)
    on_message: list[dict[str, str]] = []
    Board(on_message=on_message.append)._handle_msg({"do": "go"})
    assert on_message == []
    for call in waiting:
        call()
    assert on_message == [{"do": "go"}]


@pytest.mark.parametrize("nonsense", [None, [], "do", {"do": 1}, {"value": "x"}])
def test_what_is_no_message_is_not_heard(nonsense: object) -> None:
    on_message: list[object] = []
    board = Board(on_message=on_message.append)
    board._handle_msg(nonsense)
    assert on_message == []


def test_only_boards_of_documents_that_only_look_refuse():
    looking, other, roles = Document(), Document(), ["viewer"]
    ask_before_changes(looking, lambda: roles[-1] == "viewer")
    heard = []
    with set_curdoc(looking):
        board = Board("", heard.append)
        assert "delete" in list_refused()
    with set_curdoc(other):
        assert list_refused() == []
        free = Board("", heard.append)
    assert pn.state.curdoc is None
    for message in ({"do": "delete", "run": "1"}, {"do": "go", "page": "runs"}):
        board._handle_msg(message)
    assert heard == [{"do": "go", "page": "runs"}]
    free._handle_msg({"do": "delete", "run": "1"})
    assert heard[-1]["do"] == "delete"
    board.refused = []  # as a forged patch of the document would
    board._handle_msg({"do": "dismiss", "import": "1"})
    assert heard[-1]["do"] == "delete"
    roles.append("analyst")
    board._handle_msg({"do": "dismiss", "import": "1"})
    assert heard[-1]["do"] == "dismiss"


class Sending:
    """A latest request whose work waits: ``calls`` are the works under way, each with what follows it."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.answers: list[str] = []
        self.repeats = 0
        context = SimpleNamespace(later=lambda *call: self.calls.append(call))
        self.latest: LatestRequest[str] = LatestRequest(context, self.repeat)  # type: ignore[arg-type]

    def repeat(self) -> None:
        self.repeats += 1

    def send(self, key: str) -> None:
        self.latest.send(key, lambda: key, self.answers.append)

    def answer(self) -> None:
        work, then, _ = self.calls.pop(0)
        then(work())

    def fail(self) -> None:
        self.calls.pop(0)[2]()


def test_what_is_under_way_is_not_asked_for_again():
    sending = Sending()
    sending.send("a")
    sending.send("a")
    assert len(sending.calls) == 1
    sending.answer()
    sending.send("a")
    assert (len(sending.calls), sending.answers) == (1, ["a"])


def test_an_answer_to_an_earlier_request_leaves_the_later_one_under_way():
    sending = Sending()
    sending.send("a")
    sending.send("b")
    sending.answer()
    assert (sending.latest.pending, sending.answers) == ("b", ["a"])
    sending.send("b")
    assert len(sending.calls) == 1
    sending.answer()
    assert (sending.latest.pending, sending.answers) == (None, ["a", "b"])


def test_what_was_asked_for_again_while_under_way_is_asked_once_more():
    sending = Sending()
    sending.send("a")
    sending.send("a")
    sending.answer()
    assert sending.repeats == 1
    sending.send("a")
    sending.answer()
    assert sending.repeats == 1


def test_what_could_not_be_read_is_asked_for_again_unless_something_else_was():
    sending = Sending()
    sending.send("a")
    sending.fail()
    assert (sending.repeats, sending.answers) == (1, [])
    sending.send("a")
    sending.send("b")
    sending.fail()
    assert (sending.repeats, sending.latest.pending) == (1, "b")
