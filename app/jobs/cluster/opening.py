"""The store as workers of a cluster read it."""

import time

from store.database import Database, open_database
from store.errors import StoreError

PATIENCE = 60.0  # seconds that a server is waited for which restarts


def open_patiently(store: str) -> Database:
    """The store, for reading; a server that cannot be reached at this moment is waited for.

    Raises
    ------
    StoreError
        When it cannot be opened.
    """
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return open_database(store, readonly=True)
        except StoreError as error:
            if type(error) is not StoreError or time.monotonic() > end:  # others do not pass with time
                raise
        time.sleep(0.5)
