"""Readers of records in text files: RIS, EndNote, BibTeX, Web of Science, MEDLINE, and texts of IRaMuTeQ."""

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from bibtexparser.entrypoint import parse_string
from bibtexparser.model import Entry, ParsingFailedBlock

from topiary.app.ingest import packing
from topiary.app.ingest.errors import IngestError, list_some, plural
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.readers.markup import strip_commands
from topiary.app.ingest.source import COLUMNS, GUESS, Reader, TextDocument, TextSource
from topiary.app.ingest.tables import sniff
from topiary.app.ingest.tables.roles import Roles, find_roles, make_text_source
from topiary.app.ingest.tables.sniff import STARS, recognise_kinds

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
            raise IngestError(paths[0], f"has no column {name!r}; it has {list_some(names, _MOST_NAMES)}")
    label = options.label_column or _choose_label(sample, labels)
    texts = columns or (text,)
    title = options.title_column or TITLE
    roles = Roles(text=texts, title=title, label=label, split=options.split_column, identity=None)
    with_text: Counter[bool] = Counter()

    def records(file: Path) -> Iterator[tuple[int, dict[str, str]]]:
        for line, record in read(file):
            with_text[any(record.get(name) for name in texts)] += 1
            yield line, {name: record.get(name, "") for name in (*texts, TITLE)} | record

    parts = [packing.Part(file, None) for file in paths]
    source = make_text_source(path, parts, roles, records, options, encoded=encoded)

    def documents() -> Iterator[TextDocument]:
        with_text.clear()
        yield from source.documents()
        sentences = [_note_missing_texts(with_text, what), *notes]
        source.notes.extend(note for note in sentences if note and note not in source.notes)

    source.notes.extend(packing.note_others(path, paths, "what is of another format"))
    if label is not None and options.label_column is None:
        source.understood[GUESS] = f"the label is {label!r} (--label-column names another)"
    return replace(source, documents=documents)


def _note_missing_texts(with_text: Mapping[bool, int], text_name: str) -> str:
    """Return a sentence about records without a text; empty if all have one."""
    if not with_text[False]:
        return ""
    subject = plural(with_text[False], "record has", "records have")
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


_YEAR = re.compile(r"(?<![0-9])(?:1[0-9]{3}|20[0-9]{2})(?![0-9])")
_GAP = re.compile(r"\s+")
_VALUE_END = re.compile(r"\s*(?:/+|\[doi\])$")  # what follows dates in RIS, and identifiers in MEDLINE


class TagFormat(NamedTuple):
    """A format of records whose fields are marked by tags.

    Attributes
    ----------
    line : pattern
        Matches a line with a tag; its groups are the tag and the value.
    begins : frozenset of str
        Tags with which a record begins.
    ends : frozenset of str
        Tags with which a record ends.
    names : mapping of str to str
        The column of each tag; lines with other tags are left out.
    paragraphs : frozenset of str
        Columns whose lines form one text; in other columns each line is a value.
    labels : tuple of str
        Columns that may be the label, the best first.
    blank_ends : bool
        Whether an empty line ends a record.
    """

    line: re.Pattern[str]
    begins: frozenset[str]
    ends: frozenset[str]
    names: Mapping[str, str]
    paragraphs: frozenset[str]
    labels: tuple[str, ...]
    blank_ends: bool = False


class _TaggedDraft:
    """A record being read, and the line on which it begins."""

    def __init__(self, line: int) -> None:
        self.line, self.size = line, 0
        self.found: dict[str, list[str]] = {}

    def add(self, name: str, text: str, *, goes_on: bool) -> None:
        """Add a value, or a line that continues the last one."""
        values = self.found.setdefault(name, [])
        self.size += len(text) + 1
        if goes_on and values:
            values[-1] += f" {text}"
        else:
            values.append(text)


def _read_tagged(path: Path, tags: TagFormat, encoding: str) -> Iterator[tuple[int, dict[str, list[str]]]]:
    """Yield the line and the values by column of every record of a file."""
    draft: _TaggedDraft | None = None
    name = ""
    for line, text in packing.read_lines(path, encoding):
        tagged = tags.line.match(text)
        tag, value = (tagged[1], (tagged[2] or "").strip()) if tagged else ("", "")
        if draft is not None and (tag in tags.begins or tag in tags.ends or (tags.blank_ends and not text.strip())):
            yield draft.line, draft.found
            draft, name = None, ""
        if tagged is None:
            if draft is not None and name and text.strip():
                draft.add(name, text.strip(), goes_on=name in tags.paragraphs)
        elif tag not in tags.ends:
            if draft is None:
                draft = _TaggedDraft(line)
            name = tags.names.get(tag, "")
            if name and value:
                draft.add(name, value, goes_on=False)
        if draft is not None and draft.size > packing.LARGEST_TEXT:
            cause = f"has a record of more than {packing.LARGEST_TEXT >> 20} MB; is a line missing that ends it?"
            raise IngestError(path, cause, draft.line)
    if draft is not None:
        yield draft.line, draft.found


