"""The page What comes back: topics, edges and words that runs with other seeds have too, and how the chains mix."""

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import NamedTuple

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.seeds import (
    ACTIVE,
    APART,
    ENOUGH_DRAWS,
    ENTROPY,
    LEAST_DRAWS,
    LIKELIHOOD,
    MIXED,
    TOTAL,
    MixingFigure,
    SeedGroup,
    list_consensus,
    list_recurrent,
    list_seed_edges,
    summarize_layer,
)
from topiary.app.names import name_state, plural
from topiary.app.views.html import render
from topiary.app.views.text import format_percent
from topiary.engine.hierarchy.align import LEAST_COSINE, Recurrence, count_most
from topiary.engine.hierarchy.tree import Node
from topiary.store.run_rows import RunRow

AT_ONCE = 12  # topics of a layer that are shown unfolded
_MOST_WORDS = 10  # of a topic
_FOUND_TIP = (
    "Other seeds with which a run has a partner of the topic, whose words have a cosine of at least "
    f"{LEAST_COSINE:g} with its own, and more than 95% of the layer's pairs that are no partners"
)
MORE, _MORE_WORD = 4, "four"  # seeds that a click trains
_NAMES = {
    LIKELIHOOD: ("Log likelihood of held-out tokens", "Of the curve that Watch shows"),
    TOTAL: ("Sum of r", "The popularities of the top layer together"),
    ACTIVE: ("Topics in use", "With at least a hundredth of the mean popularity of the layer"),
    ENTROPY: ("Entropy of shares", "0 if one topic has the whole layer, the logarithm of K if all have the same share"),
}


class SeedReport(NamedTuple):
    """What the page shows.

    Attributes
    ----------
    hierarchy : Hierarchy
        Of the reference run.
    recurrence : Recurrence or None
        None if there is no other run to compare with yet.
    threshold : float
        Edges above ``threshold / K`` are counted.
    """

    hierarchy: Hierarchy
    group: SeedGroup
    recurrence: Recurrence | None
    mixing: Sequence[MixingFigure]
    threshold: float


def draw_seed_page(report: SeedReport) -> str:
    """Return the page as HTML."""
    group, recurrence = report.group, report.recurrence
    layers, mixing, n_ready = [], "", len(group.ready)
    if recurrence is not None:
        layers = [_describe_layer(report, recurrence, layer) for layer in range(report.hierarchy.n_layers, 0, -1)]
        mixing = draw_mixing(report.mixing, n_ready + 1)
    note = f"Run {group.reference.number} (seed {group.reference.seed}) at {report.hierarchy.moment}"
    if n_ready:
        others = ", ".join(f"{row.number} (seed {row.seed})" for row, _ in group.ready)
        note += (
            f", and {'the run that differs' if n_ready == 1 else 'the runs that differ'} in the seed alone: {others}"
        )
    no_seeds = explain_no_seeds(group.reference) if recurrence is None and not group.n_others else ""
    return render(
        "seeds.page",
        report,
        explain_waiting(group),
        no_seeds,
        note,
        recurrence,
        layers,
        _FOUND_TIP,
        AT_ONCE,
        mixing,
        _MORE_WORD,
    )


def _describe_layer(report: SeedReport, recurrence: Recurrence, layer: int) -> SimpleNamespace:
    """Return the agreement of a layer, how many topics and edges most runs have, and its topics."""
    hierarchy = report.hierarchy
    summary = summarize_layer(hierarchy, recurrence, layer, report.threshold)
    counts = [f"{summary.topics_in_most} of {summary.topics} topics"]
    if summary.edges:
        counts.append(f"{summary.edges_in_most} of {summary.edges} edges")
    topics = [
        SimpleNamespace(
            node=node,
            found=int(recurrence.count_runs(layer)[hierarchy.place(node)]),
            words=() if hierarchy.has_pictures else list_consensus(hierarchy, recurrence, node)[:_MOST_WORDS],
            edges=list_seed_edges(hierarchy, recurrence, node, report.threshold),
            most=count_most(recurrence.n_runs - 1),
        )
        for node in list_recurrent(hierarchy, recurrence, layer)
    ]
    return SimpleNamespace(
        number=layer,
        agreement=describe_agreement(summary.agreement, summary.edge_agreement),
        counts=f"{' and '.join(counts)} {describe_most(recurrence.n_runs)}",
        topics=topics,
    )


