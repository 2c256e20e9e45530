"""The filters of documents by columns: conditions as chips, and a form for another one."""

from collections.abc import Sequence
from typing import Protocol

from topiary.app.views.html import render


def draw_conditions(where: Sequence[str]) -> str:
    """Return the conditions as chips; a click on one sends ``unfilter`` with it."""
    return render("macros.conditions", where)


def draw_filter_form(columns: Sequence[str]) -> str:
    """Return the form that sends ``filter`` with a column and a value; nothing without columns."""
    return render("macros.filter_form", columns)


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
    return render("macros.selection", selection, describe_moment(selection.moment) if selection.moment else "")
