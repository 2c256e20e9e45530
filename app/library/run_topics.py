"""The methods of a run that concern its topics: lists, trees, inference, comparison and export."""

import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np
import pandas as pd

from topiary.app.analysis.hierarchy import PRINTED_WORDS, Hierarchy, format_identity
from topiary.app.analysis.read_hierarchy import find_snapshot_at
from topiary.app.export.topics import list_column_topics, list_topics
from topiary.app.views.tree.opening import choose_threshold, list_top_topics
from topiary.engine.hierarchy.tree import Direction, Node
from topiary.store import runs
from topiary.store.run_rows import RunRow

from .corpora import OpenStore

if TYPE_CHECKING:
    import networkx as nx
    from scipy.sparse import csr_array

    from topiary.app.analysis.reader import StoreReader

    from .results import Classification, Comparison, Inference


Roots: TypeAlias = str | Iterable[str]


def find_roots(
    hierarchy: Hierarchy, roots: Roots | None, layer: int | None, *, light: bool = False
) -> tuple[Node, ...]:
    """Return the topics at the root of a tree: those with some identities, or all of a layer (default: the top)."""
    if roots is None:
        return tuple(list_top_topics(hierarchy, layer, light=light))
    names: Iterable[str] = [roots] if isinstance(roots, int | str) else roots  # a number is refused with advice
    return tuple(hierarchy.find_topics(names, layer))


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
        """Return a table of topics, the most popular first.

        Parameters
        ----------
        layer : int, optional
            Number of the layer, from 1 next to the words; all layers by default.
        words : int, default=12
            Number of words of each topic, at most 30.
        quality : bool, default=False
            Compute the NPMI of topics from the corpus if the snapshot lacks it.

        Returns
        -------
        pandas.DataFrame
            By topic ("L2:17"): layer, rank, weight (popularity as in the papers), share of its layer, npmi (of its
            first ten words in the training documents, NaN if unknown), light (whether it has less than 0.1 % of the
            tokens), title, name given by a user, and words.

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
            npmi = math.nan if row["npmi"] is None else row["npmi"]
            row |= {"weight": hierarchy.weight(hierarchy.find_topic(row["topic"])), "npmi": npmi}
        columns = ["topic", "layer", "rank", "weight", "share", "npmi", "light", "title", "name", "words"]
        return pd.DataFrame(rows, columns=columns).set_index("topic")

    def propose_names(self, layer: int | None = None, *, minibatch: int | None = None) -> pd.DataFrame:
        """Return phrases of two or three words that are typical of the documents of topics, to be accepted one by one.

        Parameters
        ----------
        layer : int, optional
            Number of the layer; all layers by default.

        Returns
        -------
        pandas.DataFrame
            The title of the topic, the name, the ``part`` of the documents of the topic that have it, counted by their
            shares of the topic, and how many ``times`` as many these are as of other documents; by topic, the most
            popular first, at most three of each.  :meth:`rename_topic` accepts one.
        """
        from topiary.app.analysis.topic_names import propose_names  # loads SciPy

        hierarchy, rows = self.hierarchy(minibatch), []
        for number in range(1, hierarchy.n_layers + 1) if layer is None else [layer]:
            hierarchy.at_rank(number, 1)  # LookupError for a layer that is not there
            found = propose_names(self._reader, hierarchy, number)
            rows += [(format_identity(node), hierarchy.title(node), *each) for node in found for each in found[node]]
        return pd.DataFrame(rows, columns=["topic", "title", "name", "part", "times"]).set_index("topic")

    def column_topics(self, layer: int | None = None, *, words: int = 12, minibatch: int | None = None) -> pd.DataFrame:
        """Return the topics of columns of the double DEF, groups of columns of a table, the most popular first.

        Parameters
        ----------
        layer : int, optional
            Number of the layer, from 2, as layer 1 is shared with the rows; all by default.
        words : int, default=12
            Number of columns of each topic, at most 30.

        Returns
        -------
        pandas.DataFrame
            By topic ("C2:3", of the columns' own hierarchy): layer, rank, share of its layer, title, and words, its
            most important columns.  There are no rows for models without topics of columns.

        Raises
        ------
        NotFound
            When there is no snapshot yet.
        """
        rows = list_column_topics(self.hierarchy(minibatch), layer, words)
        return pd.DataFrame(rows, columns=["topic", "layer", "rank", "share", "title", "words"]).set_index("topic")

    def quality(self, *, labels: bool = True, minibatch: int | None = None) -> pd.DataFrame:
        """Return measures of the quality of the topics, by layer.

        NPMI is the document NPMI of the first ten words in the training documents, -1 for a pair that never co-occurs;
        it is not comparable with the c_npmi of papers.  Of more than 50,000 documents every second, third ... is read.

        Parameters
        ----------
        labels : bool, default=True
            Also measure how well topics separate the labels of the corpus, by placing up to 1,000 documents.

        Returns
        -------
        pandas.DataFrame
            By layer: topics, live (topics with at least 0.1 % of the tokens, to which the next figures refer), npmi,
            npmi_all (of all topics), worst_tenth, diversity, umass, npmi_test (in test documents), specialization,
            affinity_child, affinity_other, affinity_weighted and cross_npmi with the layer below, label_nmi and
            label_purity, then the numbers of documents read: training_documents, test_documents and
            labelled_documents (test documents if these have labels).  NaN if a figure is unknown.

        Raises
        ------
        NotFound
            When there is no snapshot yet.
        """
        from topiary.app.analysis.quality import list_figures, read_quality

        layers = read_quality(self._opened.db, self._row, self.hierarchy(minibatch), labels=labels)
        rows = [
            {"layer": layer_quality.layer}
            | list_figures(layer_quality)
            | {"training_documents": layer_quality.train.documents, "test_documents": layer_quality.test.documents}
            | {"labelled_documents": layer_quality.clusters.documents if layer_quality.clusters else 0}
            for layer_quality in layers
        ]
        return pd.DataFrame(rows).set_index("layer")

    def certainty(
        self, layer: int | None = None, *, threshold: float | None = None, minibatch: int | None = None
    ) -> pd.DataFrame:
        """Return the certainty of each edge above the threshold, those of the top layer first.

        Parameters
        ----------
        layer : int, optional
            Layer of the parents, from 2; all layers by default.
        threshold : float, optional
            The paper's tau: edges are heavier than ``threshold / K``, with K topics in the lower layer; the default of
            pages if None.
        minibatch : int, optional
            Mini-batch of the snapshot; the newest by default.

        Returns
        -------
        pandas.DataFrame
            ``parent`` and ``child`` as in ``L3:17``; ``weight``; ``inclusion``, the probability that it is above the
            threshold; ``low`` and ``high``, its 90 % interval; ``parent_wanders`` and ``child_wanders``, whether the
            draws of this topic differ so much that their mean is not one topic.  These are unknown (NaN or False)
            before a hundred steps, and for models that do not draw their topics.  Then, from runs that differ in the
            seed alone and are about as long: ``found_in``, ``parent_found_in`` and ``child_found_in``, in how many of
            these runs, this one included, the edge and its topics are found, and ``of_runs``, how many there are;
            <NA> if there is no other.  The table is empty if both are unknown.
        """
        hierarchy = self.hierarchy(minibatch, seeds=True)
        tau = choose_threshold(threshold, hierarchy)
        rows = []
        for edge in hierarchy.edges(tau):
            certainty = hierarchy.find_certainty(edge.above, edge.below, tau)
            if (certainty is None and hierarchy.recurrence is None) or layer not in (None, edge.layer):
                continue
            ends = {"parent": format_identity(edge.above), "child": format_identity(edge.below), "weight": edge.weight}
            known = dict.fromkeys(("inclusion", "low", "high"), math.nan) if certainty is None else certainty._asdict()
            wander = {"parent_wanders": hierarchy.wanders(edge.above), "child_wanders": hierarchy.wanders(edge.below)}
            found = {
                "found_in": hierarchy.count_edge_runs(edge.above, edge.below, tau),
                "parent_found_in": hierarchy.count_runs(edge.above),
                "child_found_in": hierarchy.count_runs(edge.below),
                "of_runs": None if hierarchy.recurrence is None else hierarchy.recurrence.n_runs,
            }
            rows.append(ends | known | wander | found)
        counts = ["found_in", "parent_found_in", "child_found_in", "of_runs"]
        columns = ["parent", "child", "weight", "inclusion", "low", "high", "parent_wanders", "child_wanders", *counts]
        return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(counts, "Int64"))

    def recurrence(
        self, layer: int | None = None, *, threshold: float | None = None, minibatch: int | None = None
    ) -> pd.DataFrame:
        """Return in how many runs that differ from this one in the seed alone each topic is found.

        Runs are compared that have the same corpus, model and settings, another seed, and a snapshot of about the same
        step.  A topic is found in a run if the words of its partner there are alike
        (:mod:`engine.hierarchy.align`).

        Parameters
        ----------
        layer : int, optional
            Number of the layer, from 1 next to the words; all by default, the top first.
        threshold : float, optional
            Threshold of the edges that are counted, as in :meth:`tree`.
        minibatch : int, optional
            Mini-batch of the snapshot; the newest by default.

        Returns
        -------
        pandas.DataFrame
            By topic ("L2:17"), those found in most runs first: layer, rank, share, title, found_in and of_runs (both
            count this run), words (shown in most of the runs that have the topic, with their mean probability in
            ``probabilities``), and edges, the children with the number of runs that have the edge too.  Light topics
            are left out.  In ``attrs``: ``runs`` (their numbers, this one first), ``agreement`` by layer (share of the
            layer that lies in topics found in another run, adjusted for chance, the mean over the other runs),
            ``edge_agreement`` by layer from 2 on (overlap of topics' parents there, adjusted likewise), and
            ``mixing``, rank-normalised R-hat and bulk ESS of numbers without labels, with the draws of each run and a
            verdict.

        Raises
        ------
        LookupError
            When no other run can be compared, or there is no such layer.
        NotFound
            When there is no snapshot yet.
        """
        from topiary.app.export.recurrence import collect_recurrence

        facts = collect_recurrence(self._opened.db, self._row, self.hierarchy(minibatch), threshold, layer)
        rows = [
            {"topic": row["topic"], "layer": each["layer"], "rank": row["rank"], "share": row["share"],
             "title": row["title"], "found_in": row["found_in"], "of_runs": len(facts["runs"]),
             "words": [word["word"] for word in row["words"]],
             "probabilities": [word["probability"] for word in row["words"]],
             "edges": {child["topic"]: child["found_in"] for child in row["edges"]}}
            for each in facts["layers"]
            for row in each["by_topic"]
        ]  # fmt: skip
        columns = ["topic", "layer", "rank", "share", "title", "found_in", "of_runs", "words", "probabilities", "edges"]
        table = pd.DataFrame(rows, columns=columns).set_index("topic")
        table.attrs["runs"] = [run["run"] for run in facts["runs"]]
        table.attrs["agreement"] = {each["layer"]: each["agreement"] for each in facts["layers"]}
        table.attrs["edge_agreement"] = {
            each["layer"]: each["edge_agreement"] for each in facts["layers"] if each["layer"] > 1
        }
        table.attrs["mixing"] = facts["mixing"]
        return table

    def weights(self, layer: int, *, minibatch: int | None = None) -> pd.DataFrame:
        """Return the weights of all words in the topics of a layer, (words, topics); each column sums to 1.

        Raises
        ------
        LookupError
            When there is no such layer.
        """
        hierarchy = self.hierarchy(minibatch)
        hierarchy.at_rank(layer, 1)
        projection = hierarchy.projections[layer - 1]
        names = [format_identity(hierarchy.node(layer, column)) for column in range(projection.shape[1])]
        return pd.DataFrame(projection, index=pd.Index(hierarchy.vocabulary, name="word"), columns=names)

    def tree(
        self,
        roots: Roots | None = None,
        layer: int | None = None,
        threshold: float | None = None,
        *,
        direction: Direction = "down",
        light: bool = False,
        minibatch: int | None = None,
    ) -> "nx.DiGraph[str]":
        """Return the tree below (or above) some topics as a graph, by default the whole tree.

        Parameters
        ----------
        roots : str or iterable of str, optional
            Topics such as "L3:17"; all topics of ``layer`` by default.
        layer : int, optional
            Layer of the roots; the top by default.
        threshold : float, optional
            Edges are heavier than ``threshold / K``, with K topics in the lower layer; the default of pages if None.
        direction : {"down", "up"}
            Whether to follow children or parents.
        light : bool, default=False
            Whether topics of under 0.1 % of the tokens are included.

        Returns
        -------
        networkx.DiGraph
            Topics with layer, rank, popularity, share, title and words; edges from parent to child with weight.

        Raises
        ------
        LookupError
            When there is no such topic.
        """
        from topiary.app.export.trees import build_graph

        hierarchy = self.hierarchy(minibatch)
        limit, nodes = choose_threshold(threshold, hierarchy), find_roots(hierarchy, roots, layer, light=light)
        return build_graph(hierarchy, limit, nodes, direction, light=light)

    def infer(
        self, texts: str | os.PathLike[str] | Iterable[str], *, minibatch: int | None = None, **options: Any
    ) -> "Inference":
        """Return new documents placed in the topics of this run.

        Parameters
        ----------
        texts : str, sequence of str, or path
            One text or several; a :class:`pathlib.Path` is a file, folder or zip of documents.  The documents of a
            pandas Series keep its index.
        **options
            How a file is read: ``format``, ``text_column``, ``title_column``, ``header``, ``separator``, ``quote``,
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
            When ``texts`` is a table or a dictionary, or holds values that are not texts.
        """
        from .results import infer

        return infer(self._opened, self._row, self._snapshot(minibatch), texts, options)

    def shares(self, layer: int, *, rest: bool = False, minibatch: int | None = None) -> "csr_array":
        """Return the share of every topic of a layer in every document of the corpus as a sparse matrix.

        They are stored when a run ends; those that are missing, as of documents that were appended to the corpus
        later, are computed and stored now.  Pages and exports read the same numbers.

        Parameters
        ----------
        layer : int
            Number of the layer, from 1 next to the words.
        rest : bool, default=False
            Whether a last column holds the shares below 1 % together.

        Returns
        -------
        scipy.sparse.csr_array
            (documents, topics) float32; the columns are those of :meth:`weights`.  Shares below 1 % are left out; with
            ``rest``, a row sums to 1.  :meth:`theta` leaves nothing out.  The row of a document without words is empty.

        Raises
        ------
        LookupError
            When there is no such layer.
        """
        from topiary.app.analysis.shares import build_matrix, fetch_use

        snapshot = find_snapshot_at(self._opened.db, self._row, minibatch)
        hierarchy = self._reader.hierarchy(self._row, snapshot)
        hierarchy.at_rank(layer, 1)
        use = fetch_use(self._opened.db, self._row, snapshot, layer)
        return build_matrix(use.layer, hierarchy.widths[layer - 1], rest=rest)

    def theta(self, layer: int, *, minibatch: int | None = None) -> pd.DataFrame:
        """Return the activations of all topics of a layer in every document of the corpus, none left out.

        The documents are placed now, which takes as long as placing them at the end of the run.

        Parameters
        ----------
        layer : int
            Number of the layer, from 1 next to the words.

        Returns
        -------
        pandas.DataFrame
            (documents, topics) float32, with columns such as "L1:3"; NaN for a document without words.

        Raises
        ------
        LookupError
            When there is no such layer.
        """
        from topiary.app.analysis.shares import infer_theta

        inference = self._opened.places.inference(self.number, self._snapshot(minibatch))
        hierarchy = self._reader.hierarchy(self._row, inference.snapshot)
        hierarchy.at_rank(layer, 1)
        names = [format_identity(hierarchy.node(layer, column)) for column in range(hierarchy.widths[layer - 1])]
        numbers = np.arange(inference.corpus.documents)
        parts = [theta.astype(np.float32) for _, theta in infer_theta(self._opened.db, inference, layer, numbers)]
        return pd.DataFrame(np.concatenate(parts), index=pd.Index(numbers, name="document"), columns=names)

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
        """Return the words of points on the line between two documents of the corpus.

        Parameters
        ----------
        one, other : int
            Numbers of the documents, from 0.
        steps : int, default=9
            Number of points on the line, including both ends.
        layer : int, optional
            Layer whose activations are mixed; the highest one in which the documents differ by default.
        words : int, default=10
            Number of words of each point.

        Returns
        -------
        pandas.DataFrame
            A row for each point: layer, weight (0 at ``one``, 1 at ``other``), words, and the new ones among them.
        """
        from topiary.app.export.class_facts import interpolate_documents

        inference = self._opened.places.inference(self.number, self._snapshot(minibatch))
        mixed_layer, points = interpolate_documents(
            self._opened.db, inference, (one, other), layer=layer, steps=steps, words=words
        )
        vocabulary = inference.rules.vocabulary
        rows = [
            {
                "layer": mixed_layer,
                "weight": point.weight,
                "words": [vocabulary[word] for word in point.words],
                "new": [vocabulary[word] for word, new in zip(point.words, point.new, strict=True) if new],
            }
            for point in points
        ]
        return pd.DataFrame(rows)

    def classify(self, *, minibatch: int | None = None) -> "Classification":
        """Return predicted classes of the test documents of the corpus, with measures of their quality.

        Raises
        ------
        ReadError
            When the model predicts no classes, the corpus has fewer than two, or no test document has a label.
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
        """Return a matching of the topics of this run with those of another one.

        Parameters
        ----------
        other : Run or int
            The run (A) with which this run (B) is compared; may be this run, at another mini-batch.
        threshold : float, optional
            Threshold of the compared edges, as in :meth:`tree`.
        minibatch, other_minibatch : int, optional
            Mini-batches of the snapshots of this run and of the other.

        Raises
        ------
        ValueError
            When the two have no word in common.
        """
        from .results import compare

        other_run = other if isinstance(other, RunTopics) else type(self)(self._opened, other)
        hierarchies = other_run.hierarchy(other_minibatch, npmi=True), self.hierarchy(minibatch, npmi=True)
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
        light: bool = False,
        what: Literal["tree", "topics"] | None = None,
        minibatch: int | None = None,
    ) -> Path:
        """Write the tree (``.svg``, ``.graphml``, ``.gexf``, ``.dot``, ``.json``) or topics (``.csv``, ``.json``).

        Graphs and tables say in how many runs with other seeds each topic and edge is found, if there are such runs.

        Parameters
        ----------
        file : str or path
        roots, layer, threshold, direction, light
            As in :meth:`tree`, the whole tree by default; for topics, ``layer`` is the layer to list.
        label : str
            Class by whose evidence the topics of a picture are tinted.
        what : {"tree", "topics"}, optional
            By default topics for ``.csv`` and the tree for all other suffixes.

        Raises
        ------
        ValueError
            When the suffix is not one of these.
        LookupError
            When there is no such topic, layer or class.
        OSError
            When the file cannot be written.
        """
        from topiary.app.export import topics, trees
        from topiary.app.views.tree.boxes import find_class

        path = Path(file)
        hierarchy = self.hierarchy(minibatch, seeds=path.suffix.lower() not in (".svg", ".dot"))
        if (what or ("topics" if path.suffix.lower() == ".csv" else "tree")) == "topics":
            return topics.write_topics(hierarchy, layer, path)
        return trees.write_tree(
            hierarchy,
            find_roots(hierarchy, roots, layer, light=light),
            choose_threshold(threshold, hierarchy),
            direction,
            path,
            label=find_class(hierarchy.classes, label) if label else 0,
            light=light,
        )

    def table(self, kind: str = "topics", *, minibatch: int | None = None, **options: Any) -> pd.DataFrame:
        """Return a table as ``topiary export`` writes it.

        Parameters
        ----------
        kind : {"topics", "documents", "theta", "time", "groups", "contexts"}
            Topics with words, shares, certainty and relatives; documents with their columns and the shares of the
            topics of a layer, or with the activations of all of them (theta);
            shares of topics by period or by group, with 90 % intervals; or every place where ``query`` finds something.
        layer : int, optional
            Number of the layer, from 1 next to the words; all of topics, 1 of documents, the top one of others.
        query : str
            Words, "a phrase" or /a regular expression/, of contexts and documents.
        column, unit, by : str
            Column of dates or groups, length of the periods, and weight of a document ("tokens" or "documents").
        interval : {"documents", "topics"}
            What the intervals of shares contain: the differences between documents, or also those between samples of
            the topics.
        where : sequence of str
            Conditions on documents, such as ``"date=2004..2005"``.
        minibatch : int, optional
            The last snapshot at or before this mini-batch is used; by default the latest one, and of tables with shares
            the latest one whose documents have all been placed.

        Raises
        ------
        ValueError
            When there is no such table, or something that it needs is missing.
        LookupError
            When there is no such layer.
        """
        from topiary.app.export.run_tables import build_table, read_request

        request = read_request(self._opened.db, self._row, kind, minibatch=minibatch, **options)
        return build_table(kind, request).join()

    def hierarchy(self, minibatch: int | None = None, *, npmi: bool = False, seeds: bool = False) -> Hierarchy:
        """Return the hierarchy of a snapshot, as pages use it: topics, weights, shares and edges.

        Parameters
        ----------
        minibatch : int, optional
            The last snapshot at or before this mini-batch is read; the latest one by default.
        npmi : bool, default=False
            Compute the NPMI of topics from the corpus if the snapshot lacks it.
        seeds : bool, default=False
            Measure what comes back in runs that differ in the seed alone, if there are any (``recurrence``).

        Raises
        ------
        NotFound
            When there is no such snapshot.
        """
        return self._reader.hierarchy_at(self._row, minibatch, npmi=npmi, seeds=seeds)

    def _read_placed(self, minibatch: int | None = None) -> Hierarchy:
        """Return the hierarchy at or before a mini-batch, by default the newest one with shares of documents."""
        return self._reader.placed_at(self._row, minibatch).hierarchy

    @property
    def _reader(self) -> "StoreReader":
        from topiary.app.analysis.reader import StoreReader

        return StoreReader(self._opened.db)

    @property
    def _row(self) -> RunRow:
        return runs.get_run(self._opened.db, self.number)

    def _snapshot(self, minibatch: int | None) -> int:
        return find_snapshot_at(self._opened.db, self._row, minibatch).number
