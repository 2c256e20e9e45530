"""Names that all fronts share: of models, samplers, states, steps and choices; numbers with their nouns and signs."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

STATES = {
    "queued": "waiting",
    "running": "training",
    "paused": "paused",
    "stopped": "stopped",
    "finished": "finished",
    "failed": "failed",
    "silent": "silent",
    "damaged": "damaged",
}
COMING = ("queued", "running")  # states of runs that will have more steps
UNFINISHED = (*COMING, "paused")  # or may have them
BROKEN = ("failed", "silent")  # states in which a run needs help
Axis: TypeAlias = Literal["minibatches", "documents", "seconds"]  # against which curves are drawn
AXES: tuple[Axis, ...] = ("minibatches", "documents", "seconds")
STEPS = {"sweep": "sweeps", "mini-batch": "mini-batches", "step": "steps"}  # singular and plural
UNITS = ("day", "week", "month", "quarter", "year", "decade")  # lengths of periods, as in `engine.lens.periods`
IntervalKind: TypeAlias = Literal["documents", "topics"]  # of which differences intervals are: topics has both
LARGEST_COUNT = 2**63 - 1  # the largest whole number that the store's columns and numpy's arrays hold
SIZES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9}  # units of bytes
MODELS = {
    "sdatm": "sDATM",
    "lda-gibbs": "LDA (Gibbs)",
    "lda-cavi": "LDA (coordinate ascent)",
    "lda-svi": "LDA (stochastic variational)",
    "deep-exp-family": "Deep exponential family",
    "double-def": "Double DEF",
}  # the others are written in capital letters
INFERENCES = {
    "tlasgr": "TLASGR-MCMC",
    "tlfsgr": "TLFSGR-MCMC",
    "sgrld": "SGRLD",
    "sgnht": "SGNHT",
    "bcdf": "bCDF",
    "gibbs": "Gibbs sampling",
}
UNDATED = ("document has no date and is", "documents have no date and are")  # nouns for `plural`


class Choice(NamedTuple):
    """A choice of a visitor: a field of the view and its link, the element of a form, and an option of commands.

    Attributes
    ----------
    name : str
        The field of the view, and what the element sends.
    texts : mapping of str to str
        What the element says for each value; the first value is chosen at first.
    label, hint : str
        The name of the element, and what it says on hover.
    option, help : str
        The option of commands.
    unset : str
        The value that commands do not offer, because it is that of a missing option.
    """

    name: str
    texts: Mapping[str, str]
    label: str
    hint: str
    option: str
    help: str
    unset: str = ""

    @property
    def offered(self) -> tuple[str, ...]:
        """The values that commands offer."""
        return tuple(value for value in self.texts if value != self.unset)


UNIT = Choice(
    "unit",
    {"automatic": "Periods: automatic"} | {unit: f"{unit.capitalize()}s" for unit in UNITS},
    "Periods",
    "Length of the periods",
    "--unit",
    "of time: length of the periods (default: by density)",
    unset="automatic",
)
MOVING = Choice(
    "moving",
    {"1": "No smoothing", "3": "Mean of 3", "5": "Mean of 5", "9": "Mean of 9"},
    "Smoothing",
    "Moving mean of periods",
    "--moving",
    "of time: mean of so many periods",
    unset="1",
)
WEIGH = Choice(
    "weigh",
    {"tokens": "By words", "documents": "By documents"},
    "Weight of a document",
    "By words, a long document counts more than a short one; by documents, all count alike",
    "--by",
    "of time and groups: weight of a document, its words or 1 (default: tokens)",
)
INTERVAL = Choice(
    "interval",
    {"documents": "Usual intervals", "topics": "Wider intervals"},
    "Intervals",
    "Intervals from the differences between documents, or wider ones that also have those between samples of the "
    "topics",
    "--interval",
    "of time and groups: intervals from differences between documents (default), or also between samples of the topics",
)


def name_state(name: str) -> str:
    """Return the word for the state of a run."""
    return STATES.get(name, name)


def name_model(name: str) -> str:
    """Return the name of a model as its paper writes it: ``DLDA``, ``sDATM``."""
    return MODELS.get(name, name.upper())


def name_inference(model: str, name: str) -> str:
    """Return the name of an inference method as papers write it; empty if the model has only one or chooses it."""
    return "" if name in ("", "auto", model) else INFERENCES.get(name, name.upper())


def name_step(*runs: Any) -> str:
    """Return what a step of runs (rows of the store) is: ``sweep`` of all documents, or ``mini-batch``.

    Runs with steps of both kinds, and no run at all, have a ``step``.
    """
    kinds = {"sweep" if run.options.get("sweeps_after") == 0 else "mini-batch" for run in runs}
    return kinds.pop() if len(kinds) == 1 else "step"


def plural(n: int, noun: str, several: str = "") -> str:
    """Return a number with its noun: ``1 document``, ``1,234 documents``; ``several`` is an irregular plural.

    >>> plural(1, "document"), plural(2500, "category", "categories")
    ('1 document', '2,500 categories')
    """
    return f"{n:,} {noun if n == 1 else several or f'{noun}s'}"


def parse_count(text: str) -> int | None:
    """Parse a number of digits only; None for other texts, and for numbers above `LARGEST_COUNT`."""
    try:
        value = int(text) if text.isdecimal() else LARGEST_COUNT + 1
    except ValueError:  # Python refuses numbers of more than 4300 digits
        return None
    return value if value <= LARGEST_COUNT else None


def format_signed(value: float, digits: int = 2) -> str:
    """Return a number with its sign (a typographic minus), or without a sign if it rounds to zero."""
    text = f"{value:+.{digits}f}"
    return text[1:] if not float(text) else text.replace("-", "−")
