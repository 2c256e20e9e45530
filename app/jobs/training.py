"""The mathematics of a run: steps from one position to the next, without store or clock.

A :class:`Position` is all that the next mini-batch needs.  It is packed as named arrays and unpacked bit for bit, so
that a resumed run equals one that never stopped.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from app.jobs.plan import MOVE_DRAWS, PLACE_SWEEPS, PREDICTION_DRAWS, Effort, Plan, RunOptions, make_plan
from app.jobs.records import collect_topic_facts, find_common_words, restore_state
from engine import first_topics, streams
from engine.contract import (
    TEST,
    TRAIN,
    VALIDATION,
    Array,
    Batch,
    Facts,
    Info,
    Kernel,
    Rates,
    Sweeps,
    flatten,
    unflatten,
)
from engine.corpus import Corpus, draw_minibatch
from engine.hierarchy import class_scores, evaluate, settling

EXAMPLES = 20  # documents shown for a topic
BLOCK = 2000  # documents evaluated or placed at a time, so that memory stays small


SETTLED = 0.85  # of the weight of the edges above every layer stays where it was two thirds of the steps before
LATER = 1.5  # times the steps after which trees are compared


class TreeReference(NamedTuple):
    """The tree of an earlier step, and how much of it stayed from one such step to the next.

    Attributes
    ----------
    minibatch : int
        The step; 0 before the first.
    edges : tuple of (K_l, K_{l+1}) float64
        As in :func:`engine.hierarchy.settling.weigh_edges`.
    persistence : (L - 1,) float64
        What had stayed of the one before; empty without one.
    """

    minibatch: Array
    edges: tuple[Array, ...]
    persistence: Array

    @property
    def is_settled(self) -> bool:
        """Whether the tree no longer changes; a tree of one layer has no edges."""
        return not self.edges or (len(self.persistence) > 0 and float(self.persistence.min()) >= SETTLED)


NO_TREE = TreeReference(np.array(0), (), np.zeros(0))


class Position(NamedTuple):
    """The position of a run: what its next mini-batch needs.

    Attributes
    ----------
    minibatch : int
        Mini-batches done; a sweep of all documents counts as one.
    documents : int
        Documents read by them.
    state : State
        The model's state.
    chain : Chain or None
        Local variables of all test documents, of the averaged protocol.
    rates : Rates or None
        Its rates so far.
    places : tuple of (n, K_l) float32
        Share of every topic in the placed training documents; -1 where not placed yet.
    tree : TreeReference
        The tree that the present one is compared with.
    """

    minibatch: int
    documents: int
    state: Any
    chain: Any
    rates: Rates | None
    places: tuple[Array, ...]
    tree: TreeReference = NO_TREE


class Training:
    """A corpus, a kernel and a seed, ready to step.

    Parameters
    ----------
    corpus : Corpus
    kernel : Kernel
    state_type : type
        The model's ``State``.
    seed : int
        The run's seed.
    filed : bool, optional
        Whether the first epoch takes the documents as they lie in the file (:func:`engine.corpus.draw_minibatch`).

    Attributes
    ----------
    train, test : (n,) int64
        Numbers of the documents of two parts, those of the test in the order in which they are judged.
    validates : bool
        Whether the corpus has validation documents.
    watched : (n,) int64
        The documents that the curve, its plateau and the label error read: those for validation, or, of a corpus
        without any, for the test.
    labelled : (n,) int64
        Those of them that have a label.
    """

    def __init__(
        self, corpus: Corpus, kernel: Kernel, state_type: type[Any], seed: int, *, filed: bool = False
    ) -> None:
        self.corpus = corpus
        self.kernel = kernel
        self.seed = seed
        self._state_type = state_type
        self._filed = filed
        self.train = corpus.documents(TRAIN)
        self.test = _shuffle_documents(corpus, TEST)
        self.validates = VALIDATION in corpus.part
        self.watched = _shuffle_documents(corpus, VALIDATION) if self.validates else self.test
        self.labelled = self.watched[corpus.labels[self.watched] >= 0]
        self._whole: Batch | None = None
        self._examples = _shuffle_documents(corpus, TRAIN)
        self._curve: list[tuple[Batch, Batch]] | None = None
        self._averaged: tuple[Batch, Batch] | None = None

    @property
    def batch_documents(self) -> int:
        """Documents of a mini-batch."""
        return min(self.kernel.batch_size, len(self.train))

    @property
    def has_held_out(self) -> bool:
        """Whether the documents of the curve have tokens to hold out; a document of one token has none."""
        return self._holds_out(self.watched)

    @property
    def has_held_out_test(self) -> bool:
        """Whether test documents have tokens to hold out."""
        return self._holds_out(self.test)

    def batch(self, t: int, state: Any) -> Batch:
        """Return what step ``t`` = 1, 2, ... reads from this state on: a mini-batch, or all training documents."""
        if not self.kernel.is_sweeping(state):
            size = self.kernel.batch_size
            return self.corpus.batch(draw_minibatch(self.seed, t, self.train, size, filed=self._filed))
        if self._whole is None:
            self._whole = _read_documents(self.corpus, self.train)
        return self._whole

    def warm_up(self, *, averaged: bool) -> float:
        """Run every kernel once on a few documents, so that it is compiled; return the sweeps of a step.

        Kernels are pure, so nothing of this is left behind.
        """
        sweeps = self.warm_step()
        self.warm_rest(averaged=averaged)
        return sweeps

    def warm_step(self) -> float:
        """Compile the kernels of a step; return its sweeps (token draws for every token)."""
        state, batch = self._read_first_documents()
        if self.kernel.begin is not None:
            self.kernel.begin(self.seed, batch)
        state, info = self.kernel.step(self.seed, state, batch)
        self.kernel.step(self.seed, state, batch)
        if self.kernel.sweeps_after:  # mini-batches, and sweeps after them
            self.kernel.step(self.seed, state._replace(t=np.array(self.kernel.sweeps_after)), batch)
        return info.token_draws / info.tokens if info.tokens else 1.0

    def warm_rest(self, *, averaged: bool) -> None:
        """Compile the kernels that place and evaluate documents."""
        state, batch = self._read_first_documents()
        self.kernel.infer(self.seed, state, batch, PLACE_SWEEPS)
        if self.kernel.predict is not None:
            self.kernel.predict(self.seed, state, batch)
        if len(self.watched):
            observed, scored = self.corpus.split_tokens(self.watched[:2])
            evaluate.evaluate_point(self.kernel, self.seed, state, observed, scored, Sweeps(1, 1))
            if averaged:
                chain = self.kernel.start_chain(self.seed, state, observed)
                self.kernel.advance_chain(self.seed, state, chain, observed, scored, Sweeps(1, 0))

    def _read_first_documents(self) -> tuple[Any, Batch]:
        """Return the first two training documents as a batch, and a state for them."""
        batch = self.corpus.batch(self.train[:2])
        return self.kernel.prepare(self.seed, self.kernel.init(self.seed), batch), batch

    def first_state(self, snapshot: dict[str, Array] | None = None) -> Any:
        """Return the model's state before the first mini-batch: a new one, or the one that goes on from a snapshot."""
        if snapshot is not None:
            state = restore_state(self.kernel, self.seed, snapshot)
        elif self.kernel.begin is not None:
            state = self.kernel.begin(self.seed, self.corpus.batch(first_topics.sample_documents(self.train)))
        else:
            state = self.kernel.init(self.seed)
        return self.prepare_state(state) if self.kernel.is_sweeping(state) else state

    def prepare_state(self, state: Any) -> Any:
        """Return a state whose first step reads all training documents, with their local variables."""
        return self.kernel.prepare(self.seed, state, self.batch(1, state))

    def count_numbers(self, state: Any) -> int:
        """Return how many numbers a checkpoint of a state has."""
        return sum(array.size for array in flatten(state).values())

    def start(self, state: Any, plan: Plan) -> Position:
        """Return the position before the first mini-batch, around the model's first state."""
        chain, rates = None, None
        if plan.averaging:
            observed, scored = self._hold_out_all()
            chain = self.kernel.start_chain(self.seed, state, observed)
            rates = Rates(np.zeros(len(scored.words)), np.zeros(len(self.test)))
        topics = self.kernel.topics(state)
        places = tuple(np.full((plan.placed_documents, phi.shape[1]), -1, dtype=np.float32) for phi in topics.phi)
        return Position(0, 0, state, chain, rates, places)

    def step(self, position: Position) -> tuple[Position, Info]:
        """Train on one mini-batch; after a change of the structure the chains of test documents start again."""
        t = position.minibatch + 1
        batch = self.batch(t, position.state)
        state, info = self.kernel.step(self.seed, position.state, batch)
        return self.advance(position, state, info, len(batch.documents)), info

    def advance(self, position: Position, state: Any, info: Info, n_documents: int) -> Position:
        """Return the position after a step that read so many documents and led to this state."""
        chain = position.chain
        if info.events and chain is not None:
            chain = self.kernel.start_chain(self.seed, state, self._hold_out_all()[0])
        documents = position.documents + n_documents
        return position._replace(minibatch=position.minibatch + 1, documents=documents, state=state, chain=chain)

    def count_sweeps(self, position: Position) -> int:
        """Return the sweeps of all documents before a position, in this run and in those it was forked from."""
        after = self.kernel.sweeps_after
        return 0 if after is None else max(0, int(position.state.t) - after)

    def follow(self, position: Position, plan: Plan) -> Position:
        """Sweep all test documents under the current topics (averaged protocol, models.md 1.4)."""
        if plan.averaging is None:
            return position
        observed, scored = self._hold_out_all()
        counted = plan.averaging.first <= position.minibatch <= plan.averaging.last
        sweeps = Sweeps(0, 1) if counted else Sweeps(1, 0)
        chain, rates = self.kernel.advance_chain(self.seed, position.state, position.chain, observed, scored, sweeps)
        if not counted or position.rates is None:
            return position._replace(chain=chain)
        total = Rates(position.rates.cells + rates.cells, position.rates.totals + rates.totals)
        return position._replace(chain=chain, rates=total)

    def averaged_score(self, position: Position, plan: Plan) -> float | None:
        """Return the averaged perplexity (or log-likelihood) so far, None while no rates were added."""
        if plan.averaging is None or position.rates is None or position.minibatch < plan.averaging.first:
            return None
        return evaluate.score_held_out(self.kernel, position.rates, self._hold_out_all()[1])

    def curve_point(self, state: Any, plan: Plan) -> float:
        """Return the point perplexity (or log-likelihood) of the documents of the curve under the topics of a state."""
        if self._curve is None:
            documents = self._choose_first(self.watched, max(1, plan.curve_documents))
            self._curve = [self.corpus.split_tokens(block) for block in _cut_blocks(documents)]
        return self._measure_score(state, iter(self._curve), plan.curve_sweeps)

    def test_point(self, state: Any, plan: Plan, between: Callable[[], None] = lambda: None) -> float:
        """Return the score of the test documents that a run is judged on when it ends, as in a point of the curve."""
        documents = self._choose_first(self.test, max(1, plan.test_documents))
        return self._measure_score(
            state, map(self.corpus.split_tokens, _cut_blocks(documents)), plan.test_sweeps, between
        )

    def _choose_first(self, documents: Array, n_documents: int) -> Array:
        """Return the first ``n_documents`` documents, or the next ones where none of those can be held out."""
        firsts = range(0, max(1, len(documents)), n_documents)
        parts = (documents[first : first + n_documents] for first in firsts)
        return next((part for part in parts if self._holds_out(part)), documents[:1])

    def _holds_out(self, documents: Array) -> bool:
        """Return whether any of these documents has a token to hold out."""
        return any(len(self.corpus.split_tokens(block)[1].words) for block in _cut_blocks(documents))

    def label_error(self, position: Position, plan: Plan) -> float:
        """Return the percentage of labelled documents with a wrong prediction; nan where none is predicted."""
        if self.kernel.predict is None or not plan.predicted_documents:
            return math.nan
        batch = self.corpus.batch(self.labelled[: plan.predicted_documents])
        chances = self.kernel.predict(self.seed, position.state, batch, PREDICTION_DRAWS)
        return 100.0 * class_scores.score_predictions(chances, batch.labels).error

    def paper_point(self, position: Position, plan: Plan, between: Callable[[], None]) -> float:
        """Return the score of test documents by the paper's sweeps; ``between`` is called after each block of them."""
        blocks = _cut_blocks(self.test[: plan.paper_documents])
        return self._measure_score(position.state, map(self.corpus.split_tokens, blocks), evaluate.POINT, between)

    def _measure_score(
        self,
        state: Any,
        splits: Iterator[tuple[Batch, Batch]],
        sweeps: Sweeps,
        between: Callable[[], None] = lambda: None,
    ) -> float:
        """Return the score of documents in blocks, each token (or cell) with the same weight."""
        total = weight = 0.0
        perplexity = self.kernel.measure == "perplexity"
        for observed, scored in splits:
            n = float(scored.counts.sum(dtype=np.float64)) if perplexity else float(len(scored.words))
            if n > 0:
                value = evaluate.evaluate_point(self.kernel, self.seed, state, observed, scored, sweeps)
                total, weight = total + n * (math.log(value) if perplexity else value), weight + n
            between()
        mean = total / weight if weight else math.nan
        return math.exp(mean) if perplexity else mean

    def place(self, position: Position, plan: Plan, *, every: bool) -> Position:
        """Place the next few example documents in the hierarchy; all with ``every`` or after a change of widths."""
        n = plan.placed_documents
        widths = tuple(phi.shape[1] for phi in self.kernel.topics(position.state).phi)
        if every or widths != tuple(old.shape[1] for old in position.places):
            rows = np.arange(n)
            places = tuple(np.full((n, width), -1, dtype=np.float32) for width in widths)
        else:
            done = sum(t < position.minibatch for t in plan.snapshots)
            rows = np.arange(done * plan.placed_each, (done + 1) * plan.placed_each) % n
            places = tuple(old.copy() for old in position.places)
        shown = self.kernel.find_shown_state(position.state)
        for block in _cut_blocks(rows):
            batch = self.corpus.batch(self._examples[block])
            local = self.kernel.infer(self.seed, shown, batch, PLACE_SWEEPS)
            for table, theta in zip(places, local.theta, strict=True):
                totals = theta.sum(axis=1, keepdims=True)
                table[block] = theta / np.maximum(totals, np.finfo(np.float64).tiny)
        return position._replace(places=places)

    def list_examples(self, position: Position) -> dict[str, Array]:
        """Return the documents with the largest share of every topic: ``top_documents.l``, ``top_weights.l``."""
        arrays: dict[str, Array] = {}
        for layer, shares in enumerate(position.places):
            documents, weights = find_best_documents(shares, self._examples[: len(shares)])
            arrays[f"top_documents.{layer}"], arrays[f"top_weights.{layer}"] = documents, weights
        return arrays

    @cached_property
    def common_words(self) -> Array:
        """The numbers of the words that are common everywhere in the corpus."""
        return find_common_words(self.corpus)

    def measure_facts(self, position: Position, arrays: Mapping[str, Array]) -> dict[str, Array]:
        """Return facts about the topics of a snapshot with these arrays."""
        return collect_topic_facts(self.corpus, self.common_words, arrays, position.places)

    def choose_unread(self, _layouts: Mapping[str, Any]) -> set[str]:
        """Return the arrays of a checkpoint, by their layouts, that this process does not read."""
        return set()

    def compare_trees(self, position: Position) -> Position:
        """Compare the tree with that of two thirds of the steps before, where that is due, and keep it."""
        before = position.tree
        if position.minibatch < LATER * int(before.minibatch):
            return position
        edges = settling.weigh_edges(self.kernel.topics(self.kernel.find_shown_state(position.state)))
        persistence = settling.measure_persistence(before.edges, edges) if int(before.minibatch) else ()
        return position._replace(tree=TreeReference(np.array(position.minibatch), edges, np.array(persistence)))

    def pack(self, position: Position) -> dict[str, Any]:
        """Return a position as named arrays, for a checkpoint."""
        arrays: dict[str, Any] = {f"state.{name}": array for name, array in flatten(position.state).items()}
        arrays["documents"] = np.array(position.documents)
        if position.chain is not None:
            arrays |= {f"chain.{name}": array for name, array in flatten(position.chain).items()}
        if position.rates is not None:
            arrays |= {"rates.cells": position.rates.cells, "rates.totals": position.rates.totals}
        arrays |= {f"tree.{name}": array for name, array in flatten(position.tree).items()}
        return arrays | {f"places.{i}": table for i, table in enumerate(position.places)}

    def unpack(self, minibatches: int, arrays: dict[str, Array]) -> Position:
        """Return the position that :meth:`pack` named, bit for bit."""
        state = unflatten(self._state_type, _select_arrays("state", arrays))
        chain, rates = None, None
        if "rates.cells" in arrays:
            observed, _ = self.corpus.split_tokens(self.test[:1])
            kind = type(self.kernel.start_chain(self.seed, state, observed))
            chain = unflatten(kind, _select_arrays("chain", arrays))
            rates = Rates(arrays["rates.cells"], arrays["rates.totals"])
        tables = _select_arrays("places", arrays)
        documents = int(arrays["documents"]) if "documents" in arrays else self._estimate_documents(minibatches, state)
        places = tuple(tables[str(i)] for i in range(len(tables)))
        known = _select_arrays("tree", arrays)  # not of checkpoints written before trees were compared
        tree = unflatten(TreeReference, known) if known else NO_TREE
        return Position(minibatches, documents, state, chain, rates, places, tree)

    def _estimate_documents(self, minibatches: int, state: Any) -> int:
        """Return the documents read so far, for checkpoints of versions that did not count them."""
        return minibatches * (len(self.train) if self.kernel.is_sweeping(state) else self.batch_documents)

    def _hold_out_all(self) -> tuple[Batch, Batch]:
        if self._averaged is None:
            self._averaged = self.corpus.split_tokens(np.sort(self.test))
        return self._averaged


