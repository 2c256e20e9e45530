"""Notes on Explore and Documents without a browser: what is sent is stored and shown, and nothing else is believed."""

import re
from collections.abc import Iterator
from typing import Any

import garden
import pytest
from databases import open_filled
from page_sessions import PageSession

from topiary.app.live.actions import Actions
from topiary.app.pages.compare import ComparePage
from topiary.app.pages.documents import DocumentsPage
from topiary.app.pages.explore import ExplorePage
from topiary.store import notes, runs, snapshots
from topiary.store.database import Database
from topiary.store.notes import TAG, NewNote


class Session(PageSession):
    """A page with the actions of an analyst; ticks reach it as in a session."""

    def __init__(self, db: Database, page: str, build: Any, **fields: Any) -> None:
        super().__init__(db, page, **fields)
        object.__setattr__(self.context, "actions", Actions(db.url, self.feed))
        self.page = build(self.context)
        self.feed.subscribe(lambda call: call(), lambda tick: [each(tick) for each in self.ticks])
        self.work()

    @property
    def panel(self) -> str:
        """The HTML that has the notes."""
        return self.page._detail.html if isinstance(self.page, ExplorePage) else self.page._notes.board.html

    def handle(self, do: str, **more: Any) -> "Session":
        page = self.page
        handler = page._notes.board._handler if isinstance(page, DocumentsPage) else page.handle
        handler({"do": do, **more})
        return self.work()

    def list_shown(self) -> list[str]:
        """The texts of tags and notes on screen, in their order."""
        return re.findall(r'<li data-key="n\d+"><(?:span|p)[^>]*>([^<]*)<', self.panel)

    def find_form(self) -> str:
        return re.findall(r'class="ex-note-form" data-key="([^"]+)"', self.panel)[0]


@pytest.fixture
def db(tmp_path: Any) -> Iterator[Database]:
    opened = open_filled(tmp_path / "store.db", garden.plant)
    yield opened
    opened.close()


@pytest.fixture
def explore(db: Database) -> Iterator[Session]:
    session = Session(db, "explore", ExplorePage, layer=1, topic=3, tab="more")
    yield session
    session.feed.stop()


@pytest.fixture
def documents(db: Database) -> Iterator[Session]:
    session = Session(db, "documents", DocumentsPage, documents=(7,))
    yield session
    session.feed.stop()


def test_a_note_and_a_tag_are_added_to_the_topic_on_screen_and_the_form_is_empty_again(
    db: Any, explore: Session
) -> None:
    before = explore.find_form()
    explore.handle("note-add", id="L1:3", form={"text": "roses, mostly", "tag": " to check ", "author": "Ada"})
    assert [(row.layer, row.topic, row.kind, row.text, row.author) for row in notes.read_remarks(db, 1).notes] == [
        (1, 3, "note", "roses, mostly", "Ada"), (1, 3, TAG, "to check", "Ada"),
    ]  # fmt: skip
    assert explore.list_shown() == ["to check", "roses, mostly"]
    assert explore.find_form() != before
    assert "<summary>Notes <small>2</small></summary>" in explore.panel
    explore.view.param.update(topic=4)
    assert explore.list_shown() == []


def test_a_note_is_changed_and_deleted(db: Any, explore: Session) -> None:
    number = notes.add_topic_note(db, 1, 1, 3, NewNote("frist")).number
    explore.feed.relabel(1)
    explore.work()
    assert explore.list_shown() == ["frist"]
    explore.handle("note-change", number=str(number), value="first", form={"author": "Bob"})
    assert explore.list_shown() == ["first"]
    assert [note.author for note in notes.read_remarks(db, 1).notes] == ["Bob"]
    explore.handle("note-delete", number=str(number))
    assert explore.list_shown() == []


def test_what_another_analyst_writes_appears_and_the_form_stays(db: Any, explore: Session) -> None:
    before = explore.find_form()
    explore.context.actions.add_topic_notes(1, 1, 3, [NewNote("by someone else")])
    explore.work()
    assert explore.list_shown() == ["by someone else"]
    assert explore.find_form() == before


