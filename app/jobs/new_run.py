"""Write a run as somebody ordered it: settings checked, then a queued row."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.jobs.forks import Origin, inherited, learns_without_labels, wrong_layers
from app.jobs.plan import RunOptions, averaging
from engine import models, settings
from store import corpora, runs
from store.corpora import CorpusRow
from store.database import Database
from store.runs import RunRow

EPOCHS = 12  # passes over the training documents after which topics of mini-batches hardly change
LEAST_STEPS, MOST_STEPS = 300, 3500  # mini-batches; a small corpus needs some to begin with, and 3,500 are the papers'
SWEEPS = 300  # of a batch sampler
LINK_OF = {"binary": "bernoulli", "real": "gamma"}  # kinds of a corpus; counts take the model's default
LARGEST_SEED = 2**63 - 1


class NewRunError(ValueError):
    """A run cannot be ordered like this; the message is one sentence for the user."""


def place(
    db: Database,
    corpus: str | int,
    *,
    model: str,
    texts: Mapping[str, str],
    minibatches: int | None = None,
    seed: int = 1,
    threads: int = 1,
    averaged: bool = False,
    burn_in: int | None = None,
    samples: int | None = None,
    paper_point: bool = False,
    name: str = "",
    fork: Origin | None = None,
) -> RunRow:
    """Write a queued run; :func:`app.jobs.launcher.fill` then starts it.

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
        Steps to make; see :func:`usual_length` for the default.
    seed, threads, averaged, burn_in, samples, paper_point
        As in :class:`app.jobs.plan.RunOptions`.
    name : str
        For people.
    fork : Origin, optional
        The snapshot of another run to begin with; settings that both models know are taken over from it where
        ``texts`` says nothing.

    Raises
    ------
    NewRunError
        When the model, a setting or a number cannot be.
    store.errors.NotFound
        When there is no such corpus.
    """
    about = corpora.find(db, corpus)
    try:
        config = _configured(db, about, model, texts, fork)
        steps = minibatches if minibatches is not None else usual_length(model, config, about.train_documents)
        check_length(config, steps, fork)
        check_pictures(about, config)
        order = RunOptions(
            minibatches=steps,
            threads=threads,
            averaged=averaged,
            burn_in=burn_in if not averaged else _burn_in(config, steps, burn_in),
            samples=samples,
            paper_point=paper_point,
        )
    except NewRunError:
        raise
    except (LookupError, ValueError) as error:
        raise NewRunError(str(error.args[0])) from error
    check_numbers(about, seed, averaged=averaged)
    return runs.create(
        db,
        corpus=about.number,
        model=model,
        inference=str(getattr(config, "inference", "")),
        layers=tuple(config.layers),
        settings=settings.to_json(config),
        plan=order.to_json(),
        seed=seed,
        name=name,
        fork=None if fork is None else fork.snapshot.number,
    )


def fork(
    db: Database,
    begin: Origin,
    *,
    model: str | None = None,
    texts: Mapping[str, str],
    minibatches: int | None = None,
    seed: int | None = None,
    **more: Any,
) -> RunRow:
    """Write a queued run that goes on from a snapshot; what is not given is as in the parent.

    Parameters
    ----------
    db : Database
    begin : Origin
        See :func:`app.jobs.forks.origin`.
    model, texts, minibatches, seed, **more
        As in :func:`place`.

    Raises
    ------
    NewRunError
        When the model cannot begin with that snapshot, or a setting or number cannot be.
    """
    parent = begin.run
    return place(
        db,
        parent.corpus,
        model=model or parent.model,
        texts=texts,
        minibatches=parent.planned if minibatches is None else minibatches,
        seed=parent.seed if seed is None else seed,
        fork=begin,
        **more,
    )


def _configured(db: Database, about: CorpusRow, model: str, texts: Mapping[str, str], fork: Origin | None) -> Any:
    """The settings of a run on a corpus, those of its parent among them."""
    if fork is not None:
        texts = inherited(fork, model, texts) | dict(texts)
    config = settings.parse(models.load(model).Config, with_link(about, model, texts))
    _check_corpus(db, about, model)
    if fork is not None and (wrong := wrong_layers(fork, config)):
        raise NewRunError(wrong)
    return config


def usual_length(model: str, config: Any, train_documents: int) -> int:
    """Mini-batches (sweeps of batch Gibbs) of a run whose length nobody gave.

    Parameters
    ----------
    model : str
    config : Config
        The settings of the run.
    train_documents : int
        Of the corpus.

    Returns
    -------
    int
        Twelve passes over the corpus, 300 to 3,500 mini-batches; a model with an encoder, which learns more slowly,
        has 3,500.  Learning the widths comes before that.
    """
    if getattr(config, "inference", "") == "gibbs":
        return SWEEPS + _learnt(config)
    if model != "dlda":
        return max(MOST_STEPS, 2 * _learnt(config))
    passes = -(-EPOCHS * train_documents // config.batch_size)
    return min(max(passes, LEAST_STEPS), MOST_STEPS) + _learnt(config)


def check_numbers(about: CorpusRow, seed: int, *, averaged: bool) -> None:
    """Refuse what no model can do with a corpus."""
    if not 0 <= seed <= LARGEST_SEED:
        raise NewRunError(f"seed must be from 0 to {LARGEST_SEED}; got {seed}")
    if about.train_documents == 0:
        raise NewRunError(f"corpus {about.name!r} has no training documents; import it with another split")
    if averaged and about.train_documents == about.documents:
        raise NewRunError(f"corpus {about.name!r} has no test documents, which the averaged protocol needs")


def _check_corpus(db: Database, about: CorpusRow, model: str) -> None:
    """Refuse a corpus that the model cannot read."""
    module = models.load(model)
    if getattr(module, "NEEDS_LABELS", False):
        _check_labels(db, about, model)
    links = {setting.name for setting in settings.describe(module.Config)}
    if about.kind == "real" and "link" not in links:
        counts = ", or import the pictures with --levels 16" if about.image_shape else ""
        raise NewRunError(
            f"model {model} reads counts, and corpus {about.name!r} holds real numbers; train dlda on it{counts}"
        )


def _check_labels(db: Database, about: CorpusRow, model: str) -> None:
    """Refuse a corpus whose training documents are of less than two classes; those of test documents teach nothing."""
    numbers = corpora.taught(db, about.number)
    names = [name for name, documents in zip(about.label_names, numbers, strict=True) if documents]
    if len(names) < 2:
        has = f"only {names[0]!r}" if names else "none"
        where = " among its training documents" if len(about.label_names) > len(names) else ""
        raise NewRunError(
            f"model {model} learns from labels of at least two classes, and corpus {about.name!r} has {has}{where}; "
            + ("import it with another split" if where else "import it with labels")
        )


def _learnt(config: Any) -> int:
    """Steps after which the widths of a run that learns them are settled; 0 where they are given."""
    if not getattr(config, "grow", False):
        return 0
    from engine import widths  # takes the compiler along, which no command should wait for that orders nothing

    return widths.settled(config)


def check_length(config: Any, minibatches: int, fork: Origin | None) -> None:
    """Refuse a run that would end before all its layers are there and pruned, or before labels count."""
    learnt = _learnt(config)
    if fork is None and 0 < minibatches <= learnt:
        layers = "1 layer" if len(config.layers) == 1 else f"{len(config.layers)} layers"
        raise NewRunError(
            f"learning the widths of {layers} takes more than {learnt:,} mini-batches "
            f"({config.grow_every:,} for each layer, grow_every); got {minibatches:,}"
        )
    unlabelled = getattr(config, "label_start", 0)
    has_learned = fork is not None and learns_without_labels(fork)
    if getattr(config, "label_weight", 0.0) and not has_learned and 0 < minibatches <= unlabelled:
        raise NewRunError(
            f"labels count after {unlabelled:,} mini-batches (label_start), and the run has {minibatches:,}; "
            "let it be longer, or labels begin earlier"
        )


def check_pictures(about: CorpusRow, config: Any) -> None:
    """Refuse to have words moved that are no pixels."""
    if about.image_shape is None and getattr(config, "moved", False):
        raise NewRunError(f"only pictures can be moved, and corpus {about.name!r} has none; set moved to 0")


def _burn_in(config: Any, minibatches: int, burn_in: int | None) -> int | None:
    """Burn-in of the averaged protocol: no rates are added up before the widths are learnt."""
    learnt = _learnt(config)
    if not learnt:
        return burn_in
    if burn_in is None:
        return max(learnt, averaging(minibatches).first - 1)
    if burn_in < learnt:
        raise NewRunError(
            f"the burn-in of the averaged protocol must be at least {learnt:,}, when all widths are learnt; "
            f"got {burn_in:,}"
        )
    return burn_in


def with_link(about: CorpusRow, model: str, texts: Mapping[str, str]) -> dict[str, str]:
    """The texts and the observation link that suits the corpus, where the model has a choice and none was made."""
    described = {setting.name: setting for setting in settings.describe(models.load(model).Config)}
    link = texts.get("link") or LINK_OF.get(about.kind, "")
    if link and "link" in described:
        if about.kind == "real" and link != LINK_OF["real"]:
            raise NewRunError(
                f"corpus {about.name!r} holds real numbers, which need link {LINK_OF['real']}; got {link}"
            )
        return dict(texts) | {"link": link}
    return dict(texts)


@dataclass(frozen=True, kw_only=True)
class NewRun:
    """What the new-run form asks for; texts are read by the model's own settings.

    Attributes
    ----------
    corpus : int
    model : str
    texts : dict of str
        Settings as texts, by name; empty ones keep their default.
    minibatches : int
    averaged : bool
        Also run the averaged protocol.
    seed : int
    name : str
    fork : Origin or None
        The snapshot of another run to begin with.
    """

    corpus: int
    model: str
    texts: dict[str, str]
    minibatches: int
    averaged: bool = False
    seed: int = 1
    name: str = ""
    fork: Origin | None = None
