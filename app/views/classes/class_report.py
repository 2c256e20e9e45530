"""The classes page: the quality of predictions for each class, and what misled them."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from app.analysis.hierarchy import Hierarchy, identity
from app.analysis.predictions import Classified, Doing, Misled
from app.views.classes.class_figures import draw_heat_table, draw_reliability, list_reliability
from app.views.markup import draw_options, write_element
from app.views.palette import declare_hue
from app.views.runs.run_list import NO_FORK
from app.views.text import describe_origin, escape, format_percent, shorten, write_title
from app.views.tree.class_overlay import format_signed
from app.views.tree.opening import find_opening_threshold
from app.views.tree.tree_svg import draw_more_offer
from engine.hierarchy.class_scores import find_telling_paths
from engine.hierarchy.tree import Node


def draw_prediction_progress(doing: Doing | None, *, mine: bool) -> str:
    """Return the page that is shown while predictions are computed.

    Parameters
    ----------
    doing : Doing or None
        The prediction that is being computed now.
    mine : bool
        Whether it is the one that this page waits for.
    """
    return (
        f'<div class="tp-page-in"><h1>Classes</h1><p class="tp-dim" role="status" aria-busy="true">'
        f"{_describe_progress(doing, mine=mine)}</p>"
        f"{_draw_progress(doing) if doing is not None and doing.total else ''}</div>"
    )


def _describe_progress(doing: Doing | None, *, mine: bool) -> str:
    """Return a sentence without numbers, so that a screen reader reads it once."""
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


MOST_CELLS = 24  # more classes do not fit into a heat map
_FEW = 8  # for so many classes the heat map fits next to the calibration
_CONFUSED, _TELLING, _DOCUMENTS = 12, 8, 8
_TRAIN, _TEST = "Labelled documents of the class for training", "Labelled documents of the class for the test"
_PRECISION = "Of the test documents predicted as this class, the part that are of it, 0 to 1"
_RECALL = "Of the test documents of this class, the part predicted as it, 0 to 1"
_F1 = "Harmonic mean of precision and recall, 0 to 1"
_CURVE = "Across: probability of the predicted class; upwards: part of those predictions that are right; both 0 to 1"
_MISTAKES = "Test documents of the first class that were predicted as the second"
_CARRIES = (
    "Of all that topics lean to the predicted class rather than to the second, the part of this layer, in percent"
)
_SPEAKS = "Sum of the weights that the topics of the path have for the class; above 0 it speaks for it; it has no unit"
_SURE = "Probability of the predicted class, then the part of the document that comes along this path, both in percent"


class ClassReport(NamedTuple):
    """The contents of the page.

    Attributes
    ----------
    result : Classified
    hierarchy : Hierarchy
        Of the same snapshot.
    titles : mapping of document to str
        The titles of misled documents.
    label : int
        The chosen class, from 1; 0 = all.
    threshold : float
        The threshold of edges in paths that speak for the class.
    newest : int
        Mini-batch of the newest snapshot, or 0 if this is the newest.
    """

    result: Classified
    hierarchy: Hierarchy
    titles: Mapping[int, str]
    label: int
    threshold: float
    newest: int


def draw_class_report(report: ClassReport) -> str:
    """Return the page as HTML."""
    result = report.result
    body = _arrange_few(report) if len(result.names) <= _FEW else _arrange_many(report)
    pieces = (_draw_head(report), _draw_numbers(result), *body, _list_misled(report))
    return f'<div class="tp-page-in cl-page">{"".join(pieces)}</div>'


def _arrange_few(report: ClassReport) -> list[str]:
    """Return wide cards in one column and the calibration next to them."""
    result = report.result
    left = f"{_list_classes(report)}{_draw_confusion(result)}{_draw_layer_shares(result)}{_list_telling_paths(report)}"
    return [f'<div class="cl-two"><div class="cl-stack">{left}</div><div>{_draw_calibration(result)}</div></div>']


def _arrange_many(report: ClassReport) -> list[str]:
    """Return the table of all pairs across the page, or the most frequent mistakes if it would be too large."""
    result = report.result
    return [
        f'<div class="cl-two">{_list_classes(report)}{_draw_calibration(result)}</div>',
        _draw_confusion(result) if len(result.names) <= MOST_CELLS else _list_confused(result),
        f'<div class="cl-two">{_draw_layer_shares(result)}{_list_telling_paths(report)}</div>',
    ]


def draw_waiting(sentence: str, *, over: bool = False) -> str:
    """Return the page with a sentence why there is nothing to show, yet or at all."""
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
    """Return why a run has no classes and what to do about it; ``bare``: the run has no topics yet."""
    go_on = write_element(
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
        go_on if lack == "model" else "",
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
        f"Live is {report.newest:,}: update</button>"
        if report.newest
        else ""
    )
    note = f"{result.scores.documents:,} labelled test documents, predicted at mini-batch {result.minibatch:,}"
    return (
        f'<div class="tp-title"><div><h1>Classes</h1><p class="tp-dim">{note}</p></div>'
        f'<div class="cl-acts">{newer}{picker}</div></div>'
    )


def _draw_numbers(result: Classified) -> str:
    scores = result.scores
    counts = [int(count) for count in result.train_counts if count]
    rare = f"{max(counts) / min(counts):,.1f} to 1" if counts else "unknown"
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
            "sure and wrong costs most",
            "Mean over test documents of minus the log probability of the true class, in nats; 0 is best",
        ),
        (
            "Calibration error",
            format_percent(scores.ece, 2),
            "sure against right",
            "Mean distance, in percentage points, of how sure predictions are and how often they are right",
        ),
        ("Imbalance", rare, "commonest to rarest, training", "Training documents of the largest and smallest class"),
    )
    inside = "".join(
        f'<div class="tp-kpi"{write_title(hint, result)}><span class="tp-kpi-name">{name}</span><b>{escape(value)}</b>'
        f'<span class="tp-dim">{note}</span></div>'
        for name, value, note, hint in cells
    )
    return f'<div class="tp-kpis">{inside}</div>'


def _list_classes(report: ClassReport) -> str:
    result = report.result
    most = max(1, *(int(count) for count in result.train_counts))
    rows = []
    for place, name in enumerate(result.names):
        current = ' aria-current="true"' if place + 1 == report.label else ""
        bar = f'<i class="cl-bar" style="--part:{100 * int(result.train_counts[place]) / most:.1f}%"></i>'
        rows.append(
            f'<tr{current}><th scope="row"><button data-do="label" data-value="{place + 1}" title="Look at this class">'
            f"<b>{place + 1}</b> {escape(shorten(name, 34))}</button></th>"
            f"<td{write_title(_TRAIN)}>{bar}{int(result.train_counts[place]):,}</td>"
            f"<td{write_title(_TEST)}>{int(result.test_counts[place]):,}</td>"
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
    """Return the error of always predicting the most common class of the training documents."""
    if result.commonest is None or result.majority_error is None:
        return "no training document has a label"
    name = escape(shorten(result.names[result.commonest], 30))
    return f"{escape(format_percent(result.majority_error, 2))} by always saying {name}, commonest in training"


def _describe_coverage(result: Classified) -> str:
    covered = int(result.scores.judged.sum())
    if covered == len(result.names):
        return "every class counts alike"
    return f"of {covered:,} of {len(result.names):,} classes; the others have no test documents"


def _format_rates(result: Classified, place: int) -> str:
    """Return precision, recall and F1 of a class; dashes for what is undefined without test documents of it."""
    scores = result.scores
    if not scores.judged[place]:
        return '<td class="tp-dim" colspan="3">– no test documents</td>'
    recall = f"{scores.recall[place]:.3f}" if result.test_counts[place] else "–"
    cells = ((_PRECISION, f"{scores.precision[place]:.3f}"), (_RECALL, recall), (_F1, f"{scores.f1[place]:.3f}"))
    return "".join(f"<td{write_title(what, result)}>{value}</td>" for what, value in cells)


def _draw_calibration(result: Classified) -> str:
    curve = result.scores.reliability
    note = (
        '<p class="tp-dim">On the dashed line, confidence equals accuracy; below it, predictions are too confident.</p>'
    )
    table = f"<details><summary>The numbers</summary>{list_reliability(curve, result)}</details>"
    chart = f"<div{write_title(_CURVE, result)}>{draw_reliability(curve)}</div>"
    return _draw_card("Calibration", f"{note}{chart}{table}")


def _draw_confusion(result: Classified) -> str:
    sentence = "Rows are true classes, columns predicted ones; the stronger the colour, the more of the row."
    note = f'<p class="tp-dim">{sentence}</p>'
    table = draw_heat_table(result.names, result.scores.confusion.tolist(), "true \\ predicted", result)
    return _draw_card("Confusion", note + table)


def _list_confused(result: Classified) -> str:
    """Return the most frequent mistakes, where a table of all pairs would be too large to read."""
    table = result.scores.confusion.copy()
    np.fill_diagonal(table, 0)
    order = np.argsort(-table, axis=None, kind="stable")[:_CONFUSED]
    pairs = [divmod(int(cell), len(result.names)) for cell in order]
    about = write_title(_MISTAKES, result)
    rows = "".join(
        f"<li><b{about}>{int(table[one, other]):,}</b> {escape(result.names[one])} "
        f"taken for {escape(result.names[other])}</li>"
        for one, other in pairs
        if table[one, other]
    )
    return _draw_card("Confusion", f'<p class="tp-dim">The most frequent mistakes.</p><ol class="cl-pairs">{rows}</ol>')


def _draw_layer_shares(result: Classified) -> str:
    if not sum(result.carried):
        why = "The topics lean to no class yet." if result.carried else "This model gives no topic a weight of its own."
        return _draw_card("Which layer carries the prediction", f'<p class="tp-dim">{why}</p>')
    rows = "".join(
        f'<li style="{declare_hue(layer)}"{write_title(_CARRIES, result)}><span>layer {layer}</span>'
        f'<i class="cl-bar" style="--part:{100 * part:.1f}%"></i><b>{escape(format_percent(part))}</b></li>'
        for layer, part in reversed(list(enumerate(result.carried, start=1)))
    )
    note = "How far the topics of a layer lean to the predicted class rather than to the second, in the mean."
    return _draw_card(
        "Which layer carries the prediction", f'<p class="tp-dim">{note}</p><ol class="cl-layers">{rows}</ol>'
    )


def _list_telling_paths(report: ClassReport) -> str:
    title = "Paths that speak for a class"
    hierarchy, commonest = report.hierarchy, report.result.commonest
    label = report.label or (0 if commonest is None else commonest + 1)
    if not 1 <= label <= len(hierarchy.classes):
        return ""
    paths = find_telling_paths(hierarchy.edges(report.threshold), _gather_weights(hierarchy, label - 1), _TELLING)
    rows = "".join(
        f"<li>{_draw_path(hierarchy, nodes)}<b{write_title(_SPEAKS, hierarchy)}>{format_signed(value)}</b></li>"
        for nodes, value in paths
        if value > 0
    )
    name = escape(hierarchy.classes[label - 1])
    which = name if report.label else f"{name}, the commonest in training (choose another above)"
    note = f"For {which}: sums of the weights of their topics, over edges above τ = {report.threshold:g}."
    show = f'<button class="tp-button" data-do="tree" data-value="{label}">Show on the tree</button>'
    if rows:
        return _draw_card(title, f'<p class="tp-dim">{note}</p><ol class="cl-paths">{rows}</ol>{show}')
    if paths:
        none = (
            f"No path over edges above τ = {report.threshold:g} speaks for {which}: none has weights above 0 together."
        )
        return _draw_card(title, f'<p class="tp-dim">{none}</p>{show}')
    none = f'<p class="tp-dim">No path from the top to layer 1 is above τ = {report.threshold:g}.</p>'
    opening = find_opening_threshold(hierarchy)
    return _draw_card(title, f"{none}{draw_more_offer(opening if opening < report.threshold else None)}")


def _gather_weights(hierarchy: Hierarchy, label: int) -> list[np.ndarray]:
    """Return the weights of a class in every layer, by topic number."""
    rows = []
    for layer, weights in enumerate(hierarchy.class_weights):
        names = hierarchy.names[layer] if hierarchy.names else np.arange(weights.shape[1])
        row = np.zeros(int(names.max()) + 1)
        row[names] = weights[label]
        rows.append(row)
    return rows


def _list_misled(report: ClassReport) -> str:
    result, label = report.result, report.label
    documents = [each for each in result.misled if not label or label - 1 in (each.label, each.predicted)]
    wrong = round(result.scores.error * result.scores.documents)
    note = f"{wrong:,} documents were predicted wrongly; the surest {len(result.misled):,} of them are explained."
    if not documents:
        return _draw_card("Misled", f'<p class="tp-dim">{note if wrong else "Every prediction was right."}</p>')
    documents.sort(key=lambda each: each.path)
    groups = [(path, list(group)) for path, group in groupby(documents, key=lambda each: each.path)]
    groups.sort(key=lambda pair: -len(pair[1]))
    inside = "".join(_draw_misled_path(report, path, group) for path, group in groups)
    return _draw_card("Misled", f'<p class="tp-dim">{note} Each is listed under the path that misled it.</p>{inside}')


def _draw_misled_path(report: ClassReport, path: tuple[Node, ...], group: Sequence[Misled]) -> str:
    ranked = sorted(group, key=lambda each: -each.probability)
    rows = [_draw_misled_document(report, each) for each in ranked]
    more = ""
    if len(rows) > _DOCUMENTS:
        rest = "".join(rows[_DOCUMENTS:])
        more = f"<details><summary>{len(rows) - _DOCUMENTS} more</summary><ul>{rest}</ul></details>"
    count = f"{len(rows):,} document{'s' if len(rows) > 1 else ''}"
    about = write_title("Documents explained here that this path misled", report.result)
    head = f'<h3>{_draw_path(report.hierarchy, path)}<small class="tp-dim"{about}>{count}</small></h3>'
    return f'<section class="cl-misled">{head}<ul>{"".join(rows[:_DOCUMENTS])}</ul>{more}</section>'


def _draw_misled_document(report: ClassReport, each: Misled) -> str:
    names = report.result.names
    title = escape(shorten(report.titles.get(each.document, ""), 90) or f"document {each.document}")
    path = ",".join(identity(node) for node in each.path)
    hint = "Read it, the words of this path marked"
    read = f'<button data-do="document" data-number="{each.document}" data-ids="{path}" title="{hint}">{title}</button>'
    return (
        f"<li><span>{read}</span><em>{escape(names[each.label])} → {escape(names[each.predicted])}</em>"
        f"<small{write_title(_SURE, report.result)}>"
        f"{escape(format_percent(each.probability))} sure · {escape(format_percent(each.share))} of it</small></li>"
    )


def _draw_path(hierarchy: Hierarchy, nodes: Sequence[Node]) -> str:
    return (
        '<span class="cl-path">'
        f"{''.join(_draw_path_topic(hierarchy, node) for node in nodes if hierarchy.has(node))}</span>"
    )


def _draw_path_topic(hierarchy: Hierarchy, node: Node) -> str:
    title = hierarchy.title(node)
    hint = describe_origin(f"{title}: topic {identity(node)}; the number is its rank in its layer by share", hierarchy)
    about = f'data-id="{identity(node)}" style="{declare_hue(node.layer)}" title="{escape(hint)}"'
    return f'<button data-do="topic" {about}><b>{hierarchy.rank(node)}</b> {escape(shorten(title, 30))}</button>'


def _draw_card(title: str, inside: str) -> str:
    return f'<section class="cl-card"><h2>{title}</h2>{inside}</section>'
