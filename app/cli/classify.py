"""``topiary classify``: how well a run predicts the classes of its test documents."""

import argparse
from typing import Any

from app.analysis.hierarchy import Hierarchy, identity
from app.analysis.inference import find_snapshot
from app.analysis.predictions import ClassError, Classified, Misled
from app.analysis.read_hierarchy import read_hierarchy, snapshot_at
from app.cli.console import Mistake, find_run, flat, percent, print_json, say
from app.live.predictions import fetch_predictions
from store.database import open_existing

SHOWN = 10  # wrong predictions printed; --json has all that are explained


def classify(arguments: argparse.Namespace) -> int:
    """Print error, macro-F1, calibration, classes, confusion and what misled."""
    db = open_existing(arguments.store)
    run = find_run(db, arguments.run)
    try:
        snapshot = 0 if arguments.minibatch is None else snapshot_at(db, run, arguments.minibatch).number
        found = fetch_predictions(db, run, snapshot)
    except ClassError as error:
        raise Mistake(str(error)) from error
    hierarchy = read_hierarchy(db, run, find_snapshot(db, run.number, found.snapshot))
    facts = class_facts(found, hierarchy)
    if arguments.json:
        print_json(facts)
        return 0
    _print(facts, found)
    return 0


def class_facts(found: Classified, hierarchy: Hierarchy) -> dict[str, Any]:
    """What ``classify --json`` says; every number as the page shows it."""
    scores = found.scores
    curve = scores.reliability
    return {
        "run": found.run,
        "snapshot": found.snapshot,
        "minibatch": found.minibatch,
        "documents": scores.documents,
        "error": scores.error,
        "majority_error": found.majority_error,
        "commonest_class": None if found.commonest is None else found.names[found.commonest],
        "macro_f1": scores.macro_f1,
        "macro_f1_classes": int(scores.judged.sum()),
        "log_loss": scores.log_loss,
        "calibration_error": scores.ece,
        "calibration": [
            {"documents": int(count), "confidence": float(sure), "accuracy": float(right)}
            for count, sure, right in zip(curve.counts, curve.confidence, curve.accuracy, strict=True)
        ],
        "layers": list(found.carried),
        "classes": [_class(found, place) for place in range(len(found.names))],
        "confusion": scores.confusion.tolist(),
        "misled": [_misled(each, found, hierarchy) for each in found.misled],
    }


def _class(found: Classified, place: int) -> dict[str, Any]:
    """Numbers of a class; null for what cannot be said without test documents of it."""
    scores, test = found.scores, int(found.test_counts[place])
    judged = bool(scores.judged[place])
    return {
        "class": found.names[place],
        "train": int(found.train_counts[place]),
        "test": test,
        "precision": float(scores.precision[place]) if judged else None,
        "recall": float(scores.recall[place]) if test else None,
        "f1": float(scores.f1[place]) if judged else None,
    }


def _misled(each: Misled, found: Classified, hierarchy: Hierarchy) -> dict[str, Any]:
    return {
        "document": each.document,
        "class": found.names[each.label],
        "predicted": found.names[each.predicted],
        "probability": each.probability,
        "share": each.share,
        "path": [
            {"topic": identity(node), "rank": hierarchy.rank(node), "title": hierarchy.title(node)}
            for node in each.path
        ],
    }


def _print(facts: dict[str, Any], found: Classified) -> None:
    say(f"run {facts['run']}, mini-batch {facts['minibatch']:,}: {facts['documents']:,} labelled test documents")
    say(f"error              {percent(facts['error'])}{_naive(facts)}")
    say(f"macro-F1           {facts['macro_f1']:.4f}{_covered(facts)}")
    say(f"log loss           {facts['log_loss']:.4f}")
    say(f"calibration error  {percent(facts['calibration_error'])}")
    for layer, part in enumerate(facts["layers"], start=1):
        say(f"layer {layer} carries    {percent(part)} of the predictions")
    width = max(len(flat(name)) for name in found.names)
    say(f"\n{'class':<{width}}  {'train':>8} {'test':>8} {'precision':>9} {'recall':>7} {'F1':>7}")
    for row in facts["classes"]:
        scores = f"{_score(row['precision']):>9} {_score(row['recall']):>7} {_score(row['f1']):>7}"
        why = "" if row["test"] else "  no test documents"
        say(f"{flat(row['class']):<{width}}  {row['train']:>8,} {row['test']:>8,} {scores}{why}")
    if facts["misled"]:
        say(f"\nthe surest wrong predictions, and the path that misled ({len(facts['misled'])} explained with --json):")
    for row in facts["misled"][:SHOWN]:
        path = " > ".join(f"{step['topic']} {flat(step['title'])}" for step in row["path"])
        say(
            f"  document {row['document']}: {flat(row['class'])} taken for {flat(row['predicted'])} "
            f"({percent(row['probability'])}) by {path}"
        )


def _naive(facts: dict[str, Any]) -> str:
    """The error of one who knows only which class is the commonest for training."""
    if facts["commonest_class"] is None:
        return ""
    return f"  (always {facts['commonest_class']}, commonest in training: {percent(facts['majority_error'])})"


def _covered(facts: dict[str, Any]) -> str:
    every, covered = len(facts["classes"]), facts["macro_f1_classes"]
    return f"  (of {covered} of {every} classes; the others have no test documents)" if covered < every else ""


def _score(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
