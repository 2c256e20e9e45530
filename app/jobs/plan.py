"""The plan of a run: the mini-batches after which it is evaluated, reported, saved and so on.

Everything here is a pure function of counts (mini-batches, documents, sweeps, sizes), never of the
clock, so that a run that was killed and resumed writes the same points and snapshots as one that was not.

Costs are measured in *token draws*: one topic drawn for one token.  Watching a run is limited to a fixed
share of the cost of training: the live curve 5 %, snapshots 6 %, predicted labels 4 %, checkpoints 2 % (or a
second for each of the last three, if that is more), placing the example documents of topics 1 %.  The evaluated
documents and their sweeps depend on the corpus alone (:func:`choose_protocol`), so that its runs are comparable.
Only placing all documents is limited by the clock (:class:`app.jobs.shares.LivePlacement`); nothing depends on it.
"""

import hashlib
import json
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple, Self

from topiary.engine.contract import Sweeps
from topiary.engine.gpu.memory import NAME
from topiary.engine.hierarchy.evaluate import POINT, SHORT
from topiary.store.errors import DamagedRow
from topiary.store.run_rows import RunRow

EVALUATED_TOKENS = 50_000  # of all documents in a point perplexity together
VALIDATION, TEST = "validation", "test"  # parts of a corpus on which runs are evaluated
LEAST_SCORED = 16  # documents in a point perplexity, and placed documents
OBSERVED = 0.8  # share of the tokens of a document that the model reads; the others are held out
PAPER_SCORE_NAME = f"test perplexity ({POINT.burn_in + POINT.collect} sweeps, all test documents)"


@dataclass(frozen=True, kw_only=True)
class ScoreProtocol:
    """The protocol of a point perplexity.

    Attributes
    ----------
    documents : int
        Number of documents that are evaluated, the first ones of an order fixed by the corpus.
    part : str
        Their part of the corpus, "validation" or "test".
    burn_in, collect, thin : int
        Sweeps of their local chains: discarded, kept, and the distance between two samples.
    observed : float or None
        Share of the tokens of each document that the model reads; None if the corpus defines the held-out tokens.
    """

    documents: int
    part: str = TEST
    burn_in: int = SHORT.burn_in
    collect: int = SHORT.collect
    thin: int = SHORT.thin
    observed: float | None = OBSERVED

    @property
    def sweeps(self) -> Sweeps:
        """The sweeps of the local chains."""
        return Sweeps(self.burn_in, self.collect, self.thin)

    def __str__(self) -> str:
        """Return a phrase: ``20 + 20 sweeps, 312 test documents, 80% of each observed``."""
        sweeps = f"{self.burn_in} + {self.collect} sweeps"
        observed = (
            "the words held out by the corpus" if self.observed is None else f"{self.observed:.0%} of each observed"
        )
        return f"{sweeps}, {self.documents:,} {self.part} documents, {observed}"


def find_part(run: Any) -> str:
    """Return the part of the corpus behind the curve of a run (a row of the store): "validation" or "test"."""
    return (run.options.get("protocol") or {}).get("part", TEST)


def describe_protocol(run: Any, *, at_end: bool = False) -> str:
    """Describe the protocol of the point perplexity of a run, or of its final test score with ``at_end``."""
    protocol = run.options.get("test_protocol" if at_end else "protocol")
    if protocol is not None:
        return str(ScoreProtocol(**protocol))
    return "how it was judged is not known"


def choose_protocol(
    tokens_per_document: float, documents: int, *, part: str = TEST, has_scored: bool = False
) -> ScoreProtocol:
    """Return the protocol of new runs on a corpus, with documents of about ``EVALUATED_TOKENS`` tokens.

    Parameters
    ----------
    tokens_per_document : float
        Mean over the corpus.
    documents : int
        Number of documents in the part.
    part : str
        Part of the corpus whose documents are evaluated, "validation" or "test".
    has_scored : bool
        Whether the corpus defines the held-out tokens of test documents.
    """
    n_documents = min(documents, max(LEAST_SCORED, int(EVALUATED_TOKENS / tokens_per_document)))
    return ScoreProtocol(documents=n_documents, part=part, observed=None if has_scored and part == TEST else OBSERVED)


