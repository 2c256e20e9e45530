"""Documents somebody brings along: a text, standard input, or any file the importers can read."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from app.ingest import files, packed, read_idx, read_xml, text_kinds
from app.ingest.document import KINDS, PICTURED, Unreadable, contents
from app.ingest.errors import IngestError
from app.ingest.marks import encoding_of
from app.ingest.options import ImportOptions, is_file
from app.ingest.recount import Recount, Rules
from app.ingest.registry import choose, refuse_idle
from app.ingest.source import Array, CountSource

WHOLE = ("", *KINDS)  # a file of these endings is one text, not one document a line
STDIN = Path("standard input")
_TITLE = 80
_NAMED = 8  # unknown words
MOST_OF_BINARY = 1 << 28  # bytes of a document with pictures in it
MOST = 20_000  # documents placed in one go


class NewDocument(NamedTuple):
    """A document as it was given: its title, its text ("" where there are only counts) and its counts."""

    title: str
    text: str
    counted: Recount


def from_text(text: str, rules: Rules, title: str = "") -> NewDocument:
    """One text; its title is its first line unless one is given."""
    text = rules.prepared(text)
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return NewDocument(
        title or (first if len(first) <= _TITLE else first[: _TITLE - 1].rstrip() + "…"), text, rules.count(text)
    )


def unreported(unknown: Sequence[str]) -> str:
    """Say why nothing can be told of a document without a known word, and what to do; its unknown words are named."""
    if not unknown:
        return "There is nothing in it that the corpus counts, so nothing can be told of it: give one with more words."
    listed = ", ".join(unknown[:_NAMED]) + (" …" if len(unknown) > _NAMED else "")
    return (
        f"The corpus knows none of its words ({listed}), so nothing can be told of it: give a document in the language "
        "of the corpus and about its subjects."
    )


def are_known(tokens: int, stopped: int) -> str:
    """Say what the figure "3 of ``tokens``" is of, and how many stop words were left out of it."""
    words, count, are = ("word", "counts", "is") if tokens == 1 else ("words", "count", "are")
    if not stopped:
        return f"{words} {are} known to the corpus"
    left_out = f"{stopped:,} stop {'word' if stopped == 1 else 'words'} left out"
    return f"{words} that {count} {are} known to the corpus ({left_out})"


def from_path(name: str, rules: Rules, options: ImportOptions) -> list[NewDocument]:
    """The documents of a file or folder, ``-`` for standard input; a text, page or office file is one document.

    Raises
    ------
    IngestError
        When it cannot be read, or an option would change nothing; one sentence with file, line and cause.
    """
    if name == "-":
        if options.format is not None:
            raise IngestError(STDIN, "is read as one text; leave --format out, or give a file of that format")
        refuse_idle(STDIN, (), options)
        return [from_text(_text(STDIN, _whole(STDIN, sys.stdin.buffer), options.encoding), rules, STDIN.name)]
    path = Path(name)
    if options.format is None and _is_whole(path):
        refuse_idle(path, (), options)
        with files.opened(path) as stream:
            return [from_text(_text(path, _whole(path, stream), options.encoding), rules, path.name)]
    reader = choose(path, options)
    if "levels" in reader.ACCEPTS:  # pictures have the values that they have in the corpus
        options = replace(options, levels=rules.levels, binary=rules.kind == "binary")
    source = reader.read(path, options)
    if isinstance(source, CountSource):
        return list(_counted(source, rules))
    found: list[NewDocument] = []
    for document in source.documents():
        if len(found) == MOST:
            raise IngestError(path, f"has more than {MOST:,} documents; give a part of them at a time")
        ready = rules.prepared_document(document)
        found.append(NewDocument(ready.title, ready.text, rules.count_clean(source.counted(ready))))
    return found


def _is_whole(path: Path) -> bool:
    """Whether a path is one text, and not a list of documents that is known by its content."""
    if files.suffix(path) not in WHOLE or not is_file(path):
        return False
    return not (read_idx.recognises(path) or text_kinds.find_kind(path) or read_xml.recognises(path))


def _whole(path: Path, stream: BinaryIO) -> bytes:
    most = MOST_OF_BINARY if path.suffix.lower() in PICTURED else packed.LARGEST_TEXT
    raw = files.upto(stream, most + 1)
    if len(raw) > most:
        raise IngestError(path, f"is larger than {most >> 20} MB, the most of one document; give a part of it")
    return raw


def _text(path: Path, raw: bytes, otherwise: str) -> str:
    encoding = encoding_of(raw, otherwise)
    try:
        return contents(Path(packed.bare(path.name)), raw, encoding).text
    except Unreadable as error:
        raise IngestError(path, f"{error}; save it as .txt first") from None
    except UnicodeDecodeError as error:
        cause = f"is not {encoding.upper()} at byte {error.start + 1:,}; name its encoding with --encoding"
        raise IngestError(path, cause) from None


def _counted(source: CountSource, rules: Rules) -> Iterator[NewDocument]:
    """Documents that come as counts, their words found in the vocabulary of the corpus by name."""
    numbers = np.array([rules.numbers.get(word, -1) for word in source.vocabulary], dtype=np.int32)
    for rows in source.blocks():
        for place, title in enumerate(rows.titles):
            _, theirs, values = rows.counts.rows(place, place + 1)
            words = numbers[theirs]
            strange = [source.vocabulary[word] for word in theirs[words < 0].tolist()]
            yield NewDocument(title, "", recount(words, values, strange, rules))


def recount(words: Array, values: Array, strange: list[str], rules: Rules) -> Recount:
    """A document that comes as counts.

    Parameters
    ----------
    words : (n,) int
        Numbers of its words in the corpus, -1 for one that is not known.
    values : (n,)
        How often each occurs.
    strange : list of str
        The words that are not known.
    rules : Rules
    """
    kept, where = np.unique(words[words >= 0], return_inverse=True)
    totals = np.bincount(where, weights=values[words >= 0], minlength=len(kept))
    known, tokens = int(totals.sum()), int(values.sum())
    kind = np.float32 if rules.kind == "real" else np.int32
    counts = np.ones(len(kept), dtype=kind) if rules.kind == "binary" else totals.astype(kind)
    return Recount(kept.astype(np.int32), counts, tokens, known, 0, tuple(strange), ())
