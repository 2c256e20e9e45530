"""Facts about corpora and runs from their rows, as ``--json`` and the library report them."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from topiary.app.export.texts import drop_infinite
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
from topiary.app.jobs.process import find_state
from topiary.store import points as run_points
from topiary.store.corpus_rows import CorpusRow
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
        "state": find_state(row),
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
