"""The documents of a topic in Explore: the passages that say most of it come first, with its words marked."""

import garden
from page_sessions import PageSession

from topiary.app.pages.topic_documents import TopicDocuments
from topiary.engine.hierarchy.tree import Node


def test_the_passages_that_say_most_of_a_topic_come_first(db):
    corpus = garden.corpus(db)
    row = garden.begin(db, corpus.number, "run")
    garden.advance(db, row, 400, snapshot=True)
    session = PageSession(db, "explore")
    documents, hierarchy = TopicDocuments(session.context), session.feed.hierarchy(1)
    node = Node(1, 0)  # of gardens
    assert documents.of(hierarchy, node, lambda: None) is None
    session.work()
    found = documents.of(hierarchy, node, lambda: None)
    scores = [each.passage.score for each in found]
    assert len(found) == 8
    assert scores == sorted(scores, reverse=True)
    assert [each.number % 4 for each in found[:5]] == [0] * 5, "the examples of every topic are documents 0 to 19"
    marked = {each.passage.text[begin:end] for each in found[:5] for begin, end in each.passage.marks}
    assert marked
    assert marked <= set(garden.SUBJECTS[0].split())
