"""Counts of NumPy and SciPy: a sparse matrix (``scipy.sparse.save_npz``) or an array, with a vocabulary beside it."""

import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from scipy import sparse as scipy_sparse

from app.ingest import beside, files, packed, parsing, sparse
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.source import Array, CountSource

NAME = "npz"
DESCRIPTION = "NumPy: NAME.npz of scipy.sparse.save_npz, or NAME.npy, documents x words, with vocab.txt beside it"
ACCEPTS = ("vocabulary",)

_COMPRESSED = ("data", "indices", "indptr", "shape")
_PAIRS = ("data", "row", "col", "shape")
_DIAGONALS = ("data", "offsets", "shape")
_OUTSIDE = "is a sparse matrix with a place outside of it; save it again"
_MOST_EMPTY = 10_000_000  # rows or columns without a count
_BESIDE = ("embedding", "vectors")  # arrays that are no counts, in the name of their file


def recognises(path: Path) -> bool:
    """By the ending of the name; a folder by the files in it."""
    if path.is_dir():
        return bool(files.listed(path, recognises))
    return files.suffix(path) in (".npz", ".npy") and not any(word in path.name.lower() for word in _BESIDE)


def read(path: Path, options: ImportOptions) -> CountSource:
    """All documents in memory; a matrix of words x documents is turned round."""
    parts = files.parts(path, recognises, "npz or npy")
    vocabulary_path, words = beside.vocabulary(parts[0].path, options)
    loaded = [turned(matrix(part.path), part.path, vocabulary_path, words) for part in parts]
    whole = all(sparse.is_whole(each.data) for each in loaded)
    sizes = [each.shape[0] for each in loaded]
    joined = scipy_sparse.vstack(loaded, format="csr") if len(loaded) > 1 else loaded[0]
    counts = sparse.of_matrix(joined, path, whole=whole)
    labels = beside.labels(parts, sizes, beside.class_names(vocabulary_path), options.encoding)
    return sparse.source_of(path, parts, sizes, words, counts, labels, vocabulary_path)


