"""The guide inside the app: the pages of ``assets/guide`` in groups, with a search over all of them."""

import base64
import re
from functools import cache
from typing import Any

import panel as pn
from panel.viewable import Viewable

from topiary.app.machine import find_asset
from topiary.app.pages.components import Board, Message
from topiary.app.pages.session import Context
from topiary.app.views import guide

FIRST = "index"
GROUPS = {
    "Start": (FIRST, "corpora", "runs", "glossary"),
    "Explore": ("watch", "explore", "trends", "findings", "documents", "classes", "compare", "quality", "figures"),
    "Train and share": (
        "models",
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


def build_guide_page(context: Context) -> Viewable:
    """Build the page with the guide; the view's ``tab`` names the chapter."""
    board = Board()
    groups = list_chapters()
    chapters = {name for titles in groups.values() for name in titles}
    query, heading, jumps = "", "", 0

    def draw(*_: Any) -> None:
        if context.view.page != "guide":
            return
        name = context.view.tab if context.view.tab in chapters else FIRST
        if query.strip():
            body = f"<section>{guide.draw_results(query, guide.find_sections(query, read_sections()))}</section>"
        else:
            html = render_chapter(name)
            html = guide.focus_heading(html, heading, f"{heading} {jumps}") if heading else html
            body = f"<article>{html}</article>"
        contents = guide.draw_contents(groups, name, query)
        key = "search" if query.strip() else name
        board.html = f'<div class="tp-guide" data-from-top="{key}">{contents}{body}</div>'

    def on_message(message: Message) -> None:
        nonlocal query, heading, jumps
        match message:
            case {"do": "chapter", "name": str(name)} if name in chapters:
                context.view.tab = name
                anchors = {section.anchor for section in read_sections() if section.chapter == name}
                anchor = message.get("heading")
                query, heading, jumps = "", anchor if anchor in anchors else "", jumps + 1
                draw()
            case {"do": "search", "form": {"query": str(text)}}:
                query = text
                draw()

    def on_view(*_: Any) -> None:
        nonlocal query, heading
        query, heading = "", ""
        draw()

    board.listen(on_message)
    context.view.param.watch(on_view, ["page", "tab"])
    draw()
    return pn.Column(board, sizing_mode="stretch_width", margin=0)


def _read_chapter(name: str) -> str:
    return find_asset(f"guide/{name}.md").read_text(encoding="utf-8")


def _encode_picture(name: str) -> str:
    """Return a picture of the guide as a data URI."""
    data = base64.b64encode(find_asset(f"guide/{name}").read_bytes()).decode()
    return f"data:image/svg+xml;base64,{data}"
