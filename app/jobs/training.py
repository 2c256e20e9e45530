"""The mathematics of a run: steps from one position to the next, independent of store and clock.

A :class:`Position` holds all that the next mini-batch needs.  It is packed as named arrays and unpacked exactly, so
that a resumed run is identical to one that never stopped.

A few sweeps of a run with each of some widths of layers decide whether narrower layers predict words as well.  The
proposal is a rule about the size of a corpus (:func:`app.jobs.run_rules.propose_widths`), and some corpora have fewer
subjects than their size suggests: topics that only divide others among themselves are harder to read.  Half as many
topics are therefore taken while the wider layers do not lower the perplexity of validation documents by
``LEAST_GAIN``.  On corpora that need the topics, twice as many lowered it by 5 to 15 %, on film reviews by less than
0.3 %.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from topiary.app.jobs.plan import MOVE_DRAWS, PLACE_SWEEPS, PREDICTION_DRAWS, Effort, Plan, RunOptions, make_plan
from topiary.app.jobs.records import collect_topic_facts, find_common_words, restore_state
from topiary.app.jobs.run_rules import halve_widths
from topiary.engine import first_topics, streams
from topiary.engine.contract import (
    TEST,
    TRAIN,
    VALIDATION,
    Array,
    AveragingKernel,
    Batch,
    Facts,
    Info,
    Kernel,
    PredictingKernel,
    Rates,
    Sweeps,
    flatten,
    unflatten,
)
from topiary.engine.corpus import Corpus, draw_minibatch
from topiary.engine.hierarchy import certainty, class_scores, evaluate
from topiary.engine.hierarchy.effects import compute_popularity
from topiary.engine.hierarchy.paths import compute_shares
from topiary.engine.hierarchy.topics import collect_arrays
from topiary.engine.hierarchy.topics import compute_shares as compute_topic_shares
from topiary.engine.models import RegisteredModel
from topiary.engine.steering.edit import SEED, Edit, EditRefused, EditResult
from topiary.engine.steering.tokens import compile_moves

EXAMPLES = 20  # example documents of a topic
BLOCK = 2000  # documents evaluated or placed at a time, to limit memory
SETTLED = 0.85  # least share of the edges' weight in each layer that is unchanged in a settled tree
LEAST_SETTLING = 500  # sweeps: before, trees are alike because the chain has hardly left its start
FALLING = 0.9  # ratio of the largest shares of the top layer in two trees below which it still falls
LATER = 1.5  # ratio of the steps of two trees that are compared
TRIAL_SWEEPS = 4  # 8 took 5 to 8 % of the time of 300 sweeps, and decide alike (BBC, Reuters, 20 Newsgroups)
LEAST_GAIN = 0.02  # by which the wider of two neighbours must lower the perplexity, relative to that of the narrower


class TreeReference(NamedTuple):
    """The tree of an earlier step, and how much of the tree before it was still unchanged then.

    Attributes
    ----------
    minibatch : int
        Step of the tree; 0 without one.
    edges : tuple of (K_l, K_{l+1}) float64
        Weights of the edges, from :func:`engine.hierarchy.certainty.weigh_edges`.
    persistence : (L - 1,) float64
        Unchanged share of the previous reference tree, by layer; empty without one.
    largest : (1 or 2,) float64
        Share of the largest topic of the top layer in the previous reference tree, if there is one, and in this one.
    """

    minibatch: Array
    edges: tuple[Array, ...]
    persistence: Array
    largest: Array = np.zeros(0)

    @property
    def is_settled(self) -> bool:
        """Whether the tree no longer changes; true for a single layer, which has no edges.

        A topic that the start made too large gives its edges away slowly, so its share is looked at by itself.
        """
        if not self.edges:
            return True
        late = int(self.minibatch) >= LEAST_SETTLING and len(self.persistence) > 0
        falls = len(self.largest) > 1 and float(self.largest[-1]) < FALLING * float(self.largest[0])
        return late and float(self.persistence.min()) >= SETTLED and not falls


NO_TREE = TreeReference(np.array(0), (), np.zeros(0))


class Position(NamedTuple):
    """The position of a run, with all that its next mini-batch needs.

    Attributes
    ----------
    minibatch : int
        Number of mini-batches done; a sweep of all documents counts as one.
    documents : int
        Number of documents read by them.
    state : State
        The model's state.
    chain : Chain or None
        Local variables of all test documents, for the averaged protocol.
    rates : Rates or None
        Sum of the rates of the averaged protocol so far.
    places : tuple of (n, K_l) float32
        Share of every topic in the placed training documents; -1 where not placed yet.
    tree : TreeReference
        The tree with which the current one is compared.
    titles : tuple of (n, 3) int32
        The titles in the last snapshot, by :func:`app.jobs.records.index_titles`.
    edited : int
        Number of the last edit in the journal that was made or refused.
    """

    minibatch: int
    documents: int
    state: Any
    chain: Any
    rates: Rates | None
    places: tuple[Array, ...]
    tree: TreeReference = NO_TREE
    titles: tuple[Array, ...] = ()
    edited: int = 0


class Training:
    """A corpus, a kernel and a seed, ready to step.

    Parameters
    ----------
    state_type : type
        ``State`` of the model.
    seed : int
        Seed of the run.
    filed : bool, optional
        Whether the first epoch reads the documents in the order of the file (:func:`engine.corpus.draw_minibatch`).

    Attributes
    ----------
    train, test : (n,) int64
        Numbers of the training and test documents, the latter in the order of evaluation.
    validates : bool
        Whether the corpus has validation documents.
    watched : (n,) int64
        Documents of the curve, its plateau and the label error: the validation documents, or the test documents if
        there are none.
    labelled : (n,) int64
        The watched documents that have a label.
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
        """Number of documents in a mini-batch."""
        return min(self.kernel.batch_size, len(self.train))

    @property
    def has_held_out(self) -> bool:
        """Whether the documents of the curve have held-out tokens; a document of one token has none."""
        return self._holds_out(self.watched)

    @property
    def has_held_out_test(self) -> bool:
        """Whether the test documents have held-out tokens."""
        return self._holds_out(self.test)

    def batch(self, t: int, state: Any) -> Batch:
        """Return the documents of step ``t`` = 1, 2, ... from a state: a mini-batch, or all training documents."""
        if not self.kernel.is_sweeping(state):
            size = self.kernel.batch_size
            return self.corpus.batch(draw_minibatch(self.seed, t, self.train, size, filed=self._filed))
        return self.read_all()

    def read_all(self) -> Batch:
        """Return all training documents."""
        if self._whole is None:
            self._whole = _read_documents(self.corpus, self.train)
        return self._whole

    def warm_up(self, *, averaged: bool) -> float:
        """Compile every kernel by running it on a few documents; return the sweeps of a step.

        Kernels are pure functions, so this has no other effect.
        """
        sweeps = self.warm_step()
        self.warm_rest(averaged=averaged)
        return sweeps

    def warm_step(self) -> float:
        """Compile the kernels of a step; return its sweeps, the token draws for each token."""
        state, batch = self._read_first_documents()
        self.kernel.init_from_documents(self.seed, batch)
        state, info = self.kernel.step(self.seed, state, batch)
        self.kernel.step(self.seed, state, batch)
        if self.kernel.sweeps_after:  # sweeps follow the mini-batches
            self.kernel.step(self.seed, state._replace(t=np.array(self.kernel.sweeps_after)), batch)
        return info.token_draws / info.tokens if info.tokens else 1.0

    def warm_rest(self, *, averaged: bool) -> None:
        """Compile the kernels that place and evaluate documents, and those of edits."""
        state, batch = self._read_first_documents()
        if SEED in self.kernel.steers:
            compile_moves(batch)
        local = self.kernel.infer(self.seed, state, batch, PLACE_SWEEPS)
        compute_shares(self.kernel.topics(state), local, batch)
        if isinstance(self.kernel, PredictingKernel):
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
        """Return the model's state before the first mini-batch: a new one, or one that continues from a snapshot."""
        if snapshot is not None:
            state = restore_state(self.kernel, self.seed, snapshot)
        else:
            docs = self.corpus.batch(first_topics.sample_documents(self.train))
            state = self.kernel.init_from_documents(self.seed, docs)
        return self.prepare_state(state) if self.kernel.is_sweeping(state) else state

    def prepare_state(self, state: Any) -> Any:
        """Return a state with the local variables of all training documents, for a first step that sweeps them."""
        return self.kernel.prepare(self.seed, state, self.batch(1, state))

    def count_numbers(self, state: Any) -> int:
        """Return how many numbers a checkpoint of a state holds."""
        return sum(array.size for array in flatten(state).values())

    def holds_local(self, state: Any) -> bool:
        """Return whether the documents have local variables already."""
        return self.kernel.local(state) is not None

    def start(self, state: Any, plan: Plan) -> Position:
        """Return the position before the first mini-batch, with the model's first state."""
        chain, rates = None, None
        if plan.averaging:
            observed, scored = self._hold_out_all()
            chain = self.kernel.start_chain(self.seed, state, observed)
            rates = Rates(np.zeros(len(scored.words)), np.zeros(len(self.test)))
        topics = self.kernel.topics(state)
        places = tuple(np.full((plan.placed_documents, phi.shape[1]), -1, dtype=np.float32) for phi in topics.phi)
        return Position(0, 0, state, chain, rates, places)

    def step(self, position: Position) -> tuple[Position, Info]:
        """Train on one mini-batch; return the new position and facts about the step."""
        t = position.minibatch + 1
        batch = self.batch(t, position.state)
        state, info = self.kernel.step(self.seed, position.state, batch)
        return self.advance(position, state, info, len(batch.documents)), info

    def advance(self, position: Position, state: Any, info: Info, n_documents: int) -> Position:
        """Return the position after a step; a change of the structure restarts the chains of test documents."""
        chain = position.chain
        if info.events and chain is not None:
            chain = self.kernel.start_chain(self.seed, state, self._hold_out_all()[0])
        documents = position.documents + n_documents
        return position._replace(minibatch=position.minibatch + 1, documents=documents, state=state, chain=chain)

    def edit(self, position: Position, edit: Edit) -> tuple[Position, EditResult]:
        """Make an edit between two steps; a new topic restarts the chains of test documents.

        Raises
        ------
        EditRefused
            When it cannot be done; the message is one sentence.
        """
        if edit.kind not in self.kernel.steers:
            raise EditRefused(f"this model knows no edit {edit.kind!r}")
        state, result = self.kernel.edit(self.seed, position.state, self.read_all(), edit)
        chain = position.chain
        if chain is not None and self.list_widths(state) != self.list_widths(position.state):
            chain = self.kernel.start_chain(self.seed, state, self._hold_out_all()[0])
        return position._replace(state=state, chain=chain, edited=edit.number), result

    def list_widths(self, state: Any) -> list[int]:
        """Return the widths of the layers of a state."""
        return [table.shape[1] for table in self.kernel.topics(state).phi]

    def count_sweeps(self, position: Position) -> int:
        """Return the number of sweeps of all documents before a position, including those of ancestors of a fork."""
        first_sweep = self.kernel.sweeps_after
        return 0 if first_sweep is None else max(0, int(position.state.t) - first_sweep)

    def follow(self, position: Position, plan: Plan) -> Position:
        """Sweep all test documents under the current topics and add their rates (averaged protocol, models.md 1.4)."""
        if plan.averaging is None:
            return position
        observed, scored = self._hold_out_all()
        is_averaged = plan.averaging.first <= position.minibatch <= plan.averaging.last
        sweeps = Sweeps(0, 1) if is_averaged else Sweeps(1, 0)
        chain, rates = self.kernel.advance_chain(self.seed, position.state, position.chain, observed, scored, sweeps)
        if not is_averaged or position.rates is None:
            return position._replace(chain=chain)
        total = Rates(position.rates.cells + rates.cells, position.rates.totals + rates.totals)
        return position._replace(chain=chain, rates=total)

    def averaged_score(self, position: Position, plan: Plan) -> float | None:
        """Return the averaged perplexity (or log-likelihood) so far; None while there are no rates."""
        if plan.averaging is None or position.rates is None or position.minibatch < plan.averaging.first:
            return None
        return evaluate.score_held_out(self.kernel, position.rates, self._hold_out_all()[1])

    def curve_point(self, state: Any, plan: Plan) -> float:
        """Return the perplexity (or log-likelihood) of the documents of the curve under the topics of a state."""
        if self._curve is None:
            documents = self._choose_first(self.watched, max(1, plan.curve_documents))
            self._curve = [self.corpus.split_tokens(block) for block in _cut_blocks(documents)]
        return self._measure_score(state, iter(self._curve), plan.curve_sweeps)

    def test_point(self, state: Any, plan: Plan, between: Callable[[], None] = lambda: None) -> float:
        """Return the final score of a run on test documents; ``between`` is called after each block of them."""
        documents = self._choose_first(self.test, max(1, plan.test_documents))
        return self._measure_score(
            state, map(self.corpus.split_tokens, _cut_blocks(documents)), plan.test_sweeps, between
        )

    def _choose_first(self, documents: Array, n_documents: int) -> Array:
        """Return the first ``n_documents`` documents, or the next as many if no token of these can be held out."""
        firsts = range(0, max(1, len(documents)), n_documents)
        parts = (documents[first : first + n_documents] for first in firsts)
        return next((part for part in parts if self._holds_out(part)), documents[:1])

    def _holds_out(self, documents: Array) -> bool:
        """Return whether any of these documents has a held-out token."""
        return any(len(self.corpus.split_tokens(block)[1].words) for block in _cut_blocks(documents))

    @property
    def has_mean(self) -> bool:
        """True if the model keeps the mean of its topics."""
        return isinstance(self.kernel, AveragingKernel)

    def label_error(self, position: Position, plan: Plan) -> float:
        """Return the percentage of labelled documents with a wrong prediction; nan without predictions."""
        if not isinstance(self.kernel, PredictingKernel) or not plan.predicted_documents:
            return math.nan
        batch = self.corpus.batch(self.labelled[: plan.predicted_documents])
        chances = self.kernel.predict(self.seed, position.state, batch, PREDICTION_DRAWS)
        return 100.0 * class_scores.score_predictions(chances, batch.labels).error

    def paper_point(self, position: Position, plan: Plan, between: Callable[[], None]) -> float:
        """Return the score of test documents with the paper's sweeps; ``between`` is called after each block."""
        blocks = _cut_blocks(self.test[: plan.paper_documents])
        return self._measure_score(position.state, map(self.corpus.split_tokens, blocks), evaluate.POINT, between)

    def _measure_score(
        self,
        state: Any,
        splits: Iterator[tuple[Batch, Batch]],
        sweeps: Sweeps,
        between: Callable[[], None] = lambda: None,
    ) -> float:
        """Return the score of blocks of documents, with the same weight for each token (or cell)."""
        total = weight = 0.0
        perplexity = self.kernel.measure == "perplexity"
        for observed, scored in splits:
            block_weight = float(scored.counts.sum(dtype=np.float64)) if perplexity else float(len(scored.words))
            if block_weight > 0:
                value = evaluate.evaluate_point(self.kernel, self.seed, state, observed, scored, sweeps)
                total, weight = total + block_weight * (math.log(value) if perplexity else value), weight + block_weight
            between()
        mean = total / weight if weight else math.nan
        return math.exp(mean) if perplexity else mean

    def place(self, position: Position, plan: Plan, *, every: bool, waits: bool = False) -> Position:
        """Place the next few example documents in the hierarchy, or all with ``every`` or after widths changed.

        With ``waits`` they are left to the next snapshot, because a user waits for this one.
        """
        n_placed = plan.placed_documents
        widths = tuple(phi.shape[1] for phi in self.kernel.topics(position.state).phi)
        if every or widths != tuple(shares.shape[1] for shares in position.places):
            rows = np.arange(n_placed)
            places = tuple(np.full((n_placed, width), -1, dtype=np.float32) for width in widths)
        else:
            n_snapshots = sum(t < position.minibatch for t in plan.snapshots)
            first, n_rows = n_snapshots * plan.placed_each, 0 if waits else plan.placed_each
            rows = np.arange(first, first + n_rows) % n_placed
            places = tuple(shares.copy() for shares in position.places)
        shown_state = self.kernel.find_shown_state(position.state)
        for block in _cut_blocks(rows):
            batch = self.corpus.batch(self._examples[block])
            local = self.kernel.infer(self.seed, shown_state, batch, PLACE_SWEEPS)
            for table, theta in zip(places, local.theta, strict=True):
                totals = theta.sum(axis=1, keepdims=True)
                table[block] = theta / np.maximum(totals, np.finfo(np.float64).tiny)
        return position._replace(places=places)

    def list_examples(self, position: Position) -> dict[str, Array]:
        """Return the documents with the largest shares of every topic: ``top_documents.l``, ``top_weights.l``."""
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
        return collect_topic_facts(self.corpus, self.common_words, arrays, position.places, position.titles)

    def choose_unread(self, _layouts: Mapping[str, Any]) -> set[str]:
        """Return the names of the arrays of a checkpoint that this process does not read."""
        return set()

    def compare_trees(self, position: Position) -> Position:
        """Replace the reference tree by the current one, and compare the two, if the run is 1.5 times as long now."""
        reference = position.tree
        if position.minibatch < LATER * int(reference.minibatch):
            return position
        topics = self.kernel.topics(self.kernel.find_shown_state(position.state))
        edges = certainty.weigh_edges(topics)
        persistence = certainty.measure_persistence(reference.edges, edges) if int(reference.minibatch) else ()
        top = compute_topic_shares(compute_popularity(topics)[-1])
        largest = np.append(reference.largest[-1:], top.max())
        tree = TreeReference(np.array(position.minibatch), edges, np.array(persistence), largest)
        return position._replace(tree=tree)

    def pack(self, position: Position) -> dict[str, Any]:
        """Return a position as named arrays, for a checkpoint."""
        arrays: dict[str, Any] = {f"state.{name}": array for name, array in flatten(position.state).items()}
        arrays["documents"] = np.array(position.documents)
        if position.edited:
            arrays["edited"] = np.array(position.edited)
        if position.chain is not None:
            arrays |= {f"chain.{name}": array for name, array in flatten(position.chain).items()}
        if position.rates is not None:
            arrays |= {"rates.cells": position.rates.cells, "rates.totals": position.rates.totals}
        arrays |= {f"tree.{name}": array for name, array in flatten(position.tree).items()}
        arrays |= {f"titles.{i}": table for i, table in enumerate(position.titles)}
        return arrays | {f"places.{i}": table for i, table in enumerate(position.places)}

    def unpack(self, minibatches: int, arrays: dict[str, Array]) -> Position:
        """Return the position of the arrays from :meth:`pack`, exactly."""
        state = unflatten(self._state_type, _select_arrays("state", arrays))
        chain, rates = None, None
        if "rates.cells" in arrays:
            observed, _ = self.corpus.split_tokens(self.test[:1])
            kind = type(self.kernel.start_chain(self.seed, state, observed))
            chain = unflatten(kind, _select_arrays("chain", arrays))
            rates = Rates(arrays["rates.cells"], arrays["rates.totals"])
        tables = _select_arrays("places", arrays)
        places = tuple(tables[str(i)] for i in range(len(tables)))
        tree = unflatten(TreeReference, _select_arrays("tree", arrays))
        titles = collect_arrays(arrays, "titles")
        edited = int(arrays.get("edited", 0))
        return Position(minibatches, int(arrays["documents"]), state, chain, rates, places, tree, titles, edited)

    def _hold_out_all(self) -> tuple[Batch, Batch]:
        """Return the observed and the held-out tokens of all test documents."""
        if self._averaged is None:
            self._averaged = self.corpus.split_tokens(np.sort(self.test))
        return self._averaged


