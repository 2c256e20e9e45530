"""The plan of a run: what is done after which mini-batch.

Everything here is a pure function of counts (mini-batches, documents, sweeps, sizes) and never of the
clock, so a run that was killed and resumed writes the same points and snapshots as one that was not.

Costs are counted in *token draws*: one topic drawn for one token.  Watching a run is kept to a fixed
share of the draws of training: the live curve 7 %, snapshots 6 %, predicted labels 4 %, checkpoints 2 % (or a
second each, if that is more), documents placed for the topics' examples 1 %.  Which documents are evaluated, and
how long, depends on the corpus alone (:func:`choose_protocol`), so that the figures of its runs are comparable.
"""

from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple, Self

from engine.contract import Sweeps
from engine.hierarchy.evaluate import POINT, SHORT
from store.errors import DamagedRow

EVALUATED_TOKENS = 50_000  # of the documents behind a point perplexity, all together
VALIDATION, TEST = "validation", "test"  # parts of a corpus that runs are judged on
LEAST_SCORED = 16
OBSERVED = 0.8
PAPER_WORDS = f"test perplexity ({POINT.burn_in + POINT.collect} sweeps, all test documents)"


@dataclass(frozen=True, kw_only=True)
class ScoreProtocol:
    """The protocol of a point perplexity.

    Attributes
    ----------
    documents : int
        Documents that are evaluated, the first ones of an order that the corpus fixes.
    part : str
        The part of the corpus that they are of, "validation" or "test".
    burn_in, collect, thin : int
        Sweeps of their local chains: unused, used, and the distance between two that count.
    observed : float or None
        Part of the tokens of each document that the model reads; None where the corpus says which tokens are held out.
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
        """Return a phrase: ``20 + 20 sweeps, 312 test documents, 80 % of each observed``."""
        sweeps = f"{self.burn_in} + {self.collect} sweeps"
        held = "the words held out by the corpus" if self.observed is None else f"{self.observed:.0%} of each observed"
        return f"{sweeps}, {self.documents:,} {self.part} documents, {held.replace('%', ' %')}"


def find_part(run: Any) -> str:
    """Return the part of the corpus that the curve of a run (a row of the store) is of: "validation" or "test"."""
    return (run.options.get("protocol") or {}).get("part", TEST)


def describe_protocol(run: Any, *, at_end: bool = False) -> str:
    """Describe the protocol of the point perplexity of a run, or, ``at_end``, of its figure on test documents."""
    protocol = run.options.get("test_protocol" if at_end else "protocol")
    if protocol is not None:
        return str(ScoreProtocol(**protocol))
    damaged = getattr(run, "unusable", False)
    return f"how it was judged is not known{', as its row in the store is damaged' if damaged else ''}"


def choose_protocol(
    tokens_per_document: float, documents: int, *, part: str = TEST, has_scored: bool = False
) -> ScoreProtocol:
    """Return the protocol of every new run on a corpus: documents of about ``EVALUATED_TOKENS`` tokens.

    Parameters
    ----------
    tokens_per_document : float
        Mean over the corpus.
    documents : int
        How many the part has.
    part : str
        The part of the corpus whose documents are judged, "validation" or "test".
    has_scored : bool
        Whether the corpus says which tokens of test documents are held out.
    """
    judged = min(documents, max(LEAST_SCORED, int(EVALUATED_TOKENS / tokens_per_document)))
    return ScoreProtocol(documents=judged, part=part, observed=None if has_scored and part == TEST else OBSERVED)


CURVE_SHARE, PLACED_SHARE, SNAPSHOT_SHARE, CHECKPOINT_SHARE, LABEL_SHARE = 0.07, 0.01, 0.06, 0.02, 0.04
PLACE_SWEEPS = Sweeps(20, 20, 1)
# Packing and writing one number takes about the time of this many token draws (at 20 million draws per second).
SNAPSHOT_DRAWS, CHECKPOINT_DRAWS = 3.0, 2.5
MOVE_DRAWS = 0.4  # the step of one weight of a topic likewise
LEAST_DRAWS = 20_000_000  # a second: short runs are watched too, though it takes more than the share
LEAST_CURVE = 26_000_000  # thirteen points of 50,000 tokens, so that a run of 20 seconds has a curve
MOST_PREDICTED, PREDICTION_DRAWS = 500, 5  # labelled documents behind a point of the label error, draws of each
LEAST_KEPT = 2  # snapshots: the first and the last
MOST_PLACED, PLACED_NUMBERS = 4000, 1_000_000


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of a run, kept as JSON in its row.

    Attributes
    ----------
    minibatches : int
        Steps to make; for a batch sampler, sweeps over all training documents.
    threads : int
        Threads of the kernels; results do not depend on it.
    averaged : bool
        Also run the averaged protocol of Table 1 (models.md 1.4).
    burn_in, samples : int or None
        Its length; None = the paper's 2,000 and 1,500, or 4/7 and the rest of a shorter run.
    paper_point : bool
        After the last mini-batch, also judge all test documents with the paper's 600 sweeps, whatever it costs.
    until_plateau : bool
        End earlier, once the curve no longer falls (:mod:`app.jobs.estimates`); where all documents are swept in the
        end, no earlier than in the sweeps.
    until_settled : bool
        With it, the run goes on until its tree no longer changes either (:class:`app.jobs.training.TreeReference`).
    plateau_from : int
        Of a run that never sweeps: no plateau counts before this mini-batch.
    keep : int or None
        At most so many snapshots stay as the run grows; None: by the usual rule (:mod:`store.snapshots`).
    protocol : ScoreProtocol or None
        That of the point perplexity; None leaves it to the plan, which knows the corpus.
    test_protocol : ScoreProtocol or None
        That of the figure on test documents, when the run ends; None where the curve is of these already.
    on : str
        The place that sweeps documents: "" is the worker itself, "local:2" so many processes of this machine, else the
        address of a Dask scheduler (:mod:`app.jobs.cluster.place`); results do not depend on it.
    whole : bool
        The run is one of several that share the place: each is trained whole by one process of it.
    """

    minibatches: int
    threads: int = 1
    averaged: bool = False
    burn_in: int | None = None
    samples: int | None = None
    paper_point: bool = False
    until_plateau: bool = False
    until_settled: bool = False
    plateau_from: int = 0
    keep: int | None = None
    protocol: ScoreProtocol | None = None
    test_protocol: ScoreProtocol | None = None
    on: str = ""
    whole: bool = False

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

    def to_json(self) -> dict[str, Any]:
        """Return the options as plain JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Return the options that :meth:`to_json` wrote; keys it does not know are left to others."""
        known = {field.name: values[field.name] for field in fields(cls) if field.name in values}
        for name in ("protocol", "test_protocol"):
            protocol = values.get(name)
            known[name] = None if protocol is None else ScoreProtocol(**protocol)
        return cls(**known)


