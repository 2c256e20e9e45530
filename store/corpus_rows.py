"""Rows of the table of corpora, read as frozen copies."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select

from topiary.store.errors import NotFound
from topiary.store.run_rows import explain_absence
from topiary.store.tables import corpora, select_sound


@dataclass(frozen=True)
class CorpusRow:
    """A frozen copy of the row of a corpus.

    Attributes
    ----------
    documents, train_documents, validation_documents : int
        Number of all documents, and of those in two of the three parts.
    tokens : int
        Sum of all counts; for real data, the number of cells.
    cells, scored_cells : int
        Number of entries above zero, and of those among the held-out tokens.
    """

    number: int
    name: str
    documents: int
    train_documents: int
    words: int
    tokens: int
    cells: int
    kind: str
    label_names: tuple[str, ...]
    image_shape: tuple[int, int] | None
    split_seed: int
    has_scored: bool
    source: str
    content_hash: str
    created: datetime
    meta: dict[str, Any]
    scored_cells: int = 0
    validation_documents: int = 0

    @property
    def test_documents(self) -> int:
        """Number of documents that are neither for training nor for validation."""
        return max(0, self.documents - self.train_documents - self.validation_documents)


def select_corpora() -> Select[Any]:
    """Return the query of all visible corpora."""
    return select_sound(corpora).where(corpora.c.state == "ready")


def read_corpora(connection: Connection) -> Sequence[CorpusRow]:
    """Return all corpora, oldest first."""
    return [_make_row(row) for row in connection.execute(select_corpora().order_by(corpora.c.number))]


def read_corpus(connection: Connection, number: int, *, lock: bool = False) -> CorpusRow:
    """Return the corpus with this number; ``lock`` keeps others from changing it until the transaction ends.

    Raises
    ------
    NotFound
        If there is none.
    DamagedRow
        If its row is damaged.
    """
    query = select_corpora().where(corpora.c.number == int(number))
    row = connection.execute(query.with_for_update() if lock else query).first()
    if row is None:
        missing = NotFound(f"there is no corpus number {number}; list the corpora to see those that exist")
        raise explain_absence(connection, corpora, int(number)) or missing
    return _make_row(row)


def _make_row(row: Row[Any]) -> CorpusRow:
    values = row._asdict()
    image_shape = values.pop("image_height"), values.pop("image_width")
    del values["state"], values["touched"]
    return CorpusRow(
        **values | {"has_scored": bool(row.has_scored)}, image_shape=None if None in image_shape else image_shape
    )