CURVE_SHARE, PLACED_SHARE, SNAPSHOT_SHARE, CHECKPOINT_SHARE, LABEL_SHARE = 0.05, 0.01, 0.06, 0.02, 0.04
PLACE_SWEEPS = Sweeps(20, 20, 1)
# Token draws that take as long as packing and writing one number (at 20 million draws per second).
SNAPSHOT_DRAWS, CHECKPOINT_DRAWS = 3.0, 2.5
MOVE_DRAWS = 0.4  # token draws that take as long as the step of one weight of a topic
SPARSE = 9, (1,)  # steps and leading digits of the sparsest curve that is dense at its start
LEAST_DRAWS = 20_000_000  # a second, allowed in short runs even if it is more than the share
LEAST_CURVE = 26_000_000  # draws of about twelve points in a run of 20 seconds, and of more in a run that they end
MOST_PREDICTED, PREDICTION_DRAWS = 500, 5  # labelled documents in a point of the label error, draws of each
LEAST_KEPT = 2  # snapshots, the first and the last
MOST_PLACED, PLACED_NUMBERS = 4000, 1_000_000  # placed documents at most, and numbers of all their shares at most


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of a run, stored as JSON in its row.

    Attributes
    ----------
    minibatches : int
        Steps to make; for a batch sampler, sweeps over all training documents.
    threads : int
        Threads of the kernels; results do not depend on it.
    averaged : bool
        Also run the averaged protocol of Table 1 (models.md 1.4).
    burn_in, samples : int or None
        Mini-batches of the averaged protocol; None: the paper's 2,000 and 1,500, or 4/7 and the rest of a shorter run.
    paper_point : bool
        After the last mini-batch, also evaluate all test documents with the paper's 600 sweeps, at any cost.
    until_plateau : bool
        End earlier, once the curve no longer falls (:mod:`app.jobs.estimates`); a run that sweeps all documents in
        the end goes on at least until then.
    until_settled : bool
        With ``until_plateau``, also wait until the tree does not change (:class:`app.jobs.training.TreeReference`).
    until_overfit : bool
        End earlier, once the curve rises again (:func:`app.jobs.estimates.find_overfitting`), and keep the topics of
        its lowest point.
    plateau_from : int
        Mini-batch before which no plateau and no rise count, in a run that never sweeps.
    keep : int or None
        Most snapshots to keep; None: by the default rule (:mod:`store.snapshots`).
    protocol : ScoreProtocol or None
        Protocol of the point perplexity; None: chosen by the plan, which knows the corpus.
    test_protocol : ScoreProtocol or None
        Protocol of the final test score; None if the curve is of test documents already.
    on : str
        Place that sweeps documents: "" for the worker itself, "local:2" for two processes of this machine, or the
        address of a Dask scheduler (:mod:`app.jobs.cluster.place`), on which results do not depend; or "gpu", or
        "gpu+" and such a place, whose numbers have single precision.
    whole : bool
        Whether the run shares the place with others: each is then trained whole by one process of it.
    tries_widths : bool
        Before the first step, try narrower layers and take the narrowest that are as good
        (:mod:`app.jobs.training`).
    sweeps_after : int or None
        Mini-batches before the steps that sweep all documents; 0: all steps are sweeps; None: no step is.
    """

    minibatches: int
    threads: int = 1
    averaged: bool = False
    burn_in: int | None = None
    samples: int | None = None
    paper_point: bool = False
    until_plateau: bool = False
    until_settled: bool = False
    until_overfit: bool = False
    plateau_from: int = 0
    keep: int | None = None
    protocol: ScoreProtocol | None = None
    test_protocol: ScoreProtocol | None = None
    on: str = ""
    whole: bool = False
    tries_widths: bool = False
    sweeps_after: int | None = None

    def __post_init__(self) -> None:
        for name, least in (("minibatches", 1), ("threads", 1), ("burn_in", 0), ("samples", 1), ("keep", LEAST_KEPT)):
            value = getattr(self, name)
            if value is None and name in ("burn_in", "samples", "keep"):
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}")
        if self.averaged and self.burn_in is not None and self.burn_in >= self.minibatches:
            raise ValueError(
                f"the burn-in of the averaged protocol must be less than the {self.minibatches:,} mini-batches of the "
                f"run; got {self.burn_in:,}"
            )

    @property
    def is_on_gpu(self) -> bool:
        """Whether a graphics processor of this machine sweeps the documents."""
        return self.on == NAME

    @property
    def cluster(self) -> str:
        """The place whose processes sweep the documents; empty if the worker of the run does it itself."""
        return "" if self.is_on_gpu else self.on

    def to_json(self) -> dict[str, Any]:
        """Return the options as plain JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Return the options written by :meth:`to_json`, ignoring unknown keys."""
        options = {field.name: values[field.name] for field in fields(cls) if field.name in values}
        for name in ("protocol", "test_protocol"):
            protocol = values.get(name)
            options[name] = None if protocol is None else ScoreProtocol(**protocol)
        return cls(**options)


def read_options(run: Any) -> RunOptions:
    """Return the options of a run (a row of the store).

    Raises
    ------
    DamagedRow
        When the row is damaged.
    """
    try:
        return RunOptions.from_json(run.options)
    except (TypeError, ValueError) as error:
        raise DamagedRow(f"run {run.number} is damaged: options ({error}); delete the run") from error


class Effort(NamedTuple):
    """The costs and sizes of a run from which its plan is made.

    Attributes
    ----------
    documents : int
        Documents of a mini-batch.
    sweeps : float
        Sweeps over each of these documents.
    tokens_per_document : float
        Mean over the corpus.
    snapshot_numbers, checkpoint_numbers : int
        Numbers in a snapshot and in a checkpoint.
    widths : int
        Number of topics in all layers together.
    others : float
        Further cost of a mini-batch, in draws: the steps of the topics, and the work of an encoder.
    labelled : int
        Number of documents of the curve with a known label, for a model that predicts labels.
    asking : float
        Cost of one draw of the prediction for one labelled document, in token draws.
    first : int or None
        Number of mini-batches before the sweeps of all training documents; None: no sweeps.
    swept : int
        Number of documents in such a sweep.
    """

    documents: int
    sweeps: float
    tokens_per_document: float
    snapshot_numbers: int
    checkpoint_numbers: int
    widths: int
    others: float = 0.0
    labelled: int = 0
    asking: float = 0.0
    first: int | None = None
    swept: int = 0

    def count_draws(self, last: int) -> float:
        """Return the cost of the first ``last`` steps, in token draws."""
        step = max(1.0, self.documents * self.sweeps * self.tokens_per_document + self.others)
        first = last if self.first is None else min(self.first, last)
        return first * step + (last - first) * (self.swept * self.tokens_per_document + self.others)


class Averaging(NamedTuple):
    """The mini-batches ``first`` to ``last``, whose rates are averaged for the averaged perplexity."""

    first: int
    last: int


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The mini-batches after which a run does more than train, fixed before the first one.

    Attributes
    ----------
    minibatches : int
        The last mini-batch.
    reports : frozenset of int
        Mini-batches that write step sizes, active topics, speed and the averaged perplexity so far.
    evaluations : frozenset of int
        Mini-batches with a point of the live curve; empty without documents to evaluate.
    predictions : frozenset of int
        Mini-batches that write a point of the label error; empty if no label is learned or none can be checked.
    snapshots, checkpoints : frozenset of int
        Mini-batches that write a snapshot or a checkpoint.
    curve_documents : int
        Documents in every point of the curve: validation documents, or test documents if the corpus has none.
    curve_sweeps : Sweeps
        Sweeps of their local chains.
    test_documents : int
        Test documents evaluated once when the run ends; 0 if the curve is of test documents already.
    test_sweeps : Sweeps
        Sweeps of their local chains.
    paper_documents : int
        Test documents evaluated again at the end with the paper's sweeps; 0 unless the options ask for it.
    predicted_documents : int
        Labelled documents in a point of the label error, from the same part as the curve.
    placed_documents : int
        Training documents placed in the hierarchy, from which the examples of topics are chosen.
    placed_each : int
        Number of these that each snapshot places again; the last snapshot places all.
    averaging : Averaging or None
        Window of the averaged protocol; None if it is not run.
    """

    minibatches: int
    reports: frozenset[int]
    evaluations: frozenset[int]
    predictions: frozenset[int]
    snapshots: frozenset[int]
    checkpoints: frozenset[int]
    curve_documents: int
    curve_sweeps: Sweeps
    test_documents: int
    test_sweeps: Sweeps
    paper_documents: int
    predicted_documents: int
    placed_documents: int
    placed_each: int
    averaging: Averaging | None

    def is_due(self, minibatch: int) -> bool:
        """Return whether the plan does anything after a mini-batch."""
        written = (self.reports, self.evaluations, self.predictions, self.snapshots, self.checkpoints)
        return any(minibatch in times for times in written)


