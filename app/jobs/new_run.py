"""New runs: checked by the rules, then a queued row."""

from collections.abc import Mapping
from typing import Any

from app.jobs.cluster import place
from app.jobs.forks import Origin
from app.jobs.plan import RunOptions, averaging
from app.jobs.presets import RECOMMENDED
from app.jobs.protocol import Protocol, protocol_of
from app.jobs.run_rules import NewRun, NewRunError, check, check_plateau
from app.jobs.usual_length import ends_by_itself, learnt, plateau_from, sweeps_after
from engine import models, settings
from store import corpora, runs
from store.corpus_rows import CorpusRow
from store.database import Database
from store.run_rows import RunRow

LONGER = 4  # times the usual length: the most that a run of mini-batches until its plateau may take


def prepared(
    db: Database,
    corpus: str | int,
    *,
    model: str,
    texts: Mapping[str, str],
    minibatches: int | None = None,
    preset: str = RECOMMENDED,
    seed: int = 1,
    threads: int = 1,
    averaged: bool = False,
    burn_in: int | None = None,
    samples: int | None = None,
    paper_point: bool = False,
    on: str = "",
    name: str = "",
    fork: Origin | None = None,
    until: str = "",
    keep: int | None = None,
    whole: bool = False,
) -> dict[str, Any]:
    """Check a run that somebody asks for; what :func:`store.runs.create_run` takes is given.

    Parameters
    ----------
    db : Database
    corpus : str or int
        Name or number of a corpus.
    model : str
        One of ``engine.models.names()``.
    texts : mapping of str to str
        Settings of the model as text (``{"layers": "128-64-32", "eta": "0.05"}``); the rest keep their defaults.
    minibatches : int, optional
        Steps to make; see :func:`app.jobs.usual_length.usual_length` for the default.
    preset : str
        Of the model; what ``texts`` and ``minibatches`` say wins over it.
    seed, threads, averaged, burn_in, samples, paper_point, on, whole
        As in :class:`app.jobs.plan.RunOptions`.
    name : str
        For people.
    fork : Origin, optional
        The snapshot of another run to begin with; settings that both models know are taken over from it where
        ``texts`` says nothing.
    until : {"", "plateau"}
        End when the curve no longer falls; ``minibatches`` is then the most.
    keep : int, optional
        At most so many snapshots stay as the run grows.

    Raises
    ------
    NewRunError
        When the model, a setting or a number cannot be.
    store.errors.NotFound
        When there is no such corpus.
    store.errors.DamagedRow
        When its row is damaged.
    """
    about = corpora.find_corpus(db, corpus)
    about.check_usable()
    request = NewRun(
        corpus=about.number,
        model=model,
        texts=texts,
        minibatches=minibatches,
        preset=preset,
        averaged=averaged,
        seed=seed,
        fork=fork,
    )
    try:
        learned = getattr(models.load(model), "NEEDS_LABELS", False)
        config, steps = check(about, request, _taught(db, about) if learned else ())
        if until:
            check_plateau(about, averaged=averaged)
            longer = minibatches is None and sweeps_after(config, about) is None
            steps = steps * LONGER if longer else steps
        order = RunOptions(
            minibatches=steps,
            threads=threads,
            averaged=averaged,
            burn_in=burn_in if not averaged else _burn_in(config, steps, burn_in),
            samples=samples,
            paper_point=paper_point,
            until_plateau=bool(until) or (minibatches is None and ends_by_itself(config, about)),
            plateau_from=plateau_from(config, about) if until else 0,
            keep=keep,
            protocol=_protocol(about),
            on=on,
            whole=whole,
        )
        if on:
            place.check(on, db.url, whole=whole)
    except NewRunError:
        raise
    except (LookupError, ValueError) as error:
        raise NewRunError(str(error.args[0])) from error
    return {
        "corpus": about.number,
        "model": model,
        "inference": str(getattr(config, "inference", "")),
        "layers": tuple(config.layers),
        "settings": settings.to_json(config),
        "options": order.to_json(),
        "seed": seed,
        "name": name,
        "fork": None if fork is None else fork.snapshot.number,
    }


def create(db: Database, corpus: str | int, *, model: str, texts: Mapping[str, str], **more: Any) -> RunRow:
    """Write a queued run; :func:`app.jobs.launcher.fill` then starts it.

    Parameters
    ----------
    db : Database
    corpus, model, texts, **more
        As in :func:`prepared`, which refuses a run that cannot be.
    """
    return runs.create_run(db, **prepared(db, corpus, model=model, texts=texts, **more))


def fork(
    db: Database,
    begin: Origin,
    *,
    model: str | None = None,
    texts: Mapping[str, str],
    minibatches: int | None = None,
    preset: str = RECOMMENDED,
    seed: int | None = None,
    **more: Any,
) -> RunRow:
    """Write a queued run that goes on from a snapshot; what is not given is as in the parent.

    Parameters
    ----------
    db : Database
    begin : Origin
        See :func:`app.jobs.forks.origin`.
    model, texts, minibatches, preset, seed, **more
        As in :func:`create`.

    Raises
    ------
    NewRunError
        When the model cannot begin with that snapshot, or a setting or number cannot be.
    """
    parent = begin.run
    return create(
        db,
        parent.corpus,
        model=model or parent.model,
        texts=texts,
        minibatches=parent.planned if minibatches is None and not preset else minibatches,
        preset=preset,
        seed=parent.seed if seed is None else seed,
        fork=begin,
        **more,
    )


def _taught(db: Database, about: CorpusRow) -> list[str]:
    """The classes of the training documents."""
    numbers = corpora.count_labels(db, about.number)
    return [name for name, documents in zip(about.label_names, numbers, strict=True) if documents]


def _protocol(about: CorpusRow) -> Protocol:
    """How runs on a corpus are judged."""
    tokens = max(1.0, about.tokens / max(1, about.documents))
    return protocol_of(tokens, about.documents - about.train_documents, has_scored=about.has_scored)


def _burn_in(config: Any, minibatches: int, burn_in: int | None) -> int | None:
    """Burn-in of the averaged protocol: no rates are added up before the widths are learnt."""
    settled = learnt(config)
    if not settled:
        return burn_in
    if burn_in is None:
        return max(settled, averaging(minibatches).first - 1)
    if burn_in < settled:
        raise NewRunError(
            f"the burn-in of the averaged protocol must be at least {settled:,}, when all widths are learnt; "
            f"got {burn_in:,}"
        )
    return burn_in
