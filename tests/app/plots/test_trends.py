"""Figures of topics over time and by group: the numbers of the page and the tables, drawn for print."""

import re

import holoviews as hv
import numpy as np
import pytest
from databases import open_filled
from matplotlib import pyplot
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from trend_samples import plant_trends

from topiary import plots
from topiary.app.analysis.errors import ReadError
from topiary.app.cli import main
from topiary.app.export.run_tables import build_table, read_request
from topiary.app.plots.style import COLOURS, save
from topiary.app.plots.trends import TopicByGroup, draw_groups, draw_time, spread_apart
from topiary.app.views.trends.time_chart import GroupBar, TimeAxis, TimeLine
from topiary.store import runs
from topiary.store.database import open_database

YEARS = np.array([f"{year}-01-01" for year in range(1990, 2021)], "datetime64[ms]").astype(np.int64)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Path of a store with a run whose documents have dates, sources and shares."""
    path = str(tmp_path_factory.mktemp("dated") / "store.db")
    open_filled(path, plant_trends).close()
    return path


def read_table(store, kind, **options):
    db = open_database(store, readonly=True)
    table = build_table(kind, read_request(db, runs.get_run(db, 1), kind, **options)).join()
    db.close()
    return table


def find_parts(overlay, kind):
    """All elements of a kind in a figure."""
    return overlay.traverse(lambda each: each, [lambda each: type(each) is kind])


def list_texts(overlay):
    """All texts of a figure with their places."""
    return [row for part in find_parts(overlay, hv.Labels) for row in part.data.itertuples(index=False, name=None)]


def draw_flat(means, **options):
    """A figure of a line for each constant share, over thirty years."""
    ones = np.ones(30)
    lines = [TimeLine("", f"topic {mean:g}", "", mean * ones, mean * ones - 0.01, mean * ones + 0.01) for mean in means]
    return draw_time(TimeAxis("year", YEARS, 40 * np.ones(30, int)), lines, **options)


def test_topics_over_time_have_the_numbers_of_the_table(store):
    table = read_table(store, "time", unit="quarter", where=["source=herald"])
    figure = plots.time((store, 1), unit="quarter", where=["source=herald"])
    curves, bands = find_parts(figure, hv.Curve), find_parts(figure, hv.Area)
    assert len(curves) == len(bands) == 2
    for (_, rows), curve, band in zip(table.groupby("topic", sort=False), curves, bands, strict=True):
        assert curve["share"].tolist() == rows["share"].tolist()
        assert band["low"].tolist() == rows["low"].tolist()
        assert band["high"].tolist() == rows["high"].tolist()


def test_figures_of_a_run_that_trains_have_the_newest_shares_and_name_their_step(tmp_path):
    path = str(tmp_path / "training.db")
    open_filled(path, plant_trends, trains=True).close()
    table = read_table(path, "groups", column="source").set_index(["topic", "group"]).sort_index()
    figure = plots.groups((path, 1), column="source")
    assert find_parts(figure, hv.Points)[0].dimension_values(0).tolist() == table["share"].tolist()
    assert figure.opts.get("plot").kwargs["xlabel"] == "share of words, mini-batch 400, 90% intervals: documents"


def test_groups_have_the_numbers_of_the_table(store):
    for by in ("tokens", "documents"):
        table = read_table(store, "groups", column="source", by=by).set_index(["topic", "group"]).sort_index()
        figure = plots.groups((store, 1), column="source", by=by)
        (points,) = find_parts(figure, hv.Points)
        intervals = [part for part in find_parts(figure, hv.Segments) if len(part) == 4]
        assert points.dimension_values(0).tolist() == table["share"].tolist()
        assert [intervals[-1].dimension_values(side).tolist() for side in (0, 2)] == [
            table["low"].tolist(),
            table["high"].tolist(),
        ]


def test_a_band_has_the_colour_of_its_curve(store):
    figure = hv.Store.renderers["matplotlib"].get_plot(plots.time((store, 1), unit="quarter"))
    axes = figure.handles["axis"]
    bands = [to_hex(part.get_facecolor()[0]) for part in axes.collections if isinstance(part, PolyCollection)]
    assert bands == [line.get_color() for line in axes.lines] == list(COLOURS[:2])
    pyplot.close(figure.state)


def test_a_curve_has_a_gap_where_there_are_no_documents_and_a_point_for_a_lone_period():
    mean = np.array([0.1, 0.2, np.nan, 0.3, np.nan])
    line = TimeLine("", "rose", "", mean, mean - 0.01, mean + 0.01)
    figure = draw_time(TimeAxis("year", YEARS[:6], np.array([9, 9, 0, 9, 0])), [line])
    assert [curve["period"].tolist() for curve in find_parts(figure, hv.Curve)] == [[0.5, 1.5], [3.5]]
    assert [part.data.to_numpy().tolist() for part in find_parts(figure, hv.Points)] == [[[3.5, 0.3]]]


def test_titles_do_not_cover_each_other_and_years_are_round(tmp_path):
    figure = draw_flat([0.2, 0.21, 0.2, 0.04])
    heights = sorted(y for _, y, _ in list_texts(figure))
    ticks = hv.Store.lookup_options("matplotlib", figure, "plot").kwargs["xticks"]
    assert [name for _, name in ticks] == ["1990", "1995", "2000", "2005", "2010", "2015"]
    assert min(np.diff(heights)) * 136 / 0.25 >= 8.4  # points; the axes are 136 points high and end at 25 %
    text = save(figure, tmp_path / "figure.svg").read_text(encoding="utf-8")
    assert float(re.search(r'width="([\d.]+)pt"', text)[1]) == pytest.approx(72 * 3.3, abs=0.1)
    assert "share of words" in text


def test_places_of_titles_are_near_those_wanted():
    assert spread_apart([5.0, 4.0, 20.0], 8.0, 18.0) == [10.0, 2.0, 18.0]
    assert spread_apart([1.0, 30.0], 8.0, 40.0) == [1.0, 30.0]


def test_wide_intervals_of_few_documents_are_cut_at_the_end_of_the_axis():
    bars = [GroupBar("few", "", 0.1, 0.0, 0.9, 2), GroupBar("many", "", 0.2, 0.19, 0.21, 900)]
    figure = draw_groups([TopicByGroup("rose", 0.15, [*bars, GroupBar("none", "", np.nan, np.nan, np.nan, 0)])])
    ends = [part.dimension_values(2).tolist() for part in find_parts(figure, hv.Segments) if len(part) == 2][-1]
    assert ends == [0.3, 0.21]
    assert [text for _, _, text in list_texts(figure)] == ["10%", "20%", "rose"]


@pytest.mark.parametrize("backend", ["matplotlib", "bokeh"])
def test_both_backends_draw_them(store, backend):
    run = (store, 1)
    for figure in (plots.time(run), plots.time(run, width="page"), plots.groups(run, column="rating")):
        assert hv.Store.renderers[backend].get_plot(figure).state is not None


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("time", "--unit", "month", "--moving", 3), ("Jan 2004", "share of words")),
        (("time", "--layer", 2, "--node", "L2:2", "--by", "documents"), ("mean share of documents",)),
        (("groups", "--column", "source", "--most", 1), ("herald", "tribune", "90% intervals")),
        (("groups", "--column", "rating", "--where", "source=herald"), ("share of words",)),
    ],
)
def test_the_command_writes_them(store, tmp_path, words, expected):
    path = tmp_path / "figure.svg"
    assert main.main(["figure", "1", *map(str, words), "--output", str(path), "--store", store]) == 0
    text = path.read_text(encoding="utf-8")
    assert [word for word in expected if word not in text] == []


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("time", "--column", "source"), "column 'source' is of kind category; this needs date"),
        (("time", "--where", "source=ITV"), "column 'source' has no category 'ITV'"),
        (("time", "--where", "rating=9"), "no document of the selection has a date"),
        (("time", "--layer", "1", *("--topic L1:1 " * 7).split()), "shows 6 topics at most; 7 are named"),
        (("groups", "--where", "rating=9"), "no group has documents"),
        (("groups", "--moving", "3"), "--moving changes nothing in the figure groups; leave it out"),
        (("tree", "--unit", "day"), "--unit changes nothing in the figure tree; leave it out"),
        (("groups", "--column", "nowhere"), "nowhere"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_one_sentence(store, tmp_path, capsys, words, sentence):
    path = tmp_path / "figure.svg"
    assert main.main(["figure", "1", *words, "--output", str(path), "--store", store]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1
    assert not path.exists()


def test_topics_without_any_share_are_refused():
    with pytest.raises(ReadError, match="nothing to draw"):
        draw_flat([float("nan")])
