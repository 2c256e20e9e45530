"""A separate process that makes the map of documents under a snapshot, so that pages stay responsive.

``python -P -m app.analysis.map_process RUN SNAPSHOT`` reports its progress line by line on standard output.  What it
has stored when it is ended is not lost: placed documents stay placed, and a draft stays until it is replaced.
"""

import sys
from functools import partial

from app.analysis.document_map import complete_map
from app.analysis.inference import find_snapshot
from app.analysis.shares import complete_shares
from app.jobs import launcher
from app.jobs.progress import FAILED, Notifier
from engine.settings import SettingError
from store import runs
from store.database import Database, open_existing
from store.errors import StoreError

PLACING = "Placing the documents in the topics"
DRAFTING, ARRANGING = "Placing the topics on the map", "Arranging the documents on the map"


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
    complete_map(db, row, chosen, launcher.choose_threads(), partial(notify, ARRANGING))


def main(arguments: list[str]) -> int:
    """Make the map of a run under a snapshot, in the store that TOPIARY_STORE names."""
    notify = Notifier(sys.stdout)
    try:
        make_map(open_existing(None), *map(int, arguments), notify)
    except (StoreError, SettingError) as error:
        notify(FAILED, str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
