"""Saving reports and tables from a page: numbers as by command and library, filters, and one sentence otherwise."""

import re

import garden
import pandas as pd
import pytest
from databases import open_filled
from page_sessions import PageSession
from trend_samples import plant_trends

import topiary
from topiary.app.cli.main import main
from topiary.app.jobs.uploads import MOST_WAITING, Downloads
from topiary.app.live.actions import Actions
from topiary.app.pages.documents_table import DocumentTable
from topiary.app.pages.explore import ExplorePage
from topiary.app.pages.trends import TrendsPage
from topiary.store import notes
from topiary.store.notes import TAG, NewNote


class Session(PageSession):
    """A page of a session whose browser fetches the tables that are saved."""

    def __init__(self, db, page, build, **fields):
        super().__init__(db, page, **fields)
        object.__setattr__(self.context, "actions", Actions(db.url, self.feed))
        self.page = build(self.context)
        self.work()

    def save(self, kind, form="csv", layer="0", query=""):
        fetched = []
        self.page.board.fetch_file = lambda url, name: fetched.append((url, name))
        fields = {"table": kind, "layer": layer, "format": form, "query": query}
        self.page.handle({"do": "save-table", "form": fields})
        self.work()
        if not fetched:
            return None
        ((url, name),) = fetched
        path = self.context.actions.downloads.take(url.removeprefix("download/"))
        assert path.name == name
        return path


@pytest.fixture
def db(tmp_path):
    opened = open_filled(tmp_path / "store.db", plant_trends)
    yield opened
    opened.close()


def open_trends(db, **fields):
    return Session(db, "trends", TrendsPage, **fields)


def open_explore(db, **fields):
    """Open Explore at a topic of layer 2, in a run with a note on another one."""
    notes.add_topic_note(db, 1, 1, 2, NewNote("to check", TAG))
    return Session(db, "explore", ExplorePage, **({"layer": 2, "topic": 1, "picture": "tree"} | fields))


def save_report(session, topics, quotes="three"):
    """Return the report that the browser gets, and its name; None if it gets nothing."""
    reports = []
    session.page._tree.hand_over = lambda name, text: reports.append((name, text))
    session.page.handle({"do": "report"})
    session.page.handle({"do": "save-report", "form": {"topics": topics, "quotes": quotes}})
    session.work()
    return reports[0] if reports else None


def read_topics(report):
    return [f"L{layer}:{topic}" for layer, topic in re.findall(r'<article id="topic-(\d+)-(\d+)">', report)]


def list_drawn(session):
    return set(re.findall(r'class="tp-node[^"]*" data-id="([^"]+)"', session.page._tree.svg))


@pytest.mark.parametrize(
    ("topics", "quotes"),
    [
        *(("all", "none"), ("open", "three")),
        *(pytest.param(each, "three", marks=pytest.mark.nightly) for each in ("all", "tree", "marked")),
        *(pytest.param(each, "none", marks=pytest.mark.nightly) for each in ("open", "tree")),
        ("marked", "none"),
    ],
)
def test_page_and_command_write_the_same_report_on_the_topics_that_are_chosen(db, topics, quotes, tmp_path):
    session = open_explore(db)
    name, report = save_report(session, topics, quotes)
    chosen = read_topics(report)
    below = list_drawn(open_explore(db, roots=("L2:1",)))
    every = {f"L{layer}:{topic + 1}" for layer, width in enumerate(garden.LAYERS, 1) for topic in range(width)}
    assert set(chosen) == {"all": every, "tree": list_drawn(session), "open": below, "marked": {"L1:2"}}[topics]
    assert 1 < len(below) < len(every)
    row = re.search(rf'name="topics" value="{topics}".*?</label>', session.page._controls.html)[0]
    assert f"<b>{len(chosen)}</b>" in row
    assert ("<blockquote" in report) == (quotes == "three")
    path = tmp_path / name
    words = [f"--topic={each}" for each in chosen if topics != "all"] + ["--no-quotes"] * (quotes == "none")
    assert main(["report", "1", "--output", str(path), "--store", db.url, *words]) == 0
    assert path.read_bytes() == report.encode()


def test_a_report_from_the_page_has_the_tree_on_screen(db):
    _, report = save_report(open_explore(db, roots=("L3:2",), closed=("L3:2",)), "tree")
    assert read_topics(report) == ["L3:2"]
    assert "Topic tree, 1 topics" in report


def test_a_report_from_the_page_of_a_run_that_trains_is_on_the_newest_topics_with_shares(tmp_path):
    db = open_filled(tmp_path / "training.db", plant_trends, trains=True)
    session = open_explore(db)
    assert session.page._hierarchy.minibatch == 500
    _, report = save_report(session, "all", "none")
    assert "seed 1, 400 mini-batches" in report
    assert "Share over time" in report
    latest = session.page._hierarchy.snapshot
    _, report = save_report(open_explore(db, snapshot=latest), "all", "none")  # chosen by the visitor
    assert "seed 1, 500 mini-batches" in report
    db.close()


