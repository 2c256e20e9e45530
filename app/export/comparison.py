"""Comparisons of two hierarchies as files: the pairs as CSV, the edges as CSV, and everything as JSON."""

import math
from collections.abc import Sequence
from typing import Any

from topiary.app.analysis.comparison import (
    Agreement,
    Comparison,
    EdgeChange,
    Side,
    count_kinds,
    find_edge_changes,
    measure_agreement,
)
from topiary.app.analysis.hierarchy import Hierarchy, format_identity, measure_coherence
from topiary.app.analysis.seeds import (
    UNKNOWN_SPREAD,
    EstimatePair,
    Range,
    SeedBaseline,
    SeedSpread,
    get_layer_value,
    is_below_range,
    measure_seed_spread,
)
from topiary.app.export.texts import drop_infinite, render_csv, render_json
from topiary.engine.hierarchy.tree import Edge, Node
from topiary.engine.quality.measures import Coherence

_SIDES: tuple[Side, ...] = ("a", "b")
# Columns of the CSV files: of edges, and of a topic on each side of a pair.
_EDGE_COLUMNS = ("kind", "layer", "parent_a", "child_a", "weight_a", "parent_b", "child_b", "weight_b", "ratio")
_TOPIC_COLUMNS = ("topic", "rank", "share", "name", "title", "words")


def list_pairs(comparison: Comparison) -> list[dict[str, Any]]:
    """Return facts about all pairs, layer 1 first.

    Returns
    -------
    list of dict
        ``layer``; for ``a`` and ``b`` the ``topic`` (its identity), ``rank``, ``share``, ``name``,
        ``title`` and ``words`` of either side, None where it has no partner; ``match``, what the two are to each other
        (`app.analysis.comparison.Comparison.find_relation`); ``score``, ``margin``, ``by_hand``,
        ``absence`` ("pruned" or "new" for a topic that only one of two snapshots of a run has),
        ``share_change``, and the words that ``entered`` and ``left``.
    """
    rows = []
    for pair in comparison.pairs:
        words = comparison.words(pair)
        sides = {side: _list_topic(comparison.hierarchy(side), pair.on(side)) for side in _SIDES}
        match: dict[str, Any] = {
            "match": comparison.find_relation(pair),
            "score": pair.score,
            "margin": pair.margin,
            "by_hand": pair.fixed,
        }
        match["absence"] = comparison.find_absence(pair) or None
        change = {"share_change": comparison.compute_share_change(pair), "entered": words.entered, "left": words.left}
        rows.append({"layer": pair.layer} | sides | match | change)
    return rows


def list_edges(changes: Sequence[EdgeChange]) -> list[dict[str, Any]]:
    """Return facts about changes of edges, which are above the threshold on at least one side.

    Returns
    -------
    list of dict
        ``kind``, ``layer``; ``parent_a``, ``child_a``, ``weight_a`` and the same of ``b``, None where one of the
        topics has no partner; ``ratio``, the weight in b divided by that in a, each relative to a flat topic, None
        where the latter is 0.
    """
    return [
        {"kind": change.kind, "layer": change.layer}
        | _list_edge(change.a, "a")
        | _list_edge(change.b, "b")
        | {"ratio": drop_infinite(change.ratio)}
        for change in changes
    ]


def summarize_comparison(comparison: Comparison, threshold: float) -> dict[str, Any]:
    """Return the figures of a comparison: the two snapshots, their agreement, and numbers of edges by their change.

    For every common layer they include ``npmi``, ``worst_tenth`` and ``diversity`` of the live topics of ``a`` and
    ``b``, None where the snapshot has none.
    """
    changes = find_edge_changes(comparison, threshold)
    agreement = measure_agreement(comparison, changes)
    coherences = measure_coherence(comparison.a), measure_coherence(comparison.b)
    layers = [
        {
            "layer": index + 1,
            "score": drop_infinite(score),
            "matched_share": agreement.matched[index],
            "matched": len(comparison.alignment.partners(index + 1)),
            "topics_a": comparison.a.widths[index],
            "topics_b": comparison.b.widths[index],
        }
        | _list_coherence(coherences[0], index, "a")
        | _list_coherence(coherences[1], index, "b")
        for index, score in enumerate(agreement.scores)
    ]
    return {
        "a": _list_snapshot_facts(comparison.a),
        "b": _list_snapshot_facts(comparison.b),
        "shared_words": comparison.shared_words,
        "threshold": threshold,
        "layers": layers,
        "edges": count_kinds(changes),
        "edge_f1": drop_infinite(agreement.edges),
        "edge_correlation": drop_infinite(agreement.correlation),
    }


def render_comparison(comparison: Comparison, threshold: float, seeds: SeedBaseline | None = None) -> str:
    """Return the JSON text of a comparison: its figures, all pairs and edges, and the differences between seeds.

    Parameters
    ----------
    comparison : Comparison
    threshold : float
    seeds : SeedBaseline, optional
        Without it, ``seeds`` is null in the JSON.
    """
    report, changes = summarize_comparison(comparison, threshold), find_edge_changes(comparison, threshold)
    report["seeds"] = (
        None if seeds is None else list_seed_facts(measure_agreement(comparison, changes), seeds, threshold)
    )
    report |= {"topic_matches": list_pairs(comparison), "edge_changes": list_edges(changes)}
    return render_json(report)


