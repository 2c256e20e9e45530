"""The HTML of the page Classes: the quality of predictions, and the paths of topics that misled them."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.analysis.predictions import Classified, Doing, Misled
from topiary.app.names import format_signed, plural
from topiary.app.views.classes.class_figures import draw_heat_table, draw_reliability, list_reliability
from topiary.app.views.markup import draw_options, draw_title, write_element
from topiary.app.views.palette import declare_hue
from topiary.app.views.runs.run_list import NO_FORK
from topiary.app.views.text import describe_origin, escape, format_percent, shorten, write_title
from topiary.app.views.tree.opening import find_opening_threshold
from topiary.app.views.tree.tree_svg import draw_more_offer
from topiary.engine.hierarchy.class_scores import find_telling_paths
from topiary.engine.hierarchy.tree import Node


def draw_prediction_progress(doing: Doing | None, *, mine: bool) -> str:
    """Return the HTML of the page while predictions are computed.

    Parameters
    ----------
    doing : Doing or None
        Progress of the prediction that is being computed, if any.
    mine : bool
        Whether this page waits for that prediction.
    """
    return (
        f'<div class="tp-page-in"><h1>Classes</h1><p class="tp-dim" role="status" aria-busy="true">'
        f"{_describe_progress(doing, mine=mine)}</p>"
        f"{_draw_progress(doing) if doing is not None and doing.total else ''}</div>"
    )


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


def _draw_progress(doing: Doing) -> str:
    done = f"{doing.done:,} of {doing.total:,} documents"
    return (
        f'<div class="tp-meter tp-running cl-wait" role="progressbar" aria-label="Documents predicted" '
        f'aria-valuemin="0" aria-valuemax="{doing.total}" aria-valuenow="{doing.done}" aria-valuetext="{done}">'
        f'<i style="width:{100 * doing.done / doing.total:.1f}%"></i></div>'
        f'<p class="tp-dim" aria-hidden="true">{done}</p>'
    )


MOST_CELLS = 24  # classes; with more, a heat map would be too large
_FEW = 8  # classes; up to this number, the heat map fits next to the calibration
_CONFUSED, _TELLING, _DOCUMENTS = 12, 8, 8  # mistakes and paths listed; misled documents shown of each path
_TRAIN_HINT, _TEST_HINT = "Labelled documents of the class for training", "Labelled documents of the class for the test"
_PRECISION_HINT = "Of the test documents predicted as this class, the part that are of it, 0 to 1"
_RECALL_HINT = "Of the test documents of this class, the part predicted as it, 0 to 1"
_F1_HINT = "Harmonic mean of precision and recall, 0 to 1"
_CURVE_HINT = (
    "Across: probability of the predicted class; upwards: part of those predictions that are right; both 0 to 1"
)
_MISTAKES_HINT = "Test documents of the first class that were predicted as the second"
_LAYER_SHARE_HINT = (
    "Of all that topics lean to the predicted class rather than to the second, the part of this layer, in percent"
)
_PATH_HINT = (
    "Sum of the weights that the topics of the path have for the class; above 0 it speaks for it; it has no unit"
)
_MISLED_HINT = (
    "Probability of the predicted class, then the part of the document that comes along this path, both in percent"
)


class ClassReport(NamedTuple):
    """The data that the page shows.

    Attributes
    ----------
    result : Classified
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
    result = report.result
    body = _arrange_few(report) if len(result.names) <= _FEW else _arrange_many(report)
    pieces = (_draw_head(report), _draw_numbers(result), *body, _list_misled(report))
    return f'<div class="tp-page-in cl-page">{"".join(pieces)}</div>'


def _arrange_few(report: ClassReport) -> list[str]:
    """Return the cards for few classes: one wide column, with the calibration next to it."""
    result = report.result
    left = f"{_list_classes(report)}{_draw_confusion(result)}{_draw_layer_shares(result)}{_list_telling_paths(report)}"
    return [f'<div class="cl-two"><div class="cl-stack">{left}</div><div>{_draw_calibration(result)}</div></div>']


def _arrange_many(report: ClassReport) -> list[str]:
    """Return the cards for many classes: a wide confusion matrix, or the most frequent mistakes if it is too large."""
    result = report.result
    return [
        f'<div class="cl-two">{_list_classes(report)}{_draw_calibration(result)}</div>',
        _draw_confusion(result) if len(result.names) <= MOST_CELLS else _list_confused(result),
        f'<div class="cl-two">{_draw_layer_shares(result)}{_list_telling_paths(report)}</div>',
    ]


