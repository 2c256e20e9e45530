"""The curves of the pages Watch and Compare: figures made once per session, to whose sources points are added."""

from collections.abc import Callable, Iterable
from functools import partial
from html import escape
from typing import Any, ClassVar, TypeAlias

import numpy as np
import panel as pn
from panel.viewable import Viewable

from topiary.app.jobs.estimates import ESTIMATE_NAMES, POINT, find_burn_in, find_estimate_name
from topiary.app.jobs.plan import describe_protocol, find_part
from topiary.app.live.cache import History, PointColumns
from topiary.app.names import COMING, STEPS, name_step
from topiary.app.pages.components import Board
from topiary.app.pages.messages import MessagePart, on
from topiary.app.pages.session import Context
from topiary.app.views.markup import name_run
from topiary.app.views.runs import curves, kpis
from topiary.app.views.theme import CARD, DASHES, SERIES
from topiary.store.events import RunEvent
from topiary.store.run_rows import RunRow

LEFT_OF_WORDS = 0.7  # share of the x-axis; a line further right has no space for words next to it
LEAST_SHADED = 3  # points of a curve whose burn-in is shaded
TALL_STYLE = {"height": "auto", "max-height": "none"}  # lets a layout of Bokeh be taller than the window
Beginning: TypeAlias = tuple[float, float, float]  # steps, documents and seconds before the first point of a curve
FIRST: Beginning = (0.0, 0.0, 0.0)
_HOW_MANY = "The curve has as many points as 5% of the work of training pays for, and at least about a dozen."
CARD_STYLE = {"flex": "1 1 460px", "min-width": "min(100%, 340px)", "align-self": "stretch", "height": "auto"}


class CurveStreams:
    """The link between histories of runs and figures: fetches missing histories and sends figures their new points.

    Parameters
    ----------
    stream, retry : () -> None
        Called after a history has been read, to update the figures, and after reading one has failed.
    """

    def __init__(self, context: Context, stream: Callable[[], None], retry: Callable[[], None]) -> None:
        self._context = context
        self._stream = stream
        self._retry = retry
        self._pending: set[int] = set()  # runs whose history is being fetched
        # epoch, number of points and beginning of what is in each source
        self._sent: dict[tuple[Any, ...], tuple[int, int, Beginning]] = {}

    def fetch(self, runs: Iterable[int]) -> None:
        """Fetch the histories of runs that are not in memory."""
        feed = self._context.feed
        for number in runs:
            if feed.get_cached_history(number) is None and feed.run(number) is not None and number not in self._pending:
                self._pending.add(number)
                receive, fail = partial(self._receive, number), partial(self._fail, number)
                self._context.later(partial(feed.history, number), receive, fail)

    def _receive(self, number: int, _: History | None) -> None:
        self._pending.discard(number)
        self._stream()

    def _fail(self, number: int) -> None:
        self._pending.discard(number)
        self._retry()

    def update(
        self,
        key: tuple[Any, ...],
        source: Any,
        history: History | None,
        name: str,
        layer: int = 0,
        beginning: Beginning = FIRST,
    ) -> None:
        """Add the points that a source lacks, or replace its data if they belong to another history or are too many.

        ``beginning`` is added to the steps, documents and seconds of the points.
        """
        epoch, n_sent, begins = self._sent.get(key, (0, 0, FIRST))
        if history is None:
            if epoch:
                source.data = {column: [] for column in source.data}
                self._sent[key] = (0, 0, FIRST)
            return
        length = history.length(name, layer)
        is_same = (epoch, begins) == (history.epoch, beginning)
        if is_same and length == n_sent:
            return
        replaces = not is_same or len(source.data["value"]) > curves.MOST_STREAMED
        columns = _move_points(history.after(name, layer, 0 if replaces else n_sent), beginning)
        band = _read_band(history, layer, columns, 0 if replaces else n_sent) if name == "step_size_mean" else {}
        if replaces:
            indices = curves.thin_points(columns.value)
            source.data = columns.take(indices)._asdict() | {column: values[indices] for column, values in band.items()}
        elif len(columns.value):
            source.stream(columns._asdict() | band)
        self._sent[key] = (history.epoch, (0 if replaces else n_sent) + len(columns.value), beginning)


