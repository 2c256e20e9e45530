"""What labels changed: accuracy, perplexity, and the classes by how much their topics changed."""

from collections.abc import Sequence
from typing import NamedTuple

from topiary.app.analysis.comparison import SIDES, Comparison, Pair, Side
from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.analysis.seeds import EstimatePair
from topiary.app.names import format_signed
from topiary.app.views.compare.trees import list_shared_classes
from topiary.app.views.markup import draw_term, draw_title, write_element
from topiary.app.views.text import escape, format_estimate, format_percent, shorten
from topiary.engine.hierarchy.tree import Node

_MOST_CLASSES = 12  # classes listed, those that changed most


class LabelAccuracy(NamedTuple):
    """How well the topics of a snapshot predict the labels of documents that they were not learned from.

    Attributes
    ----------
    right : float
        Share of the documents whose label is predicted rightly.
    part : str
        The part of the corpus: "test" or "validation".
    commonest : float or None
        Share of the training documents in the commonest class; None if it is not known.
    """

    right: float
    part: str
    commonest: float | None = None


class ClassChange(NamedTuple):
    """How much the topics that speak for a class changed.

    Attributes
    ----------
    label : int
        Number of the class in `list_shared_classes`, from 1.
    change : float
        Mean of one minus the likeness of topics, weighted by their share and their weight for the class; 0 to 1.
    pair : Pair
        The topic that speaks most for the class, with its partner; a light topic only if there is no other.
    """

    label: int
    name: str
    change: float
    pair: Pair


def rank_classes(comparison: Comparison) -> list[ClassChange]:
    """Return the classes, those whose topics changed most first; none without class weights.

    The topics are those of the lowest layer that speaks for any class; a topic without a partner has changed
    completely.
    """
    names = list_shared_classes(comparison)
    for layer in range(1, max(comparison.a.n_layers, comparison.b.n_layers) + 1):
        pairs = [pair for pair in comparison.pairs if pair.layer == layer]
        changes = [
            each for label in range(len(names)) if (each := _measure_class(comparison, pairs, label)) is not None
        ]
        if changes:
            return sorted(changes, key=lambda each: (-each.change, each.label))
    return []


def choose_class(comparison: Comparison) -> int:
    """Return the number of the class whose topics changed most, from 1; 0 if no topic speaks for a class."""
    return next((change.label for change in rank_classes(comparison)), 0)


def _measure_class(comparison: Comparison, pairs: Sequence[Pair], label: int) -> ClassChange | None:
    """Return how much the topics of a class (from 0) changed; None if none of the pairs speaks for it."""
    name = list_shared_classes(comparison)[label]
    weights = [max(_weigh_topic(comparison, pair, side, name) for side in SIDES) for pair in pairs]
    total = sum(weights)
    if total <= 0.0:
        return None
    changes = [1.0 - (pair.score if pair.paired else 0.0) for pair in pairs]
    change = sum(weight * each for weight, each in zip(weights, changes, strict=True)) / total
    return ClassChange(label + 1, name, change, max(pairs, key=lambda pair: _rate_topic(comparison, pair, name)))


def _weigh_topic(comparison: Comparison, pair: Pair, side: Side, name: str) -> float:
    """Return the share of a topic times its weight for a class; 0 if it speaks against it."""
    node, hierarchy = pair.on(side), comparison.hierarchy(side)
    return hierarchy.share(node) * max(0.0, _find_opinion(hierarchy, node, name)) if node is not None else 0.0


def _rate_topic(comparison: Comparison, pair: Pair, name: str) -> tuple[bool, float]:
    """Return a key by which the topic that speaks most for a class is the largest; light ones come last."""
    nodes = [(comparison.hierarchy(side), node) for side in SIDES if (node := pair.on(side)) is not None]
    heavy = all(node not in hierarchy.light for hierarchy, node in nodes)
    return heavy, max(_find_opinion(hierarchy, node, name) for hierarchy, node in nodes)


def _find_opinion(hierarchy: Hierarchy, node: Node, name: str) -> float:
    """Return the weight of a topic for a class; 0 if the run does not predict it."""
    return hierarchy.opinion(node, hierarchy.classes.index(name)) if name in hierarchy.classes else 0.0


