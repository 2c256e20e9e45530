"""Notes and tags on topics and documents: what is kept, copied, counted and deleted with what they are on."""

from datetime import UTC, datetime

import numpy as np
import pytest
from sqlalchemy import text
from store_samples import claimed_run, new_run, write_corpus

from topiary.store import corpora, notes, runs, snapshots
from topiary.store.check import check_store
from topiary.store.errors import NotFound, StoreError
from topiary.store.notes import NOTE, TAG, MatchDecision, NewNote, TopicCopy


def list_texts(rows):
    return [(row.layer, row.topic, row.document, row.kind, row.text, row.author) for row in rows]


@pytest.fixture
def run(db) -> int:
    return new_run(db).number


def test_notes_and_tags_of_a_topic_are_read_back_with_author_and_time_oldest_first(db, run):
    before = datetime.now(UTC).timestamp()
    notes.add_topic_note(db, run, 2, 3, NewNote("  mostly about\nsalt ", author=" Ada  L. "))
    notes.add_topic_note(db, run, 1, 4, NewNote("to  check", TAG))
    rows = notes.read_remarks(db, run).notes
    assert list_texts(rows) == [
        (2, 3, None, NOTE, "mostly about\nsalt", "Ada L."), (1, 4, None, TAG, "to check", ""),
    ]  # fmt: skip
    assert {row.run for row in rows} == {run}
    assert all(abs(row.created.timestamp() - before) < 60 for row in rows)


def test_a_tag_is_there_once_and_a_note_as_often_as_it_is_written(db, run):
    first = notes.add_topic_note(db, run, 1, 1, NewNote("sure", TAG, "Ada"))
    assert notes.add_topic_note(db, run, 1, 1, NewNote(" sure", TAG, "Bob")) == first
    notes.add_topic_note(db, run, 1, 2, NewNote("sure", TAG))
    for _ in range(2):
        notes.add_topic_note(db, run, 1, 1, NewNote("sure"))
    assert [row.kind for row in notes.read_remarks(db, run).notes] == [TAG, TAG, NOTE, NOTE]


def test_tags_are_counted_over_topics_and_documents_of_a_corpus_the_most_frequent_first(db, run):
    corpus, other = runs.get_run(db, run).corpus, write_corpus(db, "other").number
    for topic in (1, 2):
        notes.add_topic_note(db, run, 1, topic, NewNote("salt", TAG))
    notes.add_document_note(db, corpus, 4, NewNote("salt", TAG))
    notes.add_document_note(db, corpus, 4, NewNote("bread", TAG))
    notes.add_document_note(db, corpus, 4, NewNote("a note is no tag"))
    notes.add_document_note(db, other, 4, NewNote("elsewhere", TAG))
    assert list(notes.count_tags(db, corpus).items()) == [("salt", 3), ("bread", 1)]


def test_notes_on_documents_belong_to_the_corpus_and_outlive_its_runs(db):
    run = claimed_run(db)
    runs.finish_run(db, run.number, 1, "stopped")
    notes.add_document_note(db, run.corpus, 0, NewNote("first"))
    notes.add_document_note(db, run.corpus, 5, NewNote("last"))
    notes.add_topic_note(db, run.number, 1, 1, NewNote("of a topic"))
    runs.delete_run(db, run.number)
    assert notes.read_remarks(db, run.number).notes == []
    assert [row.text for row in notes.list_document_notes(db, run.corpus)] == ["first", "last"]
    assert [row.text for row in notes.list_document_notes(db, run.corpus, [5])] == ["last"]
    assert [row.text for row in notes.list_document_notes(db, run.corpus, {1, 5})] == ["last"]
    corpora.delete_corpus(db, run.corpus)
    with db.read() as connection:
        assert connection.execute(text("SELECT count(*) FROM notes")).scalar() == 0


