"""The table of documents and the reader's bar as HTML: a table with heads, and no text of users as markup."""

import re
from dataclasses import replace

import pytest
from numbers_traced import untraced
from topic_hierarchies import make_hierarchy

from topiary.app.analysis.document_table import DocumentFilter, StrongestTopic
from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.views.documents.document_table import (
    DocumentRow,
    ReaderPlace,
    TablePage,
    draw_reader_bar,
    draw_reading,
    draw_table,
)
from topiary.app.views.documents.placed_document import ListedDocument

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def hierarchy() -> Hierarchy:
    return make_hierarchy()


@pytest.fixture
def table(hierarchy: Hierarchy) -> TablePage:
    rows = [DocumentRow(25 + n, f"{SCRIPT}-{n}", SCRIPT, 1200.0 + n, has_text=True) for n in range(25)]
    strongest = {25: StrongestTopic(hierarchy.nodes(1)[0], 0.42)}
    return TablePage(
        wanted=DocumentFilter(), total=2225, documents=2225, page=1, rows=rows, labels=(SCRIPT, "sport"),
        hierarchy=hierarchy, strongest=strongest, link="page=documents&run=1",
    )  # fmt: skip


def test_a_table_has_heads_rows_and_a_count_that_is_read_out(table: TablePage) -> None:
    html = draw_table(table)
    heads = re.findall(r"<th[^>]*><span[^>]*>([^<]*)</span></th>", html)
    assert heads == ["Number", "Title", "Label", "Strongest topic", "Words"]
    assert html.count('<tr role="row" data-key=') == 25
    assert ">26–50 of 2,225 documents</p>" in html
    assert 'href="?page=documents&amp;run=1&amp;documents=25"' in html
    assert html.count("<small>42%</small>") == 1
    assert html.count('class="tp-dim">…</span>') == 24
    assert SCRIPT not in html
    assert "page 2 of 89" in html
    assert untraced(html)[1] == []


def test_the_count_says_what_the_filters_ask_for(table: TablePage, hierarchy: Hierarchy) -> None:
    wanted = DocumentFilter("<rose>", 2, "L1:1")
    html = draw_table(replace(table, wanted=wanted, total=3, page=0, rows=table.rows[:3]))
    assert "1–3 of 3 documents that use “" in html
    assert "” most, with “&lt;rose&gt;”, labelled sport, in a corpus of 2,225" in html
    assert re.search(r'<option value="L1:1" selected>', html)
    assert 'data-do="clear"' in html
    assert 'class="dc-pager"' not in html
    assert "No document fits all filters" in draw_table(replace(table, wanted=wanted, total=0, rows=()))
    assert "Searching …" in draw_table(replace(table, wanted=wanted, total=None))


def test_what_a_corpus_does_not_have_is_left_out_or_said(table: TablePage) -> None:
    bare = [row._replace(has_text=False, label="") for row in table.rows]
    html = draw_table(replace(table, rows=bare, labels=(), hierarchy=None))
    assert re.findall(r"<th[^>]*><span[^>]*>([^<]*)</span></th>", html) == ["Number", "Title", "Words"]
    assert "its texts are not kept" in html
    assert "Filter by" in html
    assert "Filter by topic" not in html
    assert "its texts are not kept" not in draw_table(table)


def test_the_bar_says_where_one_is_and_ends_at_the_ends() -> None:
    html = draw_reader_bar(ReaderPlace(7, SCRIPT, 0, 12, None, 9, is_filtered=True))
    assert "1 of 12 documents that the filters select" in html
    assert re.search(r'data-number="9" data-keys="j ArrowRight"[^>]*>Next', html)
    assert re.search(r"disabled[^>]*>Previous", html)
    assert untraced(html)[1] == []
    assert SCRIPT not in html
    outside = draw_reader_bar(ReaderPlace(7, "", None, 12, None, 3, is_filtered=True))
    assert "Document 7, not among the 12 that the filters select" in outside


def test_a_document_can_be_read_before_its_topics_are_found() -> None:
    html = draw_reading(ListedDocument(4, SCRIPT, f"A whole text {SCRIPT}", "sport"), "Finding its topics …")
    assert "A whole text" in html
    assert "Finding its topics …" in html
    assert SCRIPT not in html
