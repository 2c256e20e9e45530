"""Every front says the same of one small run: page, command, JSON, library, table, figure and report."""

import contextlib
import html
import json
import re
from dataclasses import replace
from types import SimpleNamespace

import garden
import numpy as np
import pandas as pd
import pytest
import trend_samples
from page_sessions import PageSession

import topiary
from topiary.app.cli.main import main
from topiary.app.pages.explore import ExplorePage
from topiary.app.pages.runs import RunsPage
from topiary.app.pages.trends import TrendsPage
from topiary.store.database import open_database

TITLE, NUMBER = r"hedge, prune, goal", r"[-+−]?[\d.]+"


def arrays(seed):
    """The topics of the garden with their coherence and steadiness: topic 1 of the top layer wanders."""
    made = PLAIN(seed)
    for layer, width in enumerate(garden.LAYERS):
        made[f"npmi.{layer}"] = np.linspace(0.31, 0.05, width)
        made[f"spread.{layer}"] = np.full(width, 0.5)
        made[f"steady.{layer}"] = np.linspace(0.4, 0.95, width)
    return made


PLAIN = garden.arrays


class Fronts:
    """What each front says of run 1 of a store, as text."""

    def __init__(self, url, folder, capsys):
        self.url, self.folder, self.capsys = url, folder, capsys
        self.store = topiary.open(url)
        self.run = self.store.runs[1]

    def ask(self, *argv):
        self.capsys.readouterr()
        assert main([*argv, "--store", self.url]) == 0
        return self.capsys.readouterr().out

    def write(self, suffix, *argv):
        path = self.folder / f"file.{suffix}"
        self.ask(*argv, "--output", str(path))
        return read_text(path.read_text(encoding="utf-8")) if suffix in ("html", "svg") else path

    def page(self, made, part, **fields):
        with contextlib.closing(open_database(self.url)) as db:
            session = PageSession(db, fields.pop("page"), **fields)
            nothing = SimpleNamespace(place_documents=lambda *_: True)
            session.context = replace(session.context, actions=nothing)
            page = made(session.context)
            session.work()
            return read_text(getattr(page, part).html)


def read_text(markup):
    body = re.sub(r"<(style|script)\b.*?</\1>", " ", markup, flags=re.DOTALL)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body)))


def find(pattern, text):
    found = re.search(pattern, text)
    assert found, f"{pattern} is not in {text[:3000]}"
    return found[1]


def percent(value):
    """Return a share as whole percent, whichever way a front writes it."""
    if isinstance(value, str):
        value = float(value.replace("−", "-").removesuffix("%").strip()) / 100
    return round(100 * value)


