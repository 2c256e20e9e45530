"""A topic that the snapshot on screen lacks: why, and its last words."""

from collections.abc import Iterable, Mapping

from app.analysis.hierarchy import Hierarchy, Relative, identity
from app.analysis.pruned_topics import Pruned, last_seen_of, successors
from app.analysis.topic_images import atom_uri, has_pictures
from app.views.explore.detail import CLOSE, relatives
from app.views.palette import hue
from app.views.text import escape, format_percent, shorten
from engine.hierarchy.tree import Node

_LISTED = 40
_SUCCESSORS = 5
_TAKEN = "Parts of its 30 heaviest words that belong to these topics at the snapshot on screen"
_MADE = "Weights of these topics in it, in the last snapshot that had it"
WAITING = '<p class="ex-none">Looking for this topic in older snapshots …</p>'


def pruned_detail(now: Hierarchy, node: Node, when: Pruned | None, last: Hierarchy | None) -> str:
    """Write what a missing topic was, why it went, and where its words are.

    Parameters
    ----------
    now : Hierarchy
        The snapshot on screen.
    node : Node
    when : Pruned or None
        When it was pruned; None when it never was.
    last : Hierarchy or None
        The last snapshot that had it, where one is kept.
    """
    key = identity(node)
    head = f'<p class="ex-over">Layer {node.layer} · {key} · not at mini-batch {now.minibatch:,}</p>'
    title = escape(last.title(node)) if last else key
    body = f'<h2 class="ex-name">{title}</h2><p class="ex-gone" role="status">{_why(now, node, when)}</p>'
    return (
        f'<article class="ex-detail ex-pruned" data-key="{key}">{CLOSE}'
        f'<header style="{hue(node.layer)}">{head}{body}</header>'
        f"{_last(now, node, last) if last else ''}{_kin(now, node, when, last) if when and last else ''}</article>"
    )


def _why(now: Hierarchy, node: Node, when: Pruned | None) -> str:
    if when is not None:
        there = f" of run {when.run}" if when.run != now.run else ""
        why = f": its weight r was below {when.below:g}, so hardly any document used it" if when.below else ""
        return f"Pruned at mini-batch {when.minibatch:,}{there}{why}."
    if node.layer > now.n_layers:
        return f"Layer {node.layer} is not there at mini-batch {now.minibatch:,}."
    return f"Run {now.run} has no topic {identity(node)} here."


def _last(now: Hierarchy, node: Node, last: Hierarchy) -> str:
    share = format_percent(last.share(node))
    report = f"rank {last.rank(node)} of {last.widths[node.layer - 1]}, {share} of its layer"
    if has_pictures(last):
        shown = f'<img class="ex-picture" src="{atom_uri(last, node)}" alt="last picture of topic {identity(node)}">'
    else:
        words = "".join(f"<li><span>{escape(word.text)}</span></li>" for word in last.top_words(node))
        shown = f'<ol class="ex-bars">{words}</ol>'
    there = (
        f'<div class="ex-acts"><button data-do="snapshot" data-value="{last.snapshot}" '
        f'title="It stands in that tree">Show mini-batch {last.minibatch:,}</button></div>'
        if last.run == now.run
        else ""
    )
    hint = f"In the last snapshot that had it, of mini-batch {last.minibatch:,}"
    return f'<section><h3>Last words <small title="{hint}">{report}</small></h3>{shown}{there}</section>'


def _kin(now: Hierarchy, node: Node, when: Pruned, last: Hierarchy) -> str:
    """List the topics that have its words now, and those it was made of."""
    left = last_seen_of(last, node, when)
    taken = successors(left.numbers, left.weights, node.layer, now)[:_SUCCESSORS] if node.layer <= now.n_layers else []
    children = [child for child in left.children if now.has(child.node)]
    return relatives(
        now, "Its words are now in", [Relative(*successor) for successor in taken], 0.0, _TAKEN
    ) + relatives(now, "It was made of", children, 0.0, _MADE)


def pruned_list(hierarchy: Hierarchy, layer: int, pruned: Mapping[Node, int]) -> str:
    """List the topics of a layer that are gone at this snapshot, by number."""
    gone = sorted(node for node in pruned if node.layer == layer and not hierarchy.has(node))
    if layer > hierarchy.n_layers or not gone:
        return ""
    return (
        f'<details class="ex-fold ex-gone-list"><summary>{len(gone)} pruned</summary>{_buttons(gone, pruned)}</details>'
    )


def pruned_since(before: Hierarchy | None, now: Hierarchy) -> str:
    """Say which topics the newest snapshot has lost since the one before; empty when it lost none."""
    if before is None or before.run != now.run:
        return ""
    layers = range(1, min(before.n_layers, now.n_layers) + 1)
    gone = sorted(node for layer in layers for node in before.nodes(layer) if not now.has(node))
    if not gone:
        return ""
    words = {node: shorten(before.title(node), 30) for node in gone}
    buttons = _buttons(gone[:_LISTED], {}, words)
    more = f" and {len(gone) - _LISTED} more" if len(gone) > _LISTED else ""
    return f'<p class="ex-hint">Pruned since mini-batch {before.minibatch:,}: {buttons}{more}</p>'


def _buttons(nodes: Iterable[Node], pruned: Mapping[Node, int], words: Mapping[Node, str] | None = None) -> str:
    pieces = []
    for node in nodes:
        key = identity(node)
        hint = f"Pruned at mini-batch {pruned[node]:,}: its last words" if node in pruned else "Its last words"
        name = f" {escape(words[node])}" if words else ""
        pieces.append(
            f'<button class="ex-gone-topic" data-do="select" data-id="{key}" title="{hint}">{key}{name}</button>'
        )
    return " ".join(pieces)
