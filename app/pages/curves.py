"""The curves of the pages Watch and Compare: figures made once per session, whose sources get new points."""

from collections.abc import Callable, Iterable
from functools import partial
from html import escape
from typing import Any

import numpy as np
import panel as pn
from panel.viewable import Viewable

from app.jobs.estimates import ESTIMATE_NAMES, POINT, find_burn_in, find_estimate_name
from app.jobs.plan import describe_protocol, find_part
from app.live.history import History, PointColumns
from app.pages.components import Board, Message
from app.pages.session import CHOICES, Context
from app.views.markup import name_run
from app.views.runs import curves, kpis
from app.views.theme import CARD, DASHES, SERIES
from store.events import RunEvent
from store.run_rows import RunRow

AXIS_WORDS = (("minibatches", "Mini-batches"), ("documents", "Documents seen"), ("seconds", "Seconds"))
LEFT_OF_WORDS = 0.7  # of the x-axis: a line further right has no space for words next to it
LEAST_SHADED = 3  # points of a curve that has a burn-in
TALL_STYLE = {"height": "auto", "max-height": "none"}  # Bokeh's layouts are at most as tall as the window
CARD_STYLE = {"flex": "1 1 460px", "min-width": "min(100%, 340px)", "align-self": "stretch", "height": "auto"}


class CurveStreams:
    """The histories of runs, fetched where they are not in memory, and the points that sources of figures hold of them.

    Parameters
    ----------
    context : Context
    stream, retry : () -> None
        Called when a history has come, to bring the sources up to date, and when one could not be read.
    """

    def __init__(self, context: Context, stream: Callable[[], None], retry: Callable[[], None]) -> None:
        self._context = context
        self._stream = stream
        self._retry = retry
        self._pending: set[int] = set()  # runs whose history is being fetched
        self._shown: dict[tuple[Any, ...], tuple[int, int]] = {}  # what a source holds: (epoch, points)

    def fetch(self, runs: Iterable[int]) -> None:
        """Fetch the histories of runs that are not, or no longer, in memory."""
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

    def update(self, key: tuple[Any, ...], source: Any, history: History | None, name: str, layer: int = 0) -> None:
        """Add the points that a source lacks, or replace its data when it holds another series or too many points."""
        epoch, shown = self._shown.get(key, (0, 0))
        if history is None:
            if epoch:
                source.data = {column: [] for column in source.data}
                self._shown[key] = (0, 0)
            return
        length = history.length(name, layer)
        if epoch == history.epoch and length == shown:
            return
        fresh = epoch != history.epoch or len(source.data["value"]) > curves.MOST_STREAMED
        part = history.after(name, layer, 0 if fresh else shown)
        extra = _read_band(history, layer, part, 0 if fresh else shown) if name == "step_size_mean" else {}
        if fresh:
            places = curves.thin_points(part.value)
            source.data = part.take(places)._asdict() | {column: values[places] for column, values in extra.items()}
        elif len(part.value):
            source.stream(part._asdict() | extra)
        self._shown[key] = (history.epoch, (0 if fresh else shown) + len(part.value))


