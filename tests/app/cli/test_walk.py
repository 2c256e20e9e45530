"""An analyst's walk by five commands: a raw table with dates and a category becomes a report."""

import csv
import re
from collections import Counter

import numpy as np
import pytest
from speeches import PARTIES, THEMES, write_speeches

from app.cli.main import main
from app.export.run_tables import build_table, read_request
from app.jobs import launcher
from app.views.text import format_percent
from store import runs
from store.database import open_database

SMALL = ("--layers", "12-6", "--minibatches", "60", "--threads", "1", "--wait")


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    """The folder in which the five commands were given, one after the other."""
    folder = tmp_path_factory.mktemp("walk")
    write_speeches(folder / "speeches.csv", paragraphs=8)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("XDG_DATA_HOME", "LOCALAPPDATA"):
            patch.setenv(name, str(folder / "data"))
        patch.setenv("TOPIARY_STORE", str(folder / "store.db"))
        for command in (
            ("import", folder / "speeches.csv"),
            ("train", "speeches", *SMALL),
            ("export", 1, "time", "--layer", 2, "--unit", "decade", "--output", folder / "time.csv"),
            ("figure", 1, "groups", "--layer", 2, "--where", "date=1950..", "--output", folder / "parties.svg"),
            ("report", 1, "--output", folder / "report.html"),
        ):
            assert main([*map(str, command)]) == 0, command
    for child in launcher._children:
        child.wait()
    launcher.reap_children()
    return folder


def read_rows(walked):
    with (walked / "time.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def find_topics(rows, theme):
    """The topics most of whose title words are of a theme."""
    words = THEMES[theme].words.split()
    return {row["topic"] for row in rows if sum(word in words for word in row["title"].split()) >= 2}


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
    table = build_table("groups", read_request(db, runs.get_run(db, 1), layer=2, where=["date=1950.."])).join()
    db.close()
    assert sorted(set(table["group"])) == sorted(PARTIES)
    texts = Counter(re.findall(r">([^<>]+)</text>", (walked / "parties.svg").read_text(encoding="utf-8")))
    assert Counter(map(format_percent, table["share"])) <= texts
    assert Counter(table["group"]) <= texts
    assert set(table["title"]) <= set(texts)


def test_the_report_has_a_section_for_every_topic_and_asks_for_nothing(walked):
    page = (walked / "report.html").read_text(encoding="utf-8")
    titles = re.findall(r'<article id="topic-2-\d+"><h3><i [^>]*></i>([^<]+)</h3>', page)
    assert sorted(titles) == sorted({row["title"] for row in read_rows(walked)})
    assert page.count("<blockquote") > len(titles)
    assert not re.search(r"https?://(?!www\.w3\.org/)|<script|src=\"(?!data:)", page)
