"""The list of runs with its controls, and the table that compares runs.

Pages and notices stand in place of a run: there is none, it is not there, has no topics yet, or has failed.
"""

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from math import isfinite
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeVar

from topiary.app.jobs.estimates import (
    POINT,
    Estimate,
    choose_alike,
    choose_headline,
    find_estimate_name,
    list_estimates,
)
from topiary.app.jobs.gallery import PREPARATION, STAGES
from topiary.app.names import STEPS, name_inference, name_model, name_state, name_step
from topiary.app.views.html import render
from topiary.app.views.markup import name_run
from topiary.app.views.runs.corpus_form import FORMATS
from topiary.app.views.runs.new_run_form import describe_setting, format_value
from topiary.app.views.text import (
    break_lines,
    describe_lineage,
    estimate_seconds_left,
    fit_lines,
    format_age,
    format_estimate,
    format_rate,
    format_span,
    measure_progress,
)
from topiary.store.run_rows import RunRow

WIDTH, HEIGHT, EDGE = 132, 34, 3  # of a sparkline, and the margin around its curve, in pixels
Run = TypeVar("Run", bound=RunRow)
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
FIRST_TOPICS = 6.0  # seconds from the start of a run whose kernels are compiled to its first topics
COMPILING = 40.0  # seconds of compiling the kernels of a model
LATE = 20.0  # seconds without a change of the estimate after which it takes longer than usual
_STEPS = (50, 40, 30, 20, 10, 6)  # seconds that are said
_TITLE, _ROOM, _LINES = 14.0, 14.2, 2  # ems of the title and of a line of a document in the drawing, and its lines
_CHARACTERS = 200  # of a document that are looked at
NONE = "–"
_NPMI_TIP = "Mean coherence (NPMI) of the topics of this layer with at least 0.1% of the words; higher is better"
_ESTIMATE_TIP = "How well the run predicts held-out words; estimates of other kinds, in other columns, do not compare"
NEWEST, LOWEST = "newest", "perplexity"
ORDERS = {
    NEWEST: "newest first",
    "oldest": "oldest first",
    LOWEST: "lowest perplexity first",
    "steps": "most steps first",
    "time": "longest training first",
    "name": "by name",
}
FILTERS = {"state": "all states", "corpus": "all corpora", "model": "all models"}  # each with the entry for all
MANY = 12  # runs; a longer list gets a search field
FEW = 3  # runs; a shorter list needs no order
MOST_MARKED = 40  # runs in a table


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