def draw_waiting(sentence: str, *, over: bool = False) -> str:
    """Return the page with a sentence that says why there is nothing to show yet, or (if ``over``) at all."""
    busy = "" if over else ' aria-busy="true"'
    return f'<div class="tp-page-in"><h1>Classes</h1><p class="tp-dim" role="status"{busy}>{escape(sentence)}</p></div>'


Lack: TypeAlias = Literal["model", "labels", ""]
LACKS: Mapping[Lack, str] = {
    "model": "Run {run} learns topics without labels, so it predicts no classes.",
    "labels": "Documents of {corpus} belong to no classes, or all to the same one, so there is nothing to predict.",
}
_HELP: Mapping[Lack, str] = {
    "model": "Its corpus has labels: a run that goes on from these topics can learn them, predict them, and say here "
    "how well it does, which topics speak for which class, and what misled it.",
    "labels": "This page is about documents with labels: at least two classes, of documents for training and for the "
    "test. Add the documents once more with labels: a column called label (or class, category, topic) of a table, or a "
    "folder for each class.",
    "": "",
}


def draw_no_classes(sentence: str, lack: Lack, *, bare: bool = False) -> str:
    """Return the page of a run without classes, which says what to do; ``bare`` means that it has no topics yet."""
    button = write_element(
        "button",
        "Continue with labels",
        class_="tp-button tp-strong",
        data_do="supervise",
        disabled=bare,
        title=NO_FORK if bare else None,
    )
    pieces = (
        f'<h1>Classes</h1><p role="status">{escape(sentence)}</p>',
        f'<p class="tp-dim">{_HELP[lack]}</p>' if _HELP[lack] else "",
        button if lack == "model" else "",
    )
    return f'<div class="tp-page-in cl-none-yet">{"".join(pieces)}</div>'


def _draw_head(report: ClassReport) -> str:
    result = report.result
    names = (shorten(name, 40) for name in ("All classes", *result.names))
    options = draw_options(enumerate(names), report.label)
    picker = (
        '<label class="cl-picker"><span>Class</span><select data-change="label" aria-label="Class" '
        f'title="Which class the paths and the wrong predictions below are about">{options}</select></label>'
    )
    newer = (
        f'<button class="tp-button" data-do="update" title="Predict again with the newest topics">'
        f"Latest is {report.newest:,}: update</button>"
        if report.newest
        else ""
    )
    note = f"{result.scores.documents:,} labelled test documents, predicted at {result.moment}"
    return (
        f'<div class="tp-title"><div><h1>Classes</h1><p class="tp-dim">{note}</p></div>'
        f'<div class="cl-acts">{newer}{picker}</div></div>'
    )


def _draw_numbers(result: Classified) -> str:
    """Return tiles with the overall scores of the predictions."""
    scores = result.scores
    counts = [int(count) for count in result.train_counts if count]
    ratio = max(counts) / min(counts) if counts else 0.0
    imbalance = f"{ratio:,.{0 if ratio >= 10 else 1}f} to 1" if counts else "unknown"
    cells = (
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
    )
    cards = "".join(
        f'<div class="tp-kpi"{write_title(hint, result)}><span class="tp-kpi-name">{name}</span><b>{escape(value)}</b>'
        f'<span class="tp-dim">{note}</span></div>'
        for name, value, note, hint in cells
    )
    return f'<div class="tp-kpis">{cards}</div>'


def _list_classes(report: ClassReport) -> str:
    """Return the table of classes with their sizes and scores."""
    result = report.result
    most = max(1, *(int(count) for count in result.train_counts))
    rows = []
    for place, name in enumerate(result.names):
        current = ' aria-current="true"' if place + 1 == report.label else ""
        bar = f'<i class="cl-bar" style="--part:{100 * int(result.train_counts[place]) / most:.1f}%"></i>'
        rows.append(
            f'<tr{current}><th scope="row"><button data-do="label" data-value="{place + 1}" title="Look at this class">'
            f"<b>{place + 1}</b> {escape(shorten(name, 34))}</button></th>"
            f'<td{write_title(_TRAIN_HINT)}>{bar}<span class="cl-count">{int(result.train_counts[place]):,}</span></td>'
            f"<td{write_title(_TEST_HINT)}>{int(result.test_counts[place]):,}</td>"
            f"{_format_rates(result, place)}</tr>"
        )
    heads = "".join(
        f'<th scope="col">{word}</th>' for word in ("class", "training", "test", "precision", "recall", "F1")
    )
    table = f'<table class="cl-table"><thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    return _draw_card(
        "Classes", f'<div class="cl-scroll" tabindex="0" role="region" aria-label="Classes">{table}</div>'
    )


def _measure_naive_error(result: Classified) -> str:
    """Return a note with the error of always predicting the most common class of the training documents."""
    if result.commonest is None or result.majority_error is None:
        return "no training document has a label"
    name = escape(shorten(result.names[result.commonest], 30))
    return f"{escape(format_percent(result.majority_error, 2))} by always choosing {name}, the most common in training"


