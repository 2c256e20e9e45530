"""The point perplexity of both runs of the compare page in one figure."""

from functools import partial
from typing import Any

import panel as pn

from app.live.history import History
from app.pages.components.board import Board, Message
from app.pages.session import CHOICES, Context
from app.pages.watch.curves import AXIS_WORDS
from app.views.markup import run_title
from app.views.run_facts import judged
from app.views.runs import curves, kpis
from app.views.theme import CARD, DASHES, SERIES


class CompareCurves:
    """A figure made once; its two sources are streamed into.

    Parameters
    ----------
    context : Context
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._head = Board(on_message=self._on_message)
        self._chart = curves.perplexity_chart(context.view.axis, dark=context.dark)
        self._runs: tuple[int, ...] = ()
        self._asked: set[int] = set()  # runs whose history is being fetched
        self._shown: dict[int, tuple[int, int]] = {}  # what a source holds: (epoch, points)
        self.page = pn.Column(
            self._head,
            pn.pane.Bokeh(self._chart.figure, sizing_mode="stretch_width", margin=0),
            css_classes=["tp-card"],
            stylesheets=[CARD],
            sizing_mode="stretch_width",
            margin=0,
        )

    def choose(self, run_a: int, run_b: int) -> None:
        """Show these two, up to date; what is not in memory is fetched."""
        feed = self._context.feed
        self._runs = tuple(number for number in (run_a, run_b) if feed.run(number) is not None)
        self._chart.use_axis(self._context.view.axis)
        self._chart.grow(max(1, len(self._runs)))
        self._stream()
        for number in self._runs:
            if feed.known_history(number) is None and number not in self._asked:
                self._asked.add(number)
                again = partial(self._failed, number, run_a, run_b)
                self._context.later(partial(feed.history, number), partial(self._take, number), again)

    def _take(self, number: int, _: History | None) -> None:
        self._asked.discard(number)
        self._stream()

    def _failed(self, number: int, run_a: int, run_b: int) -> None:
        """Ask again for what could not be read, as long as the same two are shown."""
        self._asked.discard(number)
        if {run_a, run_b} >= {*self._runs}:
            self.choose(run_a, run_b)

    def _stream(self) -> None:
        """Bring both curves up to date with what is in memory."""
        for place, source in enumerate(self._chart.sources):
            known = self._context.feed.known_history(self._runs[place]) if place < len(self._runs) else None
            self._bring(place, source, known)
        self._chart.dot_singles()
        self._draw_head()

    def _bring(self, place: int, source: Any, history: History | None) -> None:
        epoch, shown = self._shown.get(place, (0, 0))
        if history is None:
            if epoch:
                source.data = {column: [] for column in source.data}
                self._shown[place] = (0, 0)
            return
        fresh = epoch != history.epoch or len(source.data["value"]) > curves.MOST_STREAMED
        part = history.after("point_perplexity", 0, 0 if fresh else shown)
        if fresh:
            source.data = part.take(curves.thin(part.value))._asdict()
        elif len(part.value):
            source.stream(part._asdict())
        self._shown[place] = (history.epoch, (0 if fresh else shown) + len(part.value))

    def _draw_head(self) -> None:
        rows = [row for number in self._runs if (row := self._context.feed.run(number)) is not None]
        looks = zip(("A · ", "B · ") if len(rows) == 2 else ("",), rows, SERIES, DASHES, strict=False)
        entries = [
            (f"{tag}{row.number} · {run_title(row)}{self._lack(row.number)}", colour, dash)
            for tag, row, colour, dash in looks
        ]
        axis = kpis.choices("axis", AXIS_WORDS, self._context.view.axis, "x-axis")
        said = dict.fromkeys(judged(row) for row in rows)
        tip = "; ".join(f"run {row.number}: {judged(row)}" for row in rows) if len(said) > 1 else next(iter(said), "")
        self._head.html = kpis.card_head("Point perplexity", axis, tip) + kpis.legend(entries)

    def _lack(self, number: int) -> str:
        """What to say of a run of which there is nothing to draw."""
        known = self._context.feed.known_history(number)
        return ", no point yet" if known is not None and not known.length("point_perplexity") else ""

    def _on_message(self, message: Message) -> None:
        match message:
            case {"do": "axis", "value": str(name)} if name in CHOICES["axis"]:
                self._context.view.axis = name
