"""A comparison as files: the pairs as CSV, the edges as CSV, and everything as JSON."""

import math
from collections.abc import Sequence
from typing import Any, Protocol

from app.analysis.comparison import (
    Agreement,
    Comparison,
    EdgeChange,
    Side,
    count_kinds,
    find_edge_changes,
    measure_agreement,
)
from app.analysis.hierarchy import Hierarchy, identity, measure_coherence
from app.analysis.seeds import UNKNOWN, JudgedPair, Range, SeedSpread, is_below, measure_seeds, pick_layer
from app.export.files import render_csv, render_json
from engine.hierarchy.tree import Edge, Node
from engine.quality.measures import Coherence

_SIDES: tuple[Side, ...] = ("a", "b")
_EDGE = ("kind", "layer", "parent_a", "child_a", "weight_a", "parent_b", "child_b", "weight_b", "ratio")
_TOPIC = ("topic", "rank", "share", "name", "title", "words")


class SeedPairs(Protocol):
    """Comparisons of runs that differ in their seed only, and how well the two runs compared predict."""

    @property
    def comparisons(self) -> Sequence[Comparison]: ...  # noqa: D102
    @property
    def judged(self) -> JudgedPair | None: ...  # noqa: D102


def list_pairs(comparison: Comparison) -> list[dict[str, Any]]:
    """List every pair, layer 1 first.

    Returns
    -------
    list of dict
        ``layer``; for ``a`` and ``b`` the ``topic`` (identity number), ``rank``, ``share``, ``name``,
        ``title`` and ``words`` of either side, None where it has no partner; ``score``, ``margin``, ``by_hand``,
        ``absence`` ("pruned" or "new" for a topic that only one of two snapshots of a run has),
        ``share_change``, and the words that ``entered`` and ``left``.
    """
    rows = []
    for pair in comparison.pairs:
        words = comparison.words(pair)
        sides = {side: _topic(comparison.hierarchy(side), pair.on(side)) for side in _SIDES}
        known: dict[str, Any] = {"score": pair.score, "margin": pair.margin, "by_hand": pair.fixed}
        known["absence"] = comparison.find_absence(pair) or None
        change = {"share_change": comparison.compute_share_change(pair), "entered": words.entered, "left": words.left}
        rows.append({"layer": pair.layer} | sides | known | change)
    return rows


def list_edges(changes: Sequence[EdgeChange]) -> list[dict[str, Any]]:
    """List every edge that one side has above the threshold.

    Returns
    -------
    list of dict
        ``kind``; ``parent_a``, ``child_a``, ``weight_a`` and the same of ``b``, None where an end has no
        partner; ``ratio``, b over a against a flat topic, None where there is nothing to divide by.
    """
    return [
        {"kind": change.kind, "layer": change.layer}
        | _edge(change.a, "a")
        | _edge(change.b, "b")
        | {"ratio": _finite(change.ratio)}
        for change in changes
    ]


def summary(comparison: Comparison, threshold: float) -> dict[str, Any]:
    """Sum a comparison up in numbers: both ends, how far they agree, how many edges changed how.

    Every layer that both have also has ``npmi``, ``worst_tenth`` and ``diversity`` of the live topics of ``a`` and
    ``b``, None where the snapshot does not know them.
    """
    changes = find_edge_changes(comparison, threshold)
    now = measure_agreement(comparison, changes)
    coherences = measure_coherence(comparison.a), measure_coherence(comparison.b)
    layers = [
        {
            "layer": place + 1,
            "score": _finite(score),
            "matched_share": now.matched[place],
            "matched": len(comparison.alignment.partners(place + 1)),
            "topics_a": comparison.a.widths[place],
            "topics_b": comparison.b.widths[place],
        }
        | _coherence(coherences[0], place, "a")
        | _coherence(coherences[1], place, "b")
        for place, score in enumerate(now.scores)
    ]
    return {
        "a": _end(comparison.a),
        "b": _end(comparison.b),
        "shared_words": comparison.shared_words,
        "threshold": threshold,
        "layers": layers,
        "edges": count_kinds(changes),
        "edge_f1": _finite(now.edges),
        "edge_correlation": _finite(now.correlation),
    }


def render_comparison(comparison: Comparison, threshold: float, seeds: SeedPairs | None = None) -> str:
    """Write the `summary` with all topics and edges, and how far two seeds lie apart.

    Parameters
    ----------
    comparison : Comparison
    threshold : float
    seeds : SeedPairs, optional
        None where nobody has looked for any, and ``seeds`` is null.
    """
    report, changes = summary(comparison, threshold), find_edge_changes(comparison, threshold)
    report["seeds"] = None if seeds is None else seed_facts(measure_agreement(comparison, changes), seeds, threshold)
    report |= {"topic_matches": list_pairs(comparison), "edge_changes": list_edges(changes)}
    return render_json(report)


