"""The store, as workers of a cluster open it; and workers that sweep by graphics processors.

With any number of workers the bits are the same, cards are used in turn, and some are refused.  The device of a worker
is the processor of this machine with one lane.
"""

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from card_samples import MortalHolder, list_two_cards, open_one_lane
from process_samples import written

from tests.app.jobs.cluster.test_spread import (
    CASES,
    IN_PROCESS,
    SEED,
    begun,
    bits,
    in_process,
    kept,
    narrow,
    resumed,
    saved,
    stepped,
    training_of,
)
from topiary.app.jobs import control, gpu, launcher, new_run, trainer
from topiary.app.jobs import training as mathematics
from topiary.app.jobs.cluster import holder, place, spread, workers
from topiary.app.jobs.cluster.holder import VISIBLE, AssignedCard, DocumentHolder, HeldPart, RunSetup, assign_cards
from topiary.app.jobs.cluster.place import PlaceError, WorkerPresence
from topiary.app.jobs.cluster.spread import WorkerAnswers
from topiary.app.jobs.forks import list_remedies
from topiary.app.jobs.run_rules import NewRunError
from topiary.app.views.runs.kpis import draw_workers
from topiary.engine import models, settings
from topiary.engine.contract import Facts, flatten
from topiary.engine.gpu.devices import DeviceArray
from topiary.engine.gpu.memory import DeviceError, explain_failure
from topiary.engine.pool import BlockSums
from topiary.store import events, runs
from topiary.store.errors import Conflict, NotFound, SchemaMismatch, StoreError

__all__ = ["kept", "narrow"]

distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("default")  # Dask leaves sockets to the garbage collector
CARDS = [AssignedCard("0", 2), AssignedCard("1")]
FACTS = Facts(10_000, 20_000, n_tokens=2_000_000)
BY_DAY = ("dlda mini-batches, then sweeps", "lda-gibbs concentrations", "datm")  # and all at night
ON_CARDS = [
    pytest.param(name, marks=() if name in BY_DAY else pytest.mark.nightly)
    for name in CASES
    if name.startswith(("dlda", "lda-gibbs", "datm"))
]


def answered(monkeypatch, *answers):
    """Let the store be opened with these answers, one after the other; the times that it was asked."""
    left = list(answers)

    def opened(store, *, readonly):
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(holder, "open_database", opened)
    monkeypatch.setattr(holder.time, "sleep", lambda seconds: None)
    return left


def test_a_server_that_restarts_is_waited_for(monkeypatch):
    left = answered(monkeypatch, StoreError("cannot be reached"), StoreError("cannot be reached"), "open")
    assert (holder.open_patiently("postgresql://somewhere"), left) == ("open", [])


@pytest.mark.parametrize("error", [NotFound("none"), SchemaMismatch("other")])
def test_a_store_that_is_not_there_or_another_is_not_waited_for(monkeypatch, error):
    left = answered(monkeypatch, error, "open")
    with pytest.raises(type(error)):
        holder.open_patiently("postgresql://somewhere")
    assert left == ["open"]


def test_waiting_for_a_server_has_an_end(monkeypatch):
    monkeypatch.setattr(holder, "OPENING_PATIENCE", -1.0)
    answered(monkeypatch, StoreError("cannot be reached"))
    with pytest.raises(StoreError, match="cannot be reached"):
        holder.open_patiently("postgresql://somewhere")


@pytest.fixture(autouse=True)
def cards(monkeypatch):
    """Two cards, whose device is one lane on the CPU; what a worker of this process sets is undone."""
    monkeypatch.setenv(VISIBLE, "0,1")
    monkeypatch.setattr(gpu, "list_cards", list_two_cards)
    monkeypatch.setattr(gpu, "is_extra_installed", lambda: True)
    monkeypatch.setattr(gpu, "open_device", open_one_lane)