def _move_points(columns: PointColumns, beginning: Beginning) -> PointColumns:
    """Return points with a beginning added to their places on every x-axis."""
    if beginning == FIRST:
        return columns
    minibatches, documents, seconds, values = columns
    return PointColumns(minibatches + beginning[0], documents + beginning[1], seconds + beginning[2], values)


class WatchCurves(MessagePart):
    """The charts of a run: point perplexity, also of runs chosen to compare; step sizes, speed and rarer measures.

    Parameters
    ----------
    arrived : callable
        Called when the points of a run have been read.
    """

    fields: ClassVar = {"axis": "axis"}

    def __init__(self, context: Context, arrived: Callable[[], None]) -> None:
        super().__init__(context)
        self._arrived = arrived
        self._head = Board(on_message=self.handle)
        self._step_head = Board()
        axis, dark = context.view.axis, context.dark
        self._perplexity = curves.make_perplexity_chart(axis, dark=dark)
        self._steps = curves.make_step_chart(axis, dark=dark)
        shared = self._steps.figure.x_range
        self._rate = curves.make_rate_chart(axis, shared, dark=dark)
        self._rare: dict[str, _CurveCard] = {}  # added when first needed, because most runs have no such measure
        self._streams = CurveStreams(context, self._receive, self._receive)
        self._runs: tuple[int, ...] = ()
        self._step = "step"
        self._layers = -1
        self._changes: tuple[tuple[int, str], ...] = ()
        self._phases: tuple[int, ...] = ()
        self._cursor: int | None = None
        self._cards = (
            _CurveCard(self._head, self._perplexity),
            _CurveCard(self._step_head, self._steps),
            _CurveCard(_make_title("Tokens per second"), self._rate),
        )
        self._cards[0].add_figure()  # the browser lays out one sooner than three; the others are added later
        self.page = pn.Row(
            *(card.page for card in self._cards),
            styles=TALL_STYLE | {"flex-wrap": "wrap", "gap": "18px", "align-items": "stretch"},
            sizing_mode="stretch_width",
            margin=0,
        )  # not a FlexBox: figures added to one later would not get the page's theme
        self.choose()
        context.soon(self._add_others)

    def _add_others(self) -> None:
        for card in self._cards[1:]:
            card.add_figure()

    def choose(self) -> None:
        """Show the chosen runs over the chosen axis; fetch histories that are not in memory."""
        view, feed = self._context.view, self._context.feed
        if self._runs[:1] != (view.run,):
            self._changes, self._phases = (), ()
        numbers = (view.run, *(number for number in view.overlay if number != view.run))[: curves.SLOTS]
        rows = [row for number in numbers if (row := feed.run(number)) is not None]
        self._runs = tuple(row.number for row in rows)
        self._step, own_step = name_step(*rows), name_step(*rows[:1])
        self._perplexity.use_axis(view.axis, self._step)
        for chart in (self._steps, self._rate, *(card.chart for card in self._rare.values())):
            chart.use_axis(view.axis, own_step)
        self.draw_head()
        self.stream()

    def _receive(self) -> None:
        self.stream()
        self._arrived()

    def draw_head(self) -> None:
        """Draw the title, the choice of the x-axis, the runs on the chart and those that can be added."""
        view, feed = self._context.view, self._context.feed
        run = feed.run(view.run)
        if run is None:
            return
        others = [row for row in feed.runs() if row.number != run.number]
        overlay = [number for number in self._runs if number != run.number]
        line_styles = list(zip(SERIES, DASHES, strict=True))
        axis = kpis.draw_choices("axis", _list_axes(self._step), view.axis, "x-axis")
        chooser = kpis.draw_overlay_choice(run, others, overlay, line_styles) if others else ""
        note = (
            f'<p class="tp-dim tp-note">{escape(describe_protocol(run))}. {_HOW_MANY}</p>'
            if run.point_perplexity is not None
            else ""
        )
        title = find_estimate_name(run, POINT).capitalize()
        self._head.html = kpis.draw_card_head(title, axis) + chooser + note
        self._draw_waiting()

    def _draw_waiting(self) -> None:
        """Show a sentence in place of every chart that has no curve yet."""
        number = self._runs[0] if self._runs else 0
        if self._context.feed.get_cached_history(number) is None:
            sentence = "Reading the points of this run …"
        elif self._context.feed.state(number) in COMING:
            sentence = "The curve begins with the second evaluation."
        else:
            sentence = "This run has too few points for a curve."
        for card in (*self._cards, *self._rare.values()):
            card.wait(sentence)
        has_steps = self._cards[1].page.visible = self._may_have_step_sizes()
        self._rate.figure.height = curves.LOW if has_steps else curves.TALL  # next to the perplexity without step sizes

    def _may_have_step_sizes(self) -> bool:
        """Return whether the run has step sizes, or may still get some: sweeps over all documents have none."""
        run, history = self._get_run(), self._get_history()
        if history is not None and history.layers("step_size_mean"):
            return True
        has_begun = history is not None and history.length("active_topics", 1) > 1
        return run is not None and name_step(run) != "sweep" and not has_begun

    def _show_rare(self, name: str, history: History | None) -> None:
        """Show the card of a measure if the run has it, creating it at first; otherwise hide it."""
        is_measured = history is not None and history.length(name, 0) > 0
        if is_measured and name not in self._rare:
            context = self._context
            chart = curves.make_rare_chart(name, context.view.axis, self._steps.figure.x_range, dark=context.dark)
            chart.use_axis(context.view.axis, name_step(*filter(None, [self._get_run()])))
            documents = f" on {find_part(run)} documents" if name == "label_error" and (run := self._get_run()) else ""
            self._rare[name] = _CurveCard(_make_title(curves.RARE[name].title + documents), chart)
            self._rare[name].add_figure()
            self.page.append(self._rare[name].page)
        if name in self._rare:
            card = self._rare[name]
            card.page.visible = is_measured
            self._streams.update((name,), card.chart.sources[0], history, name)

    def report_changes(self, happened: Iterable[RunEvent]) -> None:
        """Mark changes of the run's structure by vertical lines on the curves."""
        events = list(happened)
        self._changes, self._phases = tuple(kpis.summarise_changes(events)), tuple(kpis.find_phases(events))
        self._mark_changes()

    def place_cursor(self, minibatch: int | None) -> None:
        """Draw a vertical line at a mini-batch on all curves; None removes it."""
        self._cursor = minibatch
        history = self._get_history()
        rates = history.after("tokens_per_second") if history else None
        marks = (
            curves.locate_changes([(minibatch, "")], rates.minibatches, rates.documents, rates.seconds)
            if rates and minibatch is not None
            else []
        )
        for card in (*self._cards, *self._rare.values()):
            card.chart.place_cursor(marks[0] if marks else None)

    def _mark_changes(self) -> None:
        history = self._get_history()
        rates = history.after("tokens_per_second") if history else None
        for chart, words in ((self._perplexity, _SWEEPS_NOTE), (self._steps, _NO_STEPS_NOTE)):
            changes = [*self._changes, *((phase, words) for phase in self._phases)]
            marks = curves.locate_changes(changes, rates.minibatches, rates.documents, rates.seconds) if rates else []
            curves.mark_changes(chart, [self._label_mark(mark, rates, words) for mark in marks] if rates else [])

    def _label_mark(self, mark: curves.RunMark, columns: PointColumns, words: str) -> curves.RunMark:
        """Return the mark with its words next to it if they are ``words`` and the line is not too far right."""
        axis = self._context.view.axis
        position, end = getattr(mark, axis), getattr(columns, axis)[-1]
        return (
            mark._replace(label=_break_lines(words))
            if mark.words == words and position <= LEFT_OF_WORDS * end
            else mark
        )

    def _shade_burn_in(self, history: History | None) -> None:
        """Shade the burn-in of the run: from its start to the first point near the lowest so far."""
        points = history.after("point_perplexity") if history else None
        end = find_burn_in(points.curve()) if points and len(points.value) >= LEAST_SHADED else None
        if points is None or end is None or end == points.minibatches[0]:
            curves.shade_burn_in(self._perplexity, None)
            return
        marks = curves.locate_changes([(end, "")], points.minibatches, points.documents, points.seconds)
        curves.shade_burn_in(self._perplexity, marks[0])

    def stream(self) -> None:
        """Update every figure from the histories in memory."""
        feed = self._context.feed
        self._streams.fetch(self._runs)
        self._perplexity.grow(len(self._runs))
        for place in range(len(self._perplexity.sources)):
            history = feed.get_cached_history(self._runs[place]) if place < len(self._runs) else None
            self._streams.update(("perplexity", place), self._perplexity.sources[place], history, "point_perplexity")
        history = self._get_history()
        self._streams.update(("rate",), self._rate.sources[0], history, "tokens_per_second")
        for name in curves.RARE:
            self._show_rare(name, history)
        self._stream_steps(history)
        self._mark_changes()
        self.place_cursor(self._cursor)
        self._shade_burn_in(history)
        self._set_label()
        self._draw_waiting()

    def _stream_steps(self, history: History | None) -> None:
        layers = history.layers("step_size_mean") if history else []
        run = self._get_run()
        n_layers = (
            max(len(run.layers), len(run.settings.get("layers", ()))) if run else 0
        )  # further layers may be added later
        if n_layers != self._layers:
            self._layers = n_layers
            entries = curves.dress_layers(self._steps, n_layers)
            self._step_head.html = (
                kpis.draw_card_head("Layer-adaptive step sizes", kpis.draw_legend(entries)) + _STEP_NOTE
            )
        for place, source in enumerate(self._steps.sources):
            layer = place + 1
            self._streams.update(("step", place), source, history if layer in layers else None, "step_size_mean", layer)

    def _set_label(self) -> None:
        run = self._get_run()
        if run is not None and self._perplexity.figure.yaxis[0].axis_label != find_estimate_name(run, POINT):
            self._perplexity.figure.yaxis[0].axis_label = find_estimate_name(run, POINT)

    def _get_run(self) -> RunRow | None:
        return self._context.feed.run(self._runs[0]) if self._runs else None

    def _get_history(self) -> History | None:
        return self._context.feed.get_cached_history(self._runs[0]) if self._runs else None

    @on("overlay")
    def _add_run(self, value: int) -> None:
        if len(self._view.overlay) >= curves.SLOTS - 1:
            self._context.notify(f"At most {curves.SLOTS - 1} other runs fit into the picture.", "info")
        elif value not in self._view.overlay:
            self._put(overlay=(*self._view.overlay, value))

    @on("overlay")
    def _remove_run(self, run: int) -> None:
        self._put(overlay=tuple(other for other in self._view.overlay if other != run))


