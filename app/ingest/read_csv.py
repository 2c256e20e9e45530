"""Tables of texts: .csv and .tsv, with or without a line of column names."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from app.ingest import count_tables, fields, files, separated, tables
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.roles import find_roles
from app.ingest.separated import Layout, find_layout, read_rows
from app.ingest.source import TextSource

NAME = "csv"
DESCRIPTION = "table of texts: NAME.csv or NAME.tsv, one document a row, or a folder with train.csv and test.csv"
ACCEPTS = (
    "text_column", "title_column", "label_column", "split_column", "header", "skip_lines", "separator", "quote",
    "token_pattern",
)  # fmt: skip

_COUNTS = (
    "is a table of documents, words and counts; leave --format csv out to read it as counts, or name a column of texts "
    "with --text-column"
)
_ONLY_WORDS = (
    "has a word and a number in each row, which are the counts of one document; give a table of documents, words and "
    "counts, named with --format triples, or the texts themselves"
)


def recognises(path: Path) -> bool:
    """By the ending of the name, or a .txt by its first lines, unless it is one of counts; a folder by its files."""
    if path.is_dir():
        return bool(files.listed(path, _belongs))
    return separated.is_separated(path) and tables.find_counts(path) is None


def _belongs(path: Path) -> bool:
    """Return whether a file of a folder is a table of texts; the .txt of a folder are texts."""
    return files.suffix(path) in separated.ENDINGS and recognises(path)


def read(path: Path, options: ImportOptions) -> TextSource:
    """The rows of a table as documents; words of the title count too."""
    parts = files.parts(path, _belongs, "csv", several=True)
    first = parts[0].path
    layout = find_layout(first, options)
    sample = [record for _, record in islice(_records(first, layout, options), separated.SAMPLE)]
    if not sample:
        cause = "has no documents below its line of column names; add rows, or say that it has no such line"
        raise IngestError(first, cause)
    rows = [list(record.values()) for record in sample]
    if options.text_column is None and layout.names.header:
        _refuse_counts(first, layout.names.names, rows)
    guesses = layout.guesses()
    if not layout.names.header and _look_like_counts(rows):
        guesses.insert(0, "rows are read as texts, though they look like document, word and count: --format triples")
    roles = find_roles(sample, options, first, named=layout.names.header)
    source = fields.source(
        path,
        parts,
        roles,
        lambda file: _records(file, layout, options),
        options,
        header=layout.names.header,
        guesses=guesses,
    )
    source.understood.update(layout.understood())
    source.notes.extend(layout.notes())
    return source


def _records(path: Path, layout: Layout, options: ImportOptions) -> Iterator[tuple[int, dict[str, str]]]:
    """Return line and cells by column of every row."""
    names = layout.names.names
    for line, row in read_rows(path, layout, options):
        yield line, dict(zip(names, row, strict=True))


def _refuse_counts(path: Path, names: Sequence[str], rows: list[list[str]]) -> None:
    """Refuse a table of words and counts as one of texts."""
    if count_tables.find_places(names, rows) is not None:
        raise IngestError(path, _COUNTS)
    if count_tables.is_list_of_words(names, rows):
        raise IngestError(path, _ONLY_WORDS)


def _look_like_counts(rows: list[list[str]]) -> bool:
    """Return whether rows without names are a document, a word and a count."""
    return len(rows[0]) == len(_TRIPLE) and count_tables.find_places(_TRIPLE, rows) is not None


_TRIPLE = ("document", "word", "count")
