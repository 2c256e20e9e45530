"""The panel about a word: its topics by layer in percent, its passages, and nothing that becomes markup."""

import re

from topic_hierarchies import NASTY, make_hierarchy

from topiary.app.analysis.hierarchy import format_identity
from topiary.app.analysis.word_use import WordContext, find_word_uses
from topiary.app.views.explore.word_card import WordPassage, WordPassages, draw_word_card
from topiary.app.views.text import escape, format_percent


def test_the_topics_of_every_layer_are_listed_from_the_top_with_their_parts() -> None:
    hierarchy = make_hierarchy((8, 4), n_words=200)
    html = draw_word_card(hierarchy, WordPassages(hierarchy.vocabulary[17]))
    assert html.index("Topics of layer 2") < html.index("Topics of layer 1")
    uses = [use for layer in (2, 1) for use in find_word_uses(hierarchy, 17, layer, 5)]
    assert re.findall(r'data-do="select" data-id="([^"]+)"', html) == [format_identity(use.node) for use in uses]
    for use in uses:
        assert f">{format_percent(use.part)}</small>" in html
    assert "searching …" in html


def test_passages_are_marked_counted_and_escaped() -> None:
    hierarchy = make_hierarchy((8, 4), n_words=len(NASTY) + 4)
    bad = "<script>alert(1)</script>"
    passages = [
        WordPassage(4, bad, WordContext(bad, bad, bad)),
        WordPassage(5, "plain", WordContext("no such word", "", "")),
    ]
    html = draw_word_card(hierarchy, WordPassages(NASTY[0], passages, 30), focus=True)
    assert "<script" not in html
    assert f"<mark>{escape(bad)}</mark>" in html
    assert html.count("<mark>") == 1
    assert "the first 2 of 30" in html
    assert 'data-do="place" data-number="4"' in html
    assert "data-autofocus" in html


def test_a_word_that_the_newest_snapshot_lacks_is_said_to_be_missing() -> None:
    assert "Not a word of this run" in draw_word_card(make_hierarchy((8, 4)), WordPassages("no such word", total=0))
