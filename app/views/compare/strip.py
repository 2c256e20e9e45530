"""The largest topics above their nearest partners, as in Figure 9 of the paper on DATM (Zhang et al., 2020)."""

from topiary.app.analysis.comparison import SIDES, Comparison, Pair, Side
from topiary.app.analysis.hierarchy import BACKGROUND, Hierarchy, format_identity
from topiary.app.analysis.topic_images import draw_atom_uri, has_pictures
from topiary.app.names import format_signed
from topiary.app.views.compare.table import describe_absence, describe_likeness
from topiary.app.views.compare.trees import ABSENT, find_overlay
from topiary.app.views.markup import draw_title, mark_edited, write_element
from topiary.app.views.text import escape, format_percent, shorten, write_title
from topiary.engine.hierarchy.tree import Node

TOPICS = 6  # of A
_WORDS = 7  # of each topic
_TINT = 26  # percent of the colour of a class behind the topic that speaks most for or against it
_TIP = "The topics of layer 1 with the largest shares in A, each above the topic of B that is nearest to it"


def choose_largest(comparison: Comparison) -> list[Pair]:
    """Return the pairs of the largest topics of layer 1 of A, without light and background ones if there are others."""
    nodes = comparison.a.nodes(1)
    live = [node for node in nodes if node not in comparison.a.light and comparison.a.role(node) != BACKGROUND]
    pairs = (comparison.pair("a", node) for node in (live or nodes)[:TOPICS])
    return [pair for pair in pairs if pair is not None]


def draw_strip(comparison: Comparison, label: int, chosen: Pair | None = None) -> str:
    """Return the strip as HTML: a card for each pair, A above B, with how alike they are and the words that differ.

    Parameters
    ----------
    label : int
        Number of the class whose weights tint the topics, as in `find_overlay`.
    chosen : Pair, optional
        The pair that is selected.
    """
    cards = "".join(_draw_card(comparison, pair, label, chosen=pair == chosen) for pair in choose_largest(comparison))
    overlay = find_overlay(comparison, "b", label) or find_overlay(comparison, "a", label)
    tint = ""
    if overlay is not None:
        name = escape(shorten(overlay.name, 40))
        tint = f' · <i class="cm-swatch cm-for"></i>speaks for {name} <i class="cm-swatch cm-against"></i>against it'
    words = "" if has_pictures(comparison.b) else " · <ins>entered</ins> <del>left</del>"
    title = write_element("h2", "The largest topics and their nearest partner", class_="tp-h2", title=_TIP)
    meaning = write_title("Topics of layer 1 with a partner in the other run, and the median cosine", comparison.b)
    note = f'<span class="tp-dim"{meaning}>{_describe_pairing(comparison)}{words}{tint}</span>'
    return (
        f'<section class="cm-strip"><div class="cm-strip-head">{title}{note}</div>'
        f'<ol class="cm-cards" data-rove>{cards}</ol></section>'
    )


def _describe_pairing(comparison: Comparison) -> str:
    """Return how many topics of layer 1 have a partner, and how alike half of the pairs are at most."""
    pairs = [pair for pair in comparison.pairs if pair.layer == 1]
    scores = sorted(pair.score for pair in pairs if pair.paired)
    if not scores:
        return "layer 1 · no topic has a partner"
    found = f"all {len(pairs):,}" if len(scores) == len(pairs) else f"{len(scores):,} of {len(pairs):,}"
    median = format_percent(scores[len(scores) // 2], 0)
    return f"layer 1 · {found} are paired, half of them under {median} alike"


def _draw_card(comparison: Comparison, pair: Pair, label: int, *, chosen: bool) -> str:
    side: Side = "a" if pair.b is None else "b"
    halves = [_draw_half(comparison, pair, each, label) for each in SIDES]
    alike = '<span class="cm-alike"></span>'
    if pair.paired:
        part, text = f"{100 * pair.score:.0f}%", describe_likeness(comparison, pair)
        alike = f'<span class="cm-alike" style="--part:{part}"><i></i>{text}</span>'
    button = write_element("button", alike.join(halves), data_do="select", data_side=side,
                           data_id=format_identity(pair.on(side) or Node(0, 0)),
                           aria_pressed=str(chosen).lower())  # fmt: skip
    return f"<li>{button}</li>"


def _draw_half(comparison: Comparison, pair: Pair, side: Side, label: int) -> str:
    node, hierarchy = pair.on(side), comparison.hierarchy(side)
    if node is None:
        absence = write_element("span", ABSENT[comparison.find_absence(pair)], class_="cm-none")
        return write_element("span", absence, class_="cm-half", title=describe_absence(comparison, pair))
    share = format_percent(hierarchy.share(node))
    overlay = find_overlay(comparison, side, label)
    tint, tip = None, f"Topic {format_identity(node)} of {side.upper()}, {share} of the words of layer 1"
    if overlay is not None:
        colour = "speaks" if overlay.weight(node) > 0 else "denies"
        tint = f"background:color-mix(in oklab,var(--tp-{colour}) {_TINT * abs(overlay.part(node)):.0f}%,transparent)"
        tip += f"; {overlay.words(node)}"
    content = f"{_draw_content(comparison, pair, side, share)}{_name_class(hierarchy, node)}"
    return write_element("span", content, class_="cm-half", title=tip, style=tint)


def _draw_content(comparison: Comparison, pair: Pair, side: Side, share: str) -> str:
    """Return the title of a topic with its share, and its words, or its picture with the name if it has one."""
    node, hierarchy = pair.on(side) or Node(0, 0), comparison.hierarchy(side)
    shown = hierarchy.name(node) if has_pictures(hierarchy) else hierarchy.title(node)
    title = f"{draw_title(shown or '')}{mark_edited(hierarchy, node)}"
    name = f'<span class="cm-strip-top"><strong>{title}</strong><small>{share}</small></span>'
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
