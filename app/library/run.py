"""A run of a store: how it is, what it has learnt, what can be asked of it, and what steers it."""

import math
import os
import time
from collections.abc import Callable, Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import pandas as pd

from app.analysis.hierarchy import PRINTED_WORDS, Hierarchy, identity
from app.analysis.read_hierarchy import last_seen_of, read_hierarchy, snapshot_at
from app.cli.show import all_facts
from app.export.topics import topics_table
from app.jobs import deletions, launcher
from app.jobs.estimates import headline
from app.jobs.judged import latest_of
from app.jobs.progress import Progress
from app.jobs.waiting import ENDED, follow, last_words, show_progress
from app.views.run_facts import figure
from app.views.tree.opening import threshold_of
from engine.hierarchy.tree import Direction, Node
from store import events, labels, runs, snapshots
from store import points as points_of
from store.errors import NotFound
from store.points import Point
from store.runs import RunRow

from .arguments import Roots, asked, nodes_of, settings_as_text
from .opened import Opened

if TYPE_CHECKING:
    import networkx as nx

    from .classification import Classification
    from .comparison import Comparison
    from .inference import Inference

Layers: TypeAlias = Sequence[int] | int | str
Watcher: TypeAlias = Callable[["Run"], None]


class RunFailed(Exception):  # noqa: N818 - called after the fact that it tells
    """A run that was waited for has failed, or its worker is gone; the message is one sentence."""


