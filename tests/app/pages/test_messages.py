"""Messages of a browser: which method of a page gets which, and that nothing else reaches it."""

from types import SimpleNamespace
from typing import Any, ClassVar, Literal

import pytest

from topiary.app.pages.messages import MessagePart, on
from topiary.app.pages.session import View
from topiary.engine.hierarchy.tree import Node


class Helper(MessagePart):
    """A part that several pages share."""

    @on("help")
    def _help(self) -> None:
        self._put(word="helped")


class Page(MessagePart):
    """A page that notes what its methods are called with."""

    fields: ClassVar = {"steps": "steps"}
    presets: ClassVar = {"home": {"page": "watch", "tab": ""}}
    switches: ClassVar = ("light",)

    def __init__(self) -> None:
        super().__init__(SimpleNamespace(view=View(page="explore", tab="x")))
        self.view = self._view
        self.helpers = (Helper(self._context),)
        self.calls: list[Any] = []

    @on("select")
    def _select(self, topic: Node, layer: int = 7) -> None:
        self.calls.append((topic, layer))

    @on("select")
    def _clear(self) -> None:
        self.calls.append(())

    @on("first", "second")
    def _take(self, do: Literal["second"], number: int, from_: str, text: str | None = None) -> None:
        self.calls.append((do, number, from_, text))

    @on("all")
    def _take_all(self, message: dict[str, Any], form: dict[str, Any]) -> None:
        self.calls.append((message["do"], form))


class Successor(Page):
    """A page that handles a message otherwise."""

    @on("all")
    def _take_all(self) -> None:
        self.calls.append("mine")


@pytest.mark.parametrize(
    ("message", "calls"),
    [
        ({"do": "select", "id": "L2:3"}, [(Node(2, 2), 7)]),
        ({"do": "select", "id": "L2:3", "layer": "4"}, [(Node(2, 2), 4)]),
        ({"do": "select", "id": "", "layer": "4"}, [()]),
        ({"do": "second", "number": " 12 ", "form": {"from": "a", "text": "b"}}, [("second", 12, "a", "b")]),
        ({"do": "second", "number": 12, "from": "a"}, [("second", 12, "a", None)]),
        ({"do": "second", "number": "-1", "from": "a"}, []),
        ({"do": "second", "number": "1" * 16, "from": "a"}, []),
        ({"do": "second", "number": True, "from": "a"}, []),
        ({"do": "second", "number": 1, "from": 2}, []),
        ({"do": "first", "number": 1, "from": "a"}, []),
        ({"do": "all", "form": {"x": 1}}, [("all", {"x": 1})]),
        ({"do": "all", "form": "x"}, []),
        ({"do": "unknown"}, []),
    ],
)
def test_a_method_gets_a_message_that_has_all_it_wants_to_know(message, calls):
    page = Page()
    assert page.handle(message) == bool(calls)
    assert page.calls == calls


def test_fields_presets_and_switches_change_the_view_and_helpers_get_the_rest():
    page = Page()
    for do, value in (("steps", "12"), ("steps", "99"), ("home", ""), ("light", ""), ("help", "")):
        assert page.handle({"do": do, "value": value})
    view = page.view
    assert (view.steps, view.page, view.tab, view.light, view.word) == (12, "watch", "", "shown", "helped")


def test_a_page_may_handle_a_message_otherwise_than_the_one_it_derives_from():
    page = Successor()
    assert page.handle({"do": "all", "form": {}})
    assert page.calls == ["mine"]
