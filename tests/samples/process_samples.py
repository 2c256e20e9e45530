"""Small corpora, small runs, and what a run has written, for tests of processes."""

import itertools
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from topiary.app.jobs import claim, launcher, new_run, plan, trainer
from topiary.store import checkpoints, corpora, corpus_rows, corpus_writer, points, runs, snapshots
from topiary.store.blocks import TEST, TRAIN, VALIDATION, DocumentBlock, StoredCounts
from topiary.store.database import Database, open_database
from topiary.store.edits import NewEdit
from topiary.store.run_rows import RunRow

WORDS = tuple(f"word{v}" for v in range(40))
NOBODY = SimpleNamespace(pid=999_999_999)  # the process of a worker that a test does not start
CLOCKED = {"tokens_per_second"}  # points that depend on the clock
SMALL = {"layers": "6-3", "inference": "tlasgr", "batch_size": "20", "burn_in": "4", "collect": "2", "simplex": "clamp"}


def small_corpus(
    db: Database,
    *,
    documents: int = 120,
    test: bool = True,
    name: str = "small",
    labelled: bool = False,
    lone: bool = False,
    validation: bool = False,
    strange: bool = False,
) -> corpus_rows.CorpusRow:
    """Documents about one of four subjects of ten words each; every fourth (every fifth of labelled ones) is a test.

    With ``lone`` those of the test have one word, with ``validation`` every second of them is for validation, and with
    ``strange`` the others have words of all subjects.
    """
    rng = np.random.default_rng(7)
    counts = np.zeros((documents, len(WORDS)), dtype=np.int32)
    for j in range(documents):
        subject = 10 * (j % 4)
        for v in (*rng.integers(subject, subject + 10, 16), *rng.integers(0, len(WORDS), 4)):
            counts[j, v] += 1
    every = 5 if labelled else 4
    part = np.array([test and j % every == 3 for j in range(documents)], dtype=np.int8)
    if validation:
        part[(part == TEST) & (np.arange(documents) // every % 2 == 1)] = VALIDATION
    if strange:
        counts[part == TEST] = rng.multinomial(20, np.full(len(WORDS), 1 / len(WORDS)), np.count_nonzero(part == TEST))
    if lone:
        counts[part != TRAIN] = np.eye(len(WORDS), dtype=np.int32)[0]
    present = counts > 0
    block = DocumentBlock(
        first=0,
        counts=StoredCounts(
            np.concatenate([[0], np.cumsum(present.sum(1))]), np.nonzero(present)[1].astype(np.int32), counts[present]
        ),
        part=part,
        labels=np.array([j % 4 if labelled else -1 for j in range(documents)], dtype=np.int32),
        titles=[f"title {j}" for j in range(documents)],
        texts=[f"text {j}" for j in range(documents)],
        columns=[{} for _ in range(documents)],
    )
    with corpus_writer.write_corpus(db, name, WORDS, label_names=("a", "b", "c", "d") if labelled else ()) as writer:
        writer.add(block)
    return writer.row


def open_copy(folder: Path, into: Path) -> Database:
    """A copy of the store of a folder, opened in another folder."""
    for part in folder.glob("store.db*"):
        shutil.copy(part, into)
    return open_database(str(into / "store.db"))


def more_documents(db: Database, number: int, first: int) -> DocumentBlock:
    """All documents of a corpus as a block that begins with a number."""
    arrays = corpora.load_corpus(db, number)
    n = len(arrays.part)
    return DocumentBlock(first, arrays.counts, arrays.part, arrays.labels, [""] * n, [""] * n, [{} for _ in range(n)])


def order(
    db: Database,
    *,
    minibatches: int = 60,
    averaged: bool = False,
    corpus: str = "small",
    seed: int = 1,
    until: str = "",
    edits: Sequence[NewEdit] = (),
    **texts: str,
) -> RunRow:
    """A queued run of a small model."""
    wishes = {"minibatches": minibatches, "averaged": averaged, "seed": seed, "until": until, "edits": edits}
    return new_run.create_run(db, corpus, model="dlda", texts=SMALL | texts, **wishes)


@contextmanager
def writing_seldom() -> Iterator[None]:
    """Let runs of up to two hundred steps in this process write a dozen snapshots and checkpoints, as long runs do.

    Otherwise so short runs write both at every step, which takes longer than the steps.
    """
    fit, space = plan._fit_spread, plan._space_evenly

    def fit_few(last: int, draws: float, cost: float, most: int = 150) -> frozenset[int]:
        return fit(last, draws, cost, 12 if most == 150 and last <= 200 else most)

    def space_few(last: int, draws: float, cost: float) -> frozenset[int]:
        return space(last, min(draws, 12 * cost) if last <= 200 else draws, cost)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "_fit_spread", fit_few)
        patch.setattr(plan, "_space_evenly", space_few)
        yield


def train_here(url: str, run: int) -> SimpleNamespace:
    """Train a run in this process, in the place of ``launcher.start_worker``, when a test is not about workers."""
    with closing(open_database(url)) as db, writing_seldom():
        trainer.train_run(db, run)
    return NOBODY


class Written(NamedTuple):
    """Everything that must be the same bits, whenever and however often a run was interrupted."""

    points: list[tuple[Any, ...]]
    snapshots: dict[int, dict[str, bytes]]
    checkpoint: tuple[int, dict[str, bytes]] | None
    scores: tuple[Any, ...]


def written(db: Database, run: int) -> Written:
    """What a run has written, without what depends on the clock."""
    saved = checkpoints.load_checkpoint(db, run)
    row = runs.get_run(db, run)
    return Written(
        sorted(
            (point.minibatch, point.documents, point.name, point.layer, repr(point.value))
            for point in points.read_points(db, run)
            if point.name not in CLOCKED
        ),
        {each.minibatch: _bits(snapshots.load_snapshot(db, each.number)) for each in snapshots.list_snapshots(db, run)},
        None if saved is None else (saved.minibatch, _bits(saved.arrays)),
        (row.state, row.minibatch, row.point_perplexity, row.averaged_perplexity, row.message),
    )


class Killed(BaseException):
    """The process is gone: nothing after this is written."""


def kill_after(db: Database, run: int, writes: int) -> bool:
    """Train until the given number of transactions has begun, then die in the middle of the next."""
    left = itertools.count(writes, -1)
    real = db.transact

    def transact(work):
        if next(left) <= 0:
            raise Killed
        return real(work)

    db.transact = transact
    finish = claim.Claim.finish
    claim.Claim.finish = lambda *_: None if next(left) < 0 else finish(*_)
    try:
        trainer.train_run(db, run)
    except Killed:
        return True
    finally:
        claim.Claim.finish = finish
        del db.transact
    return False


def bury(db: Database, run: int) -> int:
    """The run of a worker that died without a word, ended by the next attempt as a resume would."""
    row = runs.get_run(db, run)
    assert row.state == "running"
    runs.abandon_run(db, run, "paused", "buried", force=True)
    return run


def wait_for(db: Database, run: int, ready: Callable[[RunRow], bool], seconds: float = 120) -> RunRow:
    """The run's row as soon as it is ready."""
    end = time.monotonic() + seconds
    while True:
        launcher.reap_children()
        row = runs.get_run(db, run)
        if ready(row):
            return row
        if time.monotonic() > end:
            raise AssertionError(f"run {run} did not get there in {seconds} s: {row}")
        time.sleep(0.02)


def ended(row: RunRow) -> bool:
    """Whether nobody trains the run any more."""
    return row.state in ("finished", "failed", "stopped", "paused")


def _bits(arrays: dict[str, Any]) -> dict[str, bytes]:
    return {
        name: str(array.dtype).encode() + str(array.shape).encode() + array.tobytes() for name, array in arrays.items()
    }
