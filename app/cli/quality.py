"""``topiary quality`` and ``classify``: the quality of the topics of a run, and of its predictions of classes."""

import argparse
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.analysis.predictions import Classified
from topiary.app.analysis.quality import LOW, Completion, list_figures, read_completion, read_quality
from topiary.app.analysis.read_hierarchy import find_snapshot, find_snapshot_at
from topiary.app.analysis.reader import StoreReader
from topiary.app.analysis.seeds import summarize_layer
from topiary.app.cli.console import UserError, find_run, print_json, say
from topiary.app.export.class_facts import list_class_facts
from topiary.app.export.recurrence import summarize_seeds
from topiary.app.export.texts import drop_infinite, flatten_text
from topiary.app.live.predictions import fetch_predictions
from topiary.app.names import plural
from topiary.app.views.compare.recurrence import describe_found
from topiary.app.views.text import format_percent
from topiary.app.views.tree.opening import find_opening_threshold
from topiary.engine.quality.measures import Quality, SampleSize
from topiary.store.database import open_existing

_COUNTS = ("topics", "live")  # figures that are whole numbers
# Titles of the figures, in the order in which they are printed.
_NAMES = {
    "topics": "topics",
    "live": "live topics",
    "npmi": "NPMI",
    "npmi_all": "NPMI, all topics",
    "worst_tenth": "worst tenth",
    "diversity": "diversity",
    "umass": "UMass",
    "npmi_test": "NPMI, test documents",
    "specialization": "specialization",
    "affinity_child": "affinity, children",
    "affinity_other": "affinity, other topics",
    "affinity_weighted": "affinity, by weight",
    "cross_npmi": "CLNPMI",
    "label_nmi": "label NMI",
    "label_purity": "label purity",
}


def quality(arguments: argparse.Namespace) -> int:
    """Print the measures of every layer and the layer's best and worst topics."""
    db = open_existing(arguments.store)
    run = find_run(db, arguments.run)
    hierarchy = StoreReader(db).hierarchy_at(run, arguments.minibatch, seeds=True)
    hierarchy = hierarchy.choose_words(arguments.relevance)
    if arguments.layer is not None:
        try:
            hierarchy.at_rank(arguments.layer, 1)
        except LookupError as error:
            raise UserError(str(error.args[0])) from error
    all_layers = read_quality(db, run, hierarchy, labels=not arguments.no_labels)
    layers = [each for each in all_layers if arguments.layer in (None, each.layer)]
    completion = read_completion(db, run, hierarchy)
    if arguments.json:
        print_json(list_quality_facts(hierarchy, layers, completion))
        return 0
    say(f"run {hierarchy.run}, {hierarchy.moment}, corpus {flatten_text(hierarchy.corpus)}\n")
    _print_measures(layers)
    say(f"\n{describe_figures(layers[0])}")
    for sentence in _describe_certainty(hierarchy, [each.layer for each in layers]):
        say(sentence)
    if hierarchy.recurrence is not None:
        others = hierarchy.recurrence.n_runs - 1
        say(f"\nFound again by {plural(others, 'other seed')} (topiary seeds):")
        for each in layers:
            say(f"  {summarize_seeds(hierarchy, hierarchy.recurrence, each.layer, find_opening_threshold(hierarchy))}")
    if completion is not None:
        say(f"\n{_describe_completion(completion)}")
    for each in layers:
        _print_topics(hierarchy, each, arguments.most)
    return 0


def list_quality_facts(hierarchy: Hierarchy, found: Sequence[Quality], completion: Completion | None) -> dict[str, Any]:
    """Return the facts that ``quality --json`` prints; unknown ones are None."""
    first = found[0]
    return {
        "run": hierarchy.run,
        "snapshot": hierarchy.snapshot,
        "minibatch": hierarchy.minibatch,
        "words": first.words.shape[1],
        "training_documents": first.train.total,
        "training_documents_read": first.train.documents,
        "test_documents": first.test.total,
        "test_documents_read": first.test.documents,
        "labelled_documents": first.clusters.documents if first.clusters else 0,
        "completion": None if completion is None else _list_completion_facts(completion),
        "layers": [_list_layer_facts(hierarchy, each) for each in found],
    }


def _list_completion_facts(completion: Completion) -> dict[str, Any]:
    return {
        name: value if isinstance(value, int) else drop_infinite(value) for name, value in completion._asdict().items()
    }


def _list_layer_facts(hierarchy: Hierarchy, layer_quality: Quality) -> dict[str, Any]:
    measures = {
        name: value if name in _COUNTS else drop_infinite(value) for name, value in list_figures(layer_quality).items()
    }
    return (
        {"layer": layer_quality.layer}
        | measures
        | {"certainty": _measure_certainty(hierarchy, layer_quality.layer)}
        | {"seeds": _measure_seeds(hierarchy, layer_quality.layer)}
        | {"by_topic": [_list_topic_facts(hierarchy, layer_quality, k) for k in _rank_topics(hierarchy, layer_quality)]}
    )


