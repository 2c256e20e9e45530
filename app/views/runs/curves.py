"""Curves of a run: figures that are made once, and whose sources then receive new points.

Each source has a column for every x-axis, so a change of the axis changes a field name and sends no data.
Perplexities of the two protocols never share an axis: its label says which protocol it is.
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
from bokeh.models.annotations import BoxAnnotation, Label, LabelSet, Span
from bokeh.plotting import figure
from numpy.typing import NDArray

from topiary.app.machine import find_asset
from topiary.app.names import STEPS
from topiary.app.views.theme import DASHES, FONT, GAMMA_R, MARK, SERIES, FigureLook, make_figure_look, pick_layer_colour

SLOTS = 6  # runs overlaid at most, including the run itself
MOST_SHOWN = 1500  # points of a curve after thinning
MOST_STREAMED = 4000  # points a source may grow to before it is thinned again
LOW, TALL = 190, 400  # heights of a figure among others, and next to the perplexity, in pixels
AXES = {"minibatches": "steps", "documents": "documents seen", "seconds": "seconds of training"}
LABEL_HEIGHT = 225  # height of the words next to a vertical line, in pixels above the x-axis
WORDS: dict[str, Any] = {"text_color": MARK, "text_font": FONT, "text_font_size": "11.5px"}
COLUMNS = ("minibatches", "documents", "seconds", "value")
BAND = ("low", "high")

# Zoom and pan are kept while points arrive; a change of the x-axis resets them.
_RESET_VIEW = "figure.reset.emit()"


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
    shade: Any = None  # box over the burn-in of the run itself, up to the moment ``shaded``
    shaded: "RunMark | None" = None
    cursor: Any = None  # vertical line at the moment of the film, at ``moment``
    moment: "RunMark | None" = None

    @property
    def has_curve(self) -> bool:
        """True if any source has at least two points, so that there is a curve to see."""
        return any(len(source.data["value"]) > 1 for source in self.sources)

    def grow(self, slots: int) -> None:
        """Add slots until there are ``slots`` of them."""
        before = len(self.sources)
        for index in range(before, slots):
            self.add_slot(self, index)
        if slots > before:
            self.hover.renderers = list(self.lines)
        if before == 0 and slots:
            self.lines[0].glyph.js_on_change("x", CustomJS(args={"figure": self.figure}, code=_RESET_VIEW))

    def show_single_points(self) -> None:
        """Show a curve of a single point as a dot; a chart that never calls this has no dots."""
        for index in range(len(self.dots), len(self.sources)):
            colour = SERIES[index]
            dot = Scatter(x=self.axis, y="value", size=7, fill_color=colour, line_color=colour)
            self.dots.append(self.figure.add_glyph(self.sources[index], dot, visible=False))
        for source, dot in zip(self.sources, self.dots, strict=True):
            dot.visible = len(source.data["value"]) == 1

    def use_axis(self, name: str, step: str = "step") -> None:
        """Draw the curves over another column, a key of `AXES`; ``step`` is the name of a step of the runs."""
        self.axis = name
        shown: Any = self.hover.tooltips
        tips: Any = [shown[0], (step, "@minibatches{0,0}"), *shown[2:]]
        if tips != shown:
            self.hover.tooltips = tips
        for renderer in (*self.lines, *self.bands, *self.dots, *([self.marks] if self.marks else [])):
            if renderer.glyph.x != name:
                renderer.glyph.x = name
        if self.labels is not None:
            self.labels.x = name
        self.place_shade()
        self.place_cursor(self.moment)
        self.figure.xaxis.axis_label = STEPS[step] if name == "minibatches" else AXES[name]

    def place_shade(self) -> None:
        """Move the right end of the shade to its moment on the current axis."""
        if self.shade is not None and self.shaded is not None:
            self.shade.right = getattr(self.shaded, self.axis)

    def place_cursor(self, moment: "RunMark | None") -> None:
        """Move the cursor to a moment, on the current axis; None hides it."""
        self.moment = moment
        if self.cursor is None:
            if moment is None:
                return
            self.cursor = Span(dimension="height", line_color=MARK, line_width=2.2, level="overlay")
            self.figure.add_layout(self.cursor)
        if moment is not None:
            self.cursor.location = getattr(moment, self.axis)
        self.cursor.visible = moment is not None


class RareMeasure(NamedTuple):
    """A measure that only some runs have: its title, its names on the axis and on hover, and its index in `SERIES`."""

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
    """A moment of a run on each x-axis, words about what happened then, and the label next to its line."""

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
    """Return where changes (mini-batch, words) lie on every x-axis; changes after the last point are left out."""
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
    """Draw a vertical line at each moment, and remove the lines drawn before."""
    if chart.marks is None:
        if not moments:
            return
        source = ColumnDataSource({name: [] for name in RunMark._fields})
        look = {"line_color": MARK, "line_dash": [3, 3], "line_width": 1.6, "line_alpha": 0.8}
        chart.marks = chart.figure.vspan(x=chart.axis, source=source, level="underlay", **look)
        tips = '<div style="max-width:340px"><b>step @minibatches{0,0}</b><br>@words</div>'
        chart.figure.add_tools(HoverTool(renderers=[chart.marks], tooltips=tips, description="What happened"))
    if chart.labels is None and any(moment.label for moment in moments):
        position: dict[str, Any] = {"x": chart.axis, "y": value(LABEL_HEIGHT), "y_units": "screen", "x_offset": 6}
        words: dict[str, Any] = {name: value(setting) for name, setting in WORDS.items()}
        words["text_baseline"] = value("top")
        chart.labels = LabelSet(text="label", source=chart.marks.data_source, **position, **words)
        chart.figure.add_layout(chart.labels)
    columns = {name: [getattr(moment, name) for moment in moments] for name in RunMark._fields}
    if chart.marks.data_source.data != columns:
        chart.marks.data_source.data = columns


def shade_burn_in(chart: Chart, until: RunMark | None) -> None:
    """Shade and label the burn-in of a run, from its start until a moment; None removes the shade."""
    if chart.shade is None:
        if until is None:
            return
        chart.shade = BoxAnnotation(fill_color=MARK, fill_alpha=0.08, line_color=None, level="underlay", editable=False)
        label = Label(x=6, y=5, x_units="screen", y_units="screen", text="burn-in", **WORDS)
        for annotation in (chart.shade, label):
            chart.figure.add_layout(annotation)
        chart.shade.js_link("visible", label, "visible")
    chart.shaded, chart.shade.visible = until, until is not None
    chart.place_shade()


def thin_points(values: NDArray[np.float64], most: int = MOST_SHOWN) -> NDArray[np.intp]:
    """Return the indices of about ``most`` points whose curve looks like that of all points.

    The series is cut into stretches; each keeps its lowest and its highest value, so that no spike is lost.
    The first and the last point are kept; values that are not finite are left out.
    """
    finite = np.flatnonzero(np.isfinite(values))
    if len(finite) <= most:
        return finite
    indices = [finite[:1], finite[-1:]]
    for stretch in np.array_split(finite, max(1, (most - 2) // 2)):
        stretch_values = values[stretch]
        indices.append(stretch[[int(stretch_values.argmin()), int(stretch_values.argmax())]])
    return np.unique(np.concatenate(indices))


def make_perplexity_chart(axis: str, *, dark: bool = False) -> Chart:
    """Return the chart of the point perplexity of a run and up to five others."""
    chart = _make_chart(
        _make_figure(axis, "point perplexity", 330, dark=dark), axis, _add_run, ("perplexity", "@value{0,0.0}")
    )
    chart.figure.yaxis.formatter = NumeralTickFormatter(format="0,0[.]0")
    return chart


def make_step_chart(axis: str, *, dark: bool = False) -> Chart:
    """Return the chart of layer-adaptive step sizes: the mean of each layer, with a band for its topics."""
    plot = _make_figure(axis, "step size", 330, dark=dark, y_axis_type="log")
    plot.yaxis.ticker = CustomJSTicker(major_code=_read_code("log_ticks"), minor_code="return []")
    plot.yaxis.formatter = CustomJSTickFormatter(code=_read_code("log_labels"))
    plot.ygrid.ticker = plot.yaxis[0].ticker
    return _make_chart(plot, axis, _add_layer, ("step size", "@value{0.00e+0}"))


def make_rate_chart(axis: str, x_range: Any, *, dark: bool = False) -> Chart:
    """Return the chart of tokens per second."""
    plot = _make_figure(axis, "tokens per second", LOW, dark=dark, x_range=x_range)
    plot.yaxis.formatter = NumeralTickFormatter(format="0.[0]a")
    plot.y_range.start = 0
    return _make_chart(plot, axis, partial(_add_curve, SERIES[2]), ("tokens/s", "@value{0,0}"))


def make_rare_chart(name: str, axis: str, x_range: Any, *, dark: bool = False) -> Chart:
    """Return the chart of the measure ``name``, a key of `RARE`, with its own y-axis."""
    measure = RARE[name]
    plot = _make_figure(axis, measure.label, LOW, dark=dark, x_range=x_range)
    plot.yaxis.formatter = NumeralTickFormatter(format="0,0[.]0")
    return _make_chart(plot, axis, partial(_add_curve, SERIES[measure.colour]), (measure.short, "@value{0,0.0}"))


def dress_layers(chart: Chart, n_layers: int) -> list[tuple[str, str, Any]]:
    """Colour the slots of a step chart: one for each of ``n_layers`` layers, and one for r.

    Returns
    -------
    list of (name, colour, dash)
        The entries of the legend.
    """
    chart.grow(n_layers + 1)
    legend: list[tuple[str, str, Any]] = []
    for index, (line, band) in enumerate(zip(chart.lines, chart.bands, strict=True)):
        is_r = index == n_layers
        colour = GAMMA_R if is_r else pick_layer_colour(index + 1)
        dash = "dotted" if is_r else DASHES[index % len(DASHES)]
        line.glyph.update(line_color=colour, line_dash=dash)
        band.glyph.update(fill_color=colour)
        if index <= n_layers:
            legend.append(("r" if is_r else f"layer {index + 1}", colour, dash))
    return legend


def _add_run(chart: Chart, index: int) -> None:
    source = _make_source()
    look = {"line_color": SERIES[index], "line_dash": DASHES[index], "line_width": 1.8 if index else 2.6}
    chart.sources.append(source)
    _add_line(chart, source, look, **({} if index else {"level": "overlay"}))  # the run itself lies on top


def _add_layer(chart: Chart, _: int) -> None:
    source = _make_source(*BAND)
    chart.sources.append(source)
    band = VArea(x=chart.axis, y1="low", y2="high", fill_alpha=0.16)
    chart.bands.append(chart.figure.add_glyph(source, band))
    _add_line(chart, source, {"line_width": 2.2})


def _add_curve(colour: str, chart: Chart, _: int) -> None:
    source = _make_source()
    chart.sources.append(source)
    _add_line(chart, source, {"line_color": colour, "line_width": 2.0, "line_join": "bevel"})


def _add_line(chart: Chart, source: ColumnDataSource, look: Mapping[str, Any], **options: Any) -> None:
    """Add a line as a single glyph; `figure.line` would also add unused glyphs for selected and muted lines."""
    line = Line(x=chart.axis, y="value")
    line.update(line_join="round")
    line.update(**look)
    chart.lines.append(chart.figure.add_glyph(source, line, **options))


def _read_code(name: str) -> str:
    return find_asset(f"js/{name}.js").read_text(encoding="utf-8")


def _make_source(*extra: str) -> ColumnDataSource:
    return ColumnDataSource({name: [] for name in (*COLUMNS, *extra)})


def _make_figure(axis: str, label: str, height: int, *, dark: bool, **options: Any) -> Any:
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
        **({"x_range": DataRange1d(range_padding=0.02, only_visible=True)} | options),
    )
    plot.toolbar.logo = None
    plot.toolbar.autohide = True
    plot.xaxis.formatter = NumeralTickFormatter(format="0,0")
    plot.xaxis.ticker.update(desired_num_ticks=6, min_interval=1)
    plot.xgrid.grid_line_color = None
    _style_figure(plot, make_figure_look(dark=dark))
    return plot


def _style_figure(plot: Any, look: FigureLook) -> None:
    """Set the styles of the page's theme on a figure; the theme itself would cost a second layout in the browser."""
    plot.update(**look.figure)
    for axis in (*plot.xaxis, *plot.yaxis):
        axis.update(**look.axis)
    plot.ygrid[0].update(**look.grid)


def _make_chart(plot: Any, axis: str, add_slot: Callable[[Chart, int], None], tip: tuple[str, str]) -> Chart:
    position = [("step", "@minibatches{0,0}"), ("documents", "@documents{0,0}"), ("time", "@seconds{0,0} s")]
    hover = HoverTool(renderers=[], tooltips=[tip, *position], mode="mouse", line_policy="nearest")
    plot.add_tools(hover)
    chart = Chart(plot, hover, add_slot, axis)
    chart.grow(1)
    return chart
