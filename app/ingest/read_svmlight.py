"""svmlight / libsvm: a document is a line ``label word:value word:value ...``, or one without its label."""

import math
from itertools import chain
from pathlib import Path

import numpy as np

from app.ingest import beside, files, parsing, sparse
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.source import CountSource
from engine.contract import Counts

NAME = "svmlight"
DESCRIPTION = (
    "svmlight: NAME.svmlight, .libsvm, .svm or .feat (.gz), or a folder with one for training and one for test"
)
ACCEPTS = ("vocabulary",)


def recognises(path: Path) -> bool:
    """By the ending of the name; a folder by the files in it."""
    if path.is_dir():
        return bool(files.listed(path, recognises))
    return files.suffix(path) in (".svmlight", ".libsvm", ".svm", ".feat")


def read(path: Path, options: ImportOptions) -> CountSource:
    """All documents in memory; word numbers may be in any order, from 1 (from 0 where a 0 occurs)."""
    parts = files.parts(path, recognises, "svmlight")
    loaded = [_load(part.path) for part in parts]
    vocabulary_path, words = beside.vocabulary(parts[0].path, options)
    base = 0 if any((cells.indices == 0).any() for cells in loaded) else 1
    for file, cells in zip(parts, loaded, strict=True):
        parsing.check_cells(cells, (base, len(words) - 1 + base), file.path, 1)
    whole = all(sparse.is_whole(cells.values) for cells in loaded)
    lengths = np.concatenate([cells.lengths for cells in loaded])
    indices = np.concatenate([cells.indices for cells in loaded]).astype(np.int32) - base
    values = np.concatenate([cells.values for cells in loaded])
    counts = sparse.tidy(Counts.of(lengths, indices, values), len(words), path, whole=whole)
    heads = chain.from_iterable(cells.heads.tolist() for cells in loaded)
    labels = beside.encode(map(_label, heads), beside.class_names(vocabulary_path))
    return sparse.source_of(path, parts, [len(cells.heads) for cells in loaded], words, counts, labels)


def _label(head: float) -> str | None:
    return None if math.isnan(head) else beside.number_label(head)


def _load(path: Path) -> parsing.Cells:
    pieces = []
    with files.opened(path) as stream:
        for line, chunk in files.chunks(stream, path):
            if chunk.strip():
                pieces.append(_parse(chunk, path, line))
    if not pieces:
        raise IngestError(path, "is empty")
    return parsing.Cells(*(np.concatenate(arrays) for arrays in zip(*pieces, strict=True)))


def _parse(chunk: bytes, path: Path, line: int) -> parsing.Cells:
    """Whole numbers where possible (an order of magnitude faster), else real ones."""
    whole = b"." not in chunk and b"e" not in chunk
    return parsing.pairs(chunk, path, line, whole=whole, headless=True)
