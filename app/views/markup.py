"""HTML elements used by several views, and the icons."""

import re
from collections.abc import Iterable
from functools import cache

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.machine import find_asset
from topiary.app.names import Choice, name_model, name_state
from topiary.app.views.text import LONGEST_TITLE, end_sentence, escape, shorten
from topiary.engine.hierarchy.tree import Node
from topiary.store.run_rows import RunRow

_ICON_PATHS = {
    "pause": "M9 6v12M15 6v12",
    "play": "M8 5.500l11 6.5-11 6.500z",
    "stop": "M7 7h10v10H7z",
    "first": "M6 5h12M12 20V9M7 14l5-5 5 5",
    "trash": "M5 7h14M10 7V4.500h4V7M7 7l1 12.500h8L17 7M10.5 10.500v6M13.5 10.500v6",
    "plus": "M12 5v14M5 12h14",
    "link": "M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.7-5.7l-1.5 1.5M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.7 5.7l1.5-1.5",
    "list": "M9 6h11M9 12h11M9 18h11M4.5 6h.01M4.5 12h.01M4.5 18h.01",
    "pulse": "M3 12h4l2.5-7 5 14 2.5-7h4",
    "tree": "M12 4v5M12 9c0 4-6 3-6 8M12 9c0 4 6 3 6 8M12 9v8M12 3.500h.01M6 19.500h.01M12 19.500h.01M18 19.500h.01",
    "book": "M12 6.500C10 5 7 4.5 4 5v13c3-.5 6 0 8 1.5 2-1.5 5-2 8-1.500V5c-3-.5-6 0-8 1.500zM12 6.500v13",
    "chart": "M4 4v16h16M8 15l3.500-4.500 3 2.500L20 6",
    "letter": "M5 19l7-15 7 15M7.500 14h9",
    "target": "M4 7h5v5H4zM15 12h5v5h-5zM11 9.500h9M4 14.500h9",
    "compare": "M4 5h6v14H4zM14 5h6v14h-6zM10 12h4",
    "again": "M19 12a7 7 0 1 1-2-4.900M19 4v4h-4M12 8.500v4l2.500 1.500",
    "swap": "M7 8h12l-3-3M17 16H5l3 3",
    "page": "M6.500 3.500h8l4 4v13h-12zM14 3.500v4.500h4.500M9.500 12h6M9.500 16h6",
    "pencil": "M5 19l.8-3.800L16 5l3 3L8.8 18.200z",
    "close": "M6 6l12 12M18 6L6 18",
    "fork": "M7 4v6c0 3 10 2 10 6v4M7 10v10M14.500 17.500L17 20l2.500-2.500M4.500 17.500L7 20l2.500-2.500",
    "alert": "M12 4l9 16H3zM12 10v4.500M12 17.500h.01",
}

_LONGEST_OPTION = 60  # letters
_STRONGEST = re.compile(r"(L\d+:\d+)=strongest")
_LINE = re.compile(r"map:\d+=.*~")  # as `app.analysis.filters` writes it
_TERMS = re.compile(r"^\| (\*\*.+?\*\*) \| (.+) \|$", re.MULTILINE)  # rows of the glossary
_COMMON = ("topic", "document", "token", "layer")  # they give way to every other term, the first most of all
_MARKS = re.compile(r" \(\[[^\]]*\]\([^)]*\)\)|\[([^\]]*)\]\([^)]*\)|`")  # links and code in them


def draw_icon(name: str) -> str:
    """Return an icon in the colour of the surrounding text, hidden from screen readers."""
    return (
        '<svg class="tp-icon" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.9" '
        f'stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d="{_ICON_PATHS[name]}"/></svg>'
    )


def write_attributes(**values: object) -> str:
    """Return escaped HTML attributes: ``data_do="stop"`` gives ``data-do="stop"``; None and False are left out."""
    return "".join(
        f" {name.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(str(value))}"')
        for name, value in values.items()
        if value is not None and value is not False
    )


def write_element(name: str, content: str, **values: object) -> str:
    """Return an HTML element; ``content`` is markup, and the values of attributes are text, which is escaped."""
    return f"<{name}{write_attributes(**values)}>{content}</{name}>"


def name_condition(text: str) -> str:
    """Return a condition as it is shown: a line on the map is not shown by its corners."""
    topic = _STRONGEST.fullmatch(text)
    return "inside a line on the map" if _LINE.match(text) else f"{topic[1]} as strongest topic" if topic else text


