"""Tables of texts: .csv and .tsv, with or without a line of column names."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from app.ingest import fields, files, read_triples
from app.ingest.cells import Writing, rows, writing
from app.ingest.errors import IngestError
from app.ingest.headers import has_header
from app.ingest.options import ImportOptions
from app.ingest.source import TextSource

NAME = "csv"
DESCRIPTION = "table of texts: NAME.csv or NAME.tsv (.gz), one document a row, or a folder with train.csv and test.csv"
ACCEPTS = ("text_column", "title_column", "label_column", "split_column", "header", "token_pattern")

_SAMPLE = 200


class Layout(NamedTuple):
    """How the cells of a table are written, and what its columns are called."""

    writing: Writing
    header: bool
    names: tuple[str, ...]


def recognises(path: Path) -> bool:
    """By the ending of the name, unless it is a table of counts; a folder by the files in it."""
    if path.is_dir():
        return bool(files.listed(path, recognises))
    is_table = files.suffix(path) in (".csv", ".tsv") and not path.name.startswith("titles.")
    return is_table and not read_triples.recognises(path)


def read(path: Path, options: ImportOptions) -> TextSource:
    """The rows of a table as documents; words of the title count too."""
    parts = files.parts(path, recognises, "csv")
    layout = _layout(parts[0].path, options)
    sample = [record for _, record in islice(_records(parts[0].path, layout, options), _SAMPLE)]
    if not sample:
        raise IngestError(
            parts[0].path, "has no documents below its line of column names; add rows, or say that it has no such line"
        )
    roles = fields.find_roles(sample, options, parts[0].path, named=layout.header)
    return fields.source(
        path, parts, roles, lambda file: _records(file, layout, options), options, header=layout.header
    )


def _records(path: Path, layout: Layout, options: ImportOptions) -> Iterator[tuple[int, dict[str, str]]]:
    """Line and cells by column of every row, lines of nothing left out."""
    found = rows(path, layout.writing, options.encoding)
    if layout.header:
        next(found, None)
    for line, row in found:
        if len(row) != len(layout.names):
            cause = f"has {_plural(len(row), 'column')}, but line 1 has {len(layout.names)}"
            raise IngestError(path, cause, line)
        yield line, dict(zip(layout.names, row, strict=True))


def _layout(path: Path, options: ImportOptions) -> Layout:
    how = writing(path, options.encoding)
    sample = [cells for _, cells in islice(rows(path, how, options.encoding), _SAMPLE + 1)]
    cells = sample[0]
    header = _has_header(cells, sample[1:], options)
    names = tuple(cell.strip() for cell in cells) if header else tuple(str(n) for n in range(1, len(cells) + 1))
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise IngestError(path, f"names the column {sorted(repeated)[0]!r} twice", 1)
    return Layout(how, header, names)


def _has_header(cells: list[str], rows: list[list[str]], options: ImportOptions) -> bool:
    if options.header != "auto":
        return options.header == "yes"
    asked = {options.title_column, options.label_column, options.split_column, *(options.text_column or "").split(",")}
    if any(cell.strip() in asked - {""} for cell in cells):
        return True
    found = has_header(cells, rows)
    return any(map(fields.is_known, cells)) if found is None else found


def _plural(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
