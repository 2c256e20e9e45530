"""The commands: exit statuses, sentences and the keys of JSON."""

import importlib
import io
import json
import os
import re
import subprocess
import sys
import tomllib
from contextlib import closing
from pathlib import Path

import garden
import numpy as np
import pytest
from databases import open_filled
from process_samples import NOBODY

import topiary
from topiary.app.analysis.hierarchy import KEPT_WORDS
from topiary.app.analysis.read_hierarchy import read_hierarchy
from topiary.app.cli import main
from topiary.app.cli import runs as run_commands
from topiary.app.ingest import options
from topiary.app.ingest.options import ImportOptions
from topiary.app.jobs import launcher, process
from topiary.app.jobs.estimates import read_latest
from topiary.app.jobs.progress import Progress, draw_bar, format_duration
from topiary.app.views.compare import head as compare_head
from topiary.app.views.runs import kpis
from topiary.app.views.runs.run_list import draw_runs
from topiary.app.views.tree.opening import USUAL, find_opening_threshold
from topiary.store import checkpoints, corpora, corpus_writer, notes, runs, snapshots
from topiary.store.blocks import DocumentBlock, StoredCounts
from topiary.store.database import open_database
from topiary.store.points import Point
from topiary.stores import Store

WORDS = ("apple", "bread", "cheese", "dates", "eggs", "figs")
REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.fixture
def store(tmp_path, monkeypatch):
    """Path of an empty store, and data and logs in the test's own folder."""
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "data"))
    monkeypatch.delenv("TOPIARY_STORE", raising=False)
    return str(tmp_path / "store.db")


@pytest.fixture
def no_workers(monkeypatch):
    """Runs stay queued."""
    monkeypatch.setattr(launcher, "start_worker", lambda url, run: NOBODY)


def _block(labels):
    """Four documents with these labels, or all with this one, the last for the test."""
    return DocumentBlock(
        first=0,
        counts=StoredCounts(
            np.array([0, 2, 4, 6, 8]), np.array([0, 1, 2, 3, 4, 5, 0, 2], dtype=np.int32), np.ones(8, dtype=np.int32)
        ),
        part=np.array([0, 0, 0, 1], dtype=np.int8),
        labels=np.full(4, labels, dtype=np.int32),
        titles=[""] * 4,
        texts=[""] * 4,
        columns=[{}] * 4,
    )


@pytest.fixture
def filled(store):
    """A store with a corpus, and a run that has points and one snapshot."""
    open_filled(store, _fill).close()
    return store


def _fill(db, words=WORDS, **facts):
    with corpus_writer.write_corpus(db, "food", words) as writer:
        writer.add(_block(-1))
    row = runs.create_run(
        db,
        corpus=writer.row.number,
        model="dlda",
        inference="tlasgr",
        layers=(3, 2),
        settings={},
        options={"minibatches": 9, "protocol": {"documents": 4}},
        seed=1,
    )
    row = runs.claim_run(db, row.number, process.identify_process())
    points = [Point(4, 40, 0.5, "point_perplexity", 0, 5.5)]
    runs.record_progress(
        db,
        row.number,
        row.attempt,
        minibatch=4,
        seconds=0.5,
        tokens_per_second=8.0,
        point_perplexity=5.5,
        points=points,
    )
    rng = np.random.default_rng(1)
    phi = {"phi.0": rng.dirichlet(np.ones(6), 3).T, "phi.1": rng.dirichlet(np.ones(3), 2).T}
    snapshots.append_snapshot(db, row.number, row.attempt, 4, 0.5, phi | {"r": np.array([1.0, 3.0])} | facts)


def call(capsys, *words):
    """Exit status, standard output and standard error of one command."""
    try:
        status = main.main(list(words))
    except SystemExit as end:
        status = int(end.code or 0)
    out = capsys.readouterr()
    return status, out.out, out.err


def read(capsys, *words):
    status, out, _ = call(capsys, *words, "--json")
    assert status == 0
    return json.loads(out)


def test_a_console_that_lacks_a_character_shows_a_question_mark_in_its_place(filled):
    db = open_database(filled)
    runs.rename_run(db, 1, "погода")
    db.close()
    words = [sys.executable, "-m", "topiary.app.cli.main", "show", "1", "--store", filled]
    report = subprocess.run(
        words, cwd=REPOSITORY, env=os.environ | {"PYTHONIOENCODING": "cp1252"}, capture_output=True, check=False
    )
    assert (report.returncode, report.stderr) == (0, b"")
    assert b"??????" in report.stdout


def test_show_has_the_promised_keys(capsys, filled):
    facts = read(capsys, "show", "1", "--store", filled)
    promised = (
        "run state model inference layers minibatch point_perplexity averaged_perplexity seconds tokens_per_second"
    )
    assert set(promised.split()) <= set(facts)
    assert (facts["run"], facts["state"], facts["layers"], facts["minibatch"]) == (1, "running", [3, 2], 4)
    assert (facts["point_perplexity"], facts["averaged_perplexity"]) == (5.5, None)


def test_runs_are_listed_with_the_same_facts_as_show(capsys, filled):
    assert [row["run"] for row in read(capsys, "runs", "--store", filled)] == [1]
    status, out, _ = call(capsys, "runs", "--store", filled)
    assert status == 0
    assert "dlda tlasgr" in out
    assert "4/9" in out


def test_list_show_and_page_tell_one_point_perplexity_and_whether_it_still_falls(capsys, filled):
    db = open_database(filled)
    row = runs.get_run(db, 1)
    falling = [Point(t, 10 * t, 0.1 * t, "point_perplexity", 0, 5.4 - 0.1 * t) for t in range(5, 10)]
    level = [Point(t, 10 * t, 0.1 * t, "point_perplexity", 0, 4.5) for t in range(10, 31)]
    for points, said, since in ((falling, "still falling", None), (level, "no longer improving since step 11", 11)):
        last = points[-1]
        runs.record_progress(db, 1, row.attempt, minibatch=9, seconds=0.9, point_perplexity=last.value, points=points)
        head, line = call(capsys, "runs", "--store", filled)[1].splitlines()
        assert head.endswith("  figure  which is its      point curve")
        assert line.endswith(f"  4.5     point perplexity  {said}".rstrip())
        assert "<b>4.5</b>" in draw_runs([runs.get_run(db, 1)], lambda _: "running", lambda _: (), 1)
        for facts in (read(capsys, "show", "1", "--store", filled), read(capsys, "runs", "--store", filled)[0]):
            assert (facts["point_perplexity"], facts["trend"], facts["level_since"]) == (last.value, said, since)
            assert facts["judged"] == "20 + 20 sweeps, 4 test documents, 80% of each observed"
    db.close()
    shown = call(capsys, "show", "1", "--store", filled)[1].splitlines()
    assert "its curve             no longer improving since step 11" in shown
    assert any(line.startswith("point perplexity of   20 + 20 sweeps") for line in shown)


