"""The newest values of the curves by which runs are judged, read from the store."""

from app.jobs.estimates import CURVES
from store import points
from store.database import Database


def latest_of(db: Database, run: int) -> dict[str, float]:
    """The newest values of the curves that `app.jobs.estimates` reads, of one run; only those that it has."""
    curves = ((name, points.read_curve(db, run, name)) for name in CURVES)
    return {name: curve[-1][1] for name, curve in curves if curve}


def latest_of_all(db: Database) -> dict[int, dict[str, float]]:
    """The same of every run that has some; one question for each curve."""
    found: dict[int, dict[str, float]] = {}
    for name in CURVES:
        for run, curve in points.read_curves(db, name).items():
            found.setdefault(run, {})[name] = curve[-1][1]
    return found
