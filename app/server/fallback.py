"""Replacements for a run or a snapshot that does not exist (any more)."""

from typing import Any, NamedTuple

from app.live.feed import TROUBLE, Feed
from app.pages.session import ANOTHER_RUN
from app.views.top_bar import WITHOUT_A_RUN
from store import runs
from store.errors import NotFound


class Fallback(NamedTuple):
    """Fields of the view to change, and the sentence that says why; empty where nothing is missing."""

    fields: dict[str, Any]
    sentence: str = ""


def find_usual_run(feed: Feed) -> int:
    """Return the run to show by default: the newest that trains, or else the newest; 0 = there is none."""
    everyone = feed.runs()
    running = (row.number for row in everyone if row.state == "running")
    return next(running, everyone[0].number if everyone else 0)


def lacks_runs(feed: Feed, run: int, page: str) -> bool:
    """Return whether a page has no run to show because the store has none; a run just started is in the view."""
    return page not in WITHOUT_A_RUN and not run and not feed.runs()


def replace_run(feed: Feed, run: int, page: str) -> Fallback:
    """Choose what to show on a page where the run is not in the store."""
    if feed.run(run) is not None or (run and not _is_missing(feed, run)):
        return Fallback({})
    usual = find_usual_run(feed)
    fields = (ANOTHER_RUN if run else {}) | {"run": usual}
    if not usual and page not in WITHOUT_A_RUN:
        fields |= {"page": "runs"}
    instead = f"; this is run {usual}" if usual and page not in WITHOUT_A_RUN else ""
    return Fallback(fields, f"There is no run {run} in this store{instead}." if run else "")


def replace_snapshot(feed: Feed, run: int, snapshot: int) -> Fallback:
    """Choose what to show where the run has no such snapshot; waits for the store."""
    if not snapshot or any(row.number == snapshot for row in feed.snapshots(run)):
        return Fallback({})
    return Fallback({"snapshot": 0}, f"Run {run} has no such snapshot (any more); this is its newest one.")


def _is_missing(feed: Feed, run: int) -> bool:
    """Return whether the store has no such run; the feed may not have read one that was just written."""
    try:
        runs.get_run(feed.db, run)
    except NotFound:
        return True
    except TROUBLE:
        return False
    return False