def _measure_certainty(hierarchy: Hierarchy, layer: int) -> dict[str, Any] | None:
    """Return the certainty of a layer at the threshold at which the tree opens; None where it is not known."""
    threshold = find_opening_threshold(hierarchy)
    certainty = hierarchy.measure_layer_certainty(layer, threshold)
    return None if certainty is None else certainty._asdict() | {"threshold": threshold}


def _measure_seeds(hierarchy: Hierarchy, layer: int) -> dict[str, Any] | None:
    """Return what of a layer comes back with other seeds at the same threshold; None where there are none."""
    recurrence, threshold = hierarchy.recurrence, find_opening_threshold(hierarchy)
    if recurrence is None:
        return None
    facts = summarize_layer(hierarchy, recurrence, layer, threshold)._asdict() | {"threshold": threshold}
    return facts | {"runs": recurrence.n_runs, "edge_agreement": drop_infinite(facts["edge_agreement"])}


def _describe_certainty(hierarchy: Hierarchy, layers: Sequence[int]) -> list[str]:
    """Return a sentence for each layer on how many topics wander, and how many edges are sure within the run."""
    sentences = []
    for layer in layers:
        facts = _measure_certainty(hierarchy, layer)
        if facts is None:
            continue
        wandering = f"{facts['wandering']} of {hierarchy.widths[layer - 1]} topics wander"
        edges = (
            f"; {facts['sure_edges']} of {facts['edges']} edges to layer {layer - 1} above {facts['threshold']:g} / "
            f"{hierarchy.widths[layer - 2]} are sure within this run (90%)"
            if layer > 1
            else ""
        )
        sentences.append(f"Certainty of layer {layer}: {wandering}{edges}.")
    return sentences


def _list_topic_facts(hierarchy: Hierarchy, layer_quality: Quality, column: int) -> dict[str, Any]:
    node = hierarchy.node(layer_quality.layer, column)
    return {
        "topic": format_identity(node),
        "title": hierarchy.title(node),
        "rank": hierarchy.rank(node),
        "live": bool(layer_quality.live[column]),
        "npmi": drop_infinite(layer_quality.npmi[column]),
        "umass": drop_infinite(layer_quality.umass[column]),
        "npmi_test": None if layer_quality.held_out is None else drop_infinite(layer_quality.held_out[column]),
        "specialization": drop_infinite(layer_quality.specialization[column]),
        "found_in": hierarchy.count_runs(node),
        "words": _list_words(hierarchy, layer_quality, column),
    }


def describe_figures(found: Quality) -> str:
    """Return a line that describes which words and documents the figures are computed from."""
    sentences = [
        f"NPMI: the {found.words.shape[1]} words shown first, in whole training documents "
        f"({_describe_sample(found.train)}), "
        "where a pair that never meets counts -1; not comparable with c_npmi of papers."
    ]
    if found.test.documents:
        sentences.append(
            f"For reference the same in test documents ({_describe_sample(found.test)}){_describe_missing(found)}."
        )
    if found.clusters:
        sentences.append(f"Labels: of {found.clusters.documents:,} documents.")
    sentences.append("Figures are of live topics, of at least 0.1% of the tokens.")
    return " ".join(sentences)


def _describe_completion(completion: Completion) -> str:
    """Return a sentence on how well a model of rows and columns completes test rows."""
    scores = f"completion perplexity {completion.perplexity:,.1f}, NDCG {completion.ndcg:.3f}"
    if completion.low:
        scores += f", NDCG of the {completion.low:,} with fewer than {LOW} observed cells {completion.ndcg_low:.3f}"
    return f"Completed from a tenth of their cells, {completion.rows:,} of {completion.every:,} test rows: {scores}."


def _describe_sample(sample: SampleSize) -> str:
    """Return a phrase on how many documents were read."""
    if sample.documents == sample.total:
        return f"all {sample.total:,}"
    return f"a sample of {sample.documents:,} of {sample.total:,}"


def _describe_missing(layer_quality: Quality) -> str:
    """Return a clause on how many first words of live topics no test document contains; empty for none."""
    n_missing = int(layer_quality.missing[layer_quality.live].sum())
    return f", which lack {n_missing:,} of the words of layer {layer_quality.layer}" if n_missing else ""


def _print_measures(layers: Sequence[Quality]) -> None:
    """Print measures as rows and layers as columns, leaving out measures that no layer has."""
    columns = [list_figures(each) for each in layers]
    width = max(map(len, _NAMES.values()))
    say(" " * width + "".join(f"{f'layer {each.layer}':>11}" for each in layers))
    for name, title in _NAMES.items():
        values = [column[name] for column in columns]
        if any(math.isfinite(value) for value in values):
            say(f"{title:<{width}}" + "".join(f"{_format_cell(name, value):>11}" for value in values))


def _format_cell(name: str, value: float) -> str:
    if not math.isfinite(value):
        return "-"
    return f"{value:,}" if name in _COUNTS else f"{value:.3f}"


