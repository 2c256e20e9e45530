"""The film in a file: one frame for every snapshot, with the boxes that move named, and nothing that escapes.

Its track has a tick for every snapshot that is kept, and the curve between the first and the last.
"""

import json
import re
from dataclasses import replace
from pathlib import Path

import garden
import numpy as np
import pytest
from databases import open_filled

from topiary.app.analysis.hierarchy import format_identity
from topiary.app.analysis.read_hierarchy import read_hierarchy
from topiary.app.export.film import (
    HEIGHT,
    WIDTH,
    choose_film_tree,
    draw_curve,
    draw_track,
    measure_changes,
    place_moments,
    render_film,
    weigh_levels,
    write_film,
)
from topiary.app.views.tree.picture import draw_tree
from topiary.engine.hierarchy.topics import unpack_topics
from topiary.store import runs, snapshots

KEPT = [1, 2, 5, 10, 64, 128, 256, 300, 310, 320]


@pytest.fixture
def db(tmp_path):
    """Open a store with a finished run of three snapshots."""
    opened = open_filled(tmp_path / "store.db")
    row = garden.begin(opened, garden.corpus(opened).number, "first </script> spring")
    for minibatch in (10, 20, 30, 400):
        garden.advance(opened, row, minibatch, snapshot=minibatch != 20)
    runs.finish_run(opened, row.number, row.attempt, "finished")
    yield opened
    opened.close()


def read_data(page: str) -> dict:
    """Return the data in the page of a film."""
    return json.loads(re.search(r'<script type="application/json" id="film">(.*?)</script>', page, re.DOTALL)[1])


def test_there_is_a_frame_for_every_snapshot_with_every_box_named(db):
    row = runs.get_run(db, 1)
    data = read_data(render_film(db, row))
    moments = snapshots.list_snapshots(db, 1)
    assert [frame["step"] for frame in data["frames"]] == [moment.minibatch for moment in moments] == [10, 30, 400]
    assert (data["places"][0], data["places"][-1]) == (0.0, 1000.0)
    last = read_hierarchy(db, row, moments[-1])
    choice = choose_film_tree(last)
    for frame, moment in zip(data["frames"], moments, strict=True):
        drawing = draw_tree(read_hierarchy(db, row, moment), choice)
        boxes = {format_identity(node) for node in drawing.part.nodes}
        assert set(re.findall(r'<g data-id="([^"]+)" transform="translate', frame["svg"])) == boxes
        assert all(own <= common for own, common in zip(frame["size"], data["size"], strict=True))
        assert [topic[0] for topic in frame["topics"]] == [format_identity(node) for node in last.nodes(1)]
    assert len({frame["svg"] for frame in data["frames"]}) == 3


def test_no_text_of_a_corpus_or_run_becomes_code(db):
    page = render_film(db, runs.get_run(db, 1))
    assert page.count("<script") == page.count("</script>") == 2
    assert "first &lt;/script&gt; spring" in page
    titles = [topic[1] + topic[3] for frame in read_data(page)["frames"] for topic in frame["topics"]]
    assert any(garden.NASTY in title for title in titles)  # as text, which the page sets as text
    assert "default-src 'none'" in page
    assert not re.search(r'(?:src|href)="https?:', page)


def test_curves_of_perplexity_and_of_three_layers_are_there(db):
    page = render_film(db, runs.get_run(db, 1))
    assert page.count("<figure>") == 2
    assert page.count("<polyline") == 1 + len(garden.LAYERS)


