"""Counts in matrices and arrays: MatrixMarket, NumPy and SciPy, and images in idx files."""

import math
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from scipy import sparse as scipy_sparse

from topiary.app.ingest import files, packing
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.readers import matrices
from topiary.app.ingest.source import BLOCK, Array, CountSource, Reader, Rows, make_untitled
from topiary.app.ingest.tables import joining
from topiary.engine.contract import Counts

_SHORTEST_ENTRY = len(b"1 1\n")  # bytes of the shortest entry


class MtxHeader(NamedTuple):
    """The facts in the banner and the line of sizes of a MatrixMarket file."""

    pattern: bool
    whole: bool
    rows: int
    columns: int
    cells: int
    line: int  # number of the line of sizes


_is_mtx = files.match_endings(".mtx", ".mm")


def read_mtx(path: Path, options: ImportOptions) -> CountSource:
    """Read all documents into memory; a matrix of words x documents is transposed."""
    return _read_matrices(path, files.find_parts(path, _is_mtx, "MatrixMarket"), options, _load_mtx)


def _read_matrices(
    path: Path, parts: list[files.Part], options: ImportOptions, load: Callable[..., scipy_sparse.csr_matrix]
) -> CountSource:
    """Return the documents of all parts, each read by ``load(path, vocabulary_path, words)``."""
    vocabulary_path, words = joining.find_vocabulary(parts[0].path, options)
    loaded = [load(part.path, vocabulary_path, words) for part in parts]
    whole = all(matrices.is_whole(matrix.data) for matrix in loaded)
    joined = scipy_sparse.vstack(loaded, format="csr") if len(loaded) > 1 else loaded[0]
    sizes = [matrix.shape[0] for matrix in loaded]
    loaded.clear()
    counts = matrices.tidy_matrix(joined, path, whole=whole)
    labels = joining.read_labels(parts, sizes, joining.read_class_names(vocabulary_path), options.encoding)
    part, titles = files.number_documents(parts, sizes)
    understood = {"vocabulary": vocabulary_path.name}
    return matrices.make_count_source(path, words, counts, titles, labels, part=part, understood=understood)


def _load_mtx(path: Path, vocabulary_path: Path, words: tuple[str, ...]) -> scipy_sparse.csr_matrix:
    """Return the matrix of a MatrixMarket file as documents x words."""
    with files.open_file(path) as stream:
        header = _read_mtx_header(stream, path)
        rows, columns, values = _read_entries(stream, header, path)
    shape, positions = (header.rows, header.columns), (rows, columns)
    if header.rows == len(words) != header.columns:
        shape, positions = shape[::-1], positions[::-1]
    joining.check_size(vocabulary_path, words, path, shape[1])
    matrices.check_declared_sizes(shape[0], header.cells, path, header.line)
    matrix = scipy_sparse.csr_matrix((values, positions), shape=shape)  # adds up repeated entries, which may overflow
    if header.whole and matrix.data.sum(dtype=np.int64) != values.sum(dtype=np.int64):
        raise IngestError(path, matrices.COUNT_TOO_LARGE)
    return matrix


def _read_mtx_header(stream: BinaryIO, path: Path) -> MtxHeader:
    """Read the banner, comments and line of sizes; raise an error for matrices that are not counts."""
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
    sizes = [size for each in fields if (size := matrices.parse_size(each)) is not None]
    if len(fields) != 3 or len(sizes) != 3:
        cause = f"should be the line of sizes: documents, words, entries, each up to {matrices.LARGEST:,}"
        raise IngestError(path, cause, line)
    rows, columns, cells = sizes
    return MtxHeader(field == "pattern", field != "real", rows, columns, cells, line)


def _read_entries(stream: BinaryIO, header: MtxHeader, path: Path) -> tuple[Array, Array, Array]:
    """Return the rows, columns (from 0) and values of all entries."""
    capacity = min(header.cells, _limit_entries(path))
    rows, columns = np.empty(capacity, np.int32), np.empty(capacity, np.int32)
    values = np.ones(capacity, np.int32 if header.whole else np.float32)
    filled = 0
    for line, chunk in files.read_chunks(stream, path, header.line + 1):
        table = matrices.parse_table(chunk, 2 if header.pattern else 3, path, line, whole=header.whole)
        matrices.check_table(table, (header.rows, header.columns), path, line)
        span = slice(filled, filled + len(table))
        filled += len(table)
        if filled > capacity:
            break
        rows[span], columns[span] = table[:, 0] - 1, table[:, 1] - 1
        if not header.pattern:
            values[span] = table[:, 2]
    if filled != header.cells:
        actual = "more" if filled > header.cells else f"{filled:,}"
        raise IngestError(path, f"promises {header.cells:,} entries, but the file has {actual}", header.line)
    return rows, columns, values


