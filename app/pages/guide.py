"""The guide inside the app: the pages of ``assets/guide`` in groups, with a search over all of them."""

import base64
import re
from functools import cache
from typing import Any

import panel as pn

from topiary.app.machine import find_asset
from topiary.app.pages.components import Board
from topiary.app.pages.messages import MessagePart, on
from topiary.app.pages.session import Context
from topiary.app.views import guide

FIRST = "index"
GROUPS = {
    "Start": (FIRST, "corpora", "runs", "glossary"),
    "Explore": ("watch", "explore", "trends", "findings", "documents", "classes", "compare", "quality", "figures"),
    "Train and share": (
        "models",
        "steering",
        "runs-in-the-background",
        "cluster",
        "cluster-recipe",
        "large-collections",
        "gpu",
        "sharing",
        "security",
        "faults",
    ),
    "Reference": ("commands", "library", "estimators", "store", "measurements", "changelog", "contributing"),
}


def list_chapters() -> dict[str, dict[str, str]]:
    """Return the titles of the guide's chapters by group and file name, in reading order."""
    return {
        group: {name: guide.read_title(_read_chapter(name), name.capitalize()) for name in names}
        for group, names in GROUPS.items()
    }


@cache
def render_chapter(name: str) -> str:
    """Return a chapter of the guide as HTML with embedded pictures."""
    html = guide.draw_chapter(name, _read_chapter(name))
    return re.sub(r'<img src="([\w-]+\.svg)"', lambda match: f'<img src="{_encode_picture(match[1])}"', html)


@cache
def read_sections() -> tuple[guide.Section, ...]:
    """Return the sections of all chapters, in reading order."""
    names = [name for group in GROUPS.values() for name in group]
    return tuple(section for name in names for section in guide.split_sections(name, _read_chapter(name)))


class GuidePage(MessagePart):
    """The guide in one session; the view's ``tab`` names the chapter."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.board = Board(on_message=self.handle)
        self.page = pn.Column(self.board, sizing_mode="stretch_width", margin=0)
        self._groups = list_chapters()
        self._chapters = {name for titles in self._groups.values() for name in titles}
        self._query, self._heading, self._jumps = "", "", 0
        self._view.param.watch(self._on_view, ["page", "tab"])
        self._draw()

    def _on_view(self, *_: Any) -> None:
        self._query, self._heading = "", ""
        self._draw()

    def _draw(self) -> None:
        if self._view.page != "guide":
            return
        name = self._view.tab if self._view.tab in self._chapters else FIRST
        if self._query.strip():
            found = guide.find_sections(self._query, read_sections())
            body = f"<section>{guide.draw_results(self._query, found)}</section>"
        else:
            html, heading = render_chapter(name), self._heading
            html = guide.focus_heading(html, heading, f"{heading} {self._jumps}") if heading else html
            body = f"<article>{html}</article>"
        contents = guide.draw_contents(self._groups, name, self._query)
        key = "search" if self._query.strip() else name
        self.board.html = f'<div class="tp-guide" data-from-top="{key}">{contents}{body}</div>'

    @on("chapter")
    def _open_chapter(self, name: str, heading: str = "") -> None:
        if name in self._chapters:
            self._view.tab = name
            anchors = {section.anchor for section in read_sections() if section.chapter == name}
            self._query, self._heading = "", heading if heading in anchors else ""
            self._jumps += 1
            self._draw()

    @on("search")
    def _search(self, query: str) -> None:
        self._query = query
        self._draw()


def _read_chapter(name: str) -> str:
    return find_asset(f"guide/{name}.md").read_text(encoding="utf-8")


def _encode_picture(name: str) -> str:
    """Return a picture of the guide as a data URI."""
    data = base64.b64encode(find_asset(f"guide/{name}").read_bytes()).decode()
    return f"data:image/svg+xml;base64,{data}"