def make_plan(
    options: RunOptions,
    effort: Effort,
    *,
    train_documents: int,
    test_documents: int,
    validation_documents: int | None = None,
) -> Plan:
    """Return the plan of a run (a pure function of its arguments).

    Parameters
    ----------
    validation_documents : int or None
        None if the corpus has none, so that the curve is of test documents.
    """
    last = options.minibatches
    draws = effort.count_draws(last)
    part, available = (TEST, test_documents) if validation_documents is None else (VALIDATION, validation_documents)
    protocol = options.protocol or choose_protocol(effort.tokens_per_document, available, part=part)
    at_end = options.test_protocol or choose_protocol(effort.tokens_per_document, test_documents)
    curve_documents = min(available, protocol.documents)
    point_draws = curve_documents * effort.tokens_per_document * (protocol.burn_in + protocol.collect)
    ends_by_curve, sparse = options.until_plateau or options.until_overfit, spread_densely(last, *SPARSE)
    least = LEAST_CURVE if ends_by_curve else min(LEAST_CURVE, len(sparse) * point_draws)
    evaluations = _fit_spread(last, max(draws * CURVE_SHARE, least), point_draws, most=70)
    n_predicted = min(MOST_PREDICTED, effort.labelled)
    predictions = _fit_spread(
        last, max(draws * LABEL_SHARE, LEAST_DRAWS), n_predicted * PREDICTION_DRAWS * effort.asking, most=70
    )
    snapshots = _fit_spread(last, max(draws * SNAPSHOT_SHARE, LEAST_DRAWS), SNAPSHOT_DRAWS * effort.snapshot_numbers)
    saving_draws = max(draws * CHECKPOINT_SHARE, LEAST_DRAWS)
    checkpoints = _space_evenly(last, saving_draws, CHECKPOINT_DRAWS * effort.checkpoint_numbers)
    n_placed, placed_each = _plan_placing(
        draws * PLACED_SHARE / effort.tokens_per_document, len(snapshots), effort, train_documents
    )
    return Plan(
        minibatches=last,
        reports=spread_densely(last, 400),
        evaluations=evaluations if available else frozenset(),
        predictions=predictions if n_predicted else frozenset(),
        snapshots=snapshots,
        checkpoints=checkpoints,
        curve_documents=curve_documents,
        curve_sweeps=protocol.sweeps,
        test_documents=0 if part == TEST else min(test_documents, at_end.documents),
        test_sweeps=at_end.sweeps,
        paper_documents=test_documents if options.paper_point else 0,
        predicted_documents=n_predicted,
        placed_documents=n_placed,
        placed_each=placed_each,
        averaging=plan_averaging(last, options.burn_in, options.samples)
        if options.averaged and test_documents
        else None,
    )


