"""How far the demo is: one sentence for all pages, and one share for the preparation and the runs of the gallery.

Both are computed from the rows of the runs and the notice of the preparing process alone, so that every page, and a
server that was started again, shows the same.  The weights of the parts are the times that they take on two processors
that have nothing else to do; the times of the runs so far tell how much slower this machine is.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from topiary.app.jobs.gallery import GALLERY, GIVEN_UP, GalleryRun, find_first, find_run
from topiary.app.jobs.preparation import MOST_BEFORE_END, STAGES
from topiary.app.jobs.progress import Notice
from topiary.app.names import COMING

PREPARATION = sum(stage.seconds for stage in STAGES)  # seconds, as in the attribute of a run of the gallery
OVER = ("finished", *GIVEN_UP)  # states of runs for which nobody waits
HEAD_START = 10.0  # seconds added to times as expected and as measured, so that the first moments count little
_WORDS = {
    "running": "{} is training",
    "queued": "{} is about to start",
    "paused": "{} is paused",
    "silent": "{} has fallen silent",
    "": "{} comes next",
}
_ORDER = ("running", "silent", "queued", "paused", "")  # the first of these states is the one to tell about


class GalleryProgress(NamedTuple):
    """What the demo is doing, and the share of all that it does which is done, from 0 to 1."""

    sentence: str
    share: float


class _GalleryState(NamedTuple):
    """A run of the gallery with its row, if it has one, and its state, which is empty without a row."""

    run: GalleryRun
    row: Any | None
    state: str

    @property
    def done(self) -> float:
        """The seconds of it that are done, on two processors that have nothing else to do."""
        if self.row is None:
            return 0.0
        if self.state in OVER:
            return self.run.seconds
        share = self.row.minibatch / self.row.planned if self.row.planned else 0.0
        if self.row.options.get("until_plateau"):  # it ends sooner, nobody knows when
            share = max(share, -math.expm1(-self.row.seconds / self.run.seconds))
        return min(share, MOST_BEFORE_END) * self.run.seconds


def measure_gallery(rows: Iterable[Any], state: Callable[[int], str], notice: Notice) -> GalleryProgress | None:
    """Return how far the demo is; None if there is none, or if nothing of it is under way.

    The share does not fall as long as no run of the gallery is deleted.

    Parameters
    ----------
    rows : iterable of rows of runs
    state : (run number) -> str
        The state to show for a run.
    notice : Notice
        The notice of the process that prepares the demo, with a share until the first run has started; empty if it has
        ended.
    """
    everyone = list(rows)
    first = find_first(everyone)
    is_working = bool(notice.sentence) and not notice.failed
    members = []
    for run in GALLERY:
        row = find_run(everyone, first.corpus, run) if first is not None else None
        if row is not None or is_working:
            members.append(_GalleryState(run, row, state(row.number) if row is not None else ""))
    if all(member.state in OVER for member in members):
        return None
    if not is_working and not any(member.state in COMING for member in members):
        return None
    total = PREPARATION + sum(member.run.seconds for member in members)
    if is_working and not any(member.row is not None and member.row.minibatch for member in members):
        prepared = 1.0 if notice.share is None else min(max(notice.share, 0.0), 1.0)
        return GalleryProgress(notice.sentence, prepared * PREPARATION / total)
    done = PREPARATION + sum(member.done for member in members)
    return GalleryProgress(_describe(members, total - done), done / total)


def _describe(members: list[_GalleryState], left: float) -> str:
    """Return the sentence about runs of which one has begun; ``left`` are seconds on two idle processors."""
    current = min(
        (member for member in members if member.state not in OVER), key=lambda member: _ORDER.index(member.state)
    )
    waiting = [member.run.title for member in members if member.state not in OVER and member is not current]
    ready = sum(member.state == "finished" for member in members)
    parts = ["Demo" if len(members) == 1 else f"Demo: {ready} of {len(members)} runs ready"]
    parts.append(_WORDS[current.state].format(current.run.title))
    if waiting:
        parts.append(f"next: {', '.join(waiting)}")
    if current.state in ("running", "queued", ""):
        at_once = max(1, sum(member.state == "running" for member in members))
        parts.append(f"about {_round_duration(left * _measure_pace(members) / at_once)} left")
    return " · ".join(parts)


def _measure_pace(members: list[_GalleryState]) -> float:
    """Return how many times slower this machine is than two processors that have nothing else to do."""
    begun = [member for member in members if member.row is not None and member.row.minibatch]
    seconds = sum(member.row.seconds for member in begun if member.row is not None)
    return (seconds + HEAD_START) / (sum(member.done for member in begun) + HEAD_START)


def _round_duration(seconds: float) -> str:
    """Return a duration so coarse that it does not flicker: ``15 s``, ``2 min``."""
    return f"{max(5, 5 * math.ceil(seconds / 5))} s" if seconds <= 55 else f"{math.ceil(seconds / 60)} min"
