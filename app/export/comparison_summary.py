"""Comparisons of two runs as text, JSON or a picture, together with other seeds of their models."""

import math
from pathlib import Path
from typing import NamedTuple

from topiary.app.analysis.comparison import KINDS, Comparison, Pair, count_kinds, find_edge_changes, measure_agreement
from topiary.app.analysis.hierarchy import Hierarchy, measure_coherence
from topiary.app.analysis.reader import StoreReader
from topiary.app.analysis.seeds import UNKNOWN_SPREAD, Range, SeedBaseline, get_layer_value, measure_seed_spread
from topiary.app.export import comparison as files
from topiary.app.export.texts import flatten_text, format_share
from topiary.app.names import format_signed
from topiary.app.views.compare.summary import compare_perplexities, format_range, judge_comparison, write_verdict
from topiary.app.views.compare.table import describe_likeness, format_share_change, sort_pairs
from topiary.app.views.compare.trees import choose_first_cut, draw_compare_picture, list_shared_classes
from topiary.app.views.tree.class_overlay import find_class
from topiary.app.views.tree.picture import CAP
from topiary.engine.hierarchy.tree import Node
from topiary.store.database import Database


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
    db : Database
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
        return files.render_comparison(comparison, threshold, seeds).rstrip("\n")
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
        files.render_comparison(comparison, view.threshold, reader.find_seeds(comparison))
        if as_json
        else _draw_picture(comparison, view)
    )
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def _draw_picture(comparison: Comparison, view: ComparisonView) -> str:
    """Return the SVG of both trees."""
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
            f"{format_share(agreement.matched[index], 1)} of the mass"
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
