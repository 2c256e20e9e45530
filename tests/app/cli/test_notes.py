"""The commands about notes: what is written is listed, in tables and as JSON, and carried to another run."""

import json
import re

import garden
import numpy as np
import pandas as pd
import pytest
from databases import open_filled

from topiary.app.cli import main
from topiary.app.cli import notes as commands
from topiary.store import notes, runs, snapshots
from topiary.store.database import open_database
from topiary.store.notes import NewNote
from topiary.stores import Store


@pytest.fixture
def call(tmp_path, capsys):
    """A function that runs a command on a store with a finished run; it returns status, output and messages."""
    path = tmp_path / "store.db"
    open_filled(path, garden.plant).close()

    def run_command(*words):
        status = main.main([*words, "--store", str(path)])
        said = capsys.readouterr()
        assert "Traceback" not in said.out + said.err
        return status, said.out, said.err

    run_command.path = path
    return run_command


def test_notes_are_added_listed_changed_and_deleted(call, monkeypatch):
    monkeypatch.setenv("LOGNAME", "grace")
    assert call("notes", "1")[2].startswith("there is no note yet; write one with topiary notes 1 --add TEXT")
    assert call("notes", "1", "--add", "mostly\nroses", "--topic", "L1:3")[:2] == (0, "1\n")
    assert call("notes", "last", "--add", "to check", "--tag", "--document", "7", "--author", "Ada")[:2] == (0, "2\n")
    listed = call("notes", "1")[1].splitlines()
    assert listed[0].split() == ["number", "on", "kind", "author", "time", "text"]
    assert re.match("1       L1:3 [a-z, ]+  note  grace   ", listed[1])
    assert listed[1].endswith("mostly roses")
    assert re.match("2       document 7 +tag   Ada     ", listed[2])
    (of_topic,) = json.loads(call("notes", "1", "--topic", "L1:3", "--json")[1])
    assert {name: of_topic[name] for name in ("number", "topic", "document", "kind", "text", "author")} == {
        "number": 1, "topic": "L1:3", "document": None, "kind": "note", "text": "mostly\nroses", "author": "grace",
    }  # fmt: skip
    assert [each["text"] for each in json.loads(call("notes", "1", "--document", "7", "--json")[1])] == ["to check"]
    assert call("notes", "1", "--tags")[1].splitlines()[1].split() == ["to", "check", "1"]
    assert json.loads(call("notes", "1", "--tags", "--json")[1]) == [{"tag": "to check", "uses": 1}]
    assert call("notes", "1", "--change", "1", "roses only")[:2] == (0, "changed the note 1\n")
    assert call("notes", "1", "--delete", "2")[:2] == (0, "deleted the tag 2\n")
    assert [each["text"] for each in json.loads(call("notes", "1", "--json")[1])] == ["roses only"]
    (topic,) = [each for each in json.loads(call("topics", "1", "--json")[1]) if each["notes"]]
    assert (topic["layer"], topic["topic"], topic["notes"][0]["text"]) == (1, "L1:3", "roses only")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--add", "a"], "a note is on one topic, such as L3:1, or on one document; give one of them"),
        (["--add", "a", "--topic", "L9:1"], "run 1 has no topic 'L9:1'; topics are named like 'L1:3'"),
        (["--add", "a", "--topic", "roses"], "run 1 has no topic 'roses'"),
        (["--add", "a", "--document", "40"], "has no document 40; its documents are 0 to 39"),
        (["--add", " ", "--document", "4"], "a note without a text says nothing; write one"),
        (["--add", "t" * 61, "--tag", "--document", "4"], "a tag has at most 60 characters"),
        (["--tag"], "--tag says that the text of --add is a tag"),
        (["--delete", "9"], "there is no note or tag number 9"),
        (["--change", "one", "a"], "--change wants the number of a note and its new text; got 'one'"),
    ],
)
def test_a_mistake_is_one_sentence(call, words, sentence):
    status, output, message = call("notes", "1", *words)
    assert (status, output) == (2, "")
    assert sentence in message
    assert message.count("\n") == 1


