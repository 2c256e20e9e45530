"""Steps whose documents are spread over workers end in the bits of a run on one machine."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import psutil
import pytest
import store_samples
from databases import open_filled
from process_samples import SMALL, small_corpus, written

from topiary.app.jobs import new_run, trainer
from topiary.app.jobs import training as mathematics
from topiary.app.jobs.cluster import place, spread, workers
from topiary.app.jobs.cluster.holder import AssignedCard, DocumentHolder, HeldPart, RunSetup
from topiary.app.jobs.cluster.place import PlaceError, WorkerPresence
from topiary.app.jobs.cluster.spread import WorkerAnswers
from topiary.app.jobs.cluster.workers import WorkerLostError
from topiary.app.jobs.load_corpus import load_corpus, open_corpus
from topiary.app.jobs.plan import Plan, RunOptions, make_plan
from topiary.app.jobs.training import Position, Training
from topiary.engine import models, pool, settings, shared_settings
from topiary.engine.corpus import Corpus
from topiary.store import arrays as stored
from topiary.store import checkpoints, events, runs
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database
from topiary.store.errors import StoreError

distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("default")  # Dask leaves sockets to the garbage collector
SEED = 5
IN_PROCESS = {"processes": False, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
CASES = {
    "dlda sweeps": ("dlda", {"layers": "6-4-3", "inference": "gibbs"}),
    "dlda mini-batches, then sweeps": ("dlda", {"layers": "6-4", "inference": "auto", "batch_size": "16"}),
    "dlda mini-batches": ("dlda", {"layers": "6-4", "inference": "tlasgr", "batch_size": "16"}),
    "dlda concentrations": ("dlda", {"layers": "6-4", "inference": "gibbs", "learn_concentrations": "yes"}),
    "lda-gibbs": ("lda-gibbs", {"layers": "6"}),
    "lda-gibbs concentrations": ("lda-gibbs", {"layers": "6", "learn_concentrations": "yes"}),
    "lda-cavi": ("lda-cavi", {"layers": "6"}),
    "lda-svi": ("lda-svi", {"layers": "6", "batch_size": "16"}),
    "dpfa sweeps": ("dpfa", {"layers": "6-4", "everything_on": "1"}),
    "dpfa thermostats": ("dpfa", {"layers": "6-4", "inference": "sgnht", "batch_size": "16"}),
    "deep-exp-family": ("deep-exp-family", {"layers": "6-4"}),
    "double-def": ("double-def", {"layers": "6-4"}),
    "datm": ("datm", {"layers": "6-4", "batch_size": "16"}),
    "sdatm": ("sdatm", {"layers": "6-4", "batch_size": "16", "hidden": "8"}),
}
BY_DAY = ("dlda mini-batches, then sweeps", "lda-gibbs concentrations", "dpfa thermostats", "datm")  # and all at night
SOME = [pytest.param(name, marks=() if name in BY_DAY else pytest.mark.nightly) for name in CASES]


@pytest.fixture
def client(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A cluster of three workers, or as many as a test says, all in this process.

    It ends with its test: actors of other processes would be taken for those of a cluster that is open in this one.
    """
    with in_process(getattr(request, "param", 3)) as made:
        yield made


@contextmanager
def in_process(n: int) -> Iterator[Any]:
    """So many workers, all in this process."""
    with distributed.LocalCluster(n_workers=n, **IN_PROCESS) as cluster, distributed.Client(cluster) as made:
        yield made


def bits(arrays: dict[str, Any]) -> dict[str, Any]:
    """Every array of a checkpoint as it is stored, streamed ones too."""
    whole = stored.read_parts(stored.write_parts(arrays), lambda *_: slice(None))
    return {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in whole.items()}