def draw_title(title: str, class_: str | None = None) -> str:
    """Return the title of a topic, cut at its end if it is long, with the whole on hover."""
    return write_element("span", escape(shorten(title, LONGEST_TITLE)), class_=class_, title=title)


@cache
def read_glossary() -> dict[str, str]:
    """Return what every term of the guide's glossary means, as plain text."""
    text = find_asset("guide/glossary.md").read_text(encoding="utf-8")
    return {
        name: end_sentence(_MARKS.sub(lambda mark: mark[1] or "", meaning))
        for names, meaning in _TERMS.findall(text)
        for name in names.strip("*").split("**, **")
    }


@cache
def explain_term(label: str) -> str:
    """Return the sentence of the glossary on the longest of its terms in a label, or nothing.

    >>> explain_term("Topics per layer").partition(":")[0], explain_term("NPMI, layer 1").partition(":")[0]
    ('Layer', 'NPMI')
    """
    found = [
        (_COMMON.index(name) if name in _COMMON else len(_COMMON), len(name), name)
        for name in read_glossary()
        if re.search(rf"\b{re.escape(name)}(s|es)?\b", label, re.IGNORECASE)
    ]
    if not found:
        return ""
    name = max(found)[-1]
    return f"{name[0].upper()}{name[1:]}: {read_glossary()[name]}"


def draw_term(label: str, tip: str = "") -> str:
    """Return a label or the head of a column with the sentence of its term in the glossary, on hover and on focus.

    ``tip`` says more about it.  A label without a tip, and without a term of the glossary, is plain.
    """
    sentence = " ".join(filter(None, (explain_term(label), tip and end_sentence(tip))))
    if not sentence:
        return escape(label)
    return write_element("span", escape(label), class_="tp-term", tabindex=0, title=sentence)


def mark_edited(hierarchy: Hierarchy, node: Node) -> str:
    """Return a small mark on a topic that was edited by hand, with what was asked on hover; else nothing."""
    if node not in hierarchy.edited:
        return ""
    said = f"Edited by hand: {hierarchy.edited[node]}"
    return write_element("span", "✎", class_="tp-edited", role="img", title=said, aria_label=said)


def mark_places(text: str, marks: Iterable[tuple[int, int]]) -> str:
    """Return a text as markup with the stretches between ``marks`` (begin, end) marked; they are in their order."""
    pieces, place = [], 0
    for begin, end in marks:
        pieces += [escape(text[place:begin]), write_element("mark", escape(text[begin:end]))]
        place = end
    return "".join([*pieces, escape(text[place:])])


def name_run(run: RunRow) -> str:
    """Return the name of a run, or its corpus and model if it has no name."""
    return run.name or f"{run.corpus_name} · {name_model(run.model)}"


def list_run_entries(runs: Iterable[RunRow]) -> list[tuple[int, str]]:
    """Return the entries of a choice of runs: for each, its number as value, and its number and name as text."""
    return [(run.number, f"{run.number} · {name_run(run)}") for run in runs]


def draw_options(entries: Iterable[tuple[object, str]], chosen: object = None) -> str:
    """Return the options of a choice from (value, text) entries; the ``chosen`` value is selected.

    Long texts are cut at their end, and whole on hover.
    """
    return "".join(
        write_element(
            "option",
            escape(shorten(text, _LONGEST_OPTION)),
            value=value,
            selected=value == chosen,
            title=text if len(text) > _LONGEST_OPTION else None,
        )
        for value, text in entries
    )


def draw_select(
    change: str,
    entries: Iterable[tuple[object, str]],
    chosen: object,
    label: str | None = None,
    hint: str | None = None,
    *,
    again: bool = False,
) -> str:
    """Return a drop-down list that sends ``change``; with ``again`` it then returns to the chosen entry."""
    options, names = draw_options(entries, chosen), {"aria_label": label, "title": hint}
    return write_element("select", options, class_="ex-select", data_change=change, data_again=again, **names)


def draw_choice(choice: Choice, value: str) -> str:
    """Return a choice as a drop-down list with a chosen value."""
    return draw_select(choice.name, choice.texts.items(), value, choice.label, choice.hint)


def draw_state(state: str, request: str = "run") -> str:
    """Return the state of a run as a coloured word; a pending request is shown too."""
    word = name_state(state)
    if state == "running" and request in ("pause", "stop"):
        word = {"pause": "pausing", "stop": "stopping"}[request]
    return f'<span class="tp-chip tp-{escape(state)}"><i></i>{escape(word)}</span>'
