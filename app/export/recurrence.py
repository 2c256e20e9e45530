"""What comes back with other seeds, as facts for JSON and tables, and as text."""

from dataclasses import replace
from typing import Any

from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.analysis.reader import StoreReader
from topiary.app.analysis.seeds import (
    ENOUGH_DRAWS,
    MixingFigure,
    SeedGroup,
    list_consensus,
    list_recurrent,
    list_seed_edges,
    measure_mixing,
    summarize_layer,
)
from topiary.app.export.texts import drop_infinite, flatten_text
from topiary.app.views.compare.recurrence import describe_agreement, describe_most, explain_no_seeds, explain_waiting
from topiary.app.views.text import format_percent
from topiary.app.views.tree.opening import choose_threshold
from topiary.engine.hierarchy.align import Recurrence
from topiary.engine.hierarchy.tree import Node
from topiary.store.database import Database
from topiary.store.run_rows import RunRow


def collect_recurrence(
    db: Database, run: RunRow, hierarchy: Hierarchy, threshold: float | None = None, layer: int | None = None
) -> dict[str, Any]:
    """Return what of a hierarchy comes back in runs with other seeds, the top layer first.

    Parameters
    ----------
    hierarchy : Hierarchy
        Of a snapshot of the run.
    threshold : float, optional
        Edges above ``threshold / K`` are counted; the default of pages if None.
    layer : int, optional
        The only layer; all by default.

    Returns
    -------
    dict
        ``run``, ``minibatch`` and ``threshold``; ``runs``, the compared runs with their ``seed`` and ``minibatch``,
        this one first; ``waiting`` and ``left_out``, the numbers of runs that cannot be compared yet, or at all;
        ``layers``, each with the figures of `app.analysis.seeds.LayerRecurrence` and ``by_topic``; and
        ``mixing``, R-hat and ESS with the number of draws of each run, and in words what they say (``verdict``).

    Raises
    ------
    LookupError
        When no other run can be compared, or there is no such layer.
    """
    if layer is not None:
        hierarchy.at_rank(layer, 1)
    group, recurrence = StoreReader(db).recurrence(run, hierarchy)
    if recurrence is None:
        raise LookupError(
            explain_waiting(group) or f"{explain_no_seeds(run)} The command is topiary train --seeds 1-5."
        )
    measured = replace(hierarchy, recurrence=recurrence)
    tau = choose_threshold(threshold, measured)
    layers = range(measured.n_layers, 0, -1) if layer is None else (layer,)
    numbers = [run.number, *(row.number for row, _ in group.ready)]
    mixing = measure_mixing(db, numbers, measured.n_layers, measured.minibatch)
    return {
        "run": run.number,
        "minibatch": measured.minibatch,
        "threshold": tau,
        "runs": _list_runs(group, measured),
        "waiting": [row.number for row in group.waiting],
        "left_out": [row.number for row in group.absent],
        "layers": [_list_layer(measured, recurrence, each, tau) for each in layers],
        "mixing": [_list_figure(each) for each in mixing],
    }


def summarize_seeds(hierarchy: Hierarchy, recurrence: Recurrence, layer: int, threshold: float) -> str:
    """Return a line on what of a layer comes back."""
    return _describe_layer(summarize_layer(hierarchy, recurrence, layer, threshold)._asdict(), recurrence.n_runs)


def write_recurrence(facts: dict[str, Any], most: int) -> str:
    """Return the text of `collect_recurrence`, with at most ``most`` topics of each layer."""
    n_runs = len(facts["runs"])
    compared = ", ".join(f"{run['run']} (seed {run['seed']})" for run in facts["runs"])
    lines = [f"runs that differ in the seed alone: {compared}"]
    for each in facts["layers"]:
        lines.append(f"\n{_describe_layer(each, n_runs)}")
        lines += [_describe_topic(row, n_runs - 1) for row in each["by_topic"][:most]]
    lines += ["", *(_describe_figure(each) for each in facts["mixing"] if each["chains"] > 1)]
    return "\n".join(lines).rstrip("\n")


def _list_runs(group: SeedGroup, hierarchy: Hierarchy) -> list[dict[str, int]]:
    own = {"run": group.reference.number, "seed": group.reference.seed, "minibatch": hierarchy.minibatch}
    return [own] + [
        {"run": row.number, "seed": row.seed, "minibatch": snapshot.minibatch} for row, snapshot in group.ready
    ]


def _list_layer(hierarchy: Hierarchy, recurrence: Recurrence, layer: int, threshold: float) -> dict[str, Any]:
    summary = summarize_layer(hierarchy, recurrence, layer, threshold)._asdict()
    topics = list_recurrent(hierarchy, recurrence, layer)
    return summary | {
        "edge_agreement": drop_infinite(summary["edge_agreement"]),
        "by_topic": [_list_topic(hierarchy, recurrence, node, threshold) for node in topics],
    }


def _list_topic(hierarchy: Hierarchy, recurrence: Recurrence, node: Node, threshold: float) -> dict[str, Any]:
    edges = list_seed_edges(hierarchy, recurrence, node, threshold)
    return {
        "topic": format_identity(node),
        "rank": hierarchy.rank(node),
        "share": hierarchy.share(node),
        "title": hierarchy.title(node),
        "found_in": hierarchy.count_runs(node),
        "words": [
            {"word": each.text, "runs": each.runs, "probability": each.probability}
            for each in list_consensus(hierarchy, recurrence, node)
        ],
        "edges": [{"topic": format_identity(child), "found_in": count} for child, count in edges],
    }


def _list_figure(figure: MixingFigure) -> dict[str, Any]:
    known = {"rhat": drop_infinite(figure.rhat), "ess": drop_infinite(figure.ess), "verdict": figure.verdict}
    return figure._asdict() | known


def _describe_layer(facts: dict[str, Any], n_runs: int) -> str:
    counts = f"{facts['topics_in_most']} of {facts['topics']} topics"
    if facts["edges"]:
        counts += f", {facts['edges_in_most']} of {facts['edges']} edges"
    agreement = describe_agreement(facts["agreement"], facts["edge_agreement"])
    return f"layer {facts['layer']}: agreement adjusted for chance {agreement}; {counts} {describe_most(n_runs)}"


def _describe_topic(row: dict[str, Any], others: int) -> str:
    words, share = flatten_text(" ".join(word["word"] for word in row["words"])), format_percent(row["share"], 1)
    return (
        f"  {row['found_in'] - 1} of {others}  {row['topic']:<7}{row['rank']:>5}  {share:>6}  "
        f"{flatten_text(row['title'])}: {words}"
    )


def _describe_figure(figure: dict[str, Any]) -> str:
    name = figure["name"] + (f", layer {figure['layer']}" if figure["layer"] else "")
    if figure["rhat"] is None:
        return f"{name:<28} {figure['verdict']}"
    draws = f"{figure['chains']} runs of {figure['draws']:,} draws"
    size = f"bulk ESS {figure['ess']:,.0f}, " if figure["draws"] >= ENOUGH_DRAWS else ""
    return f"{name:<28} R-hat {figure['rhat']:.3f}, {size}{draws}: {figure['verdict']}"
