"""Names that all fronts share: those of periods are what the engine cuts time into."""

from topiary.app.names import UNITS
from topiary.engine.lens import periods


def test_periods_have_the_names_that_the_engine_cuts():
    assert periods.UNITS == UNITS