def test_every_place_shows_one_figure_of_a_run_under_one_name(capsys, filled):
    db = open_database(filled)
    row = runs.get_run(db, 1)
    points = [
        Point(5, 50, 0.6, "point_perplexity", 0, 2044.5),
        Point(5, 50, 0.6, "mean_perplexity", 0, 1824.5),
        Point(6, 60, 0.7, "mean_perplexity", 0, 1810.2),
    ]
    runs.record_progress(db, 1, row.attempt, minibatch=6, seconds=0.9, point_perplexity=2044.5, points=points)
    row, latest = runs.get_run(db, 1), read_latest(db, 1)
    name = "perplexity of the mean topics"
    assert f"  1,810.2  {name}\n" in call(capsys, "runs", "--store", filled)[1]
    listed = draw_runs([row], lambda _: "running", lambda _: (), 1, latest=lambda _: latest)
    assert re.findall(r'title="([^"]*)"><b>([\d,.]+)</b><span class="tp-dim">([^<]*)</span>', listed)[0][1:] == (
        "1,810.2", name,
    )  # fmt: skip
    strip = kpis.draw_kpis(row, kpis.RunHealth("running", None, 0, latest=latest))
    shown = re.findall(r'tp-kpi-name">(?:<span class="tp-term"[^>]*>)?([^<]*)(?:</span>)?</span><b>([^<]*)</b>', strip)
    assert shown[0] == (name.capitalize(), "1,810.2")
    assert "<p>Point perplexity: 2,044.5. " in strip
    rows = {each.name: each.a for each in compare_head.pair_settings(row, row, (latest, latest))}
    assert (rows[name], rows["point perplexity"]) == ("1,810.2", "2,044.5")
    for facts in (read(capsys, "show", "1", "--store", filled), read(capsys, "runs", "--store", filled)[0]):
        assert (facts["headline"], facts["headline_value"]) == ("mean_perplexity", 1810.2)
        assert facts["headline_of"] in listed  # the same words when the figure is pointed at
    db.close()
    with Store(filled) as opened:
        assert f", {name} 1,810.2>" in repr(opened.runs[1])


def test_a_run_that_nobody_trains_is_shown_as_silent(capsys, filled):
    db = open_database(filled)
    runs.claim_run(db, 1, {"pid": 999_999_999, "created": 1.0, "host": process.identify_process()["host"]}, force=True)
    db.close()
    assert read(capsys, "show", "last", "--store", filled)["state"] == "silent"


def test_topics_are_listed_by_layer_and_rank(capsys, filled):
    table = read(capsys, "topics", "1", "--store", filled)
    assert [(row["layer"], row["rank"]) for row in table] == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2)]
    assert {"layer", "rank", "topic", "share", "title", "words"} <= set(table[0])
    top = read(capsys, "topics", "1", "--layer", "2", "--store", filled)
    assert [row["topic"] for row in top] == ["L2:2", "L2:1"]
    assert [row["share"] for row in top] == [0.75, 0.25]
    assert set(top[0]["words"]) == set(WORDS)
    assert all(len(set(row["title"].split(", ")) & set(row["words"])) == 3 for row in table)
    _, out, _ = call(capsys, "topics", "1", "--store", filled)
    head, *lines = out.splitlines()
    assert head.split() == ["topic", "rank", "share", "title", "and", "words"]
    for row, line in zip(table, lines, strict=True):
        assert line.split()[:2] == [row["topic"], str(row["rank"])]
        assert re.search(rf" {row['title']}  +{' '.join(row['words'])}(  \(nearly .*)?$", line)


@pytest.fixture
def allotment(store):
    """A store with a run whose topics are about planted subjects."""
    open_filled(store, garden.plant).close()
    return store


def test_quality_prints_a_column_a_layer_and_the_best_and_worst_topics(capsys, allotment):
    status, out, _ = call(capsys, "quality", "1", "--store", allotment)
    assert status == 0
    lines = [re.split(r"  +", line) for line in out.splitlines()]
    assert ["", "layer 1", "layer 2", "layer 3"] in lines
    facts = read(capsys, "quality", "1", "--store", allotment)
    for name, key in (("NPMI", "npmi"), ("diversity", "diversity"), ("NPMI, test documents", "npmi_test")):
        assert [name, *(f"{layer[key]:.3f}" for layer in facts["layers"])] in lines
    assert ["live topics", "8", "4", "2"] in lines
    assert [line[1] for line in lines if line[0].startswith("affinity")] == ["-", "-"]
    assert "label NMI" not in out
    assert "(all 30), where a pair that never meets counts -1; not comparable" in out
    for layer in facts["layers"]:
        ranked = sorted(layer["by_topic"], key=lambda topic: -topic["npmi"])
        assert ranked[0]["npmi"] > ranked[-1]["npmi"]
        assert layer["npmi"] == pytest.approx(np.mean([topic["npmi"] for topic in ranked]))
        for word, topic in (("best", ranked[0]), ("worst", ranked[-1])):
            line = out.partition(f"{word} topics of layer {layer['layer']}\n")[2].splitlines()[0]
            npmi, identity, rank, words = line.split(None, 3)
            (named,) = (each for each in ranked if identity == each["topic"])
            assert npmi == f"{topic['npmi']:.3f}" == f"{named['npmi']:.3f}"  # some are equally good
            assert (rank, words) == (str(named["rank"]), f"{named['title']}: {' '.join(named['words'])}")


def test_quality_lists_no_topic_twice_and_as_many_as_asked_for(capsys, allotment):
    out = call(capsys, "quality", "1", "--layer", "2", "--store", allotment)[1]
    listed = re.findall(r" (L2:\d+) ", out)
    assert len(listed) == len(set(listed)) == 4
    assert len(re.findall(r" L2:\d+ ", out.partition("worst topics")[2])) == 2
    assert not re.search(r" L2:\d+ ", call(capsys, "quality", "1", "--most", "0", "--store", allotment)[1])


def test_quality_judges_the_words_of_the_lambda_that_is_asked_for(capsys, allotment):
    def words(*more):
        layers = read(capsys, "quality", "1", "--store", allotment, *more)["layers"]
        return {topic["topic"]: topic["words"] for layer in layers for topic in layer["by_topic"]}

    probable = words("--relevance", "1")
    assert probable != words() == words("--relevance", "0.1")
    db = open_database(allotment)
    hierarchy = read_hierarchy(db, runs.get_run(db, 1), snapshots.find_latest(db, 1)).choose_words(1.0)
    db.close()
    for topic, listed in probable.items():
        first = [word.text for word in hierarchy.top_words(hierarchy.find_topic(topic), len(listed))]
        assert listed == first


def test_quality_says_what_it_knows_as_json(capsys, filled):
    facts = read(capsys, "quality", "1", "--layer", "2", "--store", filled)
    assert [layer["layer"] for layer in facts["layers"]] == [2]
    assert (facts["training_documents"], facts["training_documents_read"], facts["test_documents"]) == (3, 3, 1)
    assert facts["completion"] is None, "only rows of a table are completed"
    (layer,) = facts["layers"]
    assert layer["label_nmi"] is None
    assert [topic["rank"] for topic in layer["by_topic"]] == [1, 2]
    assert call(capsys, "quality", "1", "--layer", "3", "--store", filled)[::2] == (
        2,
        "topiary quality: run 1 has no layer 3: it has layers 1 to 2\n",
    )


def test_quality_says_that_documents_were_sampled(capsys, filled, monkeypatch):
    monkeypatch.setattr("topiary.app.analysis.quality.SAMPLED", 2)
    assert "(a sample of 2 of 3)" in call(capsys, "quality", "1", "--store", filled)[1]


def test_topics_are_listed_with_their_coherence_when_asked(capsys, filled):
    assert {row["npmi"] for row in read(capsys, "topics", "1", "--store", filled)} == {None}
    table = read(capsys, "topics", "1", "--quality", "--store", filled)
    every = {
        topic["topic"]: topic["npmi"]
        for layer in read(capsys, "quality", "1", "--store", filled)["layers"]
        for topic in layer["by_topic"]
    }
    assert {row["topic"]: row["npmi"] for row in table} == pytest.approx(every)
    _, out, err = call(capsys, "topics", "1", "--quality", "--store", filled)
    for row, line in zip(table, out.splitlines()[1:], strict=True):
        assert f" {row['npmi']:.3f}  {row['title']} " in line
    assert "NPMI of the first ten words" in err


