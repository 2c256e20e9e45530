"""Controls and cards that the pages Trends and Word have in common."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from topiary.app.names import UNIT
from topiary.app.views.html import render
from topiary.engine.lens.moments import Weighting


def draw_column_choice(names: Sequence[str], chosen: str, label: str) -> str:
    """Return the choice of a column of the documents."""
    return render("trends.column_choice", names, chosen, label)


class MeasuredBy(NamedTuple):
    """How something is measured over time and by group: fields of the view."""

    unit: str = "automatic"
    moving: str = "1"
    weigh: Weighting = "tokens"

    @property
    def period(self) -> str | None:
        """The length of the periods; None to choose it by density."""
        return None if self.unit == UNIT.unset else self.unit

    @property
    def periods(self) -> dict[str, Any]:
        """The length of the periods and the number of them in a moving mean, as arguments of what measures."""
        return {"unit": self.period, "moving": int(self.moving)}


def draw_period_choices(measured: MeasuredBy) -> str:
    """Return the choices of the length of periods and of their smoothing."""
    return render("trends.period_choices", measured)


def draw_weight_choice(measured: MeasuredBy) -> str:
    """Return the choice of what a document counts."""
    return render("trends.weight_choice", measured)


def draw_card(heading: str, body: str, note: str = "") -> str:
    """Return a part of the page with a heading, and a note below."""
    return render("trends.card", heading, note, body)
