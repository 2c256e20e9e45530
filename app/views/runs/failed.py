"""What went wrong with a run, and the ways out of it: one sentence, then buttons."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from app.views.icons import icon
from app.views.markup import attributes, delete_dialog, element, run_title
from app.views.run_facts import RunFacts

LOSES = "Its points, snapshots and topic names go with it; the corpus stays."
SILENT = (
    "The process that trained this run is gone without a word: the machine was switched off, or it was ended from "
    "outside. Nothing that was written is lost."
)
_MARKS = {"retry": "fork", "resume": "play", "log": "page", "delete": "trash"}
_HEADS = {"failed": "failed", "silent": "has fallen silent", "damaged": "is damaged"}
DAMAGED_WAYS = (("delete", "Delete the run"),)
SILENT_WAYS = (("resume", "Resume from the checkpoint"), ("log", "Show the log"))


class Log(NamedTuple):
    """The end of a run's log: the path of the file, and its last lines."""

    path: str
    lines: Sequence[str]


def failed(run: RunFacts, state: str, ways: Sequence[tuple[str, str]], log: Log | None = None) -> str:
    """Write the sentence and the buttons; empty for a run that goes on or has ended well.

    Parameters
    ----------
    run : RunFacts
    state : str
        The state to show.
    ways : sequence of (action, words)
        What may help, the likeliest first.
    log : Log or None
        The end of its log, once it is asked for.
    """
    if state not in _HEADS:
        return ""
    said = SILENT if state == "silent" else damage(run) if state == "damaged" else _sentence(run.message)
    buttons = "".join(_button(run, action, words, strong=not place) for place, (action, words) in enumerate(ways))
    dialog = delete_dialog("run", run.number, run_title(run), LOSES)
    return (
        f'<section class="tp-fault" role="alert"><h2>{icon("alert")}Run {run.number} {_HEADS[state]}</h2>'
        f"<p>{escape(said)}</p>"
        f'<div class="tp-fault-acts">{buttons}</div>{_log(log)}{dialog}</section>'
    )


def damage(run: RunFacts) -> str:
    """Say which cells of the row of a run are damaged, and what is to be done."""
    way = "Restore the store from a backup, or delete the run" if run.unusable else "It can go on all the same"
    return f"Cells of its row in the store cannot be read: {run.damage}. {way}."


def damaged(sentence: str) -> str:
    """Write that a snapshot turned out damaged; empty without a sentence."""
    return f'<p class="tp-damaged" role="status">{icon("alert")}{escape(sentence)}</p>' if sentence else ""


def _sentence(message: str) -> str:
    text = message.removeprefix("failed: ").strip() or "It ended with an error; the log says more"
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _button(run: RunFacts, action: str, words: str, *, strong: bool) -> str:
    look = "tp-button tp-strong" if strong else "tp-button"
    act = {"data_open": f"delete-{run.number}"} if action == "delete" else {"data_do": action, "data_run": run.number}
    return f'<button class="{look}"{attributes(**act)}>{icon(_MARKS.get(action, "play"))}{escape(words)}</button>'


def _log(log: Log | None) -> str:
    if log is None:
        return ""
    text = escape("\n".join(log.lines)) or "The log is empty."
    head = element("p", f"The last lines of {escape(log.path)}", class_="tp-dim")
    return f'{head}<pre class="tp-log" tabindex="0" role="region" aria-label="Log of the run">{text}</pre>'
