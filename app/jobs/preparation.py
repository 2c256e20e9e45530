"""The progress of preparing the demo: what is done, what is next and how long it takes, with one share for all.

Stages take known times on two processors that have nothing else to do.  Times so far tell how much slower this machine
is, and so how long the rest takes.  Kernels are compiled while documents are read, so that only what is left of that is
waited for.
"""

import math
import time
from collections.abc import Callable
from typing import NamedTuple

from topiary.app.jobs.progress import Notifier, format_duration

MOST_BEFORE_END = 0.95  # of a stage whose share is estimated from the time that it takes


class Stage(NamedTuple):
    """A stage of the preparation.

    Attributes
    ----------
    name : str
        What is done in it, as in "next: compiling kernels".
    seconds : float
        How long it takes on two processors with nothing compiled; estimated, and scaled by the pace of this machine.
    beginnings : tuple of str
        How the messages of the stage begin.
    """

    name: str
    seconds: float
    beginnings: tuple[str, ...]


STAGES = (
    Stage("reading the documentation", 5.0, ("Reading documentation", "Reading the documentation")),
    Stage("counting words", 4.0, ("Recognising", "Counting", "Choosing", "Reading documents")),
    Stage("storing the documents", 1.0, ("Storing",)),
    Stage("preparing the search", 1.0, ("Preparing the search",)),
    Stage("compiling the model, once", 40.0, ("Compiling",)),
    Stage("starting the first run", 5.0, ("Starting",)),
)


class Preparation:
    """A notifier of the stages of the preparation, whose share never falls.

    Parameters
    ----------
    notify : Notifier
        Gets each sentence with the share of the whole preparation.
    clock : callable
        Returns seconds that only grow.
    """

    def __init__(self, notify: Notifier, clock: Callable[[], float] = time.monotonic) -> None:
        self._notify = notify
        self._clock = clock
        self._begin = clock()
        self._stage_begin = self._begin
        self._stage = 0
        self._share = 0.0

    def __call__(self, words: str, share: float | None) -> None:
        """Tell a message of a stage; messages of no stage, such as notes, are left out."""
        stage = next((n for n, each in enumerate(STAGES) if words.startswith(each.beginnings)), None)
        if stage is None or stage < self._stage:
            return
        now = self._clock()
        if stage > self._stage:
            self._stage, self._stage_begin = stage, now
        if share is None:
            share = MOST_BEFORE_END * -math.expm1(-(now - self._stage_begin) / STAGES[stage].seconds)
        total = sum(each.seconds for each in STAGES)
        done = sum(each.seconds for each in STAGES[:stage]) + min(max(share, 0.0), 1.0) * STAGES[stage].seconds
        self._share = max(self._share, done / total)
        left = (total - self._share * total) * self._measure_pace(now, self._share * total)
        rest = f"; next: {STAGES[stage + 1].name}" if stage + 1 < len(STAGES) else ""
        self._notify(f"{words}{rest}; about {format_duration(max(1.0, left))} left", self._share)

    def _measure_pace(self, now: float, done: float) -> float:
        """Return how many times slower this machine is than two idle processors; 1 until there is something to go by.

        Three seconds of both are added, so that the first moments, in which processes start, count little.  Stages that
        were left out make it seem faster, which it is not.
        """
        return max(1.0, (now - self._begin + 3.0) / (done + 3.0))
