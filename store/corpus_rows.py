"""Rows of the table of corpora, read as frozen copies."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, select

from topiary.store.blocks import KINDS
from topiary.store.cells import (
    CellReader,
    describe_damage,
    is_text,
    match_list,
    match_nullable,
    match_object,
    match_whole,
)
from topiary.store.errors import DamagedRow, NotFound
from topiary.store.tables import corpora

_MOST = 1 << 48  # documents, words and cells of a corpus: more is damage
# The parts of the JSON of a row that readers rely on; other parts are not checked.
_SIZES = ("documents", "train_documents", "tokens", "cells", "scored_cells")  # stored for additions by every version
_ADDITION = match_object(
    {
        **dict.fromkeys(
            (*_SIZES, "validation_documents", "last_run", "added", "outside", "tokens_read"), match_whole()
        ),
        **dict.fromkeys(("content_hash", "file"), is_text),
    },
    required=(*_SIZES, "content_hash", "last_run"),
)
_META = match_object(
    {
        **dict.fromkeys(("record", "options", "wording"), match_nullable(match_object({}))),
        "format": is_text,
        "notes": match_list(is_text),
        "additions": match_list(_ADDITION),
        "typed": match_whole(),
    }
)
_NEEDED = frozenset(  # columns without which the corpus cannot be used
    (
        *("number", "documents", "train_documents", "validation_documents", "words", "tokens", "cells"),
        *("scored_cells", "kind", "label_names"),
        *("image_height", "image_width", "split_seed", "has_scored", "content_hash", "meta"),
    )
)


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
    damage : str
        The cells of the row that cannot be read and why, as text; neutral values replace them.
    unusable : bool
        Whether any of these cells is needed to train on the corpus or to append to it.
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
    damage: str = ""
    unusable: bool = False

    @property
    def test_documents(self) -> int:
        """Number of documents that are neither for training nor for validation."""
        return max(0, self.documents - self.train_documents - self.validation_documents)

    def check_usable(self) -> None:
        """Refuse to work with a corpus if needed cells of its row are damaged.

        Raises
        ------
        DamagedRow
            If they are; the message names the cells and says what to do.
        """
        if self.unusable:
            raise DamagedRow(
                f"corpus {self.number} ({self.name}) is damaged: {self.damage}; restore the store from a backup, or "
                "import it again under another name"
            )


def select_corpora() -> Select[Any]:
    """Return the query of all visible corpora."""
    return select(corpora).where(corpora.c.state == "ready")


def read_corpora(connection: Connection) -> Sequence[CorpusRow]:
    """Return all corpora, oldest first."""
    return [_make_row(row) for row in connection.execute(select_corpora().order_by(corpora.c.number))]


def read_corpus(connection: Connection, number: int, *, lock: bool = False) -> CorpusRow:
    """Return the corpus with this number; ``lock`` keeps others from changing it until the transaction ends.

    Raises
    ------
    NotFound
        If there is none.
    """
    query = select_corpora().where(corpora.c.number == int(number))
    row = connection.execute(query.with_for_update() if lock else query).first()
    if row is None:
        raise NotFound(f"there is no corpus number {number}; list the corpora to see those that exist")
    return _make_row(row)


def _make_row(row: Row[Any]) -> CorpusRow:
    cells = CellReader(row._asdict())
    image_shape = (
        cells.read_optional(cells.read_whole, "image_height"),
        cells.read_optional(cells.read_whole, "image_width"),
    )
    number = cells.read_whole("number")
    sizes = ("documents", "train_documents", "validation_documents", "words", "tokens", "cells", "scored_cells")
    values: dict[str, Any] = {
        "number": number,
        "name": cells.read_text("name") or f"corpus {number}",
        **{name: cells.read_whole(name, _MOST) for name in sizes},
        "split_seed": cells.read_whole("split_seed"),
        "kind": cells.read_text("kind", KINDS) or KINDS[0],
        "label_names": tuple(cells.read_json("label_names", match_list(is_text), list[str]())),
        "image_shape": None if None in image_shape else image_shape,
        "has_scored": bool(cells.read_whole("has_scored", 1)),
        **{name: cells.read_text(name) for name in ("source", "content_hash")},
        "created": cells.read_time("created"),
        "meta": cells.read_json("meta", _META, dict[str, Any]()),
    }
    return CorpusRow(**values, damage=describe_damage(cells.damage), unusable=not _NEEDED.isdisjoint(cells.damage))
