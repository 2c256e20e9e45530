"""Controls and cards that the pages Trends and Word have in common."""

from collections.abc import Sequence

from topiary.app.views.markup import draw_select
from topiary.app.views.text import escape, shorten
from topiary.engine.lens import UNITS

_LETTERS = 30  # of the name of a column
_UNITS = {"automatic": "Periods: automatic"} | {unit: f"{unit.capitalize()}s" for unit in UNITS}
MOVING = {"1": "No smoothing", "3": "Mean of 3", "5": "Mean of 5", "9": "Mean of 9"}
_WEIGHTS = {"tokens": "By words", "documents": "By documents"}
_WEIGHT_TIP = "By words, a long document counts more than a short one; by documents, all count alike"


def draw_column_choice(names: Sequence[str], chosen: str, label: str) -> str:
    """Return the choice of a column of the documents."""
    return draw_select("column", [(name, shorten(name, _LETTERS)) for name in names], chosen, label)


def draw_period_choices(unit: str, moving: str) -> str:
    """Return the choices of the length of periods and of their smoothing."""
    units = draw_select("unit", _UNITS.items(), unit, "Periods", "Length of the periods")
    return units + draw_select("moving", MOVING.items(), moving, "Smoothing", "Moving mean of periods")


def draw_weight_choice(weigh: str) -> str:
    """Return the choice of what a document counts."""
    return draw_select("weigh", _WEIGHTS.items(), weigh, "Weight of a document", _WEIGHT_TIP)


def draw_card(heading: str, body: str, note: str = "") -> str:
    """Return a part of the page with a heading, and a note below."""
    foot = f'<p class="tr-note">{escape(note)}</p>' if note else ""
    return f'<section class="tr-card"><h2>{escape(heading)}</h2>{body}{foot}</section>'