def _describe_coverage(result: Classified) -> str:
    covered = int(result.scores.judged.sum())
    if covered == len(result.names):
        return "average over all classes"
    return f"of {covered:,} of {len(result.names):,} classes; the others have no test documents"


def _format_rates(result: Classified, place: int) -> str:
    """Return cells with precision, recall and F1 of a class, or dashes where it lacks test documents."""
    scores = result.scores
    if not scores.judged[place]:
        return '<td class="tp-dim" colspan="3">– no test documents</td>'
    recall = f"{scores.recall[place]:.3f}" if result.test_counts[place] else "–"
    cells = (
        (_PRECISION_HINT, f"{scores.precision[place]:.3f}"),
        (_RECALL_HINT, recall),
        (_F1_HINT, f"{scores.f1[place]:.3f}"),
    )
    return "".join(f"<td{write_title(hint, result)}>{value}</td>" for hint, value in cells)


def _draw_calibration(result: Classified) -> str:
    curve = result.scores.reliability
    note = (
        '<p class="tp-dim">On the dashed line, confidence equals accuracy; below it, predictions are too confident.</p>'
    )
    table = f"<details><summary>The numbers</summary>{list_reliability(curve, result)}</details>"
    chart = f"<div{write_title(_CURVE_HINT, result)}>{draw_reliability(curve)}</div>"
    return _draw_card("Calibration", f"{note}{chart}{table}")


def _draw_confusion(result: Classified) -> str:
    sentence = "Rows are true classes, columns predicted ones; the stronger the colour, the more of the row."
    note = f'<p class="tp-dim">{sentence}</p>'
    table = draw_heat_table(result.names, result.scores.confusion.tolist(), "true \\ predicted", result)
    return _draw_card("Confusion", note + table)


def _list_confused(result: Classified) -> str:
    """Return the card with the most frequent mistakes, for too many classes to show a confusion matrix."""
    mistakes = result.scores.confusion.copy()
    np.fill_diagonal(mistakes, 0)
    order = np.argsort(-mistakes, axis=None, kind="stable")[:_CONFUSED]
    pairs = [divmod(int(cell), len(result.names)) for cell in order]
    hint = write_title(_MISTAKES_HINT, result)
    rows = "".join(
        f"<li><b{hint}>{int(mistakes[true_class, predicted]):,}</b> {escape(result.names[true_class])} "
        f"taken for {escape(result.names[predicted])}</li>"
        for true_class, predicted in pairs
        if mistakes[true_class, predicted]
    )
    return _draw_card("Confusion", f'<p class="tp-dim">The most frequent mistakes.</p><ol class="cl-pairs">{rows}</ol>')


def _draw_layer_shares(result: Classified) -> str:
    """Return the card with each layer's share in the predictions."""
    if not sum(result.carried):
        reason = (
            "The topics lean to no class yet." if result.carried else "This model gives no topic a weight of its own."
        )
        return _draw_card("Which layer carries the prediction", f'<p class="tp-dim">{reason}</p>')
    rows = "".join(
        f'<li style="{declare_hue(layer)}"{write_title(_LAYER_SHARE_HINT, result)}><span>layer {layer}</span>'
        f'<i class="cl-bar" style="--part:{100 * part:.1f}%"></i><b>{escape(format_percent(part))}</b></li>'
        for layer, part in reversed(list(enumerate(result.carried, start=1)))
    )
    note = "How far the topics of a layer lean to the predicted class rather than to the second, in the mean."
    return _draw_card(
        "Which layer carries the prediction", f'<p class="tp-dim">{note}</p><ol class="cl-layers">{rows}</ol>'
    )


def _list_telling_paths(report: ClassReport) -> str:
    """Return the card with the paths whose topics speak most for the chosen class."""
    title = "Paths that speak for a class"
    hierarchy, commonest = report.hierarchy, report.result.commonest
    label = report.label or (0 if commonest is None else commonest + 1)
    if not 1 <= label <= len(hierarchy.classes):
        return ""
    paths = find_telling_paths(hierarchy.edges(report.threshold), _gather_weights(hierarchy, label - 1), _TELLING)
    rows = "".join(
        f"<li>{_draw_path(hierarchy, nodes)}<b{write_title(_PATH_HINT, hierarchy)}>{format_signed(value)}</b></li>"
        for nodes, value in paths
        if value > 0
    )
    name = escape(hierarchy.classes[label - 1])
    class_name = name if report.label else f"{name}, the commonest in training (choose another above)"
    note = f"For {class_name}: sums of the weights of their topics, over edges above τ = {report.threshold:g}."
    button = f'<button class="tp-button" data-do="tree" data-value="{label}">Show on the tree</button>'
    if rows:
        return _draw_card(title, f'<p class="tp-dim">{note}</p><ol class="cl-paths">{rows}</ol>{button}')
    if paths:
        sentence = (
            f"No path over edges above τ = {report.threshold:g} speaks for {class_name}: "
            "none has weights above 0 together."
        )
        return _draw_card(title, f'<p class="tp-dim">{sentence}</p>{button}')
    sentence = f'<p class="tp-dim">No path from the top to layer 1 is above τ = {report.threshold:g}.</p>'
    opening = find_opening_threshold(hierarchy)
    return _draw_card(title, f"{sentence}{draw_more_offer(opening if opening < report.threshold else None)}")


