"""MATLAB files of the deep topic model papers: sparse matrices of words x documents, and a vocabulary."""

import zlib
from pathlib import Path
from typing import Any

import numpy as np
from scipy import io
from scipy import sparse as scipy_sparse
from scipy.io.matlab import MatReadError

from app.ingest import beside, files, parsing, sparse
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.source import Array, CountSource
from engine.contract import TEST, TRAIN

NAME = "mat"
DESCRIPTION = "MATLAB: NAME.mat with wordsTrain, vocabulary and, for test documents, wordsHeldout and wordsTest"
ACCEPTS: tuple[str, ...] = ()

TRAINING, OBSERVED, SCORED = "wordsTrain", "wordsHeldout", "wordsTest"


def recognises(path: Path) -> bool:
    """By the ending of the name; a folder by the file in it."""
    if path.is_dir():
        return len(files.listed(path, recognises)) == 1
    return path.suffix.lower() == ".mat"


def read(path: Path, options: ImportOptions) -> CountSource:  # noqa: ARG001 - the signature of every reader
    """Training documents, then test documents with their observed and scored tokens.

    In these files ``wordsHeldout`` is what is *observed* of a test document and ``wordsTest`` what is
    *scored*; the corpus gets their sum, and the scored part beside it.
    """
    (path, _), *_ = files.parts(path, recognises, "MATLAB")
    found = _load(path)
    words = _strings(found, "vocabulary", path)
    train = _matrix(found, TRAINING, path, len(words))
    has_test = OBSERVED in found and SCORED in found
    part = np.full(train.shape[0], TRAIN, np.int8)
    whole, scored = train, None
    if has_test:
        held = _matrix(found, SCORED, path, len(words))
        seen = _matrix(found, OBSERVED, path, len(words))
        if seen.shape != held.shape:
            cause = f"{OBSERVED} has {seen.shape[0]:,} documents, but {SCORED} has {held.shape[0]:,}"
            raise IngestError(path, f"{cause}; they must be two parts of the same documents")
        part = np.concatenate([part, np.full(held.shape[0], TEST, np.int8)])
        both = seen.astype(np.int64) + held
        sparse.check_counts(both.data, path)
        whole = scipy_sparse.vstack([train, both.astype(np.int32)], format="csr")
        nothing = scipy_sparse.csr_matrix(train.shape, dtype=held.dtype)
        scored = sparse.of_matrix(scipy_sparse.vstack([nothing, held], format="csr"), path)
    counts = sparse.of_matrix(whole, path)
    labels, label_names = _labels(found, path, len(part), train.shape[0])
    titles = [f"train {n + 1}" if n < train.shape[0] else f"test {n - train.shape[0] + 1}" for n in range(len(part))]
    return CountSource(
        where=str(path),
        vocabulary=words,
        blocks=lambda: sparse.blocks(counts, labels=labels, titles=titles, scored=scored),
        n_documents=len(part),
        label_names=label_names,
        part=part if has_test else None,
        has_scored=has_test,
    )


def _load(path: Path) -> dict[str, Any]:
    if files.start(path, 6) != b"MATLAB":
        raise IngestError(path, "is not a MATLAB file of version 5 or later")
    try:
        found: dict[str, Any] = io.loadmat(path, chars_as_strings=True)
    except NotImplementedError:  # how scipy says that the file is of 7.3, which is HDF5 inside
        raise IngestError(path, "is a MATLAB 7.3 file; save it in MATLAB with -v7 and import that") from None
    except (MatReadError, OSError, ValueError, TypeError, LookupError, EOFError, zlib.error) as error:
        raise IngestError(path, f"is a MATLAB file that cannot be read ({error})") from None
    missing = [name for name in (TRAINING, "vocabulary") if name not in found]
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
    turned = scipy_sparse.csr_matrix(matrix.T)
    data = turned.data
    if not np.all((data >= 0) & (data == np.floor(data)) & (data <= parsing.LARGEST)):
        cause = f"{name} has a value that is negative, not whole or above {parsing.LARGEST:,}"
        raise IngestError(path, f"{cause}, so it is not a matrix of counts")
    return turned.astype(np.int32)


def _numeric(found: dict[str, Any], name: str, path: Path) -> Any:
    """A matrix, dense or sparse, that holds numbers and not characters, cells or structures."""
    matrix = found[name]
    if matrix.dtype.kind not in "biuf":
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


def _labels(found: dict[str, Any], path: Path, documents: int, n_train: int) -> tuple[Array, tuple[str, ...]]:
    raw = [_labels_of(found, name, path) for name in ("labelsTrain", "labelsTest") if name in found]
    if not raw:
        return np.full(documents, -1, np.int32), ()
    if [len(each) for each in raw] != [n_train, documents - n_train][: len(raw)] or sum(map(len, raw)) != documents:
        raise IngestError(path, "labelsTrain and labelsTest do not have one label for each document")
    names = _strings(found, "labelsToGroup", path) if "labelsToGroup" in found else ()
    numbered = {str(number): name for number, name in enumerate(names, 1)}
    return beside.encode((beside.number_label(label) for each in raw for label in each.tolist()), numbered)


def _labels_of(found: dict[str, Any], name: str, path: Path) -> Array:
    labels = _numeric(found, name, path)
    dense: Array = labels.toarray() if scipy_sparse.issparse(labels) else labels
    return dense.ravel()
