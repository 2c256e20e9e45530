"""The map of all documents under a snapshot: stored, completed or continued, and the process that makes it."""

import hashlib
import json
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import numpy as np

from topiary.app.analysis.read_hierarchy import find_snapshot
from topiary.app.analysis.shares import complete_shares, fetch_use
from topiary.app.analysis.topic_reader import TopicReader
from topiary.app.analysis.typical import find_typical_topics, sum_corpus_words
from topiary.app.jobs import logs
from topiary.app.jobs.map_work import AFTER_RUN, LEFT, MapRecord, is_making_map
from topiary.app.jobs.plan import hash_share_origin
from topiary.app.jobs.progress import FAILED, Notifier
from topiary.app.machine import choose_threads, lower_priority
from topiary.engine.contract import Array
from topiary.engine.document_map import layout
from topiary.engine.document_map.areas import find_inside
from topiary.engine.document_map.features import MapFeatures, make_features
from topiary.engine.document_map.layout import DocumentMap
from topiary.engine.pool import Pool
from topiary.engine.settings import SettingError
from topiary.store import corpora, runs, snapshots
from topiary.store.database import Database, open_existing
from topiary.store.errors import StoreError
from topiary.store.run_rows import RunRow
from topiary.store.snapshots import MapFacts, SnapshotRow, StoredMap

DEFINITION = 1  # raised when maps are computed differently, so that stored ones are computed again
PARENT_LAYERS = (2, 3)

Progress = Callable[[float], None]


class MapSource(NamedTuple):
    """What a map is made from: the documents' features, and the parents of topics, (K_1, K_l), rows that sum to 1."""

    features: MapFeatures
    parents: list[Array]


def hash_map_origin(run: RunRow) -> str:
    """Return a hash of everything except the snapshot that a map depends on."""
    return hashlib.sha256(json.dumps([DEFINITION, hash_share_origin(run)]).encode()).hexdigest()


def find_map(db: Database, run: RunRow, snapshot: SnapshotRow) -> DocumentMap | None:
    """Return the map stored under a snapshot, perhaps a draft, perhaps without documents appended later."""
    stored = snapshots.find_map(db, run.number, hash_map_origin(run), snapshot.minibatch)
    return DocumentMap(stored.positions, stored.topics) if stored and stored.snapshot == snapshot.number else None


def find_facts(db: Database, run: RunRow, snapshot: SnapshotRow) -> MapFacts | None:
    """Return facts about the map to show for a snapshot: the newest one at or before it, perhaps a draft."""
    return snapshots.find_facts(db, run.number, hash_map_origin(run), snapshot.minibatch)


def complete_map(
    db: Database, run: RunRow, snapshot: SnapshotRow, n_threads: int, on_progress: Progress | None = None
) -> DocumentMap:
    """Return the map of all documents under a snapshot; compute and store what is missing.

    A new map is stored as a draft first.  A map without the documents that were appended later is extended, and under a
    later snapshot it is continued, so that it can be recognised.

    Parameters
    ----------
    db : Database
        Open for writing.
    snapshot : SnapshotRow
        A snapshot of that run.
    n_threads : int
        Positions are the same bits for any number of threads.
    on_progress : (share) -> None, optional
        Called repeatedly with the share of the work that is done; an error that it raises ends the work.

    Raises
    ------
    NotFound, Conflict
        If the snapshot is gone, or another program replaces its shares.
    engine.settings.SettingError
        If the run used a setting that has since been removed.
    """
    made_by = hash_map_origin(run)
    n_documents = corpora.get_corpus(db, run.corpus).documents
    before = snapshots.find_map(db, run.number, made_by, snapshot.minibatch)
    is_here = before is not None and before.snapshot == snapshot.number
    if before is not None and is_here and before.finished and len(before.topics) == n_documents:
        return DocumentMap(before.positions, before.topics)
    source, pool = read_source(db, run, snapshot), Pool(n_threads)
    if before is None or not before.finished:
        start = layout.draft_map(source.features, source.parents, run.seed, pool)
        snapshots.save_map(db, made_by, StoredMap(snapshot.number, *start, finished=False))
        whole = layout.finish_map(source.features, start, run.seed, pool, on_progress)
    else:
        move = layout.extend_map if is_here else layout.continue_map
        last = DocumentMap(before.positions, before.topics)
        whole = move(source.features, last, run.seed, pool, on_progress)
    snapshots.save_map(db, made_by, StoredMap(snapshot.number, *whole, finished=True))
    return whole


