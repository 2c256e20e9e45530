"""The ranked topics of a layer as cards, and what a search found, as one text of HTML."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from app.analysis.hierarchy import Frame, identity
from app.analysis.topic_images import has_pictures, mosaic_uri
from app.views.explore.detail import place_button
from app.views.explore.find import Match
from app.views.explore.pruned import pruned_list
from app.views.palette import hue
from app.views.text import escape, percent, shorten
from engine.hierarchy.tree import Node

_MOSAIC = 8  # atoms in a row of the sheet
_WORDS = 10  # of a card


class Found(NamedTuple):
    """A document that a search found."""

    number: int
    title: str
    excerpt: str


class Finding(NamedTuple):
    """What is searched for and what was found; ``total`` is None while documents are still searched."""

    text: str
    topics: Sequence[Match] = ()
    documents: Sequence[Found] = ()
    total: int | None = None


class Marks(NamedTuple):
    """Which topics are chosen: the selected one and the roots of the tree; and when which others were pruned.

    ``light`` says whether topics of few tokens are listed too.
    """

    selected: Node | None = None
    roots: Collection[Node] = ()
    pruned: Mapping[Node, int] = {}
    light: bool = False


def topic_list(frame: Frame, layer: int, marks: Marks, finding: Finding, *, focus: bool = False) -> str:
    """Write search box, layer chooser and cards.

    Parameters
    ----------
    frame : Frame
    layer : int
        Whose topics are listed while nothing is searched for.
    marks : Marks
    finding : Finding
    focus : bool
        Put the cursor into the search box.
    """
    auto = " data-autofocus" if focus else ""
    box = (
        f'<div class="ex-find"><input type="search" data-input="search" data-hold value="{escape(finding.text)}"{auto}'
        ' placeholder="Search" aria-label="Search words, topic names and documents">'
        "<kbd>/</kbd></div>"
    )
    body = _found(frame, marks, finding) if finding.text.strip() else _layer(frame, layer, marks)
    gone = "" if finding.text.strip() else pruned_list(frame, layer, marks.pruned)
    return f'<div class="ex-head">{box}{_tabs(frame, layer)}</div>{body}{gone}'


def _tabs(frame: Frame, layer: int) -> str:
    tabs = "".join(_tab(frame, number, chosen=number == layer) for number in range(frame.n_layers, 0, -1))
    count = f"<small>{frame.widths[layer - 1]} topics</small>"
    return f'<div class="ex-tabs" role="tablist" aria-label="Layer"><span>Layer</span>{tabs}{count}</div>'


def _tab(frame: Frame, layer: int, *, chosen: bool) -> str:
    label = f'aria-label="Layer {layer}" title="Layer {layer}: {frame.widths[layer - 1]} topics" style="{hue(layer)}"'
    state = f'aria-selected="{"true" if chosen else "false"}"'
    return f'<button role="tab" data-do="layer" data-layer="{layer}" {state} {label}>{layer}</button>'


def _layer(frame: Frame, layer: int, marks: Marks) -> str:
    switch = _light_switch(frame, layer, shown=marks.light)
    if has_pictures(frame):
        return _pictures(frame, layer, marks) + switch
    cards = "".join(card(frame, node, marks) for node in _listed(frame, layer, marks))
    label = f'role="tabpanel" aria-label="Topics of layer {layer}, most popular first"'
    return f'<ol class="ex-cards" {label}>{cards}</ol>{switch}'


def _listed(frame: Frame, layer: int, marks: Marks) -> list[Node]:
    """The topics of a layer but those of few tokens, unless these are asked for or chosen."""
    chosen = {marks.selected, *marks.roots}
    return [node for node in frame.nodes(layer) if marks.light or node in chosen or node not in frame.light]


def _light_switch(frame: Frame, layer: int, *, shown: bool) -> str:
    number = sum(node.layer == layer for node in frame.light)
    if not number:
        return ""
    noun = "topic" if number == 1 else "topics"
    verb = "Hide" if shown else "Show"
    hint = "Each has under 0.1 % of the tokens; the words of so small a topic are mostly noise"
    return (
        f'<button class="ex-soft ex-light" data-do="light" aria-pressed="{"true" if shown else "false"}"'
        f' title="{hint}">{verb} {number} light {noun}</button>'
    )


def card(frame: Frame, node: Node, marks: Marks, note: str = "") -> str:
    """Write one topic: rank, share as number and bar, name or the words of its title, more words."""
    key = identity(node)
    lead, rest = _words(frame, node)
    chosen = ' aria-current="true"' if node == marks.selected else ""
    line = (
        f'<span class="ex-line"><b class="ex-rank">{frame.rank(node)}</b><span class="ex-bar">'
        f'<i style="width:{_relative(frame, node):.1f}%"></i></span>'
        f'<span class="ex-share">{percent(frame.share(node))}</span></span>'
    )
    return (
        f'<li class="ex-card" data-key="{key}" style="{hue(node.layer)}"{chosen}>'
        f'<button class="ex-topic" data-do="select" data-id="{key}">{line}'
        f'<span class="ex-words"><strong>{escape(lead)}</strong> {escape(rest)}</span>{note}</button>'
        f"{_pin(key, chosen=node in marks.roots)}</li>"
    )


def _words(frame: Frame, node: Node) -> tuple[str, str]:
    """The name of a topic and its heaviest words; or else its title, and the heaviest words that are not in it."""
    if frame.name(node):
        return frame.name(node), _short(word.text for word in frame.top_words(node, _WORDS))
    title = frame.title_words(node)
    return _short(title), _short(frame.other_words(node, _WORDS - len(title)))


def _short(words: Iterable[str]) -> str:
    return " ".join(shorten(word, 26) for word in words)


def _relative(frame: Frame, node: Node) -> float:
    most = float(frame.shares[node.layer - 1].max())
    return 100 * frame.share(node) / most if most > 0 else 0.0


def _pin(key: str, *, chosen: bool) -> str:
    mark, verb = ("✓", "Take out of") if chosen else ("+", "Add to")
    label = f'title="{verb} the roots of the tree" aria-label="{verb} the roots of the tree"'
    state = f'aria-pressed="{"true" if chosen else "false"}"'
    return f'<button class="ex-pin" data-do="pin" data-id="{key}" {state} {label}>{mark}</button>'


def _pictures(frame: Frame, layer: int, marks: Marks) -> str:
    nodes, listed = frame.nodes(layer), {*_listed(frame, layer, marks)}
    rows = -(-len(nodes) // _MOSAIC)
    tiles = "".join(
        _tile(frame, node, divmod(place, _MOSAIC), rows, marks) for place, node in enumerate(nodes) if node in listed
    )
    shape = frame.image_shape or (1, 1)
    size = f"--size:{100 * _MOSAIC}% {100 * rows}%;--shape:{shape[1]}/{shape[0]}"
    look = f'style="--sheet:url({mosaic_uri(frame, layer, _MOSAIC)});{size}"'
    return f'<div class="ex-atoms" role="tabpanel" aria-label="Topics of layer {layer}" {look}>{tiles}</div>'


def _tile(frame: Frame, node: Node, seat: tuple[int, int], rows: int, marks: Marks) -> str:
    x, y = 100 * seat[1] / (_MOSAIC - 1), 100 * seat[0] / max(rows - 1, 1)
    key, chosen = identity(node), ' aria-current="true"' if node == marks.selected else ""
    name = f" {frame.name(node)}" if frame.name(node) else ""
    label = escape(f"topic {frame.rank(node)} of layer {node.layer}, {percent(frame.share(node))}{name}")
    return (
        f'<button class="ex-atom" data-key="{key}" data-do="select" data-id="{key}"{chosen} aria-label="{label}"'
        f' title="{label}"><i style="background-position:{x:.3f}% {y:.3f}%"></i>'
        f"<small>{frame.rank(node)}</small></button>"
    )


def _found(frame: Frame, marks: Marks, finding: Finding) -> str:
    cards = "".join(card(frame, match.node, marks, _because(frame, match)) for match in finding.topics)
    none = f"No topic has “{escape(finding.text)}” among its 30 heaviest words."
    topics = f'<ol class="ex-cards">{cards}</ol>' if cards else f'<p class="ex-none">{none}</p>'
    total = "searching …" if finding.total is None else f"{finding.total:,}"
    if finding.total is not None and finding.total > len(finding.documents):
        total = f"the first {len(finding.documents)} of {total}"
    rows = "".join(_document(found) for found in finding.documents)
    return (
        f'<h3 class="ex-group">Topics <small>{len(finding.topics)}</small></h3>{topics}'
        f'<h3 class="ex-group">Documents <small>{total}</small></h3><ul class="ex-docs">{rows}</ul>'
    )


def _document(found: Found) -> str:
    head = f"<strong>{escape(shorten(found.title, 90))}</strong>{place_button(found.number)}"
    return f"<li><div>{head}</div><span>{escape(found.excerpt)}</span></li>"


def _because(frame: Frame, match: Match) -> str:
    why = f"“{escape(shorten(match.word, 26))}” has {percent(match.weight)}"
    if match.word == frame.title(match.node):
        why = "by its name" if frame.name(match.node) else "by its title"
    return f'<small class="ex-note">Layer {match.node.layer} · {why}</small>'