def render_pairs(comparison: Comparison) -> str:
    """Write `list_pairs` as CSV; every text is quoted, words are separated by blanks."""
    rows = []
    for row in list_pairs(comparison):
        flat = {name: row[name] for name in ("layer", "score", "margin", "share_change")}
        flat |= {f"{name}_{side}": _cell((row[side] or {}).get(name)) for side in _SIDES for name in _TOPIC}
        rows.append(
            flat
            | {"by_hand": int(row["by_hand"]), "absence": _cell(row["absence"])}
            | {"entered": _cell(row["entered"]), "left": _cell(row["left"])}
        )
    return render_csv(rows, list(rows[0]))


def render_edges(comparison: Comparison, threshold: float) -> str:
    """Write `list_edges` as CSV, with the threshold in every row."""
    rows = list_edges(find_edge_changes(comparison, threshold))
    report = [{name: _cell(value) for name, value in row.items()} | {"threshold": threshold} for row in rows]
    return render_csv(report, [*_EDGE, "threshold"])


def _topic(hierarchy: Hierarchy, node: Node | None) -> dict[str, Any] | None:
    if node is None:
        return None
    return {
        "topic": node.column + 1,
        "rank": hierarchy.rank(node),
        "share": hierarchy.share(node),
        "name": hierarchy.name(node),
        "title": hierarchy.title(node),
        "words": [word.text for word in hierarchy.top_words(node)],
    }


def _edge(edge: Edge | None, side: Side) -> dict[str, Any]:
    names = (f"parent_{side}", f"child_{side}", f"weight_{side}")
    if edge is None:
        return dict.fromkeys(names)
    return dict(zip(names, (identity(edge.above), identity(edge.below), edge.weight), strict=True))


def _coherence(layers: Sequence[Coherence], place: int, side: Side) -> dict[str, float | None]:
    about = layers[place] if place < len(layers) else None
    return {
        f"npmi_{side}": None if about is None else _finite(about.mean_npmi),
        f"worst_tenth_{side}": None if about is None else _finite(about.worst_tenth),
        f"diversity_{side}": None if about is None else _finite(about.diversity),
    }


def _end(hierarchy: Hierarchy) -> dict[str, Any]:
    return {
        "run": hierarchy.run,
        "corpus": hierarchy.corpus,
        "snapshot": hierarchy.snapshot,
        "minibatch": hierarchy.minibatch,
        "seed": hierarchy.seed,
        "widths": list(hierarchy.widths),
    }


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    return " ".join(value) if isinstance(value, (list, tuple)) else value


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def seed_facts(now: Agreement, seeds: SeedPairs, threshold: float) -> dict[str, Any]:
    """Return what two seeds of one model reach, next to what A and B reach.

    Parameters
    ----------
    now : Agreement
        Of A and B.
    seeds : SeedPairs
    threshold : float
        Edges are above ``threshold / K``.

    Returns
    -------
    dict
        ``pairs`` of run numbers, empty where there is no second seed; for every layer the ranges of ``score`` and
        ``matched_share`` and the largest difference of ``npmi``, ``worst_tenth`` and ``diversity``; the ranges of
        ``edge_f1`` and ``edge_correlation``; and ``estimate``, how well A and B predict held-out words.  A range is
        None where nothing is known.
    """
    spread = measure_seeds(seeds.comparisons, threshold) or UNKNOWN
    return {
        "pairs": [[each.a.run, each.b.run] for each in seeds.comparisons],
        "layers": [_layer(spread, now, place) for place in range(len(spread.scores))],
        "edge_f1": _range(spread.edges, now.edges),
        "edge_correlation": _range(spread.correlation, now.correlation),
        "estimate": None if seeds.judged is None else _estimate(seeds.judged),
    }


def _layer(spread: SeedSpread, now: Agreement, place: int) -> dict[str, Any]:
    gaps = dict(zip(("npmi", "worst_tenth", "diversity"), spread.gaps[place], strict=True))
    return {
        "layer": place + 1,
        "score": _range(pick_layer(spread.scores, place), _at(now.scores, place)),
        "matched_share": _range(pick_layer(spread.matched, place), _at(now.matched, place)),
    } | {name: gap if math.isfinite(gap) else None for name, gap in gaps.items()}


def _range(usual: Range | None, value: float) -> dict[str, Any] | None:
    """Return the lowest and the highest, and if A and B lie below all of it."""
    return None if usual is None else {"low": usual.low, "high": usual.high, "below": is_below(value, usual)}


def _at(values: Sequence[float], place: int) -> float:
    return values[place] if place < len(values) else math.nan


def _estimate(judged: JudgedPair) -> dict[str, Any]:
    return {
        "name": judged.a.kind,
        "a": judged.a.value,
        "b": judged.b.value,
        "difference": judged.difference,
        "seeds_differ_by": judged.gap,
        "beyond": None if judged.gap is None else judged.beyond,
    }
