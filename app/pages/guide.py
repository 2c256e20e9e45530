"""The guide inside the app: the same pages as ``assets/guide``."""

import base64
import re
from functools import cache
from html import escape
from typing import Any

import panel as pn
from markdown_it import MarkdownIt
from panel.viewable import Viewable

from app.machine import find_asset
from app.pages.components.board import Board, Message
from app.pages.session import Context
from app.views.markup import element
from app.views.pages import PAGES

FIRST = "index"
ORDER = (
    *(FIRST, *(page.name for page in PAGES if page.of_run), "runs", "runs-in-the-background"),
    *(
        "cluster",
        "cluster-recipe",
        "corpora",
        "models",
        "quality",
        "store",
        "sharing",
        "security",
        "faults",
        "commands",
        "figures",
        "library",
        "estimators",
    ),
    "glossary",
    *("measurements", "contributing"),
)


def chapters() -> dict[str, str]:
    """Titles of the guide's pages by file name, the known ones first in reading order."""
    found = {
        path.stem: _title(path.read_text(encoding="utf-8"), path.stem)
        for path in sorted(find_asset("guide").glob("*.md"))
    }
    known = [name for name in ORDER if name in found]
    return {name: found[name] for name in (*known, *(name for name in found if name not in known))}


@cache
def chapter(name: str) -> str:
    """One page of the guide as HTML (our own text, no raw HTML passes); its pictures are in it."""
    text = find_asset(f"guide/{name}.md").read_text(encoding="utf-8")
    html = str(MarkdownIt("commonmark", {"html": False}).enable("table").render(text))
    return re.sub(r'<img src="([\w-]+\.svg)"', lambda found: f'<img src="{_picture(found[1])}"', html)


def _picture(name: str) -> str:
    """A picture of the guide as an address that holds it."""
    data = base64.b64encode(find_asset(f"guide/{name}").read_bytes()).decode()
    return f"data:image/svg+xml;base64,{data}"


def guide_page(context: Context) -> Viewable:
    """The page that explains the others; ``tab`` is the chapter."""
    board = Board()
    titles = chapters()

    def draw(*_: Any) -> None:
        if context.view.page != "guide":
            return
        name = context.view.tab if context.view.tab in titles else FIRST
        contents = "".join(
            element(
                "a",
                escape(title),
                href=f"?page=guide&tab={key}",
                data_do="chapter",
                data_name=key,
                data_go=True,
                aria_current="page" if key == name else None,
            )
            for key, title in titles.items()
        )
        board.html = (
            f'<div class="tp-guide"><nav aria-label="Chapters">{contents}</nav><article>{chapter(name)}</article></div>'
        )

    def on_message(message: Message) -> None:
        match message:
            case {"do": "chapter", "name": str(name)} if name in titles:
                context.view.tab = name

    board.listen(on_message)
    context.view.param.watch(draw, ["page", "tab"])
    draw()
    return pn.Column(board, sizing_mode="stretch_width", margin=0)


def _title(text: str, name: str) -> str:
    first = text.lstrip().partition("\n")[0]
    return first.removeprefix("# ").strip() if first.startswith("# ") else name.capitalize()