def _gather_weights(hierarchy: Hierarchy, label: int) -> list[np.ndarray]:
    """Return the weights of a class for each layer, as an array indexed by topic number."""
    rows = []
    for layer, weights in enumerate(hierarchy.class_weights):
        topic_numbers = hierarchy.names[layer] if hierarchy.names else np.arange(weights.shape[1])
        row = np.zeros(int(topic_numbers.max()) + 1)
        row[topic_numbers] = weights[label]
        rows.append(row)
    return rows


def _list_misled(report: ClassReport) -> str:
    """Return the card with wrong predictions, grouped by the path that misled them."""
    result, label = report.result, report.label
    documents = [misled for misled in result.misled if not label or label - 1 in (misled.label, misled.predicted)]
    wrong = round(result.scores.error * result.scores.documents)
    note = f"{wrong:,} documents were predicted wrongly; the surest {len(result.misled):,} of them are explained."
    if not documents:
        return _draw_card("Misled", f'<p class="tp-dim">{note if wrong else "Every prediction was right."}</p>')
    documents.sort(key=lambda misled: misled.path)
    groups = [(path, list(group)) for path, group in groupby(documents, key=lambda misled: misled.path)]
    groups.sort(key=lambda pair: -len(pair[1]))
    sections = "".join(_draw_misled_path(report, path, group) for path, group in groups)
    return _draw_card("Misled", f'<p class="tp-dim">{note} Each is listed under the path that misled it.</p>{sections}')


def _draw_misled_path(report: ClassReport, path: tuple[Node, ...], group: Sequence[Misled]) -> str:
    ranked = sorted(group, key=lambda misled: -misled.probability)
    rows = [_draw_misled_document(report, misled) for misled in ranked]
    more = ""
    if len(rows) > _DOCUMENTS:
        rest = "".join(rows[_DOCUMENTS:])
        more = f"<details><summary>{len(rows) - _DOCUMENTS} more</summary><ul>{rest}</ul></details>"
    count = plural(len(rows), "document")
    hint = write_title("Documents explained here that this path misled", report.result)
    head = f'<h3>{_draw_path(report.hierarchy, path)}<small class="tp-dim"{hint}>{count}</small></h3>'
    return f'<section class="cl-misled">{head}<ul>{"".join(rows[:_DOCUMENTS])}</ul>{more}</section>'


def _draw_misled_document(report: ClassReport, misled: Misled) -> str:
    names = report.result.names
    title = escape(shorten(report.titles.get(misled.document, ""), 90) or f"document {misled.document}")
    path = ",".join(format_identity(node) for node in misled.path)
    hint = "Read it, the words of this path marked"
    button = (
        f'<button data-do="document" data-number="{misled.document}" data-ids="{path}" title="{hint}">{title}</button>'
    )
    return (
        f"<li><span>{button}</span><em>{escape(names[misled.label])} → {escape(names[misled.predicted])}</em>"
        f"<small{write_title(_MISLED_HINT, report.result)}>"
        f"{escape(format_percent(misled.probability))} sure · {escape(format_percent(misled.share))} of it</small></li>"
    )


def _draw_path(hierarchy: Hierarchy, nodes: Sequence[Node]) -> str:
    return (
        '<span class="cl-path">'
        f"{''.join(_draw_path_topic(hierarchy, node) for node in nodes if hierarchy.has(node))}</span>"
    )


def _draw_path_topic(hierarchy: Hierarchy, node: Node) -> str:
    title = hierarchy.title(node)
    hint = describe_origin(f"{title}: topic {format_identity(node)}", hierarchy)
    attributes = f'data-id="{format_identity(node)}" style="{declare_hue(node.layer)}" title="{escape(hint)}"'
    return f'<button data-do="topic" {attributes}><b>{format_identity(node)}</b> {draw_title(title)}</button>'


def _draw_card(title: str, inside: str) -> str:
    return f'<section class="cl-card"><h2>{title}</h2>{inside}</section>'