def test_names_are_proposed_given_and_asked_for_only_after_they_were_seen(call, monkeypatch):
    asked = []
    monkeypatch.setattr(commands, "ask_names", lambda request: asked.append(request) or ["Roses", "Hedges"])
    status, output, message = call("names", "1", "--layer", "3")
    assert (status, output.splitlines()[0].split()[:4]) == (0, ["topic", "title", "proposed", "names,"])
    assert "name a topic with topiary names 1 --topic ID --give NAME" in message
    server = ("--url", "http://localhost:1/v1", "--model", "tiny")
    status, output, message = call("names", "1", "--topic", "L1:3", *server)
    assert output.startswith("POST http://localhost:1/v1/chat/completions\n{")
    assert "nothing was sent; add --send to send this" in message
    assert asked == []
    assert "Passages" not in output
    assert "Passages of its documents" in call("names", "1", "--topic", "L1:3", *server, "--passages")[1]
    found = json.loads(call("names", "1", "--topic", "L1:3", *server, "--send", "--json")[1])
    assert [each["names"] for each in found] == [[{"name": "Roses"}, {"name": "Hedges"}]]
    assert output == f"POST {asked[0].address}\n{asked[0].body}\n", "what was printed before"
    assert call("names", "1", "--topic", "L1:3", "--give", " Roses ")[1] == "named topic L1:3 Roses\n"
    assert call("names", "1", "--topic", "L1:3")[1].splitlines()[1].split()[:2] == ["L1:3", "Roses"]
    assert call("names", "1", "--topic", "L1:3", "--give", "")[1] == "topic L1:3 has no name now\n"
    wrong = {
        ("--layer", "9"): "run 1 has no layer 9",
        ("--give", "Roses"): "--give names one topic; give --topic with its number",
        ("--send",): "--passages and --send are about a server; give its address with --url",
        ("--url", "here", "--model", "tiny"): "'here' is no address of a server",
        ("--url", "http://here"): "name the model",
    }
    for words, sentence in wrong.items():
        status, output, message = call("names", "1", *words)
        assert (status, output) == (2, "")
        assert sentence in message


def plant_twin(path):
    """Add a run with the topics of layer 1 in the reverse order; return its number."""
    db = open_database(path)
    row = garden.begin(db, 1)
    arrays = garden.arrays(400)
    for name, axis in (("phi.0", 1), ("phi.1", 0)):
        arrays[name] = np.flip(arrays[name], axis)
    snapshots.append_snapshot(db, row.number, row.attempt, 400, 1.0, arrays)
    runs.finish_run(db, row.number, row.attempt, "stopped")
    notes.set_label(db, 1, 1, 1, "roses")
    notes.add_topic_note(db, 1, 1, 1, NewNote("mostly red"))
    notes.add_topic_note(db, 1, 2, 2, NewNote("of layer 2"))
    db.close()
    return row.number


def test_names_and_notes_are_carried_by_a_command(call):
    other = str(plant_twin(call.path))
    status, output, message = call("carry", "1", other)
    upper, lower = output.splitlines()
    assert status == 0
    assert re.fullmatch("L2:2 ([a-z, ]+) is L2:2 \\1: got 1 note or tag", upper)
    assert re.fullmatch("L1:1 roses is L1:8 [a-z, ]+: got the name “roses”, got 1 note or tag", lower)
    assert message == f"run {other} got 1 name and 2 notes and tags\n"
    (_, again) = json.loads(call("carry", "1", other, "--json")[1])
    assert (again.pop("source_title"), again.pop("target_title")) == ("roses", "roses")
    assert again == {
        "source": "L1:1", "target": "L1:8", "name": "roses", "is_named": False, "notes": 1, "carried": 0,
        "own_name": "",
    }  # fmt: skip
    status, output, message = call("carry", "1", "1")
    assert (status, output) == (2, "")
    assert "belong to run 1" in message


def test_the_library_has_the_same_as_frames(call):
    other = plant_twin(call.path)
    with Store(call.path) as store:
        run = store.runs[1]
        number = run.add_note("to check", document=7, tag=True, author="Ada")
        found = run.notes()
        assert found.columns.tolist() == ["topic", "title", "document", "kind", "text", "author", "created"]
        assert found.loc[number, ["document", "kind", "text", "author"]].tolist() == [7, "tag", "to check", "Ada"]
        assert pd.isna(found.loc[number, "topic"])
        assert run.notes("L1:1")["text"].tolist() == ["mostly red"]
        carried = run.carry_notes(store.runs[other])
        assert carried.loc["L1:1"].to_dict() == {
            "target": "L1:8", "name": "roses", "is_named": True, "notes": 1, "carried": 1,
        }  # fmt: skip
        run.delete_note(number)
        assert number not in run.notes().index
        with pytest.raises(LookupError, match="has no topic 'L9:9'"):
            run.add_note("a", topic="L9:9")
        with pytest.raises(ValueError, match="give one of them"):
            run.add_note("a", topic="L1:1", document=3)