def collect_facts(corpus: Corpus) -> Facts:
    """Return the facts about a corpus that a model needs."""
    documents, classes = len(corpus.documents(TRAIN)), len(corpus.label_names)
    return Facts(corpus.n_words, documents, classes, corpus.image_shape, corpus.count_tokens(TRAIN))


def measure_effort(training: Training, state: Any, sweeps: float, tokens_per_document: float) -> Effort:
    """Return the costs and sizes for the plan of a run, given the model's first state."""
    topics = training.kernel.topics(state)
    widths = sum(phi.shape[1] for phi in topics.phi)
    snapshot_numbers = sum(phi.size for phi in topics.phi) + topics.r.size + widths * (1 + 2 * EXAMPLES)
    snapshot_numbers += sum(array.size for array in training.kernel.keep(state).values())
    if training.has_mean:
        snapshot_numbers += sum(phi.size for phi in topics.phi)
    checkpoint_numbers = training.count_numbers(state)
    kernel, n_swept = training.kernel, len(training.train)
    first = None if kernel.sweeps_after is None else max(0, kernel.sweeps_after - int(state.t))
    if first is not None and not training.holds_local(state):  # sweeps add the local variables of every document
        checkpoint_numbers += int(n_swept * (tokens_per_document + widths))
    others = MOVE_DRAWS * sum(phi.size for phi in topics.phi) + training.kernel.work * training.batch_documents
    labelled = len(training.labelled) if isinstance(training.kernel, PredictingKernel) else 0
    sizes = (training.batch_documents, sweeps, tokens_per_document, snapshot_numbers, checkpoint_numbers, widths)
    return Effort(*sizes, others, labelled, kernel.prediction_work, first, n_swept)


