"""Completion of documents (or rows of a table) from a tenth of their cells: the protocol of the DEF paper.

Ranganath, Tang, Charlin and Blei, "Deep exponential families" (AISTATS 2015), section 6: a tenth of each test document
is observed, its units are fitted to that tenth with the weights fixed, and the other cells are scored under the
normalised mean rates.  The split is by cell (a document and a word): all tokens of a word are on the same side.
Results are not comparable with those of other protocols.  The protocol applies to every model of :mod:`engine.models`.
"""

from typing import Any, NamedTuple

import numpy as np

from topiary.engine import streams
from topiary.engine.contract import Array, Batch, Counts, FloatArray, Kernel, Rates, Sweeps
from topiary.engine.corpus import list_owners
from topiary.engine.jit import compiled

SHARE = 0.1  # share of the cells of a document that are observed
LENGTH = 20  # steps between two checks for the end of a fit
MOST = 400  # most steps of a fit
TOLERANCE = 1e-3  # relative change of perplexity at which a fit ends


class CompletionFit(NamedTuple):
    """A fit to observed cells: ``perplexity`` of the others, their ``rates``, and the number of ``steps``."""

    perplexity: float
    rates: Rates
    steps: int


def split_cells(seed: int, docs: Batch, share: float = SHARE) -> tuple[Batch, Batch]:
    """Divide the cells of every document at random into observed and scored ones.

    A document of two or more cells has at least one on each side; a single cell is observed.  The division of a
    document depends on its number alone.
    """
    observed = np.zeros(len(docs.words), dtype=np.bool_)
    _choose_cells(seed, share, docs.starts, np.asarray(docs.documents, dtype=np.int64), observed)
    batches = [docs.cells.select_cells(cells).batch(docs.documents, docs.labels) for cells in (observed, ~observed)]
    return batches[0], batches[1]


@compiled
def _choose_cells(seed: int, share: float, starts: Array, numbers: Array, observed: Array) -> None:
    """Mark the observed cells of every document."""
    for j in range(len(numbers)):
        begin, end = starts[j], starts[j + 1]
        if end == begin:
            continue
        chances = np.empty(end - begin)
        rng = streams.start_stream(seed, streams.SPLIT, 0, numbers[j])
        for i in range(end - begin):
            chances[i], rng = streams.draw_uniform(rng)
        n_observed = max(1, int(np.floor(share * (end - begin) + 0.5)))
        if end - begin > 1:
            n_observed = min(n_observed, end - begin - 1)
        order = np.argsort(chances)
        for i in range(n_observed):
            observed[begin + order[i]] = True


def compute_perplexity(rates: FloatArray, totals: FloatArray, observed: FloatArray, scored: Counts) -> float:
    """Return ``exp(-mean ln p)`` of the scored tokens under the rates of each document, normalised over unseen words.

    Parameters
    ----------
    rates : (cells,)
        Rates of the scored cells.
    totals : (documents,)
        Summed rates of all words.
    observed : (documents,)
        Summed rates of the observed words, which a scored token cannot be.
    scored : Counts
    """
    if not len(scored.words):
        return float("nan")
    remaining = np.repeat(np.maximum(totals - observed, 1e-300), np.diff(scored.starts))
    logs = np.log(np.maximum(rates, 1e-300) / remaining)
    return float(np.exp(-(scored.values * logs).sum() / scored.values.sum(dtype=np.float64)))


