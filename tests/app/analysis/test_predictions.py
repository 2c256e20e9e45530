"""Predictions that were computed once are remembered by the store, and only while they would come out the same."""

import ast
import dataclasses
import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pytest
from class_samples import WEIGHTS, plant
from inference_samples import arrays, plain_model
from sqlalchemy import func, select, update

from topiary.app.analysis import predict
from topiary.app.analysis import predictions as stored_predictions
from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.predict import classify_run
from topiary.app.analysis.predictions import Doing, Misled
from topiary.app.analysis.read_hierarchy import read_hierarchy
from topiary.app.cli import main
from topiary.app.export.class_facts import list_class_facts
from topiary.app.live import predictions
from topiary.app.live.actions import Actions
from topiary.app.live.feed import Feed
from topiary.app.live.predictions import PredictionCache
from topiary.engine.hierarchy.tree import Node
from topiary.store import runs, snapshots, tables
from topiary.store.database import open_database
from topiary.store.errors import StoreError

__all__ = ["plain_model"]

ROOT = Path(__file__).resolve().parents[3]
PLAIN = {
    "analysis/errors",
    "analysis/hierarchy",
    "analysis/read_hierarchy",
    "jobs/claim",
    "jobs/compile_kernels",
    "jobs/launcher",
    "jobs/plan",
    "jobs/structure_words",
    "ingest/new_documents",
    "machine",
}  # decide nothing of what is predicted
PRUNED = {"names.0": np.array([0, 2, 3, 5]), "names.1": np.array([0, 4])}


class Program:
    """A server or a command: a cache of its own on the store, and how often it had to compute."""

    def __init__(self, db, *, keeps=True):
        self.worked: list[int] = []
        self.on_message: list[Doing | None] = []
        keep = partial(stored_predictions.store_predictions, db) if keeps else None
        self.cache = PredictionCache(db, self._work, keep=keep, report=lambda: self.on_message.append(self.cache.doing))

    def _work(self, db, run, snapshot, report):
        self.worked.append(snapshot)
        return classify_run(db, run, snapshot, report)


@pytest.fixture
def db(db, plain_model):
    return db


@pytest.fixture
def warned(monkeypatch):
    """What the log was told."""
    said: list[str] = []
    monkeypatch.setattr(predictions.log, "warning", lambda text, *values: said.append(text % values))
    return said


def rows(db):
    with db.read() as connection:
        return connection.execute(
            select(func.count()).where(tables.snapshot_parts.c.kind == "predictions")
        ).scalar_one()


def written(found):
    """Every number of an answer, to the last bit."""
    return {
        field.name: (value.dtype.str, value.tobytes()) if isinstance(value, np.ndarray) else repr(value)
        for field in dataclasses.fields(found)
        if (value := getattr(found, field.name)) is not None
    }


def test_another_program_reads_what_the_first_has_computed_to_the_last_bit(db):
    run = plant(db)
    first, second = Program(db), Program(db)
    made, read = first.cache.fetch(run.number, 0), second.cache.fetch(run.number, 0)
    assert (first.worked, second.worked) == ([made.snapshot], [])
    assert read is not made
    assert written(read) == written(made)
    hierarchy = read_hierarchy(db, run, snapshots.find_latest(db, run.number))
    assert json.dumps(list_class_facts(read, hierarchy)) == json.dumps(list_class_facts(made, hierarchy))
    assert read.misled
    assert second.on_message == []


def test_paths_of_pruned_topics_and_answers_without_weights_come_back_too(db):
    run = plant(db, linear=False)
    row = runs.get_run(db, run.number)
    with db.write() as connection:
        connection.execute(update(tables.runs).values(state="running"))
    snapshots.append_snapshot(db, run.number, row.attempt, 10, 1.0, arrays() | WEIGHTS | PRUNED)
    for snapshot in snapshots.list_snapshots(db, run.number):
        made = Program(db).cache.fetch(run.number, snapshot.number)
        again = Program(db)
        assert written(again.cache.fetch(run.number, snapshot.number)) == written(made)
        assert again.worked == []
    assert {node for each in made.misled for node in each.path} >= {Node(2, 4), Node(1, 3)}


def test_an_answer_without_mistakes_comes_back(db):
    run = plant(db)
    found = classify_run(db, run)
    right = dataclasses.replace(found, labels=found.probabilities.argmax(axis=1), misled=())
    right = dataclasses.replace(right, scores=stored_predictions.score_predictions(right.probabilities, right.labels))
    stored_predictions.store_predictions(db, right)
    assert written(stored_predictions.load_predictions(db, run, right.snapshot)) == written(right)


