"""The report in a file: every topic once, nothing that escapes, no request, and only what was asked for."""

import re

import garden
import numpy as np
import pytest
from databases import open_filled
from trend_samples import DOCUMENTS, plant_refinement, plant_trends

from topiary.app.analysis.read_hierarchy import find_snapshot_at, read_hierarchy
from topiary.app.analysis.trends import TimeFigure, TopicSeries
from topiary.app.cli.main import main
from topiary.app.export.film import choose_film_tree
from topiary.app.export.report import render_report, write_report
from topiary.app.export.run_tables import build_table, read_request
from topiary.app.views.report_trends import ReportTrends, draw_topic_trends
from topiary.app.views.save_dialogs import list_report_scopes
from topiary.app.views.text import escape, format_percent
from topiary.app.views.theme import LIGHT
from topiary.app.views.tree.tiles import TilesChoice, describe_shares, draw_tiles
from topiary.engine.hierarchy.tree import Node
from topiary.engine.lens.periods import Periods
from topiary.store import notes, runs
from topiary.store.database import open_database
from topiary.store.errors import NotFound
from topiary.store.notes import TAG, NewNote


@pytest.fixture
def db(tmp_path):
    """Open a store with a finished run whose name is markup."""
    opened = open_filled(tmp_path / "store.db")
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


def test_a_report_begins_with_contents_and_with_the_sentence_and_the_tiles_of_explore(db, stored):
    page = render_report(db, *stored)
    hierarchy = read_hierarchy(db, *stored)
    contents = re.search(r'<nav aria-label="Contents">.*?</nav>', page)[0]
    sections = re.findall(r'<section(?: class="[^"]*")? id="([^"]+)"', page)
    assert re.findall(r'href="#([^"]+)"', contents) == sections
    assert f'<p class="rp-answer">{escape(describe_shares(hierarchy))}</p>' in page
    links = {node: f"#topic-{node.layer}-{node.column + 1}" for layer in (3, 2, 1) for node in hierarchy.nodes(layer)}
    links = {node: link for node, link in links.items() if node not in hierarchy.light}
    assert draw_tiles(hierarchy, TilesChoice((1040.0, 640.0), links=links), theme=LIGHT).svg in page
    apart = choose_film_tree(hierarchy)._replace(without=frozenset(hierarchy.nodes(3)[:1]))
    assert " set apart" in render_report(db, *stored, choice=apart)


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


def test_a_topic_with_those_below_it_and_marked_topics_are_those_of_the_page(db, stored):
    hierarchy = read_hierarchy(db, *stored)
    root = hierarchy.at_rank(hierarchy.n_layers, 1)
    scopes = list_report_scopes(hierarchy, choose_film_tree(hierarchy), root)
    with pytest.raises(ValueError, match="no topic of run 1 has a name, a note or a tag"):
        render_report(db, *stored, marked=True)
    sections = read_sections(render_report(db, *stored, below=[root], quotes=False))
    assert sorted(sections) == sorted((str(node.layer), str(node.column + 1)) for node in scopes["open"].topics)
    assert 1 < len(sections) < sum(hierarchy.widths)
    notes.add_topic_note(db, 1, 1, 3, NewNote("to check", TAG))
    marked = read_sections(render_report(db, *stored, marked=True, quotes=False))
    assert marked == [("1", "3")]
    both = read_sections(render_report(db, *stored, below=[root], marked=True, quotes=False))
    assert set(both) == {*sections, *marked}


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


@pytest.fixture
def dated(tmp_path):
    """Open a store whose documents have dates, sources and ratings, and stored shares."""
    opened = open_filled(tmp_path / "dated.db", plant_trends)
    yield opened
    opened.close()


def open_report(db, **options):
    row = runs.get_run(db, 1)
    return render_report(db, row, find_snapshot_at(db, row, None), **options)


def read_article(page, anchor):
    return re.search(rf'<article id="{anchor}">.*?</article>', page, re.DOTALL)[0]


def test_a_report_on_a_run_that_trains_is_on_the_newest_topics_with_shares(tmp_path, capsys):
    db, path = open_database(str(tmp_path / "training.db")), tmp_path / "report.html"
    plant_trends(db, trains=True)
    assert main(["report", "last", "--output", str(path), "--no-quotes", "--store", db.url]) == 0
    page = path.read_text(encoding="utf-8")
    assert "seed 1, 400 mini-batches" in page
    assert "those after 500 mini-batches too" in page
    assert "Share over time" in read_article(page, "topic-3-1")
    db.close()


