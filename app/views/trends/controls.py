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
