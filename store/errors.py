"""Errors of the store; every message is one sentence for the user.

Most are named after the fact that they report, and not *Error*.
"""


class StoreError(Exception):
    """The store cannot do something."""


class NotFound(StoreError):  # noqa: N818
    """Something requested is not in the store."""


class Conflict(StoreError):  # noqa: N818
    """The state of the store forbids an action: a name is taken, a run trains, a corpus is in use."""


class SchemaMismatch(StoreError):  # noqa: N818
    """The database has another version of the tables, or tables of another program."""


class OutdatedStore(SchemaMismatch):
    """The store was made by an older Topiary, and opening it for writing migrates it."""


class LostClaim(StoreError):  # noqa: N818
    """Another attempt has taken over the run; the caller must stop without writing."""


class UnreachableStore(StoreError):  # noqa: N818
    """The server of the database went away, and did not come back in time."""


class DamagedArrays(StoreError):  # noqa: N818
    """Bytes are not the arrays that were stored."""


class DamagedRow(StoreError):  # noqa: N818
    """Needed cells of a row do not hold what Topiary writes."""


class DamagedSnapshot(DamagedArrays):
    """Bytes of a snapshot are not its arrays; the same database returns an earlier snapshot from then on."""


class DamagedStore(StoreError):  # noqa: N818
    """The file of the store is damaged as a whole, according to SQLite."""


class ReplacedStore(StoreError):  # noqa: N818
    """The store was deleted or replaced by another one since it was opened."""