def plan_run(training: Training, options: RunOptions, effort: Effort) -> Plan:
    """Return the plan of a run, given its training."""
    n_watched = len(training.watched) if training.has_held_out else 0
    return make_plan(
        options,
        effort,
        train_documents=len(training.train),
        test_documents=len(training.test) if training.has_held_out_test else 0,
        validation_documents=n_watched if training.validates else None,
    )


def find_best_documents(shares: Array, documents: Array) -> tuple[Array, Array]:
    """Return the EXAMPLES documents with the largest shares of every topic.

    Parameters
    ----------
    shares : (n, K) float32
        Share of topic ``k`` in document ``j``; negative if unknown.
    documents : (n,) int64
        Numbers of the documents in the rows.

    Returns
    -------
    (K, EXAMPLES) int64, (K, EXAMPLES) float32
        Documents and shares, the largest first, ties by row; padded with -1 and 0.
    """
    n, width = shares.shape
    n_best = min(EXAMPLES, n)
    numbers = np.full((width, EXAMPLES), -1, dtype=np.int64)
    weights = np.zeros((width, EXAMPLES), dtype=np.float32)
    rows = np.sort(np.argpartition(-shares, n_best - 1, axis=0)[:n_best], axis=0)
    order = np.take_along_axis(
        rows, np.argsort(-np.take_along_axis(shares, rows, axis=0), axis=0, kind="stable"), axis=0
    ).T
    best = np.take_along_axis(shares.T, order, axis=1)
    is_known = best >= 0
    numbers[:, :n_best] = np.where(is_known, documents[order], -1)
    weights[:, :n_best] = np.where(is_known, best, 0)
    return numbers, weights