def _limit_entries(path: Path) -> int:
    """Return the largest number of entries that a file of this size can have, whatever its header declares."""
    size = path.stat().st_size
    return (packing.limit_unpacked(size) if packing.is_packed(path) else size) // _SHORTEST_ENTRY + 1


# Names of the arrays in files of SciPy's sparse matrices.
_COMPRESSED = ("data", "indices", "indptr", "shape")
_PAIRS = ("data", "row", "col", "shape")
_DIAGONALS = ("data", "offsets", "shape")
_INVALID_POSITION = "is a sparse matrix with a place outside of it; save it again"
_MOST_EMPTY = 10_000_000  # rows or columns without a count that a matrix may have
_EXTRA = ("embedding", "vectors")  # words in the names of files that do not contain counts


def _is_numpy(path: Path) -> bool:
    return files.find_suffix(path) in (".npz", ".npy") and not any(word in path.name.lower() for word in _EXTRA)


def read_npz(path: Path, options: ImportOptions) -> CountSource:
    """Read all documents into memory; a matrix of words x documents is transposed."""
    return _read_matrices(path, files.find_parts(path, _is_numpy, "npz or npy"), options, load_npz)


def read_matrix(path: Path) -> scipy_sparse.csr_matrix:
    """Return the matrix of a file of NumPy or SciPy, after checking its positions and values.

    Raises
    ------
    IngestError
        When the file is damaged, contains Python objects, or has no matrix of counts.
    """
    with files.open_seekable(path) as stream, files.refuse_damage(path, "file of NumPy", "save or copy it again"):
        try:
            matrix = _load_arrays(path, stream)
        except ValueError as error:
            if "allow_pickle" not in str(error):
                raise
            cause = "has Python objects in it, which could run programs; save numbers only"
            raise IngestError(path, f"{cause}, as scipy.sparse.save_npz and numpy.save do") from None
    matrices.check_values(matrix.data, path, lambda _: None)
    return matrix


def load_npz(path: Path, vocabulary_path: Path, words: tuple[str, ...]) -> scipy_sparse.csr_matrix:
    """Return the matrix of a file as documents x words; the dimension with the vocabulary's length is the words."""
    matrix = read_matrix(path)
    if matrix.shape[0] == len(words) != matrix.shape[1]:
        matrix = matrix.T.tocsr()
    joining.check_size(vocabulary_path, words, path, matrix.shape[1])
    matrices.check_declared_sizes(matrix.shape[0], matrix.nnz, path, None)
    return matrix


def _load_arrays(path: Path, stream: BinaryIO) -> scipy_sparse.csr_matrix:
    """Return the sparse matrix or the only two-dimensional array of a file."""
    if files.find_suffix(path) == ".npy":
        return _make_from_array(np.load(stream, allow_pickle=False), path)
    with zipfile.ZipFile(stream) as archive:
        total = sum(info.file_size for info in archive.infolist())
    if total > packing.limit_unpacked(path.stat().st_size):
        raise IngestError(path, "unpacks to far more than a file of its size should; save it again uncompressed")
    stream.seek(0)
    with np.load(stream, allow_pickle=False) as arrays:
        names = arrays.files
        if any(set(each) <= set(names) for each in (_COMPRESSED, _PAIRS, _DIAGONALS)):
            return _make_compressed(arrays, path)
        tables = [name for name in names if arrays[name].ndim == 2]
        if len(tables) != 1:
            listed = ", ".join(names)[:80] or "nothing"
            raise IngestError(path, f"has no sparse matrix and not exactly one table of numbers; it has {listed}")
        return _make_from_array(arrays[tables[0]], path)