_SWEEPS_NOTE = "from here on sweeps over all documents"
_NO_STEPS_NOTE = f"{_SWEEPS_NOTE}: no step sizes"


def _list_axes(step: str) -> tuple[tuple[str, str], ...]:
    """Return the choices of the x-axis for runs whose steps have this name."""
    return (("minibatches", STEPS[step].capitalize()), ("documents", "Documents seen"), ("seconds", "Seconds"))


def _break_lines(words: str) -> str:
    """Break words into short lines that fit next to a vertical line."""
    return words.replace("sweeps over", "sweeps\nover").replace(": ", ":\n")


_STEP_NOTE = (
    '<p class="tp-dim tp-note">The line is the mean over the topics of a layer, the band their spread; '
    "every topic has its own step.</p>"
)


def _read_band(history: History, layer: int, columns: PointColumns, shown: int) -> dict[str, Any]:
    """Return the spread over topics around the mean step size, with NaN where it is missing."""
    band = {}
    for bound in curves.BAND:
        value = history.after(f"step_size_{bound}", layer, shown).value[: len(columns.value)]
        band[bound] = np.pad(value, (0, len(columns.value) - len(value)), constant_values=np.nan)
    return band


def _make_title(text: str) -> Board:
    return Board(f'<h3 class="tp-h">{text}</h3>')


