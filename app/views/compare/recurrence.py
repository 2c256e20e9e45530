"""The page What comes back: topics, edges and words that runs with other seeds have too, and how the chains mix."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.analysis.mixing import (
    ACTIVE,
    APART,
    ENOUGH_DRAWS,
    ENTROPY,
    LEAST_DRAWS,
    LIKELIHOOD,
    MIXED,
    TOTAL,
    MixingFigure,
)
from topiary.app.analysis.recurrence import (
    LayerRecurrence,
    SeedGroup,
    list_consensus,
    list_recurrent,
    list_seed_edges,
    summarize_layer,
)
from topiary.app.analysis.topic_images import draw_atom_uri, has_pictures
from topiary.app.names import name_state, plural
from topiary.app.views.markup import draw_icon, draw_title, write_element
from topiary.app.views.palette import declare_hue
from topiary.app.views.run_facts import RunFacts
from topiary.app.views.text import escape, format_percent, format_weight
from topiary.engine.hierarchy.recurrence import LEAST_COSINE, Recurrence, count_most
from topiary.engine.hierarchy.tree import Node

AT_ONCE = 12  # topics of a layer that are shown unfolded
_MOST_PIPS = 12  # more runs are written as a number only
_MOST_WORDS, _MOST_EDGES = 10, 8  # of a topic
TITLE = "What comes back"
OPEN = "Which topics runs with other seeds have too, and which one has alone"
MARKS = (
    "<b>Two kinds of marks.</b> What is <i>found by … other <b>seeds</b></i>, here, in Explore and in exports, says "
    "whether chance alone made it. Intervals, <i>sure within this run</i> and <i>wanders</i> come from the "
    "<b>samples</b> of one run: they say how far its chain still moves. Where a chain starts matters more than its "
    "noise, so ask the seeds whether a topic is real."
)
_FOUND_TIP = (
    "Other seeds with which a run has a partner of the topic, whose words have a cosine of at least "
    f"{LEAST_COSINE:g} with its own, and more than 95 % of the layer's pairs that are no partners"
)
_AGREEMENT_TIP = (
    "Topics: share of the layer's tokens in topics that another run has too. Parents: overlap of a topic's parents in "
    "this layer with those of its partner. Means over the other runs, adjusted for chance: 0 % is what partners drawn "
    "at random reach"
)
_EDGE_TIP = "Other seeds with which a run has both topics, and the edge between them above the threshold"
_RHAT_TIP = "Rank-normalised split R-hat: 1 if this number does not distinguish the chains"
_ESS_TIP = "Bulk effective sample size: as many independent draws would tell the mean as well as all these points"
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
    group : SeedGroup
    recurrence : Recurrence or None
        None if there is no other run to compare with yet.
    mixing : sequence of MixingFigure
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
    sentence = explain_waiting(group)
    waiting = write_element("p", escape(sentence), class_="se-wait", role="status") if sentence else ""
    if recurrence is None:
        body = "" if group.n_others else write_element("p", escape(explain_no_seeds(group.reference)), class_="tp-lead")
    else:
        layers = range(report.hierarchy.n_layers, 0, -1)
        summaries = [summarize_layer(report.hierarchy, recurrence, layer, report.threshold) for layer in layers]
        body = (
            f'<div class="tp-kpis se-kpis">{"".join(_draw_summary(each, recurrence.n_runs) for each in summaries)}'
            f'</div><p class="se-note">{MARKS}</p>'
            + "".join(_draw_layer(report, recurrence, layer) for layer in layers)
            + draw_mixing(report.mixing, len(group.ready) + 1)
        )
    return f'<div class="tp-page-in se-page">{_draw_seed_head(report)}{waiting}{body}</div>'


def draw_seed_progress(sentence: str, *, busy: bool) -> str:
    """Return the page while it is being measured, or with the reason why it cannot be."""
    kind = "cm-wait cm-busy" if busy else "cm-wait"
    return (
        f'<div class="tp-page-in se-page"><h1>{TITLE}</h1><p class="{kind}" role="status">{escape(sentence)}</p></div>'
    )


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


def explain_no_seeds(run: RunFacts) -> str:
    """Return a sentence on how to get runs with other seeds."""
    return (
        f"No run differs from run {run.number} in its seed alone. Start some with its settings and several seeds, such "
        "as 1-5, by New run on the page Runs."
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
    pips = _draw_pips(n_found - 1, hierarchy.recurrence.n_runs - 1)
    text = describe_found(n_found, hierarchy.recurrence.n_runs)
    return write_element(
        "button",
        f"{pips}<span>{text.capitalize()}</span>",
        class_="ex-found",
        data_do="seeds",
        title=f"{_FOUND_TIP}. {OPEN}",
    )


def _list_runs(runs: Sequence[RunFacts]) -> str:
    return ", ".join(f"run {row.number} (seed {row.seed}, {name_state(row.state)})" for row in runs)


def _draw_seed_head(report: SeedReport) -> str:
    run, ready = report.group.reference, report.group.ready
    others = ", ".join(f"{row.number} (seed {row.seed})" for row, _ in ready)
    note = f"Run {run.number} (seed {run.seed}) at {report.hierarchy.moment}"
    if ready:
        note += (
            f", and {'the run that differs' if len(ready) == 1 else 'the runs that differ'} in the seed alone: {others}"
        )
    buttons = "".join(
        write_element(
            "button",
            f"{draw_icon('compare')}{row.number}",
            class_="tp-button",
            data_do="compare",
            data_run=row.number,
            title=f"Compare with run {row.number}, seed {row.seed}",
            aria_label=f"Compare with run {row.number}",
        )
        for row, _ in ready
    )
    return (
        f'<div class="tp-title se-title"><div><h1>{TITLE}</h1><p class="tp-dim">{escape(note)}.</p></div>'
        f'<div class="tp-title-acts se-acts">{f"<span>Compare with</span>{buttons}" if buttons else ""}</div></div>'
    )


def _draw_summary(summary: LayerRecurrence, n_runs: int) -> str:
    """Return the figure of a layer: its agreement, and how many topics and edges are found in most runs."""
    counts = [f"{summary.topics_in_most} of {summary.topics} topics"]
    if summary.edges:
        counts.append(f"{summary.edges_in_most} of {summary.edges} edges")
    note = f"{' and '.join(counts)} {describe_most(n_runs)}"
    dot = f'<i class="cm-dot" style="{declare_hue(summary.layer)}"></i>'
    name = f"{dot}Layer {summary.layer}: agreement adjusted for chance"
    agreement = describe_agreement(summary.agreement, summary.edge_agreement)
    return (
        f'<div class="tp-kpi" title="{_AGREEMENT_TIP}"><span class="tp-kpi-name">{name}</span>'
        f'<b>{agreement}</b><span class="tp-dim">{note}</span></div>'
    )


def describe_agreement(topics: float, edges: float | None, write: Callable[[float, int], str] = format_percent) -> str:
    """Return the agreement of a layer's topics as a percentage, with that of the parents in it if it has edges."""
    text = write(topics, 0)
    return text if edges is None or math.isnan(edges) else f"{text} of topics, {write(edges, 0)} of parents"


