"""What ``topiary compare`` prints: the summary of two runs' topics, or everything as JSON."""

import math
from pathlib import Path
from typing import NamedTuple

from app.analysis.changes import KINDS, agreement, counted, edge_changes
from app.analysis.coherence import coherence_of
from app.analysis.comparison import Comparison, Pair, compare
from app.analysis.hierarchy import Hierarchy
from app.analysis.partners import decisions
from app.cli.console import flat, percent
from app.export import comparison as files
from app.views.compare.picture import compare_picture, first_cut
from app.views.compare.table import signed, sorted_pairs
from app.views.compare.trees import classes_of
from app.views.tree.class_overlay import class_number
from app.views.tree.picture import CAP
from engine.hierarchy.tree import Node
from store.database import Database


class Request(NamedTuple):
    """What the picture shows: topics of B by their ranks in a layer (0 = the top), the most popular without any.

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
    found = compare(hierarchies[0], hierarchies[1], decisions(db, hierarchies[0].run, hierarchies[1].run))
    return _json(found, threshold) if as_json else summary_text(found, threshold, most)


def write_comparison(db: Database, hierarchies: tuple[Hierarchy, Hierarchy], view: Request, path: str | Path) -> Path:
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
    found = compare(hierarchies[0], hierarchies[1], decisions(db, hierarchies[0].run, hierarchies[1].run))
    text = files.as_json(found, view.threshold) if path.suffix.lower() == ".json" else _picture(found, view)
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def _picture(found: Comparison, view: Request) -> str:
    cut = first_cut(found, view.threshold, CAP)
    if view.layer or view.ranks:
        layer = view.layer or found.b.n_layers
        cut = cut._replace(roots_a=(), roots_b=tuple(found.b.at_rank(layer, rank) for rank in view.ranks or (1,)))
    if view.label:
        cut = cut._replace(label=class_number(classes_of(found), view.label))
    return compare_picture(found, edge_changes(found, view.threshold), cut).svg


def summary_text(comparison: Comparison, threshold: float, most: int) -> str:
    """Write agreement, counts of edges, and the most changed topics as lines."""
    a, b = comparison.a, comparison.b
    changes = edge_changes(comparison, threshold)
    now, counts = agreement(comparison, changes), counted(changes)
    lines = [
        f"A: run {a.run}, mini-batch {a.minibatch:,}, {'-'.join(map(str, a.widths))}   "
        f"B: run {b.run}, mini-batch {b.minibatch:,}, {'-'.join(map(str, b.widths))}"
    ]
    for place in range(len(now.scores) - 1, -1, -1):
        paired = len(comparison.alignment.partners(place + 1))
        lines.append(
            f"layer {place + 1}: {paired} of {a.widths[place]} and {b.widths[place]} topics matched, "
            f"mean score {_ratio(now.scores[place])}, {percent(now.matched[place], 1)} of the mass"
        )
    lines += _coherence(comparison)
    report = ", ".join(f"{counts[kind]} {'kept' if kind == 'same' else kind}" for kind in KINDS)
    like = f"F1 {_ratio(now.edges)}, correlation of weights {_ratio(now.correlation)}"
    lines.append(f"edges at threshold {threshold:g}: {report}; {like}")
    lines += [_line(comparison, pair) for pair in sorted_pairs(comparison, "change")[: max(0, most)]]
    return "\n".join(lines)


def _coherence(comparison: Comparison) -> list[str]:
    """A line a layer with coherence and diversity of both; none where neither snapshot knows them."""
    a, b = coherence_of(comparison.a), coherence_of(comparison.b)
    lines = []
    for place in range(max(len(a), len(b)) - 1, -1, -1):
        sides = [layers[place] if place < len(layers) else None for layers in (a, b)]
        figures = [
            (math.nan,) * 3 if each is None else (each.mean_npmi, each.worst_tenth, each.diversity) for each in sides
        ]
        named = zip(("NPMI", "worst tenth", "diversity"), *figures, strict=True)
        said = ", ".join(f"{name} {_figure(one)} -> {_figure(two)}" for name, one, two in named)
        lines.append(f"live topics of layer {place + 1}: {said}")
    return lines


def _figure(value: float) -> str:
    return f"{value:.3f}" if math.isfinite(value) else "-"


def _json(comparison: Comparison, threshold: float) -> str:
    return files.as_json(comparison, threshold).rstrip("\n")


def _line(comparison: Comparison, pair: Pair) -> str:
    ends = f"{_end(comparison.a, pair.a)} -> {_end(comparison.b, pair.b)}"
    share = signed(comparison.share_change(pair))
    if not pair.paired:
        said = {"": "no partner", "pruned": "pruned", "new": "new"}[comparison.absence(pair)]
        return f"L{pair.layer}  {said:<21} share {share:>6}  {ends}"
    words = comparison.words(pair)
    moved = "".join(f"  +{word}" for word in words.entered[:4]) + "".join(f"  -{word}" for word in words.left[:4])
    return f"L{pair.layer}  score {pair.score:.2f} margin {pair.margin:+.2f} share {share:>6}  {ends}{flat(moved)}"


def _end(hierarchy: Hierarchy, node: Node | None) -> str:
    return "none" if node is None else f"{hierarchy.rank(node)} {flat(hierarchy.title(node))}"


def _ratio(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else "-"
