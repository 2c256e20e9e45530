"""Types of the interface between models and the rest of the program.

A model is a folder of ``engine/models``: its settings define ``TITLE``, ``CHILD`` and ``Config``, and its kernel
``State`` and ``build(config, facts, n_threads) -> Kernel``.  Worker, store, form, views,
benchmarks and the contract test know models only through the types below.

Letters follow the papers: ``V`` words, ``K_l`` topics of layer ``l`` (``K_0 = V``), ``N`` documents,
``L`` layers.  Every model presents itself as Poisson rates ``Phi^(1) theta^(1)``.
"""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from topiary.engine.pool import BlockSum, BlockSums, cut_pieces

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.integer[Any]]
Array: TypeAlias = NDArray[Any]

TRAIN, TEST, VALIDATION = 0, 1, 2  # the parts of a corpus


class Counts(NamedTuple):
    """Documents x words as compressed rows, as they come from a file and as they are stored.

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
        """Return the counts of documents with these numbers of cells."""
        starts = np.zeros(len(lengths) + 1, dtype=np.int64)
        np.cumsum(lengths, out=starts[1:])
        return cls(starts, words, values)

    @property
    def n_documents(self) -> int:
        """Number of documents (rows)."""
        return len(self.starts) - 1

    def rows(self, begin: int, end: int) -> "Counts":
        """Return documents ``begin:end``: views, not copies, except for ``starts``."""
        starts = self.starts[begin : end + 1]
        cells = slice(int(starts[0]), int(starts[-1]))
        return Counts(starts - starts[0], self.words[cells], self.values[cells])

    def select_cells(self, cells: Array) -> "Counts":
        """Return all documents, with only the cells that the mask ``cells`` (nnz,) bool selects."""
        n_before = np.concatenate([[0], np.cumsum(cells)])
        return Counts(n_before[self.starts], self.words[cells], self.values[cells])

    def batch(self, documents: Array, labels: Array | None = None) -> "Batch":
        """Return all documents as a Batch with these numbers and labels; labels are -1 if none are given."""
        classes = np.full(len(documents), -1, dtype=np.int32) if labels is None else labels
        return Batch(self.words, self.values, self.starts, classes, documents)


class Batch(NamedTuple):
    """Documents as compressed rows, with labels and numbers, as kernels read them.

    Attributes
    ----------
    words : (nnz,) int32
        Word numbers, ``0 <= word < V``.
    counts : (nnz,) int32 or float32
        How often each word occurs (real-valued for the gamma link).
    starts : (documents + 1,) int64
        Document ``j`` owns the cells ``starts[j]:starts[j + 1]``.
    labels : (documents,) int32
        Class of each document; -1 for a document without a class.
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
        """The counts of the documents, without labels and numbers."""
        return Counts(self.starts, self.words, self.counts)


class Facts(NamedTuple):
    """The facts about a corpus that a model needs before it sees a document."""

    n_words: int
    n_documents: int  # training documents: the N of rho = N / batch size
    n_classes: int = 0
    image_shape: tuple[int, int] | None = None  # (height, width) where words are pixels
    n_tokens: int = 0  # of the training documents


LINEAR, SIGMOID, SOFTPLUS = "linear", "sigmoid", "softplus"
SIMPLEX, POSITIVE, SIGNED = "simplex", "positive", "signed"
GAMMA, BINARY, COUNT, SHARE = "gamma", "binary", "count", "share"