@pytest.mark.parametrize("case", ON_CARDS)
def test_any_number_of_workers_with_cards_gives_the_same_bits_also_after_a_checkpoint(case, kept, monkeypatch):
    opened = []
    monkeypatch.setattr(gpu, "open_device", lambda *facts: opened.append(facts) or open_one_lane(*facts))
    with in_process(1) as client:
        alone = training_of(case, kept, client, CARDS)
        end, found = stepped(alone, begun(alone)[0], 5)
        whole = bits(alone.pack(end))
    monkeypatch.setattr(spread, "RUN_BYTES", 512)
    with in_process(3) as client:
        together = training_of(case, kept, client, CARDS)
        saved(kept[0], together, stepped(together, begun(together)[0], 2)[0])
        again = training_of(case, kept, client, CARDS)
        end, infos = stepped(again, resumed(kept[0], again), 3)
        assert bits(again.pack(end)) == whole
    assert [(each.tokens, each.token_draws) for each in infos] == [
        (each.tokens, each.token_draws) for each in found[2:]
    ]
    assert {facts for _, facts, _, _ in opened} == {mathematics.collect_facts(kept[2])}
    assert sum(held.n_documents for _, _, held, _ in opened) == 3 * len(alone.train)


def hold(kept, case, numbers, first=0, card=CARDS[0]):
    """Return a holder of training documents with these numbers, without Dask."""
    db, row, corpus = kept
    model, texts = CASES[case]
    config = settings.to_json(settings.parse(models.load(model).Config, texts))
    setup = RunSetup(model, config, mathematics.collect_facts(corpus), SEED, db.url, row.number, 1)
    return DocumentHolder(setup, HeldPart([numbers], first, card), 1)


def add_up(answers):
    """Return the sum of the statistics of several holders, by name."""
    sums = BlockSums()
    for parts in answers:
        for part in parts:
            sums.add(part)
    total = sums.total()
    return flatten(total.counted) if hasattr(total, "counted") else flatten(total)


@pytest.mark.parametrize("case", ["dlda sweeps", "lda-gibbs concentrations"])
def test_sweeps_on_two_cards_count_what_those_on_one_card_count(case, kept):
    training = training_of(case, kept)
    state = training.kernel.init_from_documents(SEED, training.corpus.batch(training.train))
    whole = hold(kept, case, training.train)
    parts = [hold(kept, case, training.train[:31]), hold(kept, case, training.train[31:], 1, CARDS[1])]
    for each in (whole, *parts):
        each.prepare(state)
    for _ in range(3):
        ours, theirs = add_up([part.gather(state) for part in parts]), add_up([whole.gather(state)])
        assert all(np.array_equal(ours[name], theirs[name]) for name in theirs)
        assert next(iter(ours.values())).sum() == training.batch(1, state).counts.sum()
    shares = [holder.describe_local(state) for holder in (whole, *parts)]
    assert isinstance(whole._local[0].topics, DeviceArray)
    for field, blank in enumerate(shares[0].blank):
        ends = [share.rows[field] for share in shares]
        assert ends[0] == ends[1] + ends[2]
        assert type(blank) is np.ndarray
        rows = np.concatenate([part.read_rows(field, 0, end) for part, end in zip(parts, ends[1:], strict=True)])
        assert rows.tobytes() == whole.read_rows(field, 0, ends[0]).tobytes()
        assert (rows.dtype, rows.shape[1:]) == (blank.dtype, blank.shape[1:])


def test_mini_batches_on_two_cards_count_what_those_on_one_card_count(kept):
    case = "dlda mini-batches"
    training = training_of(case, kept)
    state = training.kernel.init_from_documents(SEED, training.corpus.batch(training.train))
    one, two = hold(kept, case, training.train[:40]), hold(kept, case, training.train[40:], 1, CARDS[1])
    batch = training.batch(1, state)
    halves = [batch.cells.rows(*ends).batch(batch.documents[slice(*ends)]) for ends in ((0, 5), (5, 16))]
    ours = add_up([one.visit(state, [halves[0]], 0), two.visit(state, [halves[1]], 1)])
    theirs = add_up([one.visit(state, [batch], 0)])
    assert all(np.array_equal(ours[name], theirs[name]) for name in theirs)


class UsedCard(NamedTuple):
    """A card of which other programs use a part."""

    lanes: int
    used = 0

    def count_used(self):
        return self.used


