"""The cards of the watch page: figures, settings, cluster workers and a preview of topics."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol

from topiary.app.analysis.hierarchy import BACKGROUND, Hierarchy, format_identity
from topiary.app.analysis.topic_images import draw_atom_uri, has_pictures
from topiary.app.jobs.cluster.workers import ClusterFacts, WorkerFacts, read_cluster
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
from topiary.app.jobs.plan import STEPS, name_step
from topiary.app.jobs.records import WidthChange, describe_change
from topiary.app.names import name_model, name_state
from topiary.app.views.markup import (
    draw_icon,
    draw_options,
    list_run_entries,
    name_run,
    write_attributes,
    write_element,
)
from topiary.app.views.palette import declare_hue
from topiary.app.views.run_facts import (
    RunFacts,
    describe_lineage,
    estimate_seconds_left,
    format_age,
    format_number,
    format_perplexity,
    format_rate,
    format_size,
    format_span,
)
from topiary.app.views.runs.new_run_form import describe_setting, format_value
from topiary.app.views.text import escape, format_percent, write_title
from topiary.engine.hierarchy.tree import Node

SWEEPS_BEGIN = "sweeps begin"  # kind of the event at which a run changes from mini-batches to sweeps over all documents
CHANGE_OVER = 5  # number of evaluations over which the change of the perplexity is measured


class RunHealth(NamedTuple):
    """The facts that the row of figures shows in addition to those in `RunFacts`.

    Attributes
    ----------
    state : str
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


def draw_kpis(run: RunFacts, about: RunHealth) -> str:
    """Return the row of figures: perplexity, progress, pace, time left, structure and heartbeat."""
    seconds_left = estimate_seconds_left(run.minibatch, run.planned, run.seconds)
    step = name_step(run)
    pace = f"{run.seconds / run.minibatch:.2g} s each" if run.minibatch else "not started"
    cells = [
        (
            step.capitalize(),
            f"{run.minibatch:,}<small> / {run.planned:,}</small>",
            pace,
            f"{STEPS[step].capitalize()} done and planned.",
        ),
        (
            "Tokens per second",
            format_rate(run.tokens_per_second),
            describe_card(run.process) or "while training",
            f"Tokens of the {STEPS[step]} read per second of training.",
        ),
        _draw_time_left(run, about.state, seconds_left),
        _draw_structure(run),
        _draw_heartbeat(run, about.state),
    ]
    inside = _draw_estimate(run, about) + "".join(map(_draw_kpi, cells))
    return f'<h1 class="tp-unseen">Watch</h1><div class="tp-kpis">{inside}</div>'


def describe_card(process: Mapping[str, Any]) -> str:
    """Return the graphics processor of a run or of a worker, and its memory in use; empty without one."""
    match process.get("card"):
        case {"name": str(name), "memory": int(memory), "used": int(used)}:
            return f"{escape(name)}, {format_size(used)} of {format_size(memory)} in use"
    return ""


def draw_continuation(run: RunFacts, about: RunHealth) -> str:
    """Return the button that trains a finished run further if its curve was still falling at the end, else nothing."""
    if about.state != "finished" or about.trend != STILL_FALLING:
        return ""
    steps = STEPS[name_step(run)]
    button = write_element(
        "button",
        f"Train {MORE_STEPS} more",
        class_="tp-button tp-strong",
        data_do="train-more",
        data_run=run.number,
        title=f"A new run that continues the topics of this one with {MORE_STEPS} more {steps}",
    )
    return f'<p class="tp-unfinished">Finished, still improving: {button}</p>'


def draw_card_head(title: str, rest: str, tip: str = "") -> str:
    """Return the first line of a card; ``tip`` is shown on hover over its title."""
    return (
        f'<div class="tp-card-head">{write_element("h3", escape(title), class_="tp-h", title=tip or None)}{rest}</div>'
    )


def draw_legend(entries: Iterable[tuple[str, str, Any]]) -> str:
    """Return a legend: names, each with a stroke in its colour and dash."""
    return (
        '<div class="tp-legend">'
        + "".join(f"<span>{draw_stroke(colour, dash)}{escape(name)}</span>" for name, colour, dash in entries)
        + "</div>"
    )


