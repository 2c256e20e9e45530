"""Facts about predicted classes, and interpolation between two documents of a corpus."""

from typing import Any

from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.analysis.inference import DocumentInference, Step, decode_line, find_telling_layer
from topiary.app.analysis.predictions import Classified, Misled
from topiary.store import corpora
from topiary.store.database import Database


def list_class_facts(found: Classified, hierarchy: Hierarchy) -> dict[str, Any]:
    """Return the facts that ``classify --json`` prints; the page shows the same numbers."""
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
        "classes": [_list_class(found, number) for number in range(len(found.names))],
        "confusion": scores.confusion.tolist(),
        "misled": [_list_misled(each, found, hierarchy) for each in found.misled],
    }


def _list_class(predictions: Classified, number: int) -> dict[str, Any]:
    """Return the facts of a class; scores that cannot be computed without test documents of it are None."""
    scores, test = predictions.scores, int(predictions.test_counts[number])
    judged = bool(scores.judged[number])
    return {
        "class": predictions.names[number],
        "train": int(predictions.train_counts[number]),
        "test": test,
        "precision": float(scores.precision[number]) if judged else None,
        "recall": float(scores.recall[number]) if test else None,
        "f1": float(scores.f1[number]) if judged else None,
    }


def _list_misled(misled: Misled, predictions: Classified, hierarchy: Hierarchy) -> dict[str, Any]:
    return {
        "document": misled.document,
        "class": predictions.names[misled.label],
        "predicted": predictions.names[misled.predicted],
        "probability": misled.probability,
        "share": misled.share,
        "path": [
            {"topic": format_identity(node), "rank": hierarchy.rank(node), "title": hierarchy.title(node)}
            for node in misled.path
        ],
    }


def interpolate_documents(
    db: Database, inference: DocumentInference, pair: tuple[int, int], *, layer: int | None, steps: int, words: int
) -> tuple[int, list[Step]]:
    """Return the steps of the line between two documents of the corpus.

    Parameters
    ----------
    pair : (int, int)
        Numbers of the documents.
    layer : int, optional
        The layer whose activations are mixed; None = the highest one that distinguishes the documents.
    steps, words : int
        Number of points on the line, and of words of each.

    Returns
    -------
    layer : int
        The layer whose activations were mixed.
    steps : list of Step

    Raises
    ------
    ValueError
        When there is no such layer, or steps are too few or too many.
    store.errors.NotFound
        When there is no such document.
    """
    n_layers = len(inference.mixtures)
    if layer is not None and not 1 <= layer <= n_layers:
        allowed = f"layers 1 to {n_layers}" if n_layers > 1 else "layer 1 alone"
        raise ValueError(f"documents of run {inference.run.number} can be mixed in {allowed}; got {layer}")
    if not 2 <= steps <= 100:
        raise ValueError(f"steps must be from 2 to 100; got {steps}")
    first, second = inference.place_documents(corpora.read_counts(db, inference.corpus.number, pair), pair)
    mixed_layer = layer or find_telling_layer(inference.mixtures, (first.theta, second.theta))
    return mixed_layer, decode_line(inference.mixtures, (first.theta, second.theta), mixed_layer, steps, words)
