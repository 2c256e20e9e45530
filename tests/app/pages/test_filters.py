"""Filters that pages share: conditions in the view, and the tree with the shares of the documents selected."""

import pytest
from page_sessions import PageSession
from trend_samples import DOCUMENTS, plant_trends

from app.pages.explore import ExplorePage
from app.pages.filters import SelectionReader, add_condition
from store.database import open_database


@pytest.fixture
def session(tmp_path):
    db = open_database(str(tmp_path / "store.db"))
    plant_trends(db)
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
    page._on_message({"do": "unfilter", "value": "source=herald"})
    session.work()
    assert session.view.where == ()
    assert "Shares in" not in page._controls.html
    assert page._hierarchy.shares is page._original.shares


def test_what_is_no_condition_is_not_added(session):
    for text in ("nothing", "=x", ""):
        add_condition(session.view, text)
    add_condition(session.view, "a=b")
    add_condition(session.view, "a=b")
    assert session.view.where == ("a=b",)
