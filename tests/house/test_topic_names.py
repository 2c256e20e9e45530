"""A topic has one number and one name: every command, file, figure, table of the library and page says the same."""

import csv
import json
import re
from html import unescape

import holoviews as hv
import inference_samples
import numpy as np
import pytest
from databases import open_filled
from inference_samples import plain_model
from page_sessions import PageSession
from panel.viewable import Viewable

import topiary
from topiary.app.analysis.hierarchy import format_identity
from topiary.app.analysis.read_hierarchy import find_snapshot_at, read_hierarchy
from topiary.app.analysis.shares import complete_shares
from topiary.app.cli.main import build_parser, main
from topiary.app.export.comparison import render_edges, render_pairs
from topiary.app.export.run_tables import TABLES
from topiary.app.export.trees import FORMATS
from topiary.app.ingest.column_kinds import ensure_columns
from topiary.app.jobs.process import identify_process
from topiary.app.pages.components import Board, TreeView
from topiary.app.plots.read import Source
from topiary.app.plots.request import KINDS, FigureRequest, plot_figure
from topiary.app.views.top_bar import PAGES
from topiary.store import corpora, notes, runs, snapshots
from topiary.store.database import open_database

__all__ = ["plain_model"]

TOPIC = "L1:4"  # the most popular one of its layer, so that its rank is another number
NAME = "Clinics & drugs"
_AFTER = re.compile(r"(?:L\d+:\d+\s+|\bof )$")  # before a number that is a rank beside the identity, or a count
_NUMBERED = re.compile(  # what is of a topic, and begins with a number that stands by itself
    r'data-(?:id|value)="L\d+:\d+"(?:(?!data-id|data-value).){0,600}?<(?:b|i|strong|text|small)\b[^>]*>\s*\d+\s*</',
    re.DOTALL,
)
IDENTITY = re.compile(r"\bL(\d+):(\d+)\b")

# What each command is given, so that it names topics; `{file}` is a new file, `{text}` a text to place.
SAYING = {
    "topics": ["topics 1 --all", "topics 1 --all --json"],
    "quality": ["quality 1", "quality 1 --json"],
    "classify": ["classify 1", "classify 1 --json"],
    "compare": ["compare 2 1 --most 20", "compare 2 1 --json"],
    "seeds": ["seeds 1", "seeds 1 --json"],
    "infer": ["infer 1 {text}", "infer 1 {text} --json"],
    "notes": [f"notes 1 --add thorny --topic {TOPIC}", "notes 1", "notes 1 --json"],
    "carry": ["carry 1 2", "carry 1 2 --json"],
    "names": ["names 1", "names 1 --json"],
}
# What each command that writes a file is given; a test of files reads what it wrote.
WRITING = {
    "tree": [f"tree 1 --threshold 0.5 --output {{file}}.{form}" for form in FORMATS],
    "export": [
        *(f"export 1 {table} --output {{file}}.csv --query rose" for table in TABLES),
        "export 1 pyldavis --output {file}.json",
    ],
    "report": ["report 1 --output {file}.html"],
    "film": ["film 1 --output {file}.html"],
    "figure": [f"figure 1 tree --topic {TOPIC} --output {{file}}.svg"],
}
# Commands that say nothing about topics.  A new command is in one of the three.
SILENT = {
    *("demo", "inspect", "import", "append", "corpora", "columns", "train", "fork", "runs", "show", "stop", "pause"),
    *("resume", "delete", "queue", "log", "gpu", "points", "place", "interpolate", "check", "backup", "prune"),
    *("serve", "refine", "edit"),  # edit says which topics it was given; the model here takes no edit
}
TAKING = {  # every command with an option that takes a topic, and what it is given besides
    "tree": "tree 1 --threshold 0.5 --output {file}.json",
    "compare": "compare 2 1 --output {file}.svg",
    "report": "report 1 --no-quotes --output {file}.html",
    "figure": "figure 1 tree --output {file}.svg",
    "notes": "notes 1",
    "names": "names 1",
    "refine": "refine 1 --share 0.5",
}
WITHOUT_TOPICS = {"contexts", "perplexity", "steps"}  # tables and figures


def plant_two(db):
    """Make two runs that differ in the seed alone; no topic of layer 1 has its number as its rank."""
    columns = [
        {"source": ("herald", "tribune")[j % 2], "day": f"2004-{1 + j // 2:02}-01", "title": f"headline {j}"}
        for j in range(inference_samples.DOCUMENTS)
    ]
    first = inference_samples.plant(db, classes=True, finished=False, columns=columns, odd=3)
    ensure_columns(db, corpora.get_run_corpus(db, first))
    second = runs.create_run(
        db, corpus=first.corpus, model="dlda", inference="tlasgr", layers=first.layers, settings=first.settings,
        options=first.options, seed=2,
    )  # fmt: skip
    second = runs.claim_run(db, second.number, identify_process())
    for row in (first, second):
        for minibatch in (9, 10):
            arrays = inference_samples.arrays() | {"r": np.array([1.0, 2.0])}
            snapshots.append_snapshot(db, row.number, row.attempt, minibatch + row.number, 0.5, arrays)
        runs.finish_run(db, row.number, row.attempt, "finished")
    notes.set_label(db, 1, 1, int(TOPIC[3:]), NAME)
    complete_shares(db, first, find_snapshot_at(db, first, None))