def test_topics_say_why_one_is_weak_and_which_words_are_in_no_title(capsys, store):
    facts = {"npmi.0": np.array([0.2, -0.3, 0.1]), "npmi.1": np.array([0.2, 0.3])}
    facts |= {"spread.0": np.array([0.02, 0.02, 0.8]), "spread.1": np.array([0.1, 0.1])}
    with closing(open_database(store)) as db:
        _fill(db, **facts, everywhere=np.array([1]))
    table = read(capsys, "topics", "1", "--layer", "1", "--store", store)
    assert {row["topic"]: row["role"] for row in table} == {"L1:1": "live", "L1:2": "incoherent", "L1:3": "background"}
    _, out, err = call(capsys, "topics", "1", "--layer", "1", "--store", store)
    for row, line in zip(table, out.splitlines()[1:], strict=True):
        assert line.split("%  ")[1].startswith(f"{'' if row['role'] == 'live' else row['role']:<10}  {row['title']}")
        assert WORDS[1] not in row["title"].split(", ")
    assert f"left out of titles: {WORDS[1]}\n" in err


def test_topics_name_the_one_of_which_they_are_nearly_the_same(capsys, store):
    with closing(open_database(store)) as db:
        _fill(db, **{"phi.1": np.tile([[0.5], [0.3], [0.2]], 2)})
    table = read(capsys, "topics", "1", "--all", "--store", store)
    _, out, _ = call(capsys, "topics", "1", "--all", "--store", store)
    assert [(row["topic"], row["twin"]) for row in table if row["layer"] == 2] == [("L2:2", None), ("L2:1", "L2:2")]
    for row, line in zip(table, out.splitlines()[1:], strict=True):
        assert line.endswith(f"  (nearly the same as {row['twin']})") is (row["twin"] is not None)


def test_topics_list_their_words_by_the_lambda_that_is_asked_for(capsys, filled):
    usual = read(capsys, "topics", "1", "--store", filled)
    db = open_database(filled)
    arrays = snapshots.load_snapshot(db, snapshots.find_latest(db, 1).number)
    db.close()
    projected = (arrays["phi.0"], arrays["phi.0"] @ arrays["phi.1"])
    for row in read(capsys, "topics", "1", "--relevance", "1", "--store", filled):
        column = int(row["topic"].partition(":")[2]) - 1
        order = np.argsort(-projected[row["layer"] - 1][:, column], kind="stable")
        assert row["words"] == [WORDS[number] for number in order]
        assert row["title"] in {other["title"] for other in usual}
    status, _, err = call(capsys, "topics", "1", "--relevance", "2", "--store", filled)
    assert (status, "must be a number from 0 to 1; got '2'" in err) == (2, True)


STEERING = ("red\x1b[31m", "bell\x07", "clear\x9b2J", "two\nlines", "rub\x7fout", "tab\tbed")


@pytest.mark.parametrize(
    "words", ["topics 1", "quality 1", "compare 1 1", "show 1", "runs", "corpora", "train bell\x07"]
)
def test_texts_of_a_corpus_cannot_steer_the_terminal_or_break_a_line(capsys, store, words):
    open_filled(store, _fill, words=STEERING).close()
    db = open_database(store)
    runs.rename_run(db, 1, "my\x1b]0;title\x07")
    notes.set_label(db, 1, 1, 1, "roses\x1b[2J")
    db.close()
    _, out, err = call(capsys, *words.split(" "), "--store", store)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", out + err)
    if words.startswith("topics"):
        assert len(out.splitlines()) == 6  # a head and five topics
        assert {"red[31m", "clear2J", "two", "lines", "rubout"} <= set(out.split())


@pytest.mark.parametrize("words", ["topics 1", "compare 1 1"])
def test_json_has_every_character_of_a_word_and_prints_no_control_character(capsys, store, words):
    open_filled(store, _fill, words=STEERING).close()
    status, out, _ = call(capsys, *words.split(), "--json", "--store", store)
    assert status == 0
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", out)
    report = json.loads(out)
    rows = report if words.startswith("topics") else [row["a"] for row in report["topic_matches"]]
    assert {word for row in rows for word in row["words"]} == set(STEERING)


def test_as_many_words_of_a_topic_are_listed_as_are_asked_for(capsys, filled):
    for asked, listed in (("2", 2), ("30", len(WORDS))):
        rows = read(capsys, "topics", "1", "--words", asked, "--store", filled)
        assert {len(row["words"]) for row in rows} == {listed}
        lines = call(capsys, "topics", "1", "--words", asked, "--store", filled)[1].splitlines()[1:]
        assert [line.split("  (nearly")[0].split()[-listed:] for line in lines] == [row["words"] for row in rows]


def test_the_most_words_that_may_be_asked_for_are_those_that_a_frame_keeps():
    assert main.MOST_WORDS == KEPT_WORDS


def test_a_tree_is_written_in_the_format_its_name_asks_for(capsys, filled, tmp_path):
    for form in ("svg", "graphml", "json"):
        path = tmp_path / f"tree.{form}"
        status, out, err = call(
            capsys,
            "tree",
            "1",
            "--layer",
            "2",
            "--topic",
            "L2:1",
            "--threshold",
            "1",
            "--output",
            str(path),
            "--store",
            filled,
        )
        assert (status, out.strip()) == (0, str(path))
        assert re.search(r"topic L2:1 \w+, \w+, \w+$", err, re.MULTILINE)
        assert path.stat().st_size > 100


def test_a_tree_has_the_threshold_at_which_the_page_opens_unless_another_is_asked_for(capsys, filled, tmp_path):
    db = open_database(filled)
    opens = find_opening_threshold(read_hierarchy(db, runs.get_run(db, 1), snapshots.find_latest(db, 1)))
    db.close()
    assert opens < USUAL
    for more, expected in ((), opens), (("--threshold", "3"), 3.0):
        path = tmp_path / "tree.json"
        assert call(capsys, "tree", "1", *more, "--output", str(path), "--store", filled)[0] == 0
        assert json.loads(path.read_text(encoding="utf-8"))["graph"]["threshold"] == expected


def test_points_are_printed_as_csv(capsys, filled):
    status, out, _ = call(capsys, "points", "1", "--store", filled)
    assert status == 0
    assert out.splitlines() == ["minibatch,documents,seconds,name,layer,value", "4,40,0.5,point_perplexity,0,5.5"]


def test_train_prints_the_number_of_the_run_and_nothing_else(capsys, filled, no_workers):
    options = "--layers 4-2 --minibatches 10 --seed 7 --set eta=0.1 --set batch_size=3 --set averaged=true"
    status, out, _ = call(capsys, "train", "food", *options.split(), "--store", filled)
    assert (status, out) == (0, "2\n")
    facts = read(capsys, "show", "2", "--store", filled)
    assert (facts["layers"], facts["seed"], facts["minibatches"]) == ([4, 2], 7, 10)
    assert facts["settings"]["eta"] == [0.1]
    assert facts["settings"]["batch_size"] == 3
    assert facts["plan"]["averaged"] is True


@pytest.mark.parametrize("command", ["train food --minibatches 20", "fork 1 --minibatches 20"])
def test_the_averaged_protocol_is_as_long_as_it_was_asked_to_be(capsys, filled, no_workers, command):
    for lengths, burn_in, samples in (
        ("", None, None),
        ("averaged_burn_in=0 averaged_samples=5", 0, 5),
        ("averaged_burn_in=4", 4, None),
    ):
        measures = [f"--set={each}" for each in ("averaged=true", "paper_point=true", *lengths.split())]
        _, out, _ = call(capsys, *command.split(), *measures, "--store", filled)
        ordered = read(capsys, "show", out.strip(), "--store", filled)["plan"]
        assert (ordered["burn_in"], ordered["samples"], ordered["paper_point"]) == (burn_in, samples, True)


