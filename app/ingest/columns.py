"""What the columns of a table are called: by its first line, or by number."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from app.ingest import fields
from app.ingest.errors import IngestError
from app.ingest.headers import has_header
from app.ingest.options import ImportOptions


class Names(NamedTuple):
    """The names of the columns, and whether the first line of the table has them."""

    names: tuple[str, ...]
    header: bool


def names_of(sample: Sequence[list[str]], options: ImportOptions, path: Path) -> Names:
    """The names of the columns of a table that begins with these rows.

    Raises
    ------
    IngestError
        When the first line names a column twice.
    """
    first = called(sample[0])
    header = _has_header(list(first), sample[1:], options)
    names = first if header else tuple(str(n) for n in range(1, len(first) + 1))
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise IngestError(path, f"names the column {sorted(repeated)[0]!r} twice", 1)
    return Names(names, header)


def called(cells: Sequence[str]) -> tuple[str, ...]:
    """The cells of a first line as names; one without a name, as pandas leaves above its index, gets its number.

    >>> called(["", " text "])
    ('column 1', 'text')
    """
    return tuple(cell.strip() or f"column {number}" for number, cell in enumerate(cells, 1))


def _has_header(cells: list[str], rows: Sequence[list[str]], options: ImportOptions) -> bool:
    if options.header != "auto":
        return options.header == "yes"
    asked = {options.title_column, options.label_column, options.split_column, *(options.text_column or "").split(",")}
    if any(cell.strip() in asked - {""} for cell in cells):
        return True
    found = has_header(cells, rows)
    return any(map(fields.is_known, cells)) if found is None else found