def test_a_fork_has_copies_of_the_notes_on_topics_with_their_authors_and_times(db):
    parent = claimed_run(db)
    snapshot = snapshots.append_snapshot(db, parent.number, 1, 3, 1.0, {"r": np.ones(2)})
    notes.add_topic_note(db, parent.number, 1, 1, NewNote("salt", TAG, "Ada"))
    notes.add_document_note(db, parent.corpus, 0, NewNote("of a document"))
    child = new_run(db, parent.corpus, fork=snapshot.number)
    notes.add_topic_note(db, parent.number, 1, 1, NewNote("later"))
    (original, _), (copied,) = notes.read_remarks(db, parent.number).notes, notes.read_remarks(db, child.number).notes
    assert copied == original._replace(number=copied.number, run=child.number)
    notes.delete_note(db, original.number)
    assert len(notes.read_remarks(db, child.number).notes) == 1
    assert len(notes.list_document_notes(db, parent.corpus)) == 1


def test_a_note_is_changed_with_its_author_and_a_tag_is_not(db, run):
    note = notes.add_topic_note(db, run, 1, 1, NewNote("frist", author="Ada"))
    tag = notes.add_topic_note(db, run, 1, 1, NewNote("sure", TAG))
    changed = notes.change_note(db, note.number, "first ", "Bob")
    assert (changed.number, changed.text, changed.author) == (note.number, "first", "Bob")
    assert changed.created >= note.created
    assert changed in notes.read_remarks(db, run).notes
    with pytest.raises(StoreError, match="is the tag 'sure'; delete it"):
        notes.change_note(db, tag.number, "unsure")
    assert notes.delete_note(db, tag.number) == tag
    with pytest.raises(NotFound, match=f"no note or tag number {tag.number}"):
        notes.delete_note(db, tag.number)


@pytest.mark.parametrize(
    ("new", "sentence"),
    [
        (NewNote("  \n"), "a note without a text"),
        (NewNote("", TAG), "a tag without a text"),
        (NewNote("n" * 4001), "at most 4,000 characters, and this one has 4,001"),
        (NewNote("t" * 61, TAG), "at most 60 characters, and this one has 61"),
        (NewNote("a", "remark"), "is a note or a tag, not a 'remark'"),
    ],
)
def test_what_says_nothing_or_too_much_is_refused(db, run, new, sentence):
    corpus = runs.get_run(db, run).corpus
    with pytest.raises(StoreError, match=sentence):
        notes.add_topic_note(db, run, 1, 1, new)
    with pytest.raises(StoreError, match=sentence):
        notes.add_document_note(db, corpus, 1, new)
    assert notes.read_remarks(db, run).notes == notes.list_document_notes(db, corpus) == []


def test_runs_corpora_and_documents_that_are_not_there_are_refused(db, run):
    corpus = runs.get_run(db, run).corpus
    with pytest.raises(NotFound, match="no run number 99"):
        notes.add_topic_note(db, 99, 1, 1, NewNote("a"))
    with pytest.raises(NotFound):
        notes.add_document_note(db, 99, 1, NewNote("a"))
    for document in (-1, 6):
        with pytest.raises(NotFound, match="its documents are 0 to 5"):
            notes.add_document_note(db, corpus, document, NewNote("a"))


def test_topics_get_what_they_lack_and_keep_their_names(db, run):
    target = new_run(db, runs.get_run(db, run).corpus).number
    notes.set_label(db, target, 1, 2, "bread")
    notes.add_topic_note(db, target, 1, 2, NewNote("salt", TAG))
    notes.add_topic_note(db, run, 1, 7, NewNote("salt", TAG, "Ada"))
    notes.add_topic_note(db, run, 1, 7, NewNote("a long story", author="Ada"))
    rows = notes.read_remarks(db, run).notes
    copies = [TopicCopy(1, 2, "cheese", rows), TopicCopy(2, 1, "top", ()), TopicCopy(2, 2, "", rows[:1])]
    assert notes.copy_to_topics(db, target, copies) == [(False, 1), (True, 0), (False, 1)]
    assert notes.copy_to_topics(db, target, copies) == [(False, 0)] * 3
    assert notes.read_remarks(db, target).names == {(1, 2): "bread", (2, 1): "top"}
    copied = notes.read_remarks(db, target).notes
    assert list_texts(copied)[1:] == [
        (1, 2, None, NOTE, "a long story", "Ada"), (2, 2, None, TAG, "salt", "Ada"),
    ]  # fmt: skip
    assert abs((copied[1].created - rows[1].created).total_seconds()) < 1e-3


