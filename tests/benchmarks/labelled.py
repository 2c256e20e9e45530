"""Corpora for classification: the documents that are learned from, and those that are judged."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.benchmarks.peers import build_matrix
from tests.benchmarks.reading import compressed, joined, stops_beside
from topiary.app.ingest import importing, packing
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.source import Array, CountSource, TextSource
from topiary.app.ingest.tables import joining
from topiary.app.ingest.text import cleaning
from topiary.engine.contract import TEST, TRAIN, Counts

CORPORA = ("20news", "imdb", "mnist")
LEAST = 5  # times that a word must occur: in all documents for 20news, in that many training documents for imdb
GREYS = 16  # levels of grey left of 256: a pixel counts 1 to 16
MOST_WORDS = 10_000  # of texts, unless another number is wanted
VALIDATION = 0.25  # share of the training documents of each class held out


class Labelled(NamedTuple):
    """Documents with labels.

    Attributes
    ----------
    name : str
        Which of :data:`CORPORA`.
    learned, judged : Counts
    learned_labels, judged_labels : (documents,) int32
    n_words : int
    label_names : tuple of str
    image_shape : (height, width) or None
    validation : bool
        Whether the judged documents are a part of the training documents; the test documents are then unread.
    """

    name: str
    learned: Counts
    learned_labels: Array
    judged: Counts
    judged_labels: Array
    n_words: int
    label_names: tuple[str, ...]
    image_shape: tuple[int, int] | None
    validation: bool


class Request(NamedTuple):
    """What to read: ``corpus`` None finds out; ``n_words`` and ``stop_words`` are for texts, None as usual."""

    corpus: str | None = None
    validation: bool = False
    n_words: int | None = None
    stop_words: str | None = None


class _Documents(NamedTuple):
    """All documents read: a matrix of counts or a list of texts, and the part of each."""

    rows: Any
    labels: Array
    label_names: tuple[str, ...]
    part: Array
    image_shape: tuple[int, int] | None = None


def read(folder: Path, request: Request) -> Labelled:
    """The corpus in a folder.

    20news: words of the stop list and words under 5 go (33,420 of 61,188 stay).  imdb: words of 5 training documents,
    the most frequent ones.  mnist: pixels in 16 levels of grey.  With ``validation`` the files of the test are not
    opened, test documents in a common file are skipped, and of the training documents of each class the last
    quarter, in the order of the file, is judged instead: what stands side by side is akin (the same week, the same
    film, the same hand), so documents drawn at random would be easier to judge than new ones are.

    Raises
    ------
    IngestError
        When the folder holds none of the corpora, or no labels, or no test documents, or counts whose words are wanted
        otherwise.
    """
    name = request.corpus or _recognised(folder)
    if name != "imdb" and (request.n_words is not None or request.stop_words is not None):
        raise IngestError(folder, f"is {name}, whose vocabulary is a fixed one; leave --words and --stop-words out")
    got = {"20news": _news, "imdb": _reviews, "mnist": _digits}[name](folder, request)
    if got[0].labels.min(initial=0) < 0 or len(got[0].label_names) < 2:
        raise IngestError(folder, "has documents without a label, which classification cannot judge")
    found, n_words = got
    learned, judged = found.part == TRAIN, found.part == TEST
    return Labelled(
        name,
        compressed(found.rows[learned]),
        found.labels[learned],
        compressed(found.rows[judged]),
        found.labels[judged],
        n_words,
        found.label_names,
        found.image_shape,
        request.validation,
    )


def _recognised(folder: Path) -> str:
    names = [path.name for path in (folder.iterdir() if folder.is_dir() else [folder])]
    if any(name.startswith("train.mtx") for name in names):
        return "20news"
    if any("idx3" in name for name in names):
        return "mnist"
    if any(name.endswith((".jsonl.gz", ".jsonl", ".csv.gz", ".csv")) for name in names):
        return "imdb"
    raise IngestError(folder, f"holds none of {', '.join(CORPORA)}")


def _news(folder: Path, request: Request) -> tuple[_Documents, int]:
    found, vocabulary = _counted(folder, "train.mtx", request)
    stops = stops_beside(folder)
    totals = np.asarray(found.rows.sum(axis=0)).ravel()
    kept = (totals >= LEAST) & np.array([word not in stops for word in vocabulary])
    return found._replace(rows=found.rows[:, kept]), int(kept.sum())


def _digits(folder: Path, request: Request) -> tuple[_Documents, int]:
    found, vocabulary = _counted(folder, "train-images", request)
    found.rows.data = np.ceil(found.rows.data * (GREYS / 256.0)).astype(np.int32)
    return found, len(vocabulary)


def _reviews(folder: Path, request: Request) -> tuple[_Documents, int]:
    """Texts; the vocabulary is that of the documents learned from."""
    from sklearn.feature_extraction.text import CountVectorizer

    path = _largest(folder) if folder.is_dir() else folder
    source = importing.read_source(path)
    if not isinstance(source, TextSource):
        raise IngestError(path, "holds no texts")
    texts, names, parts = [], [], []
    for document in source.documents():
        if document.part == TRAIN or (document.part == TEST and not request.validation):
            texts.append(source.counted(document))
            names.append(document.label)
            parts.append(document.part)
    labels, label_names = joining.encode_labels(names, dict(source.classes))
    part = _part(np.array(parts, np.int8), labels, path, request)
    vectoriser = CountVectorizer(
        preprocessor=str,
        token_pattern=cleaning.LETTERS,
        stop_words=sorted(cleaning.read_stop_words(request.stop_words or "english")) or None,
        min_df=LEAST,
        max_features=request.n_words or MOST_WORDS,
        dtype=np.int32,
    )
    vectoriser.fit(text for text, here in zip(texts, part, strict=True) if here == TRAIN)
    rows = vectoriser.transform(texts)
    return _Documents(rows, labels, label_names, part), rows.shape[1]


def _counted(folder: Path, train: str, request: Request) -> tuple[_Documents, tuple[str, ...]]:
    """Documents of a count format; for a validation only the file whose name begins with ``train``."""
    path = folder
    if request.validation:
        named = sorted(each for each in folder.iterdir() if each.name.startswith(train))
        if not named:
            raise IngestError(folder, f"has no file {train}*")
        path = named[0]
    source = importing.read_source(path)
    if not isinstance(source, CountSource):
        raise IngestError(path, "holds no counts")
    runs = list(source.blocks())
    counts = joined([run.counts for run in runs])
    rows = build_matrix(counts, len(source.vocabulary))
    labels = np.concatenate([run.labels for run in runs])
    found = np.full(len(labels), TRAIN, np.int8) if source.part is None else source.part
    part = _part(found, labels, path, request)
    return _Documents(rows, labels, source.label_names, part, source.image_shape), source.vocabulary


def _part(found: Array, labels: Array, path: Path, request: Request) -> Array:
    """Which documents are judged: the file's own test documents, or a part of the training ones."""
    if request.validation:
        return last_of_each(labels, VALIDATION)
    if not {TRAIN, TEST} <= set(found.tolist()):
        raise IngestError(path, "does not say which documents are for training and which for the test")
    return found


def last_of_each(labels: Array, share: float) -> Array:
    """Part of every document, where the last ``share`` of each class is judged."""
    part = np.full(len(labels), TRAIN, np.int8)
    for label in np.unique(labels):
        places = np.flatnonzero(labels == label)
        part[places[len(places) - round(share * len(places)) :]] = TEST
    return part


def _largest(folder: Path) -> Path:
    """The largest table of texts."""
    tables = [each for each in folder.iterdir() if packing.find_suffix(each) in (".jsonl", ".csv")]
    if not tables:
        raise IngestError(folder, "has no .jsonl or .csv file of texts")
    return max(tables, key=lambda each: each.stat().st_size)
