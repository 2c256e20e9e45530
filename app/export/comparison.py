"""A comparison as files: the pairs as CSV, the edges as CSV, and everything as JSON."""

import csv
import io
import json
import math
from collections.abc import Sequence
from typing import Any

from app.analysis.changes import EdgeChange, agreement, counted, edge_changes
from app.analysis.coherence import coherence_of
from app.analysis.comparison import Comparison, Side
from app.analysis.hierarchy import Hierarchy, identity
from app.export.cells import cells
from app.export.comparison_seeds import SeedPairs, seed_facts
from engine.hierarchy.tree import Edge, Node
from engine.quality.measures import Coherence

_SIDES: tuple[Side, ...] = ("a", "b")
_EDGE = ("kind", "layer", "parent_a", "child_a", "weight_a", "parent_b", "child_b", "weight_b", "ratio")
_TOPIC = ("topic", "rank", "share", "name", "title", "words")


def topic_rows(comparison: Comparison) -> list[dict[str, Any]]:
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
        known["absence"] = comparison.absence(pair) or None
        change = {"share_change": comparison.share_change(pair), "entered": words.entered, "left": words.left}
        rows.append({"layer": pair.layer} | sides | known | change)
    return rows


def edge_rows(changes: Sequence[EdgeChange]) -> list[dict[str, Any]]:
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
    changes = edge_changes(comparison, threshold)
    now = agreement(comparison, changes)
    coherences = coherence_of(comparison.a), coherence_of(comparison.b)
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
        "edges": counted(changes),
        "edge_f1": _finite(now.edges),
        "edge_correlation": _finite(now.correlation),
    }


def as_json(comparison: Comparison, threshold: float, seeds: SeedPairs | None = None) -> str:
    """Write the `summary` with all topics and edges, and how far two seeds lie apart.

    Parameters
    ----------
    comparison : Comparison
    threshold : float
    seeds : SeedPairs, optional
        None where nobody has looked for any, and ``seeds`` is null.
    """
    report, changes = summary(comparison, threshold), edge_changes(comparison, threshold)
    report["seeds"] = None if seeds is None else seed_facts(agreement(comparison, changes), seeds, threshold)
    report |= {"topic_matches": topic_rows(comparison), "edge_changes": edge_rows(changes)}
    return json.dumps(report, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def topics_csv(comparison: Comparison) -> str:
    """Write `topic_rows` as CSV; every text is quoted, words are separated by blanks."""
    rows = []
    for row in topic_rows(comparison):
        flat = {name: row[name] for name in ("layer", "score", "margin", "share_change")}
        flat |= {f"{name}_{side}": _cell((row[side] or {}).get(name)) for side in _SIDES for name in _TOPIC}
        rows.append(
            flat
            | {"by_hand": int(row["by_hand"]), "absence": _cell(row["absence"])}
            | {"entered": _cell(row["entered"]), "left": _cell(row["left"])}
        )
    return _csv(rows, list(rows[0]))


def edges_csv(comparison: Comparison, threshold: float) -> str:
    """Write `edge_rows` as CSV, with the threshold in every row."""
    rows = edge_rows(edge_changes(comparison, threshold))
    report = [{name: _cell(value) for name, value in row.items()} | {"threshold": threshold} for row in rows]
    return _csv(report, [*_EDGE, "threshold"])


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


def _csv(rows: list[dict[str, Any]], columns: list[str]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writeheader()
    writer.writerows(map(cells, rows))
    return text.getvalue()


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
