"""Replacements for a run or a snapshot that does not exist (any more)."""

from typing import Any, NamedTuple

from app.jobs.gallery import choose_run, is_of_gallery
from app.live.feed import TROUBLE, Feed
from app.pages.session import ANOTHER_RUN
from app.views.top_bar import WITHOUT_A_RUN
from store import runs
from store.errors import NotFound


class Fallback(NamedTuple):
    """Fields of the view to change, and a sentence that says why; both are empty if nothing is missing."""

    fields: dict[str, Any]
    sentence: str = ""


def find_usual_run(feed: Feed, page: str = "") -> int:
    """Return the number of the run to show by default: the newest that is training, or else the newest; 0 for none.

    If that is a run of the demo, it is the one of the demo that the page is for.
    """
    rows = feed.runs()
    running = (row.number for row in rows if row.state == "running")
    usual = next(running, rows[0].number if rows else 0)
    return (is_of_gallery(rows, usual) and choose_run(rows, page)) or usual


def lacks_runs(feed: Feed, run: int, page: str) -> bool:
    """Return whether a page has no run to show, because the view names none and the store has none."""
    return page not in WITHOUT_A_RUN and not run and not feed.runs()


def replace_run(feed: Feed, run: int, page: str) -> Fallback:
    """Return what to show instead if the run of a page is not in the store."""
    if feed.run(run) is not None or (run and not _is_missing(feed, run)):
        return Fallback({})
    default_run = find_usual_run(feed, page)
    fields = (ANOTHER_RUN if run else {}) | {"run": default_run}
    if not default_run and page not in WITHOUT_A_RUN:
        fields |= {"page": "runs"}
    replacement = f"; this is run {default_run}" if default_run and page not in WITHOUT_A_RUN else ""
    return Fallback(fields, f"There is no run {run} in this store{replacement}." if run else "")


def replace_snapshot(feed: Feed, run: int, snapshot: int) -> Fallback:
    """Return what to show instead if the run has no such snapshot; this waits for the store."""
    if not snapshot or any(row.number == snapshot for row in feed.snapshots(run)):
        return Fallback({})
    return Fallback({"snapshot": 0}, f"Run {run} has no such snapshot (any more); this is its newest one.")


def _is_missing(feed: Feed, run: int) -> bool:
    """Return whether the store has no such run; ask it directly, because the feed may lag behind."""
    try:
        runs.get_run(feed.db, run)
    except NotFound:
        return True
    except TROUBLE:
        return False
    return False