@pytest.mark.parametrize(("topic", "change"), [(1, "grew"), (2, "shrank")])
def test_topics_are_shown_over_time_and_by_group_with_the_numbers_of_the_tables(dated, topic, change):
    article = read_article(open_report(dated), f"topic-3-{topic}")
    request = read_request(dated, runs.get_run(dated, 1), "time")
    over_time, by_group = (build_table(kind, request).join() for kind in ("time", "groups"))
    series = over_time[over_time["topic"] == f"L3:{topic}"]
    first, last = (format_percent(series["share"].iloc[place]) for place in (0, -1))
    assert re.search(rf"Share over time: {first} in .*2004, {last} in ", article)
    assert article.count('class="rp-line"') == article.count('class="rp-band"') == 1
    assert f"; {change} from " in article
    groups = by_group[by_group["topic"] == f"L3:{topic}"].sort_values("share", ascending=False)
    rows = re.findall(r"<tr><th>([^<]+)</th><td>(\d+)</td>.*?</td><td>([^<]+?) ?<em", article)
    shown = zip(groups["group"], groups["documents"], groups["share"], strict=True)
    assert rows == [(name, str(documents), format_percent(share)) for name, documents, share in shown]
    assert "▲" in article
    assert "▼" in article


def test_the_front_lists_what_grew_and_shrank_among_the_topics_of_the_report(dated):
    page = open_report(dated)
    front = re.search(r'<section id="changes">.*?</section>', page, re.DOTALL)[0]
    assert re.findall(r'<h3>([^<]+)</h3><ol class="rp-changes"><li><a href="#([^"]+)"', front) == [
        ("Grew in layer 3", "topic-3-1"), ("Shrank in layer 3", "topic-3-2"),
        ("Grew in layer 1", "topic-1-1"), ("Shrank in layer 1", "topic-1-2"),
    ]  # fmt: skip
    assert "1 document has no date" in front
    chosen = open_report(dated, topics=[Node(3, 1)], quotes=False)
    assert "#topic-3-1" not in chosen
    assert 'href="#topic-3-2"' in chosen
    assert "None beyond chance" in chosen
    assert "Time and groups</th><td>time by day; groups by source" in page


def test_other_columns_can_be_asked_for_and_one_that_does_not_fit_is_refused(dated):
    article = read_article(open_report(dated, columns=["rating", "source"]), "topic-3-1")
    assert [name.partition(";")[0] for name in re.findall(r"<caption>By (.*?)</caption>", article)] == [
        "rating", "source"
    ]  # fmt: skip
    assert re.findall(r"<tr><th>([0-9.]+)</th>", article) == sorted(re.findall(r"<tr><th>([0-9.]+)</th>", article))
    assert f"<td>{DOCUMENTS // 5}</td>" in article
    with pytest.raises(NotFound, match="no column 'colour'"):
        open_report(dated, columns=["colour"])


def test_runs_on_the_documents_of_a_topic_are_listed_under_it_with_their_topics(dated):
    assert '<div class="rp-finer">' not in open_report(dated)
    finer = plant_refinement(dated)
    hierarchy = read_hierarchy(dated, finer, find_snapshot_at(dated, finer, None))
    page = open_report(dated)
    (listed,) = re.findall(r'<div class="rp-finer">.*?</div>', page)
    assert listed in read_article(page, "topic-3-1")
    assert f"Refined in run 2, “finer run”, on {DOCUMENTS} documents with at least 50% of the topic" in listed
    rows = re.findall(r"<li><b>(.*?)</b> (.*?) <small>(.*?)</small></li>", listed)
    for row, node in zip(rows, hierarchy.nodes(3), strict=True):
        words = " ".join(hierarchy.other_words(node, 6))
        assert row == (escape(hierarchy.title(node)), escape(words), format_percent(hierarchy.share(node)))


def test_without_stored_shares_the_report_says_which_command_computes_them(db, stored, tmp_path):
    assert "rp-trends" not in re.sub("<style>.*</style>", "", render_report(db, *stored), flags=re.DOTALL)
    unplaced = open_filled(tmp_path / "unplaced.db", plant_trends, placed=False)
    page = open_report(unplaced)
    unplaced.close()
    assert 'class="rp-trends"' not in page
    assert "topiary place 1 computes" in page


def test_the_picture_of_a_topic_in_two_hundred_periods_takes_under_ten_kilobytes(dated):
    row = runs.get_run(dated, 1)
    hierarchy = read_hierarchy(dated, row, find_snapshot_at(dated, row, None))
    n = 200
    share = np.random.default_rng(1).random(n)
    series = TopicSeries(Node(1, 0), share, share - 0.1, share + 0.1)
    cut = Periods("day", np.arange(n + 1) * 86_400_000, np.zeros(0, np.int32))
    figure = TimeFigure(cut, np.ones(n, np.int64), [series], (), 1, 0, n)
    drawn = draw_topic_trends(ReportTrends({1: figure}), hierarchy, Node(1, 0))
    assert 2000 < len(drawn) < 10_000  # so that 224 topics are within 5 MB
