"""Topics, documents and curves of runs in the forms of other libraries: BERTopic, ArviZ and pyLDAvis.

In all of them, number k of a topic is its place among the topics of a layer, from 0: the number of its column in the
tables of weights and shares of the library.
"""

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import rel_entr, xlogy

from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.seeds import differ_only_in_seed
from topiary.app.analysis.shares import LayerUse, fetch_use, order_documents
from topiary.app.analysis.topic_reader import TopicReader
from topiary.app.export.texts import find_format
from topiary.app.jobs.estimates import CONCENTRATIONS
from topiary.engine.contract import Array, FloatArray, IntArray
from topiary.store import corpora, points
from topiary.store.database import Database
from topiary.store.points import Series
from topiary.store.run_rows import RunRow
from topiary.store.snapshots import SnapshotRow

if TYPE_CHECKING:
    pass


_NAME_WORDS = 4  # of a topic's name in BERTopic
_WORDS = 10  # of a topic in BERTopic
_REPRESENTATIVES = 3  # documents of a topic in BERTopic
_TEXTS = 2000  # read at a time
_PARAMETERS = ("r_sum", "active_topics", "share_entropy", *CONCENTRATIONS)  # curves of the draws of a run


def list_document_info(db: Database, corpus: int, hierarchy: Hierarchy, layer: int, use: LayerUse) -> pd.DataFrame:
    """Return the documents of a corpus and the topic of a layer to which each belongs, as BERTopic does.

    Parameters
    ----------
    corpus : int
        Number of the corpus.
    use : LayerUse
        Shares of the topics of the layer.

    Returns
    -------
    pandas.DataFrame
        By number of the document, the columns of ``BERTopic.get_document_info``; see :meth:`Run.document_info`.
    """
    topics, probability = _find_main_topics(use)
    representatives = [_find_representatives(use, topics, place) for place in range(hierarchy.widths[layer - 1])]
    numbers = np.arange(len(topics))
    texts = [
        document.text or document.title
        for first in range(0, len(numbers), _TEXTS)
        for document in corpora.read_documents(db, corpus, numbers[first : first + _TEXTS].tolist())
    ]
    names, titles = ["-1"], [""]  # of documents without a topic, then of every topic
    words: list[list[str]] = [[]]
    for place in range(hierarchy.widths[layer - 1]):
        node = hierarchy.node(layer, place)
        words.append([word.text for word in hierarchy.top_words(node, _WORDS)])
        names.append("_".join((str(place), *words[-1][:_NAME_WORDS])))
        titles.append(hierarchy.cite(node))
    no_texts: list[str] = []
    quotes = [no_texts] + [[texts[document] for document in documents] for documents in representatives]
    rows = (topics + 1).tolist()
    return pd.DataFrame(
        {
            "Document": texts,
            "Topic": topics,
            "Name": [names[row] for row in rows],
            "CustomName": [titles[row] for row in rows],
            "Representation": [words[row] for row in rows],
            "Representative_Docs": [quotes[row] for row in rows],
            "Top_n_words": [" - ".join(words[row]) for row in rows],
            "Probability": probability,
            "Representative_document": np.isin(numbers, [each for some in representatives for each in some]),
        }
    )


def _find_main_topics(use: LayerUse) -> tuple[IntArray, FloatArray]:
    """Return the topic with the largest share of every document and this share; -1 and 0 without one of 1 %."""
    starts, shares = use.layer.starts, use.layer.shares
    has_topic = np.diff(starts) > 0
    documents = np.repeat(np.arange(len(has_topic)), np.diff(starts))
    largest = np.lexsort((-shares, documents))[starts[:-1][has_topic]]
    topics, probability = np.full(len(has_topic), -1), np.zeros(len(has_topic))
    topics[has_topic], probability[has_topic] = use.layer.topics[largest], shares[largest]
    return topics, probability


def _find_representatives(use: LayerUse, topics: Array, place: int) -> list[int]:
    """Return the documents that belong to a topic and have the largest shares of it."""
    ranked = order_documents(use, place).numbers.tolist()
    return [document for document in ranked if topics[document] == place][:_REPRESENTATIVES]


