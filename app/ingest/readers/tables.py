"""Readers of tables of texts (separated cells, Excel, Parquet, Arrow) and of plain files with a text on each line."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from topiary.app.ingest import packing
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.readers import count_tables
from topiary.app.ingest.readers.json import Record, flatten, needs_flattening
from topiary.app.ingest.readers.workbook_arrow import (
    ARROWS,
    PARQUET,
    WORKBOOKS,
    look_at_workbook,
    note_repeated_names,
    open_table,
    read_arrow_rows,
)
from topiary.app.ingest.source import COLUMNS, GUESS, LEFT_OUT, Reader, TextDocument, TextSource
from topiary.app.ingest.tables import joining, sniff
from topiary.app.ingest.tables.roles import PARTS, find_roles, make_text_source, split_columns
from topiary.app.ingest.tables.sniff import ENDINGS, is_separated
from topiary.app.ingest.text.passages import advise_size, count_words

_REFUSED_COUNTS = (
    "is a table of documents, words and counts; leave --format csv out to read it as counts, or name a column of texts "
    "with --text-column"
)


_REFUSED_WORD_LIST = (
    "has a word and a number in each row, which are the counts of one document; give a table of documents, words and "
    "counts, named with --format triples, or the texts themselves"
)


def _is_table(path: Path) -> bool:
    """Return whether a file is a table, by its ending or, for a .txt, its first lines, and not one of counts."""
    return is_separated(path) and count_tables.find_counts(path) is None


def _belongs_to_csv(path: Path) -> bool:
    """Return whether a file in a folder is a table of texts; .txt files in a folder are texts."""
    return packing.find_suffix(path) in ENDINGS and _is_table(path)


recognise_csv = packing.make_recogniser(_is_table, _belongs_to_csv)


def read_csv(path: Path, options: ImportOptions) -> TextSource:
    """Read the rows of a table as documents; words of the title are counted too."""
    return _read_table(path, packing.find_parts(path, _belongs_to_csv, "csv", several=True), options, ".csv")


def _read_table(path: Path, parts: Sequence[packing.Part], options: ImportOptions, kind: str) -> TextSource:
    """Return a source of the rows of a table of separated cells or a workbook."""
    first = parts[0].path
    table = open_table(first, options, kind)
    sample = [record for _, record in islice(table.records(first), _TABLE_SAMPLE)]
    if not sample:
        advice = "say that it has no such line" if table.encoded else "use --header no"
        raise IngestError(first, f"has no documents below its line of column names; add rows, or {advice}")
    guesses = table.guesses(texts=True)
    if table.encoded:
        rows = [list(record.values()) for record in sample]
        if options.text_column is None and table.names.header:
            _refuse_counts(first, table.names.names, rows)
        if not table.names.header and _look_like_counts(rows):
            guesses.insert(
                0, "rows are read as texts, though they look like document, word and count: --format triples"
            )
    source = make_text_source(
        path,
        parts,
        find_roles(sample, table.names.complete_options(options), first, named=table.names.header),
        table.records,
        options,
        header=table.names.header,
        encoded=table.encoded,
        guesses=guesses,
    )
    source.understood.update(table.understood)
    source.notes.extend(table.notes)
    return source


def _refuse_counts(path: Path, names: Sequence[str], rows: list[list[str]]) -> None:
    """Refuse a table of words and counts."""
    if count_tables.find_places(names, rows) is not None:
        raise IngestError(path, _REFUSED_COUNTS)
    if count_tables.is_list_of_words(names, rows):
        raise IngestError(path, _REFUSED_WORD_LIST)


def _look_like_counts(rows: list[list[str]]) -> bool:
    """Return whether the rows of a table without column names are a document, a word and a count."""
    return len(rows[0]) == len(_TRIPLE_NAMES) and count_tables.find_places(_TRIPLE_NAMES, rows) is not None


_TRIPLE_NAMES = ("document", "word", "count")  # usual column names, used to test rows without names
_SAMPLE = 50  # lines by which the kind of a file is found
_LOOKED_AT = 2_000  # lines by which a wrapped text is recognised
_FEWEST_LINES = 12  # lines that a wrapped text has at least
_WIDEST = 100  # characters of the lines of a wrapped text, at most
_NARROWEST = 40  # at least
_FULL_SHARE = 0.75  # share of the width that a full line has at least
_FULL_LINES = 0.85  # share of full lines within paragraphs, at least
_SENTENCE_ENDS = tuple(".!?:;\"'”’»)")  # characters that end a sentence, and so often a paragraph
_FIELD = re.compile(
    r"([^\W\d_][\w /-]{0,30}:|[A-Z%][A-Z0-9]{1,3} {0,3}-)(?:\s|$)"
)  # the name of a field or of a speaker


# Lines in every document of text exports from PubMed, ProQuest, LexisNexis and Factiva.
_EXPORT_SIGN = re.compile(
    r"\s*(?:PMID: [0-9]+|(?:Document )?[0-9]+ of [0-9]+(?: DOCUMENTS)?$|End of Document$|Load-Date: |"
    r"ProQuest document ID: |Document [A-Za-z0-9]{15,}$|_{20,}$)"
)
_FEWEST_SIGNS = 3  # such lines in an export
_MOST_FIELDS, _FEWEST_TIMES = 12, 5  # frequent names of fields to count, and how often each occurs at least


def recognise_lines(path: Path) -> bool:
    """Recognise a ``.txt`` file that is neither a bag of words nor a table."""
    if path.is_dir() or packing.find_suffix(path) != ".txt" or is_separated(path):
        return False
    first = sniff.look_at(path).raw.splitlines()[:4]
    return not (len(first) == 4 and all(line.replace(b" ", b"").isdigit() for line in first))


def read_lines_source(path: Path, options: ImportOptions) -> TextSource:
    """Read the lines as documents; if the first lines all have three fields, these are name, label and text."""
    if options.format is None and sniff.find_kind(path) == "wordcounts":
        cause = "is a list of words and counts, which is one document"
        raise IngestError(path, f"{cause}; import the folder of all such files, or say --format lines")
    first_lines = [text for _, text in islice(packing.read_lines(path, options.encoding), _LOOKED_AT)]
    sample = [text for text in first_lines[:_SAMPLE] if text.strip()] or [text for text in first_lines if text.strip()]
    if not sample:
        raise IngestError(path, "has no documents; give a file with a text on each line")
    tabs = all(text.count("\t") >= 2 for text in sample)
    wrapped = options.format is None and not tabs and is_wrapped(first_lines)
    maybe_wrapped = options.format is None and not tabs and not wrapped and is_wrapped(first_lines, between=False)
    source = TextSource(
        where=str(path),
        documents=lambda: (_read_paragraphs if wrapped else _read_documents)(path, options.encoding, tabs=tabs),
        classes=joining.read_class_names(path, options.encoding) if tabs else {},
        notes=packing.note_guesses([path], options.encoding),
        understood=packing.describe_encoding(path, options.encoding),
    )
    split = advise_size(sum(map(count_words, first_lines))) if wrapped or maybe_wrapped else ""
    ways = [f"{split} divides it otherwise"] if split else []
    if wrapped:
        explanation = "its lines are those of a page, so every paragraph between empty lines is a document"
        source.understood[GUESS] = f"{explanation} ({', '.join([*ways, '--format lines takes every line'])})"
    elif maybe_wrapped:
        explanation = "its lines seem to be those of a page, and every line is a document"
        source.understood[GUESS] = explanation + (f" ({ways[0]})" if ways else "")
    elif options.format is None and (doubt := _find_doubt(first_lines)):
        source.understood[GUESS] = f"every line is a document, though {doubt}; --format lines says that it is meant"
    return source


def is_wrapped(lines: list[str], *, between: bool = True) -> bool:
    """Return whether lines are wrapped at one width, as on a page.

    Parameters
    ----------
    between : bool
        Whether empty lines must separate the paragraphs; if not, there must be none.
    """
    blocks = [list(block) for filled, block in groupby(lines, lambda line: bool(line.strip())) if filled]
    inner_lines = [line.rstrip() for block in blocks for line in block[:-1]]  # lines followed by another one
    if len(inner_lines) < _FEWEST_LINES or len(inner_lines) < len(blocks) - 1 or (len(blocks) > 1) != between:
        return False
    width = sorted(map(len, inner_lines))[int(0.98 * len(inner_lines))]
    if not _NARROWEST <= width <= _WIDEST:
        return False
    prose = [line for line in inner_lines if len(line) >= _NARROWEST / 2]
    n_full = sum(len(line) >= _FULL_SHARE * width for line in inner_lines)
    n_continued = sum(not line.endswith(_SENTENCE_ENDS) for line in prose)
    return n_full >= _FULL_LINES * len(inner_lines) and 2 * n_continued > len(prose)


def _find_doubt(lines: list[str]) -> str:
    """Explain why lines may not be separate documents; return an empty string if nothing suggests it."""
    filled = [line for line in lines if line.strip()]
    signs = [line.strip() for line in filled if _EXPORT_SIGN.match(line)]
    if len(signs) >= _FEWEST_SIGNS:
        return f"it seems to be an export of many ({signs[0][:40]!r}): export it as RIS, BibTeX or PubMed instead"
    names = Counter(match[1] for line in filled if (match := _FIELD.match(line)))
    usual = [name for name, count in names.most_common(_MOST_FIELDS) if count >= _FEWEST_TIMES]
    if len(usual) > 1 and 2 * sum(names[name] for name in usual) > len(filled):
        return f"most begin with one of a few names, such as {' and '.join(map(repr, usual[:2]))}"
    blocks = [list(block) for is_filled, block in groupby(lines, lambda line: bool(line.strip())) if is_filled]
    if len(blocks) >= _FEWEST_TIMES and len(filled) >= 2 * len(blocks):
        return "they stand in groups between empty lines"
    return ""


def _read_documents(path: Path, encoding: str, *, tabs: bool) -> Iterator[TextDocument]:
    """Yield each line as a document, with ``tabs`` split into name, label and text."""
    for line, text in packing.read_lines(path, encoding):
        if not text.strip():
            continue
        if not tabs:
            yield TextDocument(text, f"document {line}")
            continue
        cells = text.split("\t", 2)
        if len(cells) != 3:
            raise IngestError(path, "is not 'name <tab> label <tab> text' like the lines before it", line)
        yield TextDocument(cells[2], cells[0].strip() or f"document {line}", cells[1].strip() or None)


def _read_paragraphs(path: Path, encoding: str, *, tabs: bool) -> Iterator[TextDocument]:  # noqa: ARG001 - as `_read_documents`
    """Yield the paragraphs between empty lines, each titled by the number of its first line."""
    paragraph: list[str] = []
    first_line = size = 0
    for line, text in packing.read_lines(path, encoding):
        if text.strip():
            first_line = first_line if paragraph else line
            paragraph.append(text)
            size += len(text)
            packing.check_length(size, path, line)
        elif paragraph:
            yield TextDocument("\n".join(paragraph), f"paragraph in line {first_line}", titled=False)
            paragraph, size = [], 0
    if paragraph:
        yield TextDocument("\n".join(paragraph), f"paragraph in line {first_line}", titled=False)


_TABLE_SAMPLE = 200  # rows from which the roles of columns are found


def recognise_parquet(path: Path) -> bool:
    """Recognise a file by its ending, unless it has counts, and a folder by its files and those of its subfolders."""
    if path.is_dir():
        return bool(_list_tables(path))
    is_table = packing.find_suffix(path) in ARROWS
    return is_table and count_tables.find_counts(path) is None


def read_parquet(path: Path, options: ImportOptions) -> TextSource:
    """Read the rows as documents; words of the title are counted too."""
    parts = _find_tables(path)
    first = parts[0].path
    sample: list[Record] = [record for _, record in islice(read_arrow_rows(first), _TABLE_SAMPLE)]
    if not sample:
        raise IngestError(first, "has no rows; give a table with a row for each document")
    flat = needs_flattening(sample, split_columns(options.text_column, list(sample[0])))

    def records(file: Path) -> Iterator[tuple[int, Record]]:
        for line, record in read_arrow_rows(file):
            yield line, flatten(record) if flat else record

    if flat:
        sample = [flatten(record) for record in sample]
    roles = find_roles(sample, options, first)
    source = make_text_source(path, parts, roles, records, options, encoded=False)
    source.notes.extend(note_repeated_names(first))
    names = _read_feature_names(first, roles.label)
    return replace(source, classes=names) if names else source


def _list_tables(folder: Path) -> list[Path]:
    """Return the tables in a folder, or else those in its subfolders, such as ``data`` or one for each part."""
    direct = packing.list_files(folder, recognise_parquet)
    try:
        subfolders = sorted(each for each in folder.iterdir() if each.is_dir() and not each.name.startswith("."))
    except OSError:
        return direct
    return direct or [file for each in subfolders for file in packing.list_files(each, recognise_parquet)]


def _find_tables(path: Path) -> list[packing.Part]:
    """Return the files of a path with their parts, training documents first."""
    if not path.is_dir():
        return [packing.Part(path, None)]
    tables = _list_tables(path)
    if not tables:
        raise IngestError(path, "has no .parquet or .arrow file in it")
    parts = [packing.Part(file, _find_table_part(file)) for file in tables]
    known_parts = {each.part for each in parts}
    if None in known_parts and len(known_parts) > 1:
        names = ", ".join(each.path.name for each in parts if each.part is None)[:80]
        raise IngestError(path, f"has tables of training or test documents and others ({names}); give one of them")
    return sorted(parts, key=lambda each: (each.part or 0, each.path))


def _find_table_part(file: Path) -> int | None:
    """Return the part named by a file or its folder, as in ``train/data-00000-of-00001.arrow``."""
    own_part = packing.find_part(file)
    folder_part = PARTS.get(file.parent.name.lower())
    return own_part if own_part is not None or folder_part == LEFT_OUT else folder_part


def _read_feature_names(path: Path, label: str | None) -> dict[str, str]:
    """Return the names of numbered labels that a Hugging Face dataset stores in the table or next to it."""
    info = _read_dataset_info(path)
    features = info.get("features") if isinstance(info, dict) else None
    feature = features.get(label) if isinstance(features, dict) else None
    names = feature.get("names") if isinstance(feature, dict) else None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return {}
    return {str(number): name for number, name in enumerate(names)}


def _read_dataset_info(path: Path) -> Any:
    """Return the information about a Hugging Face dataset, from its JSON file or the table; None if missing."""
    try:
        for folder in (path.parent, path.parent.parent):
            if (folder / "dataset_info.json").is_file():
                return json.loads((folder / "dataset_info.json").read_bytes())
        with packing.open_seekable(path) as stream:
            return _read_schema(path, stream)
    except (OSError, ValueError, RecursionError):
        return None


def _read_schema(path: Path, stream: Any) -> Any:
    """Return the information about a dataset that is stored in the metadata of a Parquet file."""
    if packing.find_suffix(path) not in PARQUET:
        return None
    from pyarrow import parquet

    metadata = parquet.ParquetFile(stream).schema_arrow.metadata or {}
    stored = json.loads(metadata.get(b"huggingface", b"{}"))
    return stored.get("info") if isinstance(stored, dict) else None


def _is_workbook(path: Path) -> bool:
    """Return whether a file is a workbook, by its ending, neither a lock file of Excel nor one of counts."""
    if packing.find_suffix(path) not in WORKBOOKS or path.name.startswith("~$"):
        return False
    return count_tables.find_counts(path) is None


def read_xlsx(path: Path, options: ImportOptions) -> TextSource:
    """Read the rows as documents; words of the title are counted too."""
    parts = packing.find_parts(path, _is_workbook, "xlsx", several=True)
    source = _read_table(path, parts, options, ".xlsx")
    sheet = look_at_workbook(parts[0].path)
    if sheet.others:
        others = ", ".join(sheet.others)[:80]
        source.notes.append(f"only the sheet {sheet.name!r} is read; the others ({others}) are left out")
    return source


recognise_xlsx = packing.make_recogniser(_is_workbook)
_CSV_FILES = "table of texts: NAME.csv or NAME.tsv, one document a row, or a folder with train.csv and test.csv"
_LINES_FILES = "one document a line: NAME.txt, the whole line or 'name <tab> label <tab> text'"
_PARQUET_FILES = "Parquet: NAME.parquet, NAME.arrow, or the folder of a Hugging Face dataset, one document a row"
_XLSX_FILES = "Excel: NAME.xlsx, one document a row of its first sheet, columns as in csv"
READERS = (
    Reader(
        "csv",
        _CSV_FILES,
        (*COLUMNS, "header", "skip_lines", "separator", "quote", "token_pattern"),
        recognise_csv,
        read_csv,
    ),
    Reader("lines", _LINES_FILES, ("token_pattern",), recognise_lines, read_lines_source),
    Reader("parquet", _PARQUET_FILES, (*COLUMNS, "token_pattern"), recognise_parquet, read_parquet),
    Reader("xlsx", _XLSX_FILES, (*COLUMNS, "header", "skip_lines", "token_pattern"), recognise_xlsx, read_xlsx),
)
