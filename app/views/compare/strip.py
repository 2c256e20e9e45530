"""The largest topics of both runs above each other, as in Figure 9 of the paper on DATM (Zhang et al., 2020)."""

from topiary.app.analysis.comparison import SIDES, Comparison, Pair, Side
from topiary.app.analysis.hierarchy import BACKGROUND, Hierarchy, format_identity
from topiary.app.analysis.topic_images import draw_atom_uri, has_pictures
from topiary.app.names import format_signed
from topiary.app.views.compare.table import describe_absence, describe_likeness
from topiary.app.views.compare.trees import ABSENT, find_overlay
from topiary.app.views.markup import draw_title, write_element
from topiary.app.views.text import escape, format_percent, shorten
from topiary.engine.hierarchy.tree import Node

TOPICS = 5  # of each run, as in the figure
_WORDS = 8  # of each topic
_TINT = 26  # percent of the colour of a class behind the topic that speaks most for or against it
_TIP = "The five topics of layer 1 with the largest shares in A and in B, each above or below its partner"


def choose_largest(comparison: Comparison) -> list[Pair]:
    """Return the pairs of the five largest topics of layer 1 of A, then of those of B that these do not include.

    Light topics and background topics are left out unless there are no others.
    """
    pairs = {
        pair: None for side in SIDES for node in _list_largest(comparison.hierarchy(side))
        if (pair := comparison.pair(side, node)) is not None
    }  # fmt: skip
    return list(pairs)


def _list_largest(hierarchy: Hierarchy) -> list[Node]:
    nodes = hierarchy.nodes(1)
    live = [node for node in nodes if node not in hierarchy.light and hierarchy.role(node) != BACKGROUND]
    return (live or nodes)[:TOPICS]


def draw_strip(comparison: Comparison, label: int, chosen: Pair | None = None) -> str:
    """Return the strip as HTML: a row of topics for each run, with the words that differ marked.

    Parameters
    ----------
    label : int
        Number of the class whose weights tint the topics, as in `find_overlay`.
    chosen : Pair, optional
        The pair that is selected.
    """
    pairs = choose_largest(comparison)
    rows = "".join(_draw_row(comparison, pairs, side, label, chosen) for side in SIDES)
    overlay = find_overlay(comparison, "b", label) or find_overlay(comparison, "a", label)
    note = "Topics of layer 1, each in one column with its partner in the other run"
    if overlay is not None:
        name = escape(shorten(overlay.name, 40))
        note += f'; <i class="cm-swatch cm-for"></i>speaks for {name}, <i class="cm-swatch cm-against"></i>against it'
    title = write_element("h2", "Largest topics", class_="tp-h2", title=_TIP)
    head = f'<div class="cm-strip-head">{title}<span class="tp-dim">{note}.</span></div>'
    label_of = f"Largest topics of run {comparison.a.run} (A) and of run {comparison.b.run} (B)"
    table = write_element("table", f"<tbody>{rows}</tbody>", aria_label=label_of)
    return f'<section class="cm-strip">{head}<div class="cm-strip-scroll">{table}</div></section>'


def _draw_row(comparison: Comparison, pairs: list[Pair], side: Side, label: int, chosen: Pair | None) -> str:
    cells = "".join(_draw_cell(comparison, pair, side, label, chosen=pair == chosen) for pair in pairs)
    tag = f'<b class="cm-tag cm-{side}" title="Run {comparison.hierarchy(side).run}">{side.upper()}</b>'
    return f'<tr><th scope="row">{tag}</th>{cells}</tr>'


def _draw_cell(comparison: Comparison, pair: Pair, side: Side, label: int, *, chosen: bool) -> str:
    node, hierarchy = pair.on(side), comparison.hierarchy(side)
    if node is None:
        absence, tip = ABSENT[comparison.find_absence(pair)], describe_absence(comparison, pair)
        return write_element("td", absence, class_="cm-none", title=tip)
    share = format_percent(hierarchy.share(node))
    head = f'<span class="cm-strip-top"><b>{format_identity(node)}</b><small>{share}</small></span>'
    if side == "b":
        head += write_element("small", describe_likeness(comparison, pair), class_="cm-alike")
    overlay = find_overlay(comparison, side, label)
    tint, tip = None, f"Topic {format_identity(node)} of {side.upper()}, {share} of the tokens of layer 1"
    tip += f"; {describe_likeness(comparison, pair)}"
    if overlay is not None:
        colour = "speaks" if overlay.weight(node) > 0 else "denies"
        tint = f"background:color-mix(in oklab,var(--tp-{colour}) {_TINT * abs(overlay.part(node)):.0f}%,transparent)"
        tip += f"; {overlay.words(node)}"
    content = f"{head}{_draw_content(comparison, pair, side)}{_name_class(hierarchy, node)}"
    button = write_element("button", content, data_do="select", data_side=side, data_id=format_identity(node),
                           aria_pressed=str(chosen).lower(), title=tip, style=tint)  # fmt: skip
    return f"<td>{button}</td>"


def _draw_content(comparison: Comparison, pair: Pair, side: Side) -> str:
    """Return the title of a topic and its words, or its picture with the name if it has one."""
    node, hierarchy = pair.on(side) or Node(0, 0), comparison.hierarchy(side)
    shown = hierarchy.name(node) if has_pictures(hierarchy) else hierarchy.title(node)
    name = f"<strong>{draw_title(shown)}</strong>" if shown else ""
    if has_pictures(hierarchy):
        return f'{name}<img src="{draw_atom_uri(hierarchy, node)}" alt="picture of topic {format_identity(node)}">'
    change = comparison.words(pair)
    marked, tag = (change.left, "del") if side == "a" else (change.entered, "ins")
    words = " ".join(
        f"<{tag}>{written}</{tag}>" if word.text in marked else f"<span>{written}</span>"
        for word in hierarchy.top_words(node, _WORDS)
        for written in [escape(shorten(word.text, 18))]
    )
    return f'{name}<span class="cm-strip-words">{words}</span>'


def _name_class(hierarchy: Hierarchy, node: Node) -> str:
    """Return the class for which a topic speaks most; empty if it speaks for none."""
    opinions = [hierarchy.opinion(node, label) for label in range(len(hierarchy.classes))]
    most = max(opinions, default=0.0)
    if most <= 0.0:
        return ""
    name = hierarchy.classes[opinions.index(most)]
    tip = f"The class for which the topic speaks most: {name} ({format_signed(most)})"
    return write_element("em", escape(shorten(name, 22)), title=tip)
