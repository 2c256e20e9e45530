"""Comparisons of two runs as text, JSON or a picture."""

import math
from pathlib import Path
from typing import NamedTuple

from app.analysis.comparison import KINDS, Comparison, Pair, compare, count_kinds, find_edge_changes, measure_agreement
from app.analysis.hierarchy import Hierarchy, measure_coherence
from app.analysis.partners import are_equally_trained, differ_only_in_seed, list_decisions, list_seed_pairs
from app.analysis.read_hierarchy import read_hierarchy
from app.analysis.seeds import UNKNOWN, JudgedPair, Range, judge_pair, measure_seeds, pick_layer
from app.export import comparison as files
from app.export.texts import flatten_text, format_share
from app.jobs.estimates import read_all_latest
from app.views.compare.summary import compare_perplexities, describe_seeds, format_range, write_verdict
from app.views.compare.table import format_share_change, sort_pairs
from app.views.compare.trees import choose_first_cut, draw_compare_picture, list_shared_classes
from app.views.tree.class_overlay import find_class
from app.views.tree.picture import CAP
from engine.hierarchy.tree import Node
from store import runs, snapshots
from store.database import Database
from store.run_rows import RunRow


class ComparisonView(NamedTuple):
    """Roots of a picture: topics of B by their ranks in a layer (0 = the top), the most popular without any.

    ``label`` is the name of the class whose weights tint the topics, empty for none.
    """

    threshold: float
    layer: int = 0
    ranks: tuple[int, ...] = ()
    label: str = ""


def compare_runs(
    db: Database, hierarchies: tuple[Hierarchy, Hierarchy], threshold: float, *, most: int = 12, as_json: bool = False
) -> str:
    """Match two hierarchies, people's decisions honoured, and write what changed.

    Parameters
    ----------
    db : Database
    hierarchies : pair of Hierarchy
        What is compared with, and what is looked at.
    threshold : float
        Edges are above ``threshold / K`` of the lower layer.
    most : int
        Changed topics to list.
    as_json : bool
        Write all topics and edges as JSON instead.

    Raises
    ------
    ValueError
        When the two have no word in common.
    """
    found = compare(hierarchies[0], hierarchies[1], list_decisions(db, hierarchies[0].run, hierarchies[1].run))
    seeds = compare_seeds(db, found)
    if as_json:
        return files.render_comparison(found, threshold, seeds).rstrip("\n")
    return write_summary(found, threshold, most, seeds)


class SeedComparisons(NamedTuple):
    """Comparisons of runs that differ in their seed only, a sentence about them, and how well the runs predict."""

    comparisons: list[Comparison]
    sentence: str
    judged: JudgedPair | None


def compare_seeds(db: Database, shown: Comparison) -> SeedComparisons:
    """Compare seeds of either run with each other, as the page does, and describe which they are."""
    rows = {row.number: row for row in runs.list_runs(db)}
    one, two = rows[shown.a.run], rows[shown.b.run]
    found, named, seeds = [], [], []
    for own, twin in list_seed_pairs(one, two, rows.values()):
        here = shown.a if own is one else shown.b if own is two else _read_nearest(db, own, shown.b.minibatch)
        there = _read_nearest(db, twin, here.minibatch) if here is not None else None
        if here is not None and there is not None:
            found.append(compare(here, there, list_decisions(db, own.number, twin.number)))
            named.append(f"{own.number} and {twin.number}")
            seeds.append((own, twin))
    alone = differ_only_in_seed(one, two) and are_equally_trained(shown.a.minibatch, shown.b.minibatch)
    sentence = describe_seeds(named, two.number, alone=alone)
    latest = read_all_latest(db)
    return SeedComparisons(found, sentence, judge_pair(one, two, seeds, lambda run: latest.get(run, {})))


def _read_nearest(db: Database, run: RunRow, minibatch: int) -> Hierarchy | None:
    """Return the hierarchy of the snapshot nearest to a mini-batch, None where none is near."""
    found = snapshots.list_snapshots(db, run.number)
    row = min(found, key=lambda snapshot: abs(snapshot.minibatch - minibatch), default=None)
    return read_hierarchy(db, run, row) if row is not None and are_equally_trained(row.minibatch, minibatch) else None


