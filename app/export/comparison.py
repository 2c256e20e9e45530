"""Comparisons of two hierarchies as files and as lines of text: their pairs and edges, and what is most different."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from topiary.app.analysis.comparison import (
    KINDS,
    Agreement,
    Comparison,
    EdgeChange,
    Pair,
    Side,
    count_kinds,
    find_edge_changes,
    measure_agreement,
)
from topiary.app.analysis.hierarchy import Hierarchy, format_identity, measure_coherence
from topiary.app.analysis.reader import StoreReader
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
from topiary.app.export.texts import drop_infinite, flatten_text, render_csv, render_json
from topiary.app.names import format_signed
from topiary.app.views.compare.summary import compare_perplexities, format_range, judge_comparison, write_verdict
from topiary.app.views.compare.table import describe_likeness, format_share_change, sort_pairs
from topiary.app.views.compare.trees import choose_first_cut, draw_compare_picture, list_shared_classes
from topiary.app.views.text import format_percent
from topiary.app.views.tree.boxes import find_class
from topiary.app.views.tree.picture import CAP
from topiary.engine.hierarchy.tree import Edge, Node
from topiary.engine.quality.measures import Coherence
from topiary.store.database import Database

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


class ComparisonView(NamedTuple):
    """The choices for a picture of a comparison.

    The roots are ``topics`` of B by their identities, by default the most popular one of a ``layer`` (0 = the top).
    ``label`` is the name of the class whose weights tint the topics, empty for none.
    """

    threshold: float
    layer: int = 0
    topics: tuple[str, ...] = ()
    label: str = ""


def compare_runs(
    db: Database, hierarchies: tuple[Hierarchy, Hierarchy], threshold: float, *, most: int = 12, as_json: bool = False
) -> str:
    """Return a summary of the changes between two hierarchies, matched with respect to analysts' decisions.

    Parameters
    ----------
    hierarchies : pair of Hierarchy
        The reference A, and the hierarchy B that is compared with it.
    threshold : float
        Edges above ``threshold / K``, K of the lower layer, are compared.
    most : int
        Number of changed topics to list.
    as_json : bool
        Return all topics and edges as JSON instead.

    Raises
    ------
    ValueError
        When the hierarchies have no word in common.
    """
    reader = StoreReader(db)
    comparison = reader.compare(*hierarchies)
    seeds = reader.find_seeds(comparison)
    if as_json:
        return render_comparison(comparison, threshold, seeds).rstrip("\n")
    return write_summary(comparison, threshold, most, seeds)


def write_comparison(
    db: Database, hierarchies: tuple[Hierarchy, Hierarchy], view: ComparisonView, path: str | Path
) -> Path:
    """Write a picture of the two trees (``.svg``) or all topics and edges (``.json``) to a file.

    Raises
    ------
    ValueError
        When the suffix is another one, or the hierarchies have no word in common.
    LookupError
        When B has no topic or layer of ``view``, or the class does not exist.
    OSError
        When the file cannot be written.
    """
    path = Path(path)
    if path.suffix.lower() not in (".svg", ".json"):
        raise ValueError(f"cannot write a comparison as {str(path)!r}: its name must end in .svg or .json")
    reader = StoreReader(db)
    comparison = reader.compare(*hierarchies)
    as_json = path.suffix.lower() == ".json"
    text = (
        render_comparison(comparison, view.threshold, reader.find_seeds(comparison))
        if as_json
        else _draw_picture(comparison, view)
    )
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def _draw_picture(comparison: Comparison, view: ComparisonView) -> str:
    cut = choose_first_cut(comparison, view.threshold, CAP)
    if view.layer or view.topics:
        named = comparison.b.find_topics(view.topics, view.layer or None)
        cut = cut._replace(roots_a=(), roots_b=tuple(named or [comparison.b.at_rank(view.layer, 1)]))
    if view.label:
        cut = cut._replace(label=find_class(list_shared_classes(comparison), view.label))
    return draw_compare_picture(comparison, find_edge_changes(comparison, view.threshold), cut).svg


def write_summary(comparison: Comparison, threshold: float, most: int, seeds: SeedBaseline | None = None) -> str:
    """Return lines on the agreement, the numbers of edges, other seeds (if given) and the most changed topics.

    At most ``most`` changed topics are listed.
    """
    seeds = seeds or SeedBaseline()
    a, b = comparison.a, comparison.b
    changes = find_edge_changes(comparison, threshold)
    agreement, counts = measure_agreement(comparison, changes), count_kinds(changes)
    lines = [
        f"A: run {a.run}, {a.moment}, {'-'.join(map(str, a.widths))}   "
        f"B: run {b.run}, {b.moment}, {'-'.join(map(str, b.widths))}"
    ]
    spread = measure_seed_spread(seeds.comparisons, threshold)
    baseline = spread or UNKNOWN_SPREAD
    for index in range(len(agreement.scores) - 1, -1, -1):
        paired = len(comparison.alignment.partners(index + 1))
        score, seed_range = agreement.scores[index], get_layer_value(baseline.scores, index)
        lines.append(
            f"layer {index + 1}: {paired} of {a.widths[index]} and {b.widths[index]} topics have a partner, "
            f"mean likeness {_format_number(score)}{_format_range(seed_range)}, "
            f"{format_percent(agreement.matched[index], 1)} of the mass"
        )
    lines += _describe_coherence(comparison)
    edges = ", ".join(f"{counts[kind]} {'kept' if kind == 'same' else kind}" for kind in KINDS)
    similarity = (
        f"F1 {_format_number(agreement.edges)}{_format_range(baseline.edges)}, correlation of weights "
        f"{_format_number(agreement.correlation)}{_format_range(baseline.correlation)}"
    )
    lines.append(f"edges at threshold {threshold:g}: {edges}; {similarity}")
    if seeds.sentence:
        lines.append(
            write_verdict(judge_comparison(comparison, agreement, spread, seeds.sentence, seeds.estimate_pair))
        )
    lines += [compare_perplexities(seeds.estimate_pair)] if seeds.estimate_pair is not None else []
    lines += [_describe_pair(comparison, pair) for pair in sort_pairs(comparison, "change")[: max(0, most)]]
    return "\n".join(lines)


def _format_range(usual: Range | None) -> str:
    return "" if usual is None else f" (two seeds {format_range(usual)})"


def _describe_coherence(comparison: Comparison) -> list[str]:
    """Return a line on the coherence and diversity of both sides for each layer where one of them is known."""
    a, b = measure_coherence(comparison.a), measure_coherence(comparison.b)
    lines = []
    for index in range(max(len(a), len(b)) - 1, -1, -1):
        sides = [layers[index] if index < len(layers) else None for layers in (a, b)]
        figures = [
            (math.nan,) * 3 if each is None else (each.mean_npmi, each.worst_tenth, each.diversity) for each in sides
        ]
        triples = zip(("NPMI", "worst tenth", "diversity"), *figures, strict=True)
        changes = ", ".join(
            f"{name} {_format_number(before, 3)} -> {_format_number(after, 3)}" for name, before, after in triples
        )
        lines.append(f"live topics of layer {index + 1}: {changes}")
    return lines


def _describe_pair(comparison: Comparison, pair: Pair) -> str:
    """Return a line on a pair: its score or why a topic is missing, the change of its share and of its words."""
    ends = f"{_describe_topic(comparison.a, pair.a)} -> {_describe_topic(comparison.b, pair.b)}"
    share = format_share_change(comparison.compute_share_change(pair))
    if not pair.paired:
        return f"L{pair.layer}  {describe_likeness(comparison, pair):<34} share {share:>6}  {ends}"
    words = comparison.words(pair)
    moved = "".join(f"  +{word}" for word in words.entered[:4]) + "".join(f"  -{word}" for word in words.left[:4])
    alike = f"{describe_likeness(comparison, pair)}, margin {format_signed(pair.margin)}"
    return f"L{pair.layer}  {alike:<34} share {share:>6}  {ends}{flatten_text(moved)}"


def _describe_topic(hierarchy: Hierarchy, node: Node | None) -> str:
    """Return the identity and title of a topic, "none" without one."""
    return "none" if node is None else flatten_text(hierarchy.cite(node))


def _format_number(value: float, digits: int = 2) -> str:
    return f"{value:.{digits}f}" if math.isfinite(value) else "-"