def test_the_surest_mistakes_come_back_surest_first_each_with_its_own_path(db):
    run = plant(db)
    rng = np.random.default_rng(5)
    n = 2 * stored_predictions.MOST_MISLED
    probabilities, labels = rng.dirichlet(np.ones(4), n), rng.integers(0, 4, n)
    documents, guesses = 1000 + np.arange(n), probabilities.argmax(axis=1).tolist()
    wrong = sorted((-probabilities[j].max(), j) for j in range(n) if guesses[j] != labels[j])
    report = tuple(
        Misled(1000 + j, int(labels[j]), guesses[j], -float(sure), (Node(2, j % 2), Node(1, j % 4)), 1 / (1 + j))
        for sure, j in wrong[: stored_predictions.MOST_MISLED]
    )
    answer = classify_run(db, run)
    answer = dataclasses.replace(answer, probabilities=probabilities, labels=labels, documents=documents, misled=report)
    answer = dataclasses.replace(answer, scores=stored_predictions.score_predictions(probabilities, labels))
    stored_predictions.store_predictions(db, answer)
    assert len(wrong) > len(report)
    assert written(stored_predictions.load_predictions(db, run, answer.snapshot)) == written(answer)


@pytest.mark.parametrize(
    "change",
    [{"settings": {"layers": [4, 2], "classes": True, "predict_samples": 7}}, {"seed": 2}, {"model": "another"}],
)
def test_what_other_settings_would_predict_is_not_what_was_remembered(db, change):
    run = plant(db)
    snapshot = Program(db).cache.fetch(run.number, 0).snapshot
    assert stored_predictions.load_predictions(db, run, snapshot) is not None
    with db.write() as connection:
        connection.execute(update(tables.runs).values(**change))
    assert stored_predictions.load_predictions(db, runs.get_run(db, run.number), snapshot) is None


@pytest.mark.parametrize("change", [{"content_hash": "of other counts"}, {"label_names": ["a", "b", "c", "d"]}])
def test_documents_or_labels_that_were_changed_by_hand_are_predicted_again(db, change):
    run = plant(db)
    Program(db).cache.fetch(run.number, 0)
    with db.write() as connection:
        connection.execute(update(tables.corpora).values(**change))
    again = Program(db)
    again.cache.fetch(run.number, 0)
    assert len(again.worked) == 1


def test_a_changed_program_computes_again_and_its_answer_takes_the_place(db, monkeypatch):
    run = plant(db)
    Program(db).cache.fetch(run.number, 0)
    monkeypatch.setattr(stored_predictions, "_hash_program", lambda: "of tomorrow")
    for times in ([1], [0]):
        tomorrow = Program(db)
        tomorrow.cache.fetch(run.number, 0)
        assert [len(tomorrow.worked)] == times
    assert rows(db) == 1


def test_the_program_is_the_source_of_every_file_that_computes(monkeypatch):
    stored_predictions._hash_program.cache_clear()
    read = []
    bytes_of = Path.read_bytes

    def spying(path):
        read.append(path.relative_to(ROOT).as_posix())
        return bytes_of(path)

    monkeypatch.setattr(Path, "read_bytes", spying)
    today = stored_predictions._hash_program()
    assert {
        "engine/models/sdatm/settings.py",
        "engine/models/sdatm/kernel.py",
        "engine/autoencoder/classifier.py",
        "engine/hierarchy/paths.py",
        "app/analysis/predict.py",
    } <= set(read)
    stored_predictions._hash_program.cache_clear()
    monkeypatch.setattr(Path, "read_bytes", lambda path: bytes_of(path) + b"#" * (path.name == "encoder.py"))
    assert stored_predictions._hash_program() != today
    stored_predictions._hash_program.cache_clear()


def modules(node):
    """What an import from a room of the app names, as files below it: ``jobs/records``."""
    inside = [f"{node.module}.{alias.name}".removeprefix("topiary.app.").replace(".", "/") for alias in node.names]
    whole = node.module.removeprefix("topiary.app.").replace(".", "/")
    return {name if (ROOT / "app" / f"{name}.py").exists() else whole for name in inside}