def read_source(db: Database, run: RunRow, snapshot: SnapshotRow) -> MapSource:
    """Return what the map under a snapshot is made from; compute shares that are not stored yet.

    Errors are those of :func:`complete_map`.
    """
    layer = fetch_use(db, run, snapshot, 1).layer
    hierarchy = TopicReader(db).hierarchy(run, snapshot)
    features = make_features(layer.starts, layer.topics, layer.shares, hierarchy.widths[0])
    parents, weights = [], np.eye(hierarchy.widths[0])
    for number in PARENT_LAYERS[: hierarchy.n_layers - 1]:
        weights = weights @ np.maximum(np.asarray(hierarchy.phi[number - 1], dtype=np.float64), 0.0)
        parts = weights * np.maximum(hierarchy.popularity[number - 1], 0.0)
        totals = parts.sum(axis=1, keepdims=True)
        parents.append(np.where(totals > 0, parts / np.where(totals > 0, totals, 1.0), 1.0 / parts.shape[1]))
    return MapSource(features, parents)


PLACING, DRAFTING = "Placing the documents in the topics", "Placing the topics on the map"
ARRANGING, PREPARING = "Arranging the documents on the map", "Preparing to describe selections"
_NICENESS = 10  # of the process that makes a map after a run, as other runs may train
_FEW = 100  # documents of a selection that only serves to compile


def make_map(db: Database, run: int, snapshot: int, notify: Callable[[str, float], None]) -> None:
    """Place all documents in the topics of a snapshot, and make their map; report the share of each that is done.

    Raises
    ------
    NotFound, Conflict
        If the snapshot is gone, or another program replaces its shares.
    engine.settings.SettingError
        If the run used a setting that has since been removed.
    """
    row, chosen = runs.get_run(db, run), find_snapshot(db, run, snapshot)
    complete_shares(db, row, chosen, lambda done, total: notify(PLACING, done / max(total, 1)))
    notify(DRAFTING, 0.0)  # until the draft is stored
    made = complete_map(db, row, chosen, choose_threads(), partial(notify, ARRANGING))
    notify(PREPARING, 1.0)
    _prepare_selections(db, row, chosen, made)


def _prepare_selections(db: Database, run: RunRow, snapshot: SnapshotRow, made: DocumentMap) -> None:
    """Compile what a selection on the map needs, by describing one, so that no page has to wait for the compiler."""
    corners = np.array([(-1.0, -1.0), (1.0, -1.0), (0.0, 1.0)])
    selected = find_inside(made.positions, corners) | (np.arange(len(made.topics)) % 2 == 0)
    hierarchy, corpus = TopicReader(db).hierarchy(run, snapshot), corpora.get_run_corpus(db, run)
    find_typical_topics(hierarchy, 1, fetch_use(db, run, snapshot, 1), selected)
    sum_corpus_words(db, corpus, len(hierarchy.vocabulary), np.arange(len(selected)) < _FEW)


def make_map_after_run(db: Database, run: int, snapshot: int) -> None:
    """Make the map of a run that has ended, at low priority; its row says how far it is.

    Raises
    ------
    StoreError, engine.settings.SettingError
        As `make_map`; LostClaim if the run was resumed or deleted.
    """
    lower_priority(_NICENESS)
    record = MapRecord(db, runs.get_run(db, run), snapshot)
    try:
        make_map(db, run, snapshot, record.write)
    finally:
        with suppress(StoreError):  # the first error is the one to report
            record.remove()


def main(arguments: list[str]) -> int:
    """Make the map of a run under a snapshot, in the store that TOPIARY_STORE names; return the exit status."""
    notify = Notifier(sys.stdout)
    try:
        run, snapshot = map(int, arguments[:2])
        db = open_existing(None)
        if AFTER_RUN in arguments:
            make_map_after_run(db, run, snapshot)
        elif is_making_map(runs.get_run(db, run), snapshot):
            return LEFT
        else:
            make_map(db, run, snapshot, notify)
    except (StoreError, SettingError) as error:
        if AFTER_RUN in arguments:
            logs.write_line(f"the map of documents was not made: {error}")
        else:
            notify(FAILED, str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
