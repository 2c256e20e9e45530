"""Names proposed for topics: phrases that a topic's documents have, and others hardly, as they are written there."""

import garden
import numpy as np
import pytest

from topiary.app.analysis.reader import StoreReader
from topiary.app.analysis.shares import LayerUse
from topiary.app.analysis.topic_names import ProposedName, find_phrases, propose_names
from topiary.engine.hierarchy.tree import Node
from topiary.store import corpora, corpus_writer, runs, snapshots
from topiary.store.blocks import DocumentBlock, StoredCounts
from topiary.store.shares import UNITS, LayerShares

SUBJECTS = (
    "oil prices barrel crude refinery tanker pipeline",
    "cup world final striker goal keeper penalty",
    "gara ronan scrum ruck tackle lineout kick",
    "rose hedge lawn tulip soil prune spade",
)
WORDS = tuple(" ".join(SUBJECTS).split())
EACH = 20  # documents of a subject
OTHERS = "press office, the people say, and that is all"


def write_text(subject, number, rng):
    """A text on a subject: with its phrase in every second one, and a phrase that all subjects have."""
    words = [", ".join(rng.permutation(SUBJECTS[subject].split()))]
    planted = {0: "Oil prices and", 1: "the World Cup final", 2: "Ronan O'Gara and"}.get(subject, "a rose")
    if subject == 3 and number < 3:
        planted = "the rose hedge"  # in too few documents
    return f"{'. '.join(words)}. {planted if number % 2 or subject == 3 else 'Nothing else'}. {OTHERS}."


@pytest.fixture
def planted(db):
    rng = np.random.default_rng(1)
    texts = [write_text(j % 4, j // 4, rng) for j in range(4 * EACH)]
    words = np.concatenate([7 * (j % 4) + np.arange(7) for j in range(len(texts))]).astype(np.int32)
    block = DocumentBlock(
        first=0,
        counts=StoredCounts(np.arange(0, len(words) + 1, 7), words, np.full(len(words), 1, dtype=np.int32)),
        part=np.zeros(len(texts), dtype=np.int8),
        labels=np.full(len(texts), -1, dtype=np.int32),
        titles=[f"document {j}" for j in range(len(texts))],
        texts=texts,
        columns=[{} for _ in texts],
    )
    with corpus_writer.write_corpus(db, "planted", WORDS) as writer:
        writer.add(block)
    row = garden.begin(db, writer.row.number, layers=(4,))
    topics = np.full((len(WORDS), 4), 1e-3)
    for k in range(4):
        topics[7 * k : 7 * k + 7, k] = np.arange(14, 7, -1)
    documents = np.arange(4 * EACH).reshape(EACH, 4).T
    arrays = {"phi.0": topics / topics.sum(axis=0), "r": np.array([4.0, 3.0, 2.0, 1.0]), "top_documents.0": documents}
    arrays["top_weights.0"] = np.tile(np.linspace(1, 0.1, EACH), (4, 1))
    snapshots.append_snapshot(db, row.number, row.attempt, 10, 0.5, arrays)
    return runs.get_run(db, row.number)


def test_a_phrase_of_a_topics_own_documents_is_proposed_as_they_write_it(db, planted):
    reader = StoreReader(db)
    found = propose_names(reader, reader.hierarchy_at(planted), 1)
    assert {node: [each.name for each in names] for node, names in found.items() if names} == {
        Node(1, 0): ["Oil prices"], Node(1, 1): ["World Cup final"], Node(1, 2): ["Ronan O'Gara"],
    }  # fmt: skip
    (name,) = found[Node(1, 0)]
    assert name.part == pytest.approx(0.5)
    assert name.times == pytest.approx(0.5 / (0.5 / (3 * EACH))), "no other document has it: as if half of one had"
    assert name.reason == "in 50% of its documents, 60 times as often as in others"


def test_documents_count_by_their_shares_of_the_topic(db, planted, monkeypatch):
    reader, n = StoreReader(db), 4 * EACH
    units = np.tile(np.array([0.75 * UNITS, 0.25 * UNITS]).astype(np.uint16), n)
    topics = np.array([sorted((j % 4, (j + 1) % 4)) for j in range(n)], dtype=np.int32)
    own = topics == np.arange(n)[:, None] % 4
    units = np.where(own, 0.75 * UNITS, 0.25 * UNITS).astype(np.uint16).ravel()
    layer = LayerShares(np.arange(0, 2 * n + 1, 2), topics.ravel(), units, np.zeros(n, np.uint16))
    monkeypatch.setattr(reader, "find_shares", lambda *_: "stored")
    monkeypatch.setattr(reader, "read_use", lambda *_: LayerUse(layer, np.full(n, 28.0)))
    names = propose_names(reader, reader.hierarchy_at(planted), 1)[Node(1, 0)]
    # ten of its twenty documents have the phrase, and none of the twenty of which it has a quarter
    assert [(each.name, round(each.part, 3)) for each in names] == [("Oil prices", round(0.75 * 10 / 20, 3))]
    assert names[0].times == pytest.approx((0.75 * 10 / 20) / (0.25 * 10 / 60), rel=1e-3)


def test_phrases_are_words_that_belong_together_of_which_the_longest_are_found_too():
    texts = [[["world", "cup", "final"], ["cup"], ["world", "press"]]] * 3 + [[["press", "final"], ["and", "and"]]] * 4
    found = find_phrases(texts)
    assert ("world", "cup", "final") not in found, "in three texts only"
    assert ("world", "cup") in find_phrases(texts * 2)
    assert ("world", "cup", "final") in find_phrases(texts * 2)
    assert ("and", "and") not in find_phrases(texts * 2)


def test_the_same_snapshot_always_has_the_same_names(db, planted):
    first, second = (StoreReader(db) for _ in range(2))
    shown = second.hierarchy_at(planted).choose_words(1.0)
    assert propose_names(first, shown, 1) == propose_names(second, shown, 1)
    assert propose_names(first, shown, 1)[Node(1, 0)][0] == ProposedName("Oil prices", 0.5, 60.0)
    assert corpora.get_run_corpus(db, planted).documents == 4 * EACH
