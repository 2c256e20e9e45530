"""What the store says of a corpus in one row."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, select

from store.blocks import KINDS
from store.cells import Cells, in_words, is_text, keyed, listed, or_null, whole
from store.errors import DamagedRow, NotFound
from store.tables import corpora

_MOST = 1 << 48  # documents, words and cells of a corpus: more is damage
# What readers rely on in the JSON of a row; whatever else is there is left to those who wrote it.
_SIZES = ("documents", "train_documents", "tokens", "cells", "scored_cells")
_ADDITION = keyed(
    {
        **dict.fromkeys((*_SIZES, "last_run", "added", "outside", "tokens_read"), whole()),
        **dict.fromkeys(("content_hash", "file"), is_text),
    },
    required=(*_SIZES, "content_hash", "last_run"),
)
_META = keyed(
    {
        **dict.fromkeys(("record", "options", "wording"), or_null(keyed({}))),
        "format": is_text,
        "notes": listed(is_text),
        "additions": listed(_ADDITION),
    }
)
_NEEDED = frozenset(
    (
        *("number", "documents", "train_documents", "words", "tokens", "cells", "scored_cells", "kind", "label_names"),
        *("image_height", "image_width", "split_seed", "has_scored", "content_hash", "meta"),
    )
)


@dataclass(frozen=True)
class CorpusRow:
    """A frozen copy of what the store knows of a corpus without reading its documents.

    Attributes
    ----------
    tokens : int
        Sum of all counts; for real data, the number of cells.
    cells, scored_cells : int
        Entries that are not zero, and those among the held-out tokens.
    damage : str
        The cells of the row that cannot be read and why, in words; what stands for them here is neutral.
    unusable : bool
        Whether cells among these are needed to train on it, or to append to it.
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
    damage: str = ""
    unusable: bool = False

    def check_usable(self) -> None:
        """Refuse to work with a corpus whose row is damaged where it matters.

        Raises
        ------
        DamagedRow
            With the cells, and what to do.
        """
        if self.unusable:
            raise DamagedRow(
                f"corpus {self.number} ({self.name}) is damaged: {self.damage}; restore the store from a backup, or "
                "import it again under another name"
            )


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
    cells = Cells(row._asdict())
    sides = cells.maybe(cells.whole, "image_height"), cells.maybe(cells.whole, "image_width")
    number = cells.whole("number")
    counted = ("documents", "train_documents", "words", "tokens", "cells", "scored_cells")
    values: dict[str, Any] = {
        "number": number,
        "name": cells.text("name") or f"corpus {number}",
        **{name: cells.whole(name, _MOST) for name in counted},
        "split_seed": cells.whole("split_seed"),
        "kind": cells.text("kind", KINDS) or KINDS[0],
        "label_names": tuple(cells.json("label_names", listed(is_text), list[str]())),
        "image_shape": None if None in sides else sides,
        "has_scored": bool(cells.whole("has_scored", 1)),
        **{name: cells.text(name) for name in ("source", "content_hash")},
        "created": cells.time("created"),
        "meta": cells.json("meta", _META, dict[str, Any]()),
    }
    return CorpusRow(**values, damage=in_words(cells.damage), unusable=not _NEEDED.isdisjoint(cells.damage))
