"""Receipts: how a writer finds out whether a transaction arrived that lost its connection at the commit.

A PostgreSQL server that is restarted, or a network that fails, may take a transaction and never say so.  The last
statement of every transaction there therefore writes down its number in a row of the writer's own, and after the
connection was lost that row tells whether the transaction is to be repeated.  The number of the transaction in the
server would not do: after a crash it is given to another one.
"""

import threading
import uuid
from typing import NamedTuple

from sqlalchemy import Connection, Double, cast, delete, extract, func, insert, update
from sqlalchemy.dialects.postgresql import insert as insert_or_update

from store.tables import receipts

_KEPT_SECONDS = 7 * 86_400.0  # rows of writers that were killed
_NOW = cast(extract("epoch", func.clock_timestamp()), Double)


class Receipt(NamedTuple):
    """Proof of one transaction: its writer, and which of the writer's transactions it is."""

    writer: str
    sequence: int


class _Writer(threading.local):
    """What a thread has written: two threads that shared a row would take each other's receipts for their own."""

    def __init__(self) -> None:
        self.name = uuid.uuid4().hex
        self.sequence = 0


class Receipts:
    """The receipts of an open database."""

    def __init__(self) -> None:
        self._writer = _Writer()

    def sign(self, connection: Connection) -> Receipt:
        """Add a receipt to a transaction as its last statement, which then waits for no other writer."""
        mine = self._writer
        mine.sequence += 1
        values = {"sequence": mine.sequence, "written": _NOW}
        if not connection.execute(update(receipts).where(receipts.c.writer == mine.name).values(values)).rowcount:
            connection.execute(delete(receipts).where(receipts.c.written < _NOW - _KEPT_SECONDS))
            connection.execute(insert(receipts).values(writer=mine.name, **values))
        return Receipt(mine.name, mine.sequence)


def arrived(connection: Connection, receipt: Receipt) -> bool:
    """Return whether the transaction with this receipt was committed.

    Writes to the same row, so that it waits for a transaction that the server has not ended yet.
    """
    wanted = insert_or_update(receipts).values(writer=receipt.writer, sequence=0, written=_NOW)
    touched = wanted.on_conflict_do_update(index_elements=[receipts.c.writer], set_={"written": _NOW})
    return bool(connection.execute(touched.returning(receipts.c.sequence)).scalar_one() == receipt.sequence)
