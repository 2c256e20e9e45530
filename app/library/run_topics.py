"""Topics of a run: lists, trees, inference, comparison and export."""

import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import pandas as pd

from app.analysis.hierarchy import PRINTED_WORDS, Hierarchy, identity, parse_identity
from app.analysis.read_hierarchy import find_snapshot_at, read_hierarchy
from app.export.topics import list_column_topics, list_topics
from app.views.tree.opening import choose_threshold
from engine.hierarchy.tree import Direction, Node
from store import runs
from store.run_rows import RunRow

from .corpora import OpenStore

if TYPE_CHECKING:
    import networkx as nx

    from .results import Classification, Comparison, Inference


Roots: TypeAlias = int | str | Iterable[int | str]


def find_nodes(hierarchy: Hierarchy, roots: Roots | None, layer: int | None) -> tuple[Node, ...]:
    """Return topics by rank or name."""
    where = hierarchy.n_layers if layer is None else layer
    if roots is None:
        hierarchy.at_rank(where, 1)
        return tuple(hierarchy.nodes(where))
    named = [roots] if isinstance(roots, int | str) else list(roots)
    return tuple(_find_node(hierarchy, where, root) for root in named)


def _find_node(hierarchy: Hierarchy, layer: int, root: int | str) -> Node:
    if not isinstance(root, str):
        return hierarchy.at_rank(layer, int(root))
    node = parse_identity(root)
    if node is None or not hierarchy.has(node):
        raise LookupError(f"run {hierarchy.run} has no topic {root!r}; topics() lists them, as in 'L1:3'")
    return node


