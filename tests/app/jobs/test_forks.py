"""Runs that go on from a snapshot of another one."""

from contextlib import closing, nullcontext
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from databases import open_filled
from process_samples import NOBODY, SMALL, bury, kill_after, open_copy, order, small_corpus, written

from topiary.app.analysis.inference import open_inference
from topiary.app.analysis.read_hierarchy import read_hierarchy
from topiary.app.jobs import claim, forks, launcher, new_run, process, trainer
from topiary.app.jobs.forks import find_origin, inherit_settings
from topiary.app.jobs.new_run import MORE_STEPS, create_run, fork_run, prepare_run, request_continuation
from topiary.app.jobs.run_rules import NewRunError, RunRequest
from topiary.app.live.actions import Actions
from topiary.engine.settings import SettingError
from topiary.store import corpora, points, runs, snapshots, tables
from topiary.store.database import open_database
from topiary.store.errors import Conflict, NotFound, StoreError


@pytest.fixture(scope="module")
def parent_folder(tmp_path_factory, corpus_folder):
    """A folder whose store has a finished run, number 1, with settings that are not the usual ones."""
    folder = tmp_path_factory.mktemp("parent")
    with closing(open_copy(corpus_folder, folder)) as database:
        trainer.train_run(database, order(database, minibatches=30, eta="0.2", kappa="0.6").number)
    return folder


@pytest.fixture
def db(parent_folder, tmp_path):
    """A copy of that store."""
    database = open_copy(parent_folder, tmp_path)
    yield database
    database.close()


@pytest.fixture
def parent(db):
    """The run that it has."""
    return runs.get_run(db, 1)


def test_a_fork_starts_with_the_topics_and_settings_of_its_parent(db, parent):
    child = fork_run(db, find_origin(db, parent.number), texts={}, minibatches=1)
    assert child.settings == parent.settings
    assert (child.corpus, child.seed, child.layers) == (parent.corpus, parent.seed, (6, 3))
    trainer.train_run(db, child.number)
    last, first = (
        snapshots.load_snapshot(db, snapshots.find_latest(db, run).number) for run in (parent.number, child.number)
    )
    assert first["model.t"] == last["model.t"] + 1
    assert np.abs(first["phi.0"] - last["phi.0"]).sum(axis=0).max() < 1.0, "one step from there"
    beginning = snapshots.list_snapshots(db, child.number)[0]
    assert beginning.minibatch == 0
    assert np.array_equal(snapshots.load_snapshot(db, beginning.number)["phi.0"], last["phi.0"])


def test_a_run_is_trained_further_with_its_settings_from_its_last_snapshot(db, parent):
    runs.rename_run(db, parent.number, "news")
    more = runs.create_run(db, **prepare_run(db, request_continuation(find_origin(db, parent.number))))
    assert (more.parent, more.parent_minibatch, more.planned) == (parent.number, 30, MORE_STEPS)
    assert (more.settings, more.seed, more.name) == (parent.settings, parent.seed, "news, continued")
    assert not more.options["until_plateau"]


def test_a_fork_keeps_the_titles_of_its_parent_while_their_words_are_among_the_first(db, parent):
    numbers = fork_run(db, find_origin(db, parent.number), texts={}, minibatches=1).number, parent.number
    trainer.train_run(db, numbers[0])
    child, origin = (read_hierarchy(db, runs.get_run(db, n), snapshots.find_latest(db, n)) for n in numbers)
    kept = [
        set(origin.title_words(node)) <= {word.text for word in child.top_words(node, 8)} for node in origin.nodes(1)
    ]
    assert any(kept)
    assert [child.title(node) == origin.title(node) for node in origin.nodes(1)] == kept


def test_a_fork_killed_between_any_two_writes_and_resumed_is_bit_identical_even_without_its_parent(
    db, parent, monkeypatch
):
    monkeypatch.setattr(claim, "BEAT_SECONDS", 0.0)
    begin = find_origin(db, parent.number, minibatch=20)
    whole, broken = (fork_run(db, begin, texts={}, minibatches=20, averaged=True).number for _ in range(2))
    trainer.train_run(db, whole)
    runs.delete_run(db, parent.number)
    kills = 0
    for writes in (3, 9, 25):  # before the first checkpoint, and after it
        kills += kill_after(db, broken, writes)
        runs.requeue_run(db, bury(db, broken))
    trainer.train_run(db, broken)
    assert kills == 3
    assert written(db, broken) == written(db, whole)
    assert runs.get_run(db, broken).parent == parent.number