def draw_stroke(colour: str, dash: Any) -> str:
    """Return a short line in the colour and dash of a curve, as SVG."""
    patterns = {"solid": "", "dashed": "6 4", "dotted": "2 4", "dotdash": "2 4 6 4", "dashdot": "6 4 2 4"}
    pattern = patterns.get(dash, "") if isinstance(dash, str) else " ".join(map(str, dash))
    return (
        '<svg class="tp-stroke" viewBox="0 0 26 8" aria-hidden="true"><line x1="1" y1="4" x2="25" y2="4" '
        f'stroke="{colour}" stroke-width="2.6"{write_attributes(stroke_dasharray=pattern or None)}/></svg>'
    )


def draw_overlay_choice(
    run: RunFacts, others: Sequence[RunFacts], chosen: Sequence[int], strokes: Sequence[tuple[str, Any]]
) -> str:
    """Return the runs whose curves are shown, each with its stroke, and a list to add another one.

    ``strokes[0]`` is the stroke of the run itself; the others follow in the order of ``chosen``.
    """
    by_number = {other.number: other for other in others}
    own_name = write_element(
        "span", f"{draw_stroke(*strokes[0])}{_draw_clipped_name(run)}", class_="tp-over tp-own", title=name_run(run)
    )
    buttons = "".join(
        write_element(
            "button",
            f"{draw_stroke(*strokes[index])}{_draw_clipped_name(by_number[number])}{draw_icon('close')}",
            class_="tp-over",
            data_do="overlay",
            data_run=number,
            data_key=number,
            title="Take this curve away",
        )
        for index, number in enumerate(chosen, 1)
        if number in by_number and index < len(strokes)
    )
    rest = list_run_entries(other for other in others if other.number not in chosen)
    options = draw_options([("", "Compare with …"), *rest], "")
    label = "Compare with another run"
    add_list = f'<select class="tp-over" aria-label="{label}" data-change="overlay" data-again>{options}</select>'
    return f'<div class="tp-overs">{own_name}{buttons}{add_list if rest else ""}</div>'


def draw_choices(name: str, entries: Iterable[tuple[str, str]], chosen: str, label: str) -> str:
    """Return a row of buttons, each sending ``{do: name, value: ...}``; that of the ``chosen`` value is pressed."""
    buttons = "".join(
        write_element("button", escape(word), data_do=name, data_value=value, aria_pressed=str(value == chosen).lower())
        for value, word in entries
    )
    return f'<div class="tp-choices" role="group" aria-label="{escape(label)}">{buttons}</div>'


class EventFacts(Protocol):
    """The facts about an event that the page shows, as in a row of the store."""

    @property
    def minibatch(self) -> int: ...  # noqa: D102
    @property
    def kind(self) -> str: ...  # noqa: D102
    @property
    def change(self) -> WidthChange | None: ...  # noqa: D102


def summarise_changes(events: Iterable[EventFacts]) -> list[tuple[int, str]]:
    """Return the changes of the structure as (mini-batch, sentence), without the lists of topics."""
    changes: dict[int, list[str]] = {}
    for event in events:
        if event.change is not None:
            changes.setdefault(event.minibatch, []).append(describe_change(event.change))
    return [(minibatch, "; ".join(parts)) for minibatch, parts in sorted(changes.items())]


def find_phases(events: Iterable[EventFacts]) -> list[int]:
    """Return the steps at which a run changes from mini-batches to sweeps over all documents."""
    return [event.minibatch for event in events if event.kind == SWEEPS_BEGIN]


_SEED = "The same seed and settings give the same topics again"
_LEARNT = "The concentrations of the last reported step; eta_1 is that of layer 1"
_ATTEMPT = "How often a worker has started or resumed the run"


