"""Runs whose documents are swept by a graphics processor: who is refused, and that interruptions change nothing.

The device is the processor of this machine with one lane.
"""

import re
import subprocess
import sys

import pytest
from process_samples import bury, kill_after, order, written
from sqlalchemy import select

from topiary.app.cli import runs as command
from topiary.app.jobs import claim, control, gpu, launcher, new_run, shares, trainer
from topiary.app.jobs.cluster import place
from topiary.app.jobs.forks import list_remedies
from topiary.app.jobs.run_rules import NewRunError
from topiary.app.views.runs.kpis import RunHealth, describe_card, draw_kpis
from topiary.app.views.text import format_size
from topiary.engine.contract import Facts
from topiary.engine.gpu.devices import OneLane
from topiary.engine.gpu.memory import DeviceError, explain_failure
from topiary.engine.models import load
from topiary.store import events, points, runs, snapshots, tables
from topiary.store.errors import Conflict
from topiary.store.shares import read_documents

pytestmark = pytest.mark.usefixtures("seldom")
CARD = gpu.GraphicsCard("Test Card", 24 * 10**9, "13.0")


@pytest.fixture
def card(monkeypatch):
    """A card whose device is one lane on the CPU."""
    monkeypatch.setattr(gpu, "list_cards", lambda: [CARD])
    monkeypatch.setattr(gpu, "is_extra_installed", lambda: True)
    monkeypatch.setattr(gpu, "open_device", lambda config, facts: OneLane())


def train(file, model="dlda", **texts):
    usual = {"dlda": {"layers": "5-3", "inference": "gibbs"}, "datm": {"layers": "5-3"}, "lda-gibbs": {"layers": "5"}}
    texts = usual[model] | texts
    return new_run.create_run(file, "small", model=model, texts=texts, minibatches=60, on="gpu").number


@pytest.mark.parametrize(
    ("model", "texts"),
    [
        ("dlda", {}),
        pytest.param("dlda", {"inference": "tlasgr"}, marks=pytest.mark.nightly),
        pytest.param("lda-gibbs", {}, marks=pytest.mark.nightly),
        pytest.param("datm", {"counts": "refined"}, marks=pytest.mark.nightly),
    ],
    ids=["gibbs", "tlasgr", "lda", "datm"],
)
def test_a_run_on_a_card_is_resumed_to_the_same_bits_and_says_where_it_was_swept(file, card, monkeypatch, model, texts):
    monkeypatch.setattr(claim, "BEAT_SECONDS", 0.0)
    whole, broken = train(file, model, **texts), train(file, model, **texts)
    trainer.train_run(file, whole)
    assert runs.get_run(file, whole).state == "finished"
    assert kill_after(file, broken, 30)
    trainer.train_run(file, runs.requeue_run(file, bury(file, broken)).number)
    assert written(file, broken) == written(file, whole)
    texts = [event.text for event in events.read_new_events(file, whole)[0] if event.kind == "device"]
    assert texts == ["documents are swept by Test Card, 24 GB, CUDA 13.0, with 1 of its lanes for each"]


def test_a_run_on_a_card_is_as_good_as_one_on_the_processor(file, card):
    on_card, here = train(file), order(file, inference="gibbs", layers="5-3").number
    for run in (on_card, here):
        trainer.train_run(file, run)
    ours, theirs = (points.read_curve(file, run, "mean_perplexity")[-1][1] for run in (on_card, here))
    assert ours == pytest.approx(theirs, rel=0.05)


def test_a_card_places_many_documents_at_a_time_and_their_shares_are_stored_in_blocks(file, card, monkeypatch):
    found, sizes, infer = [], [], shares.infer_shares
    monkeypatch.setattr(shares, "infer_shares", lambda *given: sizes.append(len(given[3].documents)) or infer(*given))
    for block in (4096, 50):
        monkeypatch.setattr(shares, "BLOCK", block)
        run = train(file)
        trainer.train_run(file, run)
        snapshot = snapshots.find_latest(file, run).number
        found.append([layer.units.tolist() for layer in read_documents(file, snapshot, range(120), 2)])
    assert found[0] == found[1]
    assert sizes[-1] == 120
    with file.read() as connection:
        parts = tables.snapshot_parts.c
        rows = connection.execute(select(parts.documents).where(parts.kind == "shares")).all()
    assert [documents for (documents,) in rows] == [120, 50, 50, 20]


def test_a_run_that_does_not_fit_on_the_card_is_refused(file, card, monkeypatch):
    monkeypatch.setattr(gpu, "list_cards", lambda: [CARD._replace(memory=1000)])
    with pytest.raises(NewRunError, match=r"needs about .* 0.0 GB of the Test Card are .* with fewer topics"):
        train(file)


def test_a_card_holds_a_mini_batch_of_a_corpus_that_does_not_fit(card):
    facts, config = Facts(10_000, 10**9, n_tokens=10**11), load("dlda").Config
    assert gpu.check_run_on_card("dlda", config(inference="tlasgr"), facts) == CARD
    with pytest.raises(gpu.GpuError, match=r"needs about .* GB .* --set inference=tlasgr"):
        gpu.check_run_on_card("dlda", config(inference="gibbs"), facts)
    with pytest.raises(gpu.GpuError, match="with fewer topics"):
        gpu.check_run_on_card("dlda", config(layers=(1024,)), facts._replace(n_words=10**7))
    assert gpu.check_run_on_card("datm", load("datm").Config(), facts) == CARD


@pytest.mark.parametrize(("texts", "words"), [({"link": "gamma"}, "counts"), ({"sampler": "plain"}, "collapsed")])
def test_what_a_card_cannot_do_is_refused_before_the_run_is_made(file, card, texts, words):
    with pytest.raises(NewRunError, match=words):
        train(file, **texts)
    assert runs.list_runs(file) == []


