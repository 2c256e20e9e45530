"""New runs: one set of rules for commands, library and form, then a queued row."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.jobs import presets
from app.jobs.cluster import place
from app.jobs.forks import Origin, default_text, growing, inherited, learns_without_labels, wrong_layers
from app.jobs.plan import RunOptions, averaging
from app.jobs.presets import RECOMMENDED
from app.jobs.protocol import Protocol, protocol_of
from app.jobs.widths_for import widths_for
from engine import models, settings
from engine.contract import Facts
from store import corpora, runs
from store.corpora import CorpusRow
from store.database import Database
from store.runs import RunRow

EPOCHS = 12  # passes over the training documents after which topics of mini-batches hardly change
LEAST_STEPS, MOST_STEPS = 300, 3500  # mini-batches; a small corpus needs some to begin with, and 3,500 are the papers'
SWEEPS = 300  # of a batch sampler
PLATEAU_PASSES = 2  # over the training documents before a plateau of mini-batches is believed
LONGER = 4  # times the usual length: the most that a run of mini-batches until its plateau may take
LINK_OF = {"binary": "bernoulli", "real": "gamma"}  # kinds of a corpus; counts take the model's default
LARGEST_SEED = 2**63 - 1


class NewRunError(ValueError):
    """A run cannot be made like this; the message is one sentence for the user.

    Attributes
    ----------
    field : str
        The field of the form that could mend it, empty where none does by itself.
    """

    def __init__(self, sentence: str, field: str = "") -> None:
        super().__init__(sentence)
        self.field = field


@dataclass(frozen=True, kw_only=True)
class NewRun:
    """What somebody asks for; texts are read by the model's own settings.

    Attributes
    ----------
    corpus : int
    model : str
    texts : mapping of str to str
        Settings as texts, by name; those that are not named keep their default.
    minibatches : int or None
        None is the usual length.
    preset : str
        Settings and length that hold where nothing else is said (:mod:`app.jobs.presets`).
    averaged : bool
        Also run the averaged protocol.
    seed : int
    seeds : tuple of int
        A run for each, together a group; empty where there is one run, of ``seed``.
    name : str
    fork : Origin or None
        The snapshot of another run to begin with.
    on : str
        Where documents are swept (:mod:`app.jobs.cluster.place`).
    """

    corpus: int
    model: str
    texts: Mapping[str, str]
    minibatches: int | None
    preset: str = RECOMMENDED
    averaged: bool = False
    seed: int = 1
    seeds: tuple[int, ...] = ()
    name: str = ""
    fork: Origin | None = None
    on: str = ""


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
    """Check a run that somebody asks for; what :func:`store.runs.create` takes is given.

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
    """
    about = corpora.find(db, corpus)
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
            _check_plateau(about, averaged=averaged)
            longer = minibatches is None and _sweeps_after(config, about) is None
            steps = steps * LONGER if longer else steps
        order = RunOptions(
            minibatches=steps,
            threads=threads,
            averaged=averaged,
            burn_in=burn_in if not averaged else _burn_in(config, steps, burn_in),
            samples=samples,
            paper_point=paper_point,
            until_plateau=bool(until) or (minibatches is None and _swept(config, about)),
            plateau_from=_plateau_from(config, about) if until else 0,
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
        "plan": order.to_json(),
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
    return runs.create(db, **prepared(db, corpus, model=model, texts=texts, **more))


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


def check(about: CorpusRow, request: NewRun, classes: Sequence[str]) -> tuple[Any, int]:
    """Refuse a run that cannot be; else give its Config and its length in mini-batches.

    Only what the row of the corpus tells is looked at, so that nothing waits for the store while somebody types.

    Parameters
    ----------
    about : CorpusRow
        The corpus of the run.
    request : NewRun
    classes : sequence of str
        Those of its training documents.

    Raises
    ------
    NewRunError
        With the field of the form that could mend it.
    engine.settings.SettingError
        When a setting cannot be read or is out of its bounds.
    """
    model, fork = request.model, request.fork
    named = presets.preset(model, request.preset)
    texts = named.texts | dict(request.texts)
    _check_corpus(about, model, classes)
    if fork is not None:
        texts = inherited(fork, model, texts) | texts
    elif proposes(texts):
        texts["layers"] = default_text(proposed(about, model))
    config = settings.parse(models.load(model).Config, _with_link(about, model, texts))
    if fork is not None and (wrong := wrong_layers(fork, config)):
        raise NewRunError(wrong, "layers")
    steps = named.minibatches if request.minibatches is None else request.minibatches
    if steps is None:
        steps = usual_length(model, config, about)
    _check_length(config, steps, fork)
    if about.image_shape is None and getattr(config, "moved", False):
        raise NewRunError(f"only pictures can be moved, and corpus {about.name!r} has none; set moved to 0", "moved")
    _check_numbers(about, request.seed, averaged=request.averaged)
    return config, steps


def proposes(texts: Mapping[str, str]) -> bool:
    """Whether settings leave the widths to the size of the corpus: they name none, and none are to be learnt."""
    return "layers" not in texts and not growing(dict(texts))


def proposed(about: CorpusRow, model: str) -> tuple[int, ...]:
    """The widths of a run of a model on a corpus where nobody says any: as many layers as the model's default has."""
    tokens = about.tokens * about.train_documents // max(1, about.documents)
    return widths_for(about.train_documents, tokens, len(models.load(model).Config().layers))


