"""The new-run form, drawn from the settings that a model declares."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from topiary.app.names import INFERENCES
from topiary.app.views.html import render
from topiary.engine import models
from topiary.engine.settings import Setting, describe


class FormField(NamedTuple):
    """One row of the form.

    Attributes
    ----------
    kind : str
        "choice", "flag", "text" or "lines".
    value : str
        The value as text; "true" or "false" for a flag.
    choices : sequence of (value, words)
        The values of a choice, or the values proposed for a text.
    error : str
        One sentence, or empty.
    hint : str
        Bounds and default, in small print.
    locked : bool
        Whether the value cannot be changed; ``help`` says why.
    group : str
        The heading above the field among folded fields, or empty.
    """

    name: str
    label: str
    help: str
    kind: str
    value: str
    choices: Sequence[tuple[str, str]] = ()
    error: str = ""
    hint: str = ""
    locked: bool = False
    group: str = ""


def name_labels(sentence: str, labels: Mapping[str, str]) -> str:
    """Return a sentence with the names of settings replaced by their labels in the form."""

    def name(match: re.Match[str]) -> str:
        return labels.get(match[0], match[0])

    return re.sub(r"^\w+|\b[a-z]+_\w+", name, sentence)


def name_fields(sentence: str, labels: Mapping[str, str]) -> str:
    """Return a sentence with options of the command line, such as ``--min-df``, replaced by labels of the form."""

    def field(match: re.Match[str]) -> str:
        label = labels.get(match[1].replace("-", "_"))
        return f"“{label}”" if label else match[0]

    return re.sub(r"(?<!\S)--([a-z]+(?:-[a-z]+)*)", field, sentence)


def describe_bounds(low: float | None, high: float | None, default: str) -> str:
    """Return the bounds and the default of a setting in words: ``1 to 10,000,000, usually 20``."""
    usual = f"usually {default}" if default else ""
    if low is not None and high is not None:
        return f"{low:g} to {high:,.10g}, {usual}".rstrip(", ")
    if low is not None:
        return f"at least {low:g}, {usual}".rstrip(", ")
    return usual


class Goal(NamedTuple):
    """What a run is for, the first choice of the form.

    Attributes
    ----------
    locked : bool
        Whether it cannot be chosen; ``help`` says why.
    """

    value: str
    title: str
    help: str
    locked: bool = False


def draw_new_run_form(
    first: Sequence[FormField],
    goals: Sequence[Goal],
    chosen: str,
    known: Sequence[FormField],
    folded: Sequence[FormField],
    errors: tuple[str, str],
    *,
    ready: bool,
    sent: bool = False,
    title: tuple[str, str] = ("New run", ""),
) -> str:
    """Return the new-run form as a page.

    Parameters
    ----------
    first : sequence of FormField
        The corpus, and for a fork the model.
    goals : sequence of Goal
        What the run can be for; empty for a fork.
    chosen : str
        The value of the chosen goal.
    known : sequence of FormField
        What users know of the topics, in a fold of its own; empty for a fork.
    folded : sequence of FormField
        All other fields, those of a group one after the other.
    errors : (str, str)
        A sentence about the goal and one about several fields at once; each may be empty.
    ready : bool
        Whether the form may be sent.
    sent : bool
        Whether the form has been sent and the run is about to start.
    title : (str, str)
        The heading, and a line under it.
    """
    about_goal, error = errors
    wrong = next((field for field in (*first, *known, *folded) if field.error), None)
    why = about_goal or ("" if wrong is None else f"{wrong.label}: {wrong.error}")
    return render(
        "forms.new_run", title, first, goals, chosen, known, folded, about_goal, error,
        "Starting …" if sent else "Start training", ready and not sent, why,
    )  # fmt: skip


def draw_sheet(title: tuple[str, str], *parts: str) -> str:
    """Return a page of one column: a heading, a line under it, and the parts."""
    return render("forms.sheet", *title, parts)


def draw_no_form(heading: str, sentence: str) -> str:
    """Return the page without a form: the reason and a button back."""
    return draw_sheet((heading, ""), render("forms.locked", sentence))


class SettingText(NamedTuple):
    """The label and the meaning of a setting; its name and an empty text if the model does not have it."""

    label: str
    tip: str


def describe_setting(model: str, name: str) -> SettingText:
    """Return the label and the meaning of a setting of a model."""
    setting = _read_settings(model).get(name)
    return SettingText(name, "") if setting is None else SettingText(setting.label, f"{name}: {setting.help}")


# Words for values of choices whose names on the command line are not plain words.
VALUES = {
    "auto": "automatic",
    **INFERENCES,
    "poisson": "Poisson",
    "bernoulli": "Bernoulli",
    "gaussian": "Gaussian",
    "student": "Student's t",
    "sbn": "sigmoid belief network",
    "rbm": "restricted Boltzmann machine",
}


def format_value(value: Any) -> str:
    """Return the value of a setting in words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return VALUES.get(value, value)
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


@cache
def _read_settings(model: str) -> Mapping[str, Setting]:
    if model not in models.list_names():  # a run of a later version
        return {}
    return {setting.name: setting for setting in describe(models.load(model).Config)}