def test_of_the_app_every_module_that_computes_belongs_to_the_program():
    found = set()
    for name in stored_predictions.MAKERS:
        for node in ast.walk(ast.parse((ROOT / "app" / name).read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("topiary.app."):
                found |= modules(node)
    assert {f"{name}.py" for name in found - PLAIN} <= set(stored_predictions.MAKERS)


def test_a_damaged_row_is_computed_again_and_mended(db):
    run = plant(db)
    made = Program(db).cache.fetch(run.number, 0)
    with db.write() as connection:
        parts = tables.snapshot_parts
        is_it = parts.c.kind == "predictions"
        blob = connection.execute(select(parts.c.arrays).where(is_it)).scalar_one()
        connection.execute(update(parts).where(is_it).values(arrays=blob[: len(blob) // 2]))
    again, after = Program(db), Program(db)
    assert written(again.cache.fetch(run.number, 0)) == written(made)
    assert written(after.cache.fetch(run.number, 0)) == written(made)
    assert (len(again.worked), len(after.worked)) == (1, 0)


def test_a_row_that_cannot_be_read_is_computed_again(db, monkeypatch, warned):
    run = plant(db)
    Program(db).cache.fetch(run.number, 0)

    def fail(*_):
        raise StoreError("the store is damaged; restore it from a copy")

    monkeypatch.setattr(stored_predictions.snapshots, "load_predictions", fail)
    again = Program(db)
    again.cache.fetch(run.number, 0)
    assert len(again.worked) == 1
    assert "cannot be read: the store is damaged" in warned[0]


def test_a_store_that_may_not_be_written_only_means_computing(db, warned):
    run = plant(db)
    looking = open_database(db.url, readonly=True)
    for _ in range(2):
        reader = Program(looking)
        found = reader.cache.fetch(run.number, 0)
        assert found.scores.documents == 5
        assert reader.worked == [found.snapshot]
        assert reader.cache.fetch(run.number, 0) is found
    looking.close()
    assert rows(db) == 0
    assert ["could not be stored: the store" in text for text in warned] == [True, True]


def test_a_cache_that_keeps_nothing_reads_all_the_same(db):
    run = plant(db)
    Program(db, keeps=False).cache.fetch(run.number, 0)
    assert rows(db) == 0
    Program(db).cache.fetch(run.number, 0)
    reader = Program(db, keeps=False)
    reader.cache.fetch(run.number, 0)
    assert reader.worked == []


def test_a_snapshot_of_a_run_that_is_alike_is_not_taken_for_ones_own(db):
    one = plant(db)
    found = Program(db).cache.fetch(one.number, 0)
    twin = runs.create_run(
        db, corpus=one.corpus, model=one.model, inference=one.inference, layers=one.layers, settings=one.settings,
        options=one.options, seed=one.seed,
    )  # fmt: skip
    with pytest.raises(StoreError, match=f"run {twin.number} has no snapshot"):
        Program(db).cache.fetch(twin.number, found.snapshot)


def test_what_cannot_be_predicted_leaves_nothing_behind(db):
    run = plant(db, classes=False)
    program = Program(db)
    with pytest.raises(ReadError, match="learns topics without labels"):
        program.cache.fetch(run.number, 0)
    assert program.cache.doing is None
    assert rows(db) == 0


def test_deleting_the_run_deletes_what_it_predicted(db):
    run = plant(db)
    feed = Feed(db)
    actions = Actions(db.url, feed)
    feed.classes.keep = actions.keep_predictions
    feed.classes.fetch(run.number, 0)
    assert rows(db) == 1
    actions.delete(run.number)
    feed.stop()
    actions.close()
    assert rows(db) == 0


def test_the_command_and_the_page_share_one_answer(db, capsys, monkeypatch, warned):
    run = plant(db)
    store = db.place
    assert main.main(["classify", "1", "--store", store, "--json"]) == 0
    first = capsys.readouterr()
    assert "predicting classes" in first.err
    assert "0 of 5 documents" in first.err
    monkeypatch.setattr(predict, "classify_run", None)
    assert main.main(["classify", "1", "--store", store, "--json"]) == 0
    second = capsys.readouterr()
    assert (second.out, second.err) == (first.out, "")
    page = Program(db)
    page.cache.fetch(run.number, 0)
    assert page.worked == []
    assert warned == []


def test_it_is_told_how_many_documents_are_done(db, monkeypatch):
    monkeypatch.setattr(predict, "BLOCK", 2)
    run = plant(db)
    program = Program(db)
    snapshot = program.cache.fetch(run.number, 0).snapshot
    counted = [(0, 0), (0, 5), (2, 5), (4, 5), (5, 5)]
    assert program.on_message == [*(Doing(run.number, snapshot, *each) for each in counted), None]


def test_sessions_hear_of_every_step(db):
    run = plant(db)
    feed = Feed(db)
    on_message = []
    feed.subscribe(lambda call: call(), lambda tick: on_message.append(feed.classes.doing))
    feed.classes.fetch(run.number, 0)
    feed.stop()
    assert [doing and doing[2:] for doing in on_message] == [(0, 0), (0, 5), (5, 5), None]


def test_what_is_remembered_does_not_wait_for_what_is_being_computed(db):
    remembered = plant(db)
    waiting = plant(db, name="others")
    Program(db).cache.fetch(remembered.number, 0)
    begun, go_on = Event(), Event()

    def slowly(*arguments):
        begun.set()
        assert go_on.wait(timeout=60)
        return classify_run(*arguments)

    cache = PredictionCache(db, slowly)
    thread = Thread(target=cache.fetch, args=(waiting.number, 0))
    thread.start()
    assert begun.wait(timeout=60)
    assert cache.fetch(remembered.number, 0).run == remembered.number
    assert cache.doing == Doing(waiting.number, snapshots.find_latest(db, waiting.number).number)
    go_on.set()
    thread.join()
    assert cache.doing is None


def test_remembered_predictions_come_without_the_compiler(db):
    run = plant(db)
    Program(db).cache.fetch(run.number, 0)
    script = (
        "import sys\nfrom topiary.app.live.predictions import PredictionCache\n"
        "from topiary.store.database import open_database\n"
        "found = PredictionCache(open_database(sys.argv[1], readonly=True)).fetch(1, 0)\n"
        "print(found.scores.documents, 'numba' in sys.modules)"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    report = subprocess.run(
        [sys.executable, "-c", script, db.place], env=environment, capture_output=True, text=True, check=True
    )
    assert report.stdout.split() == ["5", "False"]
