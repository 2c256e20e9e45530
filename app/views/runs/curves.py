"""Curves of a run: figures made once, whose sources then get new points.

x is a column of the source, so another x-axis is another field name, not other data.  Perplexities of the two
protocols never share an axis: the label says which it is.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from bokeh.core.properties import value
from bokeh.models import (
    ColumnDataSource,
    CustomJS,
    CustomJSTicker,
    CustomJSTickFormatter,
    DataRange1d,
    HoverTool,
    Line,
    NumeralTickFormatter,
    Scatter,
    VArea,
)
from bokeh.models.annotations import BoxAnnotation, Label, LabelSet
from bokeh.plotting import figure
from numpy.typing import NDArray

from app.machine import find_asset
from app.views.theme import DASHES, FONT, GAMMA_R, MARK, SERIES, FigureLook, make_figure_look, pick_layer_colour

SLOTS = 6  # runs overlaid at most, including the run itself
MOST_SHOWN = 1500  # points of a curve after thinning
MOST_STREAMED = 4000  # points a source may grow to before it is thinned again
AXES = {"minibatches": "mini-batches", "documents": "documents seen", "seconds": "seconds of training"}
LABEL_HEIGHT = 225  # of words next to a line, in pixels above the x-axis
WORDS: dict[str, Any] = {"text_color": MARK, "text_font": FONT, "text_font_size": "11.5px"}
COLUMNS = ("minibatches", "documents", "seconds", "value")
BAND = ("low", "high")

# Zoom and pan stay as they are while points arrive; another x-axis starts from the whole again.
_REFIT = "figure.reset.emit()"


@dataclass
class Chart:
    """A figure and its slots, each a source and its glyphs; slots are added when first needed and never removed."""

    figure: Any
    hover: HoverTool
    add_slot: Callable[["Chart", int], None]
    axis: str
    sources: list[ColumnDataSource] = field(default_factory=list)
    lines: list[Any] = field(default_factory=list)
    bands: list[Any] = field(default_factory=list)
    dots: list[Any] = field(default_factory=list)  # for curves of a single point
    marks: Any = None  # vertical lines at moments of the run itself, with words
    labels: Any = None  # words shown next to their line
    shade: Any = None  # over the burn-in of the run itself, up to the moment ``shaded``
    shaded: "RunMark | None" = None

    @property
    def has_curve(self) -> bool:
        """True if there is a curve: a single point makes none."""
        return any(len(source.data["value"]) > 1 for source in self.sources)

    def grow(self, slots: int) -> None:
        """Add slots until there are ``slots`` of them."""
        before = len(self.sources)
        for place in range(before, slots):
            self.add_slot(self, place)
        if slots > before:
            self.hover.renderers = list(self.lines)
        if before == 0 and slots:
            self.lines[0].glyph.js_on_change("x", CustomJS(args={"figure": self.figure}, code=_REFIT))

    def show_single_points(self) -> None:
        """Show a curve of a single point as a dot; a chart that never calls this has no dots."""
        for place in range(len(self.dots), len(self.sources)):
            colour = SERIES[place]
            dot = Scatter(x=self.axis, y="value", size=7, fill_color=colour, line_color=colour)
            self.dots.append(self.figure.add_glyph(self.sources[place], dot, visible=False))
        for source, dot in zip(self.sources, self.dots, strict=True):
            dot.visible = len(source.data["value"]) == 1

    def use_axis(self, name: str) -> None:
        """Show the curves over another column."""
        self.axis = name
        for renderer in (*self.lines, *self.bands, *self.dots, *([self.marks] if self.marks else [])):
            if renderer.glyph.x != name:
                renderer.glyph.x = name
        if self.labels is not None:
            self.labels.x = name
        self.place_shade()
        self.figure.xaxis.axis_label = AXES[name]

    def place_shade(self) -> None:
        """Move the end of the shade to its moment on the axis."""
        if self.shade is not None and self.shaded is not None:
            self.shade.right = getattr(self.shaded, self.axis)


class RareMeasure(NamedTuple):
    """A measure that only some runs have: its name, on its axis and on hover, and its colour."""

    title: str
    label: str
    short: str
    colour: int


RARE = {
    "averaged_perplexity": RareMeasure("Averaged perplexity", "averaged perplexity", "averaged", 3),
    "label_error": RareMeasure("Label error", "wrong labels, %", "wrong", 1),
    "tree_persistence": RareMeasure("Settling of the tree", "stayed, %", "stayed", 2),
    "elbo": RareMeasure("Evidence lower bound", "nats per document", "bound", 4),
}


class RunMark(NamedTuple):
    """A moment of a run, words about what happened, and the label next to its line."""

    minibatches: float
    documents: float
    seconds: float
    words: str
    label: str = ""


def locate_changes(
    changes: Iterable[tuple[int, str]],
    minibatches: NDArray[np.float64],
    documents: NDArray[np.float64],
    seconds: NDArray[np.float64],
) -> list[RunMark]:
    """Return the places of changes, by mini-batch, on every x-axis; those after the last point are left out."""
    if not len(minibatches):
        return []
    return [
        RunMark(
            minibatch,
            _interpolate(minibatch, minibatches, documents),
            _interpolate(minibatch, minibatches, seconds),
            words,
        )
        for minibatch, words in changes
        if minibatch <= minibatches[-1]
    ]


def _interpolate(minibatch: int, minibatches: NDArray[np.float64], column: NDArray[np.float64]) -> float:
    return float(np.interp(minibatch, minibatches, column))


def mark_changes(chart: Chart, moments: Sequence[RunMark]) -> None:
    """Draw a vertical line at each of these moments of the run, in place of earlier ones."""
    if chart.marks is None:
        if not moments:
            return
        source = ColumnDataSource({name: [] for name in RunMark._fields})
        look = {"line_color": MARK, "line_dash": [3, 3], "line_width": 1.6, "line_alpha": 0.8}
        chart.marks = chart.figure.vspan(x=chart.axis, source=source, level="underlay", **look)
        tips = '<div style="max-width:340px"><b>mini-batch @minibatches{0,0}</b><br>@words</div>'
        chart.figure.add_tools(HoverTool(renderers=[chart.marks], tooltips=tips, description="What happened"))
    if chart.labels is None and any(moment.label for moment in moments):
        at: dict[str, Any] = {"x": chart.axis, "y": value(LABEL_HEIGHT), "y_units": "screen", "x_offset": 6}
        words: dict[str, Any] = {name: value(setting) for name, setting in WORDS.items()}
        words["text_baseline"] = value("top")
        chart.labels = LabelSet(text="label", source=chart.marks.data_source, **at, **words)
        chart.figure.add_layout(chart.labels)
    columns = {name: [getattr(moment, name) for moment in moments] for name in RunMark._fields}
    if chart.marks.data_source.data != columns:
        chart.marks.data_source.data = columns


def shade_burn_in(chart: Chart, until: RunMark | None) -> None:
    """Shade a run's burn-in, from its start to a moment, with the word; None removes the shade."""
    if chart.shade is None:
        if until is None:
            return
        chart.shade = BoxAnnotation(fill_color=MARK, fill_alpha=0.08, line_color=None, level="underlay", editable=False)
        word = Label(x=6, y=5, x_units="screen", y_units="screen", text="burn-in", **WORDS)
        for each in (chart.shade, word):
            chart.figure.add_layout(each)
        chart.shade.js_link("visible", word, "visible")
    chart.shaded, chart.shade.visible = until, until is not None
    chart.place_shade()


