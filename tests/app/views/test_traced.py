"""Every number of a page says what it is when it is pointed at, and from which snapshot."""

from dataclasses import replace

import pytest
from numbers_traced import untraced
from topic_hierarchies import make_hierarchy
from topic_pairs import changed

from app.analysis.comparison import agreement, edge_changes
from app.views.compare import numbers, pair, table, verdict
from app.views.compare.summary import in_short
from app.views.explore.cards import Finding, Found, Marks, topic_list
from app.views.explore.detail import Reading, topic_detail
from app.views.explore.find import find_topics
from app.views.runs.preview import preview
from app.views.traced import said, traced

HIERARCHY = make_hierarchy()
COMPARISON = changed()
CHANGES = edge_changes(COMPARISON, 1.0)
SOURCE = "Run 7, snapshot of mini-batch 700."


def chosen_pair():
    return next(each for each in COMPARISON.pairs if each.paired and each.layer == 1)


def found():
    documents = [Found(3, "a title", "some words")]
    return Finding("word1", find_topics(HIERARCHY, "word1"), documents, 9)


PIECES = {
    "cards of Watch": lambda: preview(HIERARCHY, 1),
    "list of Explore": lambda: topic_list(HIERARCHY, 2, Marks(HIERARCHY.at_rank(2, 1)), Finding("")),
    "search of Explore": lambda: topic_list(HIERARCHY, 2, Marks(), found()),
    "details of a topic": lambda: topic_detail(
        HIERARCHY, HIERARCHY.at_rank(2, 1), 1.0, [Reading("a", "b", "", 0.25, 3)], root=True
    ),
    "numbers of Compare": lambda: numbers.agreement_strip(agreement(COMPARISON, CHANGES), None),
    "sentence of Compare": lambda: (
        verdict.verdict(agreement(COMPARISON, CHANGES), None, "") + in_short(COMPARISON, CHANGES)
    ),
    "table of Compare": lambda: table.pair_table(COMPARISON, table.Listing("change", 0, None, 99)),
    "pair of Compare": lambda: pair.pair_detail(COMPARISON, chosen_pair(), one_run=False),
}


@pytest.mark.parametrize("name", PIECES)
def test_every_number_says_what_it_is(name):
    seen, silent = untraced(PIECES[name]())
    assert seen > 0 or "sentence" in name
    assert silent == []


@pytest.mark.parametrize("name", ["cards of Watch", "list of Explore", "details of a topic"])
def test_numbers_of_a_snapshot_name_it(name):
    assert SOURCE in PIECES[name]()
    later = replace(HIERARCHY, minibatch=900)
    assert "snapshot of mini-batch 900" in preview(later, 1)


def test_what_is_said_is_text():
    assert traced('5 < 6 "x"') == ' title="5 &lt; 6 &quot;x&quot;."'
    assert said("A share") == "A share."
