"""A corpus: documents as sparse counts over a vocabulary, how they are split, and its mini-batches."""

import zlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from topiary.engine import streams
from topiary.engine.contract import VALIDATION, Array, Batch, Counts
from topiary.engine.jit import compiled


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """A frozen corpus.

    Attributes
    ----------
    counts : Counts
        All documents of all parts, with all their tokens (observed and scored).
    vocabulary : tuple of str
        ``V`` words; word ``v`` of ``counts`` is ``vocabulary[v]``.
    part : (documents,) int8
        TRAIN, TEST or VALIDATION.
    scored : Counts or None
        For corpora with held-out tokens of their own: the scored tokens of each document, which ``counts``
        includes.  ``None``: tokens are split by ``split_seed``.
    labels : (documents,) int32
        Class numbers; -1 for a document without a class.
    label_names : tuple of str
        Name of each class.
    split_seed : int
        Seed of the token split, fixed when the corpus was made so that every run shares it.
    image_shape : (height, width) or None
        Size of the image if words are pixels.
    """

    counts: Counts
    vocabulary: tuple[str, ...]
    part: Array
    labels: Array
    label_names: tuple[str, ...] = ()
    scored: Counts | None = None
    split_seed: int = 0
    image_shape: tuple[int, int] | None = None

    @property
    def n_words(self) -> int:
        """The size V of the vocabulary."""
        return len(self.vocabulary)

    def documents(self, part: int) -> Array:
        """Return the numbers of the documents of one part (TRAIN, TEST or VALIDATION), ascending, (n,) int64."""
        return np.flatnonzero(self.part == part)

    def list_lengths(self) -> Array:
        """Return the number of tokens of every document, (documents,) int64; for real values their sum, float64."""
        starts, dtype = self.counts.starts, np.float64 if self.counts.values.dtype.kind == "f" else np.int64
        lengths, filled = np.zeros(len(starts) - 1, dtype), starts[1:] > starts[:-1]
        if filled.any():
            lengths[filled] = np.add.reduceat(self.counts.values, starts[:-1][filled], dtype=dtype)
        return lengths

    def count_tokens(self, part: int) -> int:
        """Return the number of tokens of one part (for real values, their sum)."""
        return int(self.list_lengths()[self.part == part].sum())

    def batch(self, documents: Array) -> Batch:
        """Copy the given documents, with all their tokens, into a Batch."""
        return take_documents(self.counts, documents, self.labels)

    def take_scored(self, documents: Array) -> Batch | None:
        """Return the corpus's own scored tokens of the given documents; None if it has none."""
        return None if self.scored is None else take_documents(self.scored, documents, self.labels)

    def split_tokens(self, documents: Array, scored_share: float = 0.2) -> tuple[Batch, Batch]:
        """Split the given documents into (observed, scored) tokens (models.md 1.4).

        Single tokens are split, not words; real values have no tokens, so whole cells are split.  A corpus
        with scored tokens of its own uses those, unless these are validation documents without any.
        Otherwise ``floor(scored_share * n) + 1`` of the ``n >= 2`` tokens of each document are scored,
        drawn at random by ``(split_seed, document)``.
        """
        whole, scored = self.batch(documents), self.take_scored(documents)
        if scored is not None and (len(scored.words) or not (self.part[documents] == VALIDATION).all()):
            return _subtract_batch(whole, scored), scored
        real = whole.counts.dtype.kind == "f"
        tokens = np.ones(len(whole.words), dtype=np.int32) if real else whole.counts
        picked = _pick_tokens(whole.starts, tokens, whole.documents, scored_share, self.split_seed)
        if real:
            picked = np.where(picked > 0, whole.counts, 0.0).astype(whole.counts.dtype)
        return replace_counts(whole, whole.counts - picked), replace_counts(whole, picked)


def take_documents(counts: Counts, documents: Array, labels: Array) -> Batch:
    """Copy rows of ``counts`` into a Batch, in the given order."""
    documents = np.asarray(documents, dtype=np.int64)
    lengths = counts.starts[documents + 1] - counts.starts[documents]
    n = int(lengths.sum())
    rows = Counts.of(lengths, np.empty(n, dtype=counts.words.dtype), np.empty(n, dtype=counts.values.dtype))
    _copy_cells(counts, documents, rows)
    return rows.batch(documents, labels[documents])


def number_document(words: Array, values: Array) -> int:
    """Return a number for a document outside the corpus, computed from its words and counts, whatever their order.

    It is the key of the document's random draws, so that equal documents always get equal activations.
    """
    order = np.argsort(words, kind="stable")
    return zlib.crc32(values[order].tobytes(), zlib.crc32(words[order].tobytes()))


def list_owners(starts: Array) -> Array:
    """Return the row of each cell, given where the cells of each row begin."""
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def slice_documents(batch: Batch, first: int, last: int) -> Batch:
    """Return documents ``first:last`` of a batch: views, not copies, except for ``starts``."""
    return batch.cells.rows(first, last).batch(batch.documents[first:last], batch.labels[first:last])


