"""The list of runs with sparklines, and the page of an empty store."""

from collections.abc import Callable, Collection, Mapping, Sequence
from math import isfinite
from types import SimpleNamespace
from typing import TypeVar

from topiary.app.jobs.estimates import POINT, Estimate, choose_alike, find_estimate_name, list_estimates
from topiary.app.jobs.plan import STEPS, name_step
from topiary.app.names import name_inference, name_model, name_state
from topiary.app.views.html import render
from topiary.app.views.markup import name_run
from topiary.app.views.run_facts import (
    RunFacts,
    describe_lineage,
    estimate_seconds_left,
    format_age,
    format_estimate,
    format_rate,
    format_span,
    measure_progress,
)
from topiary.app.views.runs.corpus_form import FORMATS

WIDTH, HEIGHT, EDGE = 132, 34, 3  # of a sparkline, and the margin around its curve, in pixels


def draw_sparkline(values: Sequence[float]) -> str:
    """Return ``values`` as an SVG curve over their range, with a dot on the last; no curve for fewer than two."""
    finite = [(index, value) for index, value in enumerate(values) if isfinite(value)]
    if len(finite) < 2:
        return f'<svg class="tp-spark" viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true"></svg>'
    low, high = min(value for _, value in finite), max(value for _, value in finite)
    x_scale = (WIDTH - 2 * EDGE) / (finite[-1][0] - finite[0][0])
    y_scale = (HEIGHT - 2 * EDGE) / (high - low) if high > low else 0.0
    points = [
        (EDGE + (index - finite[0][0]) * x_scale, EDGE + (high - value) * y_scale if y_scale else HEIGHT / 2)
        for index, value in finite
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    x, y = points[-1]
    return (
        f'<svg class="tp-spark" viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true">'
        f'<polygon points="{EDGE},{HEIGHT} {line} {x:.1f},{HEIGHT}"/><polyline points="{line}"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6"/></svg>'
    )


Run = TypeVar("Run", bound=RunFacts)
ACTIVE = ("running", "queued", "silent")  # states of runs that are always shown
AT_ONCE = 50  # runs shown at first, and added by each click on "more"
ACTIONS = {
    "running": ("pause", "stop"),
    "queued": ("move", "stop"),
    "paused": ("resume", "stop"),
    "stopped": ("resume",),
    "failed": ("resume",),
    "silent": ("resume", "stop"),
}
_VERBS = {
    "pause": ("pause", "Pause"),
    "stop": ("stop", "Stop"),
    "resume": ("play", "Resume"),
    "move": ("first", "Start first"),
}  # the icon and the label of each
FORK = "Continue as … : a new run that begins with the topics of this one"
FORK_LABELS = "Continue as sDATM: a new run that begins with the topics of this one and learns the labels too"
_NO_ESTIMATE_TIP = "No test document has been evaluated yet"
NO_FORK = "It has no topics yet; it can be continued after its first snapshot"


def draw_runs(
    runs: Sequence[RunFacts],
    state: Callable[[int], str],
    spark: Callable[[int], Sequence[float]],
    selected: int,
    labelled: Collection[int] = (),
    known: Collection[int] = (),
    bare: Collection[int] = (),
    latest: Callable[[int], Mapping[str, float | None]] = lambda _: {},
    seeded: Collection[int] = (),
    marked: Collection[int] | None = None,
) -> str:
    """Return a list of runs, one row each.

    Parameters
    ----------
    runs : sequence of rows
    state : (run number) -> str
        The state to show.
    spark : (run number) -> values
        Point perplexities for the sparkline.
    selected : int
        The number of the run shown on the other pages.
    labelled : collection of int
        The numbers of the runs that can be continued with labels.
    known : collection of int
        The numbers of all runs of the store; those in ``runs`` if empty.
    bare : collection of int
        The numbers of the runs that cannot be continued yet, because they have no snapshot.
    latest : (run number) -> mapping of str to float or None
        The newest values of the curves that `app.jobs.estimates` reads.
    seeded : collection of int
        The numbers of the runs whose group has runs that differ from them in the seed alone.
    marked : collection of int or None
        The numbers of the runs marked for a comparison; None if runs cannot be marked.
    """
    known = known or {run.number for run in runs}
    estimates = choose_alike([list_estimates(run, latest(run.number)) for run in runs])
    rows = [
        SimpleNamespace(
            **vars(_describe_row(run, state(run.number), estimate, spark(run.number))),
            selected=run.number == selected,
            marked=None if marked is None else run.number in marked,
            seeded=run.number in seeded,
            labelled=run.number in labelled,
            bare=run.number in bare,
            fork=NO_FORK if run.number in bare else FORK_LABELS if run.number in labelled else FORK,
            has_parent=run.parent in known,
            lineage=describe_lineage(run.parent, run.parent_minibatch, gone=run.parent not in known),
        )
        for run, estimate in zip(runs, estimates, strict=True)
    ]
    return render("runs.rows", rows)


def _describe_row(run: RunFacts, state: str, estimate: Estimate | None, curve: Sequence[float]) -> SimpleNamespace:
    """Return what the row of a run says of it."""
    line, hint = _describe_state(run, state)
    left = estimate_seconds_left(run.minibatch, run.planned, run.seconds) if state == "running" else None
    spent = f" · {format_span(run.seconds)}" if run.seconds else ""
    return SimpleNamespace(
        run=run,
        state=state,
        name=name_run(run),
        about=_describe_run(run),
        group=_group_runs(run),
        line=line,
        hint=hint,
        done=measure_progress(run.minibatch, run.planned),
        steps=STEPS[name_step(run)],
        time=spent if left is None else f" · {format_span(left)} left",
        has_curve=bool(curve),
        curve=draw_sparkline(curve),
        figure=format_estimate(estimate),
        estimate=find_estimate_name(run, POINT) if estimate is None else estimate.name,
        protocol=_NO_ESTIMATE_TIP if estimate is None else f"{estimate.protocol}.",
        pace=format_rate(run.tokens_per_second),
        verbs=list_verbs(state),
    )


def select_runs(runs: Sequence[Run], state: Callable[[int], str], chosen: int, most: int = AT_ONCE) -> list[Run]:
    """Return the first ``most`` runs, all active runs, and the chosen run; drawing thousands would take seconds."""
    return [
        run for index, run in enumerate(runs) if index < most or run.number == chosen or state(run.number) in ACTIVE
    ]


def matches_search(run: RunFacts, state: str, text: str) -> bool:
    """Return True if the row of a run contains all words of ``text``, ignoring case."""
    words = f"{run.number} {name_run(run)} {_describe_run(run)} {_group_runs(run)} {name_state(state)}".casefold()
    return all(word in words for word in text.casefold().split())


def draw_rest(shown: int, fitting: int, more: int, text: str) -> str:
    """Return the line below the rows: a note that no run matches, or a button that shows more runs."""
    return render("runs.rest", shown, fitting, more, text)


def draw_empty_store(corpora: Sequence[str], wrong: str = "") -> str:
    """Return the page for a store without runs: add documents, try the demo, or start a run on a corpus.

    Parameters
    ----------
    corpora : sequence of str
        The names of the corpora in the store.
    wrong : str
        The reason why the demo could not be prepared, or empty.
    """
    return render("runs.empty_store", corpora, wrong, FORMATS)


def draw_preparation(sentence: str, share: float | None = None) -> str:
    """Return the page that shows the progress of preparing the demo."""
    return render("runs.preparation", sentence, share)


def _describe_run(run: RunFacts) -> str:
    inference = name_inference(run.model, run.inference)
    return " · ".join(filter(None, ("-".join(map(str, run.layers)), name_model(run.model), inference, run.corpus_name)))


def _group_runs(run: RunFacts) -> str:
    return "" if run.run_group is None else f"Group {run.run_group} · seed {run.seed}"


def _describe_state(run: RunFacts, state: str) -> tuple[str, str]:
    """Return the line below the state (age of the heartbeat, message or date), and what is shown on hover over it."""
    date = f"{(run.ended or run.created).astimezone():%d %b %H:%M}"
    since = ""  # while it is being trained
    if state == "running":
        line = f"heartbeat {format_age(run.heartbeat_age)}"
    elif state == "silent":
        line = f"no heartbeat for {format_span(run.heartbeat_age)}"
    else:
        line = run.message if state in ("failed", "queued") and run.message else date
        name = "Waiting since" if state == "queued" else name_state(state).capitalize()
        since = f"{name} {date}, by the clock of the database"
    return line, ". ".join(filter(None, (run.message, since)))


def list_verbs(state: str) -> list[tuple[str, str, str]]:
    """Return the requests that fit a state (pause, stop, resume, start first), each with its icon and its label."""
    return [(verb, *_VERBS[verb]) for verb in ACTIONS.get(state, ())]
