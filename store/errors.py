"""What can go wrong in the store; every message is one sentence for the person at the screen.

They are called after the fact that they tell, so their names do not end in Error.
"""


class StoreError(Exception):
    """The store could not do what was asked."""


class NotFound(StoreError):  # noqa: N818
    """What was asked for is not in the store."""


class Conflict(StoreError):  # noqa: N818
    """The state of the store forbids it: a name taken, a run alive, a corpus in use."""


class SchemaMismatch(StoreError):  # noqa: N818
    """The database has another version of the tables, or tables of somebody else."""


class OutdatedStore(SchemaMismatch):
    """The store was made by an older Topiary, and whoever opens it to write brings it up to date."""


class LostClaim(StoreError):  # noqa: N818
    """Another attempt has taken over the run; the one that asked must stop without writing."""


class UnreachableStore(StoreError):  # noqa: N818
    """The server of the database went away, and did not come back in time."""


class DamagedArrays(StoreError):  # noqa: N818
    """Bytes that should hold arrays do not."""


class DamagedRow(StoreError):  # noqa: N818
    """Cells of a row that are needed do not hold what Topiary writes."""


class DamagedSnapshot(DamagedArrays):
    """The arrays of a snapshot do not; from then on whoever asks the same database gets an earlier one."""


class DamagedStore(StoreError):  # noqa: N818
    """The file of the store is damaged as a whole, as SQLite itself says."""


class ReplacedStore(StoreError):  # noqa: N818
    """The store was deleted, or another one stands in its place, since it was opened."""