def collect_facts(corpus: Corpus) -> Facts:
    """Return the facts about a corpus that a model needs."""
    documents, classes = len(corpus.documents(TRAIN)), len(corpus.label_names)
    return Facts(corpus.n_words, documents, classes, corpus.image_shape, corpus.count_tokens(TRAIN))


def measure_effort(training: Training, state: Any, sweeps: float, tokens_per_document: float) -> Effort:
    """Return the counts a plan is made from (:class:`app.jobs.plan.Effort`), given the model's first state."""
    topics = training.kernel.topics(state)
    widths = sum(phi.shape[1] for phi in topics.phi)
    shown = sum(phi.size for phi in topics.phi) + topics.r.size + widths * (1 + 2 * EXAMPLES)
    shown += sum(array.size for array in training.kernel.keep(state).values())
    if training.kernel.average is not None:
        shown += sum(phi.size for phi in topics.phi)
    kept = training.count_numbers(state)
    kernel, swept = training.kernel, len(training.train)
    first = None if kernel.sweeps_after is None else max(0, kernel.sweeps_after - int(state.t))
    if first:  # what sweeps keep of every document is added
        kept += int(swept * (tokens_per_document + widths))
    others = MOVE_DRAWS * sum(phi.size for phi in topics.phi) + training.kernel.work * training.batch_documents
    labelled = len(training.labelled) if training.kernel.predict is not None else 0
    sizes = (training.batch_documents, sweeps, tokens_per_document, shown, kept, widths)
    return Effort(*sizes, others, labelled, kernel.prediction_work, first, swept)


