"""What the store says of a corpus in one row."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, select

from store.errors import NotFound
from store.tables import corpora


@dataclass(frozen=True)
class CorpusRow:
    """A frozen copy of what the store knows of a corpus without reading its documents.

    Attributes
    ----------
    tokens : int
        Sum of all counts; for real data, the number of cells.
    cells, scored_cells : int
        Entries that are not zero, and those among the held-out tokens.
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


def ready() -> Select[Any]:
    """The query of all corpora that can be seen."""
    return select(corpora).where(corpora.c.state == "ready")


def every(connection: Connection) -> Sequence[CorpusRow]:
    """All corpora, oldest first."""
    return [_row(row) for row in connection.execute(ready().order_by(corpora.c.number))]


def get(connection: Connection, number: int, *, lock: bool = False) -> CorpusRow:
    """The corpus with this number; ``lock`` keeps others from changing it until the transaction ends.

    Raises
    ------
    NotFound
        When there is none.
    """
    query = ready().where(corpora.c.number == int(number))
    row = connection.execute(query.with_for_update() if lock else query).first()
    if row is None:
        raise NotFound(f"there is no corpus number {number}; list the corpora to see those that exist")
    return _row(row)


def _row(row: Row[Any]) -> CorpusRow:
    values = row._asdict()
    for internal in ("state", "touched"):
        del values[internal]
    height, width = values.pop("image_height"), values.pop("image_width")
    values["image_shape"] = None if height is None else (height, width)
    values["label_names"] = tuple(values["label_names"])
    values["has_scored"] = bool(values["has_scored"])
    values["created"] = datetime.fromtimestamp(values["created"], UTC)
    return CorpusRow(**values)
