"""Folders of OCTIS: ``corpus.tsv`` with text, part and label on each line, and ``vocabulary.txt``."""

from pathlib import Path

import numpy as np

from app.ingest import beside, files, tokenised
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.roles import PARTS
from app.ingest.source import LEFT_OUT, CountSource
from engine.contract import TEST, TRAIN

NAME = "octis"
DESCRIPTION = "OCTIS: a folder with corpus.tsv (text, part and label of a document on each line) and vocabulary.txt"
ACCEPTS = ("vocabulary",)

_CORPUS = "corpus.tsv"
_TEXT, _PART, _LABEL = range(3)


def recognises(path: Path) -> bool:
    """A folder with both files."""
    return (
        path.is_dir() and beside.find(path, [_CORPUS]) is not None and beside.find(path, ["vocabulary.txt"]) is not None
    )


def read(path: Path, options: ImportOptions) -> CountSource:
    """The texts, whose words are separated by blanks, counted by the vocabulary."""
    file = beside.find(path, [_CORPUS]) if path.is_dir() else None
    if file is None:
        raise IngestError(path, f"is no folder with {_CORPUS} in it; give the folder of the corpus")
    _, words = beside.vocabulary(file, options, ["vocabulary.txt"])
    texts: list[str] = []
    labels: list[str | None] = []
    parts: list[int | None] = []
    for line, text in files.lines(file, options.encoding):
        if not text.strip():
            continue
        cells = [*text.split("\t"), "", ""]
        said = _part(cells[_PART], file, line)
        if said != LEFT_OUT:
            texts.append(cells[_TEXT])
            parts.append(said)
            labels.append(cells[_LABEL].strip() or None)
    counts, others = tokenised.counted(texts, words)
    notes = [f"{others:,} words of {file.name} are not in the vocabulary and left out"] if others else []
    known = TRAIN in parts and TEST in parts
    part = np.array([TRAIN if each is None else each for each in parts], np.int8) if known else None
    return tokenised.source(path, words, counts, texts, labels, part, notes)


def _part(cell: str, path: Path, line: int) -> int | None:
    said = cell.strip().lower()
    if not said:
        return None
    if said not in PARTS:
        raise IngestError(path, f"the part {cell.strip()[:40]!r} is none of train, val and test", line)
    return PARTS[said]
