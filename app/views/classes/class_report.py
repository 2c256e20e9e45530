"""The HTML of the page Classes: the quality of predictions, and the paths of topics that misled them.

The confusion matrix as a heat map, and the reliability curve with a table of its numbers.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from types import SimpleNamespace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.predictions import Classified, Doing, Misled
from topiary.app.names import plural
from topiary.app.views.html import render
from topiary.app.views.runs.run_list import NO_FORK
from topiary.app.views.text import SnapshotSource, describe_origin, escape, format_percent, shorten
from topiary.app.views.tree.opening import find_opening_threshold
from topiary.app.views.tree.tree_svg import draw_more_offer
from topiary.engine.hierarchy.class_scores import Reliability, find_telling_paths
from topiary.engine.hierarchy.tree import Node

ColourChannels = tuple[int, int, int]
# Colours of the shares 0 and 1 of a row: larger shares differ more from the background in both themes.
_LIGHT: tuple[ColourChannels, ColourChannels] = (238, 241, 234), (0, 32, 76)
_DARK: tuple[ColourChannels, ColourChannels] = (29, 39, 34), (255, 233, 69)


def blend_colour(part: float, *, dark: bool = False) -> str:
    """Return the colour of a share from 0 to 1: darker for more on a light page, brighter for more on a dark one."""
    return "#" + "".join(f"{channel:02x}" for channel in _blend_channels(part, dark=dark))


def choose_ink(part: float, *, dark: bool = False) -> str:
    """Return black or white, whichever is easier to read on the colour of a share."""
    light = _measure_luminance(_blend_channels(part, dark=dark)) + 0.05
    return "#000000" if light / 0.05 >= 1.05 / light else "#ffffff"


def _blend_channels(part: float, *, dark: bool) -> ColourChannels:
    low, high = _DARK if dark else _LIGHT
    fraction = min(1.0, max(0.0, part))
    red, green, blue = (round(start + fraction * (end - start)) for start, end in zip(low, high, strict=True))
    return red, green, blue


def _measure_luminance(colour: ColourChannels) -> float:
    """Return the relative luminance (0 to 1) of a colour, as defined in the Web Content Accessibility Guidelines."""
    shares = (channel / 255 for channel in colour)
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def draw_heat_table(names: Sequence[str], counts: Sequence[Sequence[int]], corner: str, source: SnapshotSource) -> str:
    """Return a square table of counts as HTML, with each cell coloured by its share of the row.

    Parameters
    ----------
    names : sequence of str
        The names of the rows; columns have their numbers instead.
    counts : sequence of sequence of int
    corner : str
        The text of the corner cell, which says what rows and columns are.
    source : SnapshotSource
        The snapshot that the counts come from.
    """
    rows = [
        [
            (count, *_describe_cell(count, count / max(1, sum(row)), f"{names[place]} taken for {names[at]}", source))
            for at, count in enumerate(row)
        ]
        for place, row in enumerate(counts)
    ]
    return render("classes.heat_table", names, rows, corner)


def _describe_cell(count: int, part: float, words: str, source: SnapshotSource) -> tuple[str, str]:
    """Return the colours of a cell, and what it says; nothing for an empty cell."""
    if not count:
        return "", ""
    tip = describe_origin(f"{words}: {plural(count, 'test document')} ({format_percent(part, 1)} of the row)", source)
    background = f"light-dark({blend_colour(part)},{blend_colour(part, dark=True)})"
    ink = f"light-dark({choose_ink(part)},{choose_ink(part, dark=True)})"
    return f"background:{background};color:{ink}", tip


_SIZE, _LEFT, _BELOW = 300.0, 44.0, 40.0  # pixels: side of the square, space for labels at its left and below it


def draw_reliability(curve: Reliability) -> str:
    """Draw accuracy over confidence as SVG; perfect calibration lies on the diagonal, dots grow with their bins."""
    filled = [
        (float(confidence), float(accuracy), int(bin_count))
        for bin_count, confidence, accuracy in zip(*curve, strict=True)
        if bin_count > 0
    ]
    largest = max((count for *_, count in filled), default=1)
    line = " ".join(f"{_place_x(x):.1f},{_place_y(y):.1f}" for x, y, _ in filled)
    dots = "".join(
        f'<circle cx="{_place_x(x):.1f}" cy="{_place_y(y):.1f}" r="{3 + 7 * (count / largest) ** 0.5:.1f}">'
        f"<title>{count:,} documents, {escape(format_percent(x))} sure, {escape(format_percent(y))} right"
        "</title></circle>"
        for x, y, count in filled
    )
    marks = "".join(_draw_grid_line(part / 5) for part in range(6))
    width, height = _LEFT + _SIZE + 12, _SIZE + _BELOW + 12
    middle, y_label_place = _LEFT + _SIZE / 2, f"translate(11 {12 + _SIZE / 2:.0f}) rotate(-90)"
    return (
        f'<svg class="cl-curve" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'aria-label="Reliability curve; the table beneath has its numbers">{marks}'
        f'<path class="cl-ideal" d="M{_place_x(0):.1f} {_place_y(0):.1f}L{_place_x(1):.1f} {_place_y(1):.1f}"/>'
        f'<polyline class="cl-line" points="{line}"/><g class="cl-dots">{dots}</g>'
        f'<text x="{middle:.0f}" y="{height - 4:.0f}" text-anchor="middle">probability of the predicted class</text>'
        f'<text transform="{y_label_place}" text-anchor="middle">predicted rightly</text>'
        "</svg>"
    )


def list_reliability(curve: Reliability, source: SnapshotSource) -> str:
    """Return the bins of a reliability curve as an HTML table; ``source`` is the snapshot of the predictions."""
    n = len(curve.counts)
    rows = [
        (place / n, (place + 1) / n, *figures)
        for place, figures in enumerate(zip(*curve, strict=True))
        if figures[0] > 0
    ]
    return render("classes.bins", rows, source)


def _place_x(part: float) -> float:
    return _LEFT + part * _SIZE


def _place_y(part: float) -> float:
    return 12 + (1 - part) * _SIZE


def _draw_grid_line(part: float) -> str:
    return (
        f'<path class="cl-grid" d="M{_place_x(0):.1f} {_place_y(part):.1f}'
        f'H{_place_x(1):.1f}M{_place_x(part):.1f} {_place_y(0):.1f}V{_place_y(1):.1f}"/>'
        f'<text x="{_place_x(part):.1f}" y="{_place_y(0) + 16:.1f}" text-anchor="middle">{part:g}</text>'
        f'<text x="{_LEFT - 6:.1f}" y="{_place_y(part) + 4:.1f}" text-anchor="end">{part:g}</text>'
    )


def draw_prediction_progress(doing: Doing | None, *, mine: bool) -> str:
    """Return the HTML of the page while predictions are computed.

    Parameters
    ----------
    doing : Doing or None
        Progress of the prediction that is being computed, if any.
    mine : bool
        Whether this page waits for that prediction.
    """
    return render("classes.progress", _describe_progress(doing, mine=mine), doing)


def _describe_progress(doing: Doing | None, *, mine: bool) -> str:
    """Return a sentence without numbers, so that a screen reader does not repeat it at every step."""
    if doing is None:
        return "Getting the predictions of this snapshot …"
    if not mine:
        return f"One prediction at a time: waiting for that of run {doing.run} …"
    if not doing.total:
        return "Preparing the model. The first time on a machine its kernels are compiled, about 20 s …"
    sentence = "Predicting the class of every labelled test document, once for this snapshot."
    return f"{sentence} The first time since the server started, the kernels are loaded before it counts …"


MOST_CELLS = 24  # classes; with more, a heat map would be too large
_CONFUSED, _TELLING = 12, 8  # mistakes and paths listed


class ClassReport(NamedTuple):
    """The data that the page shows.

    Attributes
    ----------
    hierarchy : Hierarchy
        The hierarchy of the same snapshot.
    titles : mapping of document to str
        Titles of the misled documents by number.
    label : int
        Number of the chosen class, from 1; 0 = all.
    threshold : float
        The threshold of edges for paths that speak for a class.
    newest : int
        Mini-batch of the newest snapshot; 0 if the report is about the newest.
    """

    result: Classified
    hierarchy: Hierarchy
    titles: Mapping[int, str]
    label: int
    threshold: float
    newest: int


def draw_class_report(report: ClassReport) -> str:
    """Return the HTML of the page."""
    result, misled = report.result, _group_misled(report)
    choices = list(enumerate(shorten(name, 40) for name in ("All classes", *result.names)))
    heat, mistakes = "", []
    if len(result.names) <= MOST_CELLS:
        heat = draw_heat_table(result.names, result.scores.confusion.tolist(), "true \\ predicted", result)
    else:
        mistakes = _list_confused(result)
    curve = result.scores.reliability
    wrong = round(result.scores.error * result.scores.documents)
    return render(
        "classes.page", report, choices, _list_numbers(result), heat, mistakes, draw_reliability(curve),
        list_reliability(curve, result), wrong, _find_telling_paths(report), misled,
    )  # fmt: skip


def draw_waiting(sentence: str, *, over: bool = False) -> str:
    """Return the page with a sentence that says why there is nothing to show yet, or (if ``over``) at all."""
    return render("classes.waiting", sentence, over)


Lack: TypeAlias = Literal["model", "labels", ""]
LACKS: Mapping[Lack, str] = {
    "model": "Run {run} learns topics without labels, so it predicts no classes.",
    "labels": "Documents of {corpus} belong to no classes, or all to the same one, so there is nothing to predict.",
}


def draw_no_classes(sentence: str, lack: Lack, *, bare: bool = False) -> str:
    """Return the page of a run without classes, which says what to do; ``bare`` means that it has no topics yet."""
    return render("classes.no_classes", sentence, lack, bare, NO_FORK)


def _list_numbers(result: Classified) -> list[tuple[str, str, str, str]]:
    """Return the overall scores of the predictions: name, value, note, and what it is."""
    scores = result.scores
    counts = [int(count) for count in result.train_counts if count]
    ratio = max(counts) / min(counts) if counts else 0.0
    imbalance = f"{ratio:,.{0 if ratio >= 10 else 1}f} to 1" if counts else "unknown"
    return [
        (
            "Error",
            format_percent(scores.error, 2),
            _measure_naive_error(result),
            "Part of the test documents predicted wrongly; lower is better",
        ),
        ("Macro-F1", f"{scores.macro_f1:.3f}", _describe_coverage(result), "Mean F1 over classes; 1 is best"),
        (
            "Log loss",
            f"{scores.log_loss:.3f}",
            "confident errors cost most",
            "Mean over test documents of minus the log probability of the true class, in nats; 0 is best",
        ),
        (
            "Calibration error",
            format_percent(scores.ece, 2),
            "confidence compared with accuracy",
            "Mean distance, in percentage points, of the probability of predictions and how often they are right",
        ),
        (
            "Imbalance",
            imbalance,
            "largest to smallest, training",
            "Training documents of the largest and smallest class",
        ),
    ]


def _measure_naive_error(result: Classified) -> str:
    """Return a note with the error of always predicting the most common class of the training documents."""
    if result.commonest is None or result.majority_error is None:
        return "no training document has a label"
    name = shorten(result.names[result.commonest], 30)
    return f"{format_percent(result.majority_error, 2)} by always choosing {name}, the most common in training"


def _describe_coverage(result: Classified) -> str:
    covered = int(result.scores.judged.sum())
    if covered == len(result.names):
        return "average over all classes"
    return f"of {covered:,} of {len(result.names):,} classes; the others have no test documents"


def _list_confused(result: Classified) -> list[tuple[int, str, str]]:
    """Return the most frequent mistakes, for too many classes to show a confusion matrix: count, true, predicted."""
    mistakes = result.scores.confusion.copy()
    np.fill_diagonal(mistakes, 0)
    order = np.argsort(-mistakes, axis=None, kind="stable")[:_CONFUSED]
    pairs = [divmod(int(cell), len(result.names)) for cell in order]
    return [
        (int(mistakes[label, predicted]), result.names[label], result.names[predicted])
        for label, predicted in pairs
        if mistakes[label, predicted]
    ]


def _find_telling_paths(report: ClassReport) -> SimpleNamespace | None:
    """Return the paths whose topics speak most for the chosen class, or the commonest; None without such a class."""
    hierarchy, commonest = report.hierarchy, report.result.commonest
    label = report.label or (0 if commonest is None else commonest + 1)
    if not 1 <= label <= len(hierarchy.classes):
        return None
    paths = find_telling_paths(hierarchy.edges(report.threshold), _gather_weights(hierarchy, label - 1), _TELLING)
    opening = report.threshold if paths else find_opening_threshold(hierarchy)
    name = hierarchy.classes[label - 1]
    return SimpleNamespace(
        label=label,
        name=name if report.label else f"{name}, the commonest in training (choose another above)",
        known=bool(paths),
        rows=[(nodes, value) for nodes, value in paths if value > 0],
        offer=draw_more_offer(opening if opening < report.threshold else None),
    )


def _gather_weights(hierarchy: Hierarchy, label: int) -> list[np.ndarray]:
    """Return the weights of a class for each layer, as an array indexed by topic number."""
    rows = []
    for layer, weights in enumerate(hierarchy.class_weights):
        topic_numbers = hierarchy.names[layer] if hierarchy.names else np.arange(weights.shape[1])
        row = np.zeros(int(topic_numbers.max()) + 1)
        row[topic_numbers] = weights[label]
        rows.append(row)
    return rows


def _group_misled(report: ClassReport) -> list[tuple[tuple[Node, ...], list[Misled]]]:
    """Return wrong predictions that are explained, the surest first, by the path that misled them."""
    result, label = report.result, report.label
    documents = [misled for misled in result.misled if not label or label - 1 in (misled.label, misled.predicted)]
    documents.sort(key=lambda misled: (misled.path, -misled.probability))
    groups = [(path, list(group)) for path, group in groupby(documents, key=lambda misled: misled.path)]
    return sorted(groups, key=lambda pair: -len(pair[1]))
