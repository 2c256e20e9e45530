"""What the page Steer shows: words with what was said of them, likeness of topics, suggestions, and the answer."""

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from topic_hierarchies import make_hierarchy

from topiary.app.analysis.hierarchy import format_identity
from topiary.app.analysis.journal import JournalEntry
from topiary.app.jobs.edit_orders import EditOrder
from topiary.app.views.steer import SteerContents, draw_steer_head, draw_steering, find_alike, suggest_edits
from topiary.engine.hierarchy.tree import Node
from topiary.engine.steering.edit import KINDS


@pytest.fixture(scope="module")
def hierarchy():
    return make_hierarchy()


def make_entry(**fields):
    """Return an edit that was made."""
    usual = {
        "number": 1, "state": "applied", "kind": "keep", "layer": 1, "topics": ("L1:1",), "words": (),
        "strength": "weak", "name": "", "author": "Ann", "created": datetime(2026, 1, 1, tzinfo=UTC),
        "step": 40, "what": "keep x in L1:1",
        "result": "1 topic changed", "message": "", "topic": None, "changed": ("L1:1",), "tokens": 3, "documents": 2,
        "perplexity_before": 964.2, "perplexity_after": 965.9,
    }  # fmt: skip
    return JournalEntry(**usual | fields)


def test_the_answer_says_how_much_the_last_edit_changed(hierarchy):
    contents = SteerContents(hierarchy, Node(1, 0), [make_entry(), make_entry(number=2, state="waiting")], KINDS)
    others = hierarchy.widths[0] - 1
    assert f"1 topic changed, {others} did not; perplexity 964 to 966." in draw_steer_head(contents)
    assert "Tell the topics what you know." in draw_steer_head(contents._replace(journal=[]))


def test_a_word_has_the_state_of_the_last_edit_and_drafts_are_told_apart(hierarchy):
    first, second, *_ = (word.text for word in hierarchy.top_words(Node(1, 0), 3))
    journal = [make_entry(kind="out", words=(first,)), make_entry(number=2, words=(first,))]
    drafts = [EditOrder("ban", (), (second,))]
    html = draw_steering(SteerContents(hierarchy, Node(1, 0), journal, KINDS, drafts=drafts))
    rows = dict(zip((first, second), html.split('<span class="st-word">')[1:3], strict=True))
    assert ">kept</em>" in rows[first]
    assert ">banned …</em>" in rows[second]
    assert "Apply 1 edit" in html


def test_a_model_that_cannot_be_steered_offers_nothing(hierarchy):
    html = draw_steering(SteerContents(hierarchy, Node(1, 0), [], (), "this model cannot be steered; DLDA can"))
    assert "This model cannot be steered; DLDA can." in html
    assert 'data-do="steer"' not in html
    assert 'data-do="apply-edits"' not in html


def test_nearly_equal_topics_and_words_that_lead_everywhere_are_suggested(hierarchy):
    twin = hierarchy.projections[0].copy()
    twin[:, 1] = twin[:, 0]
    made = replace(hierarchy, projections=(twin, *hierarchy.projections[1:]))
    found = suggest_edits(made, KINDS)
    merged = next(each for each in found if each.kind == "merge")
    assert {format_identity(merged.node), format_identity(merged.other)} == {"L1:1", "L1:2"}
    assert "99.9% alike" in merged.sentence
    assert merged.sentence.startswith(f"Merge “{made.title(merged.node)}” and “")
    banned = [hierarchy.vocabulary.index(each.word) for each in found if each.kind == "ban"]
    first = np.argsort(-twin, axis=0, kind="stable")[:30]
    assert banned
    assert all((first == word).any(axis=0).sum() >= 3 for word in banned)
    assert suggest_edits(made, ()) == []


def test_likeness_is_the_cosine_of_words(hierarchy):
    node, (other, alike) = Node(2, 0), find_alike(hierarchy, Node(2, 0))[0]
    one, two = (hierarchy.projections[1][:, hierarchy.place(each)] for each in (node, other))
    assert alike == pytest.approx(one @ two / np.linalg.norm(one) / np.linalg.norm(two))