def matrix(path: Path) -> scipy_sparse.csr_matrix:
    """The matrix of a file, its places and values verified.

    Raises
    ------
    IngestError
        When it is damaged, has Python objects in it, or no matrix of counts.
    """
    try:
        with files.seekable(path) as stream:
            found = _loaded(path, stream)
    except (IngestError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - a damaged file can raise anything
        if "allow_pickle" in str(error):
            cause = "has Python objects in it, which could run programs; save numbers only"
            raise IngestError(path, f"{cause}, as scipy.sparse.save_npz and numpy.save do") from None
        said = " ".join(str(error).split())[:120] or type(error).__name__
        raise IngestError(path, f"is no sound file of NumPy ({said}); save or copy it again") from None
    _check_values(found, path)
    return found


def turned(
    found: scipy_sparse.csr_matrix, path: Path, vocabulary_path: Path, words: tuple[str, ...]
) -> scipy_sparse.csr_matrix:
    """The matrix as documents x words; the one of the two that is as long as the vocabulary is the words."""
    rows, columns = found.shape
    if rows == len(words) != columns:
        found = found.T.tocsr()
    beside.check_size(vocabulary_path, words, path, found.shape[1])
    parsing.check_promise(found.shape[0], found.nnz, path, None)
    return found


def _loaded(path: Path, stream: BinaryIO) -> scipy_sparse.csr_matrix:
    if files.suffix(path) == ".npy":
        return _of_array(np.load(stream, allow_pickle=False), path)
    with zipfile.ZipFile(stream) as archive:
        total = sum(info.file_size for info in archive.infolist())
    if total > packed.most_bytes(path.stat().st_size):
        raise IngestError(path, "unpacks to far more than a file of its size should; save it again uncompressed")
    stream.seek(0)
    with np.load(stream, allow_pickle=False) as arrays:
        names = arrays.files
        if any(set(each) <= set(names) for each in (_COMPRESSED, _PAIRS, _DIAGONALS)):
            return _of_parts(arrays, path)
        tables = [name for name in names if arrays[name].ndim == 2]
        if len(tables) != 1:
            listed = ", ".join(names)[:80] or "nothing"
            raise IngestError(path, f"has no sparse matrix and not exactly one table of numbers; it has {listed}")
        return _of_array(arrays[tables[0]], path)


def _of_parts(arrays: Any, path: Path) -> scipy_sparse.csr_matrix:
    """A matrix out of the arrays that SciPy saves."""
    shape = tuple(int(size) for size in arrays["shape"].ravel().tolist())
    if len(shape) != 2 or not all(0 <= size <= parsing.LARGEST for size in shape):
        raise IngestError(path, "is not a matrix of documents x words")
    data = _numbers(arrays["data"], path)
    if max(shape) > data.size + _MOST_EMPTY:  # before room is made for each row
        promised = " x ".join(f"{size:,}" for size in shape)
        raise IngestError(path, f"promises {promised}, but has only {data.size:,} counts; is it damaged?")
    if "offsets" in arrays.files:
        return _of_diagonals(data, arrays["offsets"], shape, path)
    if "row" in arrays.files:
        row, col = arrays["row"], arrays["col"]
        _check_places(row, shape[0], path)
        _check_places(col, shape[1], path)
        return scipy_sparse.coo_matrix((data, (row, col)), shape=shape).tocsr()
    kind = arrays["format"].item() if "format" in arrays.files else b"csr"
    kind = kind.decode() if isinstance(kind, bytes) else str(kind)
    if kind == "bsr":
        return _of_boxes(data, arrays["indices"], arrays["indptr"], shape, path)
    if kind not in ("csr", "csc"):
        raise IngestError(path, f"is a sparse matrix in the form {kind[:20]!r}; save it as csr, csc or coo")
    made = scipy_sparse.csr_matrix if kind == "csr" else scipy_sparse.csc_matrix
    indptr, indices = arrays["indptr"], arrays["indices"]
    if not sparse.is_sound(indptr, indices, data, shape if kind == "csr" else (shape[1], shape[0])):
        raise IngestError(path, _OUTSIDE)
    return made((data, indices, indptr), shape=shape).tocsr()


def _of_diagonals(data: Array, offsets: Array, shape: tuple[int, ...], path: Path) -> scipy_sparse.csr_matrix:
    """A matrix whose diagonals are saved, each with its distance from the one in the middle."""
    sound = data.ndim == 2 and offsets.shape == data.shape[:1] and offsets.dtype.kind in "iu"
    if not sound or len(np.unique(offsets)) < len(offsets) or data.shape[1] > shape[1]:
        raise IngestError(path, _OUTSIDE)
    return scipy_sparse.dia_matrix((data, offsets), shape=shape).tocsr()


def _of_boxes(
    data: Array, indices: Array, indptr: Array, shape: tuple[int, ...], path: Path
) -> scipy_sparse.csr_matrix:
    """A matrix whose cells are saved in boxes of equal size."""
    sound = data.ndim == 3 and 0 not in data.shape[1:] and not any(np.remainder(shape, data.shape[1:]))
    rows, columns = (shape[0] // data.shape[1], shape[1] // data.shape[2]) if sound else (0, 0)
    if not sound or not sparse.is_sound(indptr, indices, indices, (rows, columns)) or len(data) != len(indices):
        raise IngestError(path, _OUTSIDE)
    return scipy_sparse.bsr_matrix((data, indices, indptr), shape=shape).tocsr()


def _of_array(array: Array, path: Path) -> scipy_sparse.csr_matrix:
    if array.ndim != 2:
        raise IngestError(path, f"has an array of {array.ndim} dimensions where documents x words should be")
    return scipy_sparse.csr_matrix(_numbers(array, path))


def _numbers(values: Array, path: Path) -> Array:
    if values.dtype.kind not in "biuf":
        raise IngestError(path, f"has values of the kind {values.dtype}, which are no counts; save numbers")
    return values.astype(np.float64 if values.dtype.kind == "f" else np.int64)


def _check_places(places: Array, limit: int, path: Path) -> None:
    if places.dtype.kind not in "iu" or (len(places) and not (places.min() >= 0 and places.max() < limit)):
        raise IngestError(path, _OUTSIDE)


def _check_values(found: scipy_sparse.csr_matrix, path: Path) -> None:
    parsing.check_values(found.data, path, lambda _: None)
