"""Filters that pages share: conditions in the view, and the tree with the shares of the documents selected."""

from dataclasses import replace
from types import SimpleNamespace

import garden
import numpy as np
import pytest
from databases import open_filled
from page_sessions import PageSession
from trend_samples import DOCUMENTS, make_layer, plant_trends

from topiary.app.jobs.plan import hash_share_origin
from topiary.app.live.feed import Tick
from topiary.app.pages.documents_table import DocumentTable
from topiary.app.pages.explore import ExplorePage
from topiary.app.pages.filters import PlacedTopics, SelectionReader, add_condition
from topiary.app.views.explore.controls import draw_selection
from topiary.store import runs, shares, snapshots


@pytest.fixture
def session(tmp_path):
    db = open_filled(tmp_path / "store.db", plant_trends)
    yield PageSession(db, "explore")
    db.close()


def measure(session, *where):
    session.view.where = where
    reader = SelectionReader(session.context)
    hierarchy = session.feed.hierarchy(1)
    drawn = []
    assert reader.add(hierarchy, lambda: drawn.append(1)) is (hierarchy)
    session.work()
    return reader, reader.add(hierarchy, lambda: None), len(drawn)


def test_shares_are_those_of_the_documents_selected(session):
    whole = session.feed.hierarchy(1)
    reader, herald, drawn = measure(session, "source=herald")
    assert drawn == 1
    assert reader.answer.selected == DOCUMENTS // 2
    assert herald.shares[2].sum() == pytest.approx(1.0)
    assert herald.shares[2][0] == pytest.approx(0.2 + 0.25 + 0.1, abs=0.01)
    assert herald.projections is whole.projections


@pytest.mark.parametrize(
    ("where", "fault"), [("source=ITV", "has no category 'ITV'"), ("day=1999", "No document meets all filters")]
)
def test_a_filter_that_leaves_nothing_says_so_and_shares_are_of_all_documents(session, where, fault):
    reader, hierarchy, _ = measure(session, where)
    assert fault in reader.answer.fault
    assert "shares are those of all documents" in reader.answer.fault
    assert hierarchy.shares is session.feed.hierarchy(1).shares


def test_the_tree_follows_a_filter_and_a_click_takes_it_away(session):
    page = ExplorePage(session.context)
    session.work()
    add_condition(session.view, "source=herald")
    session.work()
    assert f"Shares in {DOCUMENTS // 2} of {DOCUMENTS} documents" in page._controls.html
    assert page._hierarchy.shares[2][0] == pytest.approx(0.55, abs=0.01)
    page.handle({"do": "unfilter", "value": "source=herald"})
    session.work()
    assert session.view.where == ()
    assert "Shares in" not in page._controls.html
    assert page._hierarchy.shares is page._original.shares


@pytest.fixture
def training(tmp_path):
    db = open_filled(tmp_path / "training.db", plant_trends, trains=True)
    yield db
    db.close()


def test_filters_of_a_run_that_trains_read_the_newest_shares_and_say_of_which_step(training):
    session = PageSession(training, "explore")
    reader, herald, _ = measure(session, "source=herald", "L3:1=50%..")
    newest = session.feed.hierarchy(1)
    assert newest.minibatch == herald.minibatch == 500
    n_selected = sum(0.2 + 0.5 * place / DOCUMENTS + 0.1 >= 0.5 for place in range(0, DOCUMENTS, 2))
    assert reader.answer.selected == pytest.approx(n_selected, abs=1)
    assert herald.shares[2][0] == pytest.approx(0.6, abs=0.05)  # all have half of it at least
    assert draw_selection(reader.answer).count("as of mini-batch 400, the last one whose documents have all") == 1


def test_shares_are_moved_to_the_columns_of_the_same_topics(training):
    session = PageSession(training, "explore")
    newest = session.feed.hierarchy(1)
    names = (*newest.names[:2], np.array([1, 5])) if newest.names else (np.arange(6), np.arange(4), np.array([1, 5]))
    turned = replace(newest, names=names)
    placed = PlacedTopics(session.feed.hierarchy(1), None)
    assert placed.move_shares(turned, 3, np.array([0.7, 0.3])).tolist() == [0.3, 0.0]


def test_a_snapshot_that_was_chosen_has_its_own_shares_or_none(training):
    latest = snapshots.find_latest(training, 1)
    session = PageSession(training, "explore", snapshot=latest.number)
    reader, _, _ = measure(session, "L3:1=50%..")
    assert reader.answer.fault.startswith(
        "run 1 has no shares of documents under the snapshot of mini-batch 500; those of the newest topics are"
    )


def test_the_shares_are_measured_again_when_the_run_has_ended(training):
    session = PageSession(training, "explore")
    page = ExplorePage(session.context)
    session.view.where = ("source=herald",)
    session.work()
    assert "as of mini-batch 400" in page._controls.html
    row, latest = runs.get_run(training, 1), snapshots.find_latest(training, 1)
    origin = hash_share_origin(row)
    shares.begin_set(training, latest.number, origin)
    layers = [make_layer(np.full(DOCUMENTS, 0.25), width) for width in garden.LAYERS]
    shares.append_block(training, latest.number, origin, 0, layers, np.full(DOCUMENTS, 50))
    shares.publish_set(training, latest.number, origin)
    runs.finish_run(training, 1, row.attempt, "finished")
    session.feed.look_now()
    page._on_tick(Tick(rows=frozenset({1})))
    session.work()
    assert "as of mini-batch" not in page._controls.html
    assert page._hierarchy.shares[2][0] == pytest.approx(0.25, abs=0.01)


def test_without_any_shares_one_sentence_says_when_they_come(tmp_path):
    db = open_filled(tmp_path / "new.db", plant_trends, placed=False, trains=True)
    reader, _, _ = measure(PageSession(db, "explore"), "source=herald")
    assert "computed while the run trains, and when it ends; shares are those of all documents." in reader.answer.fault
    db.close()


def test_a_topic_that_does_not_exist_is_said(session):
    reader, _, _ = measure(session, "L3:99=50%..")
    assert "there is no topic L3:99" in reader.answer.fault


def test_the_table_of_documents_follows_a_run_that_trains(training):
    session = PageSession(training, "documents", where=("L3:1=50%..",), subject=("L3:1",))
    object.__setattr__(session.context, "actions", SimpleNamespace(place_documents=lambda *_: False))
    table = DocumentTable(session.context, [], lambda: None)
    table.choose()
    session.work()
    assert "The shares behind these filters are as of mini-batch 400" in table.board.html
    numbers = table._selected.selection.numbers
    assert 0 < len(numbers) < DOCUMENTS
    assert numbers[0] == DOCUMENTS - 2  # the strongest, of the newest shares and not of the examples in the snapshot


def test_what_is_no_condition_is_not_added(session):
    for text in ("nothing", "=x", ""):
        add_condition(session.view, text)
    add_condition(session.view, "a=b")
    add_condition(session.view, "a=b")
    assert session.view.where == ("a=b",)
