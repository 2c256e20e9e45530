"""The guide inside the app."""

import re
from types import SimpleNamespace

from topiary.app.pages.guide import GROUPS, GuidePage, read_sections, render_chapter
from topiary.app.pages.session import View
from topiary.app.views import guide

NAMES = [name for group in GROUPS.values() for name in group]


def open_guide(tab: str = ""):
    """Return the view and the board of an open guide."""
    view = View(page="guide", tab=tab)
    return view, GuidePage(SimpleNamespace(view=view)).board


def test_pictures_of_the_guide_are_in_its_pages_and_ask_for_nothing_else():
    pictures = [found for name in NAMES for found in re.findall(r'<img src="([^"]{0,60})', render_chapter(name))]
    assert pictures
    assert all(found.startswith("data:image/svg+xml;base64,") for found in pictures)


def test_every_link_of_a_chapter_opens_a_chapter_at_a_heading_that_is_there_or_another_site():
    anchors = {name: {each.anchor for each in read_sections() if each.chapter == name} for name in NAMES}
    links = [found for name in NAMES for found in re.findall(r"<a ([^>]*)>", render_chapter(name))]
    assert links
    for link in links:
        inside = re.search(r'href="\?page=guide&amp;tab=([\w-]+)" data-do="chapter" data-name="([\w-]+)"', link)
        if inside is None:
            assert re.match(r'href="https?://', link), link
            continue
        assert inside[1] == inside[2]
        heading = re.search(r'data-heading="([\w-]+)"', link)
        assert (heading[1] if heading else "") in anchors[inside[1]], link


def test_a_search_lists_sections_of_all_chapters_and_a_result_opens_its_chapter_at_the_heading():
    view, board = open_guide()
    board._handle_msg({"do": "search", "value": "x", "form": {"query": "strip numbers"}})
    assert 'data-name="watch" data-heading="the-strip-of-numbers"' in board.html
    assert "<article>" not in board.html
    board._handle_msg({"do": "chapter", "name": "watch", "heading": "the-strip-of-numbers"})
    assert view.tab == "watch"
    assert 'id="the-strip-of-numbers" tabindex="-1" data-autofocus data-bring=' in board.html
    assert 'value=""' in board.html
    first = board.html
    board._handle_msg({"do": "chapter", "name": "watch", "heading": "the-strip-of-numbers"})
    assert board.html != first  # the same link works again after scrolling away
    view.tab = "runs"
    assert "data-autofocus" not in board.html


def test_a_search_without_a_result_says_so_in_one_sentence_and_what_was_typed_stays_text():
    _, board = open_guide()
    board._handle_msg({"do": "search", "value": "", "form": {"query": "<b>zzqy</b>"}})
    assert "No section of the guide contains “&lt;b&gt;zzqy&lt;/b&gt;”" in board.html
    board._handle_msg({"do": "search", "value": "", "form": {"query": "  "}})
    assert "<article>" in board.html


def test_an_unknown_chapter_or_heading_is_not_opened():
    view, board = open_guide("runs")
    board._handle_msg({"do": "chapter", "name": "nowhere"})
    assert view.tab == "runs"
    board._handle_msg({"do": "chapter", "name": "watch", "heading": '"><script>'})
    assert "data-autofocus" not in board.html


def test_sections_are_found_by_all_words_and_those_with_the_words_in_their_heading_come_first():
    text = "# Trees\n\nOf oaks.\n\n## Oaks\n\nTall `oaks` & <elms>.\n\n## Elms\n\noaks, oaks and oaks\n\n## Oaks\n\nelm"
    sections = list(guide.split_sections("trees", text))
    assert [each.anchor for each in sections] == ["", "oaks", "elms", "oaks-1"]
    assert [each.anchor for each in guide.find_sections("OAKS elm", sections)] == ["elms", "oaks", "oaks-1"]
    assert [each.anchor for each in guide.find_sections("oaks", sections)] == ["oaks", "oaks-1", "elms", ""]
    shown = guide.draw_results("elms", guide.find_sections("elms", sections))
    assert "Tall oaks &amp; &lt;<mark>elms</mark>&gt;." in shown
    assert "<b>Trees › Oaks</b>" in shown


def test_a_snippet_is_cut_between_words_around_the_word_found():
    text = f"{'before ' * 40}needle {'after ' * 60}"
    shown = guide.draw_snippet("needle", text)
    assert shown.startswith("… before before")
    assert "before <mark>needle</mark> after" in shown
    assert shown.endswith("after …")
