"""What Compare reads in other threads: two runs or snapshots, matched."""

from typing import NamedTuple

from topiary.app.analysis.comparison import Comparison, Side
from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.seeds import choose_partner
from topiary.app.jobs.plan import TEST, find_part
from topiary.app.pages.messages import list_moments
from topiary.app.pages.session import Context
from topiary.app.views.compare.labels import LabelAccuracy
from topiary.app.views.explore.controls import SnapshotOption
from topiary.app.views.runs.run_list import explain_missing_run, explain_no_topics
from topiary.store import corpora, points
from topiary.store.run_rows import RunRow

MOST_COUNTED = 100_000  # documents whose labels are counted for the commonest class


class ComparisonRequest(NamedTuple):
    """Which snapshots to compare: of the reference run ``a`` and of the run on screen ``b``; 0 = the newest."""

    run_a: int
    snapshot_a: int
    run_b: int
    snapshot_b: int


class FetchedComparison(NamedTuple):
    """A comparison, or None and a sentence that says why, and the snapshots to choose from on either side.

    ``accuracies`` says of either side how well its topics predict labels, None if they do not.
    """

    request: ComparisonRequest
    comparison: Comparison | None
    sentence: str
    snapshots_a: tuple[SnapshotOption, ...]
    snapshots_b: tuple[SnapshotOption, ...]
    accuracies: tuple[LabelAccuracy | None, LabelAccuracy | None] = (None, None)


def read_request(context: Context) -> ComparisonRequest:
    """Return what the view asks to compare; ``run_a`` is 0 if there is no run to compare with."""
    view = context.view
    row = context.feed.run(view.run)
    partner = view.partner
    if not partner and row is not None:
        usual = choose_partner(row, context.feed.runs())
        partner = usual.number if usual else 0
    return ComparisonRequest(partner, view.partner_snapshot, view.run, view.snapshot)


def fetch_comparison(context: Context, request: ComparisonRequest) -> FetchedComparison:
    """Fetch both hierarchies and match them; blocks while the store is read and topics are matched."""
    a = context.feed.hierarchy(request.run_a, request.snapshot_a or None)
    b = context.feed.hierarchy(request.run_b, request.snapshot_b or None)
    options = list_moments(context, request.run_a), list_moments(context, request.run_b)
    if a is None or b is None:
        missing = request.run_a if a is None else request.run_b
        return FetchedComparison(request, None, f"Run {missing} has no such snapshot; choose another one.", *options)
    try:
        comparison = context.reader.compare(a, b)
        return FetchedComparison(request, comparison, "", *options, _read_accuracies(context, a, b))
    except ValueError as error:
        return FetchedComparison(request, None, str(error), *options)


def _read_accuracies(context: Context, a: Hierarchy, b: Hierarchy) -> tuple[LabelAccuracy | None, LabelAccuracy | None]:
    """Return how well the topics of A and of B predict labels, of the same part of the corpus in both."""
    accuracy_a, accuracy_b = read_accuracy(context, a), read_accuracy(context, b)
    if accuracy_a is not None and accuracy_b is not None and accuracy_a.part != accuracy_b.part:
        return read_accuracy(context, a, predicted=False), read_accuracy(context, b, predicted=False)
    return accuracy_a, accuracy_b


def read_accuracy(context: Context, hierarchy: Hierarchy, *, predicted: bool = True) -> LabelAccuracy | None:
    """Return how well the topics of a snapshot predict labels, as far as that has been measured; else None.

    Predictions of all test documents come first, if the page Classes has computed them for this snapshot, unless
    `predicted` is false; otherwise it is the last point of the label error until then.
    """
    row = context.feed.run(hierarchy.run)
    errors = points.read_curve(context.db, hierarchy.run, "label_error")
    if row is None or not (errors or hierarchy.classes):
        return None
    stored = context.feed.classes.recall(hierarchy.run, hierarchy.snapshot) if predicted else None
    if stored is not None:
        total = int(stored.train_counts.sum())
        commonest = float(stored.train_counts.max()) / total if total else None
        return LabelAccuracy(1.0 - stored.scores.error, TEST, commonest)
    values = [value for minibatch, value in errors if minibatch <= hierarchy.minibatch and value == value]  # noqa: PLR0124 - not a number
    return LabelAccuracy(1.0 - values[-1] / 100.0, find_part(row), _find_commonest(context, row)) if values else None


def _find_commonest(context: Context, row: RunRow) -> float | None:
    """Return the share of the labelled training documents in the commonest class; None if reading takes long."""
    if corpora.get_corpus(context.db, row.corpus).documents > MOST_COUNTED:
        return None
    counts = corpora.count_labels(context.db, row.corpus)
    return float(counts.max() / counts.sum()) if counts.sum() else None


def explain_waiting(context: Context, request: ComparisonRequest) -> str:
    """Explain what is being read, or why there is nothing to compare."""
    row, partner = context.feed.run(request.run_b), context.feed.run(request.run_a)
    if row is None:
        return explain_missing_run(request.run_b)
    if partner is None and request.run_a:
        return f"There is no run {request.run_a} in this store; choose another one as A."
    if partner is None:
        return (
            "There is only one run yet. Train another one (another seed, other widths, another model), "
            "or choose this run as A with an older snapshot to see how it changed."
        )
    for run in (partner, row):
        if context.feed.latest(run.number) is None:
            return explain_no_topics(run.number, context.feed.state(run.number), run.message)
    size = "{:,} topics of run {}"
    sizes = " with ".join(size.format(sum(run.layers), run.number) for run in (partner, row))
    return f"Reading two snapshots and matching {sizes} …"


# In the fields of the view, "run" is the run on screen and "partner" the reference run.
SIDE_BY_NAME: dict[str, Side] = {"run": "b", "partner": "a"}
SIDE_NAMES: dict[Side, str] = {"b": "run", "a": "partner"}