MESSAGES = [
    {"do": "note-add", "id": "L9:1", "form": {"text": "a"}},
    {"do": "note-add", "id": "L1:999", "form": {"text": "a"}},
    {"do": "note-add", "id": 3, "form": {"text": "a"}},
    {"do": "note-add", "id": "L1:3", "form": "text"},
    {"do": "note-add", "id": "L1:3"},
    {"do": "note-add", "id": "L1:3", "form": {"text": ["a"], "tag": 7, "author": None}},
    {"do": "note-add", "id": "L1:3", "form": {"text": " ", "author": "Ada"}},
    {"do": "note-add", "id": "L1:3", "form": {"text": "n" * 4001}},
    {"do": "note-delete", "number": "1' OR 1"},
    {"do": "note-delete", "number": "9" * 40},
    {"do": "note-delete", "number": "²"},
    {"do": "note-change", "number": "2", "value": "a tag"},
    {"do": "note-change", "number": "1", "value": 4},
]


def test_messages_that_no_form_sends_change_nothing(db: Any, explore: Session) -> None:
    notes.add_topic_note(db, 1, 1, 1, NewNote("stays"))
    notes.add_topic_note(db, 1, 1, 1, NewNote("stays", TAG))
    before = notes.read_remarks(db, 1).notes
    for message in MESSAGES:
        task = len(explore.tasks)
        explore.page.handle(message)
        for work, _, _ in explore.tasks[task:]:
            with pytest.raises(Exception, match=r"note|tag"):
                work()
        assert notes.read_remarks(db, 1).notes == before, message


def test_a_document_that_is_read_has_notes_above_it_that_every_run_of_the_corpus_shows(
    db: Any, documents: Session
) -> None:
    assert documents.list_shown() == []
    documents.handle("note-add", id="7", form={"text": "a good example", "tag": "", "author": ""})
    documents.handle("note-add", id="7", form={"tag": "quote"})
    documents.handle("note-add", id="8", form={"text": "not on screen"})
    assert documents.list_shown() == ["quote", "a good example"]
    assert [row.text for row in notes.list_document_notes(db, 1)] == ["a good example", "quote"]
    documents.view.param.update(documents=(8,))
    documents.work()
    assert documents.list_shown() == []
    assert '<option value="quote">' in documents.panel
    row = garden.begin(db, 1)
    snapshots.append_snapshot(db, row.number, row.attempt, 10, 1.0, garden.arrays(10))
    runs.finish_run(db, row.number, row.attempt, "stopped")
    other = Session(db, "documents", DocumentsPage, documents=(7,), run=row.number)
    assert other.list_shown() == ["quote", "a good example"]
    documents.view.param.update(documents=(7,))
    documents.work()
    (number,) = [each.number for each in notes.list_document_notes(db, 1) if each.kind == TAG]
    documents.handle("note-delete", number=str(number))
    assert documents.list_shown() == ["a good example"]
    other.feed.stop()


def test_compare_offers_to_carry_names_and_notes_to_b_where_a_has_some(db: Any) -> None:
    row = garden.begin(db, 1)
    snapshots.append_snapshot(db, row.number, row.attempt, 400, 1.0, garden.arrays(400))
    runs.finish_run(db, row.number, row.attempt, "stopped")
    session = Session(db, "compare", ComparePage, run=row.number, partner=1, whole="shown")
    button = "Carry names and notes to B</button>"
    assert "What changed" in session.page._table.html
    assert button not in session.page._table.html
    session.context.actions.add_topic_notes(1, 1, 3, [NewNote("about seasons"), NewNote("sure", TAG)])
    session.work()
    assert button in session.page._table.html
    session.handle("carry")
    assert [(each.topic, each.text) for each in notes.read_remarks(db, row.number).notes] == [
        (3, "about seasons"), (3, "sure"),
    ]  # fmt: skip
    assert session.report == [f"Run {row.number} got 0 names and 2 notes and tags."]
    session.handle("swap")
    assert button in session.page._table.html
    session.view.param.update(run=1, partner=1)
    session.work()
    assert button not in session.page._table.html
    session.feed.stop()
