"""The fields of the form for a new run that every model has, and the choice of what the run is for."""

from collections.abc import Mapping, Sequence
from typing import Any

from topiary.app.jobs.forks import ForkOrigin
from topiary.app.jobs.run_rules import PRESET_LABELS, RECOMMENDED, NewRunError, RunRequest, check_plateau, list_presets
from topiary.app.views.runs.new_run_form import FormField, Goal
from topiary.engine import settings
from topiary.engine.settings import SettingError
from topiary.store.corpus_rows import CorpusRow

GUIDE = "guide"  # the name of the field for topics that users know
OWN = {"minibatches": "Steps", "seed": "Seeds"}  # fields that every model has
QUICK, GOOD, WITH_LABELS = "quick", "good", "labels"  # what a run is for
UNTIL_GOOD = "good"  # the end of a quick run: its curve no longer falls
MODEL_GROUP, LENGTH_GROUP = "Model and layers", "Length, seeds and name"  # headings among the folded fields


def list_goals(corpus: CorpusRow) -> list[Goal]:
    """Return what a run on a corpus can be for; labels are locked, with the reason, if the corpus has none."""
    classes = len(corpus.label_names)
    is_locked = classes < 2 or corpus.kind == "real"
    if corpus.kind == "real":
        help_text = "It reads counts, and this corpus has real numbers."
    elif is_locked:
        help_text = (
            "This corpus has no labels of two classes or more; import it with a column of labels, or from folders that "
            "are named after them."
        )
    else:
        help_text = f"The topics also learn to predict the labels ({classes:,} classes), by sDATM."
    return [
        Goal(QUICK, "Quick", "A first look: ends as soon as the perplexity no longer falls."),
        Goal(GOOD, "Good", "The default: goes on until the tree has settled as well."),
        Goal(WITH_LABELS, "With labels", help_text, is_locked),
    ]


def check_goal(corpus: CorpusRow, request: RunRequest) -> dict[str, str]:
    """Return why a quick run cannot tell when it is good, by the field of the goal; else nothing."""
    try:
        if request.until:
            check_plateau(corpus)
    except NewRunError as error:
        return {"goal": str(error)}
    return {}


def make_corpus_field(rows: Sequence[CorpusRow], chosen: str, origin: ForkOrigin | None) -> FormField:
    """Return the field of the corpus, which is that of the parent in a fork."""
    choices = [
        (str(row.number), f"{row.name} · {row.documents:,} documents, {row.words:,} words")
        for row in rows
        if origin is None or row.number == origin.run.corpus
    ]
    help_text = "The run continues its topics, so it cannot be changed." if origin else "What the topics are about."
    value = chosen if choices else ""
    return FormField("corpus", "Corpus", help_text, "choice", value, choices, locked=origin is not None)


def make_model_field(model: str, titles: Mapping[str, str]) -> FormField:
    """Return the field of the model."""
    choices = tuple(titles.items())
    return FormField("model", "Model", "How topics are learnt.", "choice", model, choices, group=MODEL_GROUP)


def make_preset_fields(model: str, chosen: str) -> list[FormField]:
    """Return the field of the preset; empty for a model without presets."""
    if not list_presets(model):
        return []
    choices = [(RECOMMENDED, "recommended"), *((name, PRESET_LABELS.get(name, name)) for name in list_presets(model))]
    help_text = "Fields that you change below take precedence."
    return [FormField("preset", "Settings", help_text, "choice", chosen, choices, group=MODEL_GROUP)]


def make_own_fields(texts: Mapping[str, str], about_length: str) -> list[FormField]:
    """Return the fields of length, seeds and name.

    Parameters
    ----------
    texts : mapping of str to str
        What is in each field, by name.
    about_length : str
        The help text of the length.
    """
    seeds = (
        "The same seed gives the same topics, bit for bit. Several, as in 1-5 or 1,2,7, start a run for each; "
        "together they show what is due to chance."
    )
    rows = (
        ("minibatches", OWN["minibatches"], about_length, "text"),
        ("seed", OWN["seed"], seeds, "text"),
        ("name", "Name", "Optional; shown with the run in lists.", "text"),
    )
    return [FormField(name, label, text, kind, texts[name], group=LENGTH_GROUP) for name, label, text, kind in rows]


def make_guide_field(value: str, error: str) -> FormField:
    """Return the field for topics that users know before the run begins."""
    help_text = (
        "One topic a line: a name, a colon and two or more of its words. Sport > Doping: puts it below another topic, "
        "ban: keeps words out of all topics. A guide in YAML can be pasted."
    )
    return FormField(GUIDE, "Topics with their words", help_text, "lines", value, error=error[:1].upper() + error[1:])


def check_settings(config: Any, texts: Mapping[str, str], *, alone: bool) -> str:
    """Return a sentence about the first invalid setting, or an empty text.

    A setting checked ``alone`` lacks the settings that it depends on, so only a sentence about itself counts.
    """
    try:
        settings.parse(config, dict(texts))
    except SettingError as error:
        sentence = str(error)
        is_about_given = sentence.startswith(
            (*(f"{name} must" for name in texts), *(f"{name} cannot" for name in texts))
        )
        return sentence if is_about_given or not alone else ""
    return ""