def test_a_file_is_html_and_a_film_has_two_snapshots(db, tmp_path: Path):
    row = runs.get_run(db, 1)
    assert write_film(db, row, tmp_path / "film.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    with pytest.raises(ValueError, match="its name must end in one of"):
        write_film(db, row, tmp_path / "film.gif")
    other = garden.begin(db, row.corpus)
    garden.advance(db, other, 10, snapshot=True)
    with pytest.raises(ValueError, match="has 1 snapshots, and a film needs two"):
        render_film(db, other)


def test_a_film_that_is_not_wanted_any_more_is_not_drawn_to_its_end(db):
    wanted = iter([True, False])
    with pytest.raises(ValueError, match="not wanted"):
        render_film(db, runs.get_run(db, 1), going_on=lambda: next(wanted))


@pytest.fixture
def empty(tmp_path):
    """Open an empty store."""
    opened = open_filled(tmp_path / "store.db")
    yield opened
    opened.close()


def measure_by_hand(before, now):
    """Return the largest share of any level that moved, topic by topic and word by word."""
    moved = []
    for old, new in zip(weigh(before), weigh(now), strict=True):
        moved.append(sum(abs(old[key] - new[key]) for key in old) / 2)
    return max(moved)


def weigh(arrays):
    """Return the weights of each level as dicts that sum to 1."""
    phi = [arrays[f"phi.{layer}"].astype(float) for layer in range(len(garden.LAYERS))]
    popularity = [np.asarray(arrays["r"], dtype=float)]
    for table in phi[:0:-1]:
        popularity.insert(0, table @ popularity[0])
    levels = []
    for table, weights in zip(phi, popularity, strict=True):
        level = {(k, c): table[k, c] * weights[c] for k in range(len(table)) for c in range(table.shape[1])}
        total = sum(level.values())
        levels.append({key: value / total for key, value in level.items()})
    return levels


def test_the_share_that_moved_is_that_of_a_sum_by_hand(empty):
    row = garden.begin(empty, garden.corpus(empty).number)
    for minibatch in (10, 20, 400):
        garden.advance(empty, row, minibatch, snapshot=True)
    rows = snapshots.list_snapshots(empty, row.number)
    found = measure_changes(empty, rows)
    assert list(found) == [rows[1].number, rows[2].number]
    first, second, third = (garden.arrays(minibatch) for minibatch in (10, 20, 400))
    by_hand = [measure_by_hand(first, second), measure_by_hand(second, third)]
    assert list(found.values()) == pytest.approx(by_hand, abs=1e-5)
    assert min(by_hand) > 0


def test_nothing_moves_between_equal_snapshots_and_one_that_is_gone_is_left_out(empty):
    row = garden.begin(empty, garden.corpus(empty).number)
    for minibatch in (10, 20, 30):
        snapshots.append_snapshot(empty, row.number, row.attempt, minibatch, 1.0, garden.arrays(7))
    rows = snapshots.list_snapshots(empty, row.number)
    assert measure_changes(empty, rows) == pytest.approx({rows[1].number: 0.0, rows[2].number: 0.0})
    gone = replace(rows[1], number=999)
    assert measure_changes(empty, [rows[0], gone, rows[2]]) == pytest.approx({rows[2].number: 0.0})


def test_levels_sum_to_one_from_the_words_up():
    levels = weigh_levels(unpack_topics(garden.arrays(3), shown=True))
    assert [level.shape for level in levels] == [(len(garden.WORDS), 8), (8, 4), (4, 2)]
    assert [float(level.sum()) for level in levels] == pytest.approx([1, 1, 1])


def list_ticks(track: str) -> list[tuple[float, float]]:
    """Return the place and the height of every tick."""
    found = re.findall(r'class="fm-tick" d="M([\d.]+) [\d.]+v-([\d.]+)"', track)
    return [(float(place), float(height)) for place, height in found]


def test_places_are_by_square_roots_from_one_end_to_the_other():
    places = place_moments(KEPT)
    assert (places[0], places[-1]) == (0.0, WIDTH)
    assert places == sorted(places)
    expected = [WIDTH * (each**0.5 - 1) / (320**0.5 - 1) for each in KEPT]
    np.testing.assert_allclose(places, expected)
    assert place_moments([]) == []
    assert place_moments([7]) == [0.0]


def test_every_snapshot_has_a_tick_and_the_largest_change_the_highest():
    plain = list_ticks(draw_track(KEPT, np.empty((0, 2))))
    assert [place for place, _ in plain] == [round(place, 1) for place in place_moments(KEPT)]
    assert len({height for _, height in plain}) == 1
    changes = dict.fromkeys(KEPT, 0.1) | {64: 0.4, 1: 0.0}
    ticks = list_ticks(draw_track(KEPT, np.empty((0, 2)), changes))
    assert max(ticks, key=lambda tick: tick[1])[0] == round(place_moments(KEPT)[KEPT.index(64)], 1)
    assert ticks[0][1] == plain[0][1]
    assert max(height for _, height in ticks) < HEIGHT


def test_the_curve_is_that_between_the_first_and_the_last_snapshot():
    curve = np.array([[1, 90.0], [100, 50.0], [200, np.nan], [320, 40.0], [400, 10.0]])
    points = re.search(r'points="([^"]+)"', draw_curve(KEPT, curve)).group(1).split()
    places = [float(point.split(",")[0]) for point in points]
    assert len(points) == 3  # neither the one without a value nor the one after the last snapshot
    assert (places[0], places[-1]) == (0.0, WIDTH)
    heights = [float(point.split(",")[1]) for point in points]
    assert heights == sorted(heights)  # y points down, the curve falls
    assert draw_curve(KEPT, curve[:1]) == ""
    assert draw_curve([], curve) == ""
