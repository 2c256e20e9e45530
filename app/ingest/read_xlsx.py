"""Excel workbooks: the first sheet with cells is a table of texts, one document a row."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from app.ingest import fields, files, tables, workbooks
from app.ingest.columns import Names
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.roles import find_roles
from app.ingest.source import TextSource

NAME = "xlsx"
DESCRIPTION = "Excel: NAME.xlsx, one document a row of its first sheet, columns as in csv"
ACCEPTS = ("text_column", "title_column", "label_column", "split_column", "header", "skip_lines", "token_pattern")


def recognises(path: Path) -> bool:
    """By the ending of the name, but not what Excel keeps while it is open, nor counts; a folder by its files."""
    if path.is_dir():
        return bool(files.listed(path, recognises))
    if files.suffix(path) not in tables.WORKBOOKS or path.name.startswith("~$"):
        return False
    return tables.find_counts(path) is None


def read(path: Path, options: ImportOptions) -> TextSource:
    """The rows as documents; words of the title count too."""
    parts = files.parts(path, recognises, "xlsx", several=True)
    first = parts[0].path
    named = workbooks.find_names(first, options)
    sample = [record for _, record in islice(_records(first, named, options), workbooks.SAMPLE)]
    if not sample:
        raise IngestError(first, "has no documents below its line of column names; add rows, or use --header no")
    roles = find_roles(sample, options, first, named=named.header)
    source = fields.source(
        path,
        parts,
        roles,
        lambda file: _records(file, named, options),
        options,
        header=named.header,
        encoded=False,
        guesses=[named.guess] if named.guess else [],
    )
    sheet = workbooks.look_at(first)
    source.understood.update({"sheet": sheet.name, "header": named.understood})
    source.notes.extend(named.notes)
    if sheet.others:
        others = ", ".join(sheet.others)[:80]
        source.notes.append(f"only the sheet {sheet.name!r} is read; the others ({others}) are left out")
    return source


def _records(path: Path, named: Names, options: ImportOptions) -> Iterator[tuple[int, dict[str, str]]]:
    """Return line and cells by column of every row."""
    for line, cells in workbooks.read_rows(path, named, options):
        yield line, dict(zip(named.names, cells, strict=True))