@pytest.fixture
def store(tmp_path, plain_model):
    """Path of a store with the two runs."""
    path = tmp_path / "store.db"
    open_filled(path, plant_two).close()
    (tmp_path / "text.txt").write_text("rose hedge goal score doctor drug orbit moon")
    return str(path)


@pytest.fixture
def names(store):
    """Title and rank of every topic of run 1, and of run 2, by identity."""
    db = open_database(store)
    rows = [runs.get_run(db, number) for number in (1, 2)]
    found = [read_hierarchy(db, row, find_snapshot_at(db, row, None)) for row in rows]
    db.close()
    named = [
        {format_identity(node): (each.title(node), each.rank(node)) for layer in (1, 2) for node in each.nodes(layer)}
        for each in found
    ]
    assert all(int(identity[3:]) != rank for identity, (_, rank) in named[0].items() if identity[1] == "1")
    assert named[0][TOPIC][0] == NAME
    return named


def list_faults(text, names):
    """What a text says about topics that is not so: ranks in place of names, and titles of other topics."""
    titles = {title for side in names for title, _ in side.values() if title}
    any_title = "|".join(map(re.escape, sorted(titles, key=len, reverse=True)))
    faults = re.findall(r"\b[Tt]opic \d+\b.{0,40}", text)
    before = re.finditer(rf"(?:(?<=[\s(>])|^)\d{{1,3}}[ ·]+(?:{any_title})", text)
    faults += [each[0] for each in before if not _AFTER.search(text[: each.start()])]
    for match in re.finditer(rf"(L\d+:\d+)[ ·:(]+({any_title})", text):
        allowed = {side[match[1]][0] for side in names if match[1] in side}
        faults += [] if match[2] in allowed else [match[0]]
    return faults


def list_wrong_facts(value, names):
    """The records in JSON or a table whose identity, title and rank do not belong together."""
    if isinstance(value, list | tuple):
        return [fault for each in value for fault in list_wrong_facts(each, names)]
    if not isinstance(value, dict):
        return []
    topic, inside = value.get("topic"), [fault for each in value.values() for fault in list_wrong_facts(each, names)]
    if topic is None or topic == "":
        return inside
    if not IDENTITY.fullmatch(str(topic)):
        return [*inside, value]
    known = [side[topic] for side in names if topic in side]
    wrong = ("title" in value and str(value["title"]) not in {title for title, _ in known}) or (
        "rank" in value and int(value["rank"]) not in {rank for _, rank in known}
    )
    return [*inside, value] if wrong else inside


def strip_tags(text):
    """The words of a page or picture, with one blank for every tag."""
    shown = re.sub(r"<(style|script)\b.*?</\1>", " ", text, flags=re.DOTALL)
    tips = " ".join(f"\n{tip}\n" for tip in re.findall(r'(?:title|aria-label|alt)="([^"]*)"', shown))
    return unescape(re.sub(r"[ \t]+", " ", re.sub(r"<[^>]*>", " ", shown)) + tips)


def run_command(line, store, capsys, **places):
    """What a command says on both streams; it has to succeed."""
    words = [word.format(**places) for word in line.split()]
    status = main([*words, "--store", store])
    said = capsys.readouterr()
    assert status == 0, (line, said.err)
    return said.out, said.err


def list_commands():
    """The commands and their parsers."""
    (action,) = (each for each in build_parser()._actions if each.choices and each.dest == "command")
    return action.choices


def test_every_command_either_names_topics_here_or_has_none():
    assert set(list_commands()) == SAYING.keys() | WRITING.keys() | SILENT


def test_what_commands_say_names_topics_by_identity_and_title(store, names, tmp_path, capsys):
    for line in (line for each in SAYING.values() for line in each):
        out, err = run_command(line, store, capsys, text=tmp_path / "text.txt")
        assert IDENTITY.search(out + err), line
        if "--json" in line:
            assert list_wrong_facts(json.loads(out), names) == [], line
        else:
            assert list_faults(out + err, names) == [], line


