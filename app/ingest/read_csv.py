"""Tables of texts: .csv and .tsv, with or without a line of column names."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from app.ingest import columns, fields, files, read_triples
from app.ingest.cells import ADVICE, Writing, rows, writing
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.source import TextSource

NAME = "csv"
DESCRIPTION = "table of texts: NAME.csv or NAME.tsv, one document a row, or a folder with train.csv and test.csv"
ACCEPTS = (
    "text_column", "title_column", "label_column", "split_column", "header", "separator", "quote", "token_pattern",
)  # fmt: skip

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
    parts = files.parts(path, recognises, "csv", several=True)
    layout = _layout(parts[0].path, options)
    sample = [record for _, record in islice(_records(parts[0].path, layout, options), _SAMPLE)]
    if not sample:
        raise IngestError(
            parts[0].path, "has no documents below its line of column names; add rows, or say that it has no such line"
        )
    roles = fields.find_roles(sample, options, parts[0].path, named=layout.header)
    source = fields.source(
        path, parts, roles, lambda file: _records(file, layout, options), options, header=layout.header
    )
    source.understood.update(layout.writing.understood())
    source.understood["header"] = "the first line" if layout.header else "none"
    if layout.writing.doubt:
        taken, others = layout.writing.separator, layout.writing.doubt
        source.notes.append(
            f"cells are taken to be separated by {taken}, though {others} would fit too (change it with --separator)"
        )
    return source


def _records(path: Path, layout: Layout, options: ImportOptions) -> Iterator[tuple[int, dict[str, str]]]:
    """Line and cells by column of every row, lines of nothing left out."""
    found = rows(path, layout.writing, options.encoding)
    if layout.header:
        _check_names(path, next(found, (1, []))[1], layout)
    for line, row in found:
        if len(row) != len(layout.names):
            cause = f"has {_plural(len(row), 'column')}, but line 1 has {len(layout.names)}"
            cause += f", separated by {layout.writing.separator}; {ADVICE}"
            raise IngestError(path, cause, line)
        yield line, dict(zip(layout.names, row, strict=True))


def _check_names(path: Path, cells: list[str], layout: Layout) -> None:
    """Refuse a file beside the first one that calls its columns otherwise."""
    names = columns.called(cells)
    if names != layout.names:
        cause = f"has the columns {', '.join(names)[:80]!r}, but the file before it {', '.join(layout.names)[:80]!r}"
        raise IngestError(path, f"{cause}; import them one by one, or give all the same columns", 1)


def _layout(path: Path, options: ImportOptions) -> Layout:
    how = writing(path, options, fields.is_known)
    sample = [cells for _, cells in islice(rows(path, how, options.encoding), _SAMPLE + 1)]
    names, header = columns.names_of(sample, options, path)
    return Layout(how, header, names)


def _plural(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
