"""The table of effects: shares of topics in groups of documents, and differences of groups, with 90 % intervals."""

from collections.abc import Sequence
from typing import NamedTuple

from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.analysis.trends import GroupFigure, TopicEffect
from topiary.app.views.markup import draw_select, write_element
from topiary.app.views.text import escape, format_change, format_percent, shorten
from topiary.engine.hierarchy.tree import Node

EFFECT_ROWS = 40  # shown of the table
_COLUMNS = (
    ("topic", "Topic", "In the order of popularity"),
    ("group", "Group", "In the order of size"),
    ("mean", "Mean", "The topic’s share of the words of the group: R = Σ n_j w_j / Σ n_j over its documents j"),
    ("", "90 % interval", "Of the mean, from what is chosen under Intervals"),
    ("documents", "n", "Documents of the group"),
    ("difference", "Difference", "The mean less that of the documents the group is compared with"),
    ("", "90 % interval", "By documents alone: R − S − √((R − l)² + (u′ − S)²) to R − S + √((u − R)² + (S − l′)²)"),
)  # fmt: skip
_LETTERS = 40  # of a group or topic
_NAMED = 5  # topics of a sentence


class EffectChoices(NamedTuple):
    """The order of the table, and the groups compared: ``group`` with ``against`` ("" = each, and all others)."""

    order: str
    group: str
    against: str


def draw_effects(
    hierarchy: Hierarchy, figure: GroupFigure, rows: Sequence[TopicEffect], total: int, choices: EffectChoices
) -> str:
    """Return the choice of groups, and the table with the rows given.

    Parameters
    ----------
    rows : sequence of TopicEffect
        The first rows of the table.
    total : int
        Number of all rows.
    """
    names = figure.groups.names
    entries = [(name, shorten(name, _LETTERS)) for name in names]
    one = draw_select("contrast", [("", "Each group"), *entries], choices.group, "Group", "Group that is compared")
    others = [("", "all other groups"), *(entry for entry in entries if entry[0] != choices.group)]
    other = draw_select("against", others, choices.against, "Compared with", "Documents that it is compared with")
    pressed = {"aria_pressed": "true" if choices.order == "sure" else "false"}
    sure = write_element(
        "button", "Surest first", type="button", class_="ex-soft", data_do="effects", data_value="sure", **pressed
    )
    controls = f'<div class="tr-controls">{one}<span>compared with</span>{other}{sure}</div>'
    head = "".join(_draw_head(name, word, tip, choices.order) for name, word, tip in _COLUMNS)
    body = "".join(_draw_row(hierarchy, names, row) for row in rows)
    table = f'<table class="tr-effects"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    cut = f" These are the first {len(rows):,} of {total:,} rows." if len(rows) < total else ""
    note = (
        f"▲▼: beyond chance among {figure.contrast.comparisons:,} comparisons: with 90 % probability none of them is "
        f"marked by chance. Each interval by itself holds the true value in 90 % of cases.{cut}"
    )
    sentence = _summarise(hierarchy, figure)
    return f'{controls}{sentence}<div class="tr-scroll">{table}</div><p class="tr-note">{note}</p>'


def draw_topic_button(hierarchy: Hierarchy, node: Node) -> str:
    """Return the title of a topic as a button that chooses it."""
    return write_element(
        "button", escape(hierarchy.title(node)), type="button", data_do="topic", data_value=format_identity(node)
    )


def _draw_head(name: str, word: str, tip: str, order: str) -> str:
    """Return the head of a column; a click sorts by it, and another one the other way round."""
    if not name:
        return write_element("th", word, scope="col", title=tip)
    is_order, is_turned = order.removeprefix("-") == name, order == f"-{name}"
    grows = (name in ("topic", "group")) != is_turned
    sort = ("ascending" if grows else "descending") if is_order else None
    mark = f"<i aria-hidden='true'>{'↑' if grows else '↓'}</i>" if is_order else ""
    value = f"-{name}" if order == name else name
    button = write_element("button", f"{word}{mark}", type="button", data_do="effects", data_value=value, title=tip)
    return write_element("th", button, scope="col", aria_sort=sort)


def _draw_row(hierarchy: Hierarchy, names: Sequence[str], row: TopicEffect) -> str:
    marks = {
        1: '<i role="img" aria-label="more, beyond chance">▲</i>',
        -1: '<i role="img" aria-label="less, beyond chance">▼</i>',
    }
    low, high = row.difference_interval
    cells = (
        escape(shorten(names[row.group], _LETTERS)),
        format_percent(row.mean),
        f"{format_percent(max(row.interval[0], 0.0))} – {format_percent(row.interval[1])}",
        f"{row.documents:,}",
        f"{format_change(row.difference)}{marks.get(row.beyond, '')}",
        f"{format_change(low)} to {format_change(high)}",
    )
    head = f'<th scope="row">{draw_topic_button(hierarchy, row.node)}</th>'
    return f"<tr>{head}{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _summarise(hierarchy: Hierarchy, figure: GroupFigure) -> str:
    """Return the surest differences of one group as a sentence; empty without one."""
    if figure.group is None:
        return ""
    layer, names = figure.nodes[0].layer, figure.groups.names
    sure = figure.contrast.sure[figure.group]
    ours = escape(names[figure.group])
    theirs = "all other groups" if figure.against is None else escape(names[figure.against])
    parts = []
    for word, sign in (("More", 1.0), ("Less", -1.0)):
        order = [column for column in (-sign * sure).argsort(kind="stable").tolist() if sign * sure[column] > 0.0]
        titles = "; ".join(hierarchy.title(hierarchy.node(layer, column)) for column in order[:_NAMED])
        if titles:
            more = f" and {len(order) - _NAMED:,} more" if len(order) > _NAMED else ""
            parts.append(f"<b>{word} in {ours} than in {theirs}:</b> {escape(titles)}{more}.")
    sentence = " ".join(parts) or f"No topic differs beyond chance between {ours} and {theirs}."
    return f'<p class="tr-sentence">{sentence}</p>'