def test_lanes_follow_from_the_whole_corpus_and_the_memory_from_the_part_of_a_worker(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(gpu, "list_cards", lambda: [gpu.GraphicsCard("Card", 10**9, "13.0")])
    monkeypatch.setattr(gpu, "is_extra_installed", lambda: True)
    monkeypatch.setitem(sys.modules, "topiary.engine.gpu.cuda", SimpleNamespace(CudaDevice=UsedCard))
    config = models.load("dlda").Config(layers=(64, 32), inference="gibbs")
    few, many = FACTS._replace(n_documents=10, n_tokens=1000), FACTS._replace(n_documents=10**7, n_tokens=10**8)
    assert gpu.open_device(config, FACTS, few) == gpu.open_device(config, FACTS) == UsedCard(8)
    assert gpu.open_device(config, few, few) == UsedCard(32)
    with pytest.raises(gpu.GpuError, match=r"1.0 GB of the Card are free .* on more cards"):
        gpu.open_device(config, many)
    with pytest.raises(gpu.GpuError, match=r"0.5 GB of the Card are free"):
        gpu.open_device(config, many, many, 2)
    assert gpu.open_device(config, many, few, 2) == UsedCard(8)
    monkeypatch.setattr(UsedCard, "used", 10**9)  # by another program
    with pytest.raises(gpu.GpuError, match=r"0.0 GB of the Card are free"):
        gpu.open_device(config, many, few)


def test_processes_of_this_machine_use_its_cards_in_turn(monkeypatch):
    here = place.WorkPlace(processes=5, has_cards=True)
    monkeypatch.delenv(VISIBLE)
    assert assign_cards(here) == [AssignedCard(card, 3 - int(card)) for card in "01010"]
    monkeypatch.setenv(VISIBLE, "3, 1")
    assert assign_cards(here._replace(processes=3)) == [AssignedCard("3", 2), AssignedCard("1"), AssignedCard("3", 2)]
    AssignedCard().use()
    assert [card.name for card in gpu.list_cards()] == ["Card 3", "Card 1"]
    AssignedCard("1").use()
    assert [card.name for card in gpu.list_cards()] == ["Card 1"]
    monkeypatch.setattr(gpu, "list_cards", list)
    with pytest.raises(gpu.GpuError, match="there is none here"):
        assign_cards(here)


def test_a_worker_elsewhere_uses_the_first_card_that_it_sees_and_processors_use_none():
    assert assign_cards(place.parse_place("gpu+tcp://10.0.0.1:8786", takes_gpu=True)) == [AssignedCard()]
    assert assign_cards(place.parse_place("local:2", takes_gpu=True)) == []


@pytest.fixture
def create(file) -> Callable[..., Any]:
    """Return a function that creates a run of a few sweeps on workers with cards."""

    def create(on="gpu+local:2", model="dlda", minibatches=30, **texts):
        texts = {"layers": "6-3", "inference": "gibbs"} | texts
        return new_run.create_run(file, "small", model=model, texts=texts, minibatches=minibatches, on=on)

    return create


def test_a_place_with_cards_that_cannot_be_used_is_refused_before_the_run_is_made(file, create, monkeypatch):
    for texts, words in (({"link": "gamma"}, "counts"), ({"sampler": "plain"}, "collapsed")):
        for on in ("gpu+local:2", "gpu+tcp://127.0.0.1:8786"):
            with pytest.raises(NewRunError, match=words):
                create(on, **texts)
    with pytest.raises(NewRunError, match="model lda-cavi has no kernels for graphics processors"):
        new_run.create_run(file, "small", model="lda-cavi", texts={"layers": "3"}, on="gpu+local:2")
    with pytest.raises(NewRunError, match=r"workers of tcp://10\.0\.0\.1:8786 cannot read a store in a file"):
        create("gpu+tcp://10.0.0.1:8786")
    with pytest.raises(NewRunError, match=r"takes local:N, .* gpu, or both as in gpu\+local:2; got 'gpu\+cloud'"):
        create("gpu+cloud")
    monkeypatch.setattr(gpu, "list_cards", lambda: [gpu.GraphicsCard("Card", 1000, "13.0")])
    with pytest.raises(NewRunError, match=r"0\.0 GB of the Card are free for it; .* with fewer topics"):
        create()
    monkeypatch.setattr(gpu, "list_cards", list)
    with pytest.raises(NewRunError, match="there is none here"):
        create()
    monkeypatch.setattr(place, "is_dask_installed", lambda: False)
    for on in ("gpu+local:2", "gpu+tcp://127.0.0.1:8786"):
        with pytest.raises(NewRunError, match="needs Dask, which is not installed"):
            create(on)
    assert runs.list_runs(file) == []


def test_imports_and_groups_of_runs_are_not_spread_over_cards():
    with pytest.raises(PlaceError, match=r"or the address of a Dask scheduler; got 'gpu\+local:2'"):
        place.check_place_name("gpu+local:2")
    with pytest.raises(PlaceError, match=r"of one run, .* use --on gpu or --on local:2 for them"):
        place.check_place("gpu+local:2", "sqlite:///a.db", whole=True)


class Fails:
    """The answer of a worker whose card fails."""

    def __init__(self, error):
        self.error = error

    def result(self, timeout):
        raise self.error


@pytest.mark.parametrize("error", [gpu.GpuError(gpu.EXTRA_MISSING), DeviceError(explain_failure("OUT_OF_MEMORY"))])
def test_a_worker_whose_card_is_missing_or_fails_is_named_and_the_way_on_too(error):
    answers = WorkerAnswers(WorkerPresence(SimpleNamespace()), ["tcp://10.0.0.2:9000"])
    with pytest.raises(gpu.GpuError, match=r"^the worker tcp://10\.0\.0\.2:9000 cannot sweep documents") as refusal:
        answers.wait_for(Fails(error), 0)
    assert str(error) in str(refusal.value)
    assert "topiary resume RUN --on here" in str(refusal.value)


def connect_here(_on: str) -> Any:
    """Return a client of one worker in this process, in the place of :func:`app.jobs.cluster.place.connect_client`."""
    client = distributed.Client(distributed.LocalCluster(n_workers=1, **IN_PROCESS))
    client.wait_for_workers(1)
    return client


def test_a_place_that_does_not_answer_ends_a_run_with_its_sentence(file, create, monkeypatch):
    def fail(*_):
        raise PlaceError("no scheduler with workers answers; start them")

    run = create().number
    monkeypatch.setattr(place, "connect_client", fail)
    with pytest.raises(PlaceError):
        trainer.train_run(file, run)
    row = runs.get_run(file, run)
    assert (row.state, row.message, row.traceback) == ("failed", "no scheduler with workers answers; start them", "")


def test_a_run_whose_worker_has_no_card_fails_with_a_sentence_and_is_resumed(file, create, monkeypatch):
    def fail(*_):
        raise gpu.GpuError(gpu.NO_CARD)

    run = create().number
    monkeypatch.setattr(place, "connect_client", connect_here)
    monkeypatch.setattr(gpu, "open_device", fail)
    with pytest.raises(gpu.GpuError):
        trainer.train_run(file, run)
    row = runs.get_run(file, run)
    assert row.state == "failed"
    assert row.message.startswith("the worker inproc://")
    assert gpu.NO_CARD in row.message
    assert row.traceback == ""
    assert "resume-here" in [remedy.action for remedy in list_remedies(row)]
    monkeypatch.setattr(launcher, "start_queued_runs", lambda _: None)
    monkeypatch.setattr(gpu, "open_device", open_one_lane)
    control.resume_run(file, run)
    trainer.train_run(file, run)
    assert runs.get_run(file, run).state == "finished"


def test_a_run_spread_over_cards_goes_on_by_processors_at_the_same_place(file, create, monkeypatch):
    monkeypatch.setattr(launcher, "start_queued_runs", lambda _: None)
    run = create().number
    control.pause_run(file, run)
    with pytest.raises(Conflict, match=r"swept by gpu\+local:2, where alone it can go on"):
        control.resume_run(file, run, "gpu")
    control.resume_run(file, run, "here")
    assert runs.get_run(file, run).options["on"] == "local:2"


@pytest.mark.slow
@pytest.mark.nightly  # by day the faults of a cluster kill a worker without a card
def test_a_killed_worker_with_a_card_sends_the_run_back_to_the_bits_of_one_worker(file, create, monkeypatch):
    alone, together = create("gpu+local:1").number, create("gpu+local:2").number
    with monkeypatch.context() as patch:
        patch.setattr(place, "connect_client", connect_here)
        trainer.train_run(file, alone)
    monkeypatch.setenv(VISIBLE, "0,1")
    monkeypatch.setattr(spread.SpreadTraining, "holder", MortalHolder)
    trainer.train_run(file, together)
    kinds = {event.kind: event.text for event in events.read_new_events(file, together)[0]}
    assert "worker lost" in kinds
    assert kinds["workers"].startswith("documents are swept by 2 workers of local:2, each with a graphics processor;")
    facts = workers.read_cluster(runs.get_run(file, together).process).workers
    assert sorted(each.card["name"] for each in facts if each.lost is None) == ["Card 0", "Card 1"]
    assert "Card 1, 0 kB of 24 GB in use" in draw_workers(runs.get_run(file, together).process, "running")
    assert written(file, together) == written(file, alone)