def test_a_fork_may_have_another_seed_sampler_and_length(db, parent):
    begin = find_origin(db, parent.number, minibatch=25)
    child = fork_run(db, begin, texts={"inference": "gibbs", "eta": "0.1"}, minibatches=4, seed=9)
    assert (child.inference, child.seed, child.planned) == ("gibbs", 9, 4)
    assert (child.settings["eta"], child.settings["kappa"]) == ([0.1], 0.6)
    assert child.parent_minibatch == begin.snapshot.minibatch <= 25
    trainer.train_run(db, child.number)
    assert runs.get_run(db, child.number).state == "finished"


def test_a_smoothness_of_all_layers_goes_on_in_a_model_that_has_one_for_all(db, parent):
    begin = find_origin(db, parent.number)
    assert parent.settings["eta"] == [0.2]
    child = fork_run(db, begin, model="datm", texts={}, minibatches=2)
    assert (child.settings["eta"], child.settings["kappa"]) == (0.2, 0.6)
    assert inherit_settings(begin._replace(run=child), "dlda", {})["eta"] == "0.2"
    several = replace(parent, settings=parent.settings | {"eta": [0.2, 0.3]})
    assert "eta" not in inherit_settings(begin._replace(run=several), "datm", {}), "one cannot say which"


def test_a_run_of_an_earlier_version_with_a_setting_that_was_removed_goes_on_as_a_fork_without_it(db, parent):
    with db.write() as connection:
        old = parent.settings | {"bent": 0.5}
        connection.execute(tables.runs.update().where(tables.runs.c.number == parent.number).values(settings=old))
    begin = find_origin(db, parent.number)
    with pytest.raises(SettingError, match=r"trained with bent = 0\.5, a setting that its model does not have"):
        open_inference(db, begin.run, begin.snapshot)
    assert fork_run(db, begin, texts={}, minibatches=1).settings == parent.settings


def test_a_fork_of_a_fork_knows_its_own_parent(db, parent):
    child = fork_run(db, find_origin(db, parent.number), texts={}, minibatches=2)
    grandchild = fork_run(db, find_origin(db, child.number), texts={})
    assert (grandchild.parent, grandchild.parent_minibatch) == (child.number, 0)


def test_other_layers_than_those_of_the_snapshot_are_refused_in_a_sentence(db, parent):
    begin = find_origin(db, parent.number)
    assert inherit_settings(begin, "dlda", {})["layers"] == "6-3"
    with pytest.raises(NewRunError, match=r"layers must be those of the snapshot, 6-3; got 7-3$"):
        fork_run(db, begin, texts={"layers": "7-3"})
    with pytest.raises(NewRunError, match="there is no model 'nonesuch'"):
        fork_run(db, begin, model="nonesuch", texts={})
    assert [row.number for row in runs.list_runs(db)] == [parent.number]


def test_a_run_without_a_snapshot_cannot_be_forked(db):
    number = order(db).number
    with pytest.raises(NotFound, match=f"run {number} has no snapshot to fork from"):
        find_origin(db, number)
    with pytest.raises(NotFound, match="no snapshot at or before mini-batch 3 to fork from"):
        find_origin(db, number, minibatch=3)
    with pytest.raises(NotFound, match="fork from its latest one"):
        find_origin(db, number, snapshot=99)


def test_a_fork_uses_the_corpus_of_its_parent_whatever_other_corpora_there_are(db, parent):
    small_corpus(db, name="other")
    assert corpora.get_corpus(db, fork_run(db, find_origin(db, parent.number), texts={}).corpus).name == "small"
    assert SMALL["layers"] == "6-3"


def test_the_app_orders_a_fork_and_starts_it(db, parent, monkeypatch):
    begun = []
    monkeypatch.setattr(launcher, "start_worker", lambda _, run: begun.append(run) or NOBODY)
    actions = Actions(db.url, SimpleNamespace(look=lambda: None, on_damage=None))
    request = RunRequest(
        corpus=parent.corpus, model="dlda", texts={"eta": "0.4"}, minibatches=3, fork=find_origin(db, parent.number)
    )
    (child,) = actions.create(request)
    actions.close()
    assert (child.parent, child.settings["eta"], child.settings["kappa"]) == (parent.number, [0.4], 0.6)
    assert begun == [child.number]