def draw_details(
    run: RunFacts, happened: Iterable[tuple[str, str, str]], learnt: Mapping[str, float] | None = None
) -> str:
    """Return the settings of a run, the concentrations it has ``learnt``, and its events: (when, kind, text)."""
    rows = [("Corpus", "", run.corpus_name), ("Model", "", name_model(run.model)), ("Layers", "", _draw_layers(run))]
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
    table = "".join(
        f"<div><dt{write_attributes(title=tip or None)}>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
        for name, tip, value in rows
    )
    lines = "".join(
        f"<li><time>{escape(when)}</time><b>{escape(kind)}</b>"
        f"<span>{escape(text.removeprefix(f'{kind}: '))}</span></li>"
        for when, kind, text in happened
    )
    trace = (
        f"<details><summary>Where it failed</summary><pre>{escape(run.traceback)}</pre></details>"
        if run.traceback
        else ""
    )
    events = f'<ol class="tp-events">{lines}</ol>' if lines else '<p class="tp-dim">Nothing yet.</p>'
    return (
        f'<div class="tp-about"><section><h3>What happened</h3>{events}{trace}</section>'
        f'<section><h3>Settings</h3><dl class="tp-facts">{table}</dl></section></div>'
    )


def _draw_layers(run: RunFacts) -> str:
    widths = "-".join(map(str, run.layers))
    return f"{widths}, learnt from a budget of {run.settings['layers'][0]}" if run.settings.get("grow") else widths


def _draw_clipped_name(run: RunFacts) -> str:
    return f'<span class="tp-clip">{run.number} · {escape(name_run(run))}</span>'


def _draw_kpi(cell: tuple[str, str, str, str], fold: str = "") -> str:
    """Return a cell from its name, value, note and tip; ``fold`` is HTML below the note."""
    name, value, note, tip = cell
    inner = f'<span class="tp-kpi-name">{name}</span><b>{value}</b><span class="tp-dim">{note}</span>{fold}'
    return write_element("div", inner, class_="tp-kpi", title=tip)


def _describe_change(facts: RunHealth, steps: str, *, measured: bool) -> str:
    if facts.change is None:
        missing = "first one is on its way" if facts.state == "running" else "not measured"
        return "" if measured else missing
    sign, kind = ("▼", "tp-good") if facts.change < 0 else ("▲", "tp-warn") if facts.change > 0 else ("=", "")
    change = f'<span class="{kind}">{sign} {format_perplexity(abs(facts.change))}</span> in {facts.over:,} {steps}'
    return "<br>".join(filter(None, (facts.trend, change)))


def _draw_estimate(run: RunFacts, health: RunHealth) -> str:
    """Return the cell of the main estimate, a dash if there is none yet; a fold explains it and has the others."""
    estimates = list_estimates(run, health.latest)
    change = _describe_change(health, STEPS[name_step(run)], measured=bool(estimates))
    if not estimates:
        protocol = f"{describe_estimate(run, POINT)}."
        return _draw_kpi((find_estimate_name(run, POINT).capitalize(), "–", change, protocol))
    best, *others = estimates
    lines = [
        f"{best.protocol}.",
        *(f"{other.name.capitalize()}: {other.figure}. {other.protocol}." for other in others),
    ]
    if best.kind != POINT and health.change is not None:
        lines.append(f"The change is that of the {find_estimate_name(run, POINT)}.")
    inside = "".join(write_element("p", escape(line)) for line in lines)
    fold = f'<details class="tp-kpi-more" data-key="estimates"><summary>How it is measured</summary>{inside}</details>'
    return _draw_kpi((best.name.capitalize(), best.figure, change, f"{best.protocol}."), fold)


def _draw_structure(run: RunFacts) -> tuple[str, str, str, str]:
    """Return the cell of the current widths, with a note if they were learnt or the run is a fork."""
    note = describe_lineage(run.parent, run.parent_minibatch)
    if run.settings.get("grow"):
        note = f"learnt from a budget of {run.settings['layers'][0]}" + (f"; {note}" if note else "")
    widths = f'<span class="tp-kpi-widths">{"-".join(map(str, run.layers))}</span>'
    return ("Topics per layer", widths, note or "from the words up", (note or "As requested").capitalize() + ".")