class Traces(NamedTuple):
    """The curves of runs that differ in the seed alone, as ``arviz_base.from_dict`` takes them.

    Attributes
    ----------
    data : dict
        Of each group ("posterior", "sample_stats"), an array (chain, draw) or (chain, draw, layer) for each curve.
    coords : dict
        Of each group: "chain" (numbers of the runs), "draw" (mini-batches) and "layer".
    dims : dict
        The dimensions of curves of layers, other than chain and draw.
    attrs : dict
        Facts about each group.
    """

    data: dict[str, dict[str, Array]]
    coords: dict[str, dict[Any, Any]]
    dims: dict[Any, Any]
    attrs: dict[str, dict[str, Any]]


def read_traces(db: Database, runs: Sequence[RunRow]) -> Traces:
    """Return the curves of runs.

    Draws of "posterior" are the mini-batches at which all runs have all of its curves.  Those of "sample_stats" are all
    mini-batches; values that were not measured are NaN.

    Raises
    ------
    ValueError
        If a run differs from the first in more than the seed, or there is nothing to return yet.
    """
    first, *others = runs
    strange = next((row.number for row in others if not differ_only_in_seed(first, row)), None)
    if strange is not None:
        raise ValueError(f"run {strange} is no other chain of run {first.number}: they differ in more than the seed")
    curves = [
        {(name, layer): series for name, layer, series in points.read_all_series(db, row.number)[0]} for row in runs
    ]
    facts = {"inference_library": "topiary", "model": first.model, "corpus": first.corpus_name}
    traces = Traces({}, {}, {}, {})
    for group, is_complete in (("posterior", True), ("sample_stats", False)):
        chosen = [{key: each for key, each in run.items() if (key[0] in _PARAMETERS) == is_complete} for run in curves]
        draws = _find_draws(chosen, is_complete=is_complete)
        if not len(draws):
            continue
        layers = sorted({layer for run in chosen for _, layer in run if layer})
        traces.data[group] = {
            name: _stack_curve(chosen, name, draws, layers)
            for name in sorted({name for run in chosen for name, _ in run})
        }
        traces.coords[group] = {
            "chain": np.array([row.number for row in runs]),
            "draw": draws,
            "layer": np.array(layers),
        }
        traces.dims.update({name: ["layer"] for name, values in traces.data[group].items() if values.ndim == 3})
        traces.attrs[group] = facts
    if not traces.data:
        raise ValueError(f"run {first.number} has no points yet")
    return traces


def _find_draws(curves: Sequence[dict[tuple[str, int], Series]], *, is_complete: bool) -> IntArray:
    """Return the mini-batches at which all curves of all runs have a value, or any of them."""
    keys = {key for run in curves for key in run}
    steps = [set(run[key].minibatch.tolist()) if key in run else set[int]() for run in curves for key in keys]
    found = (set.intersection if is_complete else set.union)(*steps) if steps else set[int]()
    return np.array(sorted(found), dtype=np.int64)


def _stack_curve(
    curves: Sequence[dict[tuple[str, int], Series]], name: str, draws: IntArray, layers: Sequence[int]
) -> FloatArray:
    """Return the values of a curve by run and draw, and by layer where it is of layers; NaN where there are none."""
    of_layers = [layer for layer in layers if any((name, layer) in run for run in curves)]
    table = np.full((len(curves), len(draws), len(layers) if of_layers else 1), np.nan)
    for chain, run in enumerate(curves):
        for place, layer in enumerate(layers if of_layers else [0]):
            if (name, layer) in run:
                series = run[name, layer]
                is_draw = np.isin(series.minibatch, draws)
                table[chain, np.searchsorted(draws, series.minibatch[is_draw]), place] = series.value[is_draw]
    return table if of_layers else table[:, :, 0]


PYLDAVIS = "pyldavis"  # what `topiary export` writes
WORDS = 30  # words of a bar chart, R
_STEP = 0.01  # between two values of lambda, on the slider too
_LEAST_TOKENS = 0.5  # of a word in a topic whose circle shows the word


def write_pyldavis(db: Database, run: RunRow, snapshot: SnapshotRow, layer: int, path: str | Path) -> Path:
    """Write a layer for pyLDAvis: its data as JSON, as ``pyLDAvis.save_json`` does, or a page that needs no network.

    Raises
    ------
    ReadError
        If the suffix is neither ``.json`` nor ``.html``, or pyLDAvis, whose scripts a page holds, is not installed.
    LookupError
        If the run has no such layer.
    OSError
        If the file cannot be written.
    """
    path = Path(path)
    suffix = find_format(path, ("json", "html"), f"the data of pyLDAvis as {path.name!r}")
    scripts = _read_scripts() if suffix == "html" else None
    data = json.dumps(collect_pyldavis(db, run, snapshot, layer), ensure_ascii=False, allow_nan=False)
    name = f"Layer {layer} of run {run.number}, {run.corpus_name}"
    path.write_text(data if scripts is None else _draw_page(data, scripts, name), encoding="utf-8")
    return path


