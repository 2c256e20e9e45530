"""MATLAB files of the deep topic model papers: sparse matrices of words x documents, and a vocabulary."""

from pathlib import Path

import numpy as np
from scipy import sparse as scipy_sparse

from app.ingest import apart, beside, files, matlab, sparse
from app.ingest.errors import IngestError
from app.ingest.matlab import OBSERVED, SCORED, TRAINING
from app.ingest.options import ImportOptions
from app.ingest.source import Array, CountSource
from engine.contract import TEST, TRAIN

NAME = "mat"
DESCRIPTION = "MATLAB: NAME.mat with wordsTrain, vocabulary and, for test documents, wordsHeldout and wordsTest"
ACCEPTS: tuple[str, ...] = ()


def recognises(path: Path) -> bool:
    """By the ending of the name; a folder by the file in it."""
    if path.is_dir():
        return len(files.listed(path, recognises)) == 1
    return files.suffix(path) == ".mat"


def read(path: Path, options: ImportOptions) -> CountSource:  # noqa: ARG001 - the signature of every reader
    """Training documents, then test documents with their observed and scored tokens.

    In these files ``wordsHeldout`` is what is *observed* of a test document and ``wordsTest`` what is
    *scored*; the corpus gets their sum, and the scored part beside it.
    """
    (path, _), *_ = files.parts(path, recognises, "MATLAB")
    found = apart.arrays("matlab", path)
    words = tuple(apart.texts(found[matlab.VOCABULARY]))
    train = _csr(found, TRAINING)
    has_test = f"{SCORED}.data" in found
    part = np.full(train.shape[0], TRAIN, np.int8)
    whole, scored = train, None
    if has_test:
        held, seen = _csr(found, SCORED), _csr(found, OBSERVED)
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


def _csr(found: dict[str, Array], name: str) -> scipy_sparse.csr_matrix:
    data, indices, indptr, shape = (found[f"{name}.{part}"] for part in matlab.PARTS)
    return scipy_sparse.csr_matrix((data, indices, indptr), shape=tuple(shape.tolist()))


def _labels(found: dict[str, Array], path: Path, documents: int, n_train: int) -> tuple[Array, tuple[str, ...]]:
    raw = [found[name] for name in matlab.LABELS if name in found]
    if not raw:
        return np.full(documents, -1, np.int32), ()
    if [len(each) for each in raw] != [n_train, documents - n_train][: len(raw)] or sum(map(len, raw)) != documents:
        raise IngestError(path, "labelsTrain and labelsTest do not have one label for each document")
    names = apart.texts(found[matlab.NAMES]) if matlab.NAMES in found else []
    numbered = {str(number): name for number, name in enumerate(names, 1)}
    return beside.encode((beside.number_label(label) for each in raw for label in each.tolist()), numbered)
