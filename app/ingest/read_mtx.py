"""MatrixMarket coordinate files: ``document word value`` lines, numbered from 1, in any order."""

from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from scipy import sparse as scipy_sparse

from app.ingest import beside, files, packed, parsing, sparse
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.source import Array, CountSource

NAME = "mtx"
DESCRIPTION = "MatrixMarket: NAME.mtx or gensim's NAME.mm with its vocabulary or dictionary, or train.mtx and test.mtx"
ACCEPTS = ("vocabulary",)

_SHORTEST = len(b"1 1\n")  # an entry


class Header(NamedTuple):
    """The banner and the line of sizes."""

    pattern: bool
    whole: bool
    rows: int
    columns: int
    cells: int
    line: int  # of the sizes


def recognises(path: Path) -> bool:
    """By the ending of the name; a folder by the files in it."""
    if path.is_dir():
        return bool(files.listed(path, recognises))
    return files.suffix(path) in (".mtx", ".mm")


def read(path: Path, options: ImportOptions) -> CountSource:
    """All documents in memory; a matrix of words x documents is turned round."""
    parts = files.parts(path, recognises, "MatrixMarket")
    vocabulary_path, words = beside.vocabulary(parts[0].path, options)
    loaded = [_load(part.path, vocabulary_path, words) for part in parts]
    whole = all(sparse.is_whole(matrix.data) for matrix in loaded)
    joined = scipy_sparse.vstack(loaded, format="csr") if len(loaded) > 1 else loaded[0]
    sizes = [matrix.shape[0] for matrix in loaded]
    loaded.clear()
    counts = sparse.of_matrix(joined, path, whole=whole)
    labels = beside.labels(parts, sizes, beside.class_names(vocabulary_path), options.encoding)
    return sparse.source_of(path, parts, sizes, words, counts, labels)


def _load(path: Path, vocabulary_path: Path, words: tuple[str, ...]) -> scipy_sparse.csr_matrix:
    with files.opened(path) as stream:
        header = _header(stream, path)
        rows, columns, values = _entries(stream, header, path)
    shape, places = (header.rows, header.columns), (rows, columns)
    if header.rows == len(words) != header.columns:
        shape, places = shape[::-1], places[::-1]
    beside.check_size(vocabulary_path, words, path, shape[1])
    parsing.check_promise(shape[0], header.cells, path, header.line)
    matrix = scipy_sparse.csr_matrix((values, places), shape=shape)  # repeats are added up, in as few bits as they have
    if header.whole and matrix.data.sum(dtype=np.int64) != values.sum(dtype=np.int64):
        raise IngestError(path, sparse.TOO_MANY)
    return matrix


def _header(stream: BinaryIO, path: Path) -> Header:
    banner = stream.readline().decode("latin-1").lower().split()
    if banner[:2] != ["%%matrixmarket", "matrix"] or len(banner) != 5:
        raise IngestError(path, "does not begin with '%%MatrixMarket matrix coordinate ... general'", 1)
    layout, field, symmetry = banner[2:]
    if layout != "coordinate" or symmetry != "general" or field not in ("integer", "real", "pattern"):
        cause = f"is a {layout} {field} {symmetry} matrix; counts are 'coordinate' and 'integer', 'real' or 'pattern'"
        raise IngestError(path, f"{cause}, 'general'", 1)
    line, text = 2, stream.readline()
    while text.startswith(b"%") or text.isspace():
        line, text = line + 1, stream.readline()
    fields = text.decode("latin-1").split()
    sizes = [size for each in fields if (size := parsing.size(each)) is not None]
    if len(fields) != 3 or len(sizes) != 3:
        cause = f"should be the line of sizes: documents, words, entries, each up to {parsing.LARGEST:,}"
        raise IngestError(path, cause, line)
    rows, columns, cells = sizes
    return Header(field == "pattern", field != "real", rows, columns, cells, line)


def _entries(stream: BinaryIO, header: Header, path: Path) -> tuple[Array, Array, Array]:
    """Row, column and value of every entry, in arrays made once."""
    room = min(header.cells, _most_entries(path))
    rows, columns = np.empty(room, np.int32), np.empty(room, np.int32)
    values = np.ones(room, np.int32 if header.whole else np.float32)
    filled = 0
    for line, chunk in files.chunks(stream, path, header.line + 1):
        table = parsing.table(chunk, 2 if header.pattern else 3, path, line, whole=header.whole)
        parsing.check_table(table, (header.rows, header.columns), path, line)
        here = slice(filled, filled + len(table))
        filled += len(table)
        if filled > room:
            break
        rows[here], columns[here] = table[:, 0] - 1, table[:, 1] - 1
        if not header.pattern:
            values[here] = table[:, 2]
    if filled != header.cells:
        cause = (
            f"promises {header.cells:,} entries, but the file has {'more' if filled > header.cells else f'{filled:,}'}"
        )
        raise IngestError(path, cause, header.line)
    return rows, columns, values


def _most_entries(path: Path) -> int:
    """How many entries a file of this size can hold at most, whatever its head promises."""
    size = path.stat().st_size
    return (packed.most_bytes(size) if packed.is_packed(path) else size) // _SHORTEST + 1
