"""The film of a run as one HTML file that plays in any browser: tree, topics and curves of every snapshot kept.

The track below its cursor, also on pages, is the curve of a run, with a tick at every snapshot that is kept.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.analysis.topic_reader import TopicReader
from topiary.app.export.texts import find_format
from topiary.app.jobs.estimates import POINT, find_estimate_name
from topiary.app.machine import find_asset
from topiary.app.names import name_step
from topiary.app.views.markup import name_run
from topiary.app.views.text import escape
from topiary.app.views.theme import LIGHT, find_layer_colour
from topiary.app.views.tree.opening import RULES, choose_main_roots, list_top_topics
from topiary.app.views.tree.picture import CAP, TreeChoice, draw_tree
from topiary.engine.contract import Topics
from topiary.engine.hierarchy import topics
from topiary.engine.hierarchy.certainty import measure_persistence
from topiary.engine.hierarchy.effects import present_hierarchy
from topiary.engine.hierarchy.tree import Node
from topiary.store import points, snapshots
from topiary.store.database import Database
from topiary.store.errors import DamagedSnapshot, NotFound
from topiary.store.run_rows import RunRow
from topiary.store.snapshots import SnapshotRow, load_snapshot

LEAST_FRAMES = 2  # snapshots of a film
_LISTED = 10  # topics in the list next to the tree
_MOST_POINTS = 400  # of a curve
_NARROW = 1.5  # width / height of the tree, which has the list of topics next to it
WIDTH, HEIGHT = 1000.0, 40.0  # of the track; the browser stretches it to the width of the page
_TICK, _LARGEST = 7.0, 26.0  # height of a tick, and further height of the tick of the largest change
LEAST_POINTS = 2  # of a curve
_MARGIN = 3.0  # free space above and below the curve


def choose_film_tree(last: Hierarchy) -> TreeChoice:
    """Return the part of the trees that a film shows: that with which the last snapshot opens on the page Explore."""
    if last.n_layers == 1:
        return TreeChoice(tuple(list_top_topics(last)[:CAP]), detail="normal")
    return TreeChoice(choose_main_roots(last, last.heaviest_edges(*RULES["normal"][:3])), detail="normal")


def write_film(db: Database, row: RunRow, path: str | Path) -> Path:
    """Write the film of a run to an HTML file; see :func:`render_film`.

    Raises
    ------
    ValueError
        When the name does not end in ``.html``, or the run has fewer than two snapshots.
    OSError
        When the file cannot be written.
    """
    path = Path(path)
    find_format(path, ("html",), f"a film as {str(path)!r}")
    path.write_text(render_film(db, row), encoding="utf-8", newline="\n")
    return path


def render_film(
    db: Database, row: RunRow, choice: TreeChoice | None = None, going_on: Callable[[], bool] = lambda: True
) -> str:
    """Return the film of a run as an HTML page that needs no other file.

    The tree of every snapshot that is kept is drawn in the order of the one before, so that its boxes move little.

    Parameters
    ----------
    choice : TreeChoice, optional
        The part of the tree; by default that of :func:`choose_film_tree`.
    going_on : () -> bool
        Whether the film is still wanted; asked before each snapshot.

    Raises
    ------
    ValueError
        When the run has fewer than two snapshots, or the film is not wanted any more.
    """
    reader, moments = TopicReader(db), snapshots.list_snapshots(db, row.number)
    if len(moments) < LEAST_FRAMES:
        few = f"run {row.number} has {len(moments)} snapshots, and a film needs two; let it train longer"
        raise ValueError(snapshots.explain_absence(db, row.number) or few)
    last = reader.hierarchy(row, moments[-1])
    choice = choice or choose_film_tree(last)
    listed = last.nodes(1)[:_LISTED]
    order: Mapping[int, Sequence[Node]] = draw_tree(last, choice, theme=LIGHT, aspect=_NARROW).layout.order()
    frames: list[dict[str, Any]] = []
    for moment in moments:
        if not going_on():
            raise ValueError("The film is not wanted any more.")
        try:
            hierarchy = reader.hierarchy(row, moment)
        except (NotFound, DamagedSnapshot):  # thinned out meanwhile, or damaged
            continue
        drawing = draw_tree(hierarchy, choice, theme=LIGHT, aspect=_NARROW, previous=order)
        order = drawing.layout.order()
        places = {node: (place.x, place.y) for node, place in drawing.layout.places.items()}
        frames.append(
            {
                "step": moment.minibatch,
                "size": [math.ceil(side) for side in drawing.size],
                "svg": _name_boxes(drawing.svg, places),
                "topics": [_describe_topic(hierarchy, node) for node in listed],
            }
        )
    return _fill_page(row, last, frames, _read_curves(db, row))


def _name_boxes(svg: str, places: Mapping[Node, tuple[float, float]]) -> str:
    """Add the identities of topics to the boxes of a picture, so that each moves to its place in the next frame."""
    for node, (x, y) in places.items():
        start = f'<g transform="translate({x:.1f} {y:.1f})"'
        svg = svg.replace(start, f'<g data-id="{format_identity(node)}"{start.removeprefix("<g")}', 1)
    return svg


def _describe_topic(hierarchy: Hierarchy, node: Node) -> list[Any]:
    """Return a topic's identity, title, share and first words; a topic that is not there has share 0."""
    if not hierarchy.has(node):
        return [format_identity(node), "", 0.0, ""]
    words = " ".join(word.text for word in hierarchy.top_words(node, 8))
    return [format_identity(node), hierarchy.title(node), round(hierarchy.share(node), 4), words]


