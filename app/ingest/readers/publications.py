"""Records of publications as documents: the abstract is the text, and a column of few values the label."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from topiary.app.ingest import files
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.source import COLUMNS, GUESS, TextDocument, TextSource
from topiary.app.ingest.tables.records import make_text_source
from topiary.app.ingest.tables.roles import Roles

RECORDS_ACCEPTS = (*COLUMNS, "token_pattern")
ABSTRACT, TITLE = "abstract", "title"
SEVERAL = "; "  # joins the values of a field that has several

_SAMPLE = 500  # records from which the label is chosen
_LONGEST = 200  # characters of a value in the sample
_MOST_CLASSES = 50  # different values of a column that may be the label
_MOST_NAMES = 8  # columns in a sentence

TextRecord = Mapping[str, str]
RecordReading = Callable[[Path], Iterator[tuple[int, dict[str, str]]]]


def make_record_source(
    path: Path,
    paths: Sequence[Path],
    read: RecordReading,
    options: ImportOptions,
    labels: Sequence[str],
    *,
    text: str = ABSTRACT,
    encoded: bool = True,
    what: str = ABSTRACT,
    notes: Sequence[str] = (),
) -> TextSource:
    """Return a source of records as documents; records without a text keep their title, and a note counts them.

    Parameters
    ----------
    path : Path
        The path given by the user: the file, or the folder of all files.
    read : callable
        Yields the line and the fields of each record of a file.
    labels : sequence of str
        Fields that may be the label, the best first.
    text : str
        The field of the text.
    encoded : bool
        Whether the files are plain text, whose encoding may be a guess.
    what : str
        Name of the text in sentences.
    notes : sequence of str
        Sentences about the files, which may be added while they are read.

    Raises
    ------
    IngestError
        If there is no record, or a column of the options does not exist.
    """
    all_records = (record for file in paths for _, record in read(file))
    sample = [{name: value[:_LONGEST] for name, value in record.items()} for record in islice(all_records, _SAMPLE)]
    if not sample:
        raise IngestError(paths[0], "has no records in it; is it the right file?")
    names = list(dict.fromkeys(name for record in sample for name in record))
    columns = None if options.text_column is None else tuple(each.strip() for each in options.text_column.split(","))
    for name in (*(columns or ()), options.title_column, options.label_column, options.split_column):
        if name is not None and name not in names:
            existing = ", ".join(names[:_MOST_NAMES])
            raise IngestError(
                paths[0], f"has no column {name!r}; it has {existing}{' …' if len(names) > _MOST_NAMES else ''}"
            )
    label = options.label_column or _choose_label(sample, labels)
    texts = columns or (text,)
    title = options.title_column or TITLE
    roles = Roles(text=texts, title=title, label=label, split=options.split_column, identity=None)
    with_text: Counter[bool] = Counter()

    def records(file: Path) -> Iterator[tuple[int, dict[str, str]]]:
        for line, record in read(file):
            with_text[any(record.get(name) for name in texts)] += 1
            yield line, {name: record.get(name, "") for name in (*texts, TITLE)} | record

    parts = [files.Part(file, None) for file in paths]
    source = make_text_source(path, parts, roles, records, options, encoded=encoded)

    def documents() -> Iterator[TextDocument]:
        with_text.clear()
        yield from source.documents()
        sentences = [_note_missing_texts(with_text, what), *notes]
        source.notes.extend(note for note in sentences if note and note not in source.notes)

    if path.is_dir():
        folder_files = [file for file in path.rglob("*") if file.is_file() and not file.name.startswith(".")]
        if others := [file for file in folder_files if file not in paths]:
            source.notes.append(f"left out what is of another format: {files.describe_kinds(others)}")
    if label is not None and options.label_column is None:
        source.understood[GUESS] = f"the label is {label!r} (--label-column names another)"
    return replace(source, documents=documents)


def _note_missing_texts(with_text: Mapping[bool, int], text_name: str) -> str:
    """Return a sentence about records without a text; empty if all have one."""
    if not with_text[False]:
        return ""
    subject = "1 record has" if with_text[False] == 1 else f"{with_text[False]:,} records have"
    total = sum(with_text.values())
    return f"{subject} no {text_name}, of {total:,}; only the words of the title are counted there"


def _choose_label(sample: Sequence[TextRecord], labels: Sequence[str]) -> str | None:
    """Return the first of some fields that most records have, with a single one of few values; None if none is."""
    for name in labels:
        values = [value for record in sample if (value := record.get(name, "").strip())]
        n_different = len(set(values))
        are_single = not any(SEVERAL in value for value in values)
        are_few = 1 < n_different <= min(_MOST_CLASSES, max(2, len(values) // 3))
        if are_single and are_few and 2 * len(values) > len(sample):
            return name
    return None