def _draw_time_left(run: RunFacts, state: str, seconds_left: float | None) -> tuple[str, str, str, str]:
    tip = "Training time, without evaluation and pauses."
    if state == "running" and seconds_left is not None:
        return ("Time left", format_span(seconds_left), f"{format_span(run.seconds)} so far", tip)
    return ("Training time", format_span(run.seconds), name_state(state), tip)


_REPEATED = re.compile(  # the parts of a message that repeat figures of other cells
    rf"({'|'.join(sorted(KINDS, key=len, reverse=True))}) -?[\d,.]+ \([^)]*\)"
    rf"([,;] ((validation )?{ESTIMATE_NAMES[POINT]} )?(still falling|no longer improving since step [\d,]+))?([;,] )?"
)


def _draw_heartbeat(run: RunFacts, state: str) -> tuple[str, str, str, str]:
    message = run.message or name_state(state)
    if state in ("running", "silent"):
        return ("Heartbeat", format_age(run.heartbeat_age), escape(message), "When the worker last wrote to the store.")
    when = run.ended or run.created
    name = "Waiting since" if state == "queued" else name_state(state).capitalize()
    note = message.removeprefix("finished: ").removeprefix("finished; ")  # the cell is called "Finished"
    note = _REPEATED.sub("", note) or "as planned"
    return (name, f"{when.astimezone():%d %b %H:%M}", escape(note), f"{message}. By the clock of the database.")


HEADS = ("Worker", "Tokens per second", "Memory", "Documents", '<span class="tp-unseen">Lost</span>')
CARD_HEAD = "Graphics processor"  # of a column between memory and documents, if a worker has one
MOST_SHOWN = 100  # workers in the table; the number of others is below it


def draw_workers(process: Mapping[str, Any], state: str) -> str:
    """Return the table of workers, from the stored facts about the process; empty for a run without workers."""
    facts = read_cluster(process)
    if not facts.workers:
        return ""
    lost_first = sorted(facts.workers, key=lambda worker: worker.lost is None)
    has_cards = any(worker.card is not None for worker in facts.workers)
    shown_heads = (*HEADS[:3], CARD_HEAD, *HEADS[3:]) if has_cards else HEADS
    heads = "".join(write_element("th", head, scope="col") for head in shown_heads)
    rows = "".join(_draw_worker(worker, has_cards=has_cards) for worker in lost_first[:MOST_SHOWN])
    table = write_element(
        "table", f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody>", aria_labelledby="tp-workers"
    )
    hidden = len(facts.workers) - MOST_SHOWN
    inside = (
        '<h3 id="tp-workers">Workers</h3>',
        _draw_dashboard_link(facts, state),
        write_element("div", table, class_="tp-report-scroll", tabindex=0, role="region", aria_labelledby="tp-workers"),
        f'<p class="tp-dim">and {hidden:,} more</p>' if hidden > 0 else "",
    )
    return f'<div class="tp-about tp-alone"><section class="tp-report">{"".join(inside)}</section></div>'


def _draw_dashboard_link(facts: ClusterFacts, state: str) -> str:
    """Return a sentence that explains the table, and a link to Dask's dashboard while it is available."""
    sentence = "Speed is that of sweeping documents; each worker has these documents and their local variables."
    is_available = state == "running" and facts.dashboard.startswith(("http://", "https://"))
    attributes = {"href": facts.dashboard, "target": "_blank", "rel": "noopener noreferrer"}
    link = f" {write_element('a', 'Dask’s dashboard', **attributes)} shows what they are doing." if is_available else ""
    return f'<p class="tp-dim">{sentence}{link}</p>'


def _draw_worker(worker: WorkerFacts, *, has_cards: bool) -> str:
    cells = (
        write_element("th", _name_worker(worker), scope="row"),
        write_element("td", format_rate(worker.tokens_per_second)),
        write_element("td", _format_memory(worker)),
        write_element("td", describe_card({"card": worker.card})) if has_cards else "",
        write_element("td", f"{worker.documents:,}"),
        write_element("td", _describe_worker(worker)),
    )
    return write_element("tr", "".join(cells), class_="tp-dim" if worker.lost is not None else None)


def _name_worker(worker: WorkerFacts) -> str:
    """Return the address of a worker, preceded by its name if that differs."""
    address = escape(worker.address)
    return address if worker.name in ("", worker.address) else f"{escape(worker.name)} <small>{address}</small>"