def objections(about: CorpusRow, request: NewRun) -> dict[str, str]:
    """The reason for which :func:`create` would refuse a run, at every field of the form that could mend it.

    Parameters
    ----------
    about : CorpusRow
        The corpus of the run.
    request : NewRun
        Its settings can be read, each by itself and all together.

    Returns
    -------
    dict of str
        The same sentence by field: that of the rule, and the settings of the model that the sentence names.
    """
    try:
        check(about, request, about.label_names)
    except NewRunError as error:
        names = {setting.name for setting in settings.describe(models.load(request.model).Config)}
        named = [name for name in re.findall(r"\b[a-z]+_\w+", str(error)) if name in names]
        return dict.fromkeys((error.field, *named), str(error))
    return {}


def usual_length(model: str, config: Any, about: CorpusRow) -> int:
    """Steps of a run whose length nobody gave.

    Parameters
    ----------
    model : str
    config : Config
        The settings of the run.
    about : CorpusRow

    Returns
    -------
    int
        300 sweeps where all documents are swept, after the mini-batches that come before (a run of ``auto`` ends
        sooner, at a plateau of its curve); else twelve passes over the corpus, 300 to 3,500 mini-batches.  Models with
        a length of their own name it ``STEPS``.  Learning the widths comes before that.
    """
    own: int | None = getattr(models.load(model), "STEPS", None)
    if own is not None:
        return max(own, 2 * _learnt(config))
    after = _sweeps_after(config, about)
    if after is not None:
        return SWEEPS + after + _learnt(config)
    passes = -(-EPOCHS * about.train_documents // config.batch_size)
    return min(max(passes, LEAST_STEPS), MOST_STEPS) + _learnt(config)


def _sweeps_after(config: Any, about: CorpusRow) -> int | None:
    """After how many mini-batches a run sweeps all documents of a corpus; None where it never does."""
    if not hasattr(config, "sweeps_after"):
        return None
    tokens = about.tokens * about.train_documents // max(1, about.documents)
    facts = Facts(about.words, about.train_documents, n_tokens=tokens)
    return config.sweeps_after(facts)


def _swept(config: Any, about: CorpusRow) -> bool:
    """Whether a run may end at a plateau: where the model says so, and all documents are swept."""
    return getattr(config, "until_plateau", False) and _sweeps_after(config, about) is not None


def _plateau_from(config: Any, about: CorpusRow) -> int:
    """The mini-batch before which no plateau counts; 0 of a run that sweeps, which has a rule of its own.

    The curve must have had time to fall: twice as long as widths are learnt and labels do not count, and some passes.
    """
    if _sweeps_after(config, about) is not None:
        return 0
    passes = -(-PLATEAU_PASSES * about.train_documents // getattr(config, "batch_size", about.train_documents))
    unlabelled = config.label_start if getattr(config, "label_weight", 0.0) else 0
    return max(passes, 2 * _learnt(config), 2 * unlabelled)


def _check_plateau(about: CorpusRow, *, averaged: bool) -> None:
    """Refuse a plateau that nobody could see, or that would cut an average short."""
    if about.train_documents == about.documents:
        raise NewRunError(
            f"corpus {about.name!r} has no test documents, so nobody can tell when a run on it no longer improves; "
            "give the number of mini-batches instead"
        )
    if averaged:
        raise NewRunError("the averaged protocol has a length of its own; leave out either it or the plateau")


def _check_numbers(about: CorpusRow, seed: int, *, averaged: bool) -> None:
    """Refuse what no model can do with a corpus."""
    if not 0 <= seed <= LARGEST_SEED:
        raise NewRunError(f"seed must be from 0 to {LARGEST_SEED}; got {seed}", "seed")
    if about.train_documents == 0:
        raise NewRunError(f"corpus {about.name!r} has no training documents; import it with another split", "corpus")
    if averaged and about.train_documents == about.documents:
        sentence = f"corpus {about.name!r} has no test documents, which the averaged protocol needs"
        raise NewRunError(sentence, "averaged")


def _check_corpus(about: CorpusRow, model: str, classes: Sequence[str]) -> None:
    """Refuse a corpus that the model cannot read; only classes of training documents teach something."""
    module = models.load(model)
    if getattr(module, "NEEDS_LABELS", False) and len(classes) < 2:
        has = f"only {classes[0]!r}" if classes else "none"
        where = " among its training documents" if len(about.label_names) > len(classes) else ""
        raise NewRunError(
            f"model {model} learns from labels of at least two classes, and corpus {about.name!r} has {has}{where}; "
            f"import it with {'another split' if where else 'labels'}, or choose another model",
            "model",
        )
    links = {setting.name for setting in settings.describe(module.Config)}
    if about.kind == "real" and "link" not in links:
        counts = ", or import the pictures with 16 grey values (--levels 16)" if about.image_shape else ""
        raise NewRunError(
            f"model {model} reads counts, and corpus {about.name!r} holds real numbers; train dlda on it{counts}",
            "model",
        )


def _taught(db: Database, about: CorpusRow) -> list[str]:
    """The classes of the training documents."""
    numbers = corpora.taught(db, about.number)
    return [name for name, documents in zip(about.label_names, numbers, strict=True) if documents]


def _protocol(about: CorpusRow) -> Protocol:
    """How runs on a corpus are judged."""
    tokens = max(1.0, about.tokens / max(1, about.documents))
    return protocol_of(tokens, about.documents - about.train_documents, has_scored=about.has_scored)


def _learnt(config: Any) -> int:
    """Steps after which the widths of a run that learns them are settled; 0 where they are given."""
    if not getattr(config, "grow", False):
        return 0
    from engine import widths  # takes the compiler along, which no command should wait for that orders nothing

    return widths.settled(config)


def _check_length(config: Any, minibatches: int, fork: Origin | None) -> None:
    """Refuse a run that would end before all its layers are there and pruned, or before labels count."""
    learnt = _learnt(config)
    if fork is None and 0 < minibatches <= learnt:
        layers = "1 layer" if len(config.layers) == 1 else f"{len(config.layers)} layers"
        raise NewRunError(
            f"learning the widths of {layers} takes more than {learnt:,} mini-batches "
            f"({config.grow_every:,} for each layer, grow_every); got {minibatches:,}",
            "minibatches",
        )
    unlabelled = getattr(config, "label_start", 0)
    has_learned = fork is not None and learns_without_labels(fork)
    if getattr(config, "label_weight", 0.0) and not has_learned and 0 < minibatches <= unlabelled:
        raise NewRunError(
            f"labels count after {unlabelled:,} mini-batches (label_start), and the run has {minibatches:,}; "
            "let it be longer, or labels begin earlier",
            "minibatches",
        )


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


def _with_link(about: CorpusRow, model: str, texts: Mapping[str, str]) -> dict[str, str]:
    """The texts and the observation link that suits the corpus, where the model has a choice and none was made."""
    described = {setting.name: setting for setting in settings.describe(models.load(model).Config)}
    link = texts.get("link") or LINK_OF.get(about.kind, "")
    if link and "link" in described:
        if about.kind == "real" and link != LINK_OF["real"]:
            sentence = f"corpus {about.name!r} holds real numbers, which need link {LINK_OF['real']}; got {link}"
            raise NewRunError(sentence, "link")
        return dict(texts) | {"link": link}
    return dict(texts)
