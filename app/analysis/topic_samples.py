"""The spread of the topics themselves: shares of documents under samples that a run has kept.

The topics of the snapshots of the second half of a run are draws of its chain.  Documents are placed under several of
them, and how far the share of a group moves from one to the next is what the topics add to its interval (the method of
composition, :mod:`engine.lens.intervals`).  As everything that comes from one chain, it does not know other starts.
"""

from typing import NamedTuple

import numpy as np

from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.inference import open_inference
from topiary.app.analysis.shares import LayerUse
from topiary.app.jobs.records import restore_state
from topiary.app.jobs.shares import BLOCK, infer_shares
from topiary.engine.contract import Array, AveragingKernel, Counts, IntArray
from topiary.engine.lens.moments import SampledShares
from topiary.store import corpora, snapshots
from topiary.store.database import Database
from topiary.store.run_rows import RunRow
from topiary.store.snapshots import SnapshotRow

MOST_SAMPLES, LEAST_SAMPLES = 8, 3
MOST_DOCUMENTS = 4_000  # that are placed under every sample, evenly chosen; shares of groups move alike in the others


class TopicSamples(NamedTuple):
    """Shares of the topics of every layer in some documents: their numbers (n,), and tables (S, n, K_l) float32."""

    documents: IntArray
    layers: tuple[Array, ...]

    def add_to(self, use: LayerUse, layer: int) -> LayerUse:
        """Return the shares of a layer with these samples."""
        return use._replace(samples=SampledShares(self.documents, self.layers[layer - 1]))

    @property
    def size(self) -> int:
        """Size of the arrays in bytes."""
        return sum(int(array.nbytes) for array in (self.documents, *self.layers))


def sample_topics(db: Database, run: RunRow, snapshot: SnapshotRow) -> TopicSamples:
    """Place documents under the topics of several snapshots of the second half of a run; takes seconds to a minute.

    Parameters
    ----------
    db : Database
    run : RunRow
    snapshot : SnapshotRow
        The newest one that may be used.

    Raises
    ------
    ReadError
        If there are fewer than three with topics that are samples, or the model draws none.
    """
    inference = open_inference(db, run, snapshot)
    if not isinstance(inference.kernel, AveragingKernel):
        raise ReadError(f"model {run.model} draws no samples of its topics, so their spread is not known")
    rows = _list_late(db, run, snapshot)
    if len(rows) < LEAST_SAMPLES:
        raise ReadError(
            f"the spread of the topics takes {LEAST_SAMPLES} snapshots of the second half of the run, and run "
            f"{run.number} has {len(rows)}"
        )
    corpus = inference.corpus
    numbers = np.unique(np.linspace(0, corpus.documents - 1, min(corpus.documents, MOST_DOCUMENTS)).astype(np.int64))
    blocks = [numbers[first : first + BLOCK] for first in range(0, len(numbers), BLOCK)]
    batches = [Counts(*corpora.read_counts(db, corpus.number, block.tolist())).batch(block) for block in blocks]
    placed = []
    for row in rows:
        state = restore_state(inference.kernel, run.seed, snapshots.load_snapshot(db, row.number))
        parts = [infer_shares(inference.kernel, run.seed, state, batch) for batch in batches]
        placed.append([np.concatenate(layer).astype(np.float32) for layer in zip(*parts, strict=True)])
    return TopicSamples(numbers, tuple(np.stack(tables) for tables in zip(*placed, strict=True)))


def _list_late(db: Database, run: RunRow, snapshot: SnapshotRow) -> list[SnapshotRow]:
    """Return snapshots of the second half of a run up to one of them, of the same topics, evenly chosen."""
    late = {
        row.minibatch: row
        for row in snapshots.list_snapshots(db, run.number)
        if snapshot.minibatch / 2 < row.minibatch <= snapshot.minibatch
    }
    shapes = snapshots.read_shapes(db, snapshot.number)
    topics = {name: shape for name, shape in shapes.items() if name.startswith(("phi.", "names."))}
    chosen = sorted(snapshots.choose_evenly(late, MOST_SAMPLES))
    return [
        late[minibatch]
        for minibatch in chosen
        if topics.items() <= snapshots.read_shapes(db, late[minibatch].number).items()
    ]