class _CurveCard:
    """A card with a head and a chart; a sentence takes the place of the chart until it has a curve."""

    def __init__(self, head: Viewable, chart: curves.Chart) -> None:
        self.chart = chart
        self._notice = Board()
        self.page = pn.Column(
            head, self._notice, css_classes=["tp-card"], stylesheets=[CARD], styles=CARD_STYLE, margin=0
        )

    def add_figure(self) -> None:
        """Put the chart into the card."""
        self.page.append(pn.pane.Bokeh(self.chart.figure, sizing_mode="stretch_width", margin=0))

    def wait(self, sentence: str) -> None:
        """Show the chart if it has a curve, otherwise the sentence."""
        has_curve = self.chart.figure.visible = self.chart.has_curve
        attributes = f'class="tp-no-curve" role="status" style="min-height:{self.chart.figure.height}px"'
        self._notice.html = "" if has_curve else f"<p {attributes}>{sentence}</p>"


class CompareCurves(MessagePart):
    """The chart of the page Compare: the point perplexity of two runs in one figure."""

    fields: ClassVar = {"axis": "axis"}

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._head = Board(on_message=self.handle)
        self._chart = curves.make_perplexity_chart(context.view.axis, dark=context.dark)
        self._runs: tuple[int, ...] = ()
        self._streams = CurveStreams(context, self._stream, lambda: self._streams.fetch(self._runs))
        self.page = pn.Column(
            self._head,
            pn.pane.Bokeh(self._chart.figure, sizing_mode="stretch_width", margin=0),
            css_classes=["tp-card"],
            stylesheets=[CARD],
            sizing_mode="stretch_width",
            margin=0,
        )

    def choose(self, run_a: int, run_b: int) -> None:
        """Show two runs; fetch histories that are not in memory."""
        feed = self._context.feed
        self._runs = tuple(number for number in (run_a, run_b) if feed.run(number) is not None)
        self._chart.use_axis(self._context.view.axis, self._name_step())
        self._chart.grow(max(1, len(self._runs)))
        self._stream()
        self._streams.fetch(self._runs)

    def _stream(self) -> None:
        """Update both curves from the histories in memory."""
        for place, source in enumerate(self._chart.sources):
            number = self._runs[place] if place < len(self._runs) else 0
            history = self._context.feed.get_cached_history(number) if number else None
            self._streams.update((place,), source, history, "point_perplexity", beginning=self._find_beginning(number))
        self._chart.show_single_points()
        self._draw_head()

    def _find_beginning(self, number: int) -> Beginning:
        """Return where the curve of a run begins: that of a fork of the other run at the step of its snapshot."""
        row = self._context.feed.run(number)
        if row is None or row.parent not in self._runs or not row.parent_minibatch:
            return FIRST
        history = self._context.feed.get_cached_history(row.parent)
        points = history.after("point_perplexity") if history is not None else None
        if points is None or not len(points.value):
            return (float(row.parent_minibatch), 0.0, 0.0)
        documents, seconds = (
            float(np.interp(row.parent_minibatch, points.minibatches, column))
            for column in (points.documents, points.seconds)
        )
        return float(row.parent_minibatch), documents, seconds

    def _draw_head(self) -> None:
        rows = [row for number in self._runs if (row := self._context.feed.run(number)) is not None]
        line_styles = zip(("A · ", "B · ") if len(rows) == 2 else ("",), rows, SERIES, DASHES, strict=False)
        entries = [
            (f"{tag}{row.number} · {name_run(row)}{self._note_fork(row)}{self._note_missing(row.number)}", colour, dash)
            for tag, row, colour, dash in line_styles
        ]
        axis = kpis.draw_choices("axis", _list_axes(self._name_step()), self._context.view.axis, "x-axis")
        protocols = dict.fromkeys(describe_protocol(row) for row in rows)
        tip = (
            "; ".join(f"run {row.number}: {describe_protocol(row)}" for row in rows)
            if len(protocols) > 1
            else next(iter(protocols), "")
        )
        titles = {find_estimate_name(row, POINT) for row in rows}
        title = titles.pop() if len(titles) == 1 else ESTIMATE_NAMES[POINT]
        self._head.html = kpis.draw_card_head(title.capitalize(), axis, tip) + kpis.draw_legend(entries)

    def _name_step(self) -> str:
        return name_step(*(row for number in self._runs if (row := self._context.feed.run(number)) is not None))

    def _note_fork(self, row: RunRow) -> str:
        """Return a note for a fork of the other run, whose curve begins at the step of its snapshot."""
        if row.parent not in self._runs or not row.parent_minibatch:
            return ""
        return f", from {name_step(self._context.feed.run(row.parent))} {row.parent_minibatch:,} of run {row.parent}"

    def _note_missing(self, number: int) -> str:
        """Return a note for a run without points, else an empty text."""
        history = self._context.feed.get_cached_history(number)
        return ", no point yet" if history is not None and not history.length("point_perplexity") else ""
