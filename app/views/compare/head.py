"""The top of the compare page: which two runs, which snapshots, threshold, saving."""

from collections.abc import Sequence
from typing import NamedTuple

from app.analysis.comparison import Side
from app.views.explore.controls import SnapshotOption, threshold_slider
from app.views.icons import icon
from app.views.markup import element, run_title
from app.views.run_facts import RunFacts
from app.views.text import escape

SAVES = (
    ("svg", "Trees (SVG)"),
    ("png", "Trees (PNG)"),
    ("topics.csv", "Topics (CSV)"),
    ("edges.csv", "Edges (CSV)"),
    ("json", "Everything (JSON)"),
)


class End(NamedTuple):
    """One side: its run (None while there is none), its snapshots, oldest first, and the one chosen (0 = live)."""

    run: RunFacts | None
    moments: Sequence[SnapshotOption]
    pinned: int
    live: int | None


def compare_head(a: End, b: End, everyone: Sequence[RunFacts], threshold: float, *, ready: bool) -> str:
    """Write the row of choices; ``ready`` says whether there is something to save."""
    swap = element(
        "button",
        icon("swap"),
        class_="ex-soft cm-swap",
        data_do="swap",
        title="Swap A and B",
        aria_label="Swap A and B",
    )
    pieces = [
        '<h1 class="cm-title">Compare</h1>',
        _end("a", a, everyone),
        swap,
        _end("b", b, everyone),
        threshold_slider(threshold),
        _saving() if ready else "",
    ]
    return f'<div class="cm-head">{"".join(pieces)}</div>'


def status(sentence: str, *, busy: bool) -> str:
    """Write the sentence about what is awaited or what went wrong; screen readers hear it."""
    if not sentence:
        return '<div role="status"></div>'
    kind = ' class="cm-wait cm-busy"' if busy else ' class="cm-wait"'
    return f'<div role="status"><p{kind}>{escape(sentence)}</p></div>'


def _end(side: Side, end: End, everyone: Sequence[RunFacts]) -> str:
    upper = side.upper()
    hint = "what it is compared with" if side == "a" else "what is looked at"
    known = [row.number for row in everyone]
    rows = "".join(
        element(
            "option",
            f"{row.number} · {escape(run_title(row))}",
            value=row.number,
            selected=end.run is not None and row.number == end.run.number,
        )
        for row in everyone
    )
    if end.run is None or end.run.number not in known:
        rows = f'<option value="" selected>Choose a run</option>{rows}'
    run = element(
        "select",
        rows,
        class_="ex-select",
        data_change=f"run-{side}",
        aria_label=f"Run {upper}",
        title=f"{upper}: {hint}",
    )
    return f'<div class="cm-end"><b class="cm-tag cm-{side}" title="{hint}">{upper}</b>{run}{_moments(side, end)}</div>'


def _moments(side: Side, end: End) -> str:
    newest = "Live" if end.live is None else f"Live · {end.live:,}"
    rows = [(0, newest), *((each.number, f"Mini-batch {each.minibatch:,}") for each in reversed(end.moments))]
    options = "".join(element("option", word, value=number, selected=number == end.pinned) for number, word in rows)
    label = f"Snapshot of {side.upper()}"
    title = "Which snapshot; Live follows the training"
    return element("select", options, class_="ex-select", data_change=f"snapshot-{side}", aria_label=label, title=title)


def _saving() -> str:
    options = "".join(f'<option value="{form}">{word}</option>' for form, word in SAVES)
    first = '<option value="" selected>Save as …</option>'
    title = "Save both trees as a picture, or the matching and the edge changes as a table"
    return element(
        "select",
        first + options,
        class_="ex-select",
        data_change="save",
        data_again=True,
        aria_label="Save the comparison as",
        title=title,
    )
