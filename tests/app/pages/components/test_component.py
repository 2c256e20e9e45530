"""The browser code of our own components: a file with an address, and messages that wait for the page to be open."""

from collections.abc import Callable
from pathlib import Path

import panel as pn
import pytest

from app.machine import find_asset
from app.pages.components.board import Board
from app.pages.components.component import served
from app.pages.components.tree_view import TreeView


def test_the_address_of_browser_code_changes_with_the_code(tmp_path: Path) -> None:
    first, second = (tmp_path / name / "js" / "board.js" for name in ("first", "second"))
    for path, text in ((first, "1"), (second, "2")):
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    assert served(first) != served(second)
    assert served(first).startswith("topiary/js/board.js?v=")


@pytest.mark.parametrize(("component", "name"), [(Board, "board"), (TreeView, "tree")])
def test_a_served_component_names_its_file_instead_of_carrying_the_code(component: type, name: str) -> None:
    address = component._render_esm(compiled=True, server=True)  # type: ignore[attr-defined]
    assert address == "./" + served(find_asset(f"js/{name}.js"))


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
