"""The texts of HTML around the tree: escaped, complete, and the same numbers as the frame's."""

import base64
import re
import struct
import zlib
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from topic_hierarchies import NASTY, make_hierarchy

from topiary.app.analysis.hierarchy import REASONS, Hierarchy, format_identity
from topiary.app.analysis.passages import WordContext, find_word_uses
from topiary.app.analysis.topic_images import draw_atom, draw_mosaic_uri, encode_png
from topiary.app.views.explore.cards import (
    FoundDocument,
    SearchResult,
    TopicMarks,
    WordPassage,
    WordPassages,
    draw_topic_list,
    draw_word_card,
    find_topics,
)
from topiary.app.views.explore.controls import ControlState, draw_controls, draw_outline
from topiary.app.views.explore.detail import PanelState, TopicDocument, draw_topic
from topiary.app.views.text import escape, format_percent, measure_text, replace_unprintable, shorten, wrap_words
from topiary.app.views.tree.boxes import make_boxes
from topiary.app.views.tree.picture import TreeChoice, cut_tree, draw_tree, reveal_topic
from topiary.engine.hierarchy.topics import TRADE
from topiary.engine.hierarchy.tree import Node


class Page(HTMLParser):
    """Tags, attributes and text of a piece of HTML; fails on tags that do not close."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in {"input", "img", "path"}:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag != "path":
            assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def hierarchy() -> Hierarchy:
    return make_hierarchy((8, 4), n_words=len(NASTY) + 4, labels={(2, 1): "<img src=x onerror=alert(1)>"})


def test_no_word_name_title_or_text_becomes_markup(hierarchy: Hierarchy) -> None:
    bad = "<script>alert(1)</script>\x00"
    choice = TreeChoice(tuple(hierarchy.nodes(2)), 0.5)
    part, _ = cut_tree(hierarchy, choice)
    finding = SearchResult(bad, find_topics(hierarchy, "script"), [FoundDocument(1, bad, bad)], 1)
    state = ControlState(chosen=True, hidden=1, wide=False, formats=("svg", "json"))
    node = hierarchy.nodes(2)[0]
    pieces = [
        draw_topic_list(hierarchy, 2, TopicMarks(node, frozenset(hierarchy.nodes(2))), SearchResult("")),
        draw_topic_list(hierarchy, 2, TopicMarks(), finding),
        *(
            draw_topic(hierarchy, each, 1.0, [TopicDocument(bad, bad * 90, bad, 0.5)], PanelState(root=True))
            for each in hierarchy.nodes(2)
        ),
        draw_outline(hierarchy, part),
        draw_controls(hierarchy, choice, state),
    ]
    for piece in pieces:
        page = Page(piece)
        assert not {"script", "img"} & {tag for tag, _ in page.tags}
        assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
        assert "\x00" not in piece


def test_the_list_has_every_topic_of_the_layer_by_rank(hierarchy: Hierarchy) -> None:
    page = Page(draw_topic_list(hierarchy, 1, TopicMarks(), SearchResult("")))
    listed = [attributes["data-key"] for tag, attributes in page.tags if tag == "li"]
    assert listed == [format_identity(node) for node in hierarchy.nodes(1)]
    for node in hierarchy.nodes(1):
        assert format_percent(hierarchy.share(node)) in page.text


def test_the_selected_topic_and_the_roots_are_marked(hierarchy: Hierarchy) -> None:
    node, other = hierarchy.nodes(2)[:2]
    page = Page(draw_topic_list(hierarchy, 2, TopicMarks(node, {other}), SearchResult("")))
    current = [
        attributes["data-key"] for tag, attributes in page.tags if tag == "li" and attributes.get("aria-current")
    ]
    pins = [attributes for _, attributes in page.tags if attributes.get("data-do") == "pin"]
    pressed = [attributes["data-id"] for attributes in pins if attributes.get("aria-pressed") == "true"]
    assert current == [format_identity(node)]
    assert pressed == [format_identity(other)]


def test_a_search_finds_words_without_regard_to_case_and_names_first() -> None:
    hierarchy = make_hierarchy(labels={(1, 3): "WORD17 and others"})
    found = find_topics(hierarchy, "Word17")
    assert format_identity(found[0].node) == "L1:3"
    weights = [match.weight for match in found[1:]]
    assert weights == sorted(weights, reverse=True)
    for match in found[1:]:
        assert match.word == "word17"
        assert "word17" in {word.text for word in hierarchy.top_words(match.node, 30)}
    assert find_topics(hierarchy, "  ") == []
    assert find_topics(hierarchy, "no such word") == []


def test_a_topic_shows_its_words_relatives_and_documents(hierarchy: Hierarchy) -> None:
    node = hierarchy.nodes(2)[0]
    page = Page(draw_topic(hierarchy, node, 1.0, [TopicDocument("A title", "some text", "label", 0.25)]))
    for child in hierarchy.children(node, 12):
        assert any(attributes.get("data-id") == format_identity(child.node) for _, attributes in page.tags)
    for word in hierarchy.top_words(node, 30):
        assert replace_unprintable(word.text) in page.text
    place = f"Top layer · largest of {hierarchy.widths[1]}"
    for text in ("A title", "some text", "label", "0.25", "25%", format_identity(node), place):
        assert text in page.text


def test_relatives_below_the_threshold_are_paler(hierarchy: Hierarchy) -> None:
    node = hierarchy.nodes(2)[0]
    strict = Page(draw_topic(hierarchy, node, 1000.0, []))
    loose = Page(draw_topic(hierarchy, node, 0.0, []))
    weak = [sum(attributes.get("class") == "ex-weak" for _, attributes in page.tags) for page in (strict, loose)]
    assert weak == [len(hierarchy.children(node, 12)), 0]


def test_shares_are_in_percent_and_children_under_one_percent_are_folded() -> None:
    hierarchy = make_hierarchy((40, 4))
    node = hierarchy.nodes(2)[0]
    weights = np.zeros(40)
    weights[:5] = 0.5, 0.3, 0.15, 0.0499, 1.53e-5
    hierarchy.phi[1][:, hierarchy.place(node)] = weights
    html = draw_topic(hierarchy, node, 1.0, [])
    children = html[html.index("<h3>Children") :]
    listed, _, folded = children.partition("<summary>and 1 under 1%</summary>")
    assert [listed.count(f">{share}</small>") for share in ("50%", "30%", "15%", "5.0%")] == [1, 1, 1, 1]
    assert ">&lt;0.01%<" in folded
    assert not re.search(r"\d(\.\d+)?e-\d", html)


def test_a_word_has_a_bar_for_the_topic_and_one_for_the_corpus_on_the_same_scale() -> None:
    hierarchy = make_hierarchy((8, 4), n_words=200)
    node = hierarchy.nodes(1)[0]
    html, words = draw_topic(hierarchy, node, 1.0, []), hierarchy.top_words(node, 30)
    everywhere = hierarchy.projections[0] @ hierarchy.shares[0]
    largest = max(word.weight for word in words)
    bars = re.findall(
        r'data-value="([^"]+)"[^<]*<[^<]*<i class="ex-two" style="--part:([\d.]+)%;--corpus:([\d.]+)%', html
    )
    assert len(bars) == len(words)
    for (text, part, corpus), word in zip(bars, words, strict=True):
        share = everywhere[hierarchy.vocabulary.index(word.text)]
        assert text == escape(word.text)
        assert float(part) == pytest.approx(100 * word.weight / largest, abs=0.06)
        assert float(corpus) == pytest.approx(min(100.0, 100 * share / largest), abs=0.06)


def test_waiting_for_documents_is_said(hierarchy: Hierarchy) -> None:
    assert "Reading the documents" in draw_topic(hierarchy, hierarchy.nodes(1)[0], 1.0, None)


def test_the_outline_names_every_topic_once_in_full() -> None:
    hierarchy = make_hierarchy()
    part, _ = cut_tree(hierarchy, TreeChoice(tuple(hierarchy.nodes(3)[:2]), 1.0))
    page = Page(draw_outline(hierarchy, part))
    named = [attributes["data-id"] for tag, attributes in page.tags if tag == "button"]
    assert set(named) == {format_identity(node) for node in part.nodes}
    again = page.text.count("(above)")
    assert len(named) - again == len(part.nodes)
    assert again > 0


def test_shared_and_unique_are_offered_only_for_several_roots() -> None:
    hierarchy = make_hierarchy()
    state = ControlState(chosen=False, hidden=0, wide=False, formats=("svg",))
    one = draw_controls(hierarchy, TreeChoice((hierarchy.nodes(3)[0],)), state)
    two = draw_controls(hierarchy, TreeChoice(tuple(hierarchy.nodes(3)[:2])), state)
    assert 'data-value="shared"' not in one
    assert 'data-value="shared"' in two


def test_an_atom_is_the_projection_of_its_topic_scaled_to_white() -> None:
    hierarchy = make_hierarchy((6, 3), n_words=20, image_shape=(4, 5))
    node = hierarchy.nodes(2)[0]
    weights = hierarchy.projections[1][:, node.column]
    expected = np.round(weights / weights.max() * 255).reshape(4, 5)
    np.testing.assert_allclose(draw_atom(hierarchy, node), expected, atol=1)
    assert draw_atom(hierarchy, node).max() == 255


def decode(data: bytes) -> np.ndarray:
    """Read back what `encode_png` wrote, checking every checksum."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    place, chunks = 8, {}
    while place < len(data):
        length, kind = struct.unpack(">I4s", data[place : place + 8])
        body = data[place + 8 : place + 8 + length]
        assert struct.unpack(">I", data[place + 8 + length : place + 12 + length])[0] == zlib.crc32(kind + body)
        chunks[kind] = body
        place += 12 + length
    columns, rows = struct.unpack(">II", chunks[b"IHDR"][:8])
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), dtype=np.uint8).reshape(rows, columns + 1)
    assert (lines[:, 0] == 0).all()
    return lines[:, 1:]


