"""The new-run form as HTML, drawn from what a model says about its own settings."""

from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

from app.views.markup import attributes, element


class Field(NamedTuple):
    """One row of the form.

    Attributes
    ----------
    name, label, help : str
    kind : str
        "choice", "flag" or "text".
    value : str
        As text; "true" or "false" for a flag.
    choices : sequence of (value, words)
    error : str
        One sentence, or empty.
    hint : str
        Bounds and default, in small print.
    """

    name: str
    label: str
    help: str
    kind: str
    value: str
    choices: Sequence[tuple[str, str]] = ()
    error: str = ""
    hint: str = ""


def default_text(value: Any) -> str:
    """A default as a person would type it: ``128-64-32``, ``0.05``, ``true``."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ("-" if all(isinstance(item, int) for item in value) else ",").join(str(item) for item in value)
    return str(value)


def bounds(low: float | None, high: float | None, default: str) -> str:
    """Small print: ``1 to 10,000,000, usually 20``."""
    usual = f"usually {default}" if default else ""
    if low is not None and high is not None:
        return f"{low:g} to {high:,.10g}, {usual}".rstrip(", ")
    if low is not None:
        return f"at least {low:g}, {usual}".rstrip(", ")
    return usual


def form(
    first: Sequence[Field],
    simple: Sequence[Field],
    advanced: Sequence[Field],
    error: str,
    *,
    ready: bool,
    title: tuple[str, str] = ("New run", ""),
) -> str:
    """The whole form.

    Parameters
    ----------
    first : sequence of Field
        What is read and for how long.
    simple, advanced : sequences of Field
        Settings of the model; the advanced ones are folded.
    error : str
        A sentence about several fields at once, or empty.
    ready : bool
        Whether it may be sent.
    title : (str, str)
        Heading, and a line under it.
    """
    trouble = f'<p class="tp-error" role="alert">{escape(error)}</p>' if error else ""
    wrong = any(field.error for field in advanced)
    summary = f'All settings of the model <span class="tp-dim">{len(advanced)} more; the defaults are good ones</span>'
    folded = (
        f'<details class="tp-fold"{attributes(data_key="advanced", open=wrong)}><summary>{summary}</summary>'
        f'<div class="tp-fields">{rows(advanced)}</div></details>'
    )
    start = element("button", "Start training", type="submit", class_="tp-button tp-strong", disabled=not ready)
    return (
        f'<div class="tp-page-in tp-form-page"><div class="tp-title"><div><h1>{escape(title[0])}</h1>'
        f'<p class="tp-dim">{escape(title[1])}</p></div></div>'
        f'<form class="tp-form" data-do="start" data-input="typed" data-change="typed" novalidate>'
        f'<fieldset><legend>What to read</legend><div class="tp-fields">{rows(first)}</div></fieldset>'
        f'<fieldset><legend>The model</legend><div class="tp-fields">{rows(simple)}</div>{folded}</fieldset>{trouble}'
        '<div class="tp-form-acts"><button type="button" class="tp-button" data-do="cancel">Back to the runs</button>'
        f"{start}</div></form></div>"
    )


def rows(fields: Sequence[Field]) -> str:
    """Fields, each with its label, help and error."""
    return "".join(map(_row, fields))


def _row(field: Field) -> str:
    about = f"about-{field.name}"
    common = attributes(
        name=field.name,
        id=f"field-{field.name}",
        aria_describedby=about,
        aria_invalid="true" if field.error else None,
    )
    if field.kind == "choice":
        options = "".join(
            f"<option{attributes(value=value, selected=value == field.value)}>{escape(word)}</option>"
            for value, word in field.choices
        )
        control = f'<select class="tp-input"{common}>{options}</select>'
    elif field.kind == "flag":
        control = f'<input type="checkbox" class="tp-check"{common}{attributes(checked=field.value == "true")}>'
    else:
        control = (
            f'<input class="tp-input" autocomplete="off" spellcheck="false"{common}{attributes(value=field.value)}>'
        )
    wrong = f'<span class="tp-error" role="alert">{escape(field.error)}</span>' if field.error else ""
    hint = f" <em>{escape(field.hint)}</em>" if field.hint else ""
    return (
        f'<div class="tp-field{" tp-flag" if field.kind == "flag" else ""}"{attributes(data_key=field.name)}>'
        f'<label for="field-{escape(field.name)}">{escape(field.label)}</label>{control}'
        f'<span class="tp-help" id="{escape(about)}">{escape(field.help)}{hint}</span>{wrong}</div>'
    )
