"""Notices shown instead of a run: there is none, it has no topics yet, or it has failed."""

from collections.abc import Sequence
from typing import NamedTuple

from topiary.app.views.html import render
from topiary.app.views.markup import name_run
from topiary.store.run_rows import RunRow


def draw_no_run() -> str:
    """Return the page for a store without runs, with a button that leads to the Runs page."""
    return render("runs.no_run")


def draw_missing_run(run: int, usual: int) -> str:
    """Return the page for a link to a run that is not in the store, with buttons to the run ``usual`` and to all."""
    return render("runs.missing_run", run, usual)


def explain_missing_run(run: int) -> str:
    """Return a sentence for a page whose run is not found or not chosen.

    Parameters
    ----------
    run : int
        The number of the run; 0 if none is chosen.
    """
    return f"Looking for run {run} …" if run else "Choose a run in the bar above, or start one on the Runs page."


_REASONS = {
    "paused": "is paused before its first snapshot; resume it in the bar above",
    "stopped": "was stopped before its first snapshot; resume it in the bar above",
    "silent": "has fallen silent before its first snapshot; Watch offers to resume it",
    "failed": "failed before its first snapshot; Watch says why and what may fix it",
    "finished": "finished without a snapshot; start another run on the Runs page",
    "queued": "is waiting for its turn; its first topics appear here a few seconds after it starts",
}


def explain_no_topics(run: int, state: str, message: str = "", damage: str = "") -> str:
    """Return a sentence that says why a run has no topics yet and what to do about it.

    Parameters
    ----------
    state : str
        The state to show.
    message : str
        The last message of its worker, if it is training.
    damage : str
        What is known of its damaged snapshots, if it has any.
    """
    if damage:
        return f"{damage.rstrip('.')}."
    if state in _REASONS:
        return f"Run {run} {_REASONS[state]}."
    note = f" ({message.rstrip('.')})" if message else ""
    return f"Run {run} is on its way{note}; the first topics appear here with the first snapshot."


SILENT = (
    "The process that trained this run ended without a message: the machine was switched off, or it was stopped from "
    "outside. Nothing that was written is lost."
)
_HEADINGS = {"failed": "failed", "silent": "has fallen silent"}
SILENT_WAYS = (("resume", "Resume from the checkpoint"), ("log", "Show the log"))


class LogTail(NamedTuple):
    """The end of a run's log: the path of the file, and its last lines."""

    path: str
    lines: Sequence[str]


def draw_failure(
    run: RunRow, state: str, ways: Sequence[tuple[str, str]], log: LogTail | None = None, cause: str = ""
) -> str:
    """Return the notice of a failed or silent run, with buttons; empty for other runs.

    Parameters
    ----------
    state : str
        The state to show.
    ways : sequence of (action, words)
        The remedies to offer, the most promising first.
    log : LogTail or None
        The end of the log, once the user has requested it.
    cause : str
        Why the process of a silent run has ended, if the log says so.
    """
    if state not in _HEADINGS:
        return ""
    sentence = (_choose_sentence(cause) if cause else SILENT) if state == "silent" else _choose_sentence(run.message)
    return render("runs.failure", run, name_run(run), _HEADINGS[state], sentence, ways, log)


def draw_damage(sentence: str) -> str:
    """Return a note that a snapshot is damaged; empty if ``sentence`` is."""
    return render("runs.damage", sentence)


def _choose_sentence(message: str) -> str:
    text = message.removeprefix("failed: ").strip() or "It ended with an error; the log says more"
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
