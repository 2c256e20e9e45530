"""Typed columns of corpora: stored with the documents, for refined corpora, and as another kind."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import isnan

from topiary.app.ingest.report import load_report
from topiary.app.ingest.source import Array, Progress
from topiary.app.ingest.tables.values import (
    LONGEST_LEVEL,
    MOST_COLUMNS,
    MOST_LEVELS,
    NO_DATE,
    ChosenKind,
    ColumnProfiles,
    is_missing,
    parse_moment,
    parse_number,
    profile_texts,
)
from topiary.store import columns, corpora
from topiary.store.corpus_rows import (
    CATEGORY,
    DATE,
    DOCUMENTS_PER_BLOCK,
    KINDS,
    LABEL,
    NUMBER,
    ColumnBlock,
    CorpusColumn,
    CorpusRow,
    make_missing,
)
from topiary.store.database import Database

_LONGEST_EXAMPLE = 40  # characters of a text in a note


class KindError(ValueError):
    """An error for a column that cannot become a kind; the message says why."""


class _ValueReader:
    """A reader of the texts of one column, which fills blocks of values.

    Parameters
    ----------
    column : CorpusColumn
        The column, with the sizes and categories that it has already.
    first : int
        Number of the first document to be read.
    """

    def __init__(self, column: CorpusColumn, first: int) -> None:
        self.column = column
        self.example = ""  # the first text that is no value
        self.new_invalid = 0
        self._levels = {level: number for number, level in enumerate(column.levels)}
        self._filled = 0
        self._first, self._n = first, 0
        self._buffer = make_missing(column.kind, DOCUMENTS_PER_BLOCK) if column.has_values else None

    def add(self, text: str | None) -> ColumnBlock | None:
        """Read the text of the next document; return a block when one is full."""
        text = "" if text is None else text.strip()
        if text and not is_missing(text):
            self._set_value(text)
        self._n += 1
        return self.take_block() if self._n == DOCUMENTS_PER_BLOCK else None

    def take_block(self) -> ColumnBlock | None:
        """Return the values since the last block; None if there are none."""
        n, self._n = self._n, 0
        self._first += n
        if self._buffer is None or n == 0:
            return None
        values, self._buffer = self._buffer[:n], make_missing(self.column.kind, DOCUMENTS_PER_BLOCK)
        return ColumnBlock(self.column.place, self._first - n, values)

    def finish(self) -> CorpusColumn:
        """Return the column with its sizes and categories after the last document."""
        return replace(
            self.column,
            levels=tuple(self._levels),
            documents=self._first + self._n,
            filled=self.column.filled + self._filled,
            invalid=self.column.invalid + self.new_invalid,
        )

    def _set_value(self, text: str) -> None:
        """Set the value of the next document, or count its text as invalid."""
        if self._buffer is None:
            self._filled += 1
            return
        value = self._parse(text)
        if value is None:
            self.new_invalid += 1
            self.example = self.example or text[:_LONGEST_EXAMPLE]
            return
        self._filled += 1
        self._buffer[self._n] = value

    def _parse(self, text: str) -> float | int | None:
        """Return the value that a text stands for; None if it is no value of the kind."""
        if self.column.kind == NUMBER:
            number = parse_number(text, self.column.notation)
            return None if isnan(number) else number
        if self.column.kind == DATE:
            moment = parse_moment(text, self.column.notation)
            return None if moment == NO_DATE else moment
        level = self._levels.get(text)
        if level is None and len(self._levels) < MOST_LEVELS and len(text) <= LONGEST_LEVEL:
            level = self._levels[text] = len(self._levels)
        return level


class ValueWriter:
    """A writer of the values of all columns of consecutive documents, which yields blocks for the store.

    Parameters
    ----------
    chosen : mapping of str to ChosenKind
        Kinds of columns by name; those that are there already keep theirs.
    first : int
        Number of the first document.
    before : sequence of CorpusColumn
        The columns of the documents before it.
    """

    def __init__(self, chosen: Mapping[str, ChosenKind], first: int = 0, before: Sequence[CorpusColumn] = ()) -> None:
        names = {each.name for each in before}
        place = max((each.place for each in before), default=-1) + 1
        new = [(name, kind) for name, kind in chosen.items() if name not in names][: MOST_COLUMNS - len(before)]
        added = [
            CorpusColumn(number, name, each.kind, each.levels, notation=each.notation)
            for number, (name, each) in enumerate(new, place)
        ]
        self._readers = [_ValueReader(column, first) for column in (*before, *added)]
        self._missing = [
            ColumnBlock(each.place, 0, make_missing(each.kind, first)) for each in added if each.has_values and first
        ]

    def add(self, rows: Sequence[Mapping[str, str]]) -> Iterator[ColumnBlock]:
        """Read the columns of the next documents; yield the blocks that are full."""
        yield from self._missing
        self._missing = []
        for reader in self._readers:
            name = reader.column.name
            for row in rows:
                block = reader.add(row.get(name))
                if block is not None:
                    yield block

    def finish(self) -> Iterator[ColumnBlock]:
        """Yield the last blocks."""
        yield from (block for reader in self._readers if (block := reader.take_block()) is not None)

    def list_columns(self) -> tuple[CorpusColumn, ...]:
        """Return the columns, after the last block."""
        return tuple(reader.finish() for reader in self._readers)

    def list_notes(self) -> list[str]:
        """Return sentences about texts that are no values of the kind of their column."""
        return [
            f"{describe_invalid(reader.column, reader.new_invalid)}, such as {reader.example!r}"
            for reader in self._readers
            if reader.new_invalid
        ]


def describe_invalid(column: CorpusColumn, invalid: int) -> str:
    """Describe in a clause how many texts of a column, at least one, are no values of its kind."""
    if invalid == 1:
        return f"1 text of column {column.name!r} is no {column.kind} and counts as missing"
    plural = {CATEGORY: "categories"}.get(column.kind, f"{column.kind}s")
    return f"{invalid:,} texts of column {column.name!r} are no {plural} and count as missing"


def ensure_columns(db: Database, corpus: CorpusRow, progress: Progress | None = None) -> tuple[CorpusColumn, ...]:
    """Return the columns of a corpus, its label first; type those of a refined corpus before.

    Typing reads all texts of the corpus twice, and stores the values in one transaction.  Kinds that were chosen
    earlier are kept.

    Parameters
    ----------
    db : Database
        Open for writing, unless the columns are typed.
    corpus : CorpusRow
    progress : callable, optional
        Called with the current activity and the share of it that is done.

    Raises
    ------
    store.errors.Conflict
        If documents are appended meanwhile.
    """
    if not columns.is_typed(corpus):
        current = corpora.get_corpus(db, corpus.number)  # it may be typed by now, or have more documents
        if not columns.is_typed(current):
            _type_columns(db, current, progress)
    return list_columns(db, corpus)


def _type_columns(db: Database, corpus: CorpusRow, progress: Progress | None) -> None:
    """Find the kinds of all columns of a corpus that is stored, and store their values."""
    profiles = ColumnProfiles()
    for rows in _read_rows(db, corpus, progress, "Finding the kinds of columns"):
        for row in rows:
            profiles.add(row)
    known = [each for each in columns.list_columns(db, corpus) if each.place != LABEL]
    before = [replace(each, documents=0, filled=0, invalid=0) for each in known]
    writer, blocks = ValueWriter(profiles.choose_kinds(), 0, before), list[ColumnBlock]()
    for rows in _read_rows(db, corpus, progress, "Reading columns"):
        blocks += writer.add(rows)
    blocks += writer.finish()
    columns.replace_columns(db, corpus, writer.list_columns(), blocks)


def list_columns(db: Database, corpus: CorpusRow) -> tuple[CorpusColumn, ...]:
    """Return the columns that are typed, after the label, which has the name of the column that it was read from."""
    report = load_report(corpus.meta)
    named = (each.name for each in report.columns if each.role == "label") if report is not None else iter(())
    return columns.list_columns(db, corpus, next(named, "label"))


def change_kind(db: Database, corpus: CorpusRow, name: str, kind: str) -> CorpusColumn:
    """Change the kind of a column, whose texts are read again, and return the column.

    Raises
    ------
    KindError
        If there is no such kind, if no text of the column is a value of it, or if there are too many categories.
    store.errors.NotFound
        If there is no such column.
    store.errors.Conflict
        If documents are appended meanwhile.
    """
    if kind not in KINDS:
        raise KindError(f"a column is of kind {', '.join(KINDS)}, and not {kind!r}")
    column = columns.find_column(ensure_columns(db, corpus), name)
    corpus = corpora.get_corpus(db, corpus.number)
    if column.place == LABEL:
        raise KindError(f"column {column.name!r} is the label of the documents, which is always a category")
    texts = columns.read_texts(db, corpus, column.name)
    chosen = profile_texts(column.name, texts).read_as(kind)
    if chosen is None:
        raise KindError(_explain_unfit(column, kind, texts))
    reader = _ValueReader(CorpusColumn(column.place, column.name, kind, chosen.levels, notation=chosen.notation), 0)
    blocks = [block for text in texts if (block := reader.add(text)) is not None]
    last = reader.take_block()
    changed = reader.finish()
    columns.change_column(db, corpus, changed, blocks if last is None else [*blocks, last])
    return changed


def read_values(db: Database, corpus: CorpusRow, column: CorpusColumn) -> Array:
    """Return the values of a column for all documents, with dates as ``datetime64[ms]`` and NaT for missing ones.

    Other kinds are as in `store.columns.read_column`.
    """
    values = columns.read_column(db, corpus, column)
    return values.view("datetime64[ms]") if column.kind == DATE else values


def _explain_unfit(column: CorpusColumn, kind: str, texts: Sequence[str]) -> str:
    """Explain why a column cannot be of a kind."""
    if kind == CATEGORY:
        limits = f"at most {MOST_LEVELS:,} categories of at most {LONGEST_LEVEL} characters"
        return f"column {column.name!r} cannot be of kind {kind}: there can be {limits}, and it has more or longer ones"
    example = next((text.strip() for text in texts if text.strip()), "")
    found = f"its first text is {example[:_LONGEST_EXAMPLE]!r}" if example else "it is empty"
    return f"column {column.name!r} cannot be of kind {kind}: none of its texts is a {kind}; {found}"


def _read_rows(
    db: Database, corpus: CorpusRow, progress: Progress | None, activity: str
) -> Iterator[list[dict[str, str]]]:
    """Yield the columns of the documents of a corpus by blocks, and report progress."""
    done = 0
    for rows in columns.iterate_rows(db, corpus):
        yield rows
        done += len(rows)
        if progress is not None:
            progress(f"{activity}: {done:,} documents", done / corpus.documents)