def spread_densely(last: int, steps: int, leading: tuple[int, ...] = (1, 2, 5)) -> frozenset[int]:
    """Return mini-batches, dense at the start (1, 2, 5, 10, 20, 50, ...), then every ``last / steps``, and the last."""
    early = {digit * 10**power for power in range(len(str(last))) for digit in leading}
    return frozenset({t for t in early if t <= last}) | spread_evenly(last, steps)


def spread_evenly(last: int, steps: int) -> frozenset[int]:
    """Return the first and the last mini-batch, and every ``last / steps`` between them."""
    interval = -(-last // steps)
    return frozenset({1, *range(interval, last + 1, interval), last})


def _list_spreads(last: int, most: int) -> list[frozenset[int]]:
    """Return ways to spread work over a run, the densest first."""
    dense = [spread_densely(last, steps) for steps in (150, 100, 70, 50, 35, 25, 18, 12, 8) if steps <= most]
    return [*dense, spread_densely(last, *SPARSE), *(spread_evenly(last, steps) for steps in (10, 5, 3, 1))]


def _fit_spread(last: int, draws: float, cost: float, most: int = 150) -> frozenset[int]:
    """Return the densest spread that ``draws`` pay for at ``each`` a mini-batch; at least the first and the last."""
    affordable = (times for times in _list_spreads(last, most) if len(times) * cost <= draws)
    return next(affordable, spread_evenly(last, 1))


def _space_evenly(last: int, draws: float, cost: float) -> frozenset[int]:
    """Return 3 to 300 evenly spread mini-batches, including the last; a killed run loses one interval at most."""
    n_saves = int(max(3, min(300, draws / max(1.0, cost))))
    interval = -(-last // n_saves)
    return frozenset({*range(interval, last + 1, interval), last})


def _plan_placing(document_sweeps: float, snapshots: int, effort: Effort, train_documents: int) -> tuple[int, int]:
    """Return how many documents are placed, and how many each snapshot places again."""
    sweeps = PLACE_SWEEPS.burn_in + PLACE_SWEEPS.collect
    affordable = int(document_sweeps / sweeps)
    n_placed = min(
        train_documents, MOST_PLACED, max(1, PLACED_NUMBERS // effort.widths), max(LEAST_SCORED, affordable // 2)
    )
    per_snapshot = (affordable - n_placed) // max(1, snapshots - 1)
    return n_placed, min(n_placed, max(4, per_snapshot))


def plan_averaging(minibatches: int, burn_in: int | None = None, samples: int | None = None) -> Averaging:
    """Return the window of Table 1: burn-in 2,000, then 1,500 samples; a shorter run has proportional shares."""
    discarded = min(2000, minibatches * 4 // 7) if burn_in is None else burn_in
    return Averaging(discarded + 1, min(minibatches, discarded + (1500 if samples is None else samples)))


SHARES = 1  # raised when shares of documents are computed differently, so that stored ones are computed again


def hash_share_origin(run: RunRow) -> str:
    """Return a hash of everything except the snapshot that the shares of a document depend on."""
    facts = [SHARES, run.model, run.settings, run.seed, run.corpus]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