def draw_labels(
    comparison: Comparison,
    accuracies: tuple[LabelAccuracy | None, LabelAccuracy | None],
    estimates: EstimatePair | None,
    chosen: int,
) -> str:
    """Return what labels changed as HTML; empty if neither run learns labels.

    Parameters
    ----------
    accuracies : pair of LabelAccuracy or None
        Of A and of B.
    estimates : EstimatePair or None
        How well both predict held-out words, None if that is not known of the snapshots on screen.
    chosen : int
        Number of the class whose weights tint the topics.
    """
    changes = rank_classes(comparison)
    if not changes and accuracies == (None, None):
        return ""
    cells = [_draw_accuracy(accuracies)] if accuracies != (None, None) else []
    if estimates is not None:
        cells.append(_draw_cost(estimates))
    figures = f'<div class="tp-kpis cm-kpis">{"".join(cells)}</div>' if cells else ""
    title = write_element("h2", "What labels changed", class_="tp-h2")
    return f'<section class="cm-labels">{title}{figures}{_list_classes(comparison, changes, chosen)}</section>'


def _draw_accuracy(accuracies: tuple[LabelAccuracy | None, LabelAccuracy | None]) -> str:
    parts = [
        f"{side.upper()} {format_percent(each.right, 0)}"
        for side, each in zip(SIDES, accuracies, strict=True)
        if each is not None
    ]
    known = [each for each in accuracies if each is not None]
    note = f"of the labels of {known[0].part} documents"
    if known[0].commonest is not None:
        note += f"; the commonest class has {format_percent(known[0].commonest, 0)} of the documents"
    tip = "Share of labelled documents, not learned from, whose label the topics predict correctly"
    return _draw_cell("Predicted correctly", " · ".join(parts), note, tip)


def _draw_cost(estimates: EstimatePair) -> str:
    value = f"{format_estimate(estimates.a)} → {format_estimate(estimates.b)}"
    note = describe_cost(estimates)
    if estimates.gap is not None:
        note += f"; two seeds differ by up to {format_estimate(estimates.a._replace(value=estimates.gap))}"
    return _draw_cell(estimates.a.name.capitalize(), value, note, f"In A and in B. {estimates.a.protocol}.")


def describe_cost(estimates: EstimatePair) -> str:
    """Return the change of the perplexity from A to B in words, ``2.0% higher``; of a log-likelihood, the change."""
    if not estimates.a.lower_is_better:
        return format_signed(estimates.b.value - estimates.a.value, 3)
    change = estimates.b.value / estimates.a.value - 1.0
    if abs(change) < 0.005:
        return "about the same"
    return f"{format_percent(abs(change), 1)} {'higher' if change > 0 else 'lower'}"


def _draw_cell(name: str, value: str, note: str, tip: str) -> str:
    content = (
        f'<span class="tp-kpi-name">{draw_term(name)}</span><b>{escape(value)}</b>'
        f'<span class="tp-dim">{escape(note)}</span>'
    )
    return write_element("div", content, class_="tp-kpi", title=tip)


_HEADS = (
    ("Class", "Choose a class to tint the topics by how much they speak for it"),
    (
        "Changed",
        "How far the topics that speak for the class are from their partners: 0% the same, 100% nothing in common",
    ),
    ("Speaks most for it, in A", "The topic that speaks most for the class, or its partner"),
    ("In B", "The topic that speaks most for the class, or its partner"),
)


def _list_classes(comparison: Comparison, changes: Sequence[ClassChange], chosen: int) -> str:
    if not changes:
        return ""
    heads = "".join(write_element("th", draw_term(name, tip), scope="col") for name, tip in _HEADS)
    rows = "".join(_draw_class(comparison, change, chosen) for change in changes[:_MOST_CLASSES])
    left = len(changes) - _MOST_CLASSES
    more = f'<p class="tp-dim">{left:,} more classes changed less than these.</p>' if left > 0 else ""
    return (
        f'<div class="cm-classes"><table class="cm-table"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'
        f"{more}</div>"
    )


def _draw_class(comparison: Comparison, change: ClassChange, chosen: int) -> str:
    choose = write_element(
        "button",
        f"<span>{escape(shorten(change.name, 40))}</span>",
        data_do="label",
        data_value=change.label,
        aria_pressed=str(change.label == chosen).lower(),
        title=f"Tint the topics by how much they speak for {change.name}",
    )
    topics = "".join(_draw_topic(comparison, change.pair, side) for side in SIDES)
    changed = write_element("td", format_percent(change.change, 0), class_="cm-number", title=_HEADS[1][1])
    state = ' class="cm-tinted"' if change.label == chosen else ""
    return f"<tr{state}><td>{choose}</td>{changed}{topics}</tr>"


def _draw_topic(comparison: Comparison, pair: Pair, side: Side) -> str:
    node, hierarchy = pair.on(side), comparison.hierarchy(side)
    if node is None:
        return '<td class="cm-none">no partner</td>'
    key = format_identity(node)
    choose = write_element("button", draw_title(hierarchy.title(node)), data_do="select", data_side=side, data_id=key,
                           title=f"{key} of {side.upper()}")  # fmt: skip
    return f"<td>{choose}</td>"