class _PageScripts(NamedTuple):
    """The scripts and the style sheet of pyLDAvis, from its installation."""

    d3: str
    ldavis: str
    style: str


def _read_scripts() -> _PageScripts:
    """Read the scripts of the installed pyLDAvis, which by itself would load them from other servers."""
    try:
        from pyLDAvis import urls
    except ImportError as error:
        raise ReadError(
            "a page of pyLDAvis needs pyLDAvis: pip install 'topiary-explorer[bridges]'; a .json needs nothing"
        ) from error
    paths = (urls.D3_LOCAL, urls.LDAVIS_LOCAL, urls.LDAVIS_CSS_LOCAL)
    return _PageScripts(*(Path(path).read_text(encoding="utf-8") for path in paths))


def _draw_page(data: str, scripts: _PageScripts, name: str) -> str:
    """Return a page with everything that it needs inside."""
    data = data.replace("<", "\\u003c")
    d3, ldavis = (script.replace("</script", "<\\/script") for script in (scripts.d3, scripts.ldavis))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(name)}</title>'
        f"<style>{scripts.style}</style><script>{d3}</script><script>{ldavis}</script></head>"
        f'<body><div id="ldavis"></div><script>new LDAvis("#ldavis", {data});</script></body></html>\n'
    )


def collect_pyldavis(db: Database, run: RunRow, snapshot: SnapshotRow, layer: int) -> dict[str, Any]:
    """Return the data of pyLDAvis for a layer, as ``PreparedData.to_dict`` does; its topic n is ``L1:n`` and so on.

    Shares that are not stored yet are computed and stored.

    Raises
    ------
    LookupError
        If the run has no such layer.
    """
    hierarchy = TopicReader(db).hierarchy(run, snapshot)
    hierarchy.at_rank(layer, 1)
    tokens = count_tokens(fetch_use(db, run, snapshot, layer), hierarchy.widths[layer - 1])
    return _prepare_layer(hierarchy, layer, tokens)


def count_tokens(use: LayerUse, n_topics: int) -> FloatArray:
    """Return how many tokens of the documents belong to each topic, (n_topics,).

    The tokens of a document are divided among its topics of at least 1 %, whose shares are stored.
    """
    documents = np.repeat(np.arange(len(use.tokens)), np.diff(use.layer.starts))
    units = use.layer.units.astype(np.float64)
    totals = np.bincount(documents, units, len(use.tokens))
    parts = units * use.tokens[documents] / totals[documents]
    return np.bincount(use.layer.topics, parts, n_topics).astype(np.float64, copy=False)


def _prepare_layer(hierarchy: Hierarchy, layer: int, tokens: FloatArray) -> dict[str, Any]:
    """Return the data for topics with these numbers of tokens, (K_l,) in the order of their columns."""
    numbers = np.array([hierarchy.node(layer, column).column + 1 for column in range(hierarchy.widths[layer - 1])])
    order = np.argsort(numbers)
    numbers = numbers[order]
    topics = np.asarray(hierarchy.projections[layer - 1].T[order], dtype=np.float64)
    shares = tokens[order] / max(tokens.sum(), 1.0)
    counts = topics * tokens[order, None]
    totals = counts.sum(axis=0)
    vocabulary = np.array(hierarchy.vocabulary, dtype=object)
    n_words = min(WORDS, len(vocabulary))
    salient = np.argsort(-_measure_saliency(topics, shares, totals), kind="stable")[:n_words]
    ranks = np.arange(n_words, 0, -1.0)
    parts = [
        _list_terms(vocabulary, salient, "Default", np.floor(totals[salient]), np.floor(totals[salient]), ranks, ranks)
    ]
    chosen: list[Array] = [salient]
    log_topics, log_lift = _measure_relevance(topics, totals)
    for place, (weight, lift) in enumerate(zip(log_topics, log_lift, strict=True)):
        terms = _find_relevant(weight, lift, n_words)
        chosen.append(terms)
        parts.append(_list_terms(
            vocabulary, terms, f"Topic{numbers[place]}", counts[place, terms], totals[terms],
            weight[terms].round(4), lift[terms].round(4),
        ))  # fmt: skip
    positions = _place_topics(topics)
    return {
        "mdsDat": {
            "x": positions[:, 0].tolist(),
            "y": positions[:, 1].tolist(),
            "topics": numbers.tolist(),
            "cluster": [1] * len(order),
            "Freq": (100 * shares).tolist(),
        },
        "tinfo": {name: [value for part in parts for value in part[name]] for name in parts[0]},
        "token.table": _list_topics_of_words(vocabulary, np.unique(np.concatenate(chosen)), counts, totals, numbers),
        "R": n_words,
        "lambda.step": _STEP,
        "plot.opts": {"xlab": "PC1", "ylab": "PC2"},
        "topic.order": numbers.tolist(),
    }


