"""Fields of forms: the options of an import, what every run has, the settings of a model, and where a run trains."""

from collections.abc import Mapping, Sequence
from typing import Any

from topiary.app.ingest import options
from topiary.app.ingest.options import SEPARATORS, ImportOptions
from topiary.app.ingest.source import COLUMNS
from topiary.app.ingest.text.languages import NAMES
from topiary.app.jobs import gpu
from topiary.app.jobs.cluster import place
from topiary.app.jobs.forks import ForkOrigin, format_default
from topiary.app.jobs.run_rules import (
    PRESET_LABELS,
    RECOMMENDED,
    NewRunError,
    RunRequest,
    check_plateau,
    describe_widths,
    list_presets,
    propose_layers,
)
from topiary.app.views.runs.new_run_form import FormField, Goal, describe_bounds, name_fields
from topiary.engine import settings
from topiary.engine.settings import Setting, SettingError
from topiary.store.corpus_rows import CorpusRow

LABELS = {  # without vocabulary and metadata, whose files are uploaded together with the documents
    "name": "Name",
    "stop_words": "Stop words",
    "max_words": "Size of the vocabulary",
    "min_df": "Rarest words",
    "max_df": "Commonest words",
    "leave_out_common": "Leave out words that are everywhere",
    "test_share": "Share held out for validation and test",
    "validation_share": "Share for validation, of a split in the file",
    "phrases": "Join phrases of two words",
    "phrase_npmi": "How strongly the words of a phrase belong together",
    "phrase_count": "How often a phrase must occur",
    "lemmas": "Words in their dictionary form",
    "html": "Pages in HTML",
    "strip_mail": "Leave out mail headers, quotes and signatures",
    "hyphens": "Words cut at the end of a line",
    "token_pattern": "What a word is",
    "text_column": "Column of the text",
    "title_column": "Column of the title",
    "label_column": "Column of the label",
    "split_column": "Column of the split",
    "header": "Line of column names",
    "skip_lines": "Lines above the column names",
    "records": "Where the records are",
    "separator": "Separator of cells",
    "quote": "Quotation mark of cells",
    "name_fields": "Fields in the names of files",
    "split": "Divide documents",
    "format": "Format",
    "encoding": "Encoding",
    "seed": "Seed",
    "binary": "Only whether a word occurs",
    "levels": "Grey values of images",
}
_OWN_HELP = {  # texts that differ from those of the command line
    "name": "Usually the name of the file or folder",
    "stop_words": "Words such as 'the' and 'of' say nothing about a topic and are left out",
    "separator": "What separates the cells of a table: a name from the list, or any one character",
    "html": "Tags, scripts and styles of such pages are not counted",
    "max_words": "Only the most frequent words are kept",
    "name_fields": "What the names of files say, as {year}_{label}_{author} does of 1990_sea_Miller.txt",
    "split": "Long documents as passages: paragraphs, chapters, or so many words, as in 500 words",
}
# Dropped from sentences: it applies to the command only, because the form uploads all files together.
_COMMAND_ENDING = ", or name one with --vocabulary"
_DEFAULT_HINTS = {
    "separator": "usually detected", "skip_lines": "usually detected",
    "records": "usually detected", "max_words": "usually 10,000 for texts, all for counts",
    "min_df": "usually 2", "max_df": "usually 0.7", "token_pattern": "usually two letters or more",
    "phrase_npmi": "usually 0.5", "phrase_count": "usually 10", "split": "usually not divided",
}  # fmt: skip
_CHOICES: dict[str, tuple[tuple[str, str], ...]] = {
    "stop_words": (
        ("", "as usual: those of the language that is recognised"),
        *((name.lower(), name) for name in sorted(NAMES.values())),
        ("none", "none: keep all"),
    ),
    "html": (("auto", "detected"), ("yes", "all texts are"), ("no", "none is")),
    "hyphens": (("auto", "joined where the texts write them as one"), ("join", "all joined"), ("keep", "none joined")),
    "header": (("auto", "detected"), ("yes", "yes"), ("no", "no")),
    "quote": (("", "detected"), ("double", 'double: "'), ("single", "single: '"), ("none", "none")),
}
_SUGGESTED = {  # other values may be typed
    "separator": tuple((name, mark.strip()) for name, mark in SEPARATORS.items()),
    "split": (("paragraphs", ""), ("chapters", ""), ("500 words", "")),
}
GUIDE = "guide"  # the name of the field for topics that users know
OWN = {"minibatches": "Steps", "seed": "Seeds"}  # fields that every model has
QUICK, GOOD, WITH_LABELS = "quick", "good", "labels"  # what a run is for
UNTIL_GOOD = "good"  # the end of a quick run: its curve no longer falls
MODEL_GROUP, LENGTH_GROUP = "Model and layers", "Length, seeds and name"  # headings among the folded fields