def read_options(run: Any) -> RunOptions:
    """Return the options of a run (a row of the store).

    Raises
    ------
    DamagedRow
        When the row is damaged.
    """
    run.check_usable()
    try:
        return RunOptions.from_json(run.options)
    except (TypeError, ValueError) as error:
        raise DamagedRow(f"run {run.number} is damaged: options ({error}); delete the run") from error


class Effort(NamedTuple):
    """The cost of a mini-batch and the sizes of a run, from which a plan is made.

    Attributes
    ----------
    documents : int
        Documents of a mini-batch.
    sweeps : float
        Sweeps over each of them.
    tokens_per_document : float
        Mean over the corpus.
    snapshot_numbers, checkpoint_numbers : int
        Numbers in a snapshot and in a checkpoint.
    widths : int
        Topics of all layers together.
    others : float
        Cost of a mini-batch in addition to its draws, in draws: the steps of the topics, and the work of an encoder.
    labelled : int
        Validation documents with a known label, of a model that predicts labels.
    asking : float
        Cost of one draw of the prediction for one of them, in draws of topics.
    first : int or None
        Mini-batches before the sweeps of all training documents; None: mini-batches to the end.
    swept : int
        Number of these documents.
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
        """Return the cost of the first ``last`` steps in token draws."""
        step = max(1.0, self.documents * self.sweeps * self.tokens_per_document + self.others)
        first = last if self.first is None else min(self.first, last)
        return first * step + (last - first) * (self.swept * self.tokens_per_document + self.others)


class Averaging(NamedTuple):
    """Mini-batches ``first`` to ``last`` add their rates to the averaged perplexity."""

    first: int
    last: int


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The mini-batches after which a run does more than train, fixed before the first.

    Attributes
    ----------
    minibatches : int
        The last mini-batch.
    reports : frozenset of int
        Mini-batches that write step sizes, active topics, speed and the averaged perplexity so far.
    evaluations : frozenset of int
        Mini-batches with a point of the live curve; empty without documents to judge.
    predictions : frozenset of int
        Mini-batches that write a point of the label error; empty where no label is learned or none can be checked.
    snapshots, checkpoints : frozenset of int
        Mini-batches that write one.
    curve_documents : int
        Documents behind every point of the curve: validation documents, or, of a corpus without these, test documents.
    curve_sweeps : Sweeps
        Sweeps of their local chains.
    test_documents : int
        Test documents evaluated once when the run ends; 0 where the curve is of these already.
    test_sweeps : Sweeps
        Sweeps of their local chains.
    paper_documents : int
        Test documents evaluated once more at the end with the paper's sweeps; 0 unless the options ask for that.
    predicted_documents : int
        Labelled documents, of the part that the curve is of, behind a point of the label error.
    placed_documents : int
        Training documents placed in the hierarchy, from which topics take their examples.
    placed_each : int
        How many of them each snapshot places again; the last one places them all.
    averaging : Averaging or None
        The averaged protocol.
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
        """Return whether the plan has anything to do after a mini-batch."""
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
    options : RunOptions
    effort : Effort
    train_documents, test_documents : int
    validation_documents : int or None
        None where the corpus has none, so that the curve is of test documents.
    """
    last = options.minibatches
    draws = effort.count_draws(last)
    part, judged = (TEST, test_documents) if validation_documents is None else (VALIDATION, validation_documents)
    protocol = options.protocol or choose_protocol(effort.tokens_per_document, judged, part=part)
    at_end = options.test_protocol or choose_protocol(effort.tokens_per_document, test_documents)
    curve_documents = min(judged, protocol.documents)
    point = curve_documents * effort.tokens_per_document * (protocol.burn_in + protocol.collect)
    evaluations = _fit_spread(last, max(draws * CURVE_SHARE, LEAST_CURVE), point, most=70)
    predicted = min(MOST_PREDICTED, effort.labelled)
    predictions = _fit_spread(
        last, max(draws * LABEL_SHARE, LEAST_DRAWS), predicted * PREDICTION_DRAWS * effort.asking, most=70
    )
    snapshots = _fit_spread(last, max(draws * SNAPSHOT_SHARE, LEAST_DRAWS), SNAPSHOT_DRAWS * effort.snapshot_numbers)
    saving = max(draws * CHECKPOINT_SHARE, LEAST_DRAWS)
    checkpoints = _space_evenly(last, saving, CHECKPOINT_DRAWS * effort.checkpoint_numbers)
    placed, each = _plan_placing(
        draws * PLACED_SHARE / effort.tokens_per_document, len(snapshots), effort, train_documents
    )
    return Plan(
        minibatches=last,
        reports=spread_densely(last, 400),
        evaluations=evaluations if judged else frozenset(),
        predictions=predictions if predicted else frozenset(),
        snapshots=snapshots,
        checkpoints=checkpoints,
        curve_documents=curve_documents,
        curve_sweeps=protocol.sweeps,
        test_documents=0 if part == TEST else min(test_documents, at_end.documents),
        test_sweeps=at_end.sweeps,
        paper_documents=test_documents if options.paper_point else 0,
        predicted_documents=predicted,
        placed_documents=placed,
        placed_each=each,
        averaging=plan_averaging(last, options.burn_in, options.samples)
        if options.averaged and test_documents
        else None,
    )