def _shuffle_documents(corpus: Corpus, part: int) -> Array:
    """Return the documents of a part in a random order fixed by the corpus, so that all its runs use the same ones."""
    documents = corpus.documents(part)
    return documents[streams.make_generator(corpus.split_seed, streams.SPLIT, part).permutation(len(documents))]


def _read_documents(corpus: Corpus, documents: Array) -> Batch:
    """Return documents as one batch: a view of the corpus if they are contiguous, else a copy."""
    first, end = int(documents[0]), int(documents[-1]) + 1
    if end - first != len(documents):
        return corpus.batch(documents)
    return corpus.counts.rows(first, end).batch(documents, corpus.labels[first:end])


def _cut_blocks(items: Array) -> list[Array]:
    return [items[i : i + BLOCK] for i in range(0, len(items), BLOCK)]


def _select_arrays(prefix: str, arrays: dict[str, Array]) -> dict[str, Array]:
    """Return the arrays named ``prefix.NAME``, by ``NAME``."""
    return {name.removeprefix(f"{prefix}."): array for name, array in arrays.items() if name.startswith(f"{prefix}.")}


class WidthTrial(NamedTuple):
    """The perplexity of validation documents after ``TRIAL_SWEEPS`` sweeps with some widths."""

    layers: tuple[int, ...]
    perplexity: float


