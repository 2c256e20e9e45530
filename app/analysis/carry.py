"""Names, notes and tags of the topics of one run carried to the topics of another run that are the same.

Two topics are the same if the comparison of the runs pairs them, and the topic counts as found in the other run
(:mod:`engine.hierarchy.align`): the alignment pairs topics that are the best for each other, however unlike they
are.  A pair that an analyst decided always counts.
"""

from collections.abc import Sequence
from typing import NamedTuple

from topiary.app.analysis.comparison import Comparison
from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.seeds import measure_group
from topiary.app.names import plural
from topiary.engine.hierarchy.align import NONE
from topiary.engine.hierarchy.tree import Node
from topiary.store import notes, runs
from topiary.store.database import Database
from topiary.store.errors import StoreError
from topiary.store.notes import CopyResult, NoteRow, TopicCopy


class CarriedTopic(NamedTuple):
    """A topic with a name, notes or tags, and what of them came to another run.

    Attributes
    ----------
    source : Node
        The topic of A.
    target : Node or None
        The same topic of B; None if B has none.
    name : str
        The name of the topic of A; may be empty.
    is_named : bool
        Whether the topic of B has got this name.
    notes, carried : int
        Number of notes and tags of the topic of A, and of those that the topic of B has got.
    own_name : str
        Another name that the topic of B had and keeps; else empty.
    """

    source: Node
    target: Node | None
    name: str
    is_named: bool
    notes: int
    carried: int
    own_name: str


def carry_annotations(db: Database, comparison: Comparison) -> list[CarriedTopic]:
    """Copy names, notes and tags of the topics of A to the same topics of B; what these have already stays.

    Returns
    -------
    list of CarriedTopic
        Every topic of A that has a name, notes or tags, the highest layer first.

    Raises
    ------
    StoreError
        If both are snapshots of one run, or the runs are on different corpora.
    """
    a, b = comparison.a, comparison.b
    _check_runs(db, a, b)
    names, written, _ = notes.read_remarks(db, a.run)
    rows: dict[tuple[int, int], list[NoteRow]] = {key: [] for key in names}
    for row in written:
        if row.topic is not None:
            rows.setdefault((row.layer, row.topic), []).append(row)
    targets = find_same_topics(comparison)
    sources = sorted((Node(layer, topic - 1) for layer, topic in rows), key=lambda node: (-node.layer, node.column))
    copies = {
        source: TopicCopy(target.layer, target.column + 1, names.get(_number(source), ""), rows[_number(source)])
        for source in sources
        if (target := targets.get(source)) is not None
    }
    own_names = notes.read_remarks(db, b.run).names
    results = dict(zip(copies, notes.copy_to_topics(db, b.run, list(copies.values())), strict=True))
    carried = []
    for source in sources:
        target, name = targets.get(source), names.get(_number(source), "")
        own_name = own_names.get(_number(target), "") if target is not None else ""
        result = results.get(source, CopyResult(named=False, added=0))
        kept_name = own_name if name and own_name != name else ""
        n_notes = len(rows[_number(source)])
        carried.append(CarriedTopic(source, target, name, result.named, n_notes, result.added, kept_name))
    return carried


def find_same_topics(comparison: Comparison) -> dict[Node, Node]:
    """Return the topics of A that are found in B, with the topics of B that they are."""
    a, b = comparison.a, comparison.b
    recurrence = measure_group(a, [b], lambda *_: comparison)
    same = {}
    for layer, partners in enumerate(recurrence.partners[: min(a.n_layers, b.n_layers)], start=1):
        for column, partner in enumerate(partners[0].tolist()):
            if partner != NONE:
                same[a.node(layer, column)] = b.node(layer, partner)
    return same


def summarize_carrying(carried: Sequence[CarriedTopic], run: int) -> str:
    """Return a sentence on what came to a run, and what did not."""
    if not carried:
        return "no topic has a name, a note or a tag that could be carried"
    n_names, n_notes = sum(each.is_named for each in carried), sum(each.carried for each in carried)
    sentence = f"run {run} got {plural(n_names, 'name')} and {_count_notes(n_notes) or 'no note'}"
    n_missing, n_own = sum(each.target is None for each in carried), sum(bool(each.own_name) for each in carried)
    if n_missing:
        sentence += f"; {plural(n_missing, 'topic is', 'topics are')} not found in it"
    if n_own:
        sentence += f"; {plural(n_own, 'topic keeps its', 'topics keep their')} own name"
    return sentence


def describe_carried(comparison: Comparison, carried: CarriedTopic) -> str:
    """Return a line on a topic: what of it came to the other run, and what did not."""
    source, name, notes_of_it = comparison.a.cite(carried.source), carried.name, _count_notes(carried.notes)
    if carried.target is None:
        subject = " and ".join(filter(None, (f"the name “{name}”" if name else "", notes_of_it)))
        return f"{source} is not found there: {subject} not carried"
    parts = []
    if carried.is_named:
        parts.append(f"got the name “{name}”")
    elif carried.own_name:
        parts.append(f"keeps its name “{carried.own_name}” instead of “{name}”")
    elif name:
        parts.append("had the name already")
    if carried.carried:
        parts.append(f"got {_count_notes(carried.carried)}")
    elif carried.notes:
        parts.append(f"had {notes_of_it} already")
    return f"{source} is {comparison.b.cite(carried.target)}: {', '.join(parts)}"


def _count_notes(n: int) -> str:
    return plural(n, "note or tag", "notes and tags") if n else ""


def _check_runs(db: Database, a: Hierarchy, b: Hierarchy) -> None:
    """Raise an error if annotations cannot be carried from one run to the other."""
    if a.run == b.run:
        raise StoreError(f"names and notes belong to run {a.run} at all of its snapshots; choose another run")
    if runs.get_run(db, a.run).corpus != runs.get_run(db, b.run).corpus:
        raise StoreError(f"runs {a.run} and {b.run} are on different corpora; choose two runs on the same one")


def _number(node: Node) -> tuple[int, int]:
    """Return the layer and the identity number of a topic, as the store has them."""
    return node.layer, node.column + 1