def _draw_layer(report: SeedReport, recurrence: Recurrence, layer: int) -> str:
    nodes = list_recurrent(report.hierarchy, recurrence, layer)
    rows = [_draw_topic_row(report, recurrence, node) for node in nodes]
    listing = f'<ul class="se-topics" data-rove aria-label="Topics of layer {layer}">{{}}</ul>'
    rest = len(rows) - AT_ONCE
    more = ""
    if rest > 0:
        inside = listing.format("".join(rows[AT_ONCE:]))
        more = f"<details><summary>{plural(rest, 'more topic')}</summary>{inside}</details>"
    return (
        f'<section class="se-layer" style="{declare_hue(layer)}"><h2 class="tp-h2"><i class="cm-dot"></i>Layer {layer}'
        f" <small>{len(rows)} topics, those that come back most often first</small></h2>"
        f"{listing.format(''.join(rows[:AT_ONCE]))}{more}</section>"
    )


def _draw_topic_row(report: SeedReport, recurrence: Recurrence, node: Node) -> str:
    hierarchy, n_runs = report.hierarchy, recurrence.n_runs
    n_found = int(recurrence.count_runs(node.layer)[hierarchy.place(node)])
    key = format_identity(node)
    mark = (
        f'<span class="se-found" title="{_FOUND_TIP}">{_draw_pips(n_found - 1, n_runs - 1)}'
        f"<b>{n_found - 1} of {n_runs - 1}</b></span>"
    )
    picture = f'<img src="{draw_atom_uri(hierarchy, node)}" alt="">' if has_pictures(hierarchy) else ""
    title = (
        f'<button data-do="topic" data-id="{key}" title="Open it in Explore"><b>{key}</b>{picture}'
        f"{draw_title(hierarchy.title(node))}</button>"
    )
    share = f'<small title="Share of the layer\'s tokens">{format_percent(hierarchy.share(node))}</small>'
    return (
        f'<li data-key="{key}">{mark}<div class="se-topic">{title}{share}</div>'
        f"{_draw_consensus(hierarchy, recurrence, node)}{_draw_edges(report, recurrence, node)}</li>"
    )