def write_comparison(
    db: Database, hierarchies: tuple[Hierarchy, Hierarchy], view: ComparisonView, path: str | Path
) -> Path:
    """Write the two trees as a picture (``.svg``), or all topics and edges (``.json``).

    Raises
    ------
    ValueError
        When the suffix is another one, or the two have no word in common.
    LookupError
        When there is no topic of a wanted rank, or no such class.
    OSError
        When the file cannot be written.
    """
    path = Path(path)
    if path.suffix.lower() not in (".svg", ".json"):
        raise ValueError(f"cannot write a comparison as {str(path)!r}: its name must end in .svg or .json")
    found = compare(hierarchies[0], hierarchies[1], list_decisions(db, hierarchies[0].run, hierarchies[1].run))
    whole = path.suffix.lower() == ".json"
    text = (
        files.render_comparison(found, view.threshold, compare_seeds(db, found))
        if whole
        else _draw_picture(found, view)
    )
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def _draw_picture(found: Comparison, view: ComparisonView) -> str:
    cut = choose_first_cut(found, view.threshold, CAP)
    if view.layer or view.ranks:
        layer = view.layer or found.b.n_layers
        cut = cut._replace(roots_a=(), roots_b=tuple(found.b.at_rank(layer, rank) for rank in view.ranks or (1,)))
    if view.label:
        cut = cut._replace(label=find_class(list_shared_classes(found), view.label))
    return draw_compare_picture(found, find_edge_changes(found, view.threshold), cut).svg


def write_summary(comparison: Comparison, threshold: float, most: int, seeds: SeedComparisons | None = None) -> str:
    """Write agreement, counts of edges, a comparison with other seeds, and the most changed topics as lines.

    Without ``seeds`` there is no sentence about other seeds.
    """
    seeds = seeds or SeedComparisons([], "", None)
    a, b = comparison.a, comparison.b
    changes = find_edge_changes(comparison, threshold)
    now, counts = measure_agreement(comparison, changes), count_kinds(changes)
    lines = [
        f"A: run {a.run}, mini-batch {a.minibatch:,}, {'-'.join(map(str, a.widths))}   "
        f"B: run {b.run}, mini-batch {b.minibatch:,}, {'-'.join(map(str, b.widths))}"
    ]
    spread = measure_seeds(seeds.comparisons, threshold)
    usual = spread or UNKNOWN
    for place in range(len(now.scores) - 1, -1, -1):
        paired = len(comparison.alignment.partners(place + 1))
        lines.append(
            f"layer {place + 1}: {paired} of {a.widths[place]} and {b.widths[place]} topics matched, "
            f"mean score {_format_number(now.scores[place])}{_format_range(pick_layer(usual.scores, place))}, "
            f"{format_share(now.matched[place], 1)} of the mass"
        )
    lines += _describe_coherence(comparison)
    edges = ", ".join(f"{counts[kind]} {'kept' if kind == 'same' else kind}" for kind in KINDS)
    similarity = (
        f"F1 {_format_number(now.edges)}{_format_range(usual.edges)}, correlation of weights "
        f"{_format_number(now.correlation)}{_format_range(usual.correlation)}"
    )
    lines.append(f"edges at threshold {threshold:g}: {edges}; {similarity}")
    lines += [f"compared with other seeds: {write_verdict(now, spread, seeds.sentence)}"] if seeds.sentence else []
    lines += [compare_perplexities(seeds.judged)] if seeds.judged is not None else []
    lines += [_describe_pair(comparison, pair) for pair in sort_pairs(comparison, "change")[: max(0, most)]]
    return "\n".join(lines)


def _format_range(usual: Range | None) -> str:
    return "" if usual is None else f" (two seeds {format_range(usual)})"


def _describe_coherence(comparison: Comparison) -> list[str]:
    """Describe coherence and diversity of both, a line for each layer that either snapshot has them for."""
    a, b = measure_coherence(comparison.a), measure_coherence(comparison.b)
    lines = []
    for place in range(max(len(a), len(b)) - 1, -1, -1):
        sides = [layers[place] if place < len(layers) else None for layers in (a, b)]
        figures = [
            (math.nan,) * 3 if each is None else (each.mean_npmi, each.worst_tenth, each.diversity) for each in sides
        ]
        named = zip(("NPMI", "worst tenth", "diversity"), *figures, strict=True)
        changes = ", ".join(f"{name} {_format_number(one, 3)} -> {_format_number(two, 3)}" for name, one, two in named)
        lines.append(f"live topics of layer {place + 1}: {changes}")
    return lines


def _describe_pair(comparison: Comparison, pair: Pair) -> str:
    ends = f"{_describe_end(comparison.a, pair.a)} -> {_describe_end(comparison.b, pair.b)}"
    share = format_share_change(comparison.compute_share_change(pair))
    if not pair.paired:
        absence = comparison.find_absence(pair) or "no partner"
        return f"L{pair.layer}  {absence:<21} share {share:>6}  {ends}"
    words = comparison.words(pair)
    moved = "".join(f"  +{word}" for word in words.entered[:4]) + "".join(f"  -{word}" for word in words.left[:4])
    return (
        f"L{pair.layer}  score {pair.score:.2f} margin {pair.margin:+.2f} share {share:>6}  {ends}{flatten_text(moved)}"
    )


def _describe_end(hierarchy: Hierarchy, node: Node | None) -> str:
    return "none" if node is None else f"{hierarchy.rank(node)} {flatten_text(hierarchy.title(node))}"


def _format_number(value: float, digits: int = 2) -> str:
    return f"{value:.{digits}f}" if math.isfinite(value) else "-"