def plan_run(training: Training, options: RunOptions, effort: Effort) -> Plan:
    """Return the plan of a run on the corpus of a training."""
    judged = len(training.watched) if training.has_held_out else 0
    return make_plan(
        options,
        effort,
        train_documents=len(training.train),
        test_documents=len(training.test) if training.has_held_out_test else 0,
        validation_documents=judged if training.validates else None,
    )


def find_best_documents(shares: Array, documents: Array) -> tuple[Array, Array]:
    """Return the EXAMPLES documents with the largest share of every topic.

    Parameters
    ----------
    shares : (n, K) float32
        Share of topic ``k`` in document ``j``; below 0 where it is not known.
    documents : (n,) int64
        Document numbers of the rows.

    Returns
    -------
    (K, EXAMPLES) int64, (K, EXAMPLES) float32
        Largest share first, equal ones by row; -1 and 0 where there are no more.
    """
    n, width = shares.shape
    kept = min(EXAMPLES, n)
    numbers = np.full((width, EXAMPLES), -1, dtype=np.int64)
    weights = np.zeros((width, EXAMPLES), dtype=np.float32)
    rows = np.sort(np.argpartition(-shares, kept - 1, axis=0)[:kept], axis=0)
    order = np.take_along_axis(
        rows, np.argsort(-np.take_along_axis(shares, rows, axis=0), axis=0, kind="stable"), axis=0
    ).T
    best = np.take_along_axis(shares.T, order, axis=1)
    known = best >= 0
    numbers[:, :kept] = np.where(known, documents[order], -1)
    weights[:, :kept] = np.where(known, best, 0)
    return numbers, weights


def _shuffle_documents(corpus: Corpus, part: int) -> Array:
    """Return the documents of one part in an order fixed by the corpus, so that all its runs use the same ones."""
    documents = corpus.documents(part)
    return documents[streams.make_generator(corpus.split_seed, streams.SPLIT, part).permutation(len(documents))]


def _read_documents(corpus: Corpus, documents: Array) -> Batch:
    """Return many documents as one batch, a view of the corpus where they are neighbours, else a copy."""
    first, end = int(documents[0]), int(documents[-1]) + 1
    if end - first != len(documents):
        return corpus.batch(documents)
    return corpus.counts.rows(first, end).batch(documents, corpus.labels[first:end])


def _cut_blocks(items: Array) -> list[Array]:
    return [items[i : i + BLOCK] for i in range(0, len(items), BLOCK)]


def _select_arrays(prefix: str, arrays: dict[str, Array]) -> dict[str, Array]:
    return {name.removeprefix(f"{prefix}."): array for name, array in arrays.items() if name.startswith(f"{prefix}.")}