class WatchCurves:
    """The charts of point perplexity of the chosen runs, and of step sizes, speed and rarer measures of the run itself.

    Parameters
    ----------
    context : Context
    arrived : callable
        Called when the points of a run have come.
    """

    def __init__(self, context: Context, arrived: Callable[[], None]) -> None:
        self._context = context
        self._arrived = arrived
        self._head = Board(on_message=self._on_head)
        self._step_head = Board()
        axis, dark = context.view.axis, context.dark
        self._perplexity = curves.make_perplexity_chart(axis, dark=dark)
        self._steps = curves.make_step_chart(axis, dark=dark)
        shared = self._steps.figure.x_range
        self._rate = curves.make_rate_chart(axis, shared, dark=dark)
        self._rare: dict[str, _CurveCard] = {}  # most runs have none of them
        self._streams = CurveStreams(context, self._receive, self._receive)
        self._runs: tuple[int, ...] = ()
        self._layers = -1
        self._heldout = 0
        self._changes: tuple[tuple[int, str], ...] = ()
        self._phases: tuple[int, ...] = ()
        self._cards = (
            _CurveCard(self._head, self._perplexity),
            _CurveCard(self._step_head, self._steps),
            _CurveCard(_make_title("Tokens per second"), self._rate),
        )
        self._cards[0].add_figure()  # the browser lays out one sooner than three; the others follow
        self.page = pn.Row(
            *(card.page for card in self._cards),
            styles=TALL_STYLE | {"flex-wrap": "wrap", "gap": "18px", "align-items": "stretch"},
            sizing_mode="stretch_width",
            margin=0,
        )  # no FlexBox: figures that are added to one later stay without the page's theme
        self.choose()
        context.soon(self._add_others)

    def _add_others(self) -> None:
        for card in self._cards[1:]:
            card.add_figure()

    def choose(self) -> None:
        """Show the chosen runs over the chosen axis; histories not in memory are fetched."""
        view, feed = self._context.view, self._context.feed
        for chart in (self._perplexity, self._steps, self._rate, *(card.chart for card in self._rare.values())):
            chart.use_axis(view.axis)
        if self._runs[:1] != (view.run,):
            self._changes, self._phases = (), ()
        numbers = (view.run, *(number for number in view.overlay if number != view.run))[: curves.SLOTS]
        self._runs = tuple(number for number in numbers if feed.run(number) is not None)
        self.draw_head()
        self.stream()

    def _receive(self) -> None:
        self.stream()
        self._arrived()

    def draw_head(self) -> None:
        """Draw the list of runs that are shown, and of those that can be added."""
        view, feed = self._context.view, self._context.feed
        run = feed.run(view.run)
        if run is None:
            return
        others = [row for row in feed.runs() if row.number != run.number]
        overlay = [number for number in self._runs if number != run.number]
        looks = list(zip(SERIES, DASHES, strict=True))
        axis = kpis.draw_choices("axis", AXIS_WORDS, view.axis, "x-axis")
        chooser = kpis.draw_overlay_choice(run, others, overlay, looks) if others else ""
        note = (
            f'<p class="tp-dim tp-note">{escape(describe_protocol(run))}.</p>'
            if run.point_perplexity is not None
            else ""
        )
        title = find_estimate_name(run, POINT).capitalize()
        self._head.html = kpis.draw_card_head(title, axis) + chooser + note
        self._draw_waiting()

    def _draw_waiting(self) -> None:
        """Show a sentence in every chart that has no curve yet."""
        number = self._runs[0] if self._runs else 0
        if self._context.feed.get_cached_history(number) is None:
            sentence = "Reading the points of this run …"
        elif self._context.feed.state(number) in ("queued", "running"):
            sentence = "The curve begins with the second evaluation."
        else:
            sentence = "This run has too few points for a curve."
        for card in (*self._cards, *self._rare.values()):
            card.wait(_SWEPT if card is self._cards[1] and self._has_only_sweeps() else sentence)

    def _has_only_sweeps(self) -> bool:
        """Return whether all steps of the run so far are sweeps over all documents, which have no step sizes."""
        history = self._get_history()
        stepped = history is not None and history.length("active_topics", 1) > 1
        return stepped and history is not None and not history.layers("step_size_mean")

    def _show_rare(self, name: str, history: History | None) -> None:
        """Add a card for a measure as soon as there is a run that has it, and hide it for runs without."""
        has = history is not None and history.length(name, 0) > 0
        if has and name not in self._rare:
            own = self._context
            chart = curves.make_rare_chart(name, own.view.axis, self._steps.figure.x_range, dark=own.dark)
            part = f" on {find_part(run)} documents" if name == "label_error" and (run := self._get_run()) else ""
            self._rare[name] = _CurveCard(_make_title(curves.RARE[name].title + part), chart)
            self._rare[name].add_figure()
            self.page.append(self._rare[name].page)
        if name in self._rare:
            card = self._rare[name]
            card.page.visible = has
            self._streams.update((name,), card.chart.sources[0], history, name)

    def report_heldout(self, documents: int) -> None:
        """Set the number of held-out documents of the corpus, for the label until the run reports its own number."""
        self._heldout = documents
        self._set_label(self._get_history())

    def report_changes(self, happened: Iterable[RunEvent]) -> None:
        """Draw the changes of the run's structure as vertical lines on the curves over time."""
        events = list(happened)
        self._changes, self._phases = tuple(kpis.summarise_changes(events)), tuple(kpis.find_phases(events))
        self._mark_changes()

    def _mark_changes(self) -> None:
        history = self._get_history()
        known = history.after("tokens_per_second") if history else None
        for chart, words in ((self._perplexity, _SWEEPS), (self._steps, _NO_STEPS)):
            changes = [*self._changes, *((at, words) for at in self._phases)]
            marks = curves.locate_changes(changes, known.minibatches, known.documents, known.seconds) if known else []
            curves.mark_changes(chart, [self._label_mark(mark, known, words) for mark in marks] if known else [])

    def _label_mark(self, mark: curves.RunMark, known: PointColumns, words: str) -> curves.RunMark:
        """Return the mark with its words next to it, where the curve extends far enough for them."""
        axis = self._context.view.axis
        here, end = getattr(mark, axis), getattr(known, axis)[-1]
        return mark._replace(label=_break_lines(words)) if mark.words == words and here <= LEFT_OF_WORDS * end else mark

    def _shade_burn_in(self, history: History | None) -> None:
        """Shade the curve of the run itself from its start to the first point near the lowest so far."""
        points = history.after("point_perplexity") if history else None
        until = find_burn_in(points.curve()) if points and len(points.value) >= LEAST_SHADED else None
        if points is None or until is None or until == points.minibatches[0]:
            curves.shade_burn_in(self._perplexity, None)
            return
        moments = curves.locate_changes([(until, "")], points.minibatches, points.documents, points.seconds)
        curves.shade_burn_in(self._perplexity, moments[0])

    def stream(self) -> None:
        """Bring every source up to date with the histories in memory."""
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
        self._shade_burn_in(history)
        self._set_label(history)
        self._draw_waiting()

    def _stream_steps(self, history: History | None) -> None:
        known = history.layers("step_size_mean") if history else []
        run = self._get_run()
        n_layers = max(len(run.layers), len(run.settings.get("layers", ()))) if run else 0  # some may yet come
        if n_layers != self._layers:
            self._layers = n_layers
            entries = curves.dress_layers(self._steps, n_layers)
            self._step_head.html = (
                kpis.draw_card_head("Layer-adaptive step sizes", kpis.draw_legend(entries)) + _STEP_NOTE
            )
        for place, source in enumerate(self._steps.sources):
            layer = place + 1
            self._streams.update(("step", place), source, history if layer in known else None, "step_size_mean", layer)

    def _set_label(self, history: History | None) -> None:
        run = self._get_run()
        if run is None:
            return
        measured = history.last("evaluation_documents") if history else None
        documents = int(measured) if measured is not None and np.isfinite(measured) else self._heldout
        name = find_estimate_name(run, POINT)
        label = f"{name} · {documents:,} {find_part(run)} documents" if documents else name
        if self._perplexity.figure.yaxis[0].axis_label != label:
            self._perplexity.figure.yaxis[0].axis_label = label

    def _get_run(self) -> RunRow | None:
        return self._context.feed.run(self._runs[0]) if self._runs else None

    def _get_history(self) -> History | None:
        return self._context.feed.get_cached_history(self._runs[0]) if self._runs else None

    def _on_head(self, message: Message) -> None:
        view = self._context.view
        match message:
            case {"do": "axis", "value": str(name)} if name in CHOICES["axis"]:
                view.axis = name
            case {"do": "overlay", "value": str(text)} if text.isdecimal():
                if len(view.overlay) >= curves.SLOTS - 1:
                    self._context.notify(f"At most {curves.SLOTS - 1} other runs fit into the picture.", "info")
                elif int(text) not in view.overlay:
                    view.overlay = (*view.overlay, int(text))
            case {"do": "overlay", "run": str(text)} if text.isdecimal():
                view.overlay = tuple(run for run in view.overlay if run != int(text))


