"""New documents of files, counted by the rules of a corpus: standard input, or any file that can be imported."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from topiary.app.ingest import packing
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.options import ImportOptions, is_file
from topiary.app.ingest.readers import counts_arrays
from topiary.app.ingest.readers.documents import PICTURED, read_contents
from topiary.app.ingest.readers.xml import recognise_xml
from topiary.app.ingest.registry import choose_reader, refuse_idle
from topiary.app.ingest.rules import NewDocument, Rules, make_recounter, read_new_text
from topiary.app.ingest.source import CountSource, Unreadable
from topiary.app.ingest.tables import sniff
from topiary.app.ingest.text.encodings import find_marked_encoding

WHOLE = ("", *packing.TEXTUAL)  # suffixes of files that are one text, not one document a line
STDIN = Path("standard input")
MOST_OF_BINARY = 1 << 28  # bytes of a document that may contain pictures
MOST = 20_000  # documents read at a time


def read_new_documents(name: str, rules: Rules, options: ImportOptions) -> list[NewDocument]:
    """Return the documents of a file or folder, or of standard input (``-``).

    A text, web page or office file is one document.

    Raises
    ------
    IngestError
        When it cannot be read, or an option would have no effect; the message is one sentence with file, line and
        cause.
    """
    if name == "-":
        if options.format is not None:
            raise IngestError(STDIN, "is read as one text; leave --format out, or give a file of that format")
        return [_read_single_document(STDIN, sys.stdin.buffer, rules, options)]
    path = Path(name)
    if options.format is None and _is_single_text(path):
        with packing.open_file(path) as stream:
            return [_read_single_document(path, stream, rules, options)]
    reader = choose_reader(path, options)
    if "levels" in reader.accepts:  # scale images as in the corpus
        options = replace(options, levels=rules.levels, binary=rules.kind == "binary")
    source = reader.read(path, options)
    if isinstance(source, CountSource):
        return list(_read_counts(source, rules))
    documents: list[NewDocument] = []
    for document in source.documents():
        if len(documents) == MOST:
            raise IngestError(path, f"has more than {MOST:,} documents; give a part of them at a time")
        prepared = rules.wording.prepare_document(document)
        clean = rules.wording.clean_document(document, source.counted)
        documents.append(NewDocument(prepared.title, prepared.text, rules.count_clean(clean)))
    return documents


def _is_single_text(path: Path) -> bool:
    """Return whether a file is one text, by its suffix and because its content is not that of a list of documents."""
    if packing.find_suffix(path) not in WHOLE or not is_file(path):
        return False
    return not (counts_arrays.recognise_idx(path) or sniff.find_kind(path) or recognise_xml(path))


def _read_single_document(path: Path, stream: BinaryIO, rules: Rules, options: ImportOptions) -> NewDocument:
    """Return the only document in a stream; ``path`` tells its kind and is named in errors."""
    refuse_idle(path, (), options)
    most = MOST_OF_BINARY if path.suffix.lower() in PICTURED else packing.LARGEST_TEXT
    raw = packing.read_up_to(stream, most + 1)
    if len(raw) > most:
        raise IngestError(path, f"is larger than {most >> 20} MB, the most of one document; give a part of it")
    encoding = find_marked_encoding(raw, options.encoding)
    try:
        text = read_contents(Path(packing.strip_packing(path.name)), raw, encoding).text
    except Unreadable as error:
        raise IngestError(path, f"{error}; save it as .txt first") from None
    except UnicodeDecodeError as error:
        cause = f"is not {encoding.upper()} at byte {error.start + 1:,}; name its encoding with --encoding"
        raise IngestError(path, cause) from None
    return read_new_text(text, rules, path.name)


def _read_counts(source: CountSource, rules: Rules) -> Iterator[NewDocument]:
    """Yield the documents of a source of counts, their words matched by name with the vocabulary of the corpus."""
    recount = make_recounter(source.vocabulary, rules)
    for rows in source.blocks():
        for row, title in enumerate(rows.titles):
            yield NewDocument(title, "", recount(rows.counts, row))