def test_a_picture_is_read_back_as_it_was_written() -> None:
    grey = np.random.default_rng(0).integers(0, 256, (7, 11)).astype(np.uint8)
    np.testing.assert_array_equal(decode(encode_png(grey)), grey)


def test_a_mosaic_holds_every_topic_of_the_layer_by_rank() -> None:
    hierarchy = make_hierarchy((6, 3), n_words=20, image_shape=(4, 5))
    sheet = decode(base64.b64decode(draw_mosaic_uri(hierarchy, 1, 4).partition(",")[2]))
    assert sheet.shape == (2 * 4, 4 * 5)
    for place, node in enumerate(hierarchy.nodes(1)):
        row, column = divmod(place, 4)
        tile = sheet[row * 4 : row * 4 + 4, column * 5 : column * 5 + 5]
        np.testing.assert_array_equal(tile, draw_atom(hierarchy, node))


@pytest.mark.parametrize(
    ("share", "text"),
    [
        *((0.5, "50%"), (0.0412, "4.1%"), (0.00374, "0.37%"), (0.00001, "<0.01%"), (0.0, "0.00%"), (1.0, "100%")),
        *((0.0996, "10%"), (0.994, "99%"), (0.9973, "99.7%"), (0.9996, ">99.9%"), (1 - 1e-8, ">99.9%")),
        (sum([0.1] * 10), "100%"),
    ],
)
def test_shares_are_written_for_people(share: float, text: str) -> None:
    assert format_percent(share) == text


