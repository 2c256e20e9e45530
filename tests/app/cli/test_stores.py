"""The commands check, backup and prune: what they print, and their exit statuses."""

import json
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from databases import open_filled
from store_samples import claimed_run, flip_snapshot

from topiary.app.cli import main, stores
from topiary.store import checkpoints, runs, snapshots
from topiary.store.database import find_default_path, open_database


@pytest.fixture
def path(tmp_path):
    """A store with a finished run of six snapshots."""
    db = open_filled(tmp_path / "store.db")
    row = claimed_run(db)
    for m in range(1, 7):
        snapshots.append_snapshot(db, row.number, 1, m, 1.0, {"r": np.random.default_rng(m).random(200)})
    checkpoints.save_checkpoint(db, row.number, 1, 6, 1.0, {"r": np.ones(3)}, {})
    runs.finish_run(db, row.number, 1, "finished")
    db.close()
    return str(tmp_path / "store.db")


def call(capsys, *words):
    status = main.main(list(words))
    out, err = capsys.readouterr()
    return status, out, err


def damage(path, minibatch):
    db = open_database(path)
    flip_snapshot(db, snapshots.find_snapshot(db, 1, minibatch).number)
    db.close()


def test_a_whole_store_is_said_to_be_whole(capsys, path):
    status, out, _ = call(capsys, "check", "--store", path)
    assert status == 0
    read = "1 corpus, 2 blocks of documents, 1 run, 1 checkpoint, 2 events, 6 snapshots"
    first, second = out.splitlines()
    assert first == f"{path}: everything is as it was written (read: {read})"
    assert second.startswith("not verified: the indexes for searching")


def test_damage_is_listed_with_what_it_means_and_the_status_is_1(capsys, path):
    damage(path, 4)
    status, out, _ = call(capsys, "check", "--store", path)
    assert status == 1
    assert out.startswith("run 1, snapshot at mini-batch 4: its arrays are not what was written")
    assert "\n    the one before it is shown instead; topiary prune --damaged removes it\n" in out
    assert "1 damaged" in out
    status, out, _ = call(capsys, "check", "--store", path, "--json")
    found = json.loads(out)
    assert (status, found["whole"], found["read"]["snapshots"], len(found["damages"])) == (1, False, 6, 1)


def test_a_file_that_sqlite_cannot_read_is_damage_too(capsys, path):
    with open(path, "r+b") as file:  # noqa: PTH123
        file.seek(100)
        file.write(b"\xff" * 3996)
    status, out, err = call(capsys, "check", "--store", path)
    assert (status, err) == (1, "")
    assert "is damaged" in out


def test_a_server_without_a_place_begins_a_store_next_to_one_from_before_and_says_so_once(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("TOPIARY_STORE", raising=False)
    former = tmp_path / "topiary" / "store.db"
    former.parent.mkdir()
    with closing(sqlite3.connect(former)) as made:
        made.executescript("CREATE TABLE schema_version (version INTEGER); CREATE TABLE runs (number INTEGER);")
    before = former.read_bytes()
    for line in (["runs"], ["runs", "--store", str(former)], ["import", str(former)]):
        status, _, err = call(capsys, *line)
        assert (status, "was made by a Topiary before version 0.1.0" in err) == (2, True)
    assert stores._choose_store(None) is None
    said = capsys.readouterr().err
    assert f"{former} was made by a Topiary before version 0.1.0 and stays as it is; " in said
    assert stores._choose_store(None) is None
    assert capsys.readouterr().err == ""
    assert call(capsys, "runs")[0] == 0
    assert (former.read_bytes(), find_default_path().name) == (before, "store-2.db")


def test_a_backup_is_made_and_none_is_overwritten(capsys, path, tmp_path):
    target = str(tmp_path / "copy.db")
    status, out, err = call(capsys, "backup", target, "--store", path)
    assert status == 0
    assert out.startswith(f"{target}  ")
    assert f"topiary serve --store {target} shows it" in err
    assert call(capsys, "check", "--store", target)[0] == 0
    status, out, err = call(capsys, "backup", target, "--store", path)
    assert (status, out) == (2, "")
    assert "is there already; give the backup another name" in err


def test_pruning_says_first_what_would_go_and_then_does_it(capsys, path):
    words = ("prune", "--keep", "2", "--store", path)
    status, out, _ = call(capsys, *words, "--dry-run")
    lines = [line.split(maxsplit=2)[2] for line in out.splitlines()]
    assert status == 0
    assert lines == [
        "the checkpoints of run 1, which is finished",
        "4 snapshots of run 1, mini-batches 2 to 5",
        "would be removed; nothing is",
    ]
    assert call(capsys, *words, "--dry-run")[1] == out
    _, done, _ = call(capsys, *words)
    assert done.splitlines()[:-1] == out.splitlines()[:-1]
    assert call(capsys, *words)[1] == "there is nothing to remove\n"
    db = open_database(path)
    assert [row.minibatch for row in snapshots.list_snapshots(db, 1)] == [1, 6]
    db.close()


def test_damaged_snapshots_are_removed_when_asked(capsys, path):
    damage(path, 4)
    _, out, _ = call(capsys, "prune", "1", "--damaged", "--store", path)
    assert "1 damaged snapshot of run 1, mini-batch 4" in out
    assert call(capsys, "check", "--store", path)[0] == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("prune", "1"), "say with --keep, --budget or --damaged which snapshots"),
        (("prune", "7", "--keep", "2"), "there is no run number 7"),
    ],
)
def test_mistakes_are_one_sentence(capsys, path, words, sentence):
    status, out, err = call(capsys, *words, "--store", path)
    assert (status, out) == (2, "")
    assert sentence in err


@pytest.mark.parametrize("size", ["50", "-1MB", "1e9GB", "manyMB"])
def test_a_size_that_is_none_is_refused(capsys, path, size):
    with pytest.raises(SystemExit) as left:
        main.main(["prune", f"--budget={size}", "--store", path])
    assert left.value.code == 2
    assert "must be a size such as 200MB or 1.5GB" in capsys.readouterr().err