def try_widths(
    corpus: Corpus,
    module: RegisteredModel,
    config: Any,
    options: RunOptions,
    between: Callable[[], None] = lambda: None,
) -> list[WidthTrial]:
    """Try the widths of a config and narrower ones until wider ones are clearly better; return the trials.

    The seed is that of the corpus, so that runs that differ in their seed alone get the same widths.

    Parameters
    ----------
    corpus : Corpus
        With validation documents.
    config : Config
        Its model must sweep all documents from the first step.
    options : RunOptions
        Protocol of the perplexity and number of threads.
    between : callable
        Called after each sweep.

    Returns
    -------
    list of WidthTrial
        The widest first; see :func:`choose_trial`.
    """
    trials: list[WidthTrial] = []
    layers = tuple(config.layers)
    while layers:
        trials.append(_try_layers(corpus, module, replace(config, layers=layers), options, between))
        if len(trials) > 1 and _is_wider_better(*trials[-2:]):
            break
        layers = halve_widths(layers)
    return trials


def choose_trial(trials: Sequence[WidthTrial]) -> WidthTrial:
    """Return the widest layers that are clearly better than half as many topics, or else the last of the trials."""
    return next((wide for wide, narrow in pairwise(trials) if _is_wider_better(wide, narrow)), trials[-1])