def test_a_preset_is_ordered_by_its_name_and_widths_that_nobody_says_are_proposed(capsys, filled, no_workers):
    status, out, err = call(capsys, "train", "food", "--preset", "paper", "--set", "collect=4", "--store", filled)
    assert status == 0
    assert err.startswith(
        "16-8: proposed for 3 documents, so that each of the 16 topics next to the words has about 0.2 "
    )
    facts = read(capsys, "show", out.strip(), "--store", filled)
    assert (facts["settings"]["simplex"], facts["settings"]["collect"], facts["minibatches"]) == ("clamp", 4, 3500)
    assert facts["layers"] == [16, 8]
    for words in ("--layers 4-2", "--set layers=4-2", "--set grow=yes"):
        status, _, err = call(capsys, "train", "food", *words.split(), "--store", filled)
        assert (status, "proposed" in err) == (0, False)
    status, _, err = call(capsys, "train", "food", "--preset", "quick", "--store", filled)
    assert (status, err) == (2, "topiary train: model dlda has no preset 'quick'; it has paper\n")


def test_what_an_import_refuses_names_options_as_the_command_line_does(capsys, store, tmp_path):
    path = tmp_path / "min_df.jsonl"
    path.write_text('{"text": "apple bread"}\n{"text": "cheese dates"}\n', encoding="utf-8")
    head = tmp_path / "head.csv"
    head.write_text("text,label\n", encoding="utf-8")
    for file, words, sentence in (
        (path, (), "min_df.jsonl: has only 2 documents, and no word can pass --min-df 2 "),
        (path, ("--token-pattern", ""), "--token-pattern '' finds no words in it but stop words; give another pattern"),
        (path, ("--token-pattern", "x{9}"), "--token-pattern 'x{9}' finds no words in it; give another"),
        (path, ("--on", "nowhere"), "--on takes local:N, such as local:2, or the address of a Dask scheduler"),
        (head, (), "head.csv: has no documents below its line of column names; add rows, or say that it has no such"),
    ):
        status, _, err = call(capsys, "import", str(file), *words, "--store", store)
        assert (status, sentence in err) == (2, True), err


def test_the_help_says_what_may_be_repeated(capsys):
    for command in ("train", "fork"):
        assert "may be repeated" in " ".join(call(capsys, command, "--help")[1].partition("--set")[2].split())


def test_a_resumed_run_begins_anew_unless_it_has_a_checkpoint(capsys, filled, no_workers):
    db = open_database(filled)
    attempt = runs.get_run(db, 1).attempt
    for saved, said in (
        (None, "run 1 begins from the start: it has no checkpoint yet"),
        (1234, "checkpoint at mini-batch 1,234"),
    ):
        if saved:
            attempt = runs.claim_run(db, 1, process.identify_process()).attempt
            checkpoints.save_checkpoint(db, 1, attempt, saved, 0.5, {"x": np.ones(1)}, {})
        runs.finish_run(db, 1, attempt, "paused")
        assert said in call(capsys, "resume", "1", "--store", filled)[2]
    db.close()


def test_the_length_follows_the_inference_where_none_is_given(capsys, filled, no_workers):
    for inference, length in (("gibbs", 300), ("tlasgr", 300)):
        status, out, _ = call(capsys, "train", "food", "--inference", inference, "--store", filled)
        assert status == 0
        assert read(capsys, "show", out.strip(), "--store", filled)["minibatches"] == length


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("train nothing", "there is no corpus 'nothing'; the store has food (1)"),
        (
            "train food --model lda9",
            "there is no model 'lda9'; the models are datm, deep-exp-family, dlda, double-def, dpfa, lda-cavi",
        ),
        ("train food --layers 12-x", "layers cannot be read from '12-x'"),
        ("train food --layers 0", "layers must be at least 1; got 0"),
        ("train food --inference magic", "inference must be one of auto, tlasgr, tlfsgr, sgrld, gibbs; got 'magic'"),
        ("train food --set colour=1", "there is no setting 'colour'; the settings are layers"),
        ("train food --set colour", "--set wants NAME=VALUE, as in eta=0.05; got 'colour'"),
        ("train food --minibatches 0", "argument --minibatches: must be a whole number of at least 1; got '0'"),
        ("train food --threads 0", "argument --threads: must be a whole number of at least 1; got '0'"),
        ("train food --threads 1000000", "--threads: must be a whole number of at most 1024; got '1000000'"),
        ("fork 1 --threads 1025", "--threads: must be a whole number of at most 1024; got '1025'"),
        ("train x --threads 1025", "must be a whole number of at most 1024; got '1025'"),
        ("train food --set averaged_burn_in=5", "averaged_burn_in without averaged would change nothing"),
        ("train food --set averaged=yes", "averaged must be true or false; got 'yes'"),
        (
            "train food --set averaged=true --set averaged_samples=0",
            "averaged_samples must be a whole number of at least 1; got '0'",
        ),
        (
            "fork 1 --set averaged=true --set averaged_burn_in=9",
            "burn-in of the averaged protocol must be less than the 9 mini-batches",
        ),
        ("fork last --layers 5", "topiary fork: unrecognized arguments: --layers 5; see topiary fork --help"),
        ("runs twice", "topiary runs: unrecognized arguments: twice; see topiary runs --help"),
        (
            "train food --set inference=gibbs --inference tlasgr",
            "inference is given twice, by --set and by --inference",
        ),
        (
            "train food --layers 3 --set layers=4",
            "the setting layers is given twice, by --set and by --layers; give it",
        ),
        ("fork 1 --set eta=0.1 --set eta=0.2", "the setting eta is given twice, by --set; give it once"),
        (f"train food --name {'x' * 201}", "argument --name: a name has at most 200 characters; got 201"),
        (f"fork 1 --name {'x' * 3000}", "argument --name: a name has at most 200 characters; got 3,000"),
        (f"import . --name {'x' * 201}", "argument --name: a name has at most 200 characters; got 201"),
        ("compare 1 1 --layer 9", "--layer without a picture would change nothing; give --output compare.svg too"),
        ("compare 1 1 --topic 1 --class a --output x.json", "--topic and --class without a picture would change"),
        (
            "compare 1 1 --most 0 --output x.json",
            "--most counts lines of the summary, which --output and --json do not",
        ),
        ("compare 1 1 --most 3 --json", "--most counts lines of the summary"),
        ("tree 1 --class a --output x.json", "--class without a picture would change nothing; give --output tree.svg"),
        ("import . --format lines --levels 3", "holds no idx images, which alone have grey values"),
        ("import . --levels 3 --binary", "import: --levels and --binary exclude each other; give one of them"),
        (
            "import . --phrase-npmi 0.3",
            "import: --phrase-npmi and --phrase-count say what a phrase is; give --phrases too",
        ),
        ("import . --phrases --phrase-count 1", "import: --phrase-count must be 2 or more; got 1"),
        ("import . --html maybe", "import: --html must be auto, yes or no; got 'maybe'"),
        (
            "import . --stop-words klingon",
            "import: --stop-words must be auto, none, a language such as german or a file",
        ),
        (
            "import . --format uci --phrases",
            "holds counts, whose words are not found by a pattern; leave --phrases out",
        ),
        ("import . --test-share 1", "topiary import: --test-share must be at least 0 and below 1; got 1.0"),
        ("import . --token-pattern (", "topiary import: --token-pattern must be a regular expression; got '('"),
        ("tree 1 --output .", "cannot write a tree as '.': its name must end in one of"),
        ("compare 1 1 --output .", "cannot write a comparison as '.': its name must end in .svg or .json"),
        (
            "train food --minibatches 5 --layers 3 --inference tlasgr --set grow=true",
            "learning the widths of 1 layer takes more than",
        ),
        ("fork 1 --threads 0", "argument --threads: must be a whole number of at least 1; got '0'"),
        ("train food --seed -1", "seed must be from 0 to"),
        ("train food --minibatches ten", "argument --minibatches: must be a whole number of at least 1; got 'ten'"),
        ("show 77", "there is no run number 77"),
        ("show seven", "a run is named by its number, or last; got 'seven'"),
        ("topics 1 --words 31", "argument --words: must be a whole number of at most 30; got '31'"),
        ("topics 1 --layer 5", "run 1 has no layer 5: it has layers 1 to 2"),
        (
            "tree 1 --topic L2:3 --output x.svg",
            "run 1 has no topic 'L2:3'; topics are named like 'L1:3', and topiary topics",
        ),
        (
            "tree 1 --topic 3 --output x.svg",
            "run 1 has no topic '3'; topics are named like 'L1:3', and with this number there are L1:3 ",
        ),
        ("tree 1 --layer 2 --topic L1:3 --output x.svg", " is a topic of layer 1, and not of 2"),
        ("tree 1 --output tree.pdf", "cannot write a tree as 'tree.pdf': its name must end in one of"),
        ("tree 1 --layer 0 --output x.svg", "argument --layer: must be a whole number of at least 1; got '0'"),
        ("tree 1", "the following arguments are required: --output"),
        ("tree 1 --threshold nan --output x.svg", "argument --threshold: must be a number of at least 0; got 'nan'"),
        ("compare 1 1 --threshold -1", "argument --threshold: must be a number of at least 0; got '-1'"),
        ("corpora delete", "say which corpus to delete, by name or number"),
        ("corpora delete food", "food"),
        ("corpora list food", "corpora list names all of them; leave 'food' out, or say corpora show"),
        ("import /no/such/file.txt", "/no/such/file.txt"),
        (
            "import . --max-df 3",
            "topiary import: --max-df must be a share of the documents above 0 and up to 1; got 3.0",
        ),
        ("delete 1", "run 1 is training; stop it before deleting it"),
        ("resume 1", "run 1 is running; there is nothing to resume"),
        ("dance", "there is no command 'dance': there are demo, inspect, import"),
        ("tran 1", "there is no command 'tran': did you mean train?"),
        ("", "the following arguments are required: COMMAND"),
    ],
)
def test_a_mistake_is_one_sentence_on_standard_error_and_status_2(capsys, filled, no_workers, words, sentence):
    given = words.split()
    status, out, err = call(capsys, *given, *(["--store", filled] if given and given[0] != "dance" else []))
    assert status == 2
    assert out == ""
    assert sentence in err
    assert err.startswith("topiary")
    assert len(err.splitlines()) == 1
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        *((f"{verb} {{}}", "there is no run number {}") for verb in ("show", "pause", "stop", "resume", "delete")),
        ("topics 1 --minibatch {}", "argument --minibatch: must be a whole number of at most 9223372036854775807"),
        ("compare 1 1 --minibatch-a {}", "argument --minibatch-a: must be a whole number of at most"),
        ("fork 1 --snapshot {}", "--snapshot is a mini-batch, or latest; got '{}'"),
        ("train food --minibatches {}", "argument --minibatches: must be a whole number of at most"),
        ("train food --seed {}", "seed must be from 0 to 9223372036854775807"),
        ("train {}", "there is no corpus '{}'; the store has food (1)"),
        ("import . --seed {}", "seed must be from 0 to 9223372036854775807; got {}"),
        ("serve --port {}", "argument --port: must be a whole number of at most 65535; got '{}'"),
    ],
)
@pytest.mark.parametrize("number", [str(2**63), "9" * 23])
def test_a_number_that_no_column_holds_is_refused_in_one_sentence(capsys, filled, no_workers, number, words, sentence):
    status, out, err = call(capsys, *words.format(number).split(), "--store", filled)
    assert (status, out) == (2, "")
    assert sentence.format(number) in err
    assert len(err.splitlines()) == 1