@given(st.floats(0, 1), st.none() | st.integers(0, 3))
def test_only_nothing_reads_0_and_only_all_reads_100_percent(share: float, digits: int | None) -> None:
    written = format_percent(share, digits)
    assert written.endswith("%")
    if 0.0 < share < 1 - 1e-9:
        assert written[0] in "<>" or 0.0 < float(written[:-1]) < 100.0


def test_lines_are_no_wider_than_asked_unless_a_word_is() -> None:
    words = ["alpha", "be", "gamma", "incomprehensibilities", "d", "e"]
    lines = wrap_words(words, 6.0)
    assert " ".join(lines) == " ".join(words)
    assert all(measure_text(line) <= 6.0 or " " not in line for line in lines)


def test_text_is_made_safe_for_html_and_xml() -> None:
    assert escape('<a href="x">\'&\x01') == "&lt;a href=&#34;x&#34;&gt;&#39;&amp;\ufffd"
    assert escape("\ud800") == "\ufffd"
    assert shorten("abcdef", 4) == "abc…"
    assert measure_text("日本") == 2.0
    assert measure_text("e\u0301") == measure_text("e")


def test_a_search_says_how_many_of_its_documents_are_listed_and_each_leads_to_its_place(hierarchy: Hierarchy) -> None:
    documents = [FoundDocument(number, f"letter {number}", "") for number in (4, 9)]
    some, every = (
        draw_topic_list(hierarchy, 1, TopicMarks(), SearchResult("war", (), documents, total)) for total in (1725, 2)
    )
    assert re.search("Documents <small[^>]*>the first 2 of 1,725</small>", some)
    assert re.search("Documents <small[^>]*>2</small>", every)
    assert re.findall(r'data-do="place" data-number="(\d+)"', some) == ["4", "9"]