def _read_curves(db: Database, row: RunRow) -> dict[str, list[NDArray[np.float64]]]:
    """Return the point perplexity of a run, and the logarithms of its mean step sizes by layer, as (n, 2) arrays."""
    names = {"perplexity": [("point_perplexity", 0)]}
    names["steps"] = [("step_size_mean", layer) for layer in range(1, len(row.layers) + 1)]
    curves: dict[str, list[NDArray[np.float64]]] = {}
    for kind, series in names.items():
        columns = [points.read_series(db, row.number, name, layer, _MOST_POINTS) for name, layer in series]
        curves[kind] = [np.column_stack([found[0], found[3]]).astype(np.float64) for found in columns]
    for curve in curves["steps"]:
        with np.errstate(divide="ignore", invalid="ignore"):
            curve[:, 1] = np.log(curve[:, 1])
    return curves


def _fill_page(
    row: RunRow,
    last: Hierarchy,
    frames: Sequence[Mapping[str, Any]],
    curves: Mapping[str, Sequence[NDArray[np.float64]]],
) -> str:
    steps = [int(frame["step"]) for frame in frames]
    step = name_step(row)
    title = f"Run {row.number} · {name_run(row)}"
    data = {
        "frames": frames,
        "places": [round(place, 1) for place in place_moments(steps)],
        "size": [max(frame["size"][side] for frame in frames) for side in (0, 1)],
        "name": step[0].upper() + step[1:],
    }
    charts = _draw_chart(find_estimate_name(row, POINT).capitalize(), [draw_curve(steps, curves["perplexity"][0])])
    charts += _draw_chart("Step sizes", _draw_step_sizes(steps, curves["steps"]))
    facts = f"{row.corpus_name} · seed {last.seed} · {len(frames)} snapshots, those that are kept · Topiary"
    return _PAGE.format(
        title=escape(title),
        facts=escape(facts),
        style="\n".join(find_asset(f"css/{name}.css").read_text(encoding="utf-8") for name in ("film", "film_file")),
        charts=charts,
        track=draw_track(steps, np.empty((0, 2))),
        data=json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c"),
        script=find_asset("js/film_file.js").read_text(encoding="utf-8"),
    )


def _draw_step_sizes(steps: Sequence[int], curves: Sequence[NDArray[np.float64]]) -> list[str]:
    """Return the curves of all layers on one logarithmic scale, in the colours of the layers."""
    values = [curve[np.isfinite(curve[:, 1]), 1] for curve in curves if len(curve)]
    if not any(len(each) for each in values):
        return []
    scale = (
        float(min(each.min() for each in values if len(each))),
        float(max(each.max() for each in values if len(each))),
    )
    return [
        f'<g style="--hue:{find_layer_colour(LIGHT, layer)}">{draw_curve(steps, curve, scale)}</g>'
        for layer, curve in enumerate(curves, 1)
    ]