def _make_compressed(arrays: Any, path: Path) -> scipy_sparse.csr_matrix:
    """Return the matrix in the arrays of a file that SciPy saved."""
    shape = tuple(int(size) for size in arrays["shape"].ravel().tolist())
    if len(shape) != 2 or not all(0 <= size <= matrices.LARGEST for size in shape):
        raise IngestError(path, "is not a matrix of documents x words")
    data = _check_numbers(arrays["data"], path)
    if max(shape) > data.size + _MOST_EMPTY:  # checked before memory is allocated for each row
        promised = " x ".join(f"{size:,}" for size in shape)
        raise IngestError(path, f"promises {promised}, but has only {data.size:,} counts; is it damaged?")
    if "offsets" in arrays.files:
        return _make_diagonal(data, arrays["offsets"], shape, path)
    if "row" in arrays.files:
        row, col = arrays["row"], arrays["col"]
        _check_positions(row, shape[0], path)
        _check_positions(col, shape[1], path)
        return scipy_sparse.coo_matrix((data, (row, col)), shape=shape).tocsr()
    layout = arrays["format"].item() if "format" in arrays.files else b"csr"
    layout = layout.decode() if isinstance(layout, bytes) else str(layout)
    if layout == "bsr":
        return _make_blocks(data, arrays["indices"], arrays["indptr"], shape, path)
    if layout not in ("csr", "csc"):
        raise IngestError(path, f"is a sparse matrix in the form {layout[:20]!r}; save it as csr, csc or coo")
    matrix_type = scipy_sparse.csr_matrix if layout == "csr" else scipy_sparse.csc_matrix
    indptr, indices = arrays["indptr"], arrays["indices"]
    if not matrices.is_valid_compressed(indptr, indices, data, shape if layout == "csr" else (shape[1], shape[0])):
        raise IngestError(path, _INVALID_POSITION)
    return matrix_type((data, indices, indptr), shape=shape).tocsr()


def _make_diagonal(data: Array, offsets: Array, shape: tuple[int, ...], path: Path) -> scipy_sparse.csr_matrix:
    """Return a matrix saved by its diagonals and their offsets from the main diagonal."""
    valid = data.ndim == 2 and offsets.shape == data.shape[:1] and offsets.dtype.kind in "iu"
    if not valid or len(np.unique(offsets)) < len(offsets) or data.shape[1] > shape[1]:
        raise IngestError(path, _INVALID_POSITION)
    return scipy_sparse.dia_matrix((data, offsets), shape=shape).tocsr()


