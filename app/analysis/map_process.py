"""A separate process that makes the map of documents under a snapshot, so that pages stay responsive.

``python -P -m app.analysis.map_process RUN SNAPSHOT`` reports its progress line by line on standard output.  What it
has stored when it is ended is not lost: placed documents stay placed, and a draft stays until it is replaced.
"""

import sys
from functools import partial

import numpy as np

from app.analysis.document_map import complete_map
from app.analysis.inference import find_snapshot
from app.analysis.read_hierarchy import read_hierarchy
from app.analysis.shares import complete_shares, fetch_use
from app.analysis.typical import find_typical_topics, sum_corpus_words
from app.jobs import launcher
from app.jobs.progress import FAILED, Notifier
from engine.document_map.areas import find_inside
from engine.document_map.layout import DocumentMap
from engine.settings import SettingError
from store import corpora, runs
from store.database import Database, open_existing
from store.errors import StoreError
from store.run_rows import RunRow
from store.snapshots import SnapshotRow

PLACING, DRAFTING = "Placing the documents in the topics", "Placing the topics on the map"
ARRANGING, PREPARING = "Arranging the documents on the map", "Preparing to describe selections"
_FEW = 100  # documents of a selection that only serves to compile


def make_map(db: Database, run: int, snapshot: int, notify: Notifier) -> None:
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
    hierarchy, corpus = read_hierarchy(db, run, snapshot), corpora.get_run_corpus(db, run)
    find_typical_topics(hierarchy, 1, fetch_use(db, run, snapshot, 1), selected)
    sum_corpus_words(db, corpus, len(hierarchy.vocabulary), np.arange(len(selected)) < _FEW)


def main(arguments: list[str]) -> int:
    """Make the map of a run under a snapshot, in the store that TOPIARY_STORE names."""
    notify = Notifier(sys.stdout)
    try:
        run, snapshot = map(int, arguments)
        make_map(open_existing(None), run, snapshot, notify)
    except (StoreError, SettingError) as error:
        notify(FAILED, str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