class Run:
    """A run: one training of one model on one corpus.

    It trains in a process of its own, and every property is read anew from the store.  Topics have names that last
    for its whole life, such as ``"L2:17"``: topic 17 of layer 2.  Where a method takes ``minibatch``, it looks at the
    snapshot at or before that mini-batch, and at the latest one when it is not given.

    Got from :attr:`Store.runs`, :meth:`Store.train` or :meth:`fork`.

    Attributes
    ----------
    number : int
    """

    def __init__(self, opened: Opened, number: int) -> None:
        self._opened = opened
        self.number = number

    @property
    def state(self) -> str:
        """One of "queued", "running", "paused", "stopped", "finished", "failed" and "silent" (its worker is gone)."""
        return launcher.state_of(self._row)

    @property
    def name(self) -> str:
        """The name that a person gave it, or ""."""
        return self._row.name

    @property
    def corpus(self) -> str:
        """The name of its corpus."""
        return self._row.corpus_name

    @property
    def settings(self) -> dict[str, Any]:
        """Every setting of its model."""
        return dict(self._row.settings)

    @property
    def info(self) -> dict[str, Any]:
        """All that ``topiary show`` tells: state, sizes, perplexities, times, settings, plan and parent."""
        return all_facts(self._opened.db, self._row)

    @property
    def points(self) -> pd.DataFrame:
        """Every measured point: minibatch, documents, seconds, name, layer (0 = of no layer) and value."""
        return pd.DataFrame(list(points_of.table(self._opened.db, self._row.number)), columns=list(Point._fields))

    @property
    def snapshots(self) -> pd.DataFrame:
        """Its snapshots: number, minibatch, seconds, size in bytes and when it was written."""
        rows = snapshots.every(self._opened.db, self._row.number)
        return pd.DataFrame(rows, columns=["number", "minibatch", "seconds", "size", "created"])

    @property
    def events(self) -> pd.DataFrame:
        """What happened to it: minibatch, kind, text and when."""
        found, cursor = events.since(self._opened.db, self._row.number)
        while found and (more := events.since(self._opened.db, self.number, cursor))[0]:
            found, cursor = found + more[0], more[1]
        return pd.DataFrame(found, columns=list(events.Event._fields))[["minibatch", "kind", "text", "created"]]

    def wait(self, *, progress: bool | Watcher = False, timeout: float | None = None) -> Self:
        """Wait until it has ended, is paused or is stopped; Ctrl-C leaves it training.

        Parameters
        ----------
        progress : bool or callable, default=False
            True writes a line to standard error; a function is called with this run every now and then.
        timeout : float, optional
            Seconds.

        Raises
        ------
        RunFailed
            When it fails, or its worker is gone.
        TimeoutError
            When it takes longer than ``timeout``; it goes on.
        """
        shown, began = Progress(), time.monotonic()
        try:
            for row, state in follow(self._opened.db, self.number):
                if state in ("failed", "silent"):
                    raise RunFailed(last_words(row, state))
                if callable(progress):
                    progress(self)
                elif progress and state not in ENDED:
                    show_progress(shown, row, latest_of(self._opened.db, self.number))
                if timeout is not None and state not in ENDED and time.monotonic() - began > timeout:
                    raise TimeoutError(f"run {self.number} is still {state} after {timeout:g} seconds; it goes on")
        finally:
            if progress is True:
                shown.end()
        return self

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
        rows = topics_table(hierarchy, layer, words)
        for row in rows:
            node = Node(row["layer"], row["topic"] - 1)
            npmi = math.nan if row["npmi"] is None else row["npmi"]
            row |= {"topic": identity(node), "weight": hierarchy.weight(node), "npmi": npmi}
        columns = ["topic", "layer", "rank", "weight", "share", "npmi", "light", "title", "name", "words"]
        return pd.DataFrame(rows, columns=columns).set_index("topic")

    def quality(self, *, labels: bool = True, minibatch: int | None = None) -> pd.DataFrame:
        """Measure how good the topics are, layer by layer.

        NPMI is document NPMI of the ten words shown first in the training documents, a pair that never meets counting
        -1: not comparable with the c_npmi of papers.  Of more than 50,000 documents every second, third ... is read.

        Parameters
        ----------
        labels : bool, default=True
            Also say how well topics tell the labels of the corpus, for which up to 1,000 documents are placed.

        Returns
        -------
        pandas.DataFrame
            By layer: topics, live (of at least 0.1 % of the tokens; the figures that follow are of these), npmi,
            npmi_all (of all topics), worst_tenth, diversity, umass, npmi_test (in test documents), specialization,
            affinity_child, affinity_other, affinity_weighted and cross_npmi with the layer below, label_nmi and
            label_purity, then how many documents were read: training_documents, test_documents and
            labelled_documents (test documents where these have labels).  NaN is what is not known.

        Raises
        ------
        NotFound
            When there is no snapshot yet.
        """
        from app.analysis.quality import figures, read_quality

        found = read_quality(self._opened.db, self._row, self.hierarchy(minibatch), labels=labels)
        rows = [
            {"layer": each.layer}
            | figures(each)
            | {"training_documents": each.train.documents, "test_documents": each.test.documents}
            | {"labelled_documents": each.clusters.documents if each.clusters else 0}
            for each in found
        ]
        return pd.DataFrame(rows).set_index("layer")

    def weights(self, layer: int, *, minibatch: int | None = None) -> pd.DataFrame:
        """Weights of all words in the topics of a layer, (words, topics); every column sums to 1.

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
        pruned: bool = False,
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
        pruned : bool, default=False
            With topics that the run has pruned, and who has their words now.

        Returns
        -------
        networkx.DiGraph
            Topics with layer, rank, popularity, share, title and words; edges from parent to child with weight.

        Raises
        ------
        LookupError
            When there is no such topic.
        """
        from app.export.chosen import chosen_graph
        from app.export.graph import build_graph

        hierarchy = self.hierarchy(minibatch)
        limit, nodes = threshold_of(threshold, hierarchy), nodes_of(hierarchy, roots, layer)
        if not pruned:
            return build_graph(hierarchy, limit, nodes, direction)
        from app.export.trees import EVERYTHING
        from app.views.tree.picture import Choice

        choice = Choice(nodes, limit, direction, cap=EVERYTHING)
        return chosen_graph(hierarchy, choice, last_seen_of(self._opened.db, self.number))

    def infer(
        self, texts: str | os.PathLike[str] | Iterable[str], *, minibatch: int | None = None, **options: Any
    ) -> "Inference":
        """Place new documents in the topics of this run.

        Parameters
        ----------
        texts : str, sequence of str, or path
            One text or several; a :class:`pathlib.Path` is a file, folder or zip of documents.
        **options
            Of a file: ``format``, ``text_column``, ``title_column``, ``header``, ``encoding``.

        Returns
        -------
        Inference
            Their activations of every layer, paths, nearest documents and classes.

        Raises
        ------
        IngestError, OptionError
            When a file cannot be read.
        """
        from .inference import infer

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
        from app.cli.infer import line_between

        inference = self._opened.places.inference(self.number, self._snapshot(minibatch))
        mixed, found = line_between(self._opened.db, inference, (one, other), layer=layer, steps=steps, words=words)
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
        from .classification import classify

        return classify(self._opened, self._row, self._snapshot(minibatch))

    def compare(
        self,
        other: "Run | int",
        *,
        threshold: float | None = None,
        minibatch: int | None = None,
        other_minibatch: int | None = None,
    ) -> "Comparison":
        """Match the topics of this run with those of another one.

        Parameters
        ----------
        other : Run or int
            What this run (B) is compared with (A); may be this run, at another mini-batch.
        threshold : float, optional
            Of the edges that are compared, as in :meth:`tree`.
        minibatch, other_minibatch : int, optional
            The snapshots of this run and of the other.

        Raises
        ------
        ValueError
            When the two have no word in common.
        """
        from .comparison import compare

        theirs = other if isinstance(other, Run) else Run(self._opened, other)
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
        pruned: bool = False,
        what: Literal["tree", "topics"] | None = None,
        minibatch: int | None = None,
    ) -> Path:
        """Write the tree (``.svg``, ``.graphml``, ``.gexf``, ``.dot``, ``.json``) or topics (``.csv``, ``.json``).

        Parameters
        ----------
        file : str or path
        roots : int, str or iterable of these, optional
            As in :meth:`tree`; the most popular topic of ``layer`` when not given.
        layer, threshold, direction, pruned
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
        from app.views.tree.class_overlay import class_number

        path, hierarchy = Path(file), self.hierarchy(minibatch)
        if (what or ("topics" if path.suffix.lower() == ".csv" else "tree")) == "topics":
            return topics.write(hierarchy, layer, path)
        return trees.write(
            hierarchy,
            nodes_of(hierarchy, 1 if roots is None else roots, layer),
            threshold_of(threshold, hierarchy),
            direction,
            path,
            label=class_number(hierarchy.classes, label) if label else 0,
            last_seen=last_seen_of(self._opened.db, self.number) if pruned else (),
        )

    def fork(
        self,
        model: str | None = None,
        *,
        minibatch: int | None = None,
        minibatches: int | None = None,
        preset: str = "",
        seed: int | None = None,
        threads: int | None = None,
        averaged: bool = False,
        averaged_burn_in: int | None = None,
        averaged_samples: int | None = None,
        paper_point: bool = False,
        name: str = "",
        wait: bool = False,
        progress: bool | Watcher = False,
        **settings: Any,
    ) -> "Run":
        """Go on from a snapshot of this run as a run of its own, with another model, seed or settings.

        Parameters
        ----------
        model : str, optional
            That of this run when not given; "sdatm" learns from labels.
        minibatch : int, optional
            The snapshot at or before it.
        minibatches, seed : int, optional
            Those of this run when not given.
        preset, threads, averaged, averaged_burn_in, averaged_samples, paper_point, name, wait, progress, **settings
            As in :meth:`Store.train`; settings that are not given are those of this run.

        Raises
        ------
        NewRunError
            When the model cannot begin with that snapshot, or a setting or number cannot be.
        """
        from app.jobs.forks import origin
        from app.jobs.new_run import fork

        row = fork(
            self._opened.db,
            origin(self._opened.db, self.number, minibatch=minibatch),
            model=model,
            texts=settings_as_text(settings),
            **asked(
                minibatches=minibatches,
                preset=preset,
                seed=seed,
                threads=threads,
                averaged=averaged,
                burn_in=averaged_burn_in,
                samples=averaged_samples,
                paper_point=paper_point,
                name=name,
            ),
        )
        launcher.fill(self._opened.db)
        made = Run(self._opened, row.number)
        return made.wait(progress=progress) if wait else made

    def hierarchy(self, minibatch: int | None = None, *, npmi: bool = False) -> Hierarchy:
        """Everything of one snapshot as the pages read it: topics, weights, shares, edges.

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
        found = read_hierarchy(self._opened.db, row, snapshot_at(self._opened.db, row, minibatch))
        if not npmi:
            return found
        from app.analysis.quality import with_npmi

        return with_npmi(self._opened.db, row, found)

    def pause(self) -> None:
        """Pause it after its mini-batch."""
        launcher.pause(self._opened.db, self.number)

    def stop(self) -> None:
        """Stop it after its mini-batch."""
        launcher.stop(self._opened.db, self.number)

    def resume(self) -> None:
        """Go on where it was paused, stopped or killed, or failed."""
        launcher.resume(self._opened.db, self.number)

    def delete(self) -> None:
        """Delete it with all that belongs to it."""
        launcher.delete(self._opened.db, self.number)
        deletions.record(self._opened.db.place, f"run {self.number}")

    def rename(self, name: str) -> None:
        """Give it a name, or none for ""."""
        runs.rename(self._opened.db, self.number, name)

    def rename_topic(self, topic: str, name: str) -> None:
        """Give a topic such as "L3:17" a name, which stands for its title everywhere; "" takes it away.

        Raises
        ------
        LookupError
            When there is no such topic.
        """
        (node,) = nodes_of(self.hierarchy(None), topic, None)
        labels.set(self._opened.db, self.number, node.layer, node.column + 1, name)

    def __eq__(self, other: object) -> bool:
        same_store = isinstance(other, Run) and other._opened.db.url == self._opened.db.url
        return same_store and isinstance(other, Run) and other.number == self.number

    def __hash__(self) -> int:
        return hash((self._opened.db.url, self.number))

    def __repr__(self) -> str:
        try:
            return f"<Run {self.number}: {self._sentence()}>"
        except NotFound:
            return f"<Run {self.number}: deleted>"

    def _repr_html_(self) -> str:
        try:
            return f"<p><b>Run {self.number}</b><br>{escape(self._sentence())}</p>"
        except NotFound:
            return f"<p><b>Run {self.number}</b><br>deleted</p>"

    def _sentence(self) -> str:
        row = self._row
        widths = "-".join(map(str, row.layers))
        named = f"{row.name}, " if row.name else ""
        best = headline(row, latest_of(self._opened.db, self.number))
        ended = "" if best is None else f", {best.name} {figure(best)}"
        how = f"{launcher.state_of(row)}, {row.minibatch:,} of {row.planned:,} mini-batches{ended}"
        return f"{named}{row.model} {row.inference} {widths} on {row.corpus_name}, {how}"

    @property
    def _row(self) -> RunRow:
        return runs.get(self._opened.db, self.number)

    def _snapshot(self, minibatch: int | None) -> int:
        return snapshot_at(self._opened.db, self._row, minibatch).number
