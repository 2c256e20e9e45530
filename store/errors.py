"""Errors of the store; every message is one sentence for the user.

Most are named after what they report, without the ending *Error*.
"""


class StoreError(Exception):
    """Error about something that the store cannot do."""


class NotFound(StoreError):  # noqa: N818
    """Error about something that is not in the store."""


class Conflict(StoreError):  # noqa: N818
    """Error about an action that the store's state forbids: a name is taken, a run is training, a corpus is in use."""


class RefusedRow(StoreError):  # noqa: N818
    """Error about a row that the database refuses because it contradicts others: a name is taken, a run is gone."""


class SchemaMismatch(StoreError):  # noqa: N818
    """Error about a database with another version of the tables, or with tables of another program."""


class OutdatedStore(SchemaMismatch):
    """Error about a store of an older Topiary, which is migrated when it is opened for writing."""


class FormerStore(SchemaMismatch):
    """Error about a store from before version 0.1.0 of Topiary, which is never changed."""


class LostClaim(StoreError):  # noqa: N818
    """Error about a run that another attempt has taken over; the caller must stop without writing."""


class UnreachableStore(StoreError):  # noqa: N818
    """Error about a database server that went away and did not come back in time."""


class DamagedArrays(StoreError):  # noqa: N818
    """Error about bytes that are not the arrays that were stored."""


class DamagedRow(StoreError):  # noqa: N818
    """Error about a row that does not hold what Topiary wrote, or what it can use."""


class DamagedSnapshot(DamagedArrays):
    """Error about a snapshot whose bytes were altered; its `Database` object returns an earlier one from then on."""


class DamagedStore(StoreError):  # noqa: N818
    """Error about a store whose file is damaged as a whole, according to SQLite."""


class ReplacedStore(StoreError):  # noqa: N818
    """Error about a store that was deleted or replaced since it was opened."""