def spread_densely(last: int, steps: int, leading: tuple[int, ...] = (1, 2, 5)) -> frozenset[int]:
    """Return mini-batches dense at the start (1, 2, 5, 10, 20, 50, ...), then every ``last / steps``, and the last."""
    early = {digit * 10**power for power in range(len(str(last))) for digit in leading}
    return frozenset({t for t in early if t <= last}) | spread_evenly(last, steps)


def spread_evenly(last: int, steps: int) -> frozenset[int]:
    """Return the first and the last mini-batch and every ``last / steps`` between."""
    every = -(-last // steps)
    return frozenset({1, *range(every, last + 1, every), last})


def _list_spreads(last: int, most: int) -> list[frozenset[int]]:
    """Return ways to spread work over a run, the densest first."""
    dense = [spread_densely(last, steps) for steps in (150, 100, 70, 50, 35, 25, 18, 12, 8) if steps <= most]
    return [*dense, spread_densely(last, 9, (1,)), *(spread_evenly(last, steps) for steps in (10, 5, 3, 1))]


def _fit_spread(last: int, draws: float, each: float, most: int = 150) -> frozenset[int]:
    """Return the densest spread that ``draws`` pay for; at least the first and last mini-batch."""
    affordable = (times for times in _list_spreads(last, most) if len(times) * each <= draws)
    return next(affordable, spread_evenly(last, 1))


def _space_evenly(last: int, draws: float, each: float) -> frozenset[int]:
    """Return 3 to 300 evenly spread mini-batches, the last among them; a killed run loses one interval at most."""
    n = int(max(3, min(300, draws / max(1.0, each))))
    every = -(-last // n)
    return frozenset({*range(every, last + 1, every), last})


def _plan_placing(document_sweeps: float, snapshots: int, effort: Effort, train_documents: int) -> tuple[int, int]:
    sweeps = PLACE_SWEEPS.burn_in + PLACE_SWEEPS.collect
    affordable = int(document_sweeps / sweeps)
    placed = min(
        train_documents, MOST_PLACED, max(1, PLACED_NUMBERS // effort.widths), max(LEAST_SCORED, affordable // 2)
    )
    each = (affordable - placed) // max(1, snapshots - 1)
    return placed, min(placed, max(4, each))


def plan_averaging(minibatches: int, burn_in: int | None = None, samples: int | None = None) -> Averaging:
    """Return the window of Table 1: burn-in 2,000 and 1,500 samples of 3,500 mini-batches, or shares of fewer."""
    unused = min(2000, minibatches * 4 // 7) if burn_in is None else burn_in
    return Averaging(unused + 1, min(minibatches, unused + (1500 if samples is None else samples)))