def test_what_commands_write_names_topics_by_identity_and_title(store, names, tmp_path, capsys):
    for number, line in enumerate(line for each in WRITING.values() for line in each):
        out, _ = run_command(line, store, capsys, file=tmp_path / f"file{number}")
        text = (tmp_path / out.strip().splitlines()[-1]).read_text(encoding="utf-8")
        if "pyldavis" in line:
            assert json.loads(text)["mdsDat"]["topics"] == [1, 2, 3, 4]
            continue
        named = "figure" in line or line.split()[2] in WITHOUT_TOPICS or IDENTITY.search(text)
        assert named, line
        match out.strip().rpartition(".")[2]:
            case "json":
                assert list_wrong_facts(json.loads(text), names) == [], line
            case "csv":
                rows = list(csv.DictReader(text.splitlines()))
                renamed = [row | ({"title": row["topic_title"]} if "topic_title" in row else {}) for row in rows]
                assert list_wrong_facts(renamed, names) == [], line
                heads = [name for name in rows[0] if name.startswith("L1:")]
                assert heads == [] or dict(each.split(" ", 1) for each in heads) == {
                    identity: title for identity, (title, _) in names[0].items() if identity[1] == "1"
                }, line
            case "dot":
                assert list_faults(text.replace("\\n", " "), names) == [], line
            case _:
                assert list_faults(strip_tags(text), names) == [], line


def test_whatever_takes_a_topic_says_its_title_and_refuses_a_number_alone(store, tmp_path, capsys):
    taking = {
        name: [flag for action in parser._actions if action.metavar == "ID" for flag in action.option_strings]
        for name, parser in list_commands().items()
        if name != "serve"
    }
    assert {name for name, flags in taking.items() if flags} == TAKING.keys()
    for name, line in TAKING.items():
        for number, flag in enumerate(taking[name]):
            more = {"notes": " --add x", "refine": f" --name part{number}"}.get(name, "")
            file = tmp_path / f"{name}{number}"
            main([*f"{line}{more} {flag} {TOPIC}".format(file=file).split(), "--store", store])
            assert f"{TOPIC} {NAME}" in capsys.readouterr().err, line
            assert main([*f"{line}{more} {flag} 4".format(file=file).split(), "--store", store]) == 2
            assert f"with this number there are {TOPIC} {NAME}" in capsys.readouterr().err


def test_figures_name_topics_by_identity(store, names):
    db = open_database(store, readonly=True)
    for kind, facts in KINDS.items():
        if kind in WITHOUT_TOPICS:
            continue
        sources = [Source(db, number) for number in (2, 1)[-facts.runs[0] :]]
        figure = plot_figure(kind, sources, FigureRequest(width=6.8, **({"layer": 1} if kind != "tree" else {})))
        parts = figure.traverse(lambda each: each, [lambda each: isinstance(each, hv.Labels)])
        texts = [str(value) for part in parts for row in part.data.itertuples(index=False) for value in row]
        assert TOPIC in " ".join(texts), kind
        assert [text for text in texts if text.isdigit()] == [], kind
        assert list_faults("\n".join(texts), names) == [], kind
    db.close()


def test_tables_of_the_library_name_topics_by_identity(store, names):
    with topiary.open(store) as opened:
        run = opened.runs[1]
        run.add_note("thorny", topic=TOPIC)
        compared = run.compare(2)
        tables = [
            run.topics(), run.recurrence(), run.word("rose"), run.notes(), *(run.table(kind) for kind in TABLES
            if kind not in WITHOUT_TOPICS)
        ]  # fmt: skip
        for table in tables:
            titled = table.assign(title=table["topic_title"]) if "topic_title" in table else table
            records = titled.reset_index().to_dict("records")
            assert list_wrong_facts(json.loads(json.dumps(records, default=str)), names) == []
        for side, known in (("a", names[1]), ("b", names[0])):
            pairs = compared.topics.set_index(side)[f"title_{side}"]
            assert pairs.to_dict() == {topic: known[topic][0] for topic in pairs.index}
        assert list(run.weights(1).columns) == list(run.theta(1).columns) == [f"L1:{k}" for k in (1, 2, 3, 4)]
        assert {node: facts["title"] for node, facts in run.tree(threshold=0.5).nodes.items()}.items() <= {
            identity: title for identity, (title, _) in names[0].items()
        }.items()
        assert list_wrong_facts(list(csv.DictReader(render_pairs(compared._found).splitlines())), names) == []
        assert IDENTITY.search(render_edges(compared._found, 0.5))


def test_every_page_names_topics_by_identity_and_title(store, names):
    db, naming = open_database(store), set()
    for page in PAGES:
        if page.name == "guide":
            continue
        fields = {"word": "rose"} if page.name == "word" else {}
        session = PageSession(db, page.name, **fields)
        shown = page.builder()(session.context)
        session.work()
        boards = shown.select(lambda each: isinstance(each, Board | TreeView)) if isinstance(shown, Viewable) else []
        html = "\n".join(each.html if isinstance(each, Board) else each.svg for each in boards)
        text = strip_tags(html)
        assert list_faults(text, names) == [], page.name
        assert _NUMBERED.findall(html) == [], page.name
        if IDENTITY.search(text):
            naming.add(page.name)
    assert naming >= {page.name for page in PAGES} - {"guide", "runs", "classes"}  # those have no topic here
    db.close()