def _format_memory(worker: WorkerFacts) -> str:
    limit = f" of {format_size(worker.limit)}" if worker.limit else ""
    return f"{format_size(worker.memory)}{limit}"


def _describe_worker(worker: WorkerFacts) -> str:
    if worker.lost is None:
        return ""
    return f'<b class="tp-warn">lost</b> {datetime.fromtimestamp(worker.lost, UTC).astimezone():%d %b %H:%M:%S}'


CARDS = 8  # topics in the preview
WORDS = 10  # words on the card of a topic


_NUMBER_TIP = "The number of the topic in the whole run, and its share of the layer's tokens; the largest first"


def draw_preview(hierarchy: Hierarchy, layer: int) -> str:
    """Return cards of the most popular topics of a layer, without background topics, as links to the explorer."""
    nodes, hidden = _choose_topics(hierarchy, layer)
    peak = max((hierarchy.share(node) for node in nodes), default=0.0) or 1.0
    cards = []
    tip = write_title(_NUMBER_TIP, hierarchy)
    for node in nodes:
        share = hierarchy.share(node)
        cards.append(
            write_element(
                "button",
                f'<span class="tp-topic-head"{tip}><i class="tp-rank">{format_identity(node)}</i>'
                f'<span class="tp-topic-bar">'
                f'<i style="width:{100 * share / peak:.1f}%"></i></span><em>{format_percent(share)}</em></span>'
                f"{_draw_topic_content(hierarchy, node)}",
                class_="tp-topic",
                data_do="topic",
                data_layer=layer,
                data_topic=node.column + 1,
                data_key=format_identity(node),
            )
        )
    note = _describe_hidden(hidden)
    return f'<div class="tp-topics" data-rove style="{declare_hue(layer)}">{"".join(cards)}</div>{note}'


def _choose_topics(hierarchy: Hierarchy, layer: int) -> tuple[list[Node], int]:
    """Return the topics of the preview, and how many background topics are left out; if all are, none is left out."""
    topics = hierarchy.nodes(layer)
    chosen = [node for node in topics if hierarchy.role(node) != BACKGROUND] or list(topics)
    return chosen[:CARDS], len(topics) - len(chosen)


def _describe_hidden(count: int) -> str:
    """Return a line about the background topics that are left out; empty if there is none."""
    if not count:
        return ""
    sentence = (
        "1 background topic is not shown: its words are spread over all documents."
        if count == 1
        else f"{count} background topics are not shown: their words are spread over all documents."
    )
    return f'<p class="tp-dim">{sentence}</p>'


def _draw_topic_content(hierarchy: Hierarchy, node: Node) -> str:
    """Return the picture of a topic, or its words if topics are not pictures."""
    if has_pictures(hierarchy):
        alt = f"picture of topic {format_identity(node)}"
        name = f'<b class="tp-topic-name">{escape(hierarchy.name(node))}</b>' if hierarchy.name(node) else ""
        return f'{name}<img class="tp-topic-picture" src="{draw_atom_uri(hierarchy, node)}" alt="{alt}">'
    lead, rest = hierarchy.title(node), " ".join(hierarchy.other_words(node, WORDS - 3))
    return f'<span class="tp-topic-words"><strong>{escape(lead)}</strong> {escape(rest)}</span>'


def describe_snapshot(hierarchy: Hierarchy, step: str, *, pinned: bool) -> str:
    """Return in words which snapshot is shown; ``step`` is the name of a step of its run."""
    return f"{'pinned at' if pinned else 'latest ·'} {step} {format_number(hierarchy.minibatch)}"


def draw_waiting(sentence: str, *, coming: bool = True) -> str:
    """Return a sentence about what the page is waiting for, and empty cards if topics are coming."""
    cards = '<span class="tp-topic tp-placeholder"></span>' * 4
    placeholders = f'<div class="tp-topics" aria-hidden="true">{cards}</div>' if coming else ""
    return f'<p class="tp-wait" role="status">{escape(sentence)}</p>{placeholders}'
