"""The command edit: what is asked for is in the journal, and every mistake is a sentence."""

import json
from contextlib import closing

import garden
import pytest
from databases import open_filled
from process_samples import NOBODY
from steering_samples import steer_dlda

from topiary.app.cli import main
from topiary.app.jobs import launcher
from topiary.store import runs
from topiary.store.database import open_database


@pytest.fixture
def call(tmp_path, capsys, monkeypatch):
    """A function that runs a command on a store with a finished run of DLDA, which takes edits."""
    steer_dlda(monkeypatch)
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "data"))
    monkeypatch.setenv("LOGNAME", "grace")
    monkeypatch.setattr(launcher, "start_worker", lambda url, run: NOBODY)
    path = tmp_path / "store.db"
    open_filled(path, garden.plant).close()

    def run_command(*words):
        status = main.main([*words, "--store", str(path)])
        said = capsys.readouterr()
        assert "Traceback" not in said.out + said.err
        return status, said.out, said.err

    run_command.path = path
    return run_command


def read_words(call, layer=1):
    return json.loads(call("topics", "1", "--layer", str(layer), "--json")[1])[0]["words"]


def test_edits_are_added_listed_applied_and_undone(call):
    assert call("edit", "1")[2].startswith("run 1 has no edit yet; make one as in topiary edit 1 ban WORD")
    one, two = read_words(call)[:2]
    status, out, err = call("edit", "1", "seed", one, two, "--name", "Beds", "--strength", "strong")
    assert (status, out) == (0, "1\n")
    assert "1 edit of run 1 waiting, as the run is finished; topiary edit 1 apply trains 50 more" in err
    status, out, err = call("edit", "1", "out", "L1:3", one)
    assert out == "2\n"
    assert "topic L1:3 " in err
    assert call("edit", "1", "--undo", "2") == (0, "1\n", "edit 2 is withdrawn\n")
    first, second = json.loads(call("edit", "1", "--list", "--json")[1])
    assert {name: first[name] for name in ("state", "words", "strength", "name", "author", "result", "topic")} == {
        "state": "waiting", "words": [one, two], "strength": "strong", "name": "Beds", "author": "grace",
        "result": "waits", "topic": None,
    }  # fmt: skip
    assert (second["topics"], second["what"]) == (["L1:3"], f"keep {one} out of L1:3")
    listed = call("edit", "1")[1].splitlines()
    assert listed[1].split()[:2] == ["1", "waiting"]
    assert f"new topic 'Beds' of layer 1 from {one}, {two}" in listed[1]
    status, out, err = call("edit", "1", "suggest")
    assert (status, out.split()[:2]) == (0, ["edit", "why"])
    assert "merges are judged by the likeness of words: run 1 has not kept the topics of its tokens yet" in err
    assert "run 1 has not kept the topics" in call("edit", "1", "split", "L1:2", "--preview")[2]
    assert len(json.loads(call("edit", "1", "--json")[1])) == 2
    status, out, err = call("edit", "1", "apply", "--train", "30")
    assert status == 0
    assert f"run {out.strip()} goes on from run 1 with them" in err
    with closing(open_database(call.path)) as db:
        assert runs.get_run(db, int(out)).planned == 30


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("paint", "L1:1"), "there is no edit 'paint'; there are seed, keep"),
        (("merge", "L1:1"), "is written like 'merge L1:3 L1:8'; got 1 topic and 0 words"),
        (("pin", "L1:99"), "run 1 has no topic 'L1:99'; topics are named like 'L1:3'"),
        (("ban", "zzzz"), "the corpus has no 'zzzz' (nor a word near it)"),
        (("ban", "word", "--list"), "give one of an edit, --undo and --list"),
        (("--undo", "7"), "run 1 has no edit 7; topiary edit 1 --list shows its journal"),
        (("apply",), "no edit of run 1 waits; add one first"),
    ],
)
def test_mistakes_are_one_sentence(call, words, sentence):
    status, out, err = call("edit", "1", *words)
    assert (status, out) == (2, "")
    assert sentence in err


def test_a_file_of_topics_is_read_by_train(call, tmp_path):
    guide = tmp_path / "guide.yaml"
    one, two = read_words(call)[:2]
    guide.write_text(f"topics:\n  - name: Beds\n    words: [{one}, {two}]\n", encoding="utf-8")
    corpus = json.loads(call("runs", "--json")[1])[0]["corpus"]
    status, out, _ = call("train", corpus, "--topics", str(guide), "--minibatches", "8", "--layers", "6-3")
    assert status == 0
    assert json.loads(call("edit", out.strip(), "--json")[1])[0]["name"] == "Beds"
    guide.write_text("topic: []", encoding="utf-8")
    assert "guide.yaml has a key 'topic', which means nothing" in call("train", corpus, "--topics", str(guide))[2]
