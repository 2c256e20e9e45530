"""A separate process that makes the map of documents under a snapshot, so that pages stay responsive.

``python -P -m app.analysis.map_process RUN SNAPSHOT`` reports its progress line by line on standard output, for the
server that started it.  With ``--after-run``, for a run that has just ended, it reports to the row of the run instead.
What it has stored when it is ended is not lost: placed documents stay placed, and a draft stays until it is replaced.
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import numpy as np

from topiary.app.analysis.document_map import complete_map
from topiary.app.analysis.read_hierarchy import find_snapshot
from topiary.app.analysis.shares import complete_shares, fetch_use
from topiary.app.analysis.topic_reader import TopicReader
from topiary.app.analysis.typical import find_typical_topics, sum_corpus_words
from topiary.app.jobs import launcher, logs
from topiary.app.jobs.map_work import AFTER_RUN, LEFT, MapRecord, is_making_map
from topiary.app.jobs.progress import FAILED, Notifier
from topiary.engine.document_map.areas import find_inside
from topiary.engine.document_map.layout import DocumentMap
from topiary.engine.settings import SettingError
from topiary.store import corpora, runs
from topiary.store.database import Database, open_existing
from topiary.store.errors import StoreError
from topiary.store.run_rows import RunRow
from topiary.store.snapshots import SnapshotRow

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
    made = complete_map(db, row, chosen, launcher.choose_threads(), partial(notify, ARRANGING))
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
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
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
