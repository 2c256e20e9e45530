"""Controls and cards that the pages Trends and Word have in common."""

from collections.abc import Sequence

from topiary.app.views.html import render


def draw_column_choice(names: Sequence[str], chosen: str, label: str) -> str:
    """Return the choice of a column of the documents."""
    return render("trends.column_choice", names, chosen, label)


def draw_period_choices(unit: str, moving: str) -> str:
    """Return the choices of the length of periods and of their smoothing."""
    return render("trends.period_choices", unit, moving)


def draw_weight_choice(weigh: str) -> str:
    """Return the choice of what a document counts."""
    return render("trends.weight_choice", weigh)


def draw_card(heading: str, body: str, note: str = "") -> str:
    """Return a part of the page with a heading, and a note below."""
    return render("trends.card", heading, note, body)