def test_a_datm_run_goes_on_as_sdatm_with_its_topics_and_encoder_and_is_resumed_bit_identical(tmp_path, monkeypatch):
    monkeypatch.setattr(claim, "BEAT_SECONDS", 0.0)
    db = open_filled(tmp_path / "store.db", small_corpus, labelled=True)
    texts = {"layers": "6-3", "batch_size": "20"}
    parent = create_run(db, "small", model="datm", texts=texts, minibatches=6, seed=1)
    trainer.train_run(db, parent.number)
    begin = find_origin(db, parent.number)
    whole, broken = (fork_run(db, begin, model="sdatm", texts={}, minibatches=6).number for _ in range(2))
    trainer.train_run(db, whole)
    kills = 0
    for writes in (3, 9):
        kills += kill_after(db, broken, writes)
        runs.requeue_run(db, bury(db, broken))
    trainer.train_run(db, broken)
    assert kills == 2
    assert written(db, broken) == written(db, whole)
    wrong = points.read_series(db, whole, "label_error", most=50)
    assert wrong.minibatch[[0, -1]].tolist() == [1, 6]
    assert ((wrong.value >= 0) & (wrong.value <= 100)).all()
    child = runs.get_run(db, whole)
    assert (child.model, child.parent, child.layers) == ("sdatm", parent.number, (6, 3))
    numbers = snapshots.list_snapshots(db, parent.number)[-1].number, snapshots.list_snapshots(db, whole)[1].number
    last, first = (snapshots.load_snapshot(db, number) for number in numbers)
    encoder = [name for name in last if name.startswith("model.") and last[name].ndim == 2 and name in first]
    assert encoder, "the snapshot of DATM holds weights of its encoder"
    for name in encoder:
        assert np.abs(first[name] - last[name]).mean() < 0.5 * np.abs(last[name]).mean() + 1e-3, name
    db.close()


def test_a_run_that_would_end_before_labels_count_is_refused_but_not_a_fork_that_has_learned_without(tmp_path):
    db = open_filled(tmp_path / "store.db", small_corpus, labelled=True)
    texts = {"layers": "6-3"}
    with pytest.raises(NewRunError, match=r"labels count after 500 mini-batches .* and the run has 6"):
        create_run(db, "small", model="sdatm", texts=texts, minibatches=6)
    assert create_run(db, "small", model="sdatm", texts=texts | {"label_start": "5"}, minibatches=6).planned == 6
    with pytest.raises(NewRunError, match="only pictures can be moved, and corpus 'small' has none; set moved to 0"):
        create_run(db, "small", model="sdatm", texts=texts | {"moved": "1"})
    for model, waits in (("dlda", True), ("datm", False)):
        parent = create_run(db, "small", model=model, texts=texts, minibatches=1)
        trainer.train_run(db, parent.number)
        begin = find_origin(db, parent.number)
        with pytest.raises(NewRunError, match="labels count after") if waits else nullcontext():
            fork_run(db, begin, model="sdatm", texts={}, minibatches=6)
    db.close()


@pytest.mark.parametrize(
    ("shape", "more"), [((5, 8), r", or import the pictures with 16 grey values \(--levels 16\)"), (None, "")]
)
def test_a_model_of_counts_refuses_real_numbers_and_says_what_to_do(tmp_path, monkeypatch, shape, more):
    db = open_database(tmp_path / "store.db")
    real = replace(small_corpus(db, labelled=True), kind="real", image_shape=shape)
    monkeypatch.setattr(new_run.corpora, "find_corpus", lambda *_: real)
    with pytest.raises(NewRunError, match=f"'small' holds real numbers; train dlda on it{more}$"):
        create_run(db, "small", model="datm", texts={})
    db.close()


def failed(file, message, **texts):
    row = runs.claim_run(file, order(file, **texts).number, process.identify_process())
    return runs.finish_run(file, row.number, row.attempt, "failed", message)


def test_a_run_out_of_memory_is_offered_half_of_its_mini_batches_first(file):
    row = failed(file, "out of memory: use fewer topics")
    assert [way.action for way in forks.list_remedies(row)] == ["retry", "resume", "log", "delete"]
    assert forks.list_remedies(row)[0].words == "Start again with mini-batches of 10 documents"
    assert forks.list_remedies(failed(file, "ValueError: no"))[0].action == "resume"
    assert forks.list_remedies(order(file)) == []


def test_the_run_ordered_again_differs_in_its_mini_batches_alone(file):
    row = failed(file, "out of memory: use fewer topics", eta="0.2")
    new = forks.retry_run(file, row.number)
    assert new.state == "queued"
    assert new.settings == row.settings | {"batch_size": 10}
    same = ("corpus", "model", "inference", "layers", "options", "seed", "name", "planned")
    assert [getattr(new, name) for name in same] == [getattr(row, name) for name in same]
    assert forks.retry_run(file, row.number, 5).settings["batch_size"] == 5


def test_a_run_that_did_not_fail_or_a_size_that_cannot_be_is_refused(file):
    with pytest.raises(Conflict, match="is queued; only one that failed"):
        forks.retry_run(file, order(file).number)
    row = failed(file, "ValueError: no")
    with pytest.raises(StoreError, match="batch_size"):
        forks.retry_run(file, row.number, 0)
    assert len(runs.list_runs(file)) == 2
