"""Figures for papers: what the elements hold, the size and the text of the files, and the sentences of the command."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import holoviews as hv
import numpy as np
import pytest
from databases import open_filled
from inference_samples import plain_model, plant
from matplotlib import pyplot
from store_samples import append_points
from topic_hierarchies import make_hierarchy

from topiary import plots
from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.hierarchy import format_identity
from topiary.app.cli import main
from topiary.app.live.history import PointColumns
from topiary.app.plots import curves, tree
from topiary.app.plots.request import KINDS as FIGURES
from topiary.app.plots.request import FigureRequest, find_kind, read_width
from topiary.app.plots.style import cut, measure_width, save, wrap
from topiary.engine.hierarchy.tree import Edge, Node
from topiary.store import runs
from topiary.store.points import Point

__all__ = ["plain_model"]
KINDS = ("comparison", "groups", "perplexity", "steps", "time", "tree")


def columns(*values):
    count = np.arange(1.0, len(values) + 1)
    return PointColumns(10 * count, 2000 * count, 0.5 * count, np.array(values, dtype=float))


def words_of(overlay):
    """All texts of a figure."""
    return [text for labels in overlay.traverse(lambda each: each, [hv.Labels]) for text in labels["text"]]


def drawn(element, tmp_path):
    """The SVG of a figure, and its width and height in inches."""
    text = save(element, tmp_path / "figure.svg").read_text(encoding="utf-8")
    width, height = (float(re.search(rf'{side}="([\d.]+)pt"', text)[1]) / 72 for side in ("width", "height"))
    return text, width, height


def plant_with_curves(db, **options):
    """Plant a run that has curves."""
    row = plant(db, finished=False, **options)
    found = [
        Point(t, 200 * t, 0.5 * t, name, layer, value / t)
        for t in (3, 6, 9)
        for name, layer, value in (
            ("point_perplexity", 0, 900.0),
            ("step_size_mean", 1, 0.1),
            ("step_size_mean", 2, 0.3),
            ("step_size_mean", 3, 0.2),
        )
    ]
    append_points(db, row.number, row.attempt, found)
    runs.finish_run(db, row.number, row.attempt, "finished")


def plant_both(db):
    """Plant a run that predicts labels and one that does not."""
    plant_with_curves(db, classes=True)
    plant_with_curves(db, name="unlabelled")


@pytest.fixture
def store(tmp_path, plain_model):
    """Path of a store with a run that predicts labels and one that does not."""
    path = str(tmp_path / "store.db")
    open_filled(path, plant_both).close()
    return path


def command(store, *words):
    """Exit status of ``topiary figure`` with these words."""
    return main.main(["figure", *map(str, words), "--store", store])


def test_every_kind_names_its_functions_and_the_choices_it_uses():
    assert tuple(FIGURES) == KINDS
    for name in KINDS:
        kind = find_kind(name)
        assert set(kind.options) <= set(FigureRequest._fields)
        assert 1 <= kind.runs[0] <= kind.runs[1]
        module = importlib.import_module(f"topiary.app.plots.{kind.module}")
        assert callable(getattr(module, f"draw_{name}"))
        assert callable(getattr(module, f"plot_{name}"))


def test_perplexity_has_a_curve_per_run_over_the_chosen_axis_without_what_is_no_number():
    overlay = curves.draw_perplexity({"one": columns(900, float("nan"), 700), "two": columns(800, 600)}, "seconds")
    one, two = overlay
    assert isinstance(one, hv.Curve)
    assert (one.label, two.label) == ("one", "two")
    assert one["seconds"].tolist() == [0.5, 1.5]
    assert one["value"].tolist() == [900, 700]
    assert curves.draw_perplexity({"one": columns(900, 800)}).get(0)["documents"].tolist() == [2000, 4000]


def test_axes_have_units_and_a_curve_is_written_at_the_width_of_a_column(tmp_path):
    text, width, height = drawn(
        curves.draw_perplexity({"one": columns(3900, 800), "two": columns(1, 2)}, "seconds"), tmp_path
    )
    assert width == pytest.approx(3.3, abs=0.01)
    assert height == pytest.approx(0.66 * 3.3, abs=0.01)
    for word in ("training time (s)", "point perplexity", "one", "two"):
        assert word in text


def test_step_sizes_have_a_curve_per_layer_on_a_logarithmic_axis_with_plain_powers(tmp_path):
    overlay = curves.draw_steps({"layer 1": columns(0.01, 0.002), "weights r": columns(0.1, 0.0)})
    assert [curve.label for curve in overlay] == ["layer 1", "weights r"]
    assert overlay.get(1)["value"].tolist() == [0.1]
    text, _, _ = drawn(overlay, tmp_path)
    assert "10⁻²" in text
    assert "3×10⁻³" in text
    assert "mathdefault" not in text


def test_a_tree_has_a_box_per_topic_and_a_line_per_edge_the_heavier_the_wider():
    boxes = {
        Node(2, 0): tree.FigureBox("L2:1", ("rose", "hedge")),
        Node(1, 0): tree.FigureBox("L1:1", ("rose",)),
        Node(1, 3): tree.FigureBox("L1:4", ("lawn",)),
    }
    overlay = tree.draw_tree(boxes, [Edge(2, 0, 0, 0.6), Edge(2, 0, 3, 0.2)], more={1: 5})
    corners = [row for part in overlay.traverse(lambda each: each, [hv.Rectangles]) for row in part.data.to_numpy()]
    assert len(corners) == 3
    paths = overlay.traverse(lambda each: each, [hv.Path])
    widths = [hv.Store.lookup_options("matplotlib", path, "style").kwargs["linewidth"] for path in paths]
    assert widths == [3.5, pytest.approx(3.5 / 3, abs=0.05)]
    assert {"layer 2", "layer 1", "rose hedge", "lawn", "5 more"} <= set(words_of(overlay))


def test_boxes_of_a_tree_do_not_touch():
    hierarchy = make_hierarchy((24, 12, 6))
    boxes = {
        node: tree.FigureBox(format_identity(node), tuple(word.text for word in hierarchy.top_words(node)))
        for node in hierarchy.nodes(1)
    }
    overlay = tree.draw_tree(boxes, [])
    corners = np.vstack([part.data.to_numpy() for part in overlay.traverse(lambda each: each, [hv.Rectangles])])
    order = np.argsort(-corners[:, 3])
    assert (corners[order[:-1], 1] - corners[order[1:], 3] > 1).all()


def test_too_many_layers_for_the_width_are_refused_with_a_way_out():
    boxes = {Node(layer, 0): tree.FigureBox("L1:1", ("rose",)) for layer in range(1, 9)}
    with pytest.raises(ReadError, match="--width page"):
        tree.draw_tree(boxes, [], width=2.0)


def test_a_comparison_has_a_line_and_a_score_per_matched_pair():
    first = [tree.TopicEntry("L1:1", ("rose",)), tree.TopicEntry("L1:4", ("moon",))]
    sides = first, [tree.TopicEntry("L1:1", ("lunar",))]
    overlay = tree.draw_comparison(("old", "new"), sides, [tree.MatchedPair(1, 0, 0.83)])
    assert {"old", "new", "rose", "moon", "lunar", "83%", "alike"} <= set(words_of(overlay))


def test_words_are_cut_to_the_width_they_have():
    assert wrap(["rose", "hedge"], 100) == ["rose hedge"]
    assert wrap(["rose", "hedge"], 25) == ["rose", "hedge"]
    short = cut("a" * 80, 40)
    assert short.endswith("…")
    assert measure_width(short) <= 40


def test_widths_are_read_and_others_refused():
    assert (read_width("column"), read_width("page"), read_width("4.5")) == (3.3, 6.8, 4.5)
    for bad in ("wide", "0.2", "nan", "1e9"):
        with pytest.raises(ReadError, match="inches"):
            read_width(bad)


def test_a_pdf_embeds_truetype_fonts_and_is_the_same_every_time(tmp_path):
    overlay = tree.draw_comparison(("old", "new"), ([tree.TopicEntry("L1:1", ("rose",))], []), [])
    first = save(overlay, tmp_path / "one.pdf").read_bytes()
    assert b"/FontFile2" in first
    assert b"/Type3" not in first
    assert save(overlay, tmp_path / "two.pdf").read_bytes() == first


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((1, "perplexity", "--with", 2, "--x", "seconds"), ("training time (s)", "run 1", "run 2")),
        ((1, "steps"), ("layer 1", "weights r", "mini-batches")),
        ((1, "tree", "--threshold", 1), ("layer 2", "layer 1", "garden")),
        ((1, "comparison", "--with", 2, "--layer", 1), ("run 1, seed 1", "garden", "score")),
    ],
)
def test_the_command_writes_every_kind_from_a_store(store, tmp_path, capsys, words, expected):
    path = tmp_path / "figure.svg"
    assert command(store, *words, "--output", path, "--width", 4) == 0
    assert capsys.readouterr().out.strip() == str(path)
    text = path.read_text(encoding="utf-8")
    assert 'width="288pt"' in text
    for word in expected:
        assert word in text


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((1, "pie"), "there is no figure 'pie'; the kinds are comparison, groups, perplexity, steps, time, tree"),
        ((1, "tree", "--width", "wide"), "a width is column, page or a number of inches"),
        ((1, "tree", "--x", "seconds"), "--x changes nothing in the figure tree; leave it out"),
        ((1, "tree", "--with", 2), "the figure tree shows one run, and 2 are named"),
        ((1, "comparison"), "the figure comparison shows 2 runs; name the other one by --with RUN"),
        ((1, "tree", "--layer", 9), "run 1 has no layer 9"),
        ((1, "tree", "--topic", "L1:99"), "run 1 has no topic 'L1:99'"),
        ((1, "tree", "--topic", "L1:2", "--layer", 2), "is a topic of layer 1, and not of 2"),
        ((8, "tree"), "there is no run number 8"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_one_sentence(store, tmp_path, capsys, words, sentence):
    assert command(store, *words, "--output", tmp_path / "figure.pdf") == 2
    said = capsys.readouterr().err
    assert said.startswith("topiary figure: ")
    assert sentence in said
    assert said.count("\n") == 1
    assert not (tmp_path / "figure.pdf").exists()


def test_a_file_that_cannot_be_written_is_said_in_one_sentence(store, tmp_path, capsys):
    assert command(store, 1, "tree", "--output", tmp_path / "figure.docx") == 2
    assert "its name must end in .pdf, .svg or .png" in capsys.readouterr().err
    assert command(store, 1, "tree", "--output", tmp_path / "nowhere" / "figure.pdf") == 2
    assert "cannot be written (No such file or directory)" in capsys.readouterr().err


def test_a_run_without_points_has_no_curves(tmp_path, plain_model, capsys):
    path = str(tmp_path / "store.db")
    open_filled(path, plant).close()
    for kind in ("perplexity", "steps"):
        assert command(path, 1, kind, "--output", tmp_path / "figure.pdf") == 2
    said = capsys.readouterr().err
    assert "run 1 has no point yet, so there is no curve to draw" in said
    assert "run 1 has no step sizes" in said


def test_the_library_draws_what_the_command_draws_for_both_backends(store, tmp_path):
    run = (store, 1)
    figures = [
        plots.perplexity(run, (store, 2)),
        plots.steps(run),
        plots.tree(run, threshold=1, width="page"),
        plots.comparison(run, (store, 2), 1),
    ]
    for element in figures:
        assert isinstance(element, hv.core.Dimensioned)
        for backend in ("matplotlib", "bokeh"):
            assert hv.Store.renderers[backend].get_plot(element).state is not None
    assert command(store, 1, "tree", "--threshold", 1, "--width", "page", "--output", tmp_path / "one.svg") == 0
    plots.save(figures[2], tmp_path / "two.svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


@pytest.mark.parametrize(
    "code",
    [
        "topiary.app.cli.main.main(['runs', '--store', store])",
        "import topiary.app.server.serve, topiary.app.server.visit",
    ],
)
def test_neither_commands_nor_the_server_load_what_draws(store, code):
    asked = f"""
import sys
import topiary.app.cli.main
store = {store!r}
topiary.app.cli.main.build_parser().format_help()
{code}
assert not [name for name in ("holoviews", "matplotlib") if name in sys.modules], "loaded"
"""
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run([sys.executable, "-c", asked], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_letters_without_a_font_are_refused_in_one_sentence_and_no_figure_stays_open(tmp_path):
    before = pyplot.get_fignums()
    for element in (tree.draw_comparison(("\U000f0000", "new"), ([], []), []),):
        with pytest.raises(ReadError, match="no font of this machine"):
            save(element, tmp_path / "figure.pdf")
    assert pyplot.get_fignums() == before
    assert not (tmp_path / "figure.pdf").exists()


def test_a_run_may_be_called_by_characters_without_a_name():
    overlay = curves.draw_perplexity({"a\U000f0000": columns(3, 2), "two": columns(3, 2)})
    assert [curve.label for curve in overlay] == ["a\ufffd", "two"]
