"""The report in a file: every topic once, nothing that escapes, no request, and only what was asked for."""

import re

import garden
import pytest

from app.analysis.read_hierarchy import find_snapshot_at, read_hierarchy
from app.export.report import render_report, write_report
from engine.hierarchy.tree import Node
from store import notes, runs
from store.database import open_database
from store.notes import TAG, NewNote


@pytest.fixture
def db(tmp_path):
    """Open a store with a finished run whose name is markup."""
    opened = open_database(str(tmp_path / "store.db"))
    row = garden.begin(opened, garden.corpus(opened).number, "first <em> spring")
    garden.advance(opened, row, 400, snapshot=True)
    runs.finish_run(opened, row.number, row.attempt, "finished")
    yield opened
    opened.close()


@pytest.fixture
def stored(db):
    row = runs.get_run(db, 1)
    return row, find_snapshot_at(db, row, None)


def read_sections(page):
    return re.findall(r'<article id="topic-(\d+)-(\d+)">', page)


def test_every_topic_has_a_section_by_layer_from_the_top_most_popular_first(db, stored):
    page = render_report(db, *stored)
    hierarchy = read_hierarchy(db, *stored)
    nodes = [node for layer in (3, 2, 1) for node in hierarchy.nodes(layer) if node not in hierarchy.light]
    assert read_sections(page) == [(str(node.layer), str(node.column + 1)) for node in nodes]
    anchors = set(re.findall(r'href="#([^"]+)"', page))
    assert anchors <= set(re.findall(r'id="([^"]+)"', page)), "a link leads nowhere"
    assert "seed 1" in page


def test_no_text_of_a_corpus_or_run_becomes_code_and_nothing_is_requested(db, stored):
    page = render_report(db, *stored)
    assert "<script" not in page
    assert "<em>" not in page
    assert "&lt;script&gt;" in page
    assert "default-src 'none'" in page
    assert not re.search(r"https?://(?!www\.w3\.org/)", page)


def test_only_chosen_topics_and_no_quotations_if_so_asked(db, stored):
    page = render_report(db, *stored, topics=[Node(1, 2), Node(2, 0)], quotes=False)
    assert read_sections(page) == [("2", "1"), ("1", "3")]
    assert "<blockquote" not in page
    assert "<blockquote" in render_report(db, *stored, topics=[Node(1, 2)])


def test_notes_and_tags_are_with_their_topic_and_with_the_quotation_of_their_document(db, stored):
    row, _ = stored
    assert "rp-tags" not in re.sub("<style>.*</style>", "", render_report(db, *stored), flags=re.DOTALL)
    notes.add_topic_note(db, row.number, 1, 3, NewNote("a <b>bold</b> claim\nin two lines", author="Ada"))
    notes.add_topic_note(db, row.number, 1, 3, NewNote("to check", TAG))
    page = render_report(db, *stored, topics=[Node(1, 2), Node(1, 3)])
    first, second = page.split('<article id="')[1:]
    assert '<ul class="rp-tags"><li>to check</li></ul><p class="rp-remark">a &lt;b&gt;bold' in first
    assert "in two lines<small>Ada · " in first
    assert "rp-remark" not in second
    (quoted,) = {int(number) for number in re.findall(r"document (\d+)</footer>", first)[:1]}
    notes.add_document_note(db, row.corpus, quoted, NewNote("read it twice"))
    page = render_report(db, *stored, topics=[Node(1, 2)])
    assert re.search(rf"document {quoted}</footer></blockquote><p class=\"rp-remark\">read it twice", page)
    assert "read it twice" not in render_report(db, *stored, topics=[Node(1, 2)], quotes=False)


def test_what_cannot_be_written_is_a_sentence(db, stored, tmp_path):
    with pytest.raises(ValueError, match=r"must end in one of \.html"):
        write_report(db, *stored, tmp_path / "report.pdf")
    with pytest.raises(ValueError, match=r"run 1 has no topic L1:99; its layers have"):
        render_report(db, *stored, topics=[Node(1, 98)])
