"""The whole engine in one page of types.

A model is a file in ``engine/models`` that offers ``TITLE``, ``Config``, ``State`` and
``build(config, corpus_facts) -> Kernel``.  Everything else (worker, store, form, views, benchmark,
contract test) speaks to it through the types below.

Letters follow the papers: ``V`` words, ``K_l`` topics of layer ``l`` (``K_0 = V``), ``N`` documents,
``L`` layers.  Every model presents itself as Poisson rates ``Phi^(1) theta^(1)``.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.pool import BlockSum, BlockSums, cut_pieces

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.integer[Any]]
Array: TypeAlias = NDArray[Any]

TRAIN, TEST = 0, 1  # the parts of a corpus


class Counts(NamedTuple):
    """Documents x words as compressed rows, from the file that is read to the mini-batch.

    Attributes
    ----------
    starts : (documents + 1,) int64
        Document ``j`` owns the cells ``starts[j]:starts[j + 1]``.
    words : (nnz,) int32
        Word numbers; each word at most once in a document.
    values : (nnz,) int32 or float32
        Counts, all > 0 (float32 for non-negative real data).
    """

    starts: Array
    words: Array
    values: Array

    @classmethod
    def of(cls, lengths: Array, words: Array, values: Array) -> "Counts":
        """The cells of documents that have so many each."""
        starts = np.zeros(len(lengths) + 1, dtype=np.int64)
        np.cumsum(lengths, out=starts[1:])
        return cls(starts, words, values)

    @property
    def n_documents(self) -> int:
        """How many documents (rows) there are."""
        return len(self.starts) - 1

    def rows(self, begin: int, end: int) -> "Counts":
        """Documents ``begin:end``: views, not copies, but for ``starts``."""
        starts = self.starts[begin : end + 1]
        cells = slice(int(starts[0]), int(starts[-1]))
        return Counts(starts - starts[0], self.words[cells], self.values[cells])

    def only(self, cells: Array) -> "Counts":
        """All documents, with their cells where ``cells`` (nnz,) bool."""
        before = np.concatenate([[0], np.cumsum(cells)])
        return Counts(before[self.starts], self.words[cells], self.values[cells])

    def batch(self, documents: Array, labels: Array | None = None) -> "Batch":
        """All of them as a kernel reads them, with these numbers and these labels, or with none."""
        known = np.full(len(documents), -1, dtype=np.int32) if labels is None else labels
        return Batch(self.words, self.values, self.starts, known, documents)


class Batch(NamedTuple):
    """Documents as compressed rows: what a kernel reads, and all it reads.

    Attributes
    ----------
    words : (nnz,) int32
        Word numbers, ``0 <= word < V``.
    counts : (nnz,) int32 or float32
        How often each word occurs (real-valued for the gamma link).
    starts : (documents + 1,) int64
        Document ``j`` owns the cells ``starts[j]:starts[j + 1]``.
    labels : (documents,) int32
        Class of each document, -1 where there is none.
    documents : (documents,) int64
        Number of each document in its corpus; random streams are keyed by it, so results do not
        depend on how documents are spread over threads or machines.
    """

    words: Array
    counts: Array
    starts: Array
    labels: Array
    documents: Array

    @property
    def cells(self) -> Counts:
        """Their counts alone."""
        return Counts(self.starts, self.words, self.counts)


class Facts(NamedTuple):
    """What a model must know of a corpus before it has seen a document."""

    n_words: int
    n_documents: int  # training documents: the N of rho = N / batch size
    n_classes: int = 0
    image_shape: tuple[int, int] | None = None  # (height, width) where words are pixels
    n_tokens: int = 0  # of the training documents


LINEAR, SIGMOID, SOFTPLUS = "linear", "sigmoid", "softplus"
SIMPLEX, POSITIVE, SIGNED = "simplex", "positive", "signed"
GAMMA, BINARY, COUNT, SHARE = "gamma", "binary", "count", "share"


class Link(NamedTuple):
    """What the units of one layer do to those of the layer below, beside their weights in ``Topics.phi``.

    Attributes
    ----------
    kind : str
        What the weights are: "simplex" (columns sum to 1), "positive" or "signed".
    response : str
        Mean of a unit below given the units above: "linear", "sigmoid" or "softplus" of ``weights @ above + bias``.
    bias : (K_{l-1},) float64
        Zeros where the model has none.
    """

    kind: str
    response: str
    bias: FloatArray


class Topics(NamedTuple):
    """The hierarchy that a model presents.

    Models whose links are all linear with columns on the simplex (LDA, DLDA, DATM) give ``phi`` and ``r`` alone.

    Attributes
    ----------
    phi : tuple of (K_{l-1}, K_l) float64
        ``phi[0]`` (V, K_1) has simplex columns: their scale lives in theta.  ``phi[l-1]`` for l >= 2 are the weights
        of the link from layer l to layer l-1, of the kind that ``links`` tells.
    r : (K_L,) float64
        The top: gamma shapes, mean activations, or biases of binary units.
    links : tuple of Link
        One for every layer but the lowest; () where all are linear on the simplex.
    units : tuple of str
        A layer each, "gamma", "binary", "count" or "share"; () where all are gamma.
    popularity : tuple of (K_l,) float64
        How much of the documents every topic carries, told by the model: what ranks mean.  () where it follows from
        ``phi`` and ``r`` as in :func:`engine.hierarchy.topics.popularity`.
    means : tuple of (K_l,) float64
        Mean activation of every unit, the base of effects; of layer 1, where its link is not linear, the tokens that a
        unit brings where it is on (for every one, of units that count).  () without links.
    directed : bool
        False: the links are those of a Boltzmann machine.
    columns : Topics or None
        Of a model of rows and columns (double DEF): the hierarchy of the columns.  ``phi`` then says what row topics
        do to columns.
    """

    phi: tuple[FloatArray, ...]
    r: FloatArray
    links: tuple[Link, ...] = ()
    units: tuple[str, ...] = ()
    popularity: tuple[FloatArray, ...] = ()
    means: tuple[FloatArray, ...] = ()
    directed: bool = True
    columns: "Topics | None" = None


class Local(NamedTuple):
    """Activations of documents: ``theta[l-1]`` is (documents, K_l), posterior means, >= 0.

    ``above[l-1]`` (documents,) is, for every layer but the top and models whose encoder has a downward path,
    the part of the posterior's shape that comes from the layer above: ``Phi^(l+1) theta^(l+1)`` over
    ``k^(l) + Phi^(l+1) theta^(l+1)``, both summed over topics (DATM eq. 22), 0 where it is left out; () without an
    encoder.
    """

    theta: tuple[FloatArray, ...]
    above: tuple[FloatArray, ...] = ()


class Event(NamedTuple):
    """A change of the structure at the beginning of a step (layer-wise width learning, DATM Algorithm 2).

    Attributes
    ----------
    kind : str
        "pruned" or "layer added".
    layer : int
        Which, counted from 1.
    topics : tuple of int
        Names (original columns, from 0) of the topics pruned; empty when nothing was below the threshold.
    before, after : int
        Topics of the layer.
    """

    kind: str
    layer: int
    topics: tuple[int, ...]
    before: int
    after: int


class Info(NamedTuple):
    """What one step reports.

    Attributes
    ----------
    step_sizes : tuple of (K_l,) float64
        ``eps_t / M_k^(l)`` per layer and topic (DLDA Figure 2); empty for batch samplers.
    elbo : float
        Evidence lower bound per document, ``nan`` when the model has none.
    tokens : int
        Tokens of the mini-batch (its size, not multiplied by sweeps).
    token_draws : int
        Topic assignments drawn in this step (tokens times sweeps).
    events : tuple of Event
        Changes of the structure with which the step began.
    """

    step_sizes: tuple[FloatArray, ...]
    elbo: float
    tokens: int
    token_draws: int
    events: tuple[Event, ...] = ()


class Sweeps(NamedTuple):
    """How long a local chain runs: ``burn_in`` unused sweeps, then ``collect``, every ``thin``-th kept."""

    burn_in: int
    collect: int
    thin: int = 1


class Rates(NamedTuple):
    """Accumulated Poisson rates of the scored cells, unnormalised (DLDA section 4, models.md 1.4).

    Attributes
    ----------
    cells : (nnz of the scored batch,) float64
        Sum over kept samples of ``(Phi^(1) theta_j^(1))_v`` at every scored cell.
    totals : (documents,) float64
        Sum over kept samples of ``sum_v (Phi^(1) theta_j^(1))_v = sum_k theta_kj^(1)``.

    For the log-likelihood measure ``cells`` sums the probability (density) of each scored value and
    ``totals`` counts the samples.
    """

    cells: FloatArray
    totals: FloatArray


class Kernel(NamedTuple):
    """A model ready to run: pure functions of (seed, state, data).

    ``seed`` is the run's 64-bit seed; a kernel derives its streams from ``(seed, purpose, state.t,
    document)``, so nothing random has to be remembered between steps.

    Attributes
    ----------
    batch_size : int
        Documents of a mini-batch.
    sweeps_after : int or None
        From this value of ``state.t`` on a step reads every training document, in corpus order: 0 for batch samplers;
        None for those that read mini-batches for ever.
    measure : str
        How held-out tokens are judged: "perplexity" (Poisson counts) or "log-likelihood" (mean
        log-probability of a held-out cell: binary and real-valued links).
    init : (seed) -> State
        Before anything is known of the corpus.
    begin : (seed, Batch) -> State, or None
        Before the first step of a new run, from training documents (at most ``first_topics.SAMPLED`` of them); None
        where a run begins with ``init``.
    gather : (seed, state, Batch, local) -> (Statistics, local)
        The work on documents: what they say of the topics, as a NamedTuple of sums over documents (see
        `engine.sums.added`), and their new local variables.  It can be done anywhere and in blocks of documents.
    move : (seed, state, Statistics) -> (State, Info)
        The work on topics, done once a step, under the sum of the statistics of all blocks.
    settle : (seed, state, Batch, local) -> local, or None
        What is left to do with the documents' local variables once the topics have moved; None: nothing.
    prepare : (seed, state, Batch) -> State
        Called where the first step reads all training documents, with these, so that the state can hold
        per-document variables; a step that is the first to read them all does it by itself.
    local : (state) -> local
        The variables of every training document that live as long as the run, a NamedTuple of arrays whose rows are
        documents (or tokens, in the order of the documents); None where steps read mini-batches and nothing is kept.
    with_local : (state, local) -> State
        The state that holds them.
    infer : (seed, state, Batch, Sweeps | None) -> Local
        Place documents in the hierarchy, topics fixed; ``None`` = the model's own default length.
    topics : (state) -> Topics
    averaged : (state) -> State, or None
        The state with the mean of the topics over the last samples in place of the last one: less noisy, and what
        people are shown.  None where the model keeps no mean.
    start_chain : (seed, state, Batch) -> Chain
        Local variables of documents at their starting values: a NamedTuple of arrays.
    advance_chain : (seed, state, Chain, observed, scored, Sweeps) -> (Chain, Rates)
        Go on with the chain on the ``observed`` tokens, topics fixed, and sum the rates of the
        ``scored`` cells of the same documents over the kept sweeps.
    keep : (state) -> dict of str to Array
        What a snapshot keeps beside the topics, so that documents can be placed, and another run
        can go on, from it: encoder weights, running averages ...  Where topics may be pruned, ``names.l``
        are the original columns of those left in ``phi.l``: their numbers for the whole life of a run.
    restore : (seed, arrays) -> State
        The state that goes on from a snapshot: ``phi.0``, ``phi.1`` ..., ``r``, and what ``keep``
        named (the snapshot of another model may lack some of it, which then starts as ``init`` does).
        Snapshots are single precision, so it is close to the state of then, not equal to it.
    predict : (seed, state, Batch, draws=None) -> (documents, C) float64, or None
        Probability of every class for every document, averaged over so many draws (None = the model's own number);
        ``None`` where the model knows no labels.
    reads : (state, Batch) -> list of (documents, K_l) float64, or None
        What the classifier reads of documents, a layer each: not always of their places, which sweeps may tell;
        ``None`` where there is no classifier.
    converged : (state) -> bool, or None
        Whether further steps change next to nothing; None where steps draw and never stand still.
    work : float
        What a document of a mini-batch costs beside its draws of topics, in such draws (about 50 ns).
    asking : float
        What one draw of one document's prediction costs, in such draws; 0 where nothing is predicted.
    real : bool
        Whether statistics are real sums, whose last bits depend on the order they are added in: documents are then
        always gathered in the same pieces (:func:`engine.sums.pieces`).  Whole numbers need no such order.
    """

    batch_size: int
    measure: str
    init: Callable[..., Any]
    prepare: Callable[..., Any]
    gather: Callable[..., tuple[Any, Any]]
    move: Callable[..., tuple[Any, Info]]
    infer: Callable[..., Local]
    topics: Callable[..., Topics]
    start_chain: Callable[..., Any]
    advance_chain: Callable[..., Any]
    keep: Callable[..., dict[str, Array]]
    restore: Callable[..., Any]
    settle: Callable[..., Any] | None = None
    local: Callable[..., Any] = lambda _state: None
    with_local: Callable[..., Any] = lambda state, _local: state
    predict: Callable[..., FloatArray] | None = None
    reads: Callable[..., list[FloatArray]] | None = None
    sweeps_after: int | None = None
    begin: Callable[..., Any] | None = None
    averaged: Callable[..., Any] | None = None
    converged: Callable[..., bool] | None = None
    work: float = 0.0
    asking: float = 0.0
    real: bool = False

    def step(self, seed: int, state: Any, docs: Batch) -> tuple[Any, Info]:
        """One step: gather from the documents, move the topics, and settle the documents under these."""
        statistics, local = self._gather_pieces(seed, state, docs)
        state, info = self.move(seed, state, statistics)
        if self.settle is not None:
            local = self.settle(seed, state, docs, local)
        return self.with_local(state, local), info

    def _gather_pieces(self, seed: int, state: Any, docs: Batch) -> tuple[Any, Any]:
        """The statistics of all documents and their local variables, in pieces where the order of sums matters."""
        local, cut = self.local(state), cut_pieces(len(docs.documents))
        if not self.real or len(cut) == 1:
            return self.gather(seed, state, docs, local)
        sums, kept = BlockSums(), []
        for number, piece in enumerate(cut):
            part = docs.cells.rows(piece.start, piece.stop).batch(docs.documents[piece], docs.labels[piece])
            own = local if local is None else type(local)(*(rows[piece] for rows in local))
            statistics, own = self.gather(seed, state, part, own)
            sums.add(BlockSum(number, 1, statistics))
            kept.append(own)
        if kept[0] is None:
            return sums.total(), None
        return sums.total(), type(kept[0])(*(np.concatenate(rows) for rows in zip(*kept, strict=True)))

    def shown(self, state: Any) -> Any:
        """The state whose topics people are shown: the averaged one, where there is one."""
        return state if self.averaged is None else self.averaged(state)

    def sweeps(self, state: Any) -> bool:
        """Whether the next step reads every training document."""
        return self.sweeps_after is not None and int(state.t) >= self.sweeps_after


def flatten(state: tuple[Any, ...]) -> dict[str, Array]:
    """Name every array of a State or Chain: fields that are tuples become ``field.0``, ``field.1`` ...

    ``unflatten(type(state), flatten(state))`` gives the same arrays back, bit for bit.
    """
    arrays: dict[str, Array] = {}
    for name, value in zip(state._fields, state, strict=True):  # type: ignore[attr-defined]
        if isinstance(value, tuple):
            arrays.update({f"{name}.{i}": np.asarray(item) for i, item in enumerate(value)})
        else:
            arrays[name] = np.asarray(value)
    return arrays


def unflatten(kind: type[Any], arrays: dict[str, Array]) -> Any:
    """Build a State or Chain of type ``kind`` from the arrays that ``flatten`` named."""
    values: list[Any] = []
    for name in kind._fields:
        if name in arrays:
            values.append(arrays[name])
            continue
        parts = sorted((int(key.rpartition(".")[2]), key) for key in arrays if key.rpartition(".")[0] == name)
        values.append(tuple(arrays[key] for _, key in parts))
    return kind(*values)