def test_only_what_is_there_can_be_chosen_for_a_report(db):
    session = Session(db, "explore", ExplorePage)
    assert 'value="marked"' not in session.page._controls.html
    assert save_report(session, "marked") is None
    assert "choose again" in session.report[-1]
    for form in ({"topics": "all", "quotes": "x"}, {"topics": ["all"], "quotes": "none"}, {}):
        session.page.handle({"do": "save-report", "form": form})
    assert session.tasks == []


WHERE = "source=herald"
CASES = {
    "topics": {"layer": 2},
    "documents": {"layer": 1, "where": [WHERE]},
    "time": {"column": "day", "unit": "quarter", "by": "documents", "where": [WHERE]},
    "groups": {"layer": 3, "column": "rating", "where": [WHERE]},
    "contexts": {"query": "rose", "where": [WHERE]},
}


@pytest.mark.parametrize("kind", CASES)
def test_page_command_and_library_give_the_same_numbers(db, kind, tmp_path):
    options = CASES[kind]
    fields = {"where": tuple(options.get("where", ())), "column": options.get("column", "")}
    fields |= {"unit": options.get("unit", "automatic"), "weigh": options.get("by", "tokens")}
    session = open_trends(db, **fields)
    by_page = session.save(kind, layer=str(options.get("layer", 0)), query=options.get("query", ""))
    by_command = tmp_path / "table.csv"
    words = [f"--{name}={each}" for name, value in options.items() for each in (value if name == "where" else [value])]
    assert main(["export", "1", kind, "--output", str(by_command), "--store", db.url, *words]) == 0
    assert by_page.read_bytes() == by_command.read_bytes()
    with topiary.open(db.url) as opened:
        by_library = opened.runs[1].table(kind, **options)
    read = pd.read_csv(by_page, keep_default_na=False, na_values=[""], dtype={"group": str})
    assert len(read) == len(by_library) > 0
    pd.testing.assert_frame_equal(
        read, by_library.replace("", None), check_dtype=False, rtol=1e-6, check_column_type=False
    )  # fmt: skip


def test_parquet_and_excel_have_the_numbers_of_csv(db):
    pytest.importorskip("pyarrow")
    session = open_trends(db)
    tables = [pd.read_csv(session.save("groups")), pd.read_excel(session.save("groups", "xlsx"))]
    tables.append(pd.read_parquet(session.save("groups", "parquet")))
    for other in tables[1:]:
        pd.testing.assert_frame_equal(tables[0], other, check_dtype=False, rtol=1e-9)


def test_the_table_of_documents_follows_label_topic_and_search_of_the_page(db):
    def build(context):
        return DocumentTable(context, [], lambda: None)

    session = Session(db, "documents", build, subject=("L3:2",), where=("source=tribune",))
    session.page.choose()
    session.work()
    assert 'data-open="save-table"' in session.page.board.html
    table = pd.read_csv(session.save("documents", layer="3"))
    assert set(table["document"] % 2) == {1}
    assert {"source", "day", "rating", "topic", "topic_title", "rest"} < set(table)
    (column,) = (name for name in table if name.startswith("L3:2 "))  # its identity, and its title after it
    assert (table[column] >= 0.01).all()
    assert len(pd.read_csv(session.save("documents", query="nowhere"))) == 0
    assert len(pd.read_csv(session.save("documents", query="rose"))) == len(table)


def test_a_column_of_another_kind_than_the_table_needs_is_left_out(db):
    by_group = pd.read_csv(open_trends(db, column="day").save("groups"))
    assert set(by_group["group"]) == {"herald", "tribune"}


def test_what_cannot_be_written_is_a_sentence_and_leaves_no_file(db, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    session = open_trends(db)
    before = set(tmp_path.iterdir())
    assert session.save("contexts") is None
    assert "needs a search" in session.report[-1]
    assert session.save("groups", layer="9") is None
    assert "layer" in session.report[-1]
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    "form", [{}, {"table": "x", "layer": "0", "format": "csv", "query": ""}, {"table": "topics", "layer": "-1"}]
)
def test_a_message_that_makes_no_sense_writes_nothing(db, form):
    session = open_trends(db)
    session.page.handle({"do": "save-table", "form": form})
    assert session.tasks == []


def test_files_that_nobody_fetches_are_removed():
    downloads, paths = Downloads(), []
    for _ in range(MOST_WAITING + 1):
        paths.append(downloads.begin("table.csv"))
        paths[-1].write_text("a")
        token = downloads.offer(paths[-1])
    assert [path.exists() for path in paths] == [False] + MOST_WAITING * [True]
    assert downloads.take(token) == paths[-1]
    assert downloads.take(token) is None
    downloads.close()
    assert [path.exists() for path in paths[1:]] == [False] * (MOST_WAITING - 1) + [True]
    downloads.drop(paths[-1])