def _draw_consensus(hierarchy: Hierarchy, recurrence: Recurrence, node: Node) -> str:
    if has_pictures(hierarchy):
        return ""
    words = list_consensus(hierarchy, recurrence, node)[:_MOST_WORDS]
    n_found = int(recurrence.count_runs(node.layer)[hierarchy.place(node)])
    spans = " ".join(
        f'<span title="Shown in {each.runs} of the {n_found} runs that have the topic; mean probability '
        f'{format_weight(each.probability)}">{escape(each.text)}</span>'
        for each in words
    )
    return f'<p class="se-words">{spans or "no word is shown in most of them"}</p>'


def _draw_edges(report: SeedReport, recurrence: Recurrence, node: Node) -> str:
    """Return the children of a topic and in how many runs each edge is found; empty in layer 1."""
    edges = list_seed_edges(report.hierarchy, recurrence, node, report.threshold)
    if not edges:
        return ""
    others = recurrence.n_runs - 1
    pieces = [
        write_element(
            "button",
            f"{draw_title(report.hierarchy.title(child))} <small>{count - 1} of {others}</small>",
            class_="se-edge se-often" if count > count_most(others) else "se-edge",
            data_do="topic",
            data_id=format_identity(child),
            style=declare_hue(child.layer),
            title=_EDGE_TIP,
        )
        for child, count in edges[:_MOST_EDGES]
    ]
    rest = f"<small>and {len(edges) - _MOST_EDGES} more</small>" if len(edges) > _MOST_EDGES else ""
    return f'<div class="se-edges">{"".join(pieces)}{rest}</div>'


def _draw_pips(n_found: int, others: int) -> str:
    """Return a dot for each run with another seed, filled for those that have it; empty for many runs."""
    if others > _MOST_PIPS:
        return ""
    dots = "".join(f"<i{' class=ex-on' if index < n_found else ''}></i>" for index in range(others))
    return f'<span class="ex-pips" aria-hidden="true">{dots}</span>'


def draw_mixing(figures: Sequence[MixingFigure], n_runs: int) -> str:
    """Return the table of R-hat and bulk ESS of numbers without labels; a sentence if no run has recorded any."""
    known = [each for each in figures if each.chains > 1 and each.draws]
    heading = '<h2 class="tp-h2">Have the chains mixed?</h2>'
    if not known:
        sentence = (
            f"Not known: it takes {LEAST_DRAWS} points of each run in the second half of the steps that all have, and "
            "runs of earlier versions recorded fewer numbers."
        )
        return f'<section class="se-layer">{heading}<p class="tp-dim">{sentence}</p></section>'
    note = (
        "Numbers that need no pairing of topics, at the points of the second half of the steps that all runs have. "
        f"R-hat above {MIXED} says that the runs are not in the same place. A run that has settled has settled near "
        "its own start, and longer runs seldom help: then rely on what several seeds found."
    )
    heads = "".join(
        f'<th scope="col" title="{tip}">{name}</th>'
        for name, tip in (
            ("Number", "Of the draws themselves, not of the means that pages show"),
            ("R-hat", _RHAT_TIP),
            ("Bulk ESS", _ESS_TIP),
            ("Draws", f"Of each run; fewer than {ENOUGH_DRAWS} tell only runs that are clearly apart"),
            ("Verdict", "What the figures say"),
        )
    )
    rows = "".join(_draw_figure(each, n_runs) for each in known)
    return (
        f'<section class="se-layer">{heading}<p class="tp-dim">{note}</p><div class="cm-quality">'
        f'<table aria-label="How well the chains have mixed"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div></section>"
    )


def _draw_figure(figure: MixingFigure, n_runs: int) -> str:
    name, tip = _NAMES[figure.name]
    where = f", layer {figure.layer}" if figure.layer else ""
    few = f" ({figure.chains} of {n_runs} runs)" if figure.chains < n_runs else ""
    rhat = f"{figure.rhat:.3f}" if math.isfinite(figure.rhat) else "–"
    css = "se-apart" if figure.verdict == APART else None
    ess = f"{figure.ess:,.0f}" if math.isfinite(figure.ess) and figure.draws >= ENOUGH_DRAWS else "–"
    head = write_element("th", f"{name}{where}{few}", scope="row", title=tip)
    return (
        f"<tr>{head}{write_element('td', rhat, class_=css)}<td>{ess}</td><td>{figure.chains} × {figure.draws:,}</td>"
        f"<td>{figure.verdict}</td></tr>"
    )