def _list_terms(
    vocabulary: Array, terms: IntArray, category: str, counts: Array, totals: Array, weights: Array, lifts: Array
) -> dict[str, list[Any]]:
    """Return the rows of ``tinfo`` for the words of one bar chart."""
    return {
        "Term": vocabulary[terms].tolist(),
        "Freq": counts.tolist(),
        "Total": totals.tolist(),
        "Category": [category] * len(terms),
        "logprob": weights.tolist(),
        "loglift": lifts.tolist(),
    }


def _measure_saliency(topics: FloatArray, shares: FloatArray, totals: FloatArray) -> FloatArray:
    """Return the saliency of words, p(w) KL(p(k | w) || p(k)) with topics of equal weight in p(k | w), as pyLDAvis."""
    used = shares > 0
    sums = topics.sum(axis=0)
    by_word = np.divide(topics[used], sums, out=np.zeros_like(topics[used]), where=sums > 0)
    return np.asarray(totals / max(totals.sum(), 1.0) * rel_entr(by_word, shares[used, None]).sum(axis=0))


def _measure_relevance(topics: FloatArray, totals: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the logarithms of weight and lift of words in topics, (K, V); -inf for words that a topic lacks."""
    known = (topics > 0) & (totals > 0)
    weights = np.log(topics, out=np.full_like(topics, -np.inf), where=known)
    everywhere = np.log(totals / max(totals.sum(), 1.0), out=np.zeros_like(totals), where=totals > 0)
    return weights, weights - everywhere


def _find_relevant(weight: FloatArray, lift: FloatArray, n: int) -> IntArray:
    """Return the words (any number of them) that are among the ``n`` most relevant at some lambda, ascending."""
    known = np.flatnonzero(np.isfinite(weight))
    chosen = np.zeros(len(known), dtype=bool)
    for trade in np.arange(0.0, 1.0 + _STEP, _STEP):
        relevance = trade * weight[known] + (1.0 - trade) * lift[known]
        chosen[np.argpartition(-relevance, n - 1)[:n] if len(known) > n else slice(None)] = True
    return np.asarray(known[chosen])


def _list_topics_of_words(
    vocabulary: Array, terms: IntArray, counts: FloatArray, totals: FloatArray, numbers: IntArray
) -> dict[str, Any]:
    """Return the rows of ``token.table``: which part of the tokens of a word belongs to each topic."""
    terms = terms[np.argsort(vocabulary[terms], kind="stable")]
    rows, topics = np.nonzero(counts[:, terms].T >= _LEAST_TOKENS)
    words = terms[rows]
    return {
        "Topic": numbers[topics].tolist(),
        "Freq": (counts[topics, words].round() / totals[words]).tolist(),
        "Term": vocabulary[words].tolist(),
    }


def _place_topics(topics: FloatArray) -> FloatArray:
    """Return places of topics on a plane, (K, 2): principal coordinates of their Jensen-Shannon divergences."""
    n = len(topics)
    entropies = -xlogy(topics, topics).sum(axis=1)
    distances = np.zeros((n, n))
    for place, topic in enumerate(topics[:-1]):
        middle = (topic + topics[place + 1 :]) / 2
        mean = (entropies[place] + entropies[place + 1 :]) / 2
        distances[place, place + 1 :] = np.maximum(-xlogy(middle, middle).sum(axis=1) - mean, 0.0)
    squares = (distances + distances.T) ** 2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    best = np.argsort(-values)[:2]
    places = np.zeros((n, 2))
    places[:, : len(best)] = vectors[:, best] * np.sqrt(np.maximum(values[best], 0.0))
    return places