@pytest.fixture
def kept(tmp_path: Any) -> Iterator[tuple[Database, CorpusRow, Corpus]]:
    """A small corpus in a store with a claimed run, and as the engine reads it."""
    db = open_filled(tmp_path / "store.db")
    row = small_corpus(db, labelled=True)
    runs.claim_run(db, store_samples.new_run(db, row.number).number, {"pid": 1, "host": "here"})
    yield db, row, load_corpus(db, row)
    db.close()


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of thirteen documents, so that real sums of 96 are told in eight."""
    monkeypatch.setattr(pool, "PIECE", 13)
    monkeypatch.setattr(shared_settings, "find_sweeps_start", lambda facts: 2)


def training_of(case: str, kept: Any, client: Any = None, cards: Sequence[AssignedCard] = ()) -> Training:
    """A model on the corpus, on one machine or spread over the workers of a client, with cards if there are cards."""
    db, row, corpus = kept
    model, texts = CASES[case]
    module = models.load(model)
    config = settings.parse(module.Config, texts)
    facts = mathematics.collect_facts(corpus)
    kernel = module.build(config, facts)
    if client is None:
        return Training(corpus, kernel, module.State, SEED)
    distant = open_corpus(db, row)
    assert mathematics.collect_facts(distant) == facts
    setup = RunSetup(model, settings.to_json(config), facts, SEED, db.url, row.number, 1)
    return spread.SpreadTraining(distant, kernel, module.State, setup, client, cards)


def begun(training: Training) -> tuple[Position, Plan]:
    state = training.first_state()
    effort = mathematics.measure_effort(training, state, 1.0, 20.0)
    plan = make_plan(RunOptions(minibatches=6), effort, train_documents=len(training.train), test_documents=0)
    return training.start(state, plan), plan


def saved(db: Database, training: Training, position: Position) -> None:
    """Keep a position as the checkpoint of the run."""
    checkpoints.save_checkpoint(db, 1, 1, position.minibatch, 1.0, training.pack(position), {})


def resumed(db: Database, training: Training) -> Position:
    """The position of the checkpoint of the run."""
    found = checkpoints.load_checkpoint(db, 1, training.choose_unread)
    assert found is not None
    return training.unpack(found.minibatch, found.arrays)


def stepped(training: Training, position: Position, steps: int) -> tuple[Position, list[Any]]:
    found = []
    for _ in range(steps):
        position, info = training.step(position)
        found.append(info)
    return position, found


@pytest.mark.parametrize("client", [pytest.param(1, marks=pytest.mark.nightly), 3], indirect=True)
@pytest.mark.parametrize("case", CASES)
def test_documents_spread_over_workers_give_the_bits_of_one_machine(case, kept, client):
    check_bits(case, kept, client)


@pytest.mark.parametrize("client", [8], indirect=True)
def test_documents_spread_over_eight_workers_give_the_bits_of_one_machine(kept, client):
    check_bits("dlda mini-batches, then sweeps", kept, client)


def check_bits(case: str, kept: Any, client: Any) -> None:
    """Train five steps on one machine and spread, and compare the states and what each step reports."""
    alone = training_of(case, kept)
    end, found = stepped(alone, begun(alone)[0], 5)
    whole = bits(alone.pack(end))
    together = training_of(case, kept, client)
    other, infos = stepped(together, begun(together)[0], 5)
    assert bits(together.pack(other)) == whole
    assert [(each.tokens, each.token_draws) for each in infos] == [(each.tokens, each.token_draws) for each in found]
    np.testing.assert_array_equal([each.elbo for each in infos], [each.elbo for each in found])


@pytest.mark.parametrize("case", SOME)
def test_a_checkpoint_of_one_machine_goes_on_spread_and_the_other_way_round(case, kept, client):
    db, alone, together = kept[0], training_of(case, kept), training_of(case, kept, client)
    saved(db, alone, stepped(alone, begun(alone)[0], 2)[0])
    end = bits(alone.pack(stepped(alone, resumed(db, alone), 3)[0]))
    saved(db, together, stepped(together, resumed(db, together), 1)[0])
    assert bits(together.pack(stepped(together, resumed(db, together), 2)[0])) == end
    assert bits(alone.pack(stepped(alone, resumed(db, alone), 2)[0])) == end


@pytest.mark.parametrize("case", SOME)
def test_a_run_that_is_spread_plans_as_one_on_one_machine_and_holds_no_local_variables(case, kept, client):
    alone, together = training_of(case, kept), training_of(case, kept, client)
    states = alone.first_state(), together.first_state()
    efforts = [
        mathematics.measure_effort(each, state, 1.0, 20.0)
        for each, state in zip((alone, together), states, strict=True)
    ]
    assert efforts[0] == efforts[1]
    position, _ = stepped(together, begun(together)[0], 4)
    held = together.kernel.local(position.state)
    assert held is None or all(len(array) == 0 for array in held)


def test_rows_of_a_checkpoint_come_in_runs_and_are_the_same(kept, client, monkeypatch):
    monkeypatch.setattr(spread, "RUN_BYTES", 64)
    alone, together = training_of("lda-cavi", kept), training_of("lda-cavi", kept, client)
    end = bits(alone.pack(stepped(alone, begun(alone)[0], 2)[0]))
    assert bits(together.pack(stepped(together, begun(together)[0], 2)[0])) == end


def test_every_document_has_one_worker_and_about_as_many_tokens_as_with_another():
    tokens = np.concatenate([[0], np.cumsum(np.random.default_rng(1).integers(0, 50, 1000))])
    for real in (False, True):
        for n_workers in (1, 2, 3, 8, 2000):
            found = spread.share_documents(tokens, n_workers, real=real)
            flat = [number for share in found for piece in share for number in range(piece.start, piece.stop)]
            assert flat == list(range(1000))
            assert len(found) <= n_workers
    held = [tokens[share[-1].stop] - tokens[share[0].start] for share in spread.share_documents(tokens, 8, real=False)]
    assert max(held) - min(held) < 100


class NeverAnswers:
    """What Dask may give for an actor whose worker has gone."""

    def result(self, timeout: float) -> None:
        raise TimeoutError


def test_a_worker_that_is_gone_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(place, "_read_workers", lambda client: {"tcp://127.0.0.1:2": {}})
    with pytest.raises(WorkerLostError, match=r"the worker tcp://127\.0\.0\.1:1 was lost"):
        WorkerAnswers(WorkerPresence(SimpleNamespace()), ["tcp://127.0.0.1:1"]).wait_for(NeverAnswers(), 0)


class CannotRead:
    """The answer of a worker that does not reach the store."""

    def result(self, timeout: float) -> None:
        raise StoreError("the database postgresql://10.0.0.1/topiary cannot be reached")


def test_a_worker_that_cannot_read_the_store_is_named():
    with pytest.raises(PlaceError, match=r"the worker tcp://10\.0\.0\.2:9000 cannot read the documents: the database"):
        WorkerAnswers(WorkerPresence(SimpleNamespace()), ["tcp://10.0.0.2:9000"]).wait_for(CannotRead(), 0)


def test_documents_that_began_anew_on_another_worker_are_not_swept(kept):
    db, row, corpus = kept
    training = training_of("lda-gibbs", kept)
    config = settings.to_json(models.load("lda-gibbs").Config(layers=(6,)))
    setup = RunSetup("lda-gibbs", config, mathematics.collect_facts(corpus), SEED, db.url, row.number, 1)
    with pytest.raises(WorkerLostError, match="began from the start"):
        DocumentHolder(setup, HeldPart([training.train], 0), 1).gather(training.first_state())


pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("default")  # Dask leaves sockets to the garbage collector

SWEPT = {"layers": "6-3", "inference": "gibbs"}


@pytest.fixture
def file(tmp_path) -> Iterator[Database]:
    db = open_filled(tmp_path / "store.db", small_corpus)
    yield db
    db.close()


def trained(db: Database, *, on: str = "", minibatches: int = 30, texts: dict[str, str] = SWEPT) -> int:
    row = new_run.create_run(db, "small", model="dlda", texts=texts, minibatches=minibatches, on=on, averaged=True)
    trainer.train_run(db, row.number)
    return row.number


@pytest.mark.parametrize(
    "texts", [pytest.param(SWEPT, id="sweeps"), pytest.param(SMALL, id="mini-batches", marks=pytest.mark.nightly)]
)
def test_a_run_on_two_processes_writes_what_a_run_in_one_writes_and_leaves_nothing_else_but_facts_about_workers(
    file, tmp_path, monkeypatch, texts
):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    alone, together = (trained(file, on=on, texts=texts, minibatches=12) for on in ("", "local:2"))
    assert written(file, together) == written(file, alone)
    assert list((tmp_path / "temporary").iterdir()) == []
    facts = workers.read_cluster(runs.get_run(file, together).process)
    assert sum(each.documents for each in facts.workers) == 90
    assert facts.dashboard.startswith("http://127.0.0.1:")
    for each in facts.workers:
        assert each.address.startswith("tcp://127.0.0.1:")
        assert each.lost is None
        assert each.tokens_per_second > 0
        assert 10_000_000 < each.memory < each.limit


@pytest.mark.slow
@pytest.mark.nightly
def test_a_killed_process_sends_the_run_back_to_its_checkpoint_and_to_the_same_bits(file):
    alone = trained(file, minibatches=400)
    mine = psutil.Process()
    killed = []

    def kill() -> None:
        while (
            newest := max(runs.list_runs(file), key=lambda row: row.number)
        ).number == alone or newest.minibatch < 100:
            time.sleep(0.01)
        workers = [each for each in mine.children(recursive=True) if "spawn_main" in " ".join(each.cmdline())]
        killed.append(workers[-1].pid)
        workers[-1].kill()

    thread = threading.Thread(target=kill)
    thread.start()
    together = trained(file, on="local:2", minibatches=400)
    thread.join()
    assert killed
    assert any(event.kind == "worker lost" for event in events.read_new_events(file, together)[0])
    facts = workers.read_cluster(runs.get_run(file, together).process)
    assert [each.lost is not None for each in facts.workers] == [False, False, True]
    assert 0 <= time.time() - facts.lost[0].lost < 120
    assert 0 < facts.lost[0].documents < 90
    assert written(file, together) == written(file, alone)


def test_a_run_that_only_loses_workers_gives_up_with_a_sentence(file, monkeypatch):
    number = new_run.create_run(file, "small", model="dlda", texts=SWEPT, minibatches=30).number
    attempts = []
    monkeypatch.setattr(
        trainer, "_attempt_run", lambda *_: attempts.append(1) or "the worker tcp://10.0.0.2:1 was lost"
    )
    trainer.train_run(file, number)
    row = runs.get_run(file, number)
    assert (row.state, len(attempts)) == ("failed", trainer.MOST_LOSSES)
    assert row.message.startswith("the worker tcp://10.0.0.2:1 was lost, for the 10th time since sweep 0; look at")