class RunTopics:
    """The topics of a run: methods of :class:`Run` that read one of its snapshots."""

    def __init__(self, opened: OpenStore, number: int) -> None:
        self._opened = opened
        self.number = number

    def topics(
        self,
        layer: int | None = None,
        *,
        words: int = PRINTED_WORDS,
        quality: bool = False,
        minibatch: int | None = None,
    ) -> pd.DataFrame:
        """List topics, most popular first.

        Parameters
        ----------
        layer : int, optional
            From 1, next to the words; all layers when not given.
        words : int, default=12
            How many of each, at most 30.
        quality : bool, default=False
            Read the corpus for the NPMI of topics where the snapshot does not know it.

        Returns
        -------
        pandas.DataFrame
            By topic ("L2:17"): layer, rank, weight (popularity as in the papers), share of its layer, npmi (of its
            first ten words in the training documents, NaN where it is not known), light (whether it holds under 0.1 %
            of the tokens), title, name given by a person, and words.

        Raises
        ------
        LookupError
            When there is no such layer.
        NotFound
            When there is no snapshot yet.
        """
        hierarchy = self.hierarchy(minibatch, npmi=quality)
        rows = list_topics(hierarchy, layer, words)
        for row in rows:
            node = Node(row["layer"], row["topic"] - 1)
            npmi = math.nan if row["npmi"] is None else row["npmi"]
            row |= {"topic": identity(node), "weight": hierarchy.weight(node), "npmi": npmi}
        columns = ["topic", "layer", "rank", "weight", "share", "npmi", "light", "title", "name", "words"]
        return pd.DataFrame(rows, columns=columns).set_index("topic")

    def column_topics(self, layer: int | None = None, *, words: int = 12, minibatch: int | None = None) -> pd.DataFrame:
        """List the topics of the columns of a table, most popular first: groups of columns, of the double DEF.

        Parameters
        ----------
        layer : int, optional
            From 2, as layer 1 is shared with the rows; all when not given.
        words : int, default=12
            How many columns of each, at most 30.

        Returns
        -------
        pandas.DataFrame
            layer, rank, topic (its number, which lasts), share of its layer, title, and words: the columns that it is
            most about.  No rows for models without topics of columns.

        Raises
        ------
        NotFound
            When there is no snapshot yet.
        """
        rows = list_column_topics(self.hierarchy(minibatch), layer, words)
        return pd.DataFrame(rows, columns=["layer", "rank", "topic", "share", "title", "words"])

    def quality(self, *, labels: bool = True, minibatch: int | None = None) -> pd.DataFrame:
        """Measure how good the topics are, layer by layer.

        NPMI is document NPMI of the ten words shown first in the training documents, a pair that never meets counting
        -1: not comparable with the c_npmi of papers.  Of more than 50,000 documents every second, third ... is read.

        Parameters
        ----------
        labels : bool, default=True
            Also measure how well topics separate the labels of the corpus, for which up to 1,000 documents are placed.

        Returns
        -------
        pandas.DataFrame
            By layer: topics, live (of at least 0.1 % of the tokens; the figures that follow are of these), npmi,
            npmi_all (of all topics), worst_tenth, diversity, umass, npmi_test (in test documents), specialization,
            affinity_child, affinity_other, affinity_weighted and cross_npmi with the layer below, label_nmi and
            label_purity, then how many documents were read: training_documents, test_documents and
            labelled_documents (test documents where these have labels).  NaN where a figure is not known.

        Raises
        ------
        NotFound
            When there is no snapshot yet.
        """
        from app.analysis.quality import list_figures, read_quality

        found = read_quality(self._opened.db, self._row, self.hierarchy(minibatch), labels=labels)
        rows = [
            {"layer": each.layer}
            | list_figures(each)
            | {"training_documents": each.train.documents, "test_documents": each.test.documents}
            | {"labelled_documents": each.clusters.documents if each.clusters else 0}
            for each in found
        ]
        return pd.DataFrame(rows).set_index("layer")

    def certainty(
        self, layer: int | None = None, *, threshold: float | None = None, minibatch: int | None = None
    ) -> pd.DataFrame:
        """Return how sure the edges above the threshold are, one row for each, those of the top layer first.

        Parameters
        ----------
        layer : int, optional
            Of the parents, from 2; None returns the edges of all layers.
        threshold : float, optional
            The paper's tau: edges are heavier than ``threshold / K`` with K topics in the lower layer; None is the one
            with which the tree opens.
        minibatch : int, optional
            A snapshot's; None is the newest.

        Returns
        -------
        pandas.DataFrame
            ``parent`` and ``child`` as in ``L3:17``; ``weight``; ``inclusion``, the probability that it is above the
            threshold; ``low`` and ``high``, its 90 % interval; ``parent_wanders`` and ``child_wanders``, whether the
            draws of that topic differ so much that their mean is not one topic.  Empty where the model or snapshot
            does not know it: certainty begins after a hundred steps of a model that draws its topics.
        """
        hierarchy = self.hierarchy(minibatch)
        tau = choose_threshold(threshold, hierarchy)
        rows = []
        for edge in hierarchy.edges(tau):
            found = hierarchy.find_certainty(edge.above, edge.below, tau)
            if found is None or layer not in (None, edge.layer):
                continue
            ends = {"parent": identity(edge.above), "child": identity(edge.below), "weight": edge.weight}
            wander = {"parent_wanders": hierarchy.wanders(edge.above), "child_wanders": hierarchy.wanders(edge.below)}
            rows.append(ends | found._asdict() | wander)
        columns = ["parent", "child", "weight", "inclusion", "low", "high", "parent_wanders", "child_wanders"]
        return pd.DataFrame(rows, columns=columns)

    def weights(self, layer: int, *, minibatch: int | None = None) -> pd.DataFrame:
        """Return the weights of all words in the topics of a layer, (words, topics); every column sums to 1.

        Raises
        ------
        LookupError
            When there is no such layer.
        """
        hierarchy = self.hierarchy(minibatch)
        hierarchy.at_rank(layer, 1)
        projection = hierarchy.projections[layer - 1]
        names = [identity(hierarchy.node(layer, column)) for column in range(projection.shape[1])]
        return pd.DataFrame(projection, index=pd.Index(hierarchy.vocabulary, name="word"), columns=names)

    def tree(
        self,
        roots: Roots | None = None,
        layer: int | None = None,
        threshold: float | None = None,
        *,
        direction: Direction = "down",
        minibatch: int | None = None,
    ) -> "nx.DiGraph[str]":
        """Make the tree under (or over) some topics a graph.

        Parameters
        ----------
        roots : int, str or iterable of these, optional
            Ranks in ``layer``, or topics such as "L3:17"; every topic of ``layer`` when not given.
        layer : int, optional
            Of ranks; the top when not given.
        threshold : float, optional
            Edges are above ``threshold / K`` of the layer below; by default as every tree opens.
        direction : {"down", "up"}
            Follow children or parents.

        Returns
        -------
        networkx.DiGraph
            Topics with layer, rank, popularity, share, title and words; edges from parent to child with weight.

        Raises
        ------
        LookupError
            When there is no such topic.
        """
        from app.export.graph import build_graph

        hierarchy = self.hierarchy(minibatch)
        limit, nodes = choose_threshold(threshold, hierarchy), find_nodes(hierarchy, roots, layer)
        return build_graph(hierarchy, limit, nodes, direction)

    def infer(
        self, texts: str | os.PathLike[str] | Iterable[str], *, minibatch: int | None = None, **options: Any
    ) -> "Inference":
        """Place new documents in the topics of this run.

        Parameters
        ----------
        texts : str, sequence of str, or path
            One text or several; a :class:`pathlib.Path` is a file, folder or zip of documents.  Of a column of pandas
            the documents keep the index.
        **options
            Of a file: ``format``, ``text_column``, ``title_column``, ``header``, ``separator``, ``quote``,
            ``encoding``.

        Returns
        -------
        Inference
            Their activations of every layer, paths, nearest documents and classes.

        Raises
        ------
        IngestError, OptionError
            When a file cannot be read.
        TypeError
            When it is a whole table or a dictionary, or holds values that are no texts.
        """
        from .results import infer

        return infer(self._opened, self._row, self._snapshot(minibatch), texts, options)

    def interpolate(
        self,
        one: int,
        other: int,
        *,
        steps: int = 9,
        layer: int | None = None,
        words: int = 10,
        minibatch: int | None = None,
    ) -> pd.DataFrame:
        """Show what lies between two documents of the corpus.

        Parameters
        ----------
        one, other : int
            Their numbers, from 0.
        steps : int, default=9
            Points of the line, both ends included.
        layer : int, optional
            Whose activations are mixed; the highest that tells the two apart when not given.
        words : int, default=10
            Of every step.

        Returns
        -------
        pandas.DataFrame
            One row a step: layer, weight (0 at ``one``, 1 at ``other``), words, and those that are new.
        """
        from app.facts.documents import interpolate_documents

        inference = self._opened.places.inference(self.number, self._snapshot(minibatch))
        mixed, found = interpolate_documents(
            self._opened.db, inference, (one, other), layer=layer, steps=steps, words=words
        )
        vocabulary = inference.rules.vocabulary
        rows = [
            {
                "layer": mixed,
                "weight": step.weight,
                "words": [vocabulary[word] for word in step.words],
                "new": [vocabulary[word] for word, new in zip(step.words, step.new, strict=True) if new],
            }
            for step in found
        ]
        return pd.DataFrame(rows)

    def classify(self, *, minibatch: int | None = None) -> "Classification":
        """Predict the classes of the test documents of the corpus, and say how well.

        Raises
        ------
        ClassError
            When the model predicts no classes, or there is nothing to compare with.
        """
        from .results import classify

        return classify(self._opened, self._row, self._snapshot(minibatch))

    def compare(
        self,
        other: Self | int,
        *,
        threshold: float | None = None,
        minibatch: int | None = None,
        other_minibatch: int | None = None,
    ) -> "Comparison":
        """Match the topics of this run with those of another one.

        Parameters
        ----------
        other : Run or int
            The run (A) that this run (B) is compared with; may be this run, at another mini-batch.
        threshold : float, optional
            Of the edges that are compared, as in :meth:`tree`.
        minibatch, other_minibatch : int, optional
            The snapshots of this run and of the other.

        Raises
        ------
        ValueError
            When the two have no word in common.
        """
        from .results import compare

        theirs = other if isinstance(other, RunTopics) else type(self)(self._opened, other)
        hierarchies = theirs.hierarchy(other_minibatch, npmi=True), self.hierarchy(minibatch, npmi=True)
        return compare(self._opened.db, hierarchies, threshold)

    def export(
        self,
        file: str | os.PathLike[str],
        *,
        roots: Roots | None = None,
        layer: int | None = None,
        threshold: float | None = None,
        direction: Direction = "down",
        label: str = "",
        what: Literal["tree", "topics"] | None = None,
        minibatch: int | None = None,
    ) -> Path:
        """Write the tree (``.svg``, ``.graphml``, ``.gexf``, ``.dot``, ``.json``) or topics (``.csv``, ``.json``).

        Parameters
        ----------
        file : str or path
        roots : int, str or iterable of these, optional
            As in :meth:`tree`; the most popular topic of ``layer`` when not given.
        layer, threshold, direction
            As in :meth:`tree`; for topics ``layer`` is the one that is listed.
        label : str
            Tint the topics of a picture by how much they speak for this class.
        what : {"tree", "topics"}, optional
            Topics for ``.csv``, the tree for all others when not given.

        Raises
        ------
        ValueError
            When the suffix is another one.
        LookupError
            When there is no such topic, layer or class.
        OSError
            When the file cannot be written.
        """
        from app.export import topics, trees
        from app.views.tree.class_overlay import find_class

        path, hierarchy = Path(file), self.hierarchy(minibatch)
        if (what or ("topics" if path.suffix.lower() == ".csv" else "tree")) == "topics":
            return topics.write_topics(hierarchy, layer, path)
        return trees.write_tree(
            hierarchy,
            find_nodes(hierarchy, 1 if roots is None else roots, layer),
            choose_threshold(threshold, hierarchy),
            direction,
            path,
            label=find_class(hierarchy.classes, label) if label else 0,
        )

    def hierarchy(self, minibatch: int | None = None, *, npmi: bool = False) -> Hierarchy:
        """Return a snapshot as the pages read it: topics, weights, shares, edges.

        Parameters
        ----------
        minibatch : int, optional
            The snapshot at or before it; the latest one when not given.
        npmi : bool, default=False
            Read the corpus for the NPMI of topics where the snapshot does not know it.

        Raises
        ------
        NotFound
            When there is no such snapshot.
        """
        row = self._row
        found = read_hierarchy(self._opened.db, row, find_snapshot_at(self._opened.db, row, minibatch))
        if not npmi:
            return found
        from app.analysis.quality import add_npmi

        return add_npmi(self._opened.db, row, found)

    @property
    def _row(self) -> RunRow:
        return runs.get_run(self._opened.db, self.number)

    def _snapshot(self, minibatch: int | None) -> int:
        return find_snapshot_at(self._opened.db, self._row, minibatch).number