def draw_minibatch(seed: int, t: int, documents: Array, size: int, *, filed: bool = False) -> Array:
    """Return the document numbers of mini-batch ``t`` = 1, 2, ...: a pure function of ``(seed, t)``.

    Every epoch is a new permutation of ``documents``; the remainder that fills no mini-batch is skipped.  With
    ``filed`` the first epoch keeps the order of the file, as the authors' released code does.  Beware: files are often
    sorted by class, and then the first topics are learned from one class after another.
    """
    size = min(size, len(documents))
    per_epoch = len(documents) // size
    epoch, number = divmod(t - 1, per_epoch)
    rows = slice(number * size, (number + 1) * size)
    if filed and epoch == 0:
        return documents[rows]
    return documents[_shuffle_epoch(seed, epoch, len(documents))[rows]]


@lru_cache(maxsize=1)
def _shuffle_epoch(seed: int, epoch: int, n_documents: int) -> Array:
    """Return the order of an epoch, cached while the epoch lasts."""
    return streams.make_generator(seed, streams.BATCHES, epoch).permutation(n_documents)


def _subtract_batch(whole: Batch, part: Batch) -> Batch:
    """Return the tokens of ``whole`` that are not in ``part``."""
    remaining = whole.counts.copy()
    bad_row = _subtract_cells(whole.cells, remaining, part.cells)
    if bad_row >= 0:
        raise ValueError(f"document {whole.documents[bad_row]} scores tokens that it does not have")
    return replace_counts(whole, remaining)


def divide_tokens(whole: Batch, share: float, seed: int, step: int) -> tuple[Batch, Batch]:
    """Return the documents in two parts: the tokens of :func:`thin_tokens`, and the others."""
    kept = _thin_cells(whole.starts, whole.counts, whole.documents, share, seed, step)
    return replace_counts(whole, kept), replace_counts(whole, whole.counts - kept)


def replace_counts(whole: Batch, counts: Array) -> Batch:
    """Return the documents with new ``counts``, one per cell, dropping cells whose count is 0."""
    return whole.cells._replace(values=counts).select_cells(counts > 0).batch(whole.documents, whole.labels)


@compiled
def _copy_cells(counts: Counts, documents: Array, out: Counts) -> None:
    """Copy the cells of the given documents to ``out``, whose ``starts`` are set."""
    starts, words, values = out
    for row in range(len(documents)):
        begin = counts.starts[documents[row]]
        for cell in range(starts[row], starts[row + 1]):
            words[cell] = counts.words[begin + cell - starts[row]]
            values[cell] = counts.values[begin + cell - starts[row]]


@compiled
def _subtract_cells(whole: Counts, remaining: Array, part: Counts) -> int:
    """Subtract the counts of ``part`` from ``remaining``; return the first row that lacks some of them, or -1."""
    starts, words = whole.starts, whole.words
    for row in range(len(starts) - 1):
        for cell in range(part.starts[row], part.starts[row + 1]):
            target = starts[row]
            while target < starts[row + 1] and words[target] != part.words[cell]:
                target += 1
            if target == starts[row + 1] or remaining[target] < part.values[cell]:
                return row
            remaining[target] -= part.values[cell]
    return -1


@compiled
def _thin_cells(starts: Array, counts: Array, documents: Array, share: float, seed: int, step: int) -> Array:
    """Return the counts of the tokens that remain, each with probability ``share``."""
    thinned = np.zeros_like(counts)
    for row in range(len(documents)):
        rng = streams.start_stream(seed, streams.SPLIT, step, documents[row])  # step 0 is the split itself
        for cell in range(starts[row], starts[row + 1]):
            for _ in range(np.int64(counts[cell])):
                uniform, rng = streams.draw_uniform(rng)
                thinned[cell] += uniform < share
    return thinned


@compiled
def _pick_tokens(starts: Array, counts: Array, documents: Array, share: float, seed: int) -> Array:
    """Return the counts of the scored tokens of each cell: a fixed number per document, drawn without replacement."""
    picked = np.zeros_like(counts)
    for row in range(len(starts) - 1):
        remaining = np.int64(0)
        for cell in range(starts[row], starts[row + 1]):
            remaining += np.int64(counts[cell])
        n_wanted = np.int64(share * remaining) + 1 if remaining >= 2 else 0
        rng = streams.start_stream(seed, streams.SPLIT, 0, documents[row])
        for cell in range(starts[row], starts[row + 1]):
            for _ in range(np.int64(counts[cell])):
                u, rng = streams.draw_uniform(rng)
                if u * remaining < n_wanted:
                    picked[cell] += 1
                    n_wanted -= 1
                remaining -= 1
    return picked


@compiled
def sort_by_word(words: Array, n_words: int) -> tuple[Array, Array]:
    """Sort cells by word, in document order within a word; return where each word begins, (V + 1,), and the cells."""
    starts = np.zeros(n_words + 1, np.int64)
    for cell in range(len(words)):
        starts[words[cell] + 1] += 1
    for v in range(n_words):
        starts[v + 1] += starts[v]
    order = np.empty(len(words), np.int64)
    next_places = starts[:-1].copy()
    for cell in range(len(words)):
        v = words[cell]
        order[next_places[v]] = cell
        next_places[v] += 1
    return starts, order
