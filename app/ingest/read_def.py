"""The format of the deep exponential family code: ``documents words``, then two lines for each document."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from app.ingest import beside, files, parsing, sparse
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.source import BLOCK, Array, CountSource, Rows, untitled
from engine.contract import Counts

NAME = "def"
DESCRIPTION = (
    "DEF: NAME.dat (.gz), a line 'documents words', then for each document 'number n' and 'word count word count ...'"
)
ACCEPTS = ("vocabulary",)


def recognises(path: Path) -> bool:
    """A ``.dat`` file whose first two lines are two numbers each, the third an even number of them."""
    if path.is_dir():
        return len(files.listed(path, recognises)) == 1
    if files.suffix(path) != ".dat":
        return False
    first = [line.split() for line in files.start(path).split(b"\n")[:3]]
    return [len(line) for line in first[:2]] == [2, 2] and all(word.isdigit() for line in first[:2] for word in line)


def read(path: Path, options: ImportOptions) -> CountSource:
    """The counts, words numbered from 0; the vocabulary may have words beyond those of the file."""
    (file, _), *_ = files.parts(path, recognises, "DEF")
    documents, n_words = _pair(next(files.lines(file), (1, ""))[1], file, 1)
    vocabulary_path, words = beside.vocabulary(file, options)
    if len(words) < n_words:
        beside.check_size(vocabulary_path, words, file, n_words)
    return CountSource(
        where=str(file),
        vocabulary=words,
        blocks=lambda: _blocks(file, documents, len(words)),
        n_documents=documents,
        understood={"vocabulary": vocabulary_path.name},
    )


def _pair(text: str, path: Path, line: int) -> tuple[int, int]:
    fields = text.split()
    sizes = [size for field in fields if (size := parsing.size(field)) is not None]
    if len(fields) != 2 or len(sizes) != 2:
        raise IngestError(path, f"{text[:40]!r} should be two whole numbers up to {parsing.LARGEST:,}", line)
    return sizes[0], sizes[1]


def _blocks(path: Path, documents: int, n_words: int) -> Iterator[Rows]:
    lengths: list[int] = []
    bodies: list[Array] = []
    done = 0
    lines = files.lines(path)
    next(lines)
    for line, text in lines:
        if not text.strip() and done + len(lengths) == documents:
            continue
        _, length = _pair(text, path, line)
        lengths.append(length)
        bodies.append(_body(next(lines, (line + 1, ""))[1], length, path, line + 1, n_words))
        if len(lengths) == BLOCK:
            yield _rows(path, lengths, bodies, n_words, done)
            done += len(lengths)
            lengths, bodies = [], []
    yield _rows(path, lengths, bodies, n_words, done)
    if done + len(lengths) != documents:
        raise IngestError(path, f"promises {documents:,} documents, but has {done + len(lengths):,}", 1)


def _body(text: str, length: int, path: Path, line: int, n_words: int) -> Array:
    found = parsing.numbers(text.encode("latin-1", "replace"), whole=True)
    if found is None or len(found) != 2 * length:
        raise IngestError(path, f"should be {length:,} pairs 'word count' of whole numbers", line)
    cells = parsing.Cells(found[:1], np.array([length]), found[0::2], found[1::2])
    parsing.check_cells(cells, (0, n_words - 1), path, line)
    return found.reshape(-1, 2)


def _rows(path: Path, lengths: list[int], bodies: list[Array], n_words: int, done: int) -> Rows:
    cells = np.concatenate([np.empty((0, 2), np.int64), *bodies])
    counts = Counts.of(np.array(lengths, np.int64), cells[:, 0], cells[:, 1])
    return untitled(sparse.tidy(counts, n_words, path), done + 1)