def _tidy_fields(fields: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the fields of a record as texts, with its year, and without abstracts repeated within others."""
    record: dict[str, str] = {}
    for name, values in fields.items():
        unique = [_GAP.sub(" ", value).strip() for value in dict.fromkeys(values)]
        if name == ABSTRACT:
            record[name] = _join_abstracts(unique)
        elif name in _SINGLE_VALUED:
            record[name] = unique[0]
        else:
            record[name] = SEVERAL.join(filter(None, unique))
    if year := _YEAR.search(record.get("year") or record.get("date", "")):
        record["year"] = year[0]
    return {name: text for name, value in record.items() if (text := _VALUE_END.sub("", value))}


# Fields of which only the first value is used.
_SINGLE_VALUED = (TITLE, "year", "date", "journal", "type", "id", "doi", "language")


def _join_abstracts(abstracts: Sequence[str]) -> str:
    """Join several abstracts, or paragraphs of one, without those contained in others."""
    distinct = [each for each in abstracts if not any(each in other and each != other for other in abstracts)]
    return "\n\n".join(distinct)


def decode_value(value: str) -> str:
    r"""Return the value of a field without LaTeX commands, on one line.

    >>> decode_value(r"Erd{\H{o}}s \& {Bj{\"o}rk}: {\em caf{\'e}}s")
    'Erdős & Björk: cafés'
    """
    plain = strip_commands(value) if any(mark in value for mark in "\\{$~") else value
    return " ".join(plain.split())


_RIS = TagFormat(
    line=re.compile(r"\s?([A-Z][A-Z0-9]) {1,2}-(?: |$)(.*)"),
    begins=frozenset(["TY"]),
    ends=frozenset(["ER"]),
    names={
        "TY": "type", "TI": TITLE, "T1": TITLE, "CT": TITLE, "BT": TITLE, "AB": ABSTRACT, "N2": ABSTRACT,
        "AU": "authors", "A1": "authors", "PY": "year", "Y1": "year", "DA": "date", "JO": "journal", "JF": "journal",
        "T2": "journal", "JA": "journal", "J2": "journal", "KW": "keywords", "DO": "doi", "UR": "url", "LA": "language",
        "PB": "publisher", "ID": "id", "AN": "id", "DB": "database",
    },
    paragraphs=frozenset([TITLE, ABSTRACT, "journal", "url"]),
    labels=("type", "journal", "keywords", "database", "language"),
)  # fmt: skip
_ENDNOTE = TagFormat(
    line=re.compile(r"%([0-9A-Za-z@!$&(+*<>^~]) (.*)"),
    begins=frozenset(["0"]),
    ends=frozenset(),
    names={
        "0": "type", "T": TITLE, "X": ABSTRACT, "A": "authors", "D": "year", "8": "date", "J": "journal",
        "B": "journal", "K": "keywords", "R": "doi", "U": "url", "G": "language", "I": "publisher", "M": "id",
        "W": "database",
    },
    paragraphs=frozenset([TITLE, ABSTRACT, "journal", "url"]),
    labels=_RIS.labels,
)  # fmt: skip
_WOS = TagFormat(
    line=re.compile(r"([A-Z][A-Z0-9])(?: (.*)|\s*$)"),
    begins=frozenset(["PT"]),
    ends=frozenset(["ER", "EF", "FN", "VR"]),
    names={
        "DT": "type", "TI": TITLE, "AB": ABSTRACT, "AU": "authors", "PY": "year", "PD": "date", "SO": "journal",
        "DE": "keywords", "ID": "keywords plus", "WC": "category", "SC": "research area", "LA": "language", "DI": "doi",
        "UT": "id", "TC": "times cited",
    },
    paragraphs=frozenset(
        [TITLE, ABSTRACT, "type", "journal", "keywords", "keywords plus", "category", "research area"]
    ),
    labels=("type", "journal", "category", "research area", "language"),
)  # fmt: skip
_MEDLINE = TagFormat(
    line=re.compile(r"([A-Z][A-Z0-9]{1,3}) {0,2}- (.*)"),
    begins=frozenset(["PMID"]),
    ends=frozenset(),
    names={
        "PMID": "id", "TI": TITLE, "BTI": TITLE, "AB": ABSTRACT, "OAB": ABSTRACT, "AU": "authors", "DP": "date",
        "JT": "journal", "SO": "source", "PT": "type", "MH": "subjects", "OT": "keywords", "LA": "language",
        "LID": "doi", "UR": "url",
    },
    paragraphs=frozenset([TITLE, ABSTRACT, "journal", "source"]),
    labels=("type", "journal", "language"),
    blank_ends=True,
)  # fmt: skip
_TAGS = {"ris": _RIS, "endnote": _ENDNOTE, "wos": _WOS, "medline": _MEDLINE}


def make_tag_reader(*kinds: str) -> Callable[[Path, ImportOptions], TextSource]:
    """Return a function that reads records in some of the tagged formats; words of the title are counted too."""

    def read(path: Path, options: ImportOptions) -> TextSource:
        def read_file(file: Path) -> Iterator[tuple[int, dict[str, str]]]:
            kind = sniff.find_kind(file)
            records = _read_tagged(file, _TAGS[kind if kind in kinds else kinds[0]], options.encoding)
            return ((line, record) for line, values in records if (record := _tidy_fields(values)))

        paths = sniff.list_files(path, kinds)
        return make_record_source(path, paths, read_file, options, _TAGS[kinds[0]].labels)

    return read


logging.getLogger("bibtexparser").setLevel(logging.CRITICAL)  # a note says what is damaged
_LARGEST = 1 << 28  # letters of a file, which is read as a whole
_BIBTEX_COLUMNS = {  # the fields for each column of a record, the best first
    TITLE: ("title", "booktitle"), ABSTRACT: ("abstract",), "authors": ("author", "editor"), "year": ("year", "date"),
    "date": ("date",), "journal": ("journal", "journaltitle", "booktitle"), "keywords": ("keywords", "keyword"),
    "doi": ("doi",), "url": ("url",), "language": ("language", "langid"), "publisher": ("publisher", "school"),
}  # fmt: skip
_BIBTEX_LABELS = ("type", "journal", "keywords", "language")
_VERBATIM_COLUMNS = ("doi", "url")  # columns whose LaTeX is not decoded
_AUTHOR_JOIN = re.compile(r"\s+and\s+")
_FOUR_DIGITS = re.compile(r"[0-9]{4}")
_KEYWORDS = re.compile(r"\s*[;,]\s*")


def read_bibtex(path: Path, options: ImportOptions) -> TextSource:
    """Read the entries as documents; words of the title are counted too."""
    paths = sniff.list_files(path, ("bibtex",))
    notes: list[str] = []
    read = partial(_read_bibtex_file, encoding=options.encoding, notes=notes)
    return make_record_source(path, paths, read, options, _BIBTEX_LABELS, notes=notes)


def _read_bibtex_file(path: Path, encoding: str, notes: list[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line and record of each entry of a file; note entries that are incomplete."""
    with packing.open_text(path, encoding) as stream:
        source = stream.read(_LARGEST + 1)
    if len(source) > _LARGEST:
        raise IngestError(path, f"is larger than {_LARGEST >> 20} MB, the most of one file of entries; divide it")
    damaged: list[int] = []
    for block in parse_string(source.removeprefix("\ufeff")).blocks:
        entry = block.ignore_error_block if isinstance(block, ParsingFailedBlock) else block
        line = (block.start_line or 0) + 1
        if isinstance(block, ParsingFailedBlock) and entry is None:  # else its key or a field is there twice
            damaged.append(line)
        if isinstance(entry, Entry) and entry.fields:
            record = _make_bibtex_record(entry)
            if sum(map(len, record.values())) > packing.LARGEST_TEXT:
                cause = f"has an entry of more than {packing.LARGEST_TEXT >> 20} MB; is a brace missing?"
                raise IngestError(path, cause, line)
            yield line, record
    if damaged:
        subject = plural(len(damaged), "entry is damaged", "entries are damaged")
        note = f"{subject}, as by a brace that never closes, and left out"
        notes.extend({f"{path.name}: {note} (line {damaged[0]:,})"}.difference(notes))


def _make_bibtex_record(entry: Entry) -> dict[str, str]:
    """Return the columns of an entry that are not empty."""
    record, fields = {"type": entry.entry_type.lower()}, dict[str, str]()
    for field in entry.fields:
        fields.setdefault(field.key.lower(), str(field.value))
    for name, sources in _BIBTEX_COLUMNS.items():
        value = next((fields[field] for field in sources if fields.get(field, "").strip()), "")
        if name == "authors":
            value = SEVERAL.join(decode_value(each) for each in _AUTHOR_JOIN.split(" ".join(value.split())) if each)
        elif name == "keywords":
            value = SEVERAL.join(filter(None, _KEYWORDS.split(decode_value(value))))
        elif name == "year":
            value = match[0] if (match := _FOUR_DIGITS.search(value)) else ""
        else:
            value = value.strip() if name in _VERBATIM_COLUMNS else decode_value(value)
        record[name] = value
    record["id"] = entry.key
    return {name: value for name, value in record.items() if value}


_RIS_FILES = "RIS: NAME.ris, NAME.enw or .txt, a record a document: the abstract is the text; a folder of them"
_WOS_FILES = (
    "Web of Science: savedrecs.txt or NAME.ciw, a record a document: the abstract is the text; a folder of them"
)
_MEDLINE_FILES = "MEDLINE: NAME.nbib or .txt of PubMed, a record a document: the abstract is the text; a folder of them"
_BIBTEX_FILES = "BibTeX: NAME.bib, an entry a document: the abstract is the text; a folder of them"

_THEME = "-*"  # begins a line with the theme of the text below it
_SAMPLED_TEXTS = 200  # texts by which the roles of the variables are found
_TEXT = "text"


def read_starred(path: Path, options: ImportOptions) -> TextSource:
    """Read the texts as documents, and the variables above them as columns."""
    paths = sniff.list_files(path, (STARS,))
    themes: Counter[str] = Counter()

    def records(file: Path) -> Iterator[tuple[int, dict[str, str]]]:
        return _read_texts(file, options.encoding, themes)

    sample = [record for _, record in islice(chain.from_iterable(map(records, paths)), _SAMPLED_TEXTS)]
    if not sample:
        raise IngestError(paths[0], "has no line of stars such as '**** *id_1 *year_2001', which begins every text")
    parts = [packing.Part(file, None) for file in paths]
    usual = [name for name in sample[0] if name != _TEXT]
    roles = find_roles(sample, replace(options, text_column=options.text_column or _TEXT), paths[0])
    source = make_text_source(path, parts, roles, records, options, usual=usual)

    def documents() -> Iterator[TextDocument]:
        themes.clear()
        yield from source.documents()
        note = f"left out of the texts: {themes.total():,} lines that begin with {_THEME} and name a theme"
        if themes and note not in source.notes:
            source.notes.append(note)

    return replace(source, documents=documents)


def _read_texts(path: Path, encoding: str, themes: Counter[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the variables and the text below each line of stars, and the number of that line."""
    variables: dict[str, str] | None = None
    lines: list[str] = []
    first_line = size = 0
    for line, text in packing.read_lines(path, encoding):
        if sniff.is_star_line(text):
            if variables is not None:
                yield first_line, {**variables, _TEXT: "\n".join(lines).strip()}
            variables, lines, first_line, size = _read_variables(text), [], line, 0
        elif text.startswith(_THEME):
            themes[text.strip()] += 1
        elif variables is not None:
            lines.append(text)
            size += len(text)
            packing.check_length(size, path, line)
        elif text.strip():
            raise IngestError(path, "is above the first line of stars, which begins a text", line)
    if variables is not None:
        yield first_line, {**variables, _TEXT: "\n".join(lines).strip()}


def _read_variables(line: str) -> dict[str, str]:
    """Return the variables of a line of stars; one without a value is there or not.

    >>> _read_variables("**** *id_1 *theme_deep_sea *letter")
    {'id': '1', 'theme': 'deep_sea', 'letter': 'yes'}
    """
    variables: dict[str, str] = {}
    for word in line.split()[1:]:
        name, _, value = word.removeprefix("*").partition("_")
        if name and word.startswith("*"):
            key = f"{name} (variable)" if name == _TEXT else name
            variables[key] = f"{variables[key]}; {value}" if key in variables else value or "yes"
    return variables


_STARRED_FILES = "IRaMuTeQ, Alceste or rainette: a .txt with a line '**** *id_1 *year_2001' above every text"
READERS = (
    Reader("ris", _RIS_FILES, RECORDS_ACCEPTS, recognise_kinds("ris", "endnote"), make_tag_reader("ris", "endnote")),
    Reader("wos", _WOS_FILES, RECORDS_ACCEPTS, recognise_kinds("wos"), make_tag_reader("wos")),
    Reader("medline", _MEDLINE_FILES, RECORDS_ACCEPTS, recognise_kinds("medline"), make_tag_reader("medline")),
    Reader("bibtex", _BIBTEX_FILES, RECORDS_ACCEPTS, recognise_kinds("bibtex"), read_bibtex),
    Reader("iramuteq", _STARRED_FILES, (*COLUMNS, "token_pattern"), sniff.recognise_kinds(STARS), read_starred),
)