_SWEEPS = "from here on sweeps over all documents"
_NO_STEPS = f"{_SWEEPS}: no step sizes"
_SWEPT = "This run reads all documents at every step: its topics have no layer-adaptive step sizes."


def _break_lines(words: str) -> str:
    """Return words broken into short lines, which fit next to a vertical line."""
    return words.replace("sweeps over", "sweeps\nover").replace(": ", ":\n")


_STEP_NOTE = (
    '<p class="tp-dim tp-note">The line is the mean over the topics of a layer, the band their spread; '
    "every topic has its own step.</p>"
)


def _read_band(history: History, layer: int, part: PointColumns, shown: int) -> dict[str, Any]:
    """Return the spread over topics around the mean; where it is missing, no band."""
    band = {}
    for column in curves.BAND:
        value = history.after(f"step_size_{column}", layer, shown).value[: len(part.value)]
        band[column] = np.pad(value, (0, len(part.value) - len(value)), constant_values=np.nan)
    return band


def _make_title(text: str) -> Board:
    return Board(f'<h3 class="tp-h">{text}</h3>')


class _CurveCard:
    """A chart under its head; a sentence takes the place of the chart until there is a curve."""

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
        """Show the chart if it has a curve, or else the sentence."""
        has_curve = self.chart.figure.visible = self.chart.has_curve
        look = f'class="tp-no-curve" role="status" style="min-height:{self.chart.figure.height}px"'
        self._notice.html = "" if has_curve else f"<p {look}>{sentence}</p>"


