"""The new-run form, drawn from the settings that a model declares."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from topiary.app.names import INFERENCES
from topiary.app.views.markup import draw_options, write_attributes, write_element
from topiary.app.views.text import escape
from topiary.engine import models
from topiary.engine.settings import Setting, describe

BACK = '<button type="button" class="tp-button" data-do="cancel">Back to the runs</button>'


class FormField(NamedTuple):
    """One row of the form.

    Attributes
    ----------
    name, label, help : str
    kind : str
        "choice", "flag" or "text".
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
    value, title, help : str
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
    folded_fields = fold_fields("All settings", "the defaults are good ones; what you change takes precedence", folded)
    parts = [("Documents", draw_fields(first))]
    if goals:
        choice = _draw_goals(goals, chosen) + draw_error(about_goal)
        parts.append(("How to train", choice + folded_fields))
    else:
        parts.append(("The settings", folded_fields))
    button_text = "Starting …" if sent else "Start training"
    return draw_sheet(title, draw_form("start", parts, error, button_text, ready=ready and not sent))


def _draw_goals(goals: Sequence[Goal], chosen: str) -> str:
    """Return the choice of what a run is for, a card each."""
    cards = []
    for goal in goals:
        key = f"goal-{goal.value}"
        is_chosen = goal.value == chosen
        attributes = write_attributes(
            id=key, value=goal.value, checked=is_chosen, disabled=goal.locked and not is_chosen,
            aria_describedby=f"about-{key}",
        )  # fmt: skip
        cards.append(
            f'<div class="tp-goal"{write_attributes(data_key=key)}><input type="radio" name="goal"{attributes}>'
            f'<label for="{key}">{escape(goal.title)}</label>'
            f'<span class="tp-help" id="about-{key}">{escape(goal.help)}</span></div>'
        )
    return f'<div class="tp-goals" role="radiogroup" aria-label="How to train">{"".join(cards)}</div>'


def draw_sheet(title: tuple[str, str], *parts: str) -> str:
    """Return a page of one column: a heading, a line under it, and the parts."""
    return (
        f'<div class="tp-page-in tp-form-page"><div class="tp-title"><div><h1>{escape(title[0])}</h1>'
        f'<p class="tp-dim">{escape(title[1])}</p></div></div>{"".join(parts)}</div>'
    )


def draw_form(do: str, parts: Sequence[tuple[str, str]], error: str, word: str, *, ready: bool) -> str:
    """Return a form that sends the message ``do``.

    Parameters
    ----------
    do : str
    parts : sequence of (legend, markup)
    error : str
        A sentence about several fields at once, or empty.
    word : str
        The word on the button that sends the form.
    ready : bool
        Whether the form may be sent.
    """
    inside = "".join(f"<fieldset><legend>{legend}</legend>{markup}</fieldset>" for legend, markup in parts)
    send_button = write_element("button", word, type="submit", class_="tp-button tp-strong", disabled=not ready)
    return (
        f'<form class="tp-form" data-do="{do}" data-input="typed" data-change="typed" novalidate>{inside}'
        f'{draw_error(error)}<div class="tp-form-acts">'
        f"{BACK}{send_button}</div></form>"
    )


def draw_error(error: str) -> str:
    """Return an error as HTML; empty if there is none."""
    return f'<p class="tp-error" role="alert">{escape(error)}</p>' if error else ""


def fold_fields(name: str, note: str, inside: Sequence[FormField]) -> str:
    """Return fields folded under a heading; they are unfolded if one of them has an error."""
    has_error = any(field.error for field in inside)
    summary = f'{name} <span class="tp-dim">{len(inside)} more; {note}</span>'
    attributes = write_attributes(data_key="advanced", open=has_error, data_unfold=has_error)
    groups = dict.fromkeys(field.group for field in inside)
    parts = "".join(_draw_group(group, [field for field in inside if field.group == group]) for group in groups)
    return f'<details class="tp-fold"{attributes}><summary>{summary}</summary>{parts}</details>'


def _draw_group(name: str, fields: Sequence[FormField]) -> str:
    """Return fields that belong together, under their heading if there is one."""
    if not name:
        return draw_fields(fields)
    attributes = write_attributes(data_key=f"about {name}")
    return f'<section class="tp-group"{attributes}><h3>{escape(name)}</h3>{draw_fields(fields)}</section>'


def draw_fields(inside: Sequence[FormField]) -> str:
    """Return fields, each with its label, help and error."""
    return f'<div class="tp-fields">{"".join(map(_draw_field, inside))}</div>'


def _draw_field(field: FormField) -> str:
    help_id = f"about-{field.name}"
    common = write_attributes(
        name=field.name,
        id=f"field-{field.name}",
        aria_describedby=help_id,
        aria_invalid="true" if field.error else None,
    )
    if field.kind == "choice":
        options = draw_options(field.choices, field.value)
        control = f'<select class="tp-input"{common}{write_attributes(disabled=field.locked)}>{options}</select>'
    elif field.kind == "flag":
        control = f'<input type="checkbox" class="tp-check"{common}{write_attributes(checked=field.value == "true")}>'
    else:
        proposals = draw_options(field.choices)
        list_id = f"proposed-{field.name}" if proposals else None
        value_attributes = write_attributes(value=field.value, readonly=field.locked, list=list_id)
        control = f'<input class="tp-input" autocomplete="off" spellcheck="false"{common}{value_attributes}>'
        control += f"<datalist{write_attributes(id=list_id)}>{proposals}</datalist>" if proposals else ""
    error = f'<span class="tp-error" role="alert">{escape(field.error)}</span>' if field.error else ""
    hint = f" <em>{escape(field.hint)}</em>" if field.hint else ""
    return (
        f'<div class="tp-field{" tp-flag" if field.kind == "flag" else ""}"{write_attributes(data_key=field.name)}>'
        f'<label for="field-{escape(field.name)}">{escape(field.label)}</label>{control}'
        f'<span class="tp-help" id="{escape(help_id)}">{escape(field.help)}{hint}</span>{error}</div>'
    )


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