def _draw_chart(title: str, lines: Iterable[str]) -> str:
    """Return a small chart with a vertical line at the cursor; nothing without curves."""
    drawn = "".join(lines)
    if "polyline" not in drawn:
        return ""
    cursor = f'<path class="ff-now" d="M0 0v{HEIGHT:g}"/>'
    view = f'viewBox="0 0 1000 {HEIGHT:g}" preserveAspectRatio="none" aria-hidden="true"'
    return (
        f'<figure><figcaption>{escape(title)}</figcaption><svg class="fm-track" {view}>{drawn}{cursor}</svg></figure>'
    )


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
<title>{title}</title>
<style>
{style}
</style>
</head>
<body>
<header><h1>{title}</h1><p>{facts}</p></header>
<main>
<div class="ff-tree" id="tree"></div>
<aside><h2>Topics of layer 1</h2><ol id="topics"></ol>{charts}</aside>
</main>
<div class="fm-bar" role="group" aria-label="Film of the training">
<button type="button" class="fm-button fm-play" id="play"></button>
<div class="fm-rail"><div class="fm-picture">{track}</div>
<input class="fm-slider" id="slider" type="range" min="0" max="1000" step="any" aria-label="Snapshot"></div>
<div class="fm-words"><b id="place"></b><span class="fm-count" id="count"></span></div>
</div>
<script type="application/json" id="film">{data}</script>
<script>
{script}
</script>
</body>
</html>
"""


def weigh_levels(snapshot: Topics) -> tuple[NDArray[np.float64], ...]:
    """Return the weight of every word in every topic, and of every edge, as shares of their level.

    Returns
    -------
    tuple of (K_{l-1}, K_l) float64 arrays
        ``|Phi_kc|`` times the popularity of topic c, scaled to sum 1; ``K_0`` is the number of words.
    """
    presentation = present_hierarchy(snapshot)
    levels = []
    for weights, popularity in zip(presentation.weights, presentation.popularity, strict=True):
        level = np.abs(np.asarray(weights, dtype=np.float64)) * popularity
        total = float(level.sum())
        levels.append(level / total if total > 0.0 else level)
    return tuple(levels)


def measure_changes(db: Database, rows: Sequence[SnapshotRow]) -> dict[int, float]:
    """Measure what moved before each snapshot of a run; this waits for the store.

    Parameters
    ----------
    rows : sequence of SnapshotRow
        Oldest first.

    Returns
    -------
    dict of int to float
        By the number of the snapshot, the share of the weights of :func:`weigh_levels` that is elsewhere than in the
        snapshot before, 0 to 1, in the level where that is most.  The first snapshot, and one that cannot be read any
        more, is missing; after a change of widths the share is 1.
    """
    changes: dict[int, float] = {}
    before: tuple[NDArray[np.float64], ...] | None = None
    for row in rows:
        try:
            levels = weigh_levels(topics.unpack_topics(load_snapshot(db, row.number), shown=True))
        except (NotFound, DamagedSnapshot):
            continue
        if before is not None:
            changes[row.number] = 1.0 - min(measure_persistence(before, levels))
        before = levels
    return changes


def place_moments(minibatches: Sequence[int]) -> list[float]:
    """Return the places of snapshots on the track, 0 to `WIDTH`, by the square roots of their mini-batches.

    Snapshots are closest at the beginning and at the end of a run; in proportion to the mini-batches, the first ones
    would lie on top of each other.
    """
    return [_find_place(minibatch, minibatches) for minibatch in minibatches]


def draw_track(
    minibatches: Sequence[int], curve: NDArray[np.float64], changes: Mapping[int, float] | None = None
) -> str:
    """Return the track as SVG.

    Parameters
    ----------
    minibatches : sequence of int
        Mini-batches of the snapshots, ascending.
    curve : (n, 2) array
        Mini-batches, ascending, and values; may be empty.
    changes : mapping of int to float, optional
        How much moved before a snapshot, by its mini-batch: its tick is higher.
    """
    largest = max((changes or {}).values(), default=0.0)
    heights = (_measure_tick((changes or {}).get(minibatch), largest) for minibatch in minibatches)
    ticks = "".join(
        f'<path class="fm-tick" d="M{place:.1f} {HEIGHT:g}v{-height:.1f}"/>'
        for place, height in zip(place_moments(minibatches), heights, strict=True)
    )
    view = f'viewBox="0 0 {WIDTH:g} {HEIGHT:g}" preserveAspectRatio="none" aria-hidden="true"'
    return f'<svg class="fm-track" {view}>{draw_curve(minibatches, curve)}{ticks}</svg>'


def draw_curve(minibatches: Sequence[int], curve: NDArray[np.float64], scale: tuple[float, float] | None = None) -> str:
    """Return the part of a curve between the first and the last snapshot, or nothing if it has no two points.

    Parameters
    ----------
    minibatches : sequence of int
        Mini-batches of the snapshots, ascending.
    curve : (n, 2) array
        Mini-batches, ascending, and values; those that are not finite are left out.
    scale : (low, high), optional
        The values at the bottom and at the top; by default the lowest and the highest one of the curve.
    """
    if not minibatches or not len(curve):
        return ""
    inside = np.isfinite(curve[:, 1]) & (curve[:, 0] >= minibatches[0]) & (curve[:, 0] <= minibatches[-1])
    points = curve[inside]
    if len(points) < LEAST_POINTS:
        return ""
    low, high = scale or (float(points[:, 1].min()), float(points[:, 1].max()))
    unit = (HEIGHT - 2 * _MARGIN) / (high - low) if high > low else 0.0
    line = " ".join(
        f"{_find_place(minibatch, minibatches):.1f},{HEIGHT - _MARGIN - unit * (value - low):.1f}"
        for minibatch, value in points
    )
    return f'<polyline class="fm-curve" points="{line}"/>'


def _find_place(minibatch: float, minibatches: Sequence[int]) -> float:
    first, last = math.sqrt(minibatches[0]), math.sqrt(minibatches[-1])
    return WIDTH * (math.sqrt(minibatch) - first) / (last - first) if last > first else 0.0


def _measure_tick(change: float | None, largest: float) -> float:
    return _TICK + (_LARGEST * change / largest if change and largest else 0.0)