def render_pairs(comparison: Comparison) -> str:
    """Return the CSV of `list_pairs`; every text is quoted, and words are separated by blanks."""
    rows = []
    for row in list_pairs(comparison):
        flat = {name: row[name] for name in ("layer", "match", "score", "margin", "share_change")}
        flat |= {
            f"{name}_{side}": _format_cell((row[side] or {}).get(name)) for side in _SIDES for name in _TOPIC_COLUMNS
        }
        rows.append(
            flat
            | {"by_hand": int(row["by_hand"]), "absence": _format_cell(row["absence"])}
            | {"entered": _format_cell(row["entered"]), "left": _format_cell(row["left"])}
        )
    return render_csv(rows, list(rows[0]))


def render_edges(comparison: Comparison, threshold: float) -> str:
    """Return the CSV of `list_edges`, with the threshold in every row."""
    rows = list_edges(find_edge_changes(comparison, threshold))
    cells = [{name: _format_cell(value) for name, value in row.items()} | {"threshold": threshold} for row in rows]
    return render_csv(cells, [*_EDGE_COLUMNS, "threshold"])


def _list_topic(hierarchy: Hierarchy, node: Node | None) -> dict[str, Any] | None:
    if node is None:
        return None
    return {
        "topic": format_identity(node),
        "rank": hierarchy.rank(node),
        "share": hierarchy.share(node),
        "name": hierarchy.name(node),
        "title": hierarchy.title(node),
        "words": [word.text for word in hierarchy.top_words(node)],
    }


def _list_edge(edge: Edge | None, side: Side) -> dict[str, Any]:
    """Return the facts of an edge on one side, all None where there is none."""
    names = (f"parent_{side}", f"child_{side}", f"weight_{side}")
    if edge is None:
        return dict.fromkeys(names)
    return dict(zip(names, (format_identity(edge.above), format_identity(edge.below), edge.weight), strict=True))


def _list_coherence(layers: Sequence[Coherence], index: int, side: Side) -> dict[str, float | None]:
    """Return the coherence of a layer, counted from 0, on one side; all None where there is none."""
    names = {"npmi": "mean_npmi", "worst_tenth": "worst_tenth", "diversity": "diversity"}
    layer = layers[index] if index < len(layers) else None
    return {f"{name}_{side}": drop_infinite(getattr(layer, field, None)) for name, field in names.items()}


def _list_snapshot_facts(hierarchy: Hierarchy) -> dict[str, Any]:
    return {
        "run": hierarchy.run,
        "corpus": hierarchy.corpus,
        "snapshot": hierarchy.snapshot,
        "minibatch": hierarchy.minibatch,
        "seed": hierarchy.seed,
        "widths": list(hierarchy.widths),
    }


def _format_cell(value: Any) -> Any:
    """Return a value for a cell of CSV: lists joined by blanks, None as an empty text."""
    if value is None:
        return ""
    return " ".join(value) if isinstance(value, (list, tuple)) else value


def list_seed_facts(now: Agreement, seeds: SeedBaseline, threshold: float) -> dict[str, Any]:
    """Return facts about the agreement of seeds of one model, for comparison with the agreement of A and B.

    Parameters
    ----------
    now : Agreement
        The agreement of A and B.
    seeds : SeedBaseline
    threshold : float
        Edges above ``threshold / K`` are compared.

    Returns
    -------
    dict
        ``pairs`` of run numbers, empty where no run has another seed; ``layers``, each with the ranges of ``score`` and
        ``matched_share`` and the largest differences of ``npmi``, ``worst_tenth`` and ``diversity``; the ranges
        ``edge_f1`` and ``edge_correlation``; and ``estimate``, how well A and B predict held-out words.  Unknown ranges
        are None.
    """
    spread = measure_seed_spread(seeds.comparisons, threshold) or UNKNOWN_SPREAD
    return {
        "pairs": [[each.a.run, each.b.run] for each in seeds.comparisons],
        "layers": [_list_layer(spread, now, index) for index in range(len(spread.scores))],
        "edge_f1": _list_range(spread.edges, now.edges),
        "edge_correlation": _list_range(spread.correlation, now.correlation),
        "estimate": None if seeds.estimate_pair is None else _list_estimate(seeds.estimate_pair),
    }


def _list_layer(spread: SeedSpread, agreement: Agreement, index: int) -> dict[str, Any]:
    gaps = dict(zip(("npmi", "worst_tenth", "diversity"), spread.gaps[index], strict=True))
    return {
        "layer": index + 1,
        "score": _list_range(get_layer_value(spread.scores, index), _find_value(agreement.scores, index)),
        "matched_share": _list_range(get_layer_value(spread.matched, index), _find_value(agreement.matched, index)),
    } | {name: drop_infinite(gap) for name, gap in gaps.items()}


def _list_range(usual: Range | None, value: float) -> dict[str, Any] | None:
    """Return the ends of a range, and whether the ``value`` of A and B lies below it."""
    return None if usual is None else {"low": usual.low, "high": usual.high, "below": is_below_range(value, usual)}


def _find_value(values: Sequence[float], index: int) -> float:
    """Return the value of a layer, counted from 0; nan where there is none."""
    return values[index] if index < len(values) else math.nan


def _list_estimate(estimate_pair: EstimatePair) -> dict[str, Any]:
    return {
        "name": estimate_pair.a.kind,
        "a": estimate_pair.a.value,
        "b": estimate_pair.b.value,
        "difference": estimate_pair.difference,
        "seeds_differ_by": estimate_pair.gap,
        "beyond": None if estimate_pair.gap is None else estimate_pair.exceeds_seeds,
    }