def test_the_check_counts_notes(db, run):
    notes.add_topic_note(db, run, 1, 1, NewNote("salt"))
    assert check_store(db).read["notes"] == 1


@pytest.fixture
def pair(db) -> tuple[int, int]:
    return new_run(db).number, new_run(db).number


def test_a_decision_is_read_back_from_either_side(db, pair):
    one, other = pair
    notes.save_match(db, one, other, MatchDecision(2, 3, 4))
    notes.save_match(db, other, one, MatchDecision(1, 5, 0))
    assert notes.list_matches(db, one, other) == [MatchDecision(1, 0, 5), MatchDecision(2, 3, 4)]
    assert notes.list_matches(db, other, one) == [MatchDecision(1, 5, 0), MatchDecision(2, 4, 3)]


def test_a_later_decision_replaces_all_about_the_same_topics_and_no_other(db, pair):
    kept = [MatchDecision(1, 9, 9), MatchDecision(2, 3, 4), MatchDecision(1, 0, 7)]
    for decision in (*kept, MatchDecision(1, 3, 4), MatchDecision(1, 5, 6), MatchDecision(1, 3, 6)):
        notes.save_match(db, *pair, decision)
    assert notes.list_matches(db, *pair) == sorted([*kept, MatchDecision(1, 3, 6)])
    notes.save_match(db, *pair, MatchDecision(1, 3, 0))
    notes.save_match(db, *pair, MatchDecision(1, 0, 6))
    assert notes.list_matches(db, *pair) == sorted([*kept, MatchDecision(1, 3, 0), MatchDecision(1, 0, 6)])


def test_a_decision_can_be_taken_back_by_either_topic(db, pair):
    notes.save_match(db, *pair, MatchDecision(1, 3, 4))
    notes.save_match(db, *pair, MatchDecision(1, 5, 6))
    notes.undo_match(db, *pair, MatchDecision(1, 3, 0))
    notes.undo_match(db, *pair[::-1], MatchDecision(1, 6, 0))
    notes.undo_match(db, *pair, MatchDecision(1, 8, 8))
    assert notes.list_matches(db, *pair) == []


def test_decisions_go_with_either_run(db, pair):
    third = new_run(db).number
    notes.save_match(db, *pair, MatchDecision(1, 1, 1))
    notes.save_match(db, pair[0], third, MatchDecision(1, 2, 2))
    runs.delete_run(db, pair[1])
    assert notes.list_matches(db, *pair) == []
    assert notes.list_matches(db, third, pair[0]) == [MatchDecision(1, 2, 2)]
    runs.delete_run(db, pair[0])
    with db.read() as connection:
        assert connection.execute(text("SELECT count(*) FROM matches")).scalar() == 0


@pytest.mark.parametrize("decision", [MatchDecision(1, 0, 0), MatchDecision(0, 1, 1), MatchDecision(1, -1, 2)])
def test_a_decision_about_nothing_is_refused(db, pair, decision):
    with pytest.raises(StoreError, match="at least one topic"):
        notes.save_match(db, *pair, decision)


def test_one_run_and_runs_that_are_not_there_are_refused(db, pair):
    with pytest.raises(StoreError, match="the same run"):
        notes.save_match(db, pair[0], pair[0], MatchDecision(1, 1, 1))
    with pytest.raises(NotFound, match="no run number 99"):
        notes.save_match(db, pair[0], 99, MatchDecision(1, 1, 1))
    assert notes.list_matches(db, pair[0], 99) == []