def make_option_field(
    name: str,
    typed: str | None,
    error: str,
    columns: Sequence[str],
    formats: Sequence[tuple[str, str]],
    proposed: str = "",
) -> FormField:
    """Return the form field of an option.

    Parameters
    ----------
    typed : str or None
        The text in the field; None for the default, while nothing has been typed.
    error : str
        The sentence shown at the field; empty if the text is valid.
    columns : sequence of str
        Names of the columns, if the files are a table.
    formats : sequence of (str, str)
        Every format with its description.
    proposed : str
        A proposed value for the files, or empty.
    """
    default = getattr(ImportOptions(), name)
    choices: Any = _CHOICES.get(name, ())
    if name == "format":
        choices = (("", "detected"), *formats)
    if name in COLUMNS and columns:
        names = dict.fromkeys((*columns, *([typed] if typed else ())))
        choices = (("", "detected"), *((item, item) for item in names))
    kind = "choice" if choices else "flag" if options.KINDS.get(name) is bool else "text"
    sentence = _OWN_HELP.get(name, options.HELP[name])
    suggested = _SUGGESTED.get(name, ())
    if proposed:
        suggested = ((proposed, "proposed"), *(item for item in suggested if item[0] != proposed))
    default_text = "" if default is None else str(default).lower() if isinstance(default, bool) else str(default)
    return FormField(
        name, LABELS[name], sentence[:1].upper() + sentence[1:] + ".", kind, default_text if typed is None else typed,
        choices or suggested, error, f"proposed: {proposed}" if proposed else _DEFAULT_HINTS.get(name, ""),
    )  # fmt: skip


def reword_options(error: str) -> str:
    """Reword a sentence about an import: name the fields of this form instead of the command's options."""
    return name_fields(error.removesuffix(_COMMAND_ENDING), LABELS)


PLACE, PLACE_LABEL = "on", "Run on"
HERE = "this computer"
PLACE_GROUP = "Where it runs"  # the heading among the folded fields
PLACE_HELP = (
    "local:2 sweeps the documents in two processes of this machine, and the address of a Dask scheduler, such as "
    "tcp://host:8786, on the machines of its cluster. The topics are the same."
)


GPU_HELP = " gpu sweeps them by the graphics processor of this machine, in single precision."
CARDS_HELP = " gpu+local:2 and gpu+tcp://host:8786 sweep them by a graphics processor of every process."


def make_place_field(value: str, error: str) -> FormField:
    """Return the field for the place where a run trains; without Dask and a card it is locked and explains why."""
    has_dask, has_card = place.is_dask_installed(), bool(gpu.list_cards())
    dask_missing = name_fields(place.DASK_MISSING, {PLACE: PLACE_LABEL})
    help_text = PLACE_HELP if has_dask else f"{dask_missing[0].upper()}{dask_missing[1:]}."
    is_free = has_dask or has_card
    hint = f"Usually {HERE}." if is_free else ""
    help_text += (GPU_HELP if has_card else "") + (CARDS_HELP if has_dask else "")
    return FormField(
        PLACE, PLACE_LABEL, help_text, "text", value, error=error, hint=hint, locked=not is_free, group=PLACE_GROUP
    )


def read_place(text: str) -> str:
    """Return the place that a text names, as a value of ``--on``; an empty text means this computer."""
    return "" if text.strip().lower() == HERE else text.strip()


def check_place(text: str, store: str) -> str:
    """Return why runs of a store cannot train at a place; an empty text if they can."""
    try:
        if read_place(text):
            place.check_place(read_place(text), store)
    except place.PlaceError as error:
        return name_fields(str(error), {PLACE: PLACE_LABEL})
    return ""


def make_setting_field(setting: Setting, value: str, error: str) -> FormField:
    """Return the form field of a setting."""
    kind = setting.kind if setting.kind in ("choice", "flag") else "text"
    choices = [(choice, choice) for choice in setting.choices]
    hint = describe_bounds(setting.low, setting.high, format_default(setting.default)) if kind == "text" else ""
    return FormField(setting.name, setting.label, setting.help, kind, value, choices, error, hint, group=setting.group)


def add_proposal(layers: FormField, corpus: CorpusRow, model: str, *, tried: bool) -> FormField:
    """Explain in the field of the layers' widths how its numbers were proposed."""
    return layers._replace(hint=describe_widths(propose_layers(corpus, model), corpus, tried=tried))


def lock_layers(layers: FormField) -> FormField:
    """Lock the field of the layers' widths, which the snapshot fixes."""
    return layers._replace(help="Those of the snapshot, whose topics the run continues.", hint="", locked=True)


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