def with_a_light_topic(hierarchy: Hierarchy) -> tuple[Hierarchy, Node]:
    """The hierarchy with the least popular topic of layer 1 far below a thousandth of the tokens."""
    least = hierarchy.nodes(1)[-1]
    parts = hierarchy.shares[0].copy()
    parts[hierarchy.place(least)] = 1e-6
    return replace(hierarchy, shares=(parts, *hierarchy.shares[1:])), least


def test_a_topic_that_is_nearly_the_same_as_a_more_popular_one_says_so_in_the_list_and_in_its_panel() -> None:
    made = make_hierarchy((8, 4), n_words=200)
    first, second, third = made.nodes(1)[:3]
    projection, words = made.projections[0].copy(), made.words[0].copy()
    projection[:, made.place(third)] = projection[:, made.place(second)]
    words[made.place(third)] = words[made.place(second)]
    same = replace(made, projections=(projection, *made.projections[1:]), words=(words, *made.words[1:]))
    hierarchy = replace(same, labels={second: "Ships & <boats>"})
    cards = draw_topic_list(hierarchy, 1, TopicMarks(light=True), SearchResult("")).split("<li ")[1:]
    found = [re.findall('ex-role" title="The cosine[^"]*">([^<]*)<', card) for card in cards]
    assert found == [[], [], [f"nearly the same as {format_identity(second)}"], *([[]] * 5)]
    panels = [draw_topic(hierarchy, node, 1.0, []) for node in (first, second, third)]
    said = [re.findall("nearly the same as[^<]*<span[^>]*>[^<]*", panel) for panel in panels]
    name = "Ships &amp; &lt;boats&gt;"
    assert said == [[], [], [f'nearly the same as {format_identity(second)} <span title="{name}">{name}']]


def test_light_topics_are_folded_away_at_the_end_with_their_number_and_a_switch(hierarchy: Hierarchy) -> None:
    seen, least = with_a_light_topic(hierarchy)
    key = f'data-key="{format_identity(least)}"'
    folded = draw_topic_list(seen, 1, TopicMarks(), SearchResult(""))
    assert key not in folded
    assert "Show 1 light topic<" in folded
    assert 'data-do="light" aria-pressed="false"' in folded
    shown = draw_topic_list(seen, 1, TopicMarks(light=True), SearchResult(""))
    assert key in shown
    assert "Hide 1 light topic<" in shown


@pytest.mark.parametrize("how", ["selected", "root"])
def test_a_light_topic_that_is_chosen_is_listed(hierarchy: Hierarchy, how: str) -> None:
    seen, least = with_a_light_topic(hierarchy)
    marks = TopicMarks(least) if how == "selected" else TopicMarks(None, {least})
    assert f'data-key="{format_identity(least)}"' in draw_topic_list(seen, 1, marks, SearchResult(""))


def test_light_topics_are_left_out_of_trees_unless_they_are_roots_or_asked_for(hierarchy: Hierarchy) -> None:
    seen, least = with_a_light_topic(hierarchy)
    everything = TreeChoice(tuple(seen.nodes(seen.n_layers)), 0.0, cap=10**6)
    assert least not in cut_tree(seen, everything)[0].nodes
    assert least in cut_tree(seen, everything._replace(light=True))[0].nodes
    assert least in cut_tree(seen, everything._replace(roots=(least,)))[0].nodes
    assert least in cut_tree(seen, reveal_topic(seen, everything, least))[0].nodes


def judged(widths: tuple[int, ...] = (8, 4), **more: object) -> tuple[Hierarchy, Node, Node]:
    """A hierarchy whose topics are judged, one of them background and one incoherent."""
    hierarchy = make_hierarchy(widths, n_words=200)
    npmi = tuple(np.full(width, 0.25, np.float32) for width in widths)
    spread = tuple(np.full(width, 0.05, np.float32) for width in widths)
    wide, poor = hierarchy.nodes(1)[:2]
    spread[0][wide.column], npmi[0][wide.column], npmi[0][poor.column] = 0.6, 0.1, -0.125
    return replace(hierarchy, npmi=npmi, spread=spread, **more), wide, poor


