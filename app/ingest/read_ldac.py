"""LDA-C: a document is a line ``n word:count word:count ...``, words numbered from 0."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from app.ingest import beside, files, parsing, sparse
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.source import CountSource, Rows, untitled
from engine.contract import Counts

NAME = "ldac"
DESCRIPTION = "LDA-C: NAME.ldac or NAME.dat (.gz) with NAME.vocab, NAME.tokens or vocab.txt beside it"
ACCEPTS = ("vocabulary",)


def recognises(path: Path) -> bool:
    """A ``.ldac``, ``.lda-c`` file, or a ``.dat`` file whose first line is ``n word:count ...``."""
    if path.is_dir():
        return len(files.listed(path, recognises)) == 1
    if files.suffix(path) in (".ldac", ".lda-c"):
        return True
    first = files.start(path).split(b"\n")[0].split()
    return files.suffix(path) == ".dat" and len(first) > 1 and first[0].isdigit() and b":" in first[1]


def read(path: Path, options: ImportOptions) -> CountSource:
    """The counts, read in chunks whenever they are asked for."""
    (file, _), *_ = files.parts(path, recognises, "LDA-C")
    _, words = beside.vocabulary(file, options)
    documents = files.count_lines(file)
    base = files.stem(file)
    titles = _unnumbered(beside.column(file, (f"{base}.titles", f"{base}.titles.txt"), documents, options.encoding))
    return CountSource(
        where=str(file), vocabulary=words, blocks=lambda: _blocks(file, len(words), titles), n_documents=documents
    )


def _unnumbered(titles: list[str] | None) -> list[str] | None:
    """Titles without the number of their document, where every one begins with it."""
    if titles is None or not all(title.startswith(f"{n} ") for n, title in enumerate(titles)):
        return titles
    return [title.partition(" ")[2].strip() for title in titles]


def _blocks(path: Path, n_words: int, titles: list[str] | None) -> Iterator[Rows]:
    with files.opened(path) as stream:
        for line, chunk in files.chunks(stream, path):
            if not chunk.strip():
                continue
            cells = parsing.pairs(chunk, path, line)
            _check(cells, n_words, path, line)
            counts = Counts.of(cells.lengths, cells.indices, cells.values)
            rows = untitled(sparse.tidy(counts, n_words, path), line)
            yield rows if titles is None else rows._replace(titles=titles[line - 1 : line - 1 + len(cells.heads)])


def _check(cells: parsing.Cells, n_words: int, path: Path, line: int) -> None:
    wrong = cells.heads != cells.lengths
    if wrong.any():
        bad = int(np.argmax(wrong))
        cause = f"says that it has {cells.heads[bad]} words, but has {cells.lengths[bad]}"
        raise IngestError(path, cause, line + bad)
    parsing.check_cells(cells, (0, n_words - 1), path, line)