def thin_points(values: NDArray[np.float64], most: int = MOST_SHOWN) -> NDArray[np.intp]:
    """Return the places of at most about ``most`` points that look like all of them.

    The series is cut into stretches; each keeps its lowest and its highest value, so that no spike is lost.
    The first and the last point are kept; points without a number are left out.
    """
    finite = np.flatnonzero(np.isfinite(values))
    if len(finite) <= most:
        return finite
    places = [finite[:1], finite[-1:]]
    for stretch in np.array_split(finite, max(1, (most - 2) // 2)):
        part = values[stretch]
        places.append(stretch[[int(part.argmin()), int(part.argmax())]])
    return np.unique(np.concatenate(places))


def make_perplexity_chart(axis: str, *, dark: bool = False) -> Chart:
    """Return the chart of the point perplexity of one run and of up to five others."""
    chart = _make_chart(
        _make_figure(axis, "point perplexity", 330, dark=dark), axis, _add_run, ("perplexity", "@value{0,0.0}")
    )
    chart.figure.yaxis.formatter = NumeralTickFormatter(format="0,0[.]0")
    return chart


def make_step_chart(axis: str, *, dark: bool = False) -> Chart:
    """Return the chart of layer-adaptive step sizes: the mean per layer, the spread over its topics as a band."""
    plot = _make_figure(axis, "step size", 330, dark=dark, y_axis_type="log")
    plot.yaxis.ticker = CustomJSTicker(major_code=_read_code("log_ticks"), minor_code="return []")
    plot.yaxis.formatter = CustomJSTickFormatter(code=_read_code("log_labels"))
    plot.ygrid.ticker = plot.yaxis[0].ticker
    return _make_chart(plot, axis, _add_layer, ("step size", "@value{0.00e+0}"))


def make_rate_chart(axis: str, x_range: Any, *, dark: bool = False) -> Chart:
    """Return the chart of tokens per second."""
    plot = _make_figure(axis, "tokens per second", 190, dark=dark, x_range=x_range)
    plot.yaxis.formatter = NumeralTickFormatter(format="0.[0]a")
    plot.y_range.start = 0
    return _make_chart(plot, axis, partial(_add_one, SERIES[2]), ("tokens/s", "@value{0,0}"))


def make_rare_chart(name: str, axis: str, x_range: Any, *, dark: bool = False) -> Chart:
    """Return the chart of a measure that not every run has, a key of ``RARE``, on an axis of its own."""
    about = RARE[name]
    plot = _make_figure(axis, about.label, 190, dark=dark, x_range=x_range)
    plot.yaxis.formatter = NumeralTickFormatter(format="0,0[.]0")
    return _make_chart(plot, axis, partial(_add_one, SERIES[about.colour]), (about.short, "@value{0,0.0}"))


def dress_layers(chart: Chart, n_layers: int) -> list[tuple[str, str, Any]]:
    """Colour the slots of a step chart for ``n_layers`` layers and r.

    Returns
    -------
    list of (name, colour, dash)
        For the legend.
    """
    chart.grow(n_layers + 1)
    legend: list[tuple[str, str, Any]] = []
    for place, (line, band) in enumerate(zip(chart.lines, chart.bands, strict=True)):
        is_r = place == n_layers
        colour = GAMMA_R if is_r else pick_layer_colour(place + 1)
        dash = "dotted" if is_r else DASHES[place % len(DASHES)]
        line.glyph.update(line_color=colour, line_dash=dash)
        band.glyph.update(fill_color=colour)
        if place <= n_layers:
            legend.append(("r" if is_r else f"layer {place + 1}", colour, dash))
    return legend


def _add_run(chart: Chart, place: int) -> None:
    source = _make_source()
    look = {"line_color": SERIES[place], "line_dash": DASHES[place], "line_width": 1.8 if place else 2.6}
    chart.sources.append(source)
    _add_line(chart, source, look, **({} if place else {"level": "overlay"}))  # the run itself lies on top


def _add_layer(chart: Chart, _: int) -> None:
    source = _make_source(*BAND)
    chart.sources.append(source)
    band = VArea(x=chart.axis, y1="low", y2="high", fill_alpha=0.16)
    chart.bands.append(chart.figure.add_glyph(source, band))
    _add_line(chart, source, {"line_width": 2.2})


def _add_one(colour: str, chart: Chart, _: int) -> None:
    source = _make_source()
    chart.sources.append(source)
    _add_line(chart, source, {"line_color": colour, "line_width": 2.0, "line_join": "bevel"})


def _add_line(chart: Chart, source: ColumnDataSource, look: Mapping[str, Any], **more: Any) -> None:
    """Add one glyph; `figure.line` would add its looks for selected and muted lines, which are not used here."""
    line = Line(x=chart.axis, y="value")
    line.update(line_join="round")
    line.update(**look)
    chart.lines.append(chart.figure.add_glyph(source, line, **more))


def _read_code(name: str) -> str:
    return find_asset(f"js/{name}.js").read_text(encoding="utf-8")


def _make_source(*more: str) -> ColumnDataSource:
    return ColumnDataSource({name: [] for name in (*COLUMNS, *more)})


def _make_figure(axis: str, label: str, height: int, *, dark: bool, **more: Any) -> Any:
    plot: Any = figure(
        height=height,
        sizing_mode="stretch_width",
        tools="pan,box_zoom,wheel_zoom,reset,save",
        active_drag="box_zoom",
        active_scroll=None,
        output_backend="canvas",
        x_axis_label=AXES[axis],
        y_axis_label=label,
        min_border_right=12,
        title=None,
        **({"x_range": DataRange1d(range_padding=0.02, only_visible=True)} | more),
    )
    plot.toolbar.logo = None
    plot.toolbar.autohide = True
    plot.xaxis.formatter = NumeralTickFormatter(format="0,0")
    plot.xaxis.ticker.update(desired_num_ticks=6, min_interval=1)
    plot.xgrid.grid_line_color = None
    _style_figure(plot, make_figure_look(dark=dark))
    return plot


def _style_figure(plot: Any, look: FigureLook) -> None:
    """Give a figure the styles that the page's theme would otherwise add in the browser with a second layout."""
    plot.update(**look.figure)
    for axis in (*plot.xaxis, *plot.yaxis):
        axis.update(**look.axis)
    plot.ygrid[0].update(**look.grid)


def _make_chart(plot: Any, axis: str, add_slot: Callable[[Chart, int], None], tip: tuple[str, str]) -> Chart:
    at = [("mini-batch", "@minibatches{0,0}"), ("documents", "@documents{0,0}"), ("time", "@seconds{0,0} s")]
    hover = HoverTool(renderers=[], tooltips=[tip, *at], mode="mouse", line_policy="nearest")
    plot.add_tools(hover)
    chart = Chart(plot, hover, add_slot, axis)
    chart.grow(1)
    return chart