def test_a_weak_topic_is_told_in_one_word_with_its_reason_on_card_and_detail() -> None:
    hierarchy, wide, poor = judged()
    cards = draw_topic_list(hierarchy, 1, TopicMarks(light=True), SearchResult("")).split("<li ")[1:]
    for card, node in zip(cards, hierarchy.nodes(1), strict=True):
        tags = re.findall(r'class="ex-role ex-(\w+)" title="([^"]*)">(\w+)<', card)
        role = {wide: "background", poor: "incoherent"}.get(node, "light" if node in hierarchy.light else "live")
        assert tags == ([] if role == "live" else [(role, REASONS[role], role)])
        assert ("ex-quiet" in card) == (node == wide)
        found = re.findall(r'class="ex-role ex-(\w+)"', draw_topic(hierarchy, node, 1.0, []))
        assert found == ([] if role == "live" else [role])


def test_the_coherence_of_a_topic_and_of_a_layer_is_said_where_it_is_known() -> None:
    hierarchy, _, poor = judged()
    assert ">coherence −0.12</span>" in draw_topic(hierarchy, poor, 1.0, [])
    quality = hierarchy.quality(1)
    head = draw_topic_list(hierarchy, 1, TopicMarks(), SearchResult(""))
    assert f">coherence {quality.npmi:.2f}</span>" in head
    assert f">diversity {quality.diversity:.2f}</span>" in head
    assert f"ten first words at λ = {TRADE:g}" in draw_topic_list(
        hierarchy.choose_words(1.0), 1, TopicMarks(), SearchResult("")
    )
    unknown = make_hierarchy((8, 4), n_words=200)
    assert ">coherence" not in draw_topic(unknown, poor, 1.0, [])
    assert ">coherence" not in draw_topic_list(unknown, 1, TopicMarks(), SearchResult(""))
    assert ">diversity" in draw_topic_list(unknown, 1, TopicMarks(), SearchResult(""))


def test_words_that_are_everywhere_are_listed_beneath_the_topics() -> None:
    hierarchy, _, _ = judged(common_words=(0, 11))
    html = draw_topic_list(hierarchy, 1, TopicMarks(), SearchResult(""))
    assert "2 words are everywhere in this corpus" in html
    assert f"<p>{escape(hierarchy.vocabulary[0])} word11</p>" in html
    assert "everywhere in" not in draw_topic_list(
        replace(hierarchy, common_words=()), 1, TopicMarks(), SearchResult("")
    )


def test_a_layer_of_pictures_has_neither_a_choice_of_words_nor_their_quality() -> None:
    pictures = make_hierarchy((6, 3), n_words=20, image_shape=(4, 5))
    words = make_hierarchy((6, 3))
    assert "ex-quality" in draw_topic_list(words, 1, TopicMarks(), SearchResult(""))
    assert "ex-quality" not in draw_topic_list(pictures, 1, TopicMarks(), SearchResult(""))
    state = ControlState(chosen=False, hidden=0, wide=False, formats=("svg",))
    for part in ('data-do="relevance"', 'data-input="relevance"'):
        assert part in draw_controls(words, TreeChoice((words.nodes(2)[0],)), state)
        assert part not in draw_controls(pictures, TreeChoice((pictures.nodes(2)[0],)), state)


def test_a_background_topic_is_written_in_a_paler_ink_in_the_tree() -> None:
    hierarchy, wide, _ = judged()
    quiet = [node for node, box in make_boxes(hierarchy, hierarchy.nodes(1)).items() if box.quiet]
    assert quiet == [wide]
    svg = draw_tree(hierarchy, TreeChoice(tuple(hierarchy.nodes(2)), 0.0, light=True)).svg
    pieces = dict(re.findall(r'data-id="(L1:\d+)"(.*?)class="tp-gist"', svg))
    assert len(pieces) == 8
    for key, piece in pieces.items():
        ink = re.search(r'<text font-size="[\d.]+" fill="var\(--tp-(\w+)\)"><tspan', piece)
        assert ink
        assert ink[1] == ("muted" if key == format_identity(wide) else "ink")
        assert (", background&#10;" in piece) == (key == format_identity(wide))


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