def test_a_number_of_more_digits_than_python_reads_names_no_run(capsys, filled):
    assert "there is no run number 999" in call(capsys, "show", "9" * 5000, "--store", filled)[2]


def test_the_largest_number_that_a_column_holds_is_a_mini_batch_like_others(capsys, filled):
    assert read(capsys, "topics", "1", "--minibatch", str(2**63 - 1), "--store", filled)
    assert call(capsys, "topics", "1", "--minibatch", "3", "--store", filled)[0] == 2


def test_a_store_that_cannot_be_opened_is_a_sentence(capsys, tmp_path):
    status, _, err = call(capsys, "runs", "--store", str(tmp_path))
    assert status == 2
    assert "is a folder" in err


def test_who_only_reads_makes_no_store(capsys, store):
    for words in ("runs", "corpora", "show 1", "topics 1", "infer 1 -", "train food", "pause 1"):
        status, out, err = call(capsys, *words.split(), "--store", store)
        assert (status, out) == (2, "")
        assert "there is no store at" in err
        assert "import a corpus or run the demo to make one" in err
    assert not Path(store).exists()


def test_an_empty_store_says_how_to_begin(capsys, store):
    open_database(store).close()
    for command in ("runs", "corpora"):
        status, out, err = call(capsys, command, "--store", store)
        assert (status, out) == (0, "")
        assert "topiary demo" in err
    assert read(capsys, "runs", "--store", store) == []


def test_texts_are_imported_trained_on_and_deleted_by_command(capsys, store, tmp_path, no_workers):
    folder = tmp_path / "texts"
    folder.mkdir()
    for j in range(12):
        (folder / f"{j}.txt").write_text(f"apple bread cheese number{'abc'[j % 3]} apple bread", encoding="utf-8")
    facts = read(capsys, "import", str(folder), "--name", "food", "--min-df", "1", "--max-df", "1", "--store", store)
    assert (facts["name"], facts["documents"]) == ("food", 12)
    assert [row["name"] for row in read(capsys, "corpora", "--store", store)] == ["food"]
    assert call(capsys, "train", "food", "--layers", "2", "--store", store)[1] == "1\n"
    assert call(capsys, "stop", "1", "--store", store)[0] == 0
    assert read(capsys, "show", "1", "--store", store)["state"] == "stopped"
    assert call(capsys, "delete", "1", "--store", store)[1] == "deleted run 1\n"
    assert call(capsys, "corpora", "delete", "food", "--store", store)[1] == "deleted corpus 1, food\n"


