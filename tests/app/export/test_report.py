"""The report in a file: every topic once, nothing that escapes, no request, and only what was asked for."""

import re

import garden
import pytest

from app.analysis.read_hierarchy import find_snapshot_at, read_hierarchy
from app.export.report import render_report, write_report
from engine.hierarchy.tree import Node
from store import runs
from store.database import open_database


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


def test_what_cannot_be_written_is_a_sentence(db, stored, tmp_path):
    with pytest.raises(ValueError, match=r"must end in one of \.html"):
        write_report(db, *stored, tmp_path / "report.pdf")
    with pytest.raises(ValueError, match=r"run 1 has no topic L1:99; its layers have"):
        render_report(db, *stored, topics=[Node(1, 98)])
