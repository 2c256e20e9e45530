"""Requests for new runs and the rules for checking them, shared by commands, library and form."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from topiary.app.jobs.forks import (
    ForkOrigin,
    find_wrong_layers,
    format_default,
    inherit_settings,
    learns_widths,
    learns_without_labels,
)
from topiary.app.names import plural
from topiary.engine import models, settings, shared_settings
from topiary.engine.contract import Facts
from topiary.store.corpus_rows import CorpusRow

if TYPE_CHECKING:
    from topiary.app.jobs.topic_guide import TopicGuide
    from topiary.store.edits import NewEdit

EPOCHS = 12  # passes over the training documents after which topics trained by mini-batches hardly change
LEAST_STEPS, MOST_STEPS = 300, 3500  # mini-batches of a small corpus, and of a large one as in the papers
SWEEPS = 300  # default length of a run that sweeps all documents
SETTLING = 3_000  # sweeps if the tree is to settle, as upper layers take ten times as long as the curve
PLATEAU_PASSES = 2  # passes over the training documents before a plateau of mini-batches counts


def choose_length(model: str, config: Any, corpus: CorpusRow) -> int:
    """Return the default length of a run, in steps.

    Parameters
    ----------
    config : Config
        The settings of the run.

    Returns
    -------
    int
        300 sweeps, after any mini-batches before them, if all documents are swept, or 3,000 if the run goes on until
        its tree has settled (it may end sooner); else twelve passes over the corpus, limited to 300 to 3,500
        mini-batches.  Steps for learning the widths are added.  ``STEPS`` of a model takes precedence.
    """
    model_length: int | None = getattr(models.load(model), "STEPS", None)
    if model_length is not None:
        return max(model_length, 2 * count_growth_steps(config))
    sweep_start = find_sweep_start(config, corpus)
    if sweep_start is not None:
        sweeps = SETTLING if settles_by_itself(config, corpus) else SWEEPS
        return sweeps + sweep_start + count_growth_steps(config)
    passes = -(-EPOCHS * corpus.train_documents // config.batch_size)
    return min(max(passes, LEAST_STEPS), MOST_STEPS) + count_growth_steps(config)


def find_sweep_start(config: Any, corpus: CorpusRow) -> int | None:
    """Return the number of mini-batches before a run sweeps all documents of a corpus; None if it never does."""
    if not hasattr(config, "sweeps_after"):
        return None
    return config.sweeps_after(collect_row_facts(corpus))


def collect_row_facts(corpus: CorpusRow) -> Facts:
    """Return the sizes of a corpus of which only the row is read; its training tokens are approximate."""
    return Facts(corpus.words, corpus.train_documents, n_tokens=_count_training_tokens(corpus))


def _count_training_tokens(corpus: CorpusRow) -> int:
    """Return the approximate number of tokens of the training documents."""
    return corpus.tokens * corpus.train_documents // max(1, corpus.documents)


def ends_by_itself(config: Any, corpus: CorpusRow) -> bool:
    """Return whether a run may end at a plateau: its model allows it, and all documents are swept."""
    return getattr(config, "until_plateau", False) and find_sweep_start(config, corpus) is not None


def settles_by_itself(config: Any, corpus: CorpusRow) -> bool:
    """Return whether a run ends by itself, but only once its tree has settled."""
    return ends_by_itself(config, corpus) and getattr(config, "until_settled", False)


def stops_overfitting(config: Any, *, averaged: bool) -> bool:
    """Return whether a run without a given length ends once it overfits: its model allows it, and nothing averages."""
    return getattr(config, "until_overfit", False) and not averaged


def find_plateau_start(config: Any, corpus: CorpusRow, fork: ForkOrigin | None = None) -> int:
    """Return the mini-batch before which no plateau counts; 0 for a run with sweeps, which has another rule.

    The curve needs time to fall: some passes, and twice the time before the widths are learnt and labels count; in
    a ``fork`` of a run with an encoder they count at once.
    """
    if find_sweep_start(config, corpus) is not None:
        return 0
    passes = -(-PLATEAU_PASSES * corpus.train_documents // getattr(config, "batch_size", corpus.train_documents))
    learns_at_once = fork is not None and "kl_weight" in fork.run.settings
    unlabelled = config.label_start if getattr(config, "label_weight", 0.0) and not learns_at_once else 0
    return max(passes, 2 * count_growth_steps(config), 2 * unlabelled)


def count_growth_steps(config: Any) -> int:
    """Return the steps after which the widths of a run that learns them are fixed; 0 if they are given."""
    if not getattr(config, "grow", False):
        return 0
    return shared_settings.count_growth_steps(config)


WIDTHS = (128, 64, 32, 16)  # proposed for the layer next to the words; each layer above has half as many topics
TOPIC_DOCUMENTS, TOPIC_TOKENS = 30, 2_300  # least for a topic on average; with fewer, some topics are mere leftovers
LEAST_TOP = 8  # topics of the top layer; of four, one would take most of the words
MOST_TRIED_TOKENS = 2_000_000  # of training documents on which widths are tried; more would delay the first topics


def propose_widths(documents: int, tokens: int, n_layers: int = 3) -> tuple[int, ...]:
    """Return proposed widths of the layers, from the layer next to the words upwards.

    Each layer has half as many topics as the one below, and at least ``LEAST_TOP``; a layer that would be as wide as
    the one below is left out.

    Parameters
    ----------
    documents, tokens : int
        Number of training documents, and of their tokens.
    n_layers : int
        Default number of layers of the model.
    """
    first = next(
        (width for width in WIDTHS if documents >= TOPIC_DOCUMENTS * width and tokens >= TOPIC_TOKENS * width),
        WIDTHS[-1],
    )
    return tuple(first >> layer for layer in range(n_layers) if first >> layer >= LEAST_TOP)


def halve_widths(widths: tuple[int, ...]) -> tuple[int, ...]:
    """Return half as many topics for each layer; an empty tuple if proposals have more than that in their top layer."""
    return tuple(width // 2 for width in widths) if widths[-1] >= 2 * LEAST_TOP else ()


def tries_widths(config: Any, corpus: CorpusRow) -> bool:
    """Return whether a run with proposed widths begins by trying narrower ones: quick sweeps, judged on validation."""
    return (
        corpus.validation_documents > 0
        and _count_training_tokens(corpus) <= MOST_TRIED_TOKENS
        and find_sweep_start(config, corpus) == 0
        and len(halve_widths(config.layers)) > 0
    )


def describe_widths(widths: tuple[int, ...], corpus: CorpusRow, *, tried: bool = False) -> str:
    """Describe proposed widths by the documents and words that a topic of layer 1 has, compared with other widths.

    If narrower ones are ``tried`` first, the text says so.
    """
    documents, tokens = corpus.train_documents, _count_training_tokens(corpus)

    def share(first: int) -> str:
        return f"{_round_short(documents / first)} documents and {_round_short(tokens / first)} words"

    first = widths[0]
    alternatives = [(2 * first, "finer topics")] if 2 * first <= WIDTHS[0] else []
    alternatives += [(first // 2, "broader ones")] if first // 2 >= WIDTHS[-1] else []
    others = "; ".join(f"{width} would have {share(width)}, {word}" for width, word in alternatives)
    return (
        f"{'-'.join(map(str, widths))}: proposed for {documents:,} documents, so that each of the {first} topics next "
        f"to the words has about {share(first)} ({others})"
        + ("; the run first tries fewer topics, and takes them if they predict words as well" if tried else "")
    )


def _round_short(value: float) -> str:
    """Return a number rounded to two digits, as text: 0.2, 31, 5,600."""
    if value < 10:
        return f"{value:.1f}"
    digits = max(0, len(str(int(value))) - 2)
    return f"{round(value / 10**digits) * 10**digits:,}"


RECOMMENDED = ""  # no preset: the defaults
PRESET_LENGTH = "minibatches"  # key of the length among the texts of a preset
PRESET_LABELS = {
    "paper": "as in the paper",
    "encoder": "counts from the encoder alone: no sweeps, for very large corpora",
    "best": "best topics: sweeps move the topics, the encoder is fitted in parallel",
}


class Preset(NamedTuple):
    """Settings and a length of a run that go together.

    Attributes
    ----------
    texts : dict of str
        Settings of the model as texts, by name.
    minibatches : int or None
        Length of the run; None: depends on the settings and the corpus.
    """

    texts: dict[str, str]
    minibatches: int | None


def list_presets(model: str) -> tuple[str, ...]:
    """Return the names of the presets of a model."""
    return tuple(_read_presets(model))


def find_preset(model: str, name: str) -> Preset:
    """Return a preset of a model; an empty one for an empty name.

    Raises
    ------
    LookupError
        When the model has no such preset.
    """
    if name == RECOMMENDED:
        return Preset({}, None)
    presets = _read_presets(model)
    if name not in presets:
        has = f"it has {', '.join(presets)}" if presets else "it has none"
        raise LookupError(f"model {model} has no preset {name!r}; {has}")
    texts = dict(presets[name])
    length = texts.pop(PRESET_LENGTH, None)
    return Preset(texts, None if length is None else int(length))


def _read_presets(model: str) -> Mapping[str, Mapping[str, str]]:
    presets: Mapping[str, Mapping[str, str]] = getattr(models.load(model), "PRESETS", {})
    return presets


LINK_OF = {"binary": "bernoulli", "real": "gamma"}  # by the kind of the corpus; counts have the model's default
LARGEST_SEED = 2**63 - 1


class NewRunError(ValueError):
    """The requested run is not valid; the message is one sentence for the user.

    Attributes
    ----------
    field : str
        Field of the form to change; empty if no single field would do.
    """

    def __init__(self, sentence: str, field: str = "") -> None:
        super().__init__(sentence)
        self.field = field


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """A request for a run, with its settings as texts.

    Attributes
    ----------
    corpus : int or str
        Its number or name.
    model : str
        One of ``engine.models.list_names()``.
    texts : mapping of str to str
        Settings of the model by name (``{"layers": "128-64-32", "eta": "0.05"}``); the others keep their defaults.
    minibatches : int or None
        Length of the run; None: the default length (:func:`choose_length`).
    preset : str
        Preset that gives settings and length unless the request does.
    seeds : tuple of int
        Distinct seeds of a group of runs; empty if all have ``seed``.
    grid : mapping of str to sequence of str
        Values to try for settings, by name: the group has a run for each combination.
    fork : ForkOrigin or None
        The snapshot of another run to begin with; settings that both models have are taken from it unless ``texts``
        gives them.
    until : {"", "good", "settled"}
        End when the curve no longer falls ("good"), or when the tree does not change either ("settled");
        ``minibatches`` is then the upper limit.
    keep : int or None
        Most snapshots to keep.
    inherits_length : bool
        Whether ``minibatches`` is the length of the parent of a fork, which may end earlier if it overfits.
    threads : int or None
        None: the usual number (:func:`app.jobs.control.start_runs`).
    guide : TopicGuide or None
        Topics and words that users know of.
    edits : sequence of NewEdit
        Further edits that the run begins with.
    on, whole, averaged, burn_in, samples, paper_point
        As in :class:`app.jobs.plan.RunOptions`; users give them among ``texts``, by the names of `MEASURES`.
    """

    corpus: int | str
    model: str
    texts: Mapping[str, str]
    minibatches: int | None = None
    preset: str = RECOMMENDED
    seed: int = 1
    seeds: Sequence[int] = ()
    grid: Mapping[str, Sequence[str]] = field(default_factory=dict)
    threads: int | None = None
    averaged: bool = False
    burn_in: int | None = None
    samples: int | None = None
    paper_point: bool = False
    on: str = ""
    name: str = ""
    fork: ForkOrigin | None = None
    until: str = ""
    keep: int | None = None
    whole: bool = False
    inherits_length: bool = False
    guide: "TopicGuide | None" = None
    edits: "Sequence[NewEdit]" = ()


MEASURES = {
    "averaged": "averaged",
    "averaged_burn_in": "burn_in",
    "averaged_samples": "samples",
    "paper_point": "paper_point",
}  # fields of a request that users give like settings, by their names among these


def take_measures(request: RunRequest) -> RunRequest:
    """Return a request whose `MEASURES` are in their fields and no longer among the settings.

    Raises
    ------
    NewRunError
        When one of them cannot be read, or changes nothing.
    """
    given = {name: text for name, text in request.texts.items() if name in MEASURES}
    if not given:
        return request
    fields: dict[str, Any] = {MEASURES[name]: _read_measure(name, text) for name, text in given.items()}
    lengths = [name for name in given if name in ("averaged_burn_in", "averaged_samples")]
    if lengths and not fields.get("averaged", request.averaged):
        raise NewRunError(f"{' and '.join(lengths)} without averaged would change nothing; set averaged=true too")
    texts = {name: text for name, text in request.texts.items() if name not in MEASURES}
    return replace(request, texts=texts, **fields)


def _read_measure(name: str, text: str) -> bool | int:
    """Return a flag, or the length of the averaged protocol."""
    text = text.strip().lower()
    if name in ("averaged", "paper_point"):
        if text not in ("true", "false"):
            raise NewRunError(f"{name} must be true or false; got {text!r}")
        return text == "true"
    least = 0 if name == "averaged_burn_in" else 1
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text) >= least):
        raise NewRunError(f"{name} must be a whole number of at least {least}; got {text!r}")
    return int(text)


def check_run(corpus: CorpusRow, request: RunRequest, classes: Sequence[str]) -> tuple[Any, int]:
    """Return the settings and the length in mini-batches of a requested run, or refuse it if it is not valid.

    Only the row of the corpus is needed, so that a form does not wait for the store while a user types.

    Parameters
    ----------
    corpus : CorpusRow
        The corpus of the run.
    classes : sequence of str
        Names of the classes of its training documents.

    Raises
    ------
    NewRunError
        When the run is not valid; the error names the field of the form to change.
    engine.settings.SettingError
        When a setting cannot be read or is out of its bounds.
    """
    model, fork = request.model, request.fork
    preset = find_preset(model, request.preset)
    texts = preset.texts | dict(request.texts)
    _check_corpus(corpus, model, classes)
    if fork is not None:
        texts = inherit_settings(fork, model, texts) | texts
    elif proposes_widths(texts):
        texts["layers"] = format_default(propose_layers(corpus, model))
    config = settings.parse(models.load(model).Config, _choose_link(corpus, model, texts))
    if fork is not None and (objection := find_wrong_layers(fork, config)):
        raise NewRunError(objection, "layers")
    steps = preset.minibatches if request.minibatches is None else request.minibatches
    if steps is None:
        steps = choose_length(model, config, corpus)
    _check_length(config, steps, fork)
    if corpus.image_shape is None and getattr(config, "moved", False):
        raise NewRunError(f"only pictures can be moved, and corpus {corpus.name!r} has none; set moved to 0", "moved")
    _check_numbers(corpus, request.seed, averaged=request.averaged)
    return config, steps


def proposes_widths(texts: Mapping[str, str]) -> bool:
    """Return whether the widths depend on the size of the corpus, because they are neither given nor learnt."""
    return "layers" not in texts and not learns_widths(dict(texts))


def propose_layers(corpus: CorpusRow, model: str) -> tuple[int, ...]:
    """Return the proposed widths of a model on a corpus, with the model's default number of layers."""
    return propose_widths(
        corpus.train_documents, _count_training_tokens(corpus), len(models.load(model).Config().layers)
    )


