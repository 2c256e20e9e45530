"""How topics and words are measured over time and by group, as the pages Trends and Word let it be chosen."""

from typing import Any, NamedTuple

from topiary.app.names import UNIT
from topiary.engine.lens.moments import Weighting


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


class HeatChoices(NamedTuple):
    """What the table of topics and groups shows: fields of the view.

    Attributes
    ----------
    cells : "difference" or "share"
        The number of a cell: the difference from all other groups, or the share in the group.
    ordered : "size" or "similarity"
        Order of topics and groups.
    numbers : "sure" or "all"
        Whether cells whose difference may be chance have a number too.
    heads : tuple of str
        The conditions of the groups that have a column; none for the largest ones.
    quiet : "hidden" or "shown"
        Whether topics without a sure difference are shown where there are many.
    every : "hidden" or "shown"
        Whether the table below has all its rows.
    marked : tuple of str
        The cell that was chosen: a topic and the condition of a group, as in ``L3:1 source=herald``.
    """

    cells: str = "difference"
    ordered: str = "size"
    numbers: str = "sure"
    heads: tuple[str, ...] = ()
    quiet: str = "hidden"
    every: str = "hidden"
    marked: tuple[str, ...] = ()