def draw_seed_progress(sentence: str, *, busy: bool) -> str:
    """Return the page while it is being measured, or with the reason why it cannot be."""
    return render("seeds.progress", sentence, busy)


def explain_waiting(group: SeedGroup) -> str:
    """Return a sentence on the runs that cannot be compared yet, or at all; empty if all can."""
    parts = []
    if group.waiting:
        verb = "has" if len(group.waiting) == 1 else "have"
        parts.append(
            f"Waiting for {_list_runs(group.waiting)}, which {verb} no snapshot yet from about the same step as this "
            "one."
        )
    if group.absent:
        parts.append(f"Left out: {_list_runs(group.absent)}, which ended without such a snapshot.")
    if group.left_out:
        parts.append(f"Left out: {group.left_out} further runs, to save memory.")
    return " ".join(parts)


def explain_no_seeds(run: RunRow) -> str:
    """Return a sentence on how to get runs with other seeds."""
    return (
        f"No run differs from run {run.number} in its seed alone. Train some: the page goes on as soon as they have "
        "topics."
    )


def describe_found(n_found: int, n_runs: int) -> str:
    """Return how many other seeds found what ``n_found`` of ``n_runs`` runs have, this run being one of both."""
    others = n_runs - 1
    return f"found by {n_found - 1} of {plural(others, 'other seed')}"


def describe_most(n_runs: int) -> str:
    """Return how many other seeds found what most of them found: ``found by at least 8 of 9 other seeds``."""
    others = n_runs - 1
    least = count_most(others)
    if least < others:
        return f"found by at least {least} of {others} other seeds"
    return {1: "found by the other seed", 2: "found by both other seeds"}.get(
        others, f"found by all {others} other seeds"
    )


def draw_found_link(hierarchy: Hierarchy, node: Node) -> str:
    """Return in how many runs a topic is found, as a button that opens the page; empty where it is not measured."""
    n_found = hierarchy.count_runs(node)
    if n_found is None or hierarchy.recurrence is None:
        return ""
    n_runs = hierarchy.recurrence.n_runs
    return render("seeds.found_link", n_found - 1, n_runs - 1, describe_found(n_found, n_runs), _FOUND_TIP)


def _list_runs(runs: Sequence[RunRow]) -> str:
    return ", ".join(f"run {row.number} (seed {row.seed}, {name_state(row.state)})" for row in runs)


def describe_agreement(topics: float, edges: float | None) -> str:
    """Return the agreement of a layer's topics as a percentage, with that of the parents in it if it has edges."""
    text = format_percent(topics, 0)
    return text if edges is None or math.isnan(edges) else f"{text} of topics, {format_percent(edges, 0)} of parents"


def draw_mixing(figures: Sequence[MixingFigure], n_runs: int) -> str:
    """Return the table of R-hat and bulk ESS of numbers without labels; a sentence if no run has recorded any."""
    known = [
        SimpleNamespace(
            name=_NAMES[each.name][0],
            tip=_NAMES[each.name][1],
            layer=each.layer,
            chains=each.chains,
            draws=each.draws,
            rhat=f"{each.rhat:.3f}" if math.isfinite(each.rhat) else "–",
            ess=f"{each.ess:,.0f}" if math.isfinite(each.ess) and each.draws >= ENOUGH_DRAWS else "–",
            apart=each.verdict == APART,
            verdict=each.verdict,
        )
        for each in figures
        if each.chains > 1 and each.draws
    ]
    return render("seeds.mixing", known, n_runs, LEAST_DRAWS, MIXED, ENOUGH_DRAWS)
