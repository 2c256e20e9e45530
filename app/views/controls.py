"""The row above the tree: what is shown, and the ways to change it, as one text of HTML."""

from collections.abc import Sequence
from typing import NamedTuple

from app.frame import Frame, identity
from app.views.picture import Choice
from app.views.text import escape, shorten
from engine.tree import Node

SLIDER = (0.0, 30.0, 0.5)  # lowest and highest threshold under the hand, and its step


class Moment(NamedTuple):
    """A snapshot that can be looked at."""

    number: int
    minibatch: int


class Controls(NamedTuple):
    """What the row says besides the choice.

    Attributes
    ----------
    chosen : bool
        False while the roots are the most popular topics and nobody's choice.
    hidden : int
        How many topics were hidden by hand.
    moments : sequence of Moment
        Snapshots, oldest first.
    pinned : int
        The snapshot looked at, 0 = live.
    wide : bool
        Whether the side panels are put away.
    formats : sequence of str
        What the tree can be saved as.
    """

    chosen: bool
    hidden: int
    moments: Sequence[Moment]
    pinned: int
    wide: bool
    formats: Sequence[str]


def control_row(frame: Frame, choice: Choice, state: Controls) -> str:
    """Write the row."""
    several = len(choice.roots) > 1
    direction = _segments(
        "direction", choice.direction, (("down", "Down", "to the children"), ("up", "Up", "to the parents"))
    )
    parts = (
        ("union", "All", "everything reached from the roots"),
        ("shared", "Shared", "what two or more roots reach"),
        ("unique", "Unique", "what only one root reaches"),
    )
    part = _segments("part", choice.part, parts) if several else ""
    return (
        f'<div class="ex-controls">{_roots(frame, choice, chosen=state.chosen)}{direction}{part}{_threshold(choice.threshold)}'
        f"{_folding(choice, state.hidden)}{_moments(frame, state)}{_export(state.formats)}{_wide(wide=state.wide)}</div>"
    )


def _roots(frame: Frame, choice: Choice, *, chosen: bool) -> str:
    chips = "".join(_chip(frame, root) for root in choice.roots)
    word = "Roots" if chosen else "Most popular"
    back = (
        '<button class="ex-soft" data-do="popular" title="Back to the most popular topics">Reset</button>'
        if chosen
        else ""
    )
    return f'<div class="ex-roots" role="group" aria-label="Roots of the tree"><span>{word}</span>{chips}{back}</div>'


def _chip(frame: Frame, root: Node) -> str:
    title = escape(shorten(frame.title(root), 30))
    return (
        f'<span class="ex-chip" data-key="{identity(root)}" style="--hue:var(--tp-layer-{(root.layer - 1) % 6 + 1})">'
        f'<button data-do="select" data-id="{identity(root)}" title="{title}"><b>{frame.rank(root)}</b> <span>{title}</span></button>'
        f'<button data-do="unpin" data-id="{identity(root)}" aria-label="Remove topic {frame.rank(root)} from the roots">×</button></span>'
    )


def _segments(name: str, now: str, options: Sequence[tuple[str, str, str]]) -> str:
    buttons = "".join(
        f'<button data-do="{name}" data-value="{value}" title="{escape(hint)}" aria-pressed="{"true" if value == now else "false"}">{word}</button>'
        for value, word, hint in options
    )
    return f'<div class="ex-segments" role="group" aria-label="{name.capitalize()}">{buttons}</div>'


def _threshold(threshold: float) -> str:
    low, high, step = SLIDER
    hint = "An edge is drawn when its weight is above τ / K, K topics in the layer below"
    return (
        f'<label class="ex-tau" title="{hint}"><span>Threshold τ</span>'
        f'<input type="range" min="{low:g}" max="{high:g}" step="{step:g}" value="{min(threshold, high):g}" data-input="threshold"'
        f' aria-label="Threshold tau"><output>{threshold:g}</output></label>'
    )


def _folding(choice: Choice, hidden: int) -> str:
    buttons = []
    if choice.closed:
        buttons.append('<button class="ex-soft" data-do="open-all">Open all</button>')
    if hidden:
        buttons.append(f'<button class="ex-soft" data-do="unhide">{hidden} hidden, show</button>')
    return "".join(buttons)


def _moments(frame: Frame, state: Controls) -> str:
    newest = f"Live · {frame.minibatch:,}" if not state.pinned else "Live"
    options = [f'<option value="0"{"" if state.pinned else " selected"}>{newest}</option>']
    for moment in reversed(state.moments):
        chosen = " selected" if moment.number == state.pinned else ""
        options.append(f'<option value="{moment.number}"{chosen}>Mini-batch {moment.minibatch:,}</option>')
    return f'<select class="ex-select" data-change="snapshot" aria-label="Snapshot" title="Which snapshot is shown">{"".join(options)}</select>'


def _export(formats: Sequence[str]) -> str:
    options = "".join(f'<option value="{name}">{name.upper()}</option>' for name in (*formats[:1], "png", *formats[1:]))
    return f'<select class="ex-select" data-change="save" aria-label="Save the tree as" title="Save the tree as a file"><option value="">Save as …</option>{options}</select>'


def _wide(*, wide: bool) -> str:
    word = "Show the side panels" if wide else "Only the tree"
    return f'<button class="ex-soft ex-wide" data-do="wide" aria-pressed="{"true" if wide else "false"}" title="{word}" aria-label="{word}">⛶</button>'