def list_objections(corpus: CorpusRow, request: RunRequest) -> dict[str, str]:
    """Return the reason why :func:`check_run` refuses a run, by the fields of the form to change; else nothing.

    Parameters
    ----------
    corpus : CorpusRow
        The corpus of the run.
    request : RunRequest
        A request whose settings are valid in themselves.

    Returns
    -------
    dict of str
        The same sentence for the field of the error and for each setting that the sentence names.
    """
    try:
        check_run(corpus, request, corpus.label_names)
    except NewRunError as error:
        names = {setting.name for setting in settings.describe(models.load(request.model).Config)}
        named = [name for name in re.findall(r"\b[a-z]+_\w+", str(error)) if name in names]
        return dict.fromkeys((error.field, *named), str(error))
    return {}


def check_plateau(corpus: CorpusRow) -> None:
    """Refuse to end at a plateau if no test documents can show one."""
    if corpus.train_documents == corpus.documents:
        raise NewRunError(
            f"corpus {corpus.name!r} has no test documents, so nobody can tell when a run on it no longer improves; "
            "give the number of mini-batches instead"
        )


def _check_numbers(corpus: CorpusRow, seed: int, *, averaged: bool) -> None:
    """Refuse a seed or a corpus with which no model can train."""
    if not 0 <= seed <= LARGEST_SEED:
        raise NewRunError(f"seed must be from 0 to {LARGEST_SEED}; got {seed}", "seed")
    if corpus.train_documents == 0:
        raise NewRunError(f"corpus {corpus.name!r} has no training documents; import it with another split", "corpus")
    if averaged and not corpus.test_documents:
        sentence = f"corpus {corpus.name!r} has no test documents, which the averaged protocol needs"
        raise NewRunError(sentence, "averaged")