def describe_trials(trials: Sequence[WidthTrial]) -> str:
    """Return a sentence with the chosen widths and the perplexity of every trial."""
    chosen = choose_trial(trials)
    figures = ", ".join(f"{each.perplexity:,.0f} with {_format_layers(each)}" for each in trials)
    sweeps = TRIAL_SWEEPS * len(trials)
    return (
        f"{_format_layers(chosen)}: validation perplexity after {TRIAL_SWEEPS} sweeps was {figures}; twice the topics "
        f"are taken if they lower it by {LEAST_GAIN:.0%}; the trials took {sweeps} sweeps"
    )


def _try_layers(
    corpus: Corpus, module: RegisteredModel, config: Any, options: RunOptions, between: Callable[[], None]
) -> WidthTrial:
    """Train with some widths for ``TRIAL_SWEEPS`` sweeps, and measure the perplexity of the mean topics."""
    kernel = module.build(config, collect_facts(corpus), n_threads=options.threads)
    training = Training(corpus, kernel, module.State, corpus.split_seed)
    state = training.first_state()
    plan = plan_run(training, options, measure_effort(training, state, sweeps=1.0, tokens_per_document=1.0))
    position = training.start(state, plan)
    for _ in range(TRIAL_SWEEPS):
        position, _ = training.step(position)
        between()
    return WidthTrial(tuple(config.layers), training.curve_point(kernel.find_shown_state(position.state), plan))


def _is_wider_better(wide: WidthTrial, narrow: WidthTrial) -> bool:
    """Return whether the wider layers lower the perplexity enough."""
    return wide.perplexity < (1.0 - LEAST_GAIN) * narrow.perplexity


def _format_layers(trial: WidthTrial) -> str:
    return "-".join(map(str, trial.layers))
