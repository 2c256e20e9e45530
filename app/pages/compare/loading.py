"""What the compare page reads and works out off the session's thread, and the sentences for waiting."""

from functools import partial
from typing import NamedTuple

from app.analysis.comparison import Comparison
from app.analysis.hierarchy import Hierarchy
from app.analysis.judged_seeds import JudgedPair, judged_pair
from app.analysis.partners import as_far, decisions, same_but_seed, seed_pairs, usual_partner
from app.pages.session import Context
from app.views.compare.summary import seeds_sentence
from app.views.explore.controls import SnapshotOption
from app.views.runs.notices import no_snapshot, run_not_here
from store import snapshots
from store.run_rows import RunRow


class Request(NamedTuple):
    """Two snapshots: of the run that is compared with (``a``) and of the run looked at (``b``); 0 is live."""

    run_a: int
    snapshot_a: int
    run_b: int
    snapshot_b: int


class Fetched(NamedTuple):
    """A comparison, None with a sentence when there is none, and the moments one may choose on either side."""

    request: Request
    comparison: Comparison | None
    sentence: str
    moments_a: tuple[SnapshotOption, ...]
    moments_b: tuple[SnapshotOption, ...]


class Baseline(NamedTuple):
    """How far seeds of one model lie apart: pairs of runs that differ in their seed only; none with a sentence why.

    ``judged`` is how well the two runs on screen predict held-out words, beside those pairs.
    """

    comparisons: tuple[Comparison, ...]
    sentence: str
    judged: JudgedPair | None = None


def request(context: Context) -> Request:
    """What the view asks for; run 0 where there is nothing to compare with."""
    view = context.view
    row = context.feed.run(view.run)
    partner = view.partner
    if not partner and row is not None:
        usual = usual_partner(row, context.feed.runs())
        partner = usual.number if usual else 0
    return Request(partner, view.partner_snapshot, view.run, view.snapshot)


def fetch(context: Context, asked: Request) -> Fetched:
    """Fetch both hierarchies and match them; waits for the store, and for the matching."""
    a = context.feed.hierarchy(asked.run_a, asked.snapshot_a or None)
    b = context.feed.hierarchy(asked.run_b, asked.snapshot_b or None)
    found = partial(Fetched, moments_a=_moments(context, asked.run_a), moments_b=_moments(context, asked.run_b))
    if a is None or b is None:
        return found(
            asked, None, f"Run {asked.run_a if a is None else asked.run_b} has no such snapshot; choose another one."
        )
    try:
        return found(asked, compared(context, a, b), "")
    except ValueError as error:
        return found(asked, None, str(error))


def compared(context: Context, a: Hierarchy, b: Hierarchy) -> Comparison:
    """Match two hierarchies, people's decisions honoured; from memory when it was done before."""
    return context.feed.comparisons.get(a, b, decisions(context.db, a.run, b.run))


def baseline(context: Context, shown: Comparison) -> Baseline:
    """Compare seeds of either run with each other; waits for the store and for the matching."""
    rows = {row.number: row for row in context.feed.runs()}
    one, two = rows.get(shown.a.run), rows.get(shown.b.run)
    if one is None or two is None:
        return Baseline((), "")
    found, named, seeds = [], [], []
    for own, twin in seed_pairs(one, two, rows.values()):
        here = shown.a if own is one else shown.b if own is two else _nearest(context, own, shown.b.minibatch)
        there = _nearest(context, twin, here.minibatch) if here is not None else None
        if here is not None and there is not None:
            found.append(compared(context, here, there))
            named.append(f"{own.number} and {twin.number}")
            seeds.append((own, twin))
    alone = same_but_seed(one, two) and as_far(shown.a.minibatch, shown.b.minibatch)
    sentence = seeds_sentence(named, two.number, alone=alone)
    context.feed.read_sparks(context.feed.without_spark({row.number for pair in seeds for row in pair}))
    return Baseline(tuple(found), sentence, judged_pair(one, two, seeds, context.feed.judged))


def _nearest(context: Context, run: RunRow, minibatch: int) -> Hierarchy | None:
    """The hierarchy of the snapshot nearest to a mini-batch, None where none is near."""
    found = snapshots.list_snapshots(context.db, run.number)
    row = min(found, key=lambda snapshot: abs(snapshot.minibatch - minibatch), default=None)
    if row is None or not as_far(row.minibatch, minibatch):
        return None
    return context.feed.hierarchy(run.number, row.number)


def _moments(context: Context, run: int) -> tuple[SnapshotOption, ...]:
    rows = snapshots.list_snapshots(context.db, run)
    return tuple(SnapshotOption(row.number, row.minibatch) for row in sorted(rows, key=lambda row: row.minibatch))


def waiting_for(context: Context, asked: Request) -> str:
    """Say what is awaited, or why there is nothing to compare."""
    row, partner = context.feed.run(asked.run_b), context.feed.run(asked.run_a)
    if row is None:
        return run_not_here(asked.run_b)
    if partner is None and asked.run_a:
        return f"There is no run {asked.run_a} in this store; choose another one as A."
    if partner is None:
        return (
            "There is only one run yet. Train another one (another seed, other widths, another model), "
            "or choose this run as A with an older snapshot to see how it changed."
        )
    for run in (partner, row):
        if context.feed.latest(run.number) is None:
            return no_snapshot(run.number, context.feed.state(run.number), run.message)
    size = "{:,} topics of run {}"
    report = " with ".join(size.format(sum(run.layers), run.number) for run in (partner, row))
    return f"Reading two snapshots and matching {report} …"
