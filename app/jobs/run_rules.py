"""What somebody asks of a new run, and the rules that refuse what cannot be: one set for commands, library and form."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.jobs import presets
from app.jobs.forks import Origin, default_text, growing, inherited, learns_without_labels, wrong_layers
from app.jobs.presets import RECOMMENDED
from app.jobs.usual_length import learnt, usual_length
from app.jobs.widths_for import widths_for
from engine import models, settings
from store.corpus_rows import CorpusRow

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


def check_plateau(about: CorpusRow, *, averaged: bool) -> None:
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


def _check_length(config: Any, minibatches: int, fork: Origin | None) -> None:
    """Refuse a run that would end before all its layers are there and pruned, or before labels count."""
    settled = learnt(config)
    if fork is None and 0 < minibatches <= settled:
        layers = "1 layer" if len(config.layers) == 1 else f"{len(config.layers)} layers"
        raise NewRunError(
            f"learning the widths of {layers} takes more than {settled:,} mini-batches "
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
