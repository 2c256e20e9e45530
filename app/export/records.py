"""Facts about corpora and runs from their rows, as ``--json`` and the library report them.

Facts about the columns of a corpus: how many documents have a value, and the range or the categories.

Facts about predicted classes, and interpolation between two documents of a corpus.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.analysis.inference import DocumentInference, Step, decode_line, find_telling_layer
from topiary.app.analysis.predictions import Classified, Misled
from topiary.app.export.texts import drop_infinite
from topiary.app.ingest.column_kinds import ensure_columns
from topiary.app.ingest.source import Array, Progress
from topiary.app.jobs import launcher
from topiary.app.jobs.estimates import (
    LOGLIK_NAMES,
    MEAN,
    TEST_MEAN,
    TEST_POINT,
    Curve,
    Estimate,
    choose_headline,
    describe_trend,
    find_plateau,
    read_all_latest,
    read_concentrations,
    read_latest,
)
from topiary.app.jobs.plan import describe_protocol, read_options
from topiary.app.names import plural
from topiary.store import columns, corpora
from topiary.store import points as run_points
from topiary.store.corpus_rows import CATEGORY, DATE, LABEL, NUMBER, CorpusColumn, CorpusRow
from topiary.store.database import Database
from topiary.store.errors import DamagedRow
from topiary.store.run_rows import RunRow


def find_headlines(db: Database, rows: Sequence[RunRow]) -> dict[int, Estimate | None]:
    """Return the headline estimate of each run."""
    latest = read_all_latest(db)
    return {row.number: choose_headline(row, latest.get(row.number, {})) for row in rows}


def list_estimate_facts(best: Estimate | None) -> dict[str, Any]:
    """Return the kind, value and protocol of the headline estimate of a run."""
    kind, value, protocol = (None, None, None) if best is None else (best.kind, best.value, best.protocol)
    return {"headline": kind, "headline_value": value, "headline_of": protocol}


def list_run_facts(row: RunRow, best: Estimate | None) -> dict[str, Any]:
    """Return facts about a run from its row and its headline estimate; unknown ones are None."""
    return {
        "run": row.number,
        "name": row.name,
        "corpus": row.corpus_name,
        "state": launcher.find_state(row),
        "model": row.model,
        "inference": row.inference,
        "layers": list(row.layers),
        "minibatch": row.minibatch,
        "minibatches": row.planned,
        **list_estimate_facts(best),
        "point_perplexity": drop_infinite(row.point_perplexity),
        "averaged_perplexity": drop_infinite(row.averaged_perplexity),
        "seconds": row.seconds,
        "tokens_per_second": drop_infinite(row.tokens_per_second),
        "message": row.message,
        "seed": row.seed,
        "group": row.run_group,
        "parent": row.parent,
        "parent_minibatch": row.parent_minibatch,
        "parent_snapshot": row.parent_snapshot,
        "attempt": row.attempt,
        "heartbeat_age": row.heartbeat_age,
        "created": row.created.isoformat(),
        "started": row.started.isoformat() if row.started else None,
        "ended": row.ended.isoformat() if row.ended else None,
        "settings": row.settings,
        "plan": _list_options(row),
        "traceback": row.traceback,
    }


def _list_options(row: RunRow) -> dict[str, Any] | None:
    """Return the options of a run; those in its row, unchecked, where they are damaged."""
    try:
        return asdict(read_options(row))
    except DamagedRow:
        return row.options or None


def list_curve_facts(row: RunRow, curve: Curve) -> dict[str, Any]:
    """Return the protocol of the point perplexity of a run, and whether its curve still falls."""
    measured = row.point_perplexity is not None
    return {
        "judged": describe_protocol(row) if measured else "",
        "trend": describe_trend(curve),
        "level_since": find_plateau(curve),
    }


def list_all_facts(db: Database, row: RunRow) -> dict[str, Any]:
    """Return all facts that ``show --json`` prints, except whether the parent exists."""
    paper = run_points.read_curve(db, row.number, "test_perplexity")
    curve = run_points.read_curve(db, row.number, "point_perplexity")
    latest = read_latest(db, row.number)
    estimates = {"mean_perplexity": drop_infinite(latest.get(MEAN))} | list_curve_facts(row, curve)
    names = (TEST_MEAN, TEST_POINT, *LOGLIK_NAMES)
    estimates |= {name: drop_infinite(latest[name]) for name in names if name in latest}
    estimates |= {"test_perplexity": drop_infinite(paper[-1][1] if paper else None)}
    facts: dict[str, Any] = {}
    for name, value in list_run_facts(row, choose_headline(row, latest)).items():
        facts[name] = value
        if name == "point_perplexity":
            facts |= estimates
        if name == "settings":
            facts["concentrations"] = read_concentrations(db, row)
    return facts


def list_corpus_facts(row: CorpusRow) -> dict[str, Any]:
    """Return the facts that ``corpora --json`` prints about a corpus."""
    return {
        "corpus": row.number,
        "name": row.name,
        "documents": row.documents,
        "train_documents": row.train_documents,
        "validation_documents": row.validation_documents,
        "test_documents": row.test_documents,
        "words": row.words,
        "tokens": row.tokens,
        "kind": row.kind,
        "labels": len(row.label_names),
        "source": row.source,
        "content_hash": row.content_hash,
        "created": row.created.isoformat(),
    }


MOST_LARGEST = 3  # categories that are named
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class ColumnFacts:
    """Facts about a column.

    Attributes
    ----------
    column, kind : str
        Its name and kind.
    is_label : bool
        Whether it is the label of the documents.
    filled : int
        Number of documents with a value.
    share : float
        Their share of all documents, 0 to 1.
    invalid : int
        Number of documents with a text that is no value of the kind, which counts as missing.
    first, last : str, float or None
        Smallest and largest value: dates and times in ISO 8601, or numbers; None for other kinds.
    categories : int or None
        Number of categories that documents have; None for other kinds.
    largest : dict of str to int
        The categories that most documents have, and the number of documents in each.
    """

    column: str
    kind: str
    is_label: bool
    filled: int
    share: float
    invalid: int
    first: str | float | None = None
    last: str | float | None = None
    categories: int | None = None
    largest: dict[str, int]

    def to_json(self) -> dict[str, object]:
        """Return the facts as plain JSON values."""
        return asdict(self)

    def describe(self) -> str:
        """Describe the range or the categories in a line; empty for texts and ids."""
        if self.categories is not None:
            named = ", ".join(f"{name} {count:,}" for name, count in self.largest.items()) or "none"
            others = self.categories - len(self.largest)
            return f"{plural(self.categories, 'category', 'categories')}: {named}" + (
                f" and {others:,} more" if others else ""
            )
        if self.first is None:
            return ""
        first, last = (f"{each:g}" if isinstance(each, float) else each for each in (self.first, self.last))
        return f"{first} to {last}"


def list_column_facts(db: Database, corpus: CorpusRow, progress: Progress | None = None) -> list[ColumnFacts]:
    """Return facts about all columns of a corpus, its label first; columns are typed before if they are not yet."""
    return [_find_facts(db, corpus, column) for column in ensure_columns(db, corpus, progress)]


def _find_facts(db: Database, corpus: CorpusRow, column: CorpusColumn) -> ColumnFacts:
    values = columns.read_column(db, corpus, column) if column.has_values or column.place == LABEL else np.empty(0)
    filled = int(np.count_nonzero(values >= 0)) if column.place == LABEL else column.filled
    common = ColumnFacts(
        column=column.name,
        kind=column.kind,
        is_label=column.place == LABEL,
        filled=filled,
        share=filled / max(corpus.documents, 1),
        invalid=column.invalid,
        largest={},
    )
    if column.kind == CATEGORY:
        return _add_categories(common, values, column.levels)
    return _add_range(common, values) if column.kind in (DATE, NUMBER) and filled else common


def _add_categories(facts: ColumnFacts, values: Array, levels: tuple[str, ...]) -> ColumnFacts:
    counts = np.bincount(values[values >= 0], minlength=len(levels))
    order = np.argsort(-counts, kind="stable")[:MOST_LARGEST]
    largest = {levels[number]: int(counts[number]) for number in order.tolist() if counts[number]}
    return ColumnFacts(**asdict(facts) | {"categories": int(np.count_nonzero(counts)), "largest": largest})


def _add_range(facts: ColumnFacts, values: Array) -> ColumnFacts:
    if facts.kind == NUMBER:
        first, last = float(np.nanmin(values)), float(np.nanmax(values))
        return ColumnFacts(**asdict(facts) | {"first": first, "last": last})
    present = values[values != np.iinfo(np.int64).min]
    moments = [_EPOCH + timedelta(milliseconds=int(each)) for each in (present.min(), present.max())]
    has_times = bool((present % 86_400_000).any())
    texts = [each.isoformat(timespec="seconds")[:-6] if has_times else each.date().isoformat() for each in moments]
    return ColumnFacts(**asdict(facts) | {"first": texts[0], "last": texts[1]})


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
