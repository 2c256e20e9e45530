"""Titles of documents, what filters select, and the way from one selected document to the next."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from databases import open_filled
from inference_samples import DOCUMENTS, plain_model, plant

from topiary.app.analysis.document_table import (
    LONGEST_TITLE,
    DocumentFilter,
    DocumentSelection,
    find_strongest,
    make_title,
    select_documents,
    shorten_title,
)
from topiary.app.analysis.hierarchy import BACKGROUND, Hierarchy
from topiary.app.analysis.shares import RankedDocuments, find_strongest_topics
from topiary.app.live.feed import Feed
from topiary.engine.hierarchy.paths import cut_shares
from topiary.engine.hierarchy.tree import Node
from topiary.store import corpora
from topiary.store.database import Database
from topiary.store.shares import LayerShares

__all__ = ["plain_model"]

MESSAGE = "From: a@b.c (Al)\nSubject: {}\nOrganization: none\n\nIn article <1> bo writes:\n> Quoted.\nMine."


@pytest.mark.parametrize(
    ("title", "text", "columns", "expected"),
    [
        ("Plain title", "Other words.", {}, "Plain title"),
        ("jinja2.Environment.compile", "Compile a node.", {}, "jinja2.Environment.compile"),
        ("AC/DC live in Rome", "A review.", {}, "AC/DC live in Rome"),
        ("sci.space/6023", MESSAGE.format("Re: The comet"), {}, "The comet"),
        ("document 4", MESSAGE.format("=?utf-8?q?Caf=C3=A9?= hours"), {}, "Café hours"),
        ("document 4", MESSAGE.format("=?no-such?q?x?="), {}, "=?no-such?q?x?="),
        ("0042.txt", MESSAGE.replace("Subject: {}\n", ""), {}, "Mine."),
        ("letter.txt", "Subject: a line\n\nDear all", {"file": "letter.txt"}, "a line"),
        ("test/pos/1181_10", "<br />An <b>odd</b> film.", {}, "An odd film."),
        ("folder\\7", " \n---\n42\nShe came home.\nIt rained.", {}, "She came home."),
        ("", "機械学習の本。次の文。", {}, "機械学習の本。次の文。"),
        ("7", "> all of it\n> is quoted", {}, "all of it"),
        ("document 9", "", {}, "document 9"),
        ("", "", {}, ""),
    ],
)
def test_a_title_is_the_stored_one_or_the_subject_or_the_first_line(
    title: str, text: str, columns: dict[str, str], expected: str
) -> None:
    assert make_title(title, text, columns) == expected


def test_a_long_line_becomes_its_first_sentence_or_is_cut_at_a_word() -> None:
    assert shorten_title("A sentence of some length. " + "More words " * 20) == "A sentence of some length."
    cut = shorten_title("Hi. " + "word " * 40)
    assert cut.endswith("word…")
    assert len(cut) <= LONGEST_TITLE
    assert len(shorten_title("x" * 500)) == LONGEST_TITLE


@pytest.fixture
def db(tmp_path: Any, plain_model: None) -> Iterator[Database]:
    db = open_filled(tmp_path / "store.db", plant)
    yield db
    db.close()


@pytest.fixture
def hierarchy(db: Database) -> Iterator[Hierarchy]:
    feed = Feed(db)
    feed.look_now()
    found = feed.hierarchy(1)
    assert found is not None
    yield found
    feed.stop()


def select(db: Database, hierarchy: Hierarchy | None, **wanted: Any) -> DocumentSelection:
    def read_labels(row: Any) -> Any:
        return corpora.read_labels(db, row)

    def order_documents(found: Hierarchy, node: Node) -> RankedDocuments:
        numbers, weights = zip(*found.uses(node), strict=True)
        return RankedDocuments(np.array(numbers), np.array(weights))

    corpus = corpora.get_corpus(db, 1)
    return select_documents(db, corpus, DocumentFilter(**wanted), hierarchy, read_labels, order_documents, lambda: True)


def test_filters_select_documents_that_fit_all_of_them(db: Database, hierarchy: Hierarchy) -> None:
    everything = select(db, hierarchy)
    assert (everything.total, everything.numbers) == (DOCUMENTS, None)
    assert everything.read_page(1, 10) == list(range(10, 20))
    assert everything.read_page(9, 10) == []
    sport = select(db, hierarchy, label=3)
    assert sport.read_page(0, 99) == list(range(2, DOCUMENTS, 4))
    by_text = select(db, hierarchy, text="goal", label=3)
    with_goal = [n for n in range(2, DOCUMENTS, 4) if "goal" in corpora.read_documents(db, 1, [n])[0].text]
    assert by_text.read_page(0, 99) == with_goal
    assert 0 < len(with_goal) < sport.total
    assert select(db, hierarchy, text="goal", label=1).total == 0
    assert select(db, hierarchy, label=9).total == 0


def test_a_topic_selects_its_stored_documents_strongest_first(db: Database, hierarchy: Hierarchy) -> None:
    uses = [use.document for use in hierarchy.uses(hierarchy.nodes(1)[0])]
    chosen = select(db, hierarchy, subject="L1:1")
    assert chosen.read_page(0, 99) == uses
    assert select(db, hierarchy, subject="L1:1", label=2).read_page(0, 99) == [n for n in uses if n % 4 == 1]
    assert select(db, hierarchy, subject="L7:1").total == 0
    assert select(db, None, subject="L1:1").total == 0


def test_the_next_document_is_the_next_of_those_selected() -> None:
    chosen = DocumentSelection(3, np.array([8, 2, 5]))
    assert [chosen.find_neighbour(n, 1) for n in (8, 2, 5)] == [2, 5, None]
    assert [chosen.find_neighbour(n, -1) for n in (8, 2, 5)] == [None, 8, 2]
    assert (chosen.find_place(5), chosen.find_place(7), chosen.find_neighbour(7, 1)) == (2, None, 8)
    everything = DocumentSelection(3, None)
    assert [everything.find_neighbour(n, 1) for n in (0, 2)] == [1, None]
    assert (everything.find_place(2), everything.find_place(3)) == (2, None)
    assert DocumentSelection(0, np.array([])).find_neighbour(4, 1) is None


def cut(*rows: list[float]) -> LayerShares:
    return LayerShares(*cut_shares(np.array(rows)))


def test_the_strongest_topic_of_each_layer_comes_with_its_share(hierarchy: Hierarchy) -> None:
    first, second = find_strongest(hierarchy, (cut([1, 0, 0, 0], [0.1, 0.6, 0.2, 0.1]), cut([1, 0], [0.25, 0.75])), 1)
    assert first is not None
    assert second is not None
    assert (first.node, second.node) == (hierarchy.node(1, 1), hierarchy.node(2, 1))
    assert (first.share, second.share) == pytest.approx((0.6, 0.75), abs=2e-5)


def test_a_document_whose_topics_are_all_below_a_hundredth_has_no_strongest_one(hierarchy: Hierarchy) -> None:
    assert find_strongest(hierarchy, (cut([0.0] * 4),), 0) == (None,)


def test_background_topics_come_last(hierarchy: Hierarchy, monkeypatch: pytest.MonkeyPatch) -> None:
    roles = (("live", BACKGROUND, "live", "live"), ("live", "live"))
    monkeypatch.setattr(Hierarchy, "roles", property(lambda _: roles))
    (first,) = find_strongest(hierarchy, (cut([0.1, 0.6, 0.2, 0.1]),), 0)
    (only,) = find_strongest(hierarchy, (cut([0.0, 1.0, 0.0, 0.0]),), 0)
    assert first is not None
    assert only is not None
    assert (first.node, only.node) == (hierarchy.node(1, 2), hierarchy.node(1, 1))
    apart = np.array([False, True, False, False])
    rows = ([0.1, 0.6, 0.2, 0.1], [0.0, 1.0, 0.0, 0.0], [0.5, 0.0, 0.0, 0.5], [0.0] * 4)
    columns = [find_strongest_topics(cut(row), apart).tolist() for row in rows]
    assert columns == [[2], [1], [0], [-1]], "the same of all documents at once"
