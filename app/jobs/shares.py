"""Place all documents of a corpus under a snapshot, and store the shares of topics in them: the last act of a run.

While a run trains, its worker does the same in a small part of the time, under one of the latest snapshots after the
other, so that pages can show shares before the run ends.

Documents are placed as pages place one of them: by the kernel of the run, under the topics that a snapshot shows, with
the same random streams.  So stored shares are those that a page would compute, for documents appended later too; a run
on a graphics processor places them there, and its shares are those of a page up to chance.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from topiary.app.jobs.claim import Claim
from topiary.app.jobs.plan import PLACE_SWEEPS, hash_share_origin, read_options
from topiary.app.jobs.records import restore_state
from topiary.engine.contract import Array, Batch, Counts, FloatArray, Kernel
from topiary.engine.hierarchy.paths import compute_shares, cut_shares
from topiary.store import corpora, shares, snapshots
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database
from topiary.store.errors import Conflict, DamagedArrays, NotFound
from topiary.store.run_rows import RunRow
from topiary.store.shares import LayerShares

BLOCK = 4096  # documents whose shares are stored together, and that are placed at a time at most
CARD_BLOCKS = 16  # blocks placed at a time by a graphics processor, which one would not fill
BLOCK_TOKENS = 4_000_000  # about so many tokens at a time at most, to limit memory
LIVE_PART = 0.05  # of the time of training in which documents are placed while it goes on
LIVE_SECONDS = 0.5  # for which training waits for documents to be placed
LIVE_BLOCKS = 32  # blocks that may take the place of one; smaller ones would mostly wait for the store


def infer_shares(kernel: Kernel, seed: int, state: Any, batch: Batch) -> tuple[FloatArray, ...]:
    """Return the share of every topic in documents, (documents, K_l) for layers 1, 2, ...; rows sum to 1."""
    return compute_shares(kernel.topics(state), kernel.infer(seed, state, batch, PLACE_SWEEPS), batch)


def store_shares(
    db: Database, run: RunRow, snapshot: int, kernel: Kernel, state: Any, proceed: Callable[[int, int], bool]
) -> bool:
    """Compute the shares of all documents of a run's corpus that are not stored yet, and publish them.

    Parameters
    ----------
    db : Database
        Open for writing.
    snapshot : int
        Number of one of its snapshots.
    state : State
        The state that the snapshot shows.
    proceed : (done, total) -> bool
        Called before each block with the numbers of documents done and of all.  False ends the work; what is stored so
        far is not visible, and the next call goes on from there.

    Returns
    -------
    bool
        Whether the shares of all documents are stored and visible.

    Raises
    ------
    NotFound, Conflict
        If the snapshot is gone, or another program replaces its shares.
    """
    corpus = corpora.get_corpus(db, run.corpus)
    size = _choose_size(corpus) * (CARD_BLOCKS if read_options(run).is_on_gpu else 1)
    blocks = _place_blocks(db, run, corpus, snapshot, kernel, state, lambda: size)
    return all(proceed(done, corpus.documents) for done in blocks)


def _place_blocks(
    db: Database,
    run: RunRow,
    corpus: CorpusRow,
    snapshot: int,
    kernel: Kernel,
    state: Any,
    choose_size: Callable[[], int],
) -> Iterator[int]:
    """Place the documents that are not placed yet, as `store_shares`; yield how many are before each block.

    ``choose_size`` returns the number of documents of the next block.
    """
    made_by = hash_share_origin(run)
    end = shares.begin_set(db, snapshot, made_by)
    while end < corpus.documents:
        yield end
        numbers = np.arange(end, min(end + choose_size(), corpus.documents))
        batch = Counts(*corpora.read_counts(db, corpus.number, numbers.tolist())).batch(numbers)
        inferred, tokens = infer_shares(kernel, run.seed, state, batch), _count_tokens(batch)
        for first in range(0, len(numbers), BLOCK):
            part = slice(first, first + BLOCK)
            layers = [LayerShares(*cut_shares(layer[part])) for layer in inferred]
            end = shares.append_block(db, snapshot, made_by, int(numbers[first]), layers, tokens[part])
    shares.publish_set(db, snapshot, made_by, read_options(run).keep)


class LivePlacement:
    """The placing of documents while a run trains, a few at a time between steps.

    It takes at most ``LIVE_PART`` of the time of training.  When all documents are placed under a snapshot, their
    shares are published and take the place of earlier ones; then it goes on with the newest snapshot.  Training does
    not depend on it: placing documents changes no state and draws from random streams of its own.
    """

    def __init__(self, claim: Claim, kernel: Kernel) -> None:
        self._claim, self._kernel = claim, kernel
        self._begun, self._spent = claim.seconds, 0.0
        self._size = self._least = self._most = 1  # documents of a block
        self._newest = self._placed = 0  # numbers of snapshots
        self._blocks: Iterator[int] | None = None  # of a snapshot that is not placed yet

    def offer(self, snapshot: int) -> None:
        """Record the number of the newest snapshot."""
        self._newest = snapshot

    def advance(self) -> None:
        """Place the next documents under a snapshot if there is time for them."""
        budget = LIVE_PART * (self._claim.seconds - self._begun) - self._spent
        if budget < LIVE_SECONDS or (self._blocks is None and self._newest == self._placed):
            return
        start = time.perf_counter()
        try:
            if self._blocks is None:
                self._blocks = self._begin_snapshot()
                end = next(self._blocks, None)
            elif (end := next(self._blocks, None)) is not None:
                fitting = int(self._size * LIVE_SECONDS / max(time.perf_counter() - start, 1e-6))
                self._size = max(self._least, min(fitting, 8 * self._size, self._most))
        except (NotFound, Conflict, DamagedArrays):  # the snapshot was deleted meanwhile, or is replaced or damaged
            end = None
        if end is None:
            self._blocks = None
        self._spent += time.perf_counter() - start

    def _begin_snapshot(self) -> Iterator[int]:
        """Return the blocks of the newest snapshot."""
        claim, self._placed = self._claim, self._newest
        corpus = corpora.get_corpus(claim.db, claim.row.corpus)
        self._most = _choose_size(corpus)
        self._least = max(1, self._most // LIVE_BLOCKS)
        self._size = max(self._size, self._least)
        arrays = snapshots.load_snapshot(claim.db, self._placed)
        state = restore_state(self._kernel, claim.row.seed, arrays, shown=True)
        return _place_blocks(claim.db, claim.row, corpus, self._placed, self._kernel, state, lambda: self._size)


def place_documents(claim: Claim, kernel: Kernel, *, done: bool) -> bool:
    """Store the shares of the documents of a claimed run under its latest snapshot, showing the progress.

    Only the documents of a run that is ``done``, or was asked to stop, are placed, not those of a paused one.

    Returns
    -------
    bool
        False if the run was asked to end first; then the rest is left to the next attempt, or to a reader who needs it.
    """
    begun = claim.ending
    if begun == "paused":
        return not done

    def proceed(done: int, total: int) -> bool:
        claim.message = f"placing documents, {100 * done // total}%"
        claim.beat_if_due()
        return claim.ending == begun and not claim.interrupted

    snapshot = snapshots.find_sound(claim.db, claim.row.number)
    if snapshot is None:
        return True
    try:
        arrays = snapshots.load_snapshot(claim.db, snapshot.number)
        state = restore_state(kernel, claim.row.seed, arrays, shown=True)
        return store_shares(claim.db, claim.row, snapshot.number, kernel, state, proceed)
    except (NotFound, Conflict):  # the snapshot was deleted meanwhile, or another program replaces its shares
        return True


def _count_tokens(batch: Batch) -> Array:
    """Return the number of tokens of every document, or the sum of its real values."""
    before = np.concatenate([[0.0], np.cumsum(batch.counts, dtype=np.float64)])
    return np.asarray(np.diff(before[batch.starts]))


def _choose_size(corpus: CorpusRow) -> int:
    """Return how many documents are placed at a time."""
    return max(1, min(BLOCK, BLOCK_TOKENS * corpus.documents // max(1, corpus.tokens)))
