"""Replacements for a run or a snapshot that does not exist (any more)."""

from typing import Any, NamedTuple

from topiary.app.live.feed import TROUBLE, Feed, find_usual_run
from topiary.app.names import COMING
from topiary.app.pages.session import ANOTHER_RUN
from topiary.app.views.top_bar import WITHOUT_A_RUN
from topiary.store import runs
from topiary.store.errors import NotFound


class Fallback(NamedTuple):
    """Fields of the view to change, and a sentence that says why; both are empty if nothing is missing."""

    fields: dict[str, Any]
    sentence: str = ""


def lacks_runs(feed: Feed, run: int, page: str) -> bool:
    """Return whether a page has no run to show, because the view names none and the store has none."""
    return page not in WITHOUT_A_RUN and not run and not feed.runs()


def awaits_topics(feed: Feed, run: int, page: str) -> bool:
    """Return whether the page of topics has nothing to show yet, because the run is about to have its first ones."""
    return page == "explore" and bool(run) and feed.latest(run) is None and feed.state(run) in COMING


def choose_first_view(feed: Feed) -> dict[str, Any]:
    """Return the fields of the view for an address that says nothing: Explore if the usual run has ended with topics.

    While that run trains, and in a store without topics, the fields are empty, so that the default page, Watch, opens.
    """
    run = find_usual_run(feed, "explore")
    has_ended = feed.state(run) in ("finished", "stopped") and feed.latest(run) is not None
    return {"page": "explore"} if has_ended else {}


def replace_run(feed: Feed, run: int, page: str) -> Fallback:
    """Return what to show instead if a page names no run, or if one that needs none names a run that is not there.

    A page about a missing run stays, and says so, unless the store has no runs at all.
    """
    says_so = run and page not in WITHOUT_A_RUN and feed.runs()
    if feed.run(run) is not None or says_so or (run and not is_missing(feed, run)):
        return Fallback({})
    default_run = find_usual_run(feed, page)
    fields = (ANOTHER_RUN if run else {}) | {"run": default_run}
    if not default_run and page not in WITHOUT_A_RUN:
        fields |= {"page": "runs"}
    return Fallback(fields, f"There is no run {run} in this store." if run else "")


def replace_snapshot(feed: Feed, run: int, snapshot: int) -> Fallback:
    """Return what to show instead if the run has no such snapshot; this waits for the store."""
    if not snapshot or any(row.number == snapshot for row in feed.snapshots(run)):
        return Fallback({})
    return Fallback({"snapshot": 0}, f"Run {run} has no such snapshot (any more); this is its newest one.")


def is_missing(feed: Feed, run: int) -> bool:
    """Return whether the store has no such run; ask it directly if the feed, which may lag behind, has none."""
    if not run or feed.run(run) is not None:
        return False
    try:
        runs.get_run(feed.db, run)
    except NotFound:
        return True
    except TROUBLE:
        return False
    return False
