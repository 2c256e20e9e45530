"""How far rows of DATM's table are from DLDA-TLASGR of the same size, here and in the paper."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.benchmarks import published as figures

if TYPE_CHECKING:
    from app.benchmarks.fidelity import Row


def distance(row: "Row", rows: "Sequence[Row]") -> float | None:
    """Percent that the row is above DLDA-TLASGR of its size and seed; None while that row is missing."""
    request = _reference(row)
    found = next((other for other in rows if (other.trial, other.seed) == (request, row.seed)), None)
    return None if found is None else 100.0 * (row.averaged / found.averaged - 1.0)


def published(row: "Row") -> float:
    """The same of the published figures."""
    request = _reference(row)
    figure = next(value for trial, value in figures.PUBLISHED.items() if trial.key == request)
    return 100.0 * (row.published / figure - 1.0)


def _reference(row: "Row") -> str:
    """The key of the row it is compared with."""
    table, _, name = row.trial.partition(" ")
    return f"{table} tlasgr:{name.partition(':')[2]}"