def _print_topics(hierarchy: Hierarchy, layer_quality: Quality, most: int) -> None:
    """Print the ``most`` best and worst live topics of a layer by NPMI.

    No topic is printed twice: where there are few, the better half are the best and the others the worst.
    """
    live = [column for column in np.argsort(-layer_quality.npmi, kind="stable").tolist() if layer_quality.live[column]]
    half = -(-len(live) // 2)
    for adjective, columns in (("best", live[:half][:most]), ("worst", live[half:][::-1][:most])):
        if columns:
            say(f"\n{adjective} topics of layer {layer_quality.layer}")
        for column in columns:
            node = hierarchy.node(layer_quality.layer, column)
            words = flatten_text(" ".join(_list_words(hierarchy, layer_quality, column)))
            n_found, recurrence = hierarchy.count_runs(node), hierarchy.recurrence
            seeds = "" if n_found is None or recurrence is None else f"  {describe_found(n_found, recurrence.n_runs)}"
            place = f"{format_identity(node):<7}{hierarchy.rank(node):>5}"
            title = flatten_text(hierarchy.title(node))
            say(f"  {layer_quality.npmi[column]:6.3f}  {place}{seeds}  {title}: {words}")


def _rank_topics(hierarchy: Hierarchy, layer_quality: Quality) -> list[int]:
    """Return the columns of the topics of a layer, most popular first."""
    return [int(column) for column in hierarchy.order[layer_quality.layer - 1]]


def _list_words(hierarchy: Hierarchy, layer_quality: Quality, column: int) -> list[str]:
    return [hierarchy.vocabulary[number] for number in layer_quality.words[column].tolist()]


SHOWN = 10  # wrong predictions printed; --json lists all that are explained


def classify(arguments: argparse.Namespace) -> int:
    """Print the quality of predicted classes, and the wrong predictions with the paths that caused them."""
    db = open_existing(arguments.store)
    run = find_run(db, arguments.run)
    try:
        snapshot = 0 if arguments.minibatch is None else find_snapshot_at(db, run, arguments.minibatch).number
        predictions = fetch_predictions(db, run, snapshot)
    except ReadError as error:
        raise UserError(str(error)) from error
    hierarchy = StoreReader(db).hierarchy(run, find_snapshot(db, run.number, predictions.snapshot))
    facts = list_class_facts(predictions, hierarchy)
    if arguments.json:
        print_json(facts)
        return 0
    _print_predictions(facts, predictions)
    return 0


def _print_predictions(facts: dict[str, Any], predictions: Classified) -> None:
    """Print the scores, a table of the classes and the surest wrong predictions."""
    say(f"run {facts['run']}, mini-batch {facts['minibatch']:,}: {facts['documents']:,} labelled test documents")
    say(f"error              {format_percent(facts['error'], 2)}{_describe_naive(facts)}")
    say(f"macro-F1           {facts['macro_f1']:.4f}{_describe_coverage(facts)}")
    say(f"log loss           {facts['log_loss']:.4f}")
    say(f"calibration error  {format_percent(facts['calibration_error'], 2)}")
    for layer, share in enumerate(facts["layers"], start=1):
        say(f"layer {layer} carries    {format_percent(share, 2)} of the predictions")
    width = max(len(flatten_text(name)) for name in predictions.names)
    say(f"\n{'class':<{width}}  {'train':>8} {'test':>8} {'precision':>9} {'recall':>7} {'F1':>7}")
    for row in facts["classes"]:
        scores = f"{_format_score(row['precision']):>9} {_format_score(row['recall']):>7} {_format_score(row['f1']):>7}"
        note = "" if row["test"] else "  no test documents"
        say(f"{flatten_text(row['class']):<{width}}  {row['train']:>8,} {row['test']:>8,} {scores}{note}")
    if facts["misled"]:
        say(f"\nthe surest wrong predictions, and the path that misled ({len(facts['misled'])} explained with --json):")
    for row in facts["misled"][:SHOWN]:
        path = " > ".join(f"{step['topic']} {flatten_text(step['title'])}" for step in row["path"])
        say(
            f"  document {row['document']}: {flatten_text(row['class'])} taken for {flatten_text(row['predicted'])} "
            f"({format_percent(row['probability'], 2)}) by {path}"
        )


def _describe_naive(facts: dict[str, Any]) -> str:
    """Return a clause with the error of always predicting the commonest class of the training documents."""
    if facts["commonest_class"] is None:
        return ""
    return f"  (always {facts['commonest_class']}, commonest in training: {format_percent(facts['majority_error'], 2)})"


def _describe_coverage(facts: dict[str, Any]) -> str:
    """Return a clause on how many classes macro-F1 covers, empty when it covers all."""
    n_classes, covered = len(facts["classes"]), facts["macro_f1_classes"]
    return f"  (of {covered} of {n_classes} classes; the others have no test documents)" if covered < n_classes else ""


def _format_score(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
