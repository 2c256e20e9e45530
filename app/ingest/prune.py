"""Which words of a vocabulary are kept."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from app.ingest import causes
from app.ingest.cuts import Limits, Vocabulary
from app.ingest.errors import IngestError
from app.ingest.observing import Observer
from app.ingest.options import ImportOptions
from app.ingest.source import Array, CountSource, Rows
from app.ingest.words import stop_list
from engine.contract import Counts
from engine.quality.background import find_common_words

_MANY = 200  # documents from which a word can be said to be everywhere
_NAMED = 8  # words named of those that are


def keep(
    document_counts: Array, totals: Array, n_documents: int, min_df: int, max_df: float, most: int | None
) -> Array:
    """Numbers of the words to keep, the most frequent first; equals stay in their order.

    Parameters
    ----------
    document_counts, totals : (V,)
        In how many documents a word occurs, and how often altogether.

    >>> keep(np.array([1, 3, 2, 4]), np.array([9, 3, 5, 4]), 4, 2, 0.9, None)
    array([2, 1])
    """
    fits = np.flatnonzero((document_counts >= min_df) & (document_counts <= max_df * n_documents))
    ranked = fits[np.argsort(-totals[fits], kind="stable")]
    return ranked if most is None else ranked[:most]


def common(document_counts: Array, totals: Array, lengths: Array, vocabulary: Sequence[str], notes: list[str]) -> Array:
    """Numbers of the words that the corpus puts everywhere, and a note that they are left out."""
    found = find_common_words(document_counts, totals, lengths)
    ranked = found[np.argsort(-document_counts[found], kind="stable")]
    if len(ranked):
        are = "1 word that is" if len(ranked) == 1 else f"{len(ranked)} words that are"
        notes.append(f"{are} everywhere left out: {' '.join(vocabulary[word] for word in ranked.tolist())}")
    return found


def propose(
    kept: Array, document_counts: Array, totals: Array, lengths: Array, vocabulary: Sequence[str], notes: list[str]
) -> None:
    """Note which of the kept words the corpus puts everywhere, and how to leave them out; of few documents nothing."""
    if len(lengths) < _MANY:
        return
    everywhere = set(find_common_words(document_counts, totals, lengths).tolist())
    ranked = [word for word in kept[np.argsort(-document_counts[kept], kind="stable")].tolist() if word in everywhere]
    if ranked:
        are = "1 word is" if len(ranked) == 1 else f"{len(ranked):,} words are"
        named = f"{', '.join(vocabulary[word] for word in ranked[:_NAMED])}{', …' if len(ranked) > _NAMED else ''}"
        notes.append(
            f"{are} everywhere in this corpus and may say little ({named}); --leave-out-common leaves them out"
        )


def asked_for(options: ImportOptions) -> bool:
    """Whether the options say something about the vocabulary of a count format, kept whole otherwise."""
    cut = any(value is not None for value in (options.min_df, options.max_df, options.max_words))
    return cut or options.leave_out_common or options.stop_words not in (None, "none")


def pruned(source: CountSource, options: ImportOptions, observer: Observer | None = None) -> CountSource:
    """The source with only the words that the options leave, in their old order; reads the counts once.

    The observer, where there is one, is told what the cuts take away.
    """
    n_words = len(source.vocabulary)
    document_counts, totals, lengths = np.zeros(n_words, np.int64), np.zeros(n_words), [np.zeros(0)]
    if options.leave_out_common and (source.kind == "real" or source.image_shape is not None):
        raise IngestError(source.where, "has no words that were counted; leave --leave-out-common out")
    for rows in source.blocks():
        tokens = np.concatenate([[0], np.cumsum(rows.counts.values, dtype=np.float64)])
        lengths.append(np.diff(tokens[rows.counts.starts]))
        document_counts += np.bincount(rows.counts.words, minlength=n_words)
        totals += np.bincount(rows.counts.words, weights=rows.counts.values, minlength=n_words)
    stops = stop_list(options.stop_words or "none")
    limits = Limits(options.stop_words or "none", options.min_df or 1, options.max_df or 1.0, options.max_words,
                    options.leave_out_common)  # fmt: skip
    stopped = np.array([word.lower() in stops for word in source.vocabulary])
    document_counts[stopped] = 0
    everywhere = np.empty(0, np.int64)
    if options.leave_out_common:
        everywhere = common(document_counts, totals, np.concatenate(lengths), source.vocabulary, source.notes)
    if observer is not None:
        observer.take(_met(source, document_counts, totals, stopped, everywhere), limits)
    document_counts[everywhere] = 0
    kept = np.sort(keep(document_counts, totals, source.n_documents, limits.min_df, limits.max_df, limits.max_words))
    if len(kept) == 0:
        cause = "no word is left; ask for less with --min-df, --max-df and --stop-words"
        raise IngestError(source.where, causes.of_cuts(observer) if observer is not None and observer.cuts else cause)
    new_number = np.full(n_words, -1, np.int32)
    new_number[kept] = np.arange(len(kept))
    return replace(
        source,
        vocabulary=tuple(source.vocabulary[word] for word in kept),
        blocks=lambda: _renumbered(source, new_number),
    )


def _met(source: CountSource, document_counts: Array, totals: Array, stopped: Array, everywhere: Array) -> Vocabulary:
    """The words of a source as the cuts see them, stop words apart."""
    others = np.flatnonzero(~stopped)
    words = np.array(source.vocabulary, dtype=object)
    met = {word: int(times) for word, times in zip(words[stopped], totals[stopped], strict=True)}
    common = np.flatnonzero(np.isin(others, everywhere))
    return Vocabulary(words[others].tolist(), document_counts[others], totals[others], source.n_documents, met, common)


def _renumbered(source: CountSource, new_number: Array) -> Iterator[Rows]:
    for rows in source.blocks():
        scored = None if rows.scored is None else _cells(rows.scored, new_number)
        yield rows._replace(counts=_cells(rows.counts, new_number), scored=scored)


def _cells(counts: Counts, new_number: Array) -> Counts:
    words = new_number[counts.words]
    return counts._replace(words=words).only(words >= 0)