def _check_corpus(corpus: CorpusRow, model: str, classes: Sequence[str]) -> None:
    """Refuse a corpus that the model cannot read, or whose training documents have too few of the classes."""
    module = models.load(model)
    if getattr(module, "NEEDS_LABELS", False) and len(classes) < 2:
        has = f"only {classes[0]!r}" if classes else "none"
        where = " among its training documents" if len(corpus.label_names) > len(classes) else ""
        raise NewRunError(
            f"model {model} learns from labels of at least two classes, and corpus {corpus.name!r} has {has}{where}; "
            f"import it with {'another split' if where else 'labels'}, or choose another model",
            "model",
        )
    links = {setting.name for setting in settings.describe(module.Config)}
    if corpus.kind == "real" and "link" not in links:
        counts = ", or import the pictures with 16 grey values (--levels 16)" if corpus.image_shape else ""
        raise NewRunError(
            f"model {model} reads counts, and corpus {corpus.name!r} holds real numbers; train dlda on it{counts}",
            "model",
        )


def _check_length(config: Any, minibatches: int, fork: ForkOrigin | None) -> None:
    """Refuse a run that would end before all its layers are learnt, or before labels count."""
    growth_steps = count_growth_steps(config)
    if fork is None and 0 < minibatches <= growth_steps:
        layers = plural(len(config.layers), "layer")
        raise NewRunError(
            f"learning the widths of {layers} takes more than {growth_steps:,} mini-batches "
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


def _choose_link(corpus: CorpusRow, model: str, texts: Mapping[str, str]) -> dict[str, str]:
    """Return the settings with the observation link for the corpus added, if the model has this setting."""
    described = {setting.name: setting for setting in settings.describe(models.load(model).Config)}
    link = texts.get("link") or LINK_OF.get(corpus.kind, "")
    if link and "link" in described:
        if corpus.kind == "real" and link != LINK_OF["real"]:
            sentence = f"corpus {corpus.name!r} holds real numbers, which need link {LINK_OF['real']}; got {link}"
            raise NewRunError(sentence, "link")
        return dict(texts) | {"link": link}
    return dict(texts)