class Link(NamedTuple):
    """The link from one layer to the layer below: everything but the weights, which are in ``Topics.phi``.

    Attributes
    ----------
    kind : str
        Kind of the weights: "simplex" (columns sum to 1), "positive" or "signed".
    response : str
        Mean of a unit below given the units above: "linear", "sigmoid" or "softplus" of ``weights @ above + bias``.
    bias : (K_{l-1},) float64
        Zeros if the model has none.
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
        of the link from layer l to layer l-1, of the kind given in ``links``.
    r : (K_L,) float64
        Gamma shapes, mean activations, or biases of binary units of the top layer.
    links : tuple of Link
        One for every layer but the lowest; () if all are linear on the simplex.
    units : tuple of str
        One per layer, "gamma", "binary", "count" or "share"; () if all are gamma.
    popularity : tuple of (K_l,) float64
        Amount of the documents that each topic explains, by which topics are ranked.  () if it follows from
        ``phi`` and ``r`` as in :func:`engine.hierarchy.topics.weigh_topics`.
    means : tuple of (K_l,) float64
        Mean activation of each unit, from which effects are measured; for layer 1, if its link is not linear, the
        tokens that a unit adds when it is on (per count, for units that count).  () without links.
    directed : bool
        False: the links are those of a Boltzmann machine.
    columns : Topics or None
        For a model of rows and columns (double DEF): the hierarchy of the columns.  ``phi`` then holds the effect of
        row topics on columns.
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

    ``above[l-1]`` (documents,) exists for every layer but the top in models whose encoder has a downward path: the part
    of the posterior's shape that comes from the layer above, ``Phi^(l+1) theta^(l+1)`` divided by ``k^(l) + Phi^(l+1)
    theta^(l+1)``, both summed over topics (DATM eq. 22), and 0 where that path is left out.  It is () without an
    encoder.  ``tokens`` (documents, K_1) is the mean number n_jk of tokens of each topic over the kept samples; None
    for models that do not assign tokens to topics.
    """

    theta: tuple[FloatArray, ...]
    above: tuple[FloatArray, ...] = ()
    tokens: FloatArray | None = None


class Event(NamedTuple):
    """A change of the structure at the beginning of a step (layer-wise width learning, DATM Algorithm 2).

    Attributes
    ----------
    kind : str
        "pruned" or "layer added".
    layer : int
        Number of the layer, counted from 1.
    topics : tuple of int
        Original columns, from 0, of the pruned topics; empty if none was below the threshold.
    before, after : int
        Number of topics of the layer.
    """

    kind: str
    layer: int
    topics: tuple[int, ...]
    before: int
    after: int


class Concentration(NamedTuple):
    """A concentration that a step has drawn: the ``name`` of its setting, its ``layer`` (0 if none), its ``value``."""

    name: str
    layer: int
    value: float


class Info(NamedTuple):
    """Report of one step.

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
        Changes of the structure at the beginning of the step.
    concentrations : tuple of Concentration
        The concentrations that the step drew; empty where they are given.
    """

    step_sizes: tuple[FloatArray, ...]
    elbo: float
    tokens: int
    token_draws: int
    events: tuple[Event, ...] = ()
    concentrations: tuple[Concentration, ...] = ()


class Sweeps(NamedTuple):
    """Length of a local chain: ``burn_in`` sweeps that are discarded, then ``collect``; every ``thin``-th is kept."""

    burn_in: int
    collect: int
    thin: int = 1


