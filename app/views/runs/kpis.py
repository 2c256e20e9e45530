"""The cards of the watch page: figures, settings, cluster workers and a preview of topics."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, NamedTuple

from topiary.app.analysis.hierarchy import BACKGROUND, Hierarchy
from topiary.app.jobs.cluster.workers import WorkerFacts, read_cluster
from topiary.app.jobs.estimates import (
    ESTIMATE_NAMES,
    KINDS,
    POINT,
    STILL_FALLING,
    Curve,
    describe_estimate,
    describe_trend,
    find_estimate_name,
    list_estimates,
)
from topiary.app.jobs.new_run import MORE_STEPS
from topiary.app.jobs.records import describe_change
from topiary.app.names import STEPS, name_model, name_state, name_step
from topiary.app.views.html import render
from topiary.app.views.markup import list_run_entries, name_run, write_attributes
from topiary.app.views.runs.new_run_form import describe_setting, format_value
from topiary.app.views.text import (
    describe_lineage,
    estimate_seconds_left,
    format_age,
    format_number,
    format_rate,
    format_size,
    format_span,
)
from topiary.engine.hierarchy.tree import Node
from topiary.store.events import RunEvent
from topiary.store.run_rows import RunRow

SWEEPS_BEGIN = "sweeps begin"  # kind of the event at which a run changes from mini-batches to sweeps over all documents
CHANGE_OVER = 5  # number of evaluations over which the change of the perplexity is measured


class RunHealth(NamedTuple):
    """The facts that the row of figures shows in addition to those in `RunRow`.

    Attributes
    ----------
    change : float or None
        The change of the point perplexity.
    over : int
        The number of mini-batches over which ``change`` was measured.
    trend : str
        Whether the perplexity still falls, in words.
    latest : mapping of str to float or None
        The newest values of the curves that `app.jobs.estimates` reads.
    """

    state: str
    change: float | None
    over: int
    trend: str = ""
    latest: Mapping[str, float | None] = {}


def measure_health(state: str, curve: Curve, latest: Mapping[str, float | None] | None = None) -> RunHealth:
    """Compare the newest point perplexity with the one five evaluations before."""
    latest = latest or {}
    if len(curve) < 2:
        return RunHealth(state, None, 0, latest=latest)
    (step, value), (earlier, before) = curve[-1], curve[max(0, len(curve) - 1 - CHANGE_OVER)]
    return RunHealth(state, float(value - before), int(step - earlier), describe_trend(curve), latest)


def draw_kpis(run: RunRow, about: RunHealth) -> str:
    """Return the row of figures: perplexity, progress, pace, time left, structure and heartbeat."""
    step = name_step(run)
    estimate, lines = _describe_estimates(run, about)
    missing = "" if lines else "first one is on its way" if about.state == "running" else "not measured"
    return render(
        "watch.kpis", run, estimate, missing if about.change is None else about, lines,
        steps=SimpleNamespace(one=step, many=STEPS[step],), card=describe_card(run.process),
        time=_describe_time(run, about.state),
        spent=f"{run.seconds / run.minibatch:.2g} s each" if run.minibatch else "not started",
        layers=_describe_origin(run), heartbeat=_describe_heartbeat(run, about.state),
    )  # fmt: skip


def describe_card(process: Mapping[str, Any]) -> str:
    """Return the graphics processor of a run or of a worker, and its memory in use; empty without one."""
    match process.get("card"):
        case {"name": str(name), "memory": int(memory), "used": int(used)}:
            return f"{name}, {format_size(used)} of {format_size(memory)} in use"
    return ""


def draw_continuation(run: RunRow, about: RunHealth) -> str:
    """Return the button that trains a finished run further if its curve was still falling at the end, else nothing."""
    if about.state != "finished" or about.trend != STILL_FALLING:
        return ""
    return render("watch.continuation", run, MORE_STEPS, STEPS[name_step(run)])


def draw_card_head(title: str, rest: str, tip: str = "") -> str:
    """Return the first line of a card; ``tip`` is shown on hover over its title."""
    return render("watch.card_head", title, rest, tip)


def draw_legend(entries: Iterable[tuple[str, str, Any]]) -> str:
    """Return a legend: names, each with a stroke in its colour and dash."""
    return render("watch.legend", [(name, draw_stroke(colour, dash)) for name, colour, dash in entries])


def draw_stroke(colour: str, dash: Any) -> str:
    """Return a short line in the colour and dash of a curve, as SVG."""
    patterns = {"solid": "", "dashed": "6 4", "dotted": "2 4", "dotdash": "2 4 6 4", "dashdot": "6 4 2 4"}
    pattern = patterns.get(dash, "") if isinstance(dash, str) else " ".join(map(str, dash))
    return (
        '<svg class="tp-stroke" viewBox="0 0 26 8" aria-hidden="true"><line x1="1" y1="4" x2="25" y2="4" '
        f'stroke="{colour}" stroke-width="2.6"{write_attributes(stroke_dasharray=pattern or None)}/></svg>'
    )


def draw_overlay_choice(
    run: RunRow, others: Sequence[RunRow], chosen: Sequence[int], strokes: Sequence[tuple[str, Any]]
) -> str:
    """Return the runs whose curves are shown, each with its stroke, and a list to add another one.

    ``strokes[0]`` is the stroke of the run itself; the others follow in the order of ``chosen``.
    """
    by_number = {other.number: other for other in others}
    shown = [
        (_name_short(by_number[number]), draw_stroke(*strokes[place]))
        for place, number in enumerate(chosen, 1)
        if number in by_number and place < len(strokes)
    ]
    rest = list_run_entries(other for other in others if other.number not in chosen)
    offered = [("", "Compare with …"), *rest] if rest else []
    return render("watch.overlays", _name_short(run), draw_stroke(*strokes[0]), shown, offered)


def _name_short(run: RunRow) -> SimpleNamespace:
    return SimpleNamespace(number=run.number, name=name_run(run))


def draw_choices(name: str, entries: Iterable[tuple[str, str]], chosen: str, label: str) -> str:
    """Return a row of buttons, each sending ``{do: name, value: ...}``; that of the ``chosen`` value is pressed."""
    return render("macros.choices", name, entries, chosen, label)


def summarise_changes(events: Iterable[RunEvent]) -> list[tuple[int, str]]:
    """Return the changes of the structure as (mini-batch, sentence), without the lists of topics."""
    changes: dict[int, list[str]] = {}
    for event in events:
        if event.change is not None:
            changes.setdefault(event.minibatch, []).append(describe_change(event.change))
    return [(minibatch, "; ".join(parts)) for minibatch, parts in sorted(changes.items())]


def find_phases(events: Iterable[RunEvent]) -> list[int]:
    """Return the steps at which a run changes from mini-batches to sweeps over all documents."""
    return [event.minibatch for event in events if event.kind == SWEEPS_BEGIN]


_SEED = "The same seed and settings give the same topics again"
_LEARNT = "The concentrations of the last reported step; eta_1 is that of layer 1"
_ATTEMPT = "How often a worker has started or resumed the run"


def draw_details(
    run: RunRow, happened: Iterable[tuple[str, str, str]], learnt: Mapping[str, float] | None = None
) -> str:
    """Return the settings of a run, the concentrations it has ``learnt``, and its events: (when, kind, text)."""
    rows = [
        ("Corpus", "", run.corpus_name),
        ("Model", "", name_model(run.model)),
        ("Layers", "", _describe_layers(run)),
    ]
    if run.parent is not None:
        rows.append(("Continues", "", describe_lineage(run.parent, run.parent_minibatch).removeprefix("continues ")))
    rows += [("Seed", _SEED, str(run.seed)), ("Times started", _ATTEMPT, str(run.attempt))]
    rows += [
        (*describe_setting(run.model, name), format_value(value))
        for name, value in run.settings.items()
        if name != "layers"
    ]
    if learnt:
        rows.append(("Learnt", _LEARNT, ", ".join(f"{name} {value:.3g}" for name, value in learnt.items())))
    events = [(when, kind, text.removeprefix(f"{kind}: ")) for when, kind, text in happened]
    return render("watch.details", events, run.traceback, rows)


def _describe_layers(run: RunRow) -> str:
    widths = "-".join(map(str, run.layers))
    return f"{widths}, learnt from a budget of {run.settings['layers'][0]}" if run.settings.get("grow") else widths


def _describe_estimates(run: RunRow, health: RunHealth) -> tuple[SimpleNamespace, list[str]]:
    """Return the main estimate, a dash if there is none yet, and sentences on how all of them are measured."""
    estimates = list_estimates(run, health.latest)
    if not estimates:
        name, protocol = find_estimate_name(run, POINT).capitalize(), f"{describe_estimate(run, POINT)}."
        return SimpleNamespace(name=name, figure="–", protocol=protocol), []
    best, *others = estimates
    lines = [f"{best.protocol}."]
    lines += [f"{other.name.capitalize()}: {other.figure}. {other.protocol}." for other in others]
    if best.kind != POINT and health.change is not None:
        lines.append(f"The change is that of the {find_estimate_name(run, POINT)}.")
    return SimpleNamespace(name=best.name.capitalize(), figure=best.figure, protocol=lines[0]), lines


def _describe_origin(run: RunRow) -> str:
    """Return whether the widths were learnt, and which run this one continues; empty for a plain run."""
    note = describe_lineage(run.parent, run.parent_minibatch)
    if run.settings.get("grow"):
        note = f"learnt from a budget of {run.settings['layers'][0]}" + (f"; {note}" if note else "")
    return note


def _describe_time(run: RunRow, state: str) -> tuple[str, str, str, str]:
    tip = "Training time, without evaluation and pauses."
    seconds_left = estimate_seconds_left(run.minibatch, run.planned, run.seconds)
    if state == "running" and seconds_left is not None:
        return ("Time left", format_span(seconds_left), f"{format_span(run.seconds)} so far", tip)
    return ("Training time", format_span(run.seconds), name_state(state), tip)


_REPEATED = re.compile(  # the parts of a message that repeat figures of other cells
    rf"({'|'.join(sorted(KINDS, key=len, reverse=True))}) -?[\d,.]+ \([^)]*\)"
    rf"([,;] ((validation )?{ESTIMATE_NAMES[POINT]} )?(still falling|no longer improving since step [\d,]+))?([;,] )?"
)


def _describe_heartbeat(run: RunRow, state: str) -> tuple[str, str, str, str]:
    message = run.message or name_state(state)
    if state in ("running", "silent"):
        return ("Heartbeat", format_age(run.heartbeat_age), message, "When the worker last wrote to the store.")
    when = run.ended or run.created
    name = "Waiting since" if state == "queued" else name_state(state).capitalize()
    note = message.removeprefix("finished: ").removeprefix("finished; ")  # the cell is called "Finished"
    note = _REPEATED.sub("", note) or "as planned"
    return (name, f"{when.astimezone():%d %b %H:%M}", note, f"{message}. By the clock of the database.")


MOST_SHOWN = 100  # workers in the table; the number of others is below it


def draw_workers(process: Mapping[str, Any], state: str) -> str:
    """Return the table of workers, from the stored facts about the process; empty for a run without workers."""
    facts = read_cluster(process)
    if not facts.workers:
        return ""
    lost_first = sorted(facts.workers, key=lambda worker: worker.lost is None)
    has_cards = any(worker.card is not None for worker in facts.workers)
    shown = [_describe_worker(worker) for worker in lost_first[:MOST_SHOWN]]
    is_linked = state == "running" and facts.dashboard.startswith(("http://", "https://"))
    hidden = len(facts.workers) - MOST_SHOWN
    return render("watch.workers", shown, hidden, has_cards, facts.dashboard if is_linked else "")


def _describe_worker(worker: WorkerFacts) -> SimpleNamespace:
    limit = f" of {format_size(worker.limit)}" if worker.limit else ""
    lost = None if worker.lost is None else datetime.fromtimestamp(worker.lost, UTC).astimezone()
    return SimpleNamespace(
        name="" if worker.name == worker.address else worker.name,
        address=worker.address,
        pace=format_rate(worker.tokens_per_second),
        memory=f"{format_size(worker.memory)}{limit}",
        card=describe_card({"card": worker.card}),
        documents=worker.documents,
        lost="" if lost is None else f"{lost:%d %b %H:%M:%S}",
    )


CARDS = 8  # topics in the preview


def draw_preview(hierarchy: Hierarchy, layer: int) -> str:
    """Return cards of the most popular topics of a layer, without background topics, as links to the explorer."""
    nodes, hidden = _choose_topics(hierarchy, layer)
    peak = max((hierarchy.share(node) for node in nodes), default=0.0) or 1.0
    return render("watch.preview", hierarchy, layer, nodes, peak, hidden)


def _choose_topics(hierarchy: Hierarchy, layer: int) -> tuple[list[Node], int]:
    """Return the topics of the preview, and how many background topics are left out; if all are, none is left out."""
    topics = hierarchy.nodes(layer)
    chosen = [node for node in topics if hierarchy.role(node) != BACKGROUND] or list(topics)
    return chosen[:CARDS], len(topics) - len(chosen)


def describe_snapshot(hierarchy: Hierarchy, step: str, *, pinned: bool) -> str:
    """Return in words which snapshot is shown; ``step`` is the name of a step of its run."""
    return f"{'pinned at' if pinned else 'latest ·'} {step} {format_number(hierarchy.minibatch)}"


def draw_waiting(sentence: str, *, coming: bool = True) -> str:
    """Return a sentence about what the page is waiting for, and empty cards if topics are coming."""
    return render("watch.waiting", sentence, coming)