class CompareCurves:
    """A figure made once, whose two sources get the new points of two runs.

    Parameters
    ----------
    context : Context
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._head = Board(on_message=self._on_message)
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
        """Show two runs, up to date; histories not in memory are fetched."""
        feed = self._context.feed
        self._runs = tuple(number for number in (run_a, run_b) if feed.run(number) is not None)
        self._chart.use_axis(self._context.view.axis)
        self._chart.grow(max(1, len(self._runs)))
        self._stream()
        self._streams.fetch(self._runs)

    def _stream(self) -> None:
        """Bring both curves up to date with the histories in memory."""
        for place, source in enumerate(self._chart.sources):
            history = self._context.feed.get_cached_history(self._runs[place]) if place < len(self._runs) else None
            self._streams.update((place,), source, history, "point_perplexity")
        self._chart.show_single_points()
        self._draw_head()

    def _draw_head(self) -> None:
        rows = [row for number in self._runs if (row := self._context.feed.run(number)) is not None]
        looks = zip(("A · ", "B · ") if len(rows) == 2 else ("",), rows, SERIES, DASHES, strict=False)
        entries = [
            (f"{tag}{row.number} · {name_run(row)}{self._note_missing(row.number)}", colour, dash)
            for tag, row, colour, dash in looks
        ]
        axis = kpis.draw_choices("axis", AXIS_WORDS, self._context.view.axis, "x-axis")
        protocols = dict.fromkeys(describe_protocol(row) for row in rows)
        tip = (
            "; ".join(f"run {row.number}: {describe_protocol(row)}" for row in rows)
            if len(protocols) > 1
            else next(iter(protocols), "")
        )
        titles = {find_estimate_name(row, POINT) for row in rows}
        title = titles.pop() if len(titles) == 1 else ESTIMATE_NAMES[POINT]
        self._head.html = kpis.draw_card_head(title.capitalize(), axis, tip) + kpis.draw_legend(entries)

    def _note_missing(self, number: int) -> str:
        """Return a note for a run without a curve."""
        history = self._context.feed.get_cached_history(number)
        return ", no point yet" if history is not None and not history.length("point_perplexity") else ""

    def _on_message(self, message: Message) -> None:
        match message:
            case {"do": "axis", "value": str(name)} if name in CHOICES["axis"]:
                self._context.view.axis = name
