"""The list of runs with sparklines, and the page of an empty store."""

from collections.abc import Callable, Collection, Mapping, Sequence
from math import isfinite
from typing import TypeVar

from topiary.app.jobs.estimates import POINT, Estimate, choose_headline, find_estimate_name
from topiary.app.jobs.plan import STEPS, name_step
from topiary.app.names import name_inference, name_model, name_state
from topiary.app.views.markup import (
    draw_delete_button,
    draw_delete_dialog,
    draw_icon,
    draw_state,
    name_run,
    write_attributes,
    write_element,
)
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
from topiary.app.views.runs.corpus_form import draw_meter, list_formats
from topiary.app.views.runs.new_run_form import draw_error
from topiary.app.views.runs.notices import LOSES
from topiary.app.views.text import escape

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
MARKS = {"pause": "pause", "stop": "stop", "resume": "play", "move": "first"}
VERB_LABELS = {"move": "Start first"}  # labels of buttons that differ from their verbs
FORK = "Continue as … : a new run that begins with the topics of this one"
FORK_LABELS = "Continue as sDATM: a new run that begins with the topics of this one and learns the labels too"
_NO_ESTIMATE_TIP = "No test document has been evaluated yet"
_SPARK = "The curve of the point perplexity, from the first evaluation to the last; lower is better"
_PROGRESS_TIP = "{} trained, and those planned; then the training time, or what is left of it"
_GROUP_TIP = "Runs requested together, named after the number of the first; then the seed of this one"
_SEEDS = "What comes back"
_SEEDS_TIP = "Which topics the runs of the group that differ in the seed alone have in common"
_PACE_TIP = "Tokens read per second of training"
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
    rows = "".join(
        _draw_run(
            run,
            state(run.number),
            _draw_numbers(run, choose_headline(run, latest(run.number)), spark(run.number)),
            known,
            selected=run.number == selected,
            fork=_draw_fork_button(run, labelled=run.number in labelled, bare=run.number in bare),
            seeded=run.number in seeded,
            mark="" if marked is None else _draw_mark(run, marked=run.number in marked),
        )
        for run in runs
    )
    return f'<ul class="tp-runs" data-rove aria-label="Runs">{rows}</ul>'


def select_runs(runs: Sequence[Run], state: Callable[[int], str], chosen: int, most: int = AT_ONCE) -> list[Run]:
    """Return the first ``most`` runs, all active runs, and the chosen run; drawing thousands would take seconds."""
    return [
        run for index, run in enumerate(runs) if index < most or run.number == chosen or state(run.number) in ACTIVE
    ]


def draw_search_field(text: str) -> str:
    """Return the search field for runs."""
    fields = "number, name, corpus, model, group or state"
    return (
        f'<div class="ex-find tp-find"><input type="search" data-input="find" data-hold value="{escape(text)}" '
        f'placeholder="Find runs" aria-label="Find runs" title="Words of their {fields}"></div>'
    )


def matches_search(run: RunFacts, state: str, text: str) -> bool:
    """Return True if the row of a run contains all words of ``text``, ignoring case."""
    words = f"{run.number} {name_run(run)} {_describe_run(run)} {_group_runs(run)} {name_state(state)}".casefold()
    return all(word in words for word in text.casefold().split())


def draw_rest(shown: int, fitting: int, more: int, text: str) -> str:
    """Return the line below the rows: a note that no run matches, or a button that shows more runs."""
    if not fitting:
        reason = f"No run matches “{escape(text[:60])}”." if text else "No run fits these filters."
        return f'<p class="tp-dim" role="status">{reason}</p>'
    if fitting <= shown:
        return ""
    word = f"Show {min(more, fitting - shown)} more"
    return (
        f'<p class="tp-more"><button class="tp-button" data-do="more">{word}</button> '
        f'<span class="tp-dim">{shown:,} of {fitting:,} runs</span></p>'
    )


def draw_empty_store(corpora: Sequence[str], wrong: str = "") -> str:
    """Return the page for a store without runs: add documents, try the demo, or start a run on a corpus.

    Parameters
    ----------
    corpora : sequence of str
        The names of the corpora in the store.
    wrong : str
        The reason why the demo could not be prepared, or empty.
    """
    add_button = f'<button class="tp-button{{}}" data-do="add">{draw_icon("page")}Add documents</button>'
    commands = (
        f'<p class="tp-lead">Bring your own documents:</p><p>{add_button.format(" tp-strong")}</p>'
        '<p class="tp-lead">or see it at work on text that is already on this machine, the documentation of its Python '
        f'packages:</p><p><button class="tp-button" data-do="demo">{draw_icon("play")}Try the demo</button></p>'
    )
    if corpora:
        names = ", ".join(escape(name) for name in corpora)
        commands = (
            f'<p class="tp-lead">Corpora in this store: {names}.</p>'
            f'<p><button class="tp-button tp-strong" data-do="new">{draw_icon("plus")}Start the first run</button> '
            f"{add_button.format('')}</p>"
        )
    return (
        '<section class="tp-empty"><div><h2>No runs yet</h2>'
        "<p>A run learns a hierarchy of topics from a corpus. You can watch while it does.</p>"
        f"{commands}{draw_error(wrong)}</div><aside>{list_formats()}</aside></section>"
    )


