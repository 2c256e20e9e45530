"""The top bar: where you are, how the run is, and what can be done about it."""

from collections.abc import Sequence
from html import escape

from app.views import words
from app.views.facts import RunFacts
from app.views.icons import icon
from app.views.markup import attributes, chip, run_title
from app.views.run_list import ACTIONS, MARKS

PLACES = (
    ("runs", "Runs", "list"),
    ("watch", "Watch", "pulse"),
    ("explore", "Explore", "tree"),
    ("guide", "Guide", "book"),
)


def top_bar(
    page: str, run: RunFacts | None, state: str, everyone: Sequence[RunFacts], pinned: str, trouble: str
) -> str:
    """The bar as HTML.

    Parameters
    ----------
    page : str
        Where the visitor is.
    run : row or None
        The run looked at.
    state : str
        Its state to show.
    everyone : sequence of rows
        All runs, for the chooser.
    pinned : str
        A sentence when an older snapshot is shown, else empty.
    trouble : str
        A sentence when the store cannot be read, else empty.
    """
    return (
        f'<div class="tp-bar"><a class="tp-brand" href="?page=runs"{attributes(data_do="go", data_page="runs", data_go=True)}>'
        f'{_MARK}<span>Topiary</span></a>{_nav(page)}<div class="tp-bar-run">{_run(run, state, everyone, pinned)}</div>'
        f'<button class="tp-ghost" data-copy title="Copy a link to exactly this view" aria-label="Copy link">{icon("link")}</button>'
        f"</div>{_line(run, state)}{_trouble(trouble)}"
    )


def _nav(page: str) -> str:
    links = (
        f'<a href="?page={name}"{attributes(data_do="go", data_page=name, data_go=True)}'
        f"{attributes(aria_current='page' if name == page else None)}>{icon(mark)}<span>{word}</span></a>"
        for name, word, mark in PLACES
    )
    return f'<nav class="tp-nav" aria-label="Pages">{"".join(links)}</nav>'


def _run(run: RunFacts | None, state: str, everyone: Sequence[RunFacts], pinned: str) -> str:
    if run is None:
        return ""
    options = "".join(
        f"<option{attributes(value=row.number, selected=row.number == run.number)}>{row.number} · {escape(run_title(row))}</option>"
        for row in everyone
    )
    chooser = f'<select class="tp-chooser" aria-label="Run" data-change="run">{options}</select>'
    ahead = words.left(run.minibatch, run.planned, run.seconds) if state == "running" else None
    rest = f'<span class="tp-left">{words.span(ahead)} left</span>' if ahead is not None else ""
    pin = (
        f'<button class="tp-pin" data-do="live" title="Go back to the newest snapshot">{escape(pinned)}</button>'
        if pinned
        else ""
    )
    return f"{chooser}{chip(state, run.wish)}{rest}{pin}{_buttons(run, state)}"


def _buttons(run: RunFacts, state: str) -> str:
    return "".join(
        f'<button class="tp-ghost tp-act"{attributes(data_do=name, data_run=run.number, title=name.capitalize(), aria_label=f"{name} run {run.number}")}>'
        f"{icon(MARKS[name])}</button>"
        for name in ACTIONS.get(state, ())
    )


def _line(run: RunFacts | None, state: str) -> str:
    done = words.progress(run.minibatch, run.planned) if run is not None else 0.0
    kind = "tp-moving" if state == "running" else ""
    return f'<div class="tp-line {kind}" aria-hidden="true"><i style="width:{100 * done:.2f}%"></i></div>'


def _trouble(trouble: str) -> str:
    return f'<div class="tp-trouble" role="alert">{icon("alert")}{escape(trouble)}</div>' if trouble else ""


_MARK = (
    '<svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true"><g fill="none" stroke="#8FD9B6" stroke-width="2.200" '
    'stroke-linecap="round" stroke-linejoin="round"><path d="M16 29V8M16 22l-7-6M16 18l7-6M9 16V11M23 12V8"/></g>'
    '<g fill="#8FD9B6"><circle cx="16" cy="6" r="3.400"/><circle cx="9" cy="9.500" r="2.600"/><circle cx="23" cy="6.500" r="2.600"/></g>'
    '<path d="M10.500 29h11" stroke="#E69F00" stroke-width="2.400" stroke-linecap="round"/></svg>'
)
