"""Notices shown instead of a run: there is none, it has no topics yet, or it has failed."""

from collections.abc import Sequence
from typing import NamedTuple

from topiary.app.views.markup import draw_delete_dialog, draw_icon, name_run, write_attributes, write_element
from topiary.app.views.run_facts import RunFacts
from topiary.app.views.text import escape


def draw_no_run() -> str:
    """Return the page for a store without runs, with a button that leads to the Runs page."""
    return (
        '<div class="tp-page-in"><section class="tp-empty"><div><h2>There is no run yet</h2>'
        '<p class="tp-lead">This page shows the topics of a run: start one on the Runs page.</p>'
        f'<p><button class="tp-button tp-strong" data-do="runs">{draw_icon("list")}Go to the Runs page</button></p>'
        "</div></section></div>"
    )


def draw_missing_run(run: int, usual: int) -> str:
    """Return the page for a link to a run that is not in the store, with buttons to the run ``usual`` and to all."""
    return (
        f'<div class="tp-page-in"><section class="tp-empty"><div><h2>There is no run {run} in this store</h2>'
        '<p class="tp-lead" role="status">It may have been deleted, or the link may be to another store.</p>'
        f'<p class="tp-unfinished"><button class="tp-button tp-strong" data-do="usual">Show run {usual}</button> '
        f'<button class="tp-button" data-do="runs">{draw_icon("list")}All runs</button></p></div></section></div>'
    )


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
    run : int
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


LOSES = "Its points, snapshots and topic names go with it; the corpus stays."
SILENT = (
    "The process that trained this run ended without a message: the machine was switched off, or it was stopped from "
    "outside. Nothing that was written is lost."
)
_ICONS = {"retry": "fork", "resume": "play", "log": "page", "delete": "trash"}
_HEADINGS = {"failed": "failed", "silent": "has fallen silent"}
SILENT_WAYS = (("resume", "Resume from the checkpoint"), ("log", "Show the log"))


class LogTail(NamedTuple):
    """The end of a run's log: the path of the file, and its last lines."""

    path: str
    lines: Sequence[str]


def draw_failure(
    run: RunFacts, state: str, ways: Sequence[tuple[str, str]], log: LogTail | None = None, cause: str = ""
) -> str:
    """Return the notice of a failed or silent run, with buttons; empty for other runs.

    Parameters
    ----------
    run : RunFacts
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
    buttons = "".join(_draw_button(run, action, words, strong=not index) for index, (action, words) in enumerate(ways))
    dialog = draw_delete_dialog("run", run.number, name_run(run), LOSES)
    return (
        f'<section class="tp-fault" role="alert"><h2>{draw_icon("alert")}Run {run.number} {_HEADINGS[state]}</h2>'
        f"<p>{escape(sentence)}</p>"
        f'<div class="tp-fault-acts">{buttons}</div>{_draw_log(log)}{dialog}</section>'
    )


def draw_damage(sentence: str) -> str:
    """Return a note that a snapshot is damaged; empty if ``sentence`` is."""
    return f'<p class="tp-damaged" role="status">{draw_icon("alert")}{escape(sentence)}</p>' if sentence else ""


def _choose_sentence(message: str) -> str:
    text = message.removeprefix("failed: ").strip() or "It ended with an error; the log says more"
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _draw_button(run: RunFacts, action: str, words: str, *, strong: bool) -> str:
    css_class = "tp-button tp-strong" if strong else "tp-button"
    attributes = (
        {"data_open": f"delete-{run.number}"} if action == "delete" else {"data_do": action, "data_run": run.number}
    )
    return (
        f'<button class="{css_class}"{write_attributes(**attributes)}>'
        f"{draw_icon(_ICONS.get(action, 'play'))}{escape(words)}</button>"
    )


def _draw_log(log: LogTail | None) -> str:
    if log is None:
        return ""
    text = escape("\n".join(log.lines)) or "The log is empty."
    head = write_element("p", f"The last lines of {escape(log.path)}", class_="tp-dim")
    return f'{head}<pre class="tp-log" tabindex="0" role="region" aria-label="Log of the run">{text}</pre>'
