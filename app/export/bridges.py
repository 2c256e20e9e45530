"""Topics, documents and curves of runs in the forms of other libraries: BERTopic and ArviZ.

In all of them, number k of a topic is its place among the topics of a layer, from 0: the number of its column in the
tables of weights and shares of the library.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.partners import differ_only_in_seed
from topiary.app.analysis.shares import LayerUse, order_documents
from topiary.app.jobs.estimates import CONCENTRATIONS
from topiary.engine.contract import Array, FloatArray, IntArray
from topiary.store import corpora, points
from topiary.store.database import Database
from topiary.store.points import Series
from topiary.store.run_rows import RunRow

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
    db : Database
    corpus : int
        Number of the corpus.
    hierarchy : Hierarchy
    layer : int
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