def test_notes_of_an_import_stay_on_a_terminal(store, tmp_path, monkeypatch):
    lines = [f'{{"text": "apple bread number{n}", "split": "train"}}' for n in range(6)]
    lines += ['{"text": "of the", "split": "train"}', '{"text": "apple bread", "split": "test"}']
    (tmp_path / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", screen)
    assert main.main(["import", str(tmp_path / "a.jsonl"), "--min-df", "1", "--max-df", "1", "--store", store]) == 0
    shown = [line.rpartition("\r")[2] for line in screen.getvalue().split("\n")]
    assert any(line.startswith("Note: ") and "left out" in line for line in shown), screen.getvalue()


def test_a_corpus_is_not_deleted_by_its_name_where_another_has_that_number(capsys, filled):
    db = open_database(filled)
    with corpus_writer.write_corpus(db, "1", WORDS) as writer:
        writer.add(_block(-1))
    db.close()
    status, out, err = call(capsys, "corpora", "delete", "1", "--store", filled)
    assert (status, out) == (2, "")
    assert "'1' is the name of corpus 2 and the number of corpus 'food'; say 2 for the one, food for the other" in err
    assert call(capsys, "corpora", "delete", "2", "--store", filled)[1] == "deleted corpus 2, 1\n"


def test_wait_tells_how_a_run_ended_and_fails_when_it_did(capsys, filled):
    db = open_database(filled)
    row = runs.get_run(db, 1)
    runs.finish_run(db, 1, row.attempt, "failed", "ValueError: no")
    assert run_commands.wait_for_run(db, 1) == 1
    assert "run 1 failed: ValueError: no" in capsys.readouterr().err
    db.close()


def test_every_option_of_an_import_has_a_flag():
    assert set(options.HELP) == set(ImportOptions.__dataclass_fields__)


def test_the_parser_of_one_command_has_it_as_the_parser_of_all_does():
    every = next(action.choices for action in main.build_parser()._actions if action.dest == "command")
    for name, command in every.items():
        own = next(action.choices for action in main.build_parser(name)._actions if action.dest == "command")
        assert own[name].format_help() == command.format_help()
        assert len(own) < 10


def test_every_command_takes_a_store():
    parser = main.build_parser()
    choices = next(action.choices for action in parser._actions if action.dest == "command")
    steering = {"train", "runs", "show", "stop", "pause", "resume", "delete"}
    assert steering | {"demo", "import", "corpora", "topics", "tree", "serve"} <= set(choices)
    for command in choices.values():
        assert "--store" in command.format_help()
        module, _, verb = command.get_default("function").rpartition(".")
        assert callable(getattr(importlib.import_module(f"topiary.app.cli.{module}"), verb))


INTERRUPTED = """
import sys
import tomllib
from contextlib import closing
class CtrlC:
    def find_spec(self, name, *_):
        if name == "topiary.app.cli.show":
            raise KeyboardInterrupt
sys.meta_path.insert(0, CtrlC())
from topiary.app.cli import main
sys.exit(main.main(sys.argv[1:]))
"""


def test_ctrl_c_while_a_command_is_loaded_ends_it_without_a_word():
    words = [sys.executable, "-c", INTERRUPTED, "runs"]
    report = subprocess.run(words, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert (report.returncode, report.stdout, report.stderr) == (130, "", "\n")


@pytest.mark.skipif(os.name == "nt", reason="a shell of Unix leads the output there")
@pytest.mark.parametrize(
    ("where", "sentence"),
    [(">/dev/full", "standard output cannot be written (No space left"), (">&-", "standard output is closed")],
)
@pytest.mark.parametrize(
    "words",
    [
        *("runs", "--help"),
        *(pytest.param(each, marks=pytest.mark.nightly) for each in ("topics 1 --json", "compare 1 1")),
    ],
)
def test_what_cannot_be_printed_is_one_sentence_and_status_2(filled, where, sentence, words):
    if ">/dev/full" in where and not Path("/dev/full").exists():
        pytest.skip("this system has no device that is always full")
    command = f"{sys.executable} -m topiary.app.cli.main {words} {where}"
    report = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=REPOSITORY,
        env=os.environ | {"TOPIARY_STORE": filled},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (report.returncode, report.stderr.count("\n")) == (2, 1), report.stderr
    assert f"topiary: {sentence}" in report.stderr


@pytest.mark.cores
@pytest.mark.skipif(os.name == "nt", reason="a shell of Unix leads the output there")
@pytest.mark.parametrize(
    ("where", "status", "sentence"),
    [
        (">/dev/full", 2, "topiary: run 2 is ordered, but standard output cannot be written (No space left"),
        (">&-", 2, "topiary: run 2 is ordered, but standard output is closed"),
        ("| true", 0, ""),
    ],
)
@pytest.mark.parametrize(
    "words",
    ["train food --minibatches 20 --layers 2", pytest.param("fork 1 --minibatches 20", marks=pytest.mark.nightly)],
)
def test_a_run_whose_number_cannot_be_printed_starts_all_the_same(filled, tmp_path, words, where, status, sentence):
    if ">/dev/full" in where and not Path("/dev/full").exists():
        pytest.skip("this system has no device that is always full")
    begun = tmp_path / "begun"
    script = "import pathlib, sys, types\nfrom topiary.app.cli import main\nfrom topiary.app.jobs import launcher\n"
    script += "nobody = types.SimpleNamespace(pid=999_999_999)\n"
    script += "launcher.start_worker = lambda url, run: pathlib.Path(sys.argv[1]).write_text(str(run)) and nobody\n"
    (tmp_path / "command.py").write_text(script + "status = main.main(sys.argv[2:])\nsys.exit(status)\n")
    report = subprocess.run(
        ["/bin/sh", "-c", f"{{ {sys.executable} {tmp_path}/command.py {begun} {words}; echo $? >&2; }} {where}"],
        cwd=REPOSITORY,
        env=os.environ | {"TOPIARY_STORE": filled, "PYTHONPATH": str(REPOSITORY), "TOPIARY_WORKERS": "2"},
        capture_output=True,
        text=True,
        check=False,
    )
    *on_message, last = report.stderr.splitlines()
    assert last == str(status), report.stderr
    assert sentence in report.stderr
    assert "Traceback" not in "".join(on_message)
    assert begun.read_text() == "2"


def list_loaded(script, names):
    """Return which of some modules a program loads."""
    script += f"\nimport sys; print(*sorted({names!r} & set(sys.modules)))"
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    return found.stdout.split()


@pytest.mark.nightly
def test_the_server_starts_without_loading_readers_of_files():
    readers = {"topiary.app.ingest.registry", "topiary.app.ingest.importing", "bibtexparser", "scipy.io"}
    assert list_loaded("import topiary.app.server.serve", readers) == []
    assert list_loaded("import topiary.app.ingest.registry", readers) != []


def test_the_command_starts_without_loading_compiler_or_screen():
    script = (
        "from topiary.app.cli import main; main.build_parser(); import topiary.app.cli.runs, topiary.app.cli.stores"
    )
    assert list_loaded(f"{script}, topiary.app.cli.show", {"numba", "panel", "bokeh", "sklearn", "scipy"}) == []


@pytest.mark.parametrize("words", ["--help", "--version"])
def test_help_and_version_need_neither_store_nor_numbers(words):
    """They answer in a tenth of a second, as long as nothing slow is loaded for them."""
    script = "import atexit, sys; from topiary.app.cli import main\n"
    script += "slow = {'numpy', 'numba', 'panel', 'scipy', 'sqlalchemy'}\n"
    script += "atexit.register(lambda: sys.stderr.write(str(sorted(slow & set(sys.modules)))))\n"
    script += "sys.exit(main.main(sys.argv[1:]))"
    found = subprocess.run(
        [sys.executable, "-c", script, words], capture_output=True, text=True, check=True, cwd=REPOSITORY
    )
    assert found.stderr == "[]"


def test_the_version_is_that_of_the_project(capsys):
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert call(capsys, "--version")[1] == f"topiary {project['version']}\n"
    assert topiary.__version__ == project["version"]


class Screen:
    """A terminal, or not."""

    def __init__(self, *, terminal):
        self.text = ""
        self._terminal = terminal

    def isatty(self):
        return self._terminal

    def write(self, text):
        self.text += text

    def flush(self):
        pass


def test_progress_is_one_line_on_a_terminal_and_elsewhere_at_most_a_line_in_ten_seconds(monkeypatch):
    for terminal, lines in ((True, 1), (False, 2)):
        screen, now = Screen(terminal=terminal), iter((0.0, 3.0, 9.9, 10.0, 19.0))
        monkeypatch.setattr("topiary.app.jobs.progress.time.monotonic", lambda now=now: next(now))
        progress = Progress(screen)
        for number in range(5):
            progress.show(f"reading document {number}", number / 4)
        progress.end("done")
        assert screen.text.endswith("done\n")
        assert screen.text.count("\n") == 1 + (lines if not terminal else 0)
        assert ("\r" in screen.text) is terminal


def test_a_long_run_writes_ten_lines_into_a_log(monkeypatch):
    screen, now = Screen(terminal=False), iter(range(3000))
    monkeypatch.setattr("topiary.app.jobs.progress.time.monotonic", lambda: float(next(now)))
    progress = Progress(screen)
    for step in range(3000):
        progress.show(f"run 1: training, step {step}", step / 2999)
    assert screen.text.count("\n") == 10


@pytest.mark.parametrize(
    ("columns", "line"),
    [
        (120, f"run 12: training  {draw_bar(0.25)}  875/3,500  point perplexity 1,824.5  1 h 07 min left"),
        (80, "run 12: training  875/3,500  point perplexity 1,824.5  1 h 07 min left"),
        (40, "run 12: training  875/3,500"),
        (10, "run 12: t"),
    ],
)
def test_a_line_of_progress_fits_the_terminal(monkeypatch, columns, line):
    monkeypatch.setenv("COLUMNS", str(columns))
    screen = Screen(terminal=True)
    Progress(screen).show("run 12: training", 0.25, "875/3,500  point perplexity 1,824.5  1 h 07 min left")
    assert screen.text == f"\r{line}"


def test_bars_and_times_are_readable():
    assert draw_bar(0.25) == "[######------------------]  25%"
    assert draw_bar(7) == f"[{'#' * 24}] 100%"
    assert [format_duration(s) for s in (0, 59.4, 200, 7500)] == ["0 s", "59 s", "3 min 20 s", "2 h 05 min"]


def test_a_run_is_forked_and_its_child_says_where_it_comes_from(filled, no_workers, capsys):
    assert main.main(["fork", "1", "--snapshot", "9", "--minibatches", "5", "--seed", "3", "--store", filled]) == 0
    on_message = capsys.readouterr()
    assert on_message.out == "2\n"
    assert "run 2 goes on from run 1 at mini-batch 4" in on_message.err
    assert main.main(["show", "2", "--json", "--store", filled]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["parent"], facts["parent_minibatch"], facts["parent_exists"]) == (1, 4, True)
    assert (facts["layers"], facts["seed"], facts["minibatches"]) == ([3, 2], 3, 5)
    main.main(["show", "1", "--json", "--store", filled])
    assert json.loads(capsys.readouterr().out)["parent"] is None


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["fork", "1", "--snapshot", "newest"], "--snapshot is a mini-batch, or latest; got 'newest'"),
        (["fork", "1", "--snapshot", "3"], "run 1 has no snapshot at or before mini-batch 3 to fork from"),
        (["fork", "1", "--model", "lda"], "there is no model 'lda'"),
        (["fork", "1", "--set", "layers=4-4"], "layers must be those of the snapshot, 3-2; got 4-4"),
        (["fork", "7"], "there is no run number 7"),
    ],
)
def test_a_fork_that_cannot_be_is_refused_in_one_sentence(filled, no_workers, capsys, words, sentence):
    assert main.main([*words, "--store", filled]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert sentence in said


@pytest.fixture
def two_runs(filled):
    """The store with a second run, whose topics are those of the first in another order."""
    db = open_database(filled)
    row = runs.create_run(
        db,
        corpus=corpora.list_corpora(db)[0].number,
        model="dlda",
        inference="tlasgr",
        layers=(3, 2),
        settings={},
        options={"minibatches": 9},
        seed=2,
    )
    row = runs.claim_run(db, row.number, process.identify_process())
    arrays = snapshots.load_snapshot(db, snapshots.find_latest(db, 1).number)
    order = [2, 0, 1]
    turned = {"phi.0": arrays["phi.0"][:, order], "phi.1": arrays["phi.1"][order], "r": arrays["r"]}
    snapshots.append_snapshot(db, row.number, row.attempt, 4, 0.5, turned)
    notes.save_match(db, 2, 1, notes.MatchDecision(2, 1, 0))
    db.close()
    return filled


def test_compare_prints_the_summary_of_two_runs(two_runs, capsys):
    assert main.main(["compare", "1", "last", "--store", two_runs]) == 0
    report = capsys.readouterr().out.splitlines()
    assert report[0].startswith("A: run 1, mini-batch 4, 3-2")
    assert report[2].startswith("layer 1: 3 of 3 and 3 topics have a partner, mean likeness ")
    assert "layer 2: 1 of 2 and 2 topics have a partner" in report[1]  # topic 1 of run 2 was said to have no partner
    assert any(line.startswith("compared with other seeds: These two runs differ only in their") for line in report)


def test_compare_speaks_of_a_difference_beside_what_two_seeds_reach(two_runs, capsys):
    db = open_database(two_runs)
    arrays = snapshots.load_snapshot(db, snapshots.find_latest(db, 1).number)
    how = {"model": "dlda", "inference": "tlasgr", "layers": (3, 2), "options": {"minibatches": 9}, "seed": 3}
    row = runs.create_run(db, corpus=1, settings={"eta": [0.9]}, **how)
    row = runs.claim_run(db, row.number, process.identify_process())
    points = [Point(4, 40, 0.5, "point_perplexity", 0, 9.0)]
    runs.record_progress(db, row.number, row.attempt, minibatch=4, seconds=0.5, point_perplexity=9.0, points=points)
    flat = np.random.default_rng(9).dirichlet(np.full(6, 0.2), 3).T
    snapshots.append_snapshot(db, row.number, row.attempt, 4, 0.5, arrays | {"phi.0": flat})
    db.close()
    out = call(capsys, "compare", "1", "3", "--store", two_runs)[1]
    assert re.search(r"differences beyond seeds: [1-9] of \d+ \(likeness of layer 1 0\.", out)
    assert "in nothing but the seed, 1 and 2." in out
    assert re.search(r"layer 1: .*mean likeness 0.\d\d \(two seeds [01].\d\d\)", out)
    assert "Point perplexity: 5.5 in A, 9.0 in B; no second seed tells whether that is more than chance." in out
    seeds = json.loads(call(capsys, "compare", "1", "3", "--json", "--store", two_runs)[1])["seeds"]
    assert seeds["pairs"] == [[1, 2]]
    assert seeds["layers"][0]["score"]["below"] is True
    assert (seeds["estimate"]["name"], seeds["estimate"]["seeds_differ_by"]) == ("point_perplexity", None)


def test_compare_prints_every_pair_as_json_with_identity_numbers(two_runs, capsys):
    assert main.main(["compare", "1", "2", "--json", "--threshold", "0", "--store", two_runs]) == 0
    report = json.loads(capsys.readouterr().out)
    pairs = {(row["a"]["topic"], row["b"]["topic"]) for row in report["topic_matches"] if row["layer"] == 1}
    assert pairs == {("L1:3", "L1:1"), ("L1:1", "L1:2"), ("L1:2", "L1:3")}
    alone = [row for row in report["topic_matches"] if row["a"] is None]
    assert [(row["b"]["topic"], row["by_hand"]) for row in alone] == [("L2:1", True)]


def test_compare_writes_both_trees_as_a_picture_and_everything_as_json(two_runs, tmp_path, capsys):
    for name in ("both.svg", "both.json"):
        path = tmp_path / name
        arguments = ["compare", "1", "2", "--threshold", "0", "--output", str(path), "--store", two_runs]
        assert main.main(arguments) == 0
        assert capsys.readouterr().out == f"{path}\n"
    svg = (tmp_path / "both.svg").read_text(encoding="utf-8")
    assert svg.count("<svg") == 3
    assert "A · run 1, mini-batch 4" in svg
    assert len(json.loads((tmp_path / "both.json").read_text(encoding="utf-8"))["topic_matches"]) == 6
    lowest = ["compare", "1", "2", "--layer", "1", "--topic", "L1:2", "--output", str(tmp_path / "one.svg")]
    assert main.main([*lowest, "--store", two_runs]) == 0
    assert "Topic tree, 1 topics" in (tmp_path / "one.svg").read_text(encoding="utf-8")


@pytest.fixture
def labelled_runs(two_runs):
    """A corpus with two classes and two runs on it, the topics of the second of which speak for them."""
    db = open_database(two_runs)
    block = DocumentBlock(
        first=0, counts=StoredCounts(np.array([0, 2, 4]), np.array([0, 1, 2, 3], np.int32), np.ones(4, np.int32)),
        part=np.array([0, 1], dtype=np.int8), labels=np.array([0, 1], dtype=np.int32),
        titles=[""] * 2, texts=[""] * 2, columns=[{}] * 2,
    )  # fmt: skip
    with corpus_writer.write_corpus(db, "menu", WORDS, label_names=("sweet", "salty")) as writer:
        writer.add(block)
    arrays = snapshots.load_snapshot(db, snapshots.find_latest(db, 1).number)
    rng = np.random.default_rng(3)
    speaking = {f"model.class_weights.{layer}": rng.normal(size=(2, width)) for layer, width in enumerate((3, 2))}
    for seed, more in ((3, {}), (4, speaking)):
        row = runs.create_run(
            db, corpus=writer.row.number, model="sdatm", inference="whai", layers=(3, 2), settings={},
            options={"minibatches": 9}, seed=seed,
        )  # fmt: skip
        row = runs.claim_run(db, row.number, process.identify_process())
        snapshots.append_snapshot(db, row.number, row.attempt, 4, 0.5, arrays | more)
    db.close()
    return two_runs


def test_compare_and_tree_tint_topics_by_a_class_that_is_named(labelled_runs, tmp_path, capsys):
    both, tree = tmp_path / "both.svg", tmp_path / "tree.svg"
    assert main.main(["compare", "3", "4", "--class", "Salty", "--output", str(both), "--store", labelled_runs]) == 0
    assert main.main(["tree", "4", "--class", "salty", "--output", str(tree), "--store", labelled_runs]) == 0
    for path in (both, tree):
        svg = path.read_text(encoding="utf-8")
        assert 'class="tp-tint"' in svg
        assert "colour: weight for salty" in svg
    assert "speaks against salty" in both.read_text(encoding="utf-8")
    capsys.readouterr()
    for words, sentence in (
        (["compare", "3", "4", "--class", "bitter"], "there is no class 'bitter'; the classes are sweet, salty"),
        (["tree", "3", "--class", "sweet"], "no topic speaks for a class"),
    ):
        assert main.main([*words, "--output", str(both), "--store", labelled_runs]) == 2
        report = capsys.readouterr().err
        assert sentence in report
        assert report.count("\n") == 1


def test_a_fork_of_no_steps_is_refused_and_not_made_as_long_as_its_parent(filled, no_workers, capsys):
    status, _, err = call(capsys, "fork", "1", "--minibatches", "0", "--store", filled)
    assert status == 2
    assert "argument --minibatches: must be a whole number of at least 1; got '0'" in err


@pytest.mark.parametrize(
    ("names", "labels", "has"),
    [
        ((), [-1, -1, -1, -1], "none; import it with labels"),
        (("sweet",), [0, 0, 0, 0], "only 'sweet'; import it with labels"),
        (("sweet", "salty"), [0, 0, -1, 1], "only 'sweet' among its training documents; import it with another split"),
        (("sweet", "salty"), [-1, -1, -1, 1], "none among its training documents; import it with another split"),
    ],
)
def test_a_model_that_learns_from_labels_wants_two_classes_to_learn_from(
    names, labels, has, filled, no_workers, capsys
):
    db = open_database(filled)
    with corpus_writer.write_corpus(db, "labelled", WORDS, label_names=names) as writer:
        writer.add(_block(labels))
    db.close()
    status, _, err = call(capsys, "train", "labelled", "--model", "sdatm", "--layers", "3", "--store", filled)
    assert status == 2
    assert f"learns from labels of at least two classes, and corpus 'labelled' has {has}" in err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["1", "2", "--output", "both.pdf"], "its name must end in .svg or .json"),
        (["1", "2", "--output", "nowhere/both.svg"], "No such file"),
        (
            ["1", "2", "--topic", "L2:9", "--output", "both.svg"],
            "run 2 has no topic 'L2:9'; topics are named like 'L1:3'",
        ),
        (["1", "9"], "no run number 9"),
        (["1", "one"], "a run is named by its number"),
        (["1", "2", "--minibatch-a", "2"], "run 1 has no snapshot at or before mini-batch 2"),
    ],
)
def test_a_comparison_that_cannot_be_made_is_one_sentence(words, sentence, two_runs, capsys):
    assert main.main(["compare", *words, "--store", two_runs]) == 2
    report = capsys.readouterr().err
    assert sentence in report
    assert report.count("\n") == 1