def test_a_model_without_kernels_for_cards_is_refused(file, card):
    with pytest.raises(NewRunError, match="model lda-cavi has no kernels for graphics processors"):
        new_run.create_run(file, "small", model="lda-cavi", texts={"layers": "3"}, on="gpu")


def test_without_a_card_or_the_extra_one_sentence_says_so(file, monkeypatch):
    monkeypatch.setattr(gpu, "list_cards", list)
    with pytest.raises(NewRunError, match="there is none here") as refusal:
        train(file)
    assert str(refusal.value) == gpu.NO_CARD
    monkeypatch.setattr(gpu, "list_cards", lambda: [CARD])
    monkeypatch.setattr(gpu, "is_extra_installed", lambda: False)
    for ask in (lambda: train(file), lambda: place.check_place("gpu", file.url)):
        with pytest.raises((NewRunError, place.PlaceError), match="pip install 'topiary-explorer"):
            ask()


def test_a_device_that_fails_ends_the_run_with_its_sentence(file, card, monkeypatch):
    def fail(config, facts):
        device = OneLane()
        device.launch = lambda *rest: (_ for _ in ()).throw(DeviceError("the graphics processor failed (lost)"))
        return device

    run = train(file)
    monkeypatch.setattr(gpu, "open_device", fail)
    with pytest.raises(DeviceError):
        trainer.train_run(file, run)
    row = runs.get_run(file, run)
    assert (row.state, row.message) == ("failed", "the graphics processor failed (lost)")


def test_a_run_whose_card_is_lost_goes_on_by_the_processor(file, card, monkeypatch):
    class Lost(OneLane):
        left = 60

        def launch(self, kernel, n, *arguments):
            self.left -= kernel == "tokens"
            if self.left < 0:
                raise DeviceError(explain_failure("CUDA_ERROR_NO_DEVICE"))
            super().launch(kernel, n, *arguments)

    monkeypatch.setattr(launcher, "start_queued_runs", lambda _: None)
    monkeypatch.setattr(gpu, "open_device", lambda config, facts: Lost())
    run = train(file)
    with pytest.raises(DeviceError, match="is lost"):
        trainer.train_run(file, run)
    assert "resume-here" in [remedy.action for remedy in list_remedies(runs.get_run(file, run))]
    with pytest.raises(Conflict, match="goes on here or on gpu; got 'cloud'"):
        control.resume_run(file, run, "cloud")
    control.resume_run(file, run, "here")
    monkeypatch.setattr(gpu, "open_device", None)  # which the processor does not need
    trainer.train_run(file, run)
    row = runs.get_run(file, run)
    assert (row.state, row.minibatch, row.options["on"], "card" in row.process) == ("finished", 60, "", False)


def test_a_run_that_no_card_can_sweep_does_not_go_on_there(file, card, monkeypatch):
    monkeypatch.setattr(launcher, "start_queued_runs", lambda _: None)
    run = order(file, inference="gibbs", sampler="plain").number
    control.pause_run(file, run)
    with pytest.raises(Conflict, match="collapsed sampler"):
        control.resume_run(file, run, "gpu")
    assert runs.get_run(file, run).state == "paused"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[2] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY", "memory of the graphics processor is full"),
        ("[214] CUDA_ERROR_ECC_UNCORRECTABLE", r"graphics processor is lost \(\[214"),
        ("[719] CUDA_ERROR_LAUNCH_FAILED", r"graphics processor failed \(\[719"),
    ],
)
def test_a_failure_of_the_driver_is_explained_in_a_sentence_with_what_to_do(text, words):
    assert re.search(words, explain_failure(text))
    assert "topiary resume RUN --on here" in explain_failure(text)


def test_a_run_shows_the_card_and_its_memory(file, card, monkeypatch):
    monkeypatch.setattr(OneLane, "count_used", lambda _: 3 * 10**9)
    monkeypatch.setattr(claim, "BEAT_SECONDS", 0.0)
    run = train(file)
    trainer.train_run(file, run)
    row = runs.get_run(file, run)
    assert describe_card(row.process) == f"Test Card, {format_size(3 * 10**9)} of {format_size(CARD.memory)} in use"
    assert describe_card(row.process) in draw_kpis(row, RunHealth("running", None, 0))
    assert describe_card({}) == ""


def test_nothing_of_cuda_is_imported_before_a_run_needs_it():
    code = """
import sys
import topiary.app.cli.main, topiary.app.cli.runs, topiary.app.jobs.trainer, topiary.app.jobs.new_run
import topiary.app.pages.form_fields
assert "topiary.engine.gpu.sweeps" not in sys.modules and "numba" not in sys.modules
import topiary.engine.models.dlda.kernel
found = [name for name in sys.modules
    if name.startswith(("numba_cuda", "cuda.", "topiary.engine.gpu.cuda", "topiary.engine.gpu.warp"))]
assert not found, found
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr


class Answers:
    json = False


def test_the_command_lists_cards_and_what_fits(monkeypatch, capsys):
    monkeypatch.setattr(command, "list_cards", lambda: [CARD])
    assert command.gpu(Answers()) == 0
    assert "Test Card, 24 GB, CUDA 13.0: fits about" in capsys.readouterr().out
    assert command.count_fitting(2 * CARD.memory) > command.count_fitting(CARD.memory) > 10**7
    monkeypatch.setattr(command, "list_cards", list)
    command.gpu(Answers())
    assert capsys.readouterr().out.startswith("no graphics processor of NVIDIA is here")
