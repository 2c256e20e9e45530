"""UCI bag of words: three lines of sizes, then ``document word count`` lines, numbered from 1."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from app.ingest import beside, files, parsing, sparse
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.source import Array, CountSource, Rows, untitled
from engine.contract import Counts

NAME = "uci"
DESCRIPTION = "UCI bag of words: docword.NAME.txt (.gz) with vocab.NAME.txt beside it"
ACCEPTS = ("vocabulary",)
SIZES = 3


class Header(NamedTuple):
    """The first three lines."""

    documents: int
    words: int
    cells: int


def recognises(path: Path) -> bool:
    """A file whose first three lines are one number each and whose fourth is three."""
    if path.is_dir():
        return len(files.listed(path, recognises)) == 1
    if files.suffix(path) not in (".txt", ".dat", ".bow", ""):
        return False
    first = [line.split() for line in files.start(path, 200).splitlines()[: SIZES + 1]]
    return [len(line) for line in first] == [1, 1, 1, 3] and all(each.isdigit() for line in first for each in line)


def read(path: Path, options: ImportOptions) -> CountSource:
    """The counts, read in chunks whenever they are asked for."""
    (file, _), *_ = files.parts(path, recognises, "UCI bag-of-words")
    header = _header(file)
    parsing.check_promise(header.documents, header.cells, file, 1)
    base = files.stem(file)
    own = (base.replace("docword", "vocab") + ".txt",) if "docword" in base else ()
    vocabulary_path, words = beside.vocabulary(file, options, own)
    beside.check_size(vocabulary_path, words, file, header.words)
    titles = _titles(file, header.documents)
    return CountSource(
        where=str(file), vocabulary=words, blocks=lambda: _blocks(file, header, titles), n_documents=header.documents
    )


def _header(path: Path) -> Header:
    sizes = []
    with files.opened(path) as stream:  # as bytes, like the counts that follow
        for number, raw in enumerate(islice(stream, SIZES), 1):
            line = raw.decode("latin-1").strip()
            size = parsing.size(line)
            if size is None:
                cause = f"{line[:40]!r} is not the number of documents, words or entries, up to {parsing.LARGEST:,}"
                raise IngestError(path, cause, number)
            sizes.append(size)
    if len(sizes) < SIZES:
        raise IngestError(path, "ends before its three lines of sizes", len(sizes) + 1)
    return Header(*sizes)


def _titles(path: Path, documents: int) -> list[str] | None:
    base = files.stem(path).replace("docword", "titles")
    lines = beside.column(path, (f"{base}.tsv", f"{base}.txt"), documents) if "titles" in base else None
    return None if lines is None else [line.rpartition("\t")[2] for line in lines]


def _blocks(path: Path, header: Header, titles: list[str] | None) -> Iterator[Rows]:
    """Documents as they become complete; the file is in the order of documents."""
    done, seen = 0, 0
    held = np.empty((0, 3), np.int64)
    with files.opened(path) as stream:
        for _ in range(SIZES):
            stream.readline()
        for line, chunk in files.chunks(stream, path, SIZES + 1):
            fresh = parsing.table(chunk, 3, path, line)
            parsing.check_table(fresh, (header.documents, header.words), path, line)
            _check_order(fresh, held, path, line)
            seen += len(fresh)
            held = np.concatenate([held, fresh])
            last = int(held[-1, 0]) - 1 if len(held) else done
            split = int(np.searchsorted(held[:, 0], last, side="right"))
            yield _rows(path, held[:split], done, last, header.words, titles)
            held, done = held[split:], last
    if seen != header.cells:
        raise IngestError(path, f"has {seen:,} entries, but its third line promises {header.cells:,}", SIZES)
    yield _rows(path, held, done, header.documents, header.words, titles)


def _check_order(fresh: Array, held: Array, path: Path, line: int) -> None:
    steps = np.diff(fresh[:, 0], prepend=held[-1:, 0] if len(held) else fresh[:1, 0])
    if (steps < 0).any():
        bad = int(np.argmax(steps < 0))
        raise IngestError(
            path, f"document {fresh[bad, 0]} comes after a later one; sort the file by document", line + bad
        )


def _rows(path: Path, table: Array, begin: int, end: int, n_words: int, titles: list[str] | None) -> Rows:
    """Documents ``begin:end`` (from 0) out of their lines."""
    lengths = np.bincount(table[:, 0] - 1 - begin, minlength=end - begin)
    rows = untitled(sparse.tidy(Counts.of(lengths, table[:, 1] - 1, table[:, 2]), n_words, path), begin + 1)
    return rows if titles is None else rows._replace(titles=titles[begin:end])
