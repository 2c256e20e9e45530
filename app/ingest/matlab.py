"""What is in a MATLAB file, as plain arrays; damaged files crash the library, so `app.ingest.apart` runs this apart."""

import zlib
from pathlib import Path
from typing import Any

import numpy as np
from scipy import io
from scipy import sparse as scipy_sparse
from scipy.io.matlab import MatReadError

from app.ingest import apart
from app.ingest.errors import IngestError
from app.ingest.files import seekable, start
from app.ingest.parsing import LARGEST, MOST_WORDLESS
from app.ingest.source import Array

TRAINING, OBSERVED, SCORED = "wordsTrain", "wordsHeldout", "wordsTest"
VOCABULARY, NAMES = "vocabulary", "labelsToGroup"
LABELS = ("labelsTrain", "labelsTest")
PARTS = ("data", "indices", "indptr", "shape")  # of a matrix, as documents x words


def arrays(path: Path) -> dict[str, Array]:
    """The variables of a corpus: matrices in their `PARTS`, ``wordsTrain.data``, and lists of strings and labels.

    Raises
    ------
    IngestError
        When the file cannot be read, or one of its variables is of the wrong kind.
    """
    loaded = _load(path)
    words = _strings(loaded, VOCABULARY, path)
    found: dict[str, Array] = {VOCABULARY: apart.as_array(words)}
    matrices = [TRAINING, *((OBSERVED, SCORED) if OBSERVED in loaded and SCORED in loaded else ())]
    for name in matrices:
        matrix = _matrix(loaded, name, path, len(words))
        found |= {
            f"{name}.{part}": np.asarray(value)
            for part, value in zip(PARTS, (matrix.data, matrix.indices, matrix.indptr, matrix.shape), strict=True)
        }
    found |= {name: _labels_of(loaded, name, path) for name in LABELS if name in loaded}
    if NAMES in loaded:
        found[NAMES] = apart.as_array(_strings(loaded, NAMES, path))
    return found


def _load(path: Path) -> dict[str, Any]:
    if start(path, 6) != b"MATLAB":
        raise IngestError(path, "is not a MATLAB file of version 5 or later")
    try:
        with seekable(path) as stream:
            found: dict[str, Any] = io.loadmat(stream, chars_as_strings=True)
    except NotImplementedError:  # how scipy says that the file is of 7.3, which is HDF5 inside
        raise IngestError(path, "is a MATLAB 7.3 file; save it in MATLAB with -v7 and import that") from None
    except (IngestError, MemoryError):
        raise
    except (MatReadError, OSError, ValueError, TypeError, LookupError, EOFError, zlib.error) as error:
        raise IngestError(path, f"is a MATLAB file that cannot be read ({error})") from None
    except Exception as error:  # noqa: BLE001 - a damaged file can raise anything
        raise IngestError(path, f"is a MATLAB file that cannot be read ({type(error).__name__})") from None
    missing = [name for name in (TRAINING, VOCABULARY) if name not in found]
    if missing:
        present = ", ".join(name for name in found if not name.startswith("__")) or "nothing"
        raise IngestError(path, f"has no variable {' and no '.join(missing)}; it has {present}")
    return found


def _matrix(found: dict[str, Any], name: str, path: Path, n_words: int) -> scipy_sparse.csr_matrix:
    """One matrix of words x documents, turned to documents x words."""
    matrix = _numeric(found, name, path)
    if matrix.ndim != 2 or matrix.shape[0] != n_words:
        cause = (
            f"{name} is {' x '.join(map(str, matrix.shape))}, but should have one row for each of the {n_words:,} words"
        )
        raise IngestError(path, f"{cause} of vocabulary")
    turned = _turned(matrix, name, path)
    data = turned.data
    if not np.all((data >= 0) & (data == np.floor(data)) & (data <= LARGEST)):
        cause = f"{name} has a value that is negative, not whole or above {LARGEST:,}"
        raise IngestError(path, f"{cause}, so it is not a matrix of counts")
    return turned.astype(np.int32)


def _turned(matrix: Any, name: str, path: Path) -> scipy_sparse.csr_matrix:
    """The matrix as documents x words; one whose places are damaged would otherwise be written beyond its memory."""
    documents, cells = matrix.shape[1], matrix.nnz if scipy_sparse.issparse(matrix) else matrix.size
    if documents > cells + MOST_WORDLESS:
        raise IngestError(path, f"{name} has {documents:,} documents, but only {cells:,} counts; is it damaged?")
    try:
        if scipy_sparse.issparse(matrix):
            matrix.check_format(full_check=True)
    except (ValueError, IndexError):
        raise IngestError(path, f"{name} is a sparse matrix with a place outside of it; save the file again") from None
    return scipy_sparse.csr_matrix(matrix.T)


def _numeric(found: dict[str, Any], name: str, path: Path) -> Any:
    """A matrix, dense or sparse, that holds numbers and not characters, cells or structures."""
    matrix = found[name]
    if getattr(getattr(matrix, "dtype", None), "kind", "") not in set("biuf"):
        raise IngestError(path, f"{name} is not a matrix of numbers; save it as one")
    return matrix


def _strings(found: dict[str, Any], name: str, path: Path) -> tuple[str, ...]:
    """A cell array of strings, or a matrix of characters."""
    texts = []
    for item in np.asarray(found[name]).ravel():
        value = item.ravel() if isinstance(item, np.ndarray) else [item]
        if len(value) != 1 or not isinstance(value[0], str):
            raise IngestError(path, f"{name} has an item that is not a string")
        texts.append(value[0].strip())
    return tuple(texts)


def _labels_of(found: dict[str, Any], name: str, path: Path) -> Array:
    labels = _numeric(found, name, path)
    dense: Array = labels.toarray() if scipy_sparse.issparse(labels) else labels
    return dense.ravel()