def draw_preparation(sentence: str, share: float | None = None) -> str:
    """Return the page that shows the progress of preparing the demo."""
    return (
        '<section class="tp-empty"><div><h2>The demo is being prepared</h2>'
        f'<p class="tp-lead" role="status">{escape(sentence)} …</p>{draw_meter(share, "Progress of the demo")}'
        "<p>This page moves on by itself as soon as training begins.</p></div></section>"
    )


def _draw_run(
    run: RunFacts,
    state: str,
    numbers: str,
    all_numbers: Collection[int],
    *,
    selected: bool,
    fork: str,
    seeded: bool,
    mark: str,
) -> str:
    title = escape(name_run(run))
    label = _describe_run(run)
    dialog = draw_delete_dialog("run", run.number, name_run(run), LOSES)
    edit = write_attributes(
        data_edit="rename", data_run=run.number, data_value=name_run(run), data_label="Name of the run"
    )
    return (
        f'<li class="tp-run{" tp-selected" if selected else ""}"{write_attributes(data_key=run.number)}>'
        f'<div class="tp-run-name">{mark}<span class="tp-run-number" title="Number of the run">{run.number}</span>'
        f'<div><div class="tp-run-title"{edit} tabindex="0" title="Double-click or F2 renames">{title}</div>'
        f'<div class="tp-dim"{write_attributes(title=label)}>{escape(label)}</div>'
        f"{_describe_group(run, seeded=seeded)}{_draw_lineage(run, all_numbers)}</div></div>"
        f'<div class="tp-run-state">{draw_state(state, run.request)}{_describe_state(run, state)}</div>'
        f"{_draw_progress(run, state)}{numbers}"
        f'<div class="tp-run-acts">{_draw_actions(run, state, _draw_compare_link(run, all_numbers) + fork)}</div>'
        f"{dialog}</li>"
    )


def _draw_mark(run: RunFacts, *, marked: bool) -> str:
    """Return the box that marks a run for a comparison."""
    attributes = write_attributes(
        role="checkbox", aria_checked=str(marked).lower(), aria_label=f"Mark run {run.number} to compare it",
        title="Mark to compare", data_do="mark", data_run=run.number,
    )  # fmt: skip
    return f'<button class="tp-mark"{attributes}></button>'


def _describe_run(run: RunFacts) -> str:
    inference = name_inference(run.model, run.inference)
    return " · ".join(filter(None, ("-".join(map(str, run.layers)), name_model(run.model), inference, run.corpus_name)))


def _draw_lineage(run: RunFacts, all_numbers: Collection[int]) -> str:
    sentence = describe_lineage(run.parent, run.parent_minibatch, gone=run.parent not in all_numbers)
    return f'<div class="tp-dim tp-lineage">{draw_icon("fork")}{sentence}</div>' if sentence else ""


def _describe_group(run: RunFacts, *, seeded: bool) -> str:
    """Return the group in which a run was requested, and its seed, as HTML; empty for a run without a group.

    If the group has runs that differ from it in the seed alone (``seeded``), a button shows what comes back in them.
    """
    sentence = _group_runs(run)
    if not sentence:
        return ""
    label = f"What comes back of run {run.number}"
    button = write_element(
        "button", _SEEDS, class_="tp-inline", data_do="seeds", data_run=run.number, title=_SEEDS_TIP, aria_label=label
    )
    return f'<div class="tp-dim" title="{_GROUP_TIP}">{sentence}{f" · {button}" if seeded else ""}</div>'


def _group_runs(run: RunFacts) -> str:
    return "" if run.run_group is None else f"Group {run.run_group} · seed {run.seed}"


def _describe_state(run: RunFacts, state: str) -> str:
    """Return the line below the state: the age of the heartbeat, the worker's message, or the date."""
    since = _describe_date(run, state)
    if state == "running":
        line = f"heartbeat {format_age(run.heartbeat_age)}"
    elif state == "silent":
        line = f"no heartbeat for {format_span(run.heartbeat_age)}"
    else:
        line = run.message if state in ("failed", "queued") and run.message else _find_date(run)
    hint = ". ".join(filter(None, (run.message, since)))
    return f'<div class="tp-dim" title="{escape(hint)}">{escape(line)}</div>'


