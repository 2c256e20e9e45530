"""The first minute: what happens until there are topics, how long it takes, and what topics are, as a drawing."""

from collections.abc import Sequence
from typing import NamedTuple

from topiary.app.jobs.gallery import PREPARATION, STAGES
from topiary.app.views.html import render
from topiary.app.views.text import break_lines, fit_lines

FIRST_TOPICS = 6.0  # seconds from the start of a run whose kernels are compiled to its first topics
COMPILING = 40.0  # seconds of compiling the kernels of a model
LATE = 20.0  # seconds without a change of the estimate after which it takes longer than usual
_STEPS = (50, 40, 30, 20, 10, 6)  # seconds that are said
_TITLE, _ROOM, _LINES = 14.0, 14.2, 2  # ems of the title and of a line of a document in the drawing, and its lines
_CHARACTERS = 200  # of a document that are looked at


class WaitFacts(NamedTuple):
    """What a visitor waits for.

    Attributes
    ----------
    step : int
        0 while documents are read, 1 while the model is compiled, 2 until there are topics.
    share : float
        The part of the whole that is done.
    seconds : float
        How long it will take.
    documents, words : int
        Documents read, and their words; 0 while they are being read.
    own : sequence of (title, text)
        The first documents of a corpus of the visitor; empty for the demo.
    layers : sequence of int
        Topics of every layer; empty if they are not known.
    queued : bool
        Whether other runs train, and this one has not begun.
    """

    step: int
    share: float
    seconds: float
    documents: int = 0
    words: int = 0
    own: Sequence[tuple[str, str]] = ()
    layers: Sequence[int] = ()
    queued: bool = False


def follow_preparation(share: float, documents: int, words: int) -> WaitFacts:
    """Return what a visitor waits for while the demo is prepared, from the share of the preparation that is done."""
    ends = [sum(stage.seconds for stage in STAGES[: place + 1]) / PREPARATION for place in range(len(STAGES))]
    read, compiled = ends[-3], ends[-2]
    step = 0 if share < read and not documents else 1 if share < compiled else 2
    whole = PREPARATION + FIRST_TOPICS
    return WaitFacts(step, share * PREPARATION / whole, (1.0 - share) * PREPARATION + FIRST_TOPICS, documents, words)


def follow_start(facts: WaitFacts, message: str, seconds: float) -> WaitFacts:
    """Return what a visitor waits for while a run starts, from what its worker says and the time since it began."""
    if "compiling" not in message:
        return facts._replace(step=2, share=0.9, seconds=FIRST_TOPICS)
    done = min(max(seconds, 0.0) / COMPILING, 1.0)
    return facts._replace(step=1, share=0.2 + 0.7 * done, seconds=(1.0 - done) * COMPILING + FIRST_TOPICS)


def round_estimate(seconds: float) -> int:
    """Return an estimate in round steps, in seconds; above 90 seconds whole minutes.

    >>> [round_estimate(seconds) for seconds in (400.0, 100.0, 62.0, 43.0, 7.0, 1.0)]
    [420, 120, 50, 50, 10, 6]
    """
    if seconds > 90.0:
        return 60 * int(-(-seconds // 60))
    return min((step for step in _STEPS if step >= seconds), default=_STEPS[0])


def draw_waiting_page(facts: WaitFacts, estimate: int, *, late: bool) -> str:
    """Return the page.

    Parameters
    ----------
    estimate : int
        From `round_estimate`; it may only fall.
    late : bool
        Whether it takes longer than usual.
    """
    span = f"{estimate // 60} minutes" if estimate >= 60 else f"{estimate} seconds"
    doing = "another run trains first" if facts.queued else ("reading", "compiling", "training")[facts.step]
    once = "the model is compiled once." if facts.step < 2 else "the model is compiled already."
    note = f"Longer than usual: {doing}." if late else f"Later starts take 6 seconds: {once}"
    own = [
        ("".join(_fit(title, _TITLE, 1)) or "a document", _fit(break_lines(text[:_CHARACTERS]), _ROOM, _LINES) or ["…"])
        for title, text in facts.own[:2]
    ]
    return render("waiting.page", facts, f"Your first topics appear in about {span}.", note, own)


def _fit(text: str, room: float, n_lines: int) -> list[str]:
    return fit_lines(" ".join(text.split()), room, n_lines)
