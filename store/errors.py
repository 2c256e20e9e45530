"""Errors of the store; every message is one sentence for the user.

They are named after the fact they report, so their names do not end in Error.
"""


class StoreError(Exception):
    """The store could not do what was asked."""


class NotFound(StoreError):  # noqa: N818
    """Something requested is not in the store."""


class Conflict(StoreError):  # noqa: N818
    """The state of the store forbids it: a name taken, a run alive, a corpus in use."""


class SchemaMismatch(StoreError):  # noqa: N818
    """The database has another version of the tables, or tables of another program."""


class OutdatedStore(SchemaMismatch):
    """The store was made by an older Topiary, and opening it for writing migrates it."""


class LostClaim(StoreError):  # noqa: N818
    """Another attempt has taken over the run; the one that asked must stop without writing."""


class UnreachableStore(StoreError):  # noqa: N818
    """The server of the database went away, and did not come back in time."""


class DamagedArrays(StoreError):  # noqa: N818
    """Bytes that should hold arrays do not."""


class DamagedRow(StoreError):  # noqa: N818
    """Cells of a row that are needed do not hold what Topiary writes."""


class DamagedSnapshot(DamagedArrays):
    """Bytes of a snapshot that do not hold arrays; from then on the same database gives an earlier one."""


class DamagedStore(StoreError):  # noqa: N818
    """The file of the store is damaged as a whole, as SQLite itself says."""


class ReplacedStore(StoreError):  # noqa: N818
    """The store was deleted, or another one stands in its place, since it was opened."""
