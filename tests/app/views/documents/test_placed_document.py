"""The documents page as HTML: marks where the words stand, shares as numbers, and no text of users as markup."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from numbers_traced import untraced
from topic_hierarchies import NASTY, make_hierarchy

from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.analysis.inference import decode_line, find_telling_layer
from topiary.app.ingest.new_documents import Span
from topiary.app.views.documents import placed_document as form
from topiary.app.views.documents.placed_document import (
    DocumentAction,
    ListedDocument,
    PlacedDocument,
    TextReading,
    draw_line,
    draw_neighbours,
    draw_placed_document,
    mark_words,
)
from topiary.engine.hierarchy import paths
from topiary.engine.hierarchy.tree import Node

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def hierarchy() -> Hierarchy:
    return make_hierarchy()


def made(hierarchy: Hierarchy, **changes: object) -> PlacedDocument:
    rng = np.random.default_rng(2)
    theta = tuple(rng.gamma(0.5, 2.0, width) for width in hierarchy.widths)
    words = np.array([3, 20, 21], dtype=np.int32)
    fields: dict[str, object] = {
        "title": SCRIPT,
        "text": f"word20 {SCRIPT} word21 word20",
        "document": -1,
        "label": "",
        "reading": TextReading(4, 3, 0, (SCRIPT,), own=True),
        "words": words,
        "counts": np.array([1.0, 2.0, 1.0]),
        "spots": [Span(0, 6, 20), Span(33, 39, 21), Span(40, 46, 20)],
        "theta": theta,
        "shares": tuple(paths.normalise_shares(layer) for layer in theta),
        "rates": None,
        "paths": paths.find_best_paths(hierarchy.phi, theta, 5),
        "classes": [("sport & <games>", 0.8), ("rest", 0.2)],
    }
    return PlacedDocument(**(fields | changes))  # type: ignore[arg-type]


def test_words_are_marked_where_they_stand_by_how_much_of_them_is_explained():
    text = "rose and hedge"
    html = mark_words(text, [Span(0, 4, 7), Span(9, 14, 8)], {7: 0.75, 8: 0.01})
    assert '<mark style="--part:0.75"' in html
    assert '<span class="dc-known">hedge</span>' in html
    assert re.sub(r"<[^>]+>", "", html) == text


def test_layers_below_the_top_say_how_much_comes_from_above_where_there_is_an_encoder(hierarchy):
    html = draw_placed_document(hierarchy, made(hierarchy, above=(0.3, 0.0)), (), {})
    assert re.findall(r">Layer (\d)(?: <small[^>]*>([^<]*)</small>)?</h4>", html) == [
        ("3", ""),
        ("2", "0.00% from above"),
        ("1", "30% from above"),
    ]
    assert "from above" not in draw_placed_document(hierarchy, made(hierarchy), (), {})


def test_a_long_text_is_cut_and_says_so():
    assert "1,000 more characters" in mark_words("x" * 13_000, [Span(12_500, 12_501, 1)], {1: 1.0})


def test_nothing_of_a_document_or_its_labels_is_markup(hierarchy):
    html = draw_placed_document(hierarchy, made(hierarchy), (Node(1, 0),), {20: 0.9}, "<i>beneath</i>")
    assert "<script" not in html
    assert "sport &amp; &lt;games&gt;" in html
    assert "<i>beneath</i>" in html


def test_known_and_unknown_words_are_told(hierarchy):
    html = draw_placed_document(hierarchy, made(hierarchy), (), {})
    assert "<b>3 of 4</b> words are known" in html
    assert "not known: <i>&lt;script&gt;" in html
    counted = made(hierarchy, reading=TextReading(4, 3, 0, (), own=False))
    assert "came as counts" in draw_placed_document(hierarchy, counted, (), {})


def test_words_that_do_not_count_are_told_beside_those_that_do(hierarchy):
    def report(tokens: int, stopped: int) -> str:
        return draw_placed_document(
            hierarchy, made(hierarchy, reading=TextReading(tokens, tokens, stopped, (), own=True)), (), {}
        )

    assert "<b>15 of 15</b> words that count are known to the corpus (1,017 stop words left out)." in report(15, 1017)
    assert "<b>1 of 1</b> word that counts is known to the corpus (1 stop word left out)." in report(1, 1)
    assert "<b>2 of 2</b> words are known to the corpus." in report(2, 0)


def test_every_path_can_be_chosen_and_the_chosen_one_let_go(hierarchy):
    found = made(hierarchy)
    html = draw_placed_document(hierarchy, found, found.paths[1].nodes, {})
    for place, path in enumerate(found.paths):
        ids = ",".join(format_identity(node) for node in path.nodes)
        assert (f'data-ids="{ids}" aria-pressed="false"' in html) == (place != 1)
    assert html.count('aria-pressed="true"') == 1


def test_the_topics_of_a_layer_stand_by_their_share_with_their_identities(hierarchy):
    found = made(hierarchy)
    html = draw_placed_document(hierarchy, found, (), {})
    top = int(np.argmax(found.theta[2]))
    assert f'data-ids="L3:{top + 1}"' in html
    first, second = html.index(">Layer 3</h4>"), html.index(">Layer 2</h4>")
    assert re.search(r"<b[^>]*>([^<]+)</b>", html[first:second])[1] == f"L3:{top + 1}"


def test_a_document_of_counts_is_shown_as_its_words(hierarchy):
    html = draw_placed_document(hierarchy, made(hierarchy, text="", spots=()), (), {20: 0.5})
    assert re.search(r"word20<small[^>]*> × 2</small></mark>", html)
    assert NASTY[3] in html


def test_a_document_that_is_an_image_is_a_picture_beside_what_its_topics_make_of_it():
    hierarchy = make_hierarchy(image_shape=(6, 10))
    html = draw_placed_document(hierarchy, made(hierarchy, rates=np.linspace(0, 1, 60)), (Node(1, 0),), {20: 0.5})
    assert html.count("<figure>") == 3
    assert "as its topics reconstruct it" in html


def test_the_nearest_documents_are_waited_for_with_numbers_and_then_listed():
    assert "250 of 3,000" in draw_neighbours(None, 250, 3000, (), make_hierarchy())
    near = [ListedDocument(17, SCRIPT, "text & text", "sport", 0.25)]
    html = draw_neighbours(near, 3000, 3000, [DocumentAction("document", "Find its topics")], make_hierarchy())
    assert "<script" not in html
    assert 'data-do="document" data-number="17"' in html
    assert ">0.25</small>" in html


def test_a_line_marks_what_comes_in_and_what_never_leaves(hierarchy):
    phi = [np.eye(60)[:, :4] * 0.7 + np.eye(60)[:, [5, 5, 5, 5]] * 0.3]
    steps = decode_line(phi, ([np.array([1.0, 0, 0, 0])], [np.array([0, 0, 0, 1.0])]), 1, 3, 3)
    html = draw_line(hierarchy, steps)
    assert html.count("% of the way") == 3
    assert html.count('class="dc-stay"') >= 3
    assert html.count('class="dc-new"') >= 1
    assert "+ nan" not in html.split("50%")[0]


@pytest.mark.parametrize(("top", "layer"), [([[0.9, 0.1], [0.1, 0.9]], 2), ([[0.5, 0.5], [0.5, 0.5]], 1)])
def test_a_line_is_mixed_at_the_highest_layer_that_tells_its_ends_apart(top, layer):
    phi = [np.eye(2), np.array(top)]
    ends = ([np.array([4.0, 1.0]), np.array([9.0, 1.0])], [np.array([1.0, 4.0]), np.array([1.0, 9.0])])
    assert find_telling_layer(phi, ends) == layer


def test_a_line_between_two_that_no_layer_tells_apart_is_mixed_where_they_differ_most():
    phi = [np.eye(2), np.array([[0.5, 0.5], [0.5, 0.5]])]
    ends = ([np.array([0.51, 0.49]), np.array([9.0, 1.0])], [np.array([0.49, 0.51]), np.array([1.0, 9.0])])
    assert find_telling_layer(phi, ends) == 1


def test_a_line_whose_ends_are_decoded_to_the_same_says_so(hierarchy):
    def step(weight: float, place: int) -> SimpleNamespace:
        rates = np.full(60, 0.1 / 59)
        rates[place] = 0.9
        return SimpleNamespace(weight=weight, words=(1,), shares=(1.0,), new=(False,), rates=rates)

    assert "nearly the same (100% in common)" in draw_line(hierarchy, [step(0.0, 3), step(1.0, 3)])
    assert "nearly the same" not in draw_line(hierarchy, [step(0.0, 3), step(1.0, 4)])


def test_marks_of_new_lines_are_new_lines_and_marked_words_stay_where_they_are():
    text = "rose<br /><br>hedge <BR/> lawn &lt;br&gt;"
    html = mark_words(text, [Span(0, 4, 7), Span(14, 19, 8)], {7: 0.75, 8: 0.5})
    assert re.sub(r"<[^>]+>", "", html) == "rose\nhedge \nlawn &amp;lt;br&amp;gt;"
    assert html.count("<mark") == 2


def test_the_line_between_images_is_a_row_of_pictures():
    hierarchy = make_hierarchy(image_shape=(6, 10))
    step = SimpleNamespace(weight=0.5, words=(1,), shares=(1.0,), new=(False,), rates=np.linspace(0, 1, 60))
    assert '<img src="data:image/png' in draw_line(hierarchy, [step])


def test_the_form_keeps_the_text_as_text_and_asks_for_none_where_documents_are_images():
    html = form.draw_placing_form(f"</textarea>{SCRIPT}", form.SearchState(SCRIPT, 0), images=False)
    assert "<script" not in html
    assert html.count("</textarea>") == 1
    assert "<textarea" not in form.draw_placing_form("", form.SearchState(), images=True)


def test_some_documents_stand_in_the_form_until_one_is_searched():
    some = [ListedDocument(4, SCRIPT, "about roses", "garden")]
    assert "about roses" in form.draw_placing_form("", form.SearchState(), images=False, some=some)
    assert "<script" not in form.draw_placing_form("", form.SearchState(), images=False, some=some)
    assert "about roses" not in form.draw_placing_form("", form.SearchState("x"), images=False, some=some)
    assert "about roses" not in form.draw_placing_form("", form.SearchState("x", 0), images=False, some=some)


def test_the_second_end_can_be_chosen_when_the_first_is():
    search = form.SearchState("x", 1, [ListedDocument(4, "four", "", "")])
    assert ">To</button>" not in form.draw_line_form([], search, 9, None)
    chosen = [form.LineEnd(4, SCRIPT, "", "")]
    html = form.draw_line_form(chosen, search, 8, form.MixingChoice(3, 2, 1))
    assert ">To</button>" in html
    assert "<script" not in html
    assert '<option value="8" selected>' in html
    assert '<option value="2" selected>layer 2</option>' in html
    assert '<option value="0">as usual: layer 1</option>' in html


def test_the_page_begins_with_the_heading_of_a_page() -> None:
    assert "<h1>Documents</h1>" in form.draw_head("", "Topics of run 1")


@pytest.mark.parametrize("trail", [(), (Node(1, 0),)])
@pytest.mark.parametrize("text", ["word20 word21", ""])
def test_every_number_of_a_document_says_what_it_is_and_of_which_snapshot(hierarchy, trail, text):
    near = [ListedDocument(17, "seventeen", "about roses", "sport", 0.25)]
    found = made(hierarchy, title="a title", text=text, spots=(), above=(0.3, 0.2), document=3)
    html = draw_placed_document(hierarchy, found, trail, {20: 0.5}, draw_neighbours(near, 3000, 3000, (), hierarchy))
    seen, silent = untraced(html)
    assert seen > 30
    assert silent == []
    for part in ("dc-bar", "dc-chip", "Hellinger", "placed in the topics and compared", "Probability of the class"):
        place = html.index(part)
        assert "Run 7, snapshot of mini-batch 700." in html[place - 200 : place + 400], part


def test_every_number_of_a_line_and_of_a_search_says_what_it_is(hierarchy):
    steps = decode_line([np.eye(60)[:, :4]], ([np.array([1.0, 0, 0, 0])], [np.array([0, 0, 0, 1.0])]), 1, 3, 3)
    html = draw_line(hierarchy, steps)
    assert untraced(html) == (3, [])
    assert html.count("Run 7, snapshot of mini-batch 700.") >= 6
    assert (
        untraced(
            form.draw_placing_form("", form.SearchState("x", 12, [ListedDocument(4, "four", "", "")]), images=False)
        )[1]
        == []
    )