@pytest.fixture
def fronts(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(garden, "arrays", arrays)
    url = str(tmp_path / "store.db")
    with contextlib.closing(open_database(url)) as db:
        trend_samples.plant_trends(db)
    made = Fronts(url, tmp_path, capsys)
    yield made
    made.store.close()


def test_all_fronts_tell_the_same_ten_facts(fronts):
    topic = fronts.page(ExplorePage, "_detail", page="explore", layer=3, topic=1, tab="more")
    command = next(line for line in fronts.ask("topics", "1", "--quality").splitlines() if line.startswith("L3:1 "))
    facts = next(row for row in json.loads(fronts.ask("topics", "1", "--json")) if row["topic"] == "L3:1")
    library, table = fronts.run.topics().loc["L3:1"], fronts.run.table("topics").set_index("topic").loc["L3:1"]
    written = pd.read_csv(fronts.write("csv", "export", "1", "topics")).set_index("topic").loc["L3:1"]
    figure = fronts.write("svg", "figure", "1", "time", "--width", "page")
    report, hierarchy = fronts.write("html", "report", "1"), fronts.run.hierarchy()
    section = report[report.index("of the words · L3:1") - 80 :]

    same("title", "hedge, prune, goal", {
        "page": find(r"of all words (.+?) (?:wanders )?(?:Suggest names )?What it is about", topic),
        "command": find(rf"({TITLE})", command),
        "json": facts["title"], "library": library["title"], "table": table["title"], "file": written["title"],
        "figure": find(rf"L3:1 ({TITLE})", figure), "report": find(rf"({TITLE}) \d+% of the words", section),
    })  # fmt: skip
    same("identity", "L3:1", {
        "page": find(r"Technical figures (L\d:\d+)", topic), "command": command.split()[0], "json": facts["topic"],
        "figure": find(rf"(L\d:\d+) {TITLE}", figure), "report": find(r"of the words · (L\d:\d+), 1 of 2", section),
    })  # fmt: skip
    same("share", percent(library["share"]), {
        "page": percent(find(r"largest of 2 · (\d+%)", topic)), "command": percent(find(r" ([\d.]+)%", command)),
        "json": percent(facts["share"]), "table": percent(table["share"]), "file": percent(written["share"]),
        "report": percent(find(r"(\d+%) of the words · L3:1", section)),
    })  # fmt: skip
    same("NPMI", 0.31, {
        "page": float(find(rf"coherence ({NUMBER})", topic)), "command": float(find(rf"% +({NUMBER})", command)),
        "json": round(facts["npmi"], 2), "table": round(table["npmi"], 2), "file": round(written["npmi"], 2),
    })  # fmt: skip
    same("certainty", True, {
        "page": "wanders" in topic, "library": hierarchy.wanders(hierarchy.find_topic("L3:1")),
        "table": table["steadiness"] < 0.5, "report": "not one topic" in section[: section.index("Consists of")],
    })  # fmt: skip
    same("children", ("L2:1", 50), {
        "page": child(find(r"Children layer 2 (.+?%)", topic)), "table": child(table["children"]),
        "report": ("L2:1", percent(find(r"Consists of (\d+%) hedge, rose, soil", section))),
        "library": ("L2:1", percent(hierarchy.children(hierarchy.find_topic("L3:1"))[0].weight)),
    })  # fmt: skip
    answer = rf"(\w+ topics? holds? \d+% of all words: {TITLE}.*? the rest\.)"
    head = fronts.page(ExplorePage, "_controls", page="explore")
    same("answer", find(answer, head), {"page": find(answer, head), "report": find(answer, report)})
    documents = table["documents"].split()[:3]
    same("documents of a topic", documents, {
        "page": re.findall(r"document (\d+)", topic)[:3], "file": written["documents"].split()[:3],
        "report": re.findall(r"· document (\d+)", section)[:3],
    })  # fmt: skip


def test_all_fronts_tell_the_same_of_time_groups_and_how_well_words_are_predicted(fronts):
    report = fronts.write("html", "report", "1")
    period, group = f"Jan 2004: 31 documents .*?{TITLE} ([0-9]+%)", rf"{TITLE} herald \d+% .*? ([+−][\d.]+)"
    time, groups = (fronts.run.table(kind) for kind in ("time", "groups"))
    first = time[(time.topic == "L3:1") & (time.period == "2004-01-01")].iloc[0]
    herald = groups[(groups.topic == "L3:1") & (groups.group == "herald")].iloc[0]
    files = [pd.read_csv(fronts.write("csv", "export", "1", kind)) for kind in ("time", "groups")]
    same("trend", percent(first["share"]), {
        "page": percent(find(period, fronts.page(TrendsPage, "board", page="trends", trend_topic=("L3:1",)))),
        "file": percent(files[0].query("topic == 'L3:1'")["share"].iloc[0]), "report": percent(find(period, report)),
    })  # fmt: skip
    by_group = fronts.page(TrendsPage, "board", page="trends", trend="groups")
    same("group difference", percent(herald["difference"]), {
        "page": percent(find(group, by_group)),
        "file": percent(files[1].query("topic == 'L3:1' and group == 'herald'")["difference"].iloc[0]),
    })  # fmt: skip
    same("share in a group", percent(herald["share"]), {
        "page": percent(find(rf"{TITLE} herald (\d+%)", by_group)),
        "report": percent(find(rf"{TITLE} \d+% of the words · L3:1.*?herald 200 (\d+%)", report)),
    })  # fmt: skip
    facts = json.loads(fronts.ask("show", "1", "--json"))
    same("perplexity", round(fronts.run.info["point_perplexity"], 1), {
        "page": float(find(r"(21\.\d)", fronts.page(RunsPage, "_board", page="runs"))),
        "command": round(float(find(rf"point perplexity +({NUMBER})", fronts.ask("show", "1"))), 1),
        "json": round(facts["point_perplexity"], 1), "report": float(find(rf"point perplexity ({NUMBER})", report)),
    })  # fmt: skip


def child(text):
    """Return the first child and its weight in percent."""
    name, weight = find(r"(L2:\d+)", text), find(r"([\d.]+%|0\.\d+)", text)
    return name, percent(weight) if weight.endswith("%") else percent(float(weight))


def same(fact, value, said):
    assert {front: each for front, each in said.items() if each != value} == {}, f"{fact} is {value}"
