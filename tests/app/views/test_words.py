"""The page of a word as HTML: what is rare is still told apart, contexts are marked, and nothing becomes markup."""

import numpy as np
import pytest
from topic_hierarchies import NASTY, make_hierarchy

from topiary.app.analysis.passages import MarkedText, WordContextLine
from topiary.app.analysis.trends import DocumentGroups
from topiary.app.analysis.word_trends import WordGroups, WordPeriods
from topiary.app.views.text import escape
from topiary.app.views.trends.time_chart import MeasuredBy
from topiary.app.views.words import WordChoices, WordPageContents, draw_word_page
from topiary.engine.hierarchy.tree import Node
from topiary.engine.lens.periods import Periods

BAD = "<script>alert(1)</script>"


@pytest.fixture
def page():
    hierarchy = make_hierarchy((8, 4), n_words=len(NASTY) + 4)
    starts = np.array([0, 86_400_000, 2 * 86_400_000])
    two = np.array([0.00034, 0.00067])
    names = [BAD, "herald"]
    line = WordContextLine(4, BAD, MarkedText(f"a {BAD}", ((2, 27),)), NASTY[0], MarkedText(" end"), 0.0)
    return WordPageContents(
        hierarchy=hierarchy,
        choices=WordChoices(
            NASTY[0], Node(1, 0), "day", BAD, ["day"], [BAD, "rating"], MeasuredBy(), (f"{BAD}=1",), [BAD]
        ),
        number=0,
        counted=(17.0, 12, 1_000_000.0),
        over_time=WordPeriods(
            Periods("day", starts, np.zeros(9, np.int32)), np.array([5, 4]), two, two / 2, two * 2, two[0], two[1],
            (0.0001, 0.0005), 3,
        ),
        by_group=WordGroups(
            DocumentGroups(np.zeros(9, np.int32), names, [f"source={name}" for name in names]), np.array([5, 4]), two,
            two / 2, two * 2, 0.0005, 0,
        ),
        contexts=[line],
        selected=9,
        documents=20,
    )  # fmt: skip


def test_the_page_shows_rare_shares_with_two_digits_and_what_changed(page):
    html = draw_word_page(page)
    assert "17 times in 12 documents, 0.0017% of the words of 9 of 20 documents" in html
    assert "0.034%, last third 0.067%, difference +0.01% to +0.05% (90% interval): more often." in html
    assert "3 documents have no date and are left out." in html
    assert ">0.067%</b>" in html
    assert "less often" in draw_word_page(page._replace(over_time=page.over_time._replace(change=(-0.2, -0.1))))


def test_nothing_of_a_corpus_becomes_markup_and_contexts_are_marked(page):
    html = draw_word_page(page)
    assert "<script" not in html
    assert f"a <mark>{escape(BAD)}</mark>" in html
    assert 'data-do="place" data-number="4"' in html
    assert html.index("Its topics") < html.index("Over time") < html.index("In context") < html.index("By &lt;script")


def test_it_says_what_is_missing(page):
    bare = draw_word_page(page._replace(over_time=None, by_group=None, contexts=()))
    assert "No column of this corpus holds dates" in bare
    assert "no label, category or number" in bare
    assert "The word is in no text" in bare
    unknown = draw_word_page(page._replace(number=-1, alike=("rose", BAD)))
    assert 'data-do="word" data-value="rose"' in unknown
    assert "Over time" not in unknown
