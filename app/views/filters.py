"""The filters of documents by columns: conditions as chips, and a form for another one."""

import re
from collections.abc import Sequence
from typing import Protocol

from topiary.app.views.markup import draw_icon, draw_options, write_attributes, write_element
from topiary.app.views.text import escape, shorten

_VALUE_TIP = "A category, or a range such as 2004..2005-06, 3.. or ..10; a part of a date is enough"
_LETTERS = 50  # of a chip
_NAME_LETTERS = 30  # of a column
_LINE = re.compile(r"map:\d+=.*~")  # as `app.analysis.filters` writes it


def name_condition(text: str) -> str:
    """Return a condition as it is shown: a line on the map is not shown by its corners."""
    return "inside a line on the map" if _LINE.match(text) else text


def draw_conditions(where: Sequence[str]) -> str:
    """Return the conditions as chips; a click on one sends ``unfilter`` with it."""
    return "".join(
        write_element(
            "button",
            f"{escape(shorten(name_condition(text), _LETTERS))}{draw_icon('close')}",
            type="button",
            class_="fl-chip",
            data_do="unfilter",
            data_value=text,
            title="Remove this filter",
            aria_label=f"Remove the filter {name_condition(text)}",
        )
        for text in where
    )


def draw_filter_form(columns: Sequence[str]) -> str:
    """Return the form that sends ``filter`` with a column and a value; nothing without columns."""
    if not columns:
        return ""
    options = draw_options([(name, shorten(name, _NAME_LETTERS)) for name in columns])
    names = {"name": "column", "aria_label": "Column of the filter"}
    select = f'<select class="ex-select"{write_attributes(**names)}>{options}</select>'
    names = {"name": "value", "placeholder": "Value", "aria_label": "Value", "title": _VALUE_TIP}
    value = f'<input class="tp-input" autocomplete="off"{write_attributes(**names)}>'
    button = '<button type="submit" class="ex-soft">Add filter</button>'
    return f'<form class="fl-form" data-do="filter">{select}{value}{button}</form>'


def describe_moment(step: str) -> str:
    """Return the moment of shares that are not of the newest topics, for the end of a sentence."""
    return f"as of {step}, the last one whose documents have all been placed"


class SelectionFacts(Protocol):
    """What is shown of a selection of documents: its conditions, its size and the moment of its shares, or why not."""

    @property
    def where(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def selected(self) -> int: ...  # noqa: D102
    @property
    def documents(self) -> int: ...  # noqa: D102
    @property
    def fault(self) -> str: ...  # noqa: D102
    @property
    def moment(self) -> str: ...  # noqa: D102


def draw_selection(selection: SelectionFacts | None) -> str:
    """Return the conditions that select documents, and how many these are; empty without a selection."""
    if selection is None:
        return ""
    count = f"Shares in {selection.selected:,} of {selection.documents:,} documents"
    if selection.moment:
        count = f"{count}, {describe_moment(selection.moment)}"
    note = f'<span role="status">{escape(selection.fault or count)}</span>'
    return f'<div class="fl-row">{draw_conditions(selection.where)}{note}</div>'