class Rates(NamedTuple):
    """Poisson rates of the scored cells, summed over samples and unnormalised (DLDA section 4, models.md 1.4).

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


class Kernel(ABC):
    """A model ready to run: methods that are pure functions of (seed, state, data).

    ``seed`` is the run's 64-bit seed; a kernel derives its streams from ``(seed, purpose, state.t, document)``, so
    there is no random state to keep between steps.  Models define the abstract methods; the others have a meaning that
    suits most models.  A model whose topics are samples is also an :class:`AveragingKernel`, and one that learns labels
    a :class:`PredictingKernel`.

    Attributes
    ----------
    batch_size : int
        Documents of a mini-batch.
    sweeps_after : int or None
        From this value of ``state.t`` on a step reads every training document, in corpus order: 0 for batch samplers;
        None for models that always read mini-batches.
    measure : str
        Measure of held-out tokens: "perplexity" (Poisson counts) or "log-likelihood" (mean log-probability of a
        held-out cell: binary and real-valued links).
    work : float
        Cost of a document of a mini-batch in addition to its draws of topics, in units of such a draw (about 50 ns).
    prediction_work : float
        Cost of one draw of one document's prediction, in the same unit; 0 if nothing is predicted.
    real : bool
        True if statistics are floating-point sums, whose last bits depend on the order of addition: documents are then
        always gathered in the same pieces (:func:`engine.pool.cut_pieces`).  Integers need no fixed order.
    settles : bool
        True if ``settle`` does something.
    steers : frozenset of str
        Kinds of edits that :meth:`edit` can do (:data:`engine.steering.edit.KINDS`); empty for models without edits.
    """

    batch_size: int
    sweeps_after: int | None = None
    measure: str = "perplexity"
    work: float = 0.0
    prediction_work: float = 0.0
    real: bool = False
    settles: bool = False
    steers: frozenset[str] = frozenset()

    @abstractmethod
    def init(self, seed: int) -> Any:
        """Return the state before anything is known about the corpus."""

    def init_from_documents(self, seed: int, docs: Batch) -> Any:
        """Return the state before the first step of a new run from training documents.

        There are at most ``first_topics.SAMPLED`` of them.
        """
        return self.init(seed)

    def prepare(self, seed: int, state: Any, docs: Batch) -> Any:
        """Add per-document variables to the state of a run whose first step reads all training documents.

        If an earlier step reads mini-batches, the first step that reads all documents does this itself.
        """
        return state

    @abstractmethod
    def gather(self, seed: int, state: Any, docs: Batch, local: Any) -> tuple[Any, Any]:
        """Do the work on documents: return their statistics for the topics, and their new local variables.

        Statistics are a NamedTuple of sums over documents (:func:`engine.pool.add_statistics`).  The work can be done
        on any machine and in blocks of documents.
        """

    @abstractmethod
    def move(self, seed: int, state: Any, statistics: Any) -> tuple[Any, Info]:
        """Do the work on topics, once a step, given the statistics of all blocks added up."""

    def settle(self, seed: int, state: Any, docs: Batch, local: Any) -> Any:
        """Finish the documents' local variables after the topics have moved, and return them."""
        return local

    def local(self, state: Any) -> Any:
        """Return the variables of every training document that are kept during the run.

        They are a NamedTuple of arrays whose rows are documents (or tokens, in the order of the documents); None if
        steps read mini-batches and keep nothing.
        """
        return None

    def with_local(self, state: Any, local: Any) -> Any:
        """Return the state with these variables."""
        return state

    @abstractmethod
    def infer(self, seed: int, state: Any, docs: Batch, sweeps: Sweeps | None = None) -> Local:
        """Place documents in the hierarchy, topics fixed; ``None`` = the model's own default length."""

    @abstractmethod
    def topics(self, state: Any) -> Topics:
        """Return the hierarchy that the model presents."""

    @abstractmethod
    def start_chain(self, seed: int, state: Any, docs: Batch) -> Any:
        """Return local variables of documents at their starting values, a NamedTuple of arrays."""

    @abstractmethod
    def advance_chain(
        self, seed: int, state: Any, chain: Any, observed: Batch, scored: Batch, sweeps: Sweeps
    ) -> tuple[Any, Rates]:
        """Continue the chain on the ``observed`` tokens, topics fixed.

        The rates of the ``scored`` cells of the same documents are summed over the kept sweeps.
        """

    @abstractmethod
    def keep(self, state: Any) -> dict[str, Array]:
        """Return the arrays that a snapshot keeps in addition to the topics.

        With them it can place documents and another run can continue from it: encoder weights, running averages ...
        Where topics may be pruned, ``names.l`` are the original columns of the topics left in ``phi.l``: their numbers
        throughout the run.
        """

    @abstractmethod
    def restore(self, seed: int, arrays: dict[str, Array]) -> Any:
        """Return the state that continues from a snapshot: ``phi.0``, ``phi.1`` ..., ``r``, and the arrays of ``keep``.

        The snapshot of another model may lack some of these, which then start as in ``init``.  Snapshots are single
        precision, so the restored state is close to the earlier one, not equal to it.
        """

    def edit(self, seed: int, state: Any, docs: Batch, edit: Any) -> tuple[Any, Any]:
        """Return the state after an edit of a kind in ``steers`` between two steps, and what it did.

        ``edit`` is an :class:`engine.steering.edit.Edit`, and an :class:`engine.steering.edit.EditResult` says what it
        did; ``docs`` are all training documents.  Raises :class:`engine.steering.edit.EditRefused` with a sentence.
        """
        raise ValueError("the topics of this model cannot be edited")

    def takes_edits(self, state: Any) -> bool:
        """Return whether edits can be made now: of a model that sweeps in the end, once documents have been swept."""
        return bool(self.steers) and (self.sweeps_after is None or self.local(state) is not None)

    def has_converged(self, state: Any) -> bool | None:
        """Return True if further steps would change next to nothing; None for samplers, which never stop changing."""
        return None

    def step(self, seed: int, state: Any, docs: Batch) -> tuple[Any, Info]:
        """Take one step: gather from the documents, move the topics, and settle the documents under the new topics."""
        statistics, local = self._gather_pieces(seed, state, docs)
        state, info = self.move(seed, state, statistics)
        return self.with_local(state, self.settle(seed, state, docs, local)), info

    def _gather_pieces(self, seed: int, state: Any, docs: Batch) -> tuple[Any, Any]:
        """Return the statistics of all documents and their local variables, gathered in pieces if ``real``."""
        local, pieces = self.local(state), cut_pieces(len(docs.documents))
        if not self.real or len(pieces) == 1:
            return self.gather(seed, state, docs, local)
        sums, results = BlockSums(), []
        for number, piece in enumerate(pieces):
            batch = docs.cells.rows(piece.start, piece.stop).batch(docs.documents[piece], docs.labels[piece])
            variables = local if local is None else type(local)(*(rows[piece] for rows in local))
            statistics, variables = self.gather(seed, state, batch, variables)
            sums.add(BlockSum(number, 1, statistics))
            results.append(variables)
        if results[0] is None:
            return sums.total(), None
        return sums.total(), type(results[0])(*(np.concatenate(rows) for rows in zip(*results, strict=True)))

    def find_shown_state(self, state: Any) -> Any:
        """Return the state whose topics users see: the averaged one if there is one, else the state itself."""
        return state

    def is_sweeping(self, state: Any) -> bool:
        """Return True if the next step reads every training document."""
        return self.sweeps_after is not None and int(state.t) >= self.sweeps_after


class AveragingKernel(Kernel):
    """A model that keeps the mean of its topics over the last samples, which is less noisy and is shown to users."""

    @abstractmethod
    def average(self, state: Any) -> Any:
        """Return the state with the mean of the topics over the last samples instead of the last sample."""

    @abstractmethod
    def variance(self, state: Any) -> tuple[Array, ...]:
        """Return the variance of a draw of the topics of the lowest layers around that mean, (K_{l-1}, K_l) each."""

    def find_shown_state(self, state: Any) -> Any:
        """Return the averaged state."""
        return self.average(state)


class PredictingKernel(Kernel):
    """A model with a classifier."""

    @abstractmethod
    def predict(self, seed: int, state: Any, docs: Batch, draws: int | None = None) -> FloatArray:
        """Return the probability of every class for every document, (documents, C), averaged over ``draws`` draws.

        None = the model's own number.
        """

    @abstractmethod
    def read_features(self, state: Any, docs: Batch) -> list[FloatArray]:
        """Return the classifier's input for documents, one (documents, K_l) array per layer.

        It may differ from the activations of ``infer``.
        """


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