def _make_blocks(
    data: Array, indices: Array, indptr: Array, shape: tuple[int, ...], path: Path
) -> scipy_sparse.csr_matrix:
    """Return a matrix saved in dense blocks of equal size."""
    valid = data.ndim == 3 and 0 not in data.shape[1:] and not any(np.remainder(shape, data.shape[1:]))
    rows, columns = (shape[0] // data.shape[1], shape[1] // data.shape[2]) if valid else (0, 0)
    if (
        not valid
        or not matrices.is_valid_compressed(indptr, indices, indices, (rows, columns))
        or len(data) != len(indices)
    ):
        raise IngestError(path, _INVALID_POSITION)
    return scipy_sparse.bsr_matrix((data, indices, indptr), shape=shape).tocsr()


def _make_from_array(array: Array, path: Path) -> scipy_sparse.csr_matrix:
    if array.ndim != 2:
        raise IngestError(path, f"has an array of {array.ndim} dimensions where documents x words should be")
    return scipy_sparse.csr_matrix(_check_numbers(array, path))


def _check_numbers(values: Array, path: Path) -> Array:
    """Return values as float64 or int64; raise an error if they are not numbers."""
    if values.dtype.kind not in "biuf":
        raise IngestError(path, f"has values of the kind {values.dtype}, which are no counts; save numbers")
    return values.astype(np.float64 if values.dtype.kind == "f" else np.int64)


def _check_positions(positions: Array, limit: int, path: Path) -> None:
    """Raise an error if positions are not whole numbers from 0 to below ``limit``."""
    if positions.dtype.kind not in "iu" or (len(positions) and not (positions.min() >= 0 and positions.max() < limit)):
        raise IngestError(path, _INVALID_POSITION)


IMAGES, LABELS = 0x803, 0x801  # magic numbers: unsigned bytes, three dimensions and one
HALF_BRIGHT = 128  # the least grey value of a bright pixel


def is_idx(path: Path) -> bool:
    """Return whether a file begins with the magic number of idx images."""
    return files.read_start(path)[:4] == IMAGES.to_bytes(4, "big")


recognise_idx = files.make_recogniser(is_idx, lambda file: "idx3" in file.name and is_idx(file))


def read_idx(path: Path, options: ImportOptions) -> CountSource:
    """Read images: grey values 0..255 as real numbers, with ``levels`` as counts, with ``binary`` as bright pixels."""
    parts = files.find_parts(path, is_idx, "idx image")
    images = [_load_idx(part.path, IMAGES) for part in parts]
    shapes = {each.shape[1:] for each in images}
    if len(shapes) > 1:
        raise IngestError(path, f"has images of different sizes: {' and '.join(map(str, sorted(shapes)))}")
    height, width = shapes.pop()
    names = joining.read_class_names(path, options.encoding)
    labels, label_names = joining.encode_labels(_read_image_labels(parts, images), names)
    part, titles = files.number_documents(parts, [len(each) for each in images])
    return CountSource(
        where=str(path),
        vocabulary=tuple(f"r{row}c{column}" for row in range(1, height + 1) for column in range(1, width + 1)),
        blocks=lambda: _read_image_blocks(images, labels, titles, options),
        n_documents=len(titles),
        label_names=label_names,
        kind="binary" if options.binary else "counts" if options.levels else "real",
        image_shape=(height, width),
        part=part,
    )


def _read_image_blocks(images: list[Array], labels: Array, titles: list[str], options: ImportOptions) -> Iterator[Rows]:
    """Yield blocks of images as documents whose words are pixels."""
    first = 0
    for stack in images:
        for start in range(0, len(stack), BLOCK):
            flat = stack[start : start + BLOCK].reshape(-1, stack[0].size)
            scaled = _scale_pixels(flat, options)
            rows, pixels = np.nonzero(scaled)
            lengths = np.bincount(rows, minlength=len(flat))
            span = slice(first + start, first + start + len(flat))
            counts = Counts.of(lengths, pixels.astype(np.int32), scaled[rows, pixels])
            yield make_untitled(counts, span.start)._replace(labels=labels[span], titles=titles[span])
        first += len(stack)


def _scale_pixels(grey: Array, options: ImportOptions) -> Array:
    """Return the values of pixels that are stored: whole numbers with ``binary`` or ``levels``, else real ones."""
    if options.binary:
        return (grey >= HALF_BRIGHT).astype(np.int32)
    if options.levels:
        return np.rint(grey * (options.levels / 255.0)).astype(np.int32)
    return grey.astype(np.float32)


def _read_image_labels(parts: list[files.Part], images: list[Array]) -> list[str | None]:
    """Return the label of each image, None for those of files without a file of labels."""
    raw: list[str | None] = []
    for part, stack in zip(parts, images, strict=True):
        name = part.path.name.replace("images", "labels").replace("idx3", "idx1")
        label_file = (
            joining.find_beside(part.path.parent, [packing.strip_packing(name)]) if name != part.path.name else None
        )
        if label_file is None:
            raw += [None] * len(stack)
            continue
        labels = _load_idx(label_file, LABELS)
        if len(labels) != len(stack):
            raise IngestError(label_file, f"has {len(labels):,} labels, but {part.path.name} has {len(stack):,} images")
        raw += [str(label) for label in labels.tolist()]
    return raw


def _load_idx(path: Path, magic: int) -> Array:
    """Return the array of an idx file of unsigned bytes."""
    dimensions = magic & 0xFF
    with files.open_file(path) as stream:
        header = stream.read(4 * (1 + dimensions))
        if len(header) < 4 * (1 + dimensions) or int.from_bytes(header[:4], "big") != magic:
            raise IngestError(path, f"does not begin with the number {magic} of an idx file of bytes")
        shape = np.frombuffer(header, ">u4", dimensions, 4).tolist()
        if 0 in shape[1:]:
            raise IngestError(path, f"has images of {' x '.join(map(str, shape[1:]))} pixels; is it damaged?")
        n_bytes = math.prod(shape)
        raw = files.read_up_to(stream, n_bytes)
        extra = stream.read(1)
    if len(raw) != n_bytes or extra:
        actual = "more bytes" if extra else f"{len(raw):,} bytes"
        cause = f"has {actual}, but its head promises {' x '.join(map(str, shape))}"
        raise IngestError(path, f"{cause}; copy or download it again")
    return np.frombuffer(raw, np.uint8).reshape(shape)


_MTX_FILES = "MatrixMarket: NAME.mtx or gensim's NAME.mm with its vocabulary or dictionary, or train.mtx and test.mtx"
_NPZ_FILES = "NumPy: NAME.npz of scipy.sparse.save_npz, or NAME.npy, documents x words, with vocab.txt next to it"
_IDX_FILES = "idx images (MNIST): a folder with *-images-idx3-ubyte and *-labels-idx1-ubyte files (.gz)"
READERS = (
    Reader("mtx", _MTX_FILES, ("vocabulary",), files.make_recogniser(_is_mtx), read_mtx),
    Reader("npz", _NPZ_FILES, ("vocabulary",), files.make_recogniser(_is_numpy), read_npz),
    Reader("idx", _IDX_FILES, ("levels",), recognise_idx, read_idx),
)
