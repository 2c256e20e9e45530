"""Folders of TopMost: ``train_bow.npz`` or ``train_texts.txt``, the same of the test, labels and ``vocab.txt``."""

from pathlib import Path

import numpy as np
from scipy import sparse as scipy_sparse

from app.ingest import beside, files, read_npz, sparse, tokenised
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.source import CountSource
from engine.contract import TEST, TRAIN, Counts

NAME = "topmost"
DESCRIPTION = "TopMost: a folder with vocab.txt and train_bow.npz or train_texts.txt, also test_..., train_labels.txt"
ACCEPTS = ("vocabulary",)

_NAMES = {"train": TRAIN, "test": TEST}


def recognises(path: Path) -> bool:
    """A folder with a vocabulary and texts or counts of training documents."""
    return path.is_dir() and _has(path, "vocab.txt") and (_has(path, "train_texts.txt") or _has(path, "train_bow.npz"))


def _has(folder: Path, name: str) -> bool:
    return beside.find(folder, [name]) is not None


def read(path: Path, options: ImportOptions) -> CountSource:
    """The counts where the folder has them, else those of its texts; texts are shown with the documents."""
    if not path.is_dir():
        raise IngestError(path, "is a file; give the folder of the corpus, with its vocab.txt")
    named = beside.find(path, ["vocab.txt"]) if options.vocabulary is None else Path(options.vocabulary)
    if named is None:
        raise IngestError(path, "has no vocab.txt in it; put it there, or name one with --vocabulary")
    words = beside.read_words(named, options.encoding)
    notes: list[str] = []
    counts: list[Counts] = []
    texts: list[str] = []
    labels: list[str | None] = []
    sizes: list[int] = []
    for name in _NAMES:
        if name == "test" and not (_has(path, "test_bow.npz") or _has(path, "test_texts.txt")):
            continue
        lines = _lines(path, f"{name}_texts.txt", options.encoding)
        here = _counts(path, name, named, words, lines, notes)
        size = here.n_documents
        counts.append(here)
        sizes.append(size)
        texts += _of_length(path, f"{name}_texts.txt", lines, size) or [""] * size
        said = _lines(path, f"{name}_labels.txt", options.encoding)
        labels += [label or None for label in _of_length(path, f"{name}_labels.txt", said, size) or [""] * size]
    part = np.repeat(np.array(list(_NAMES.values()), np.int8)[: len(sizes)], sizes) if len(sizes) > 1 else None
    return tokenised.source(path, words, sparse.joined(counts), texts, labels, part, notes)


def _counts(
    folder: Path, name: str, vocabulary_path: Path, words: tuple[str, ...], lines: list[str] | None, notes: list[str]
) -> Counts:
    file = beside.find(folder, [f"{name}_bow.npz"])
    if file is not None:
        matrix: scipy_sparse.csr_matrix = read_npz.turned(read_npz.matrix(file), file, vocabulary_path, words)
        return sparse.of_matrix(matrix, file, whole=sparse.is_whole(matrix.data))
    if lines is None:
        raise IngestError(folder, f"has neither {name}_bow.npz nor {name}_texts.txt")
    counts, others = tokenised.counted(lines, words)
    if others:
        notes.append(f"{others:,} words of {name}_texts.txt are not in the vocabulary and left out")
    return counts


def _lines(folder: Path, name: str, encoding: str) -> list[str] | None:
    """The lines of a file; None where there is none."""
    found = beside.find(folder, [name])
    if found is None:
        return None
    return [line.strip() for _, line in files.lines(found, encoding)]


def _of_length(folder: Path, name: str, lines: list[str] | None, size: int) -> list[str] | None:
    """The lines, one for each document."""
    if lines is not None and len(lines) != size:
        raise IngestError(folder / name, f"has {len(lines):,} lines, but there are {size:,} documents")
    return lines