def draw_runs(
    runs: Sequence[RunRow],
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


def _describe_row(run: RunRow, state: str, estimate: Estimate | None, curve: Sequence[float]) -> SimpleNamespace:
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


def matches_search(run: RunRow, state: str, text: str) -> bool:
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


def _describe_run(run: RunRow) -> str:
    inference = name_inference(run.model, run.inference)
    return " · ".join(filter(None, ("-".join(map(str, run.layers)), name_model(run.model), inference, run.corpus_name)))


def _group_runs(run: RunRow) -> str:
    return "" if run.run_group is None else f"Group {run.run_group} · seed {run.seed}"


def _describe_state(run: RunRow, state: str) -> tuple[str, str]:
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
    """Return what a visitor waits for while a run starts, from what its worker says and the time since it began.

    Until the worker has loaded the documents, it is not known whether the model must be compiled, so that it counts.
    """
    if message and not any(word in message for word in ("compiling", "loading")):
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
    doing = ("reading", "compiling", "training")[facts.step]
    sentence = f"Your first topics appear in about {span}."
    if late and facts.queued:
        doing, sentence = "this run waits for its turn", "Your topics come after those of the run that trains now."
    once = "the model is compiled once." if facts.step < 2 else "the model is compiled already."
    note = f"Longer than usual: {doing}." if late else f"Later starts take 6 seconds: {once}"
    own = [
        ("".join(_fit(title, _TITLE, 1)) or "a document", _fit(break_lines(text[:_CHARACTERS]), _ROOM, _LINES) or ["…"])
        for title, text in facts.own[:2]
    ]
    return render("waiting.page", facts, sentence, note, own)


def _fit(text: str, room: float, n_lines: int) -> list[str]:
    return fit_lines(" ".join(text.split()), room, n_lines)


class TableRun(NamedTuple):
    """A run in the table.

    Attributes
    ----------
    state : str
        The state to show.
    estimate : Estimate or None
        The estimate that represents it.
    npmi : sequence of float
        Mean NPMI of its layers, the layer next to the words first; empty if it is not stored.
    """

    run: RunRow
    state: str
    estimate: Estimate | None
    npmi: Sequence[float] = ()


def draw_run_table(rows: Sequence[TableRun], *, waiting: bool) -> str:
    """Return the table, a run in each row; ``waiting`` says that coherences are still being read."""
    differing = list_differing([row.run for row in rows])
    layers = max((len(row.npmi) for row in rows), default=0)
    kinds = list(dict.fromkeys(row.estimate.name for row in rows if row.estimate is not None))
    titles = [
        ("Run", ""),
        ("State", ""),
        *((label, tip) for label, tip, _ in differing),
        *((name.capitalize(), _ESTIMATE_TIP) for name in kinds),
        *((f"NPMI, layer {layer}", _NPMI_TIP) for layer in range(1, layers + 1)),
        ("Length", "Steps made"),
        ("Time", "Time of training"),
    ]
    body = [
        SimpleNamespace(
            run=row.run,
            name=name_run(row.run),
            state=row.state,
            cells=_list_cells(row, [values[place] for _, _, values in differing], kinds, layers, best=best),
        )
        for place, (row, best) in enumerate(zip(rows, _find_best(rows), strict=True))
    ]
    notes = (
        ["Settings that are the same in all of these runs are left out."]
        if differing
        else ["These runs do not differ in any setting."]
    )
    if len({row.run.corpus_name for row in rows}) > 1:
        notes.append("Perplexities of different corpora do not compare.")
    if waiting:
        notes.append("Coherences are being read …")
    return render("runs.table", titles, body, notes)


def list_differing(runs: Sequence[RunRow]) -> list[tuple[str, str, list[str]]]:
    """Return what differs among runs: its label, its meaning, and the value of each run as text.

    A setting that only some models have counts if the runs that have it differ.
    """
    own: list[tuple[str, str, list[str]]] = [
        ("Corpus", "", [run.corpus_name for run in runs]),
        ("Model", "", [name_model(run.model) for run in runs]),
        ("Inference", "", [name_inference(run.model, run.inference) or NONE for run in runs]),
        (
            "Topics per layer",
            "From the layer next to the words upwards",
            ["-".join(map(str, run.layers)) for run in runs],
        ),
        ("Seed", "", [str(run.seed) for run in runs]),
    ]
    found = [row for row in own if len(set(row[2])) > 1]
    names = dict.fromkeys(name for run in runs for name in run.settings if name not in ("layers", "inference"))
    for name in names:
        values = [run.settings[name] for run in runs if name in run.settings]
        if len({json.dumps(value, sort_keys=True) for value in values}) > 1:
            owner = next(run.model for run in runs if name in run.settings)
            label, tip = describe_setting(owner, name)
            found.append((label, tip, [_format_setting(run.settings, name) for run in runs]))
    return found


def _format_setting(settings: Mapping[str, Any], name: str) -> str:
    return format_value(settings[name]) if name in settings else NONE


def _find_best(rows: Sequence[TableRun]) -> list[bool]:
    """Return for each run whether its estimate is the best of those with the same name on the same corpus."""
    groups: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if row.estimate is not None:
            groups.setdefault((row.run.corpus_name, row.estimate.name), []).append(_rank(row.estimate))
    return [
        row.estimate is not None
        and len(group := groups[row.run.corpus_name, row.estimate.name]) > 1
        and _rank(row.estimate) == min(group)
        for row in rows
    ]


def _rank(estimate: Estimate) -> float:
    return estimate.value if estimate.lower_is_better else -estimate.value


def _list_cells(
    row: TableRun, settings: Sequence[str], kinds: Sequence[str], layers: int, *, best: bool
) -> list[tuple[str, bool]]:
    """Return the cells after the state, each with whether it is the best of its column."""
    run, own = row.run, "" if row.estimate is None else row.estimate.name
    npmi = [f"{value:.3f}" if math.isfinite(value) else NONE for value in row.npmi]
    rest = [
        *npmi,
        *[NONE] * (layers - len(npmi)),
        f"{run.minibatch:,} {STEPS[name_step(run)]}",
        format_span(run.seconds) if run.seconds else NONE,
    ]
    return [
        *((setting, False) for setting in settings),
        *((format_estimate(row.estimate), best) if kind == own else (NONE, False) for kind in kinds),
        *((cell, False) for cell in rest),
    ]


class RunChoice(NamedTuple):
    """The runs that a list shows, and their order.

    Attributes
    ----------
    text : str
        Words that the row of a run must contain.
    state, corpus, model : str
        The state, the name of the corpus and the model of the runs; empty for all.
    order : str
        A key of :data:`ORDERS`.
    """

    text: str = ""
    state: str = ""
    corpus: str = ""
    model: str = ""
    order: str = NEWEST

    def change(self, name: str, value: str) -> "RunChoice":
        """Return the choice with another order, text or filter; unknown orders are those of a new list."""
        known = value if name != "order" or value in ORDERS else NEWEST
        return self._replace(**{name: known[:200]})

    def select(
        self, runs: Sequence[Run], state: Callable[[int], str], latest: Callable[[int], Mapping[str, float | None]]
    ) -> list[Run]:
        """Return the runs that fit, in order.

        Parameters
        ----------
        runs : sequence of rows
            The newest first.
        state : (run number) -> str
            The state to show.
        latest : (run number) -> mapping of str to float or None
            The newest values of the curves that :mod:`app.jobs.estimates` reads.
        """
        fitting = [
            run
            for run in runs
            if matches_search(run, state(run.number), self.text)
            and self.state in ("", state(run.number))
            and self.corpus in ("", run.corpus_name)
            and self.model in ("", run.model)
        ]
        return _sort_runs(fitting, self.order, latest)


def _sort_runs(runs: Sequence[Run], order: str, latest: Callable[[int], Mapping[str, float | None]]) -> list[Run]:
    """Return runs, the newest first, in another order; runs without a perplexity come last.

    Perplexities of different corpora or kinds do not compare, so that each corpus, and each kind in it, has its own
    order.
    """

    def find_perplexity(run: Run) -> tuple[float, str, str, float]:
        best = choose_headline(run, latest(run.number))
        if best is None or not best.lower_is_better:
            return math.inf, "", "", 0.0
        return 0.0, run.corpus_name, best.name, best.value

    keys: dict[str, Callable[[Run], Any]] = {
        "oldest": lambda run: run.number,
        LOWEST: find_perplexity,
        "steps": lambda run: -run.minibatch,
        "time": lambda run: -run.seconds,
        "name": lambda run: name_run(run).casefold(),
    }
    return sorted(runs, key=keys[order]) if order in keys else list(runs)


def draw_run_choice(runs: Sequence[RunRow], state: Callable[[int], str], choice: RunChoice) -> str:
    """Return the controls above the list: search, filters by what differs among the runs, and order."""
    values = {
        "state": {state(run.number): name_state(state(run.number)) for run in runs},
        "corpus": {run.corpus_name: run.corpus_name for run in runs},
        "model": {run.model: name_model(run.model) for run in runs},
    }
    filters = []
    for name, every in FILTERS.items():
        chosen, offered = getattr(choice, name), values[name]
        if len(offered) > 1 or chosen:
            entries = (
                dict(sorted(({chosen: chosen} | offered).items(), key=lambda item: item[1])) if chosen else offered
            )
            filters.append((name, ({"": every} | entries).items(), chosen))
    has_search, orders = len(runs) > MANY or bool(choice.text), ORDERS.items() if len(runs) >= FEW else ()
    if not (has_search or filters or orders):
        return ""
    return render("runs.choice", choice.text, has_search, filters, orders, choice.order)


def draw_marked(marked: Collection[int], fitting: int) -> str:
    """Return the line above the list that compares the marked runs, or marks all; empty for a single run.

    Parameters
    ----------
    marked : collection of int
        The numbers of the marked runs.
    fitting : int
        Number of runs that fit the choice.
    """
    return "" if fitting < 2 and not marked else render("runs.marked_runs", len(marked), MOST_MARKED, fitting)


def explain_order(runs: Sequence[RunRow], choice: RunChoice) -> str:
    """Return the warning that perplexities of different corpora do not compare, if the order suggests they do."""
    if choice.order != LOWEST or len({run.corpus_name for run in runs}) < 2:
        return ""
    return '<p class="tp-dim" role="status">Perplexities of different corpora do not compare; choose one corpus.</p>'


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