def _describe_date(run: RunFacts, state: str) -> str:
    """Return in words since when a run is waiting or has ended; empty while it is being trained."""
    if state in ("running", "silent"):
        return ""
    name = "Waiting since" if state == "queued" else name_state(state).capitalize()
    return f"{name} {_find_date(run)}, by the clock of the database"


def _find_date(run: RunFacts) -> str:
    """Return when a run ended, or when it was requested if it has not ended."""
    return f"{(run.ended or run.created).astimezone():%d %b %H:%M}"


def _draw_progress(run: RunFacts, state: str) -> str:
    done = measure_progress(run.minibatch, run.planned)
    seconds_left = estimate_seconds_left(run.minibatch, run.planned, run.seconds) if state == "running" else None
    note = (
        f" · {format_span(seconds_left)} left"
        if seconds_left is not None
        else f" · {format_span(run.seconds)}"
        if run.seconds
        else ""
    )
    meter = write_element(
        "div",
        f'<i style="width:{100 * done:.1f}%"></i>',
        class_=f"tp-meter tp-{state}",
        role="progressbar",
        aria_label=f"Progress of run {run.number}",
        aria_valuenow=round(100 * done),
        aria_valuemin=0,
        aria_valuemax=100,
    )
    steps = STEPS[name_step(run)]
    counts = f"{run.minibatch:,} / {run.planned:,} {steps}{note}"
    tip = _PROGRESS_TIP.format(steps.capitalize())
    return f'<div class="tp-run-progress">{meter}<div class="tp-dim" title="{tip}">{counts}</div></div>'


def _draw_numbers(run: RunFacts, estimate: Estimate | None, values: Sequence[float]) -> str:
    """Return the sparkline, the main estimate and the pace of a run."""
    pace = format_rate(run.tokens_per_second)
    name, tip = (
        (find_estimate_name(run, POINT), _NO_ESTIMATE_TIP)
        if estimate is None
        else (estimate.name, f"{estimate.protocol}.")
    )
    return (
        f'<div class="tp-run-spark"{write_attributes(title=_SPARK if values else None)}>{draw_sparkline(values)}</div>'
        f'<div class="tp-run-value"{write_attributes(title=tip)}><b>{format_estimate(estimate)}</b>'
        f'<span class="tp-dim">{escape(name)}</span></div>'
        f'<div class="tp-run-value tp-run-rate"{write_attributes(title=_PACE_TIP)}><b>{pace}</b>'
        '<span class="tp-dim">tokens/s</span></div>'
    )


def _draw_compare_link(run: RunFacts, all_numbers: Collection[int]) -> str:
    """Return the button that compares a fork with its parent; empty for other runs."""
    if run.parent not in all_numbers:
        return ""
    hint = f"What changed since run {run.parent}, which this one continues"
    return (
        f'<button class="tp-button"{write_attributes(data_do="compare", data_run=run.number, title=hint)}>'
        "Compare</button>"
    )


def _draw_fork_button(run: RunFacts, *, labelled: bool, bare: bool) -> str:
    """Return the button that continues a run (with labels if ``labelled``); disabled if ``bare``, without topics."""
    hint, word, mode = (FORK_LABELS, "Continue with labels", "labels") if labelled else (FORK, "Continue", "")
    attributes = write_attributes(
        data_do="fork", data_run=run.number, data_how=mode, title=NO_FORK if bare else hint, disabled=bare
    )
    return (
        f'<button class="tp-button"{attributes} aria-label="{word} run {run.number}">{draw_icon("fork")}{word}</button>'
    )


def draw_verb_buttons(run: RunFacts, state: str, look: str) -> str:
    """Return buttons for the requests that fit a run's state (pause, stop, resume, start first), of class ``look``."""
    return "".join(
        write_element(
            "button",
            draw_icon(MARKS[verb]),
            class_=look,
            data_do=verb,
            data_run=run.number,
            title=VERB_LABELS.get(verb, verb.capitalize()),
            aria_label=f"{VERB_LABELS.get(verb, verb).lower()} run {run.number}",
        )
        for verb in ACTIONS.get(state, ())
    )


def _draw_actions(run: RunFacts, state: str, extra: str) -> str:
    """Return the buttons for all actions on a run; ``extra`` is HTML of further buttons."""
    verbs = draw_verb_buttons(run, state, "tp-icon-button")
    return (
        f'<button class="tp-button"{write_attributes(data_do="watch", data_run=run.number)}>Watch</button>'
        f'<button class="tp-button"{write_attributes(data_do="explore", data_run=run.number)}>Explore</button>'
        f"{extra}{verbs}{draw_delete_button('run', run.number)}"
    )