def complete_documents(
    kernel: Kernel, seed: int, state: Any, observed: Batch, scored: Batch, *, every: bool = True
) -> CompletionFit:
    """Fit documents to their observed cells until the perplexity of the others settles.

    Parameters
    ----------
    kernel, seed, state
        A model and its topics.
    observed, scored : Batch
        As from :func:`split_cells`.
    every : bool
        True to normalise rates over all words, as in the paper; False: over the words that were not observed.
    """
    chain = kernel.start_chain(seed, state, observed)
    all_cells, is_scored = _merge_cells(observed, scored)
    previous, steps = float("inf"), 0
    while True:
        chain, rates = kernel.advance_chain(seed, state, chain, observed, all_cells, Sweeps(0, LENGTH))
        steps += LENGTH
        cells = rates.cells[is_scored]
        excluded = _sum_cells(rates.cells[~is_scored], observed.cells) * (0.0 if every else 1.0)
        perplexity = compute_perplexity(cells, rates.totals, excluded, scored.cells)
        if steps >= MOST or not abs(previous - perplexity) > TOLERANCE * perplexity:
            return CompletionFit(perplexity, Rates(cells, rates.totals), steps)
        previous = perplexity


def _merge_cells(observed: Batch, scored: Batch) -> tuple[Batch, Array]:
    """Return the cells of both batches, document by document, and a mask of those that are scored."""
    owners = np.concatenate([list_owners(batch.starts) for batch in (observed, scored)])
    is_scored = np.arange(len(owners)) >= len(observed.words)
    order = np.argsort(owners, kind="stable")
    counts = Counts.of(
        np.diff(observed.starts) + np.diff(scored.starts),
        np.concatenate([observed.words, scored.words])[order],
        np.concatenate([observed.counts, scored.counts])[order],
    )
    return counts.batch(observed.documents, observed.labels), is_scored[order]


def _sum_cells(values: FloatArray, cells: Counts) -> FloatArray:
    """Return the sum of the values of every document's cells."""
    return np.bincount(list_owners(cells.starts), weights=values, minlength=cells.n_documents).astype(np.float64)


def rank_words(kernel: Kernel, seed: int, state: Any, observed: Batch, scored: Batch, n_words: int) -> FloatArray:
    """Return the NDCG of every row, (rows,): how well rates rank its scored words among all unobserved words.

    Gains are the counts of the scored cells; rows without scored cells get nan.
    """
    chain = kernel.start_chain(seed, state, observed)
    out = np.full(len(observed.documents), np.nan)
    chain, _ = kernel.advance_chain(seed, state, chain, observed, scored, Sweeps(MOST // 4, 0))
    unseen = _list_unseen(observed, n_words)
    _, rates = kernel.advance_chain(seed, state, chain, observed, unseen, Sweeps(0, LENGTH))
    for j in range(len(out)):
        gains = np.zeros(n_words)
        cells = slice(scored.starts[j], scored.starts[j + 1])
        gains[scored.words[cells]] = scored.counts[cells]
        unseen_cells = slice(unseen.starts[j], unseen.starts[j + 1])
        out[j] = compute_ndcg(rates.cells[unseen_cells], gains[unseen.words[unseen_cells]])
    return out


def _list_unseen(observed: Batch, n_words: int) -> Batch:
    """Return a batch with a cell for every word that was not observed in a row."""
    absent = np.ones((len(observed.documents), n_words), dtype=np.bool_)
    absent[list_owners(observed.starts), observed.words] = False
    words = np.nonzero(absent)[1].astype(np.int32)
    counts = Counts.of(absent.sum(axis=1), words, np.ones(len(words), dtype=np.int32))
    return counts.batch(observed.documents, observed.labels)


def compute_ndcg(scores: FloatArray, gains: FloatArray) -> float:
    """Return the normalised discounted cumulative gain of a full ranking by ``scores``; nan if there is no gain.

    Järvelin and Kekäläinen, "IR evaluation methods for retrieving highly relevant documents" (SIGIR 2000), with
    discounts ``1 / log2(1 + rank)``; equal scores are ranked in their given order.
    """
    if not gains.any():
        return float("nan")
    discounts = 1.0 / np.log2(np.arange(len(gains)) + 2.0)
    order = np.argsort(-scores, kind="stable")
    return float(gains[order] @ discounts / (np.sort(gains)[::-1] @ discounts))


def find_low_activity(observed: Batch, below: int) -> Array:
    """Return the rows with fewer than ``below`` observed cells, for which the paper reports NDCG alone."""
    return np.flatnonzero(np.diff(observed.starts) < below)