def test_a_run_deleted_while_the_list_is_read_is_listed_without_a_figure(capsys, filled, monkeypatch):
    monkeypatch.setattr("topiary.store.points.read_curves", lambda _, name: {})
    assert main.main(["runs", "--store", filled]) == 0
    assert "dlda tlasgr" in capsys.readouterr().out


def test_seeds_prints_what_comes_back_and_quality_and_graphs_say_it_too(two_runs, tmp_path, capsys):
    out = call(capsys, "seeds", "1", "--store", two_runs)[1]
    assert out.startswith("runs that differ in the seed alone: 1 (seed 1), 2 (seed 2)\n")
    assert "layer 1: agreement adjusted for chance 100%; 3 of 3 topics found by the other seed" in out
    assert re.search(r"1 of 1  L1:\d +1 +[\d.]+%  ", out)
    facts = json.loads(call(capsys, "seeds", "1", "--layer", "1", "--json", "--store", two_runs)[1])
    assert [run["run"] for run in facts["runs"]] == [1, 2]
    assert [row["found_in"] for row in facts["layers"][0]["by_topic"]] == [2, 2, 2]
    assert {each["name"] for each in facts["mixing"]} >= {"log likelihood", "sum of r"}
    layers = json.loads(call(capsys, "quality", "1", "--no-labels", "--json", "--store", two_runs)[1])["layers"]
    assert (layers[0]["seeds"]["agreement"], layers[0]["seeds"]["runs"]) == (1.0, 2)
    assert {topic["found_in"] for topic in layers[0]["by_topic"]} == {2}
    out = call(capsys, "quality", "1", "--no-labels", "--store", two_runs)[1]
    assert "layer 1: agreement adjusted for chance 100%; 3 of 3 topics found by the other seed" in out
    assert "found by 1 of 1 other seed" in out
    path = tmp_path / "tree.json"
    call(capsys, "tree", "1", "--threshold", "0", "--output", str(path), "--store", two_runs)
    graph = json.loads(path.read_text(encoding="utf-8"))
    assert graph["graph"]["of_runs"] == 2
    assert {node["found_in"] for node in graph["nodes"] if node["layer"] == 1} == {2}
    assert {edge["found_in"] for edge in graph["edges"]} <= {1, 2}


def test_seeds_of_a_run_without_another_seed_says_how_to_get_one(filled, capsys):
    status, out, err = call(capsys, "seeds", "1", "--store", filled)
    assert (status, out) == (2, "")
    assert "No run differs from run 1 in its seed alone." in err
    assert "The command is topiary train --seeds 1-5." in err
