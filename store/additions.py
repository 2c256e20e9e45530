"""More documents into a corpus that exists, behind those it has; runs keep to the documents they began with.

The new blocks are staged under the row of a corpus that nobody sees, and change over to their own in the one
transaction that also counts them: readers see all of them or none.  Beside the new sizes that transaction writes what
they were before and the newest run there was, so that `known_to` can say what a run of that time knows.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from store import corpus_rows, events
from store.arrays import unpack
from store.blocks import Counts
from store.cells import as_whole
from store.corpus_rows import CorpusRow
from store.corpus_writer import Writer, discard, sweep
from store.database import Database, now
from store.errors import Conflict, DamagedArrays
from store.tables import corpora, corpus_blocks, corpus_texts, corpus_words, runs

SIZES = ("documents", "train_documents", "tokens", "cells", "scored_cells", "content_hash")
ADDITIONS = "additions"  # where the meta of a corpus keeps them


def known_to(row: CorpusRow, run: int) -> CorpusRow:
    """The corpus with the sizes that it had when a run was ordered; its documents are the first ones of today's.

    Parameters
    ----------
    row : CorpusRow
        The corpus as it is.
    run : int
        Number of the run.
    """
    for before in row.meta.get(ADDITIONS, ()):
        if run <= before["last_run"]:
            return replace(row, **{name: before[name] for name in SIZES})
    return row


class Appender(Writer):
    """Takes the blocks that follow those of a corpus.  Made by `appender`.

    Attributes
    ----------
    before : CorpusRow
        The corpus without them.
    """

    def __init__(self, db: Database, staged: int, before: CorpusRow, header: dict[str, Any]) -> None:
        super().__init__(db, staged, _words(db, before), header)
        self.before = before
        self._totals |= {name: getattr(before, name) for name in SIZES if name != "content_hash"}
        for counts in _stored(db, before):
            self._hash.update_counts(counts)

    def finish(self, name: str) -> None:
        """Make the documents visible; ``name`` is that of the corpus.

        Raises
        ------
        Conflict
            When the corpus was changed or deleted meanwhile.
        """
        sizes = self._totals | {"content_hash": self._hash.hexdigest()}
        self._db.transact(lambda connection: self._change_over(connection, name, sizes))
        with self._db.read() as connection:
            self.row = corpus_rows.get(connection, self.before.number)

    def _change_over(self, connection: Connection, name: str, sizes: dict[str, Any]) -> None:
        self._touch(connection, {})
        row = corpus_rows.get(connection, self.before.number, lock=True)
        row.check_usable()
        if (row.documents, row.content_hash) != (self.before.documents, self.before.content_hash):
            raise Conflict(f"corpus {name!r} got other documents meanwhile; append these again")
        newest = connection.execute(select(func.max(runs.c.number))).scalar() or 0
        then = {each: getattr(row, each) for each in SIZES} | {"last_run": newest}
        added = row.meta | {ADDITIONS: [*row.meta.get(ADDITIONS, ()), then | self.meta]}
        _tell_runs(connection, row, sizes["documents"])
        for table in (corpus_blocks, corpus_texts):
            connection.execute(update(table).where(table.c.corpus == self.number).values(corpus=row.number))
        connection.execute(delete(corpora).where(corpora.c.number == self.number))
        changed = sizes | {"meta": added, "touched": now()}
        connection.execute(update(corpora).where(corpora.c.number == row.number).values(changed))


@contextmanager
def appender(db: Database, number: int) -> Iterator[Appender]:
    """Write more documents into a corpus; they appear all at the end, and not at all after an exception.

    What is put into ``meta`` of the appender until then is kept with the addition.

    Raises
    ------
    NotFound
        When there is no such corpus.
    Conflict
        When it was changed by somebody else meanwhile.
    DamagedRow
        When its row is damaged.
    """
    sweep(db)
    with db.read() as connection:
        before = corpus_rows.get(connection, number)
    before.check_usable()
    header = {
        "kind": before.kind,
        "label_names": list(before.label_names),
        "has_scored": int(before.has_scored),
        "meta": {},
    }

    def stage(connection: Connection) -> int:
        values = header | {"name": None, "state": "incomplete", "created": now(), "touched": now()}
        return int(connection.execute(insert(corpora).values(values).returning(corpora.c.number)).scalar_one())

    staged = db.transact(stage)
    try:
        appending = Appender(db, staged, before, header)
        yield appending
        appending.finish(before.name)
    except BaseException:
        discard(db, staged)
        raise


def _tell_runs(connection: Connection, row: CorpusRow, documents: int) -> None:
    """Write for every run of the corpus that it stays with the documents it began with."""
    columns = (runs.c.number, runs.c.attempt, runs.c.minibatch)
    query = select(*columns).where(runs.c.corpus == row.number, runs.c.state != "deleted")
    for number, attempt, minibatch in connection.execute(query).all():
        known = known_to(row, number).documents
        text = f"the corpus has {documents:,} documents now; this run stays with its {known:,}, and a fork reads all"
        events.notify(connection, number, as_whole(attempt), as_whole(minibatch), "more documents", text)


def _words(db: Database, row: CorpusRow) -> list[str]:
    with db.read() as connection:
        query = select(corpus_words.c.text).where(corpus_words.c.corpus == row.number).order_by(corpus_words.c.word)
        return list(connection.execute(query).scalars())


def _stored(db: Database, row: CorpusRow) -> Iterator[Counts]:
    """The counts of all blocks of a corpus, one block held at a time."""
    mine = corpus_blocks.c.corpus == row.number
    with db.read() as connection:
        firsts = connection.execute(select(corpus_blocks.c.first).where(mine).order_by(corpus_blocks.c.first)).scalars()
        for first in list(firsts):
            if not isinstance(first, int):
                raise DamagedArrays(f"a block of corpus {row.name!r} does not say which documents it holds")
            query = select(corpus_blocks.c.arrays).where(mine, corpus_blocks.c.first == first)
            yield Counts(**unpack(connection.execute(query).scalar_one(), only=Counts._fields))
