"""The ranked topics of a layer as cards, and what a search found, as one text of HTML."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from app.frame import Frame, identity
from app.views.atoms import has_pictures, mosaic_uri
from app.views.find import Match
from app.views.text import escape, percent, shorten
from engine.tree import Node

_MOSAIC = 8  # atoms in a row of the sheet


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
    """Which topics are chosen: the selected one and the roots of the tree."""

    selected: Node | None = None
    roots: Collection[Node] = ()


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
        f'<div class="ex-find"><input type="search" data-input="search" data-hold placeholder="Search words, names, documents"'
        f' aria-label="Search words, topic names and documents" value="{escape(finding.text)}"{auto}><kbd>/</kbd></div>'
    )
    body = _found(frame, marks, finding) if finding.text.strip() else _layer(frame, layer, marks)
    return f'<div class="ex-head">{box}{_tabs(frame, layer)}</div>{body}'


def _tabs(frame: Frame, layer: int) -> str:
    tabs = "".join(
        f'<button role="tab" data-do="layer" data-layer="{number}" aria-selected="{"true" if number == layer else "false"}"'
        f' style="--hue:var(--tp-layer-{(number - 1) % 6 + 1})">Layer {number}<small>{frame.widths[number - 1]}</small></button>'
        for number in range(frame.n_layers, 0, -1)
    )
    return f'<div class="ex-tabs" role="tablist" aria-label="Layer">{tabs}</div>'


def _layer(frame: Frame, layer: int, marks: Marks) -> str:
    if has_pictures(frame):
        return _pictures(frame, layer, marks)
    cards = "".join(card(frame, node, marks) for node in frame.nodes(layer))
    return f'<ol class="ex-cards" role="tabpanel" aria-label="Topics of layer {layer}, most popular first">{cards}</ol>'


def card(frame: Frame, node: Node, marks: Marks, note: str = "") -> str:
    """Write one topic: rank, share as number and bar, name or heaviest words, more words."""
    words = [escape(shorten(word.text, 26)) for word in frame.top_words(node, 10)]
    name = escape(frame.name(node))
    lead, rest = (name, words) if name else (" ".join(words[:3]), words[3:])
    most = float(frame.shares[node.layer - 1].max())
    width = 100 * frame.share(node) / most if most > 0 else 0
    chosen = ' aria-current="true"' if node == marks.selected else ""
    root = node in marks.roots
    toggle = (
        f'<button class="ex-pin" data-do="pin" data-id="{identity(node)}" aria-pressed="{"true" if root else "false"}"'
        f' title="{"Take out of" if root else "Add to"} the roots of the tree">{"✓" if root else "+"}</button>'
    )
    return (
        f'<li class="ex-card" data-key="{identity(node)}" style="--hue:var(--tp-layer-{(node.layer - 1) % 6 + 1})"{chosen}>'
        f'<button class="ex-topic" data-do="select" data-id="{identity(node)}"><span class="ex-line"><b class="ex-rank">{frame.rank(node)}</b>'
        f'<span class="ex-bar"><i style="width:{width:.1f}%"></i></span><span class="ex-share">{percent(frame.share(node))}</span></span>'
        f'<span class="ex-words"><strong>{lead}</strong> {" ".join(rest)}</span>{note}</button>{toggle}</li>'
    )


def _pictures(frame: Frame, layer: int, marks: Marks) -> str:
    nodes = frame.nodes(layer)
    rows = -(-len(nodes) // _MOSAIC)
    tiles = []
    for place, node in enumerate(nodes):
        row, column = divmod(place, _MOSAIC)
        x = 100 * column / (_MOSAIC - 1)
        y = 100 * row / (rows - 1) if rows > 1 else 0
        chosen = ' aria-current="true"' if node == marks.selected else ""
        label = f"topic {place + 1} of layer {layer}, {percent(frame.share(node))}"
        tiles.append(
            f'<button class="ex-atom" data-key="{identity(node)}" data-do="select" data-id="{identity(node)}"{chosen}'
            f' aria-label="{escape(label)}" title="{escape(label)}"><i style="background-position:{x:.3f}% {y:.3f}%"></i>'
            f"<small>{place + 1}</small></button>"
        )
    shape = frame.image_shape or (1, 1)
    look = f"--sheet:url({mosaic_uri(frame, layer, _MOSAIC)});--size:{100 * _MOSAIC}% {100 * rows}%;--shape:{shape[1]}/{shape[0]}"
    return f'<div class="ex-atoms" role="tabpanel" aria-label="Topics of layer {layer}" style="{look}">{"".join(tiles)}</div>'


def _found(frame: Frame, marks: Marks, finding: Finding) -> str:
    cards = "".join(
        card(
            frame,
            match.node,
            marks,
            f'<small class="ex-note">Layer {match.node.layer} · {_because(frame, match)}</small>',
        )
        for match in finding.topics
    )
    none = f"No topic has “{escape(finding.text)}” among its 30 heaviest words."
    topics = f'<ol class="ex-cards">{cards}</ol>' if cards else f'<p class="ex-none">{none}</p>'
    total = "searching …" if finding.total is None else f"{finding.total:,}"
    rows = "".join(
        f"<li><strong>{escape(shorten(found.title, 90))}</strong><span>{escape(found.excerpt)}</span></li>"
        for found in finding.documents
    )
    return (
        f'<h3 class="ex-group">Topics <small>{len(finding.topics)}</small></h3>{topics}'
        f'<h3 class="ex-group">Documents <small>{total}</small></h3><ul class="ex-docs">{rows}</ul>'
    )


def _because(frame: Frame, match: Match) -> str:
    if match.word == frame.name(match.node):
        return "by its name"
    return f"“{escape(shorten(match.word, 26))}” has {percent(match.weight)}"
