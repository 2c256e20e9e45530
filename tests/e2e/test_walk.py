"""An analyst's walk from a raw table with dates and a category to a report: by five commands, and by page."""

import csv
import re
from collections import Counter

import numpy as np
import pytest
from orchard import wait_for
from playwright.sync_api import expect
from process_samples import train_here
from speeches import PARTIES, THEMES, write_speeches

from topiary.app.cli.main import main
from topiary.app.export.run_tables import build_table, read_request
from topiary.app.jobs import launcher
from topiary.app.views.text import format_percent
from topiary.store import runs
from topiary.store.database import open_database

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
PARAGRAPHS = 8  # of a year
BUSY = 150_000  # milliseconds; reading files and training take seconds of a processor that others may use
SMALL = ("--layers", "12-6", "--minibatches", "60", "--threads", "1", "--wait")


# ------------------------------------------------------------ by commands


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    """The folder in which the five commands were given, one after the other."""
    folder = tmp_path_factory.mktemp("walk")
    write_speeches(folder / "speeches.csv", PARAGRAPHS)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("XDG_DATA_HOME", "LOCALAPPDATA"):
            patch.setenv(name, str(folder / "data"))
        patch.setenv("TOPIARY_STORE", str(folder / "store.db"))
        patch.setattr(launcher, "start_worker", train_here)
        for command in (
            ("import", folder / "speeches.csv"),
            ("train", "speeches", *SMALL),
            ("export", 1, "time", "--layer", 2, "--unit", "decade", "--output", folder / "time.csv"),
            ("figure", 1, "groups", "--layer", 2, "--where", "date=1950..", "--output", folder / "parties.svg"),
            ("report", 1, "--output", folder / "report.html"),
        ):
            assert main([*map(str, command)]) == 0, command
    return folder


def read_rows(walked):
    with (walked / "time.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def find_topics(rows, theme):
    """The topics most of whose title words are of a theme."""
    words = THEMES[theme].words.split()
    return {row["topic"] for row in rows if sum(word in words for word in row["title"].split(", ")) >= 2}


@pytest.mark.parametrize(("theme", "direction"), [("railways", -1), ("clinics", 1)])
def test_the_planted_trends_are_in_the_table(walked, theme, direction):
    rows = read_rows(walked)
    topics = find_topics(rows, theme)
    shares = dict.fromkeys(sorted({row["period"] for row in rows}), 0.0)
    for row in rows:
        shares[row["period"]] += float(row["share"]) * (row["topic"] in topics)
    assert [at[:4] for at in shares] == [str(year) for year in range(1900, 2000, 10)]
    assert direction * np.corrcoef(np.arange(10), list(shares.values()))[0, 1] > 0.8
    assert max(shares.values()) > 3 * min(shares.values())


def test_the_figure_has_the_shares_of_the_parties_in_the_years_chosen(walked):
    db = open_database(str(walked / "store.db"), readonly=True)
    request = read_request(db, runs.get_run(db, 1), "groups", layer=2, where=["date=1950.."])
    table = build_table("groups", request).join()
    db.close()
    assert sorted(set(table["group"])) == sorted(PARTIES)
    texts = Counter(re.findall(r">([^<>]+)</text>", (walked / "parties.svg").read_text(encoding="utf-8")))
    assert Counter(map(format_percent, table["share"])) <= texts
    assert Counter(table["group"]) <= texts
    assert set(table["topic"] + " " + table["title"]) <= set(texts)


def test_the_report_has_a_section_for_every_topic_and_asks_for_nothing(walked):
    page = (walked / "report.html").read_text(encoding="utf-8")
    titles = re.findall(r'<article id="topic-2-\d+"><div [^>]*><h3><i [^>]*></i>([^<]+)</h3>', page)
    assert sorted(titles) == sorted({row["title"] for row in read_rows(walked)})
    assert page.count("<blockquote") > len(titles)
    assert not re.search(r"https?://(?!www\.w3\.org/)|<script|src=\"(?!data:)", page)


# ---------------------------------------------------------------- by page


def make_corpus(page, url, path):
    """Choose a file on the page of a new corpus, and make a corpus of it."""
    page.goto(url)
    page.get_by_role("button", name="Add documents").click()
    page.get_by_label("Choose files").set_input_files(path)
    page.get_by_role("group", name="What came in").get_by_text(f"{100 * PARAGRAPHS} documents").first.wait_for()
    page.get_by_role("button", name="Make a corpus").click()
    page.get_by_role("button", name="New run on it").click()


def train(page, store):
    """Start a small run by the form and wait until it has ended."""
    page.get_by_text("All settings").click()
    page.get_by_label("Topics per layer").fill("12-6")
    page.get_by_label("Steps", exact=True).fill("60")
    page.get_by_role("button", name="Start training").click()
    page.wait_for_url("**page=watch**")
    db = open_database(store)
    wait_for(db, 1, lambda row: row.state == "finished")
    assert runs.get_run(db, 1).layers == (12, 6)
    db.close()


def read_titles(page):
    """The topics that the table of groups lists."""
    page.locator(".tr-heat").wait_for()
    return page.locator(".tr-heat th[scope=row]").all_inner_texts()


@pytest.mark.nightly
def test_a_raw_table_becomes_a_report_by_page(start_server, store_url, page, new_page, guard, tmp_path, choose):
    page.set_default_timeout(BUSY)
    server = start_server(store_url)
    make_corpus(page, server.url, write_speeches(tmp_path / "speeches.csv", PARAGRAPHS))
    train(page, store_url)

    page.get_by_role("link", name="Trends").click()
    page.locator(".tr-wide .tr-chart").first.wait_for()
    grown = "".join(page.locator(".tr-changes .tr-up").all_inner_texts())
    assert any(word in grown for word in THEMES["clinics"].words.split())
    page.get_by_role("button", name="By group").click()
    titles = read_titles(page)
    assert len(titles) == 6
    heads = page.locator(".tr-heat th[scope=col]").all_inner_texts()
    assert [head.split()[0] for head in heads] == list(PARTIES)

    page.get_by_role("button", name="filter", exact=True).click()
    page.get_by_role("combobox", name="Column of the filter").select_option("date")
    page.get_by_label("Value", exact=True).fill("1950..")
    page.get_by_role("button", name="Add filter").click()
    page.get_by_text(f"{50 * PARAGRAPHS} of {100 * PARAGRAPHS} documents", exact=True).wait_for()
    assert "1950.." in page.url

    page.get_by_role("link", name="Explore").click()
    page.locator(".tp-node").first.wait_for()
    with page.expect_download() as download:
        choose(page, "Save", "Report")
        page.get_by_role("dialog", name="Save a report").get_by_role("button", name="Save").click()
    path = tmp_path / "report.html"
    download.value.save_as(path)
    guard.local = (*guard.local, "file://")
    report, asked = new_page(), []
    report.on("request", lambda request: asked.append(request.url))
    report.goto(path.as_uri())
    expect(report.locator("#layer-2 article")).to_have_count(6)
    assert sorted(report.locator("#layer-2 h3").all_inner_texts()) == sorted(titles)
    assert report.locator("blockquote").count() > 6
    assert [url for url in asked if not re.match(r"data:|file://.*report\.html", url)] == []
    assert server.complaints == []
