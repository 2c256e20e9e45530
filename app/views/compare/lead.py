"""The first sentence of the page Compare: what differs between the two runs."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from topiary.app.analysis.comparison import Comparison, EdgeChange, Pair
from topiary.app.analysis.hierarchy import BACKGROUND, format_identity
from topiary.app.analysis.seeds import EstimatePair
from topiary.app.jobs.plan import STEPS, name_step
from topiary.app.names import name_inference, name_model, plural
from topiary.app.views.compare.labels import LabelAccuracy, describe_cost
from topiary.app.views.markup import write_element
from topiary.app.views.run_facts import RunFacts
from topiary.app.views.runs.new_run_form import describe_setting, format_value
from topiary.app.views.text import LONGEST_TITLE, escape, format_percent, shorten, write_title

_FIRST_WORDS = 2  # of the titles of two topics, all different if the sentence names them
_TIP = "A is run {a.run} at {a.moment}, B run {b.run} at {b.moment}; the figures are explained below"
_LINES_TIP = "Lines of the trees: edges above the threshold in both runs together, wherever they are"


class LeadFacts(NamedTuple):
    """What the sentence is about.

    Attributes
    ----------
    changes : sequence of EdgeChange
        `find_edge_changes` at the threshold of the page.
    accuracies : pair of LabelAccuracy or None
        How well the topics of A and of B predict labels.
    estimates : EstimatePair or None
        How well both predict held-out words; None if it is not known of the snapshots on screen.
    """

    comparison: Comparison
    changes: Sequence[EdgeChange]
    run_a: RunFacts
    run_b: RunFacts
    accuracies: tuple[LabelAccuracy | None, LabelAccuracy | None] = (None, None)
    estimates: EstimatePair | None = None

    @property
    def learns_labels(self) -> tuple[bool, bool]:
        """Whether A and B learn labels."""
        a, b = self.accuracies
        return bool(self.comparison.a.classes) or a is not None, bool(self.comparison.b.classes) or b is not None


def draw_lead(facts: LeadFacts) -> str:
    """Return the sentence as HTML; a click on the topic that it names selects it."""
    opening, result = find_opening(facts), describe_result(facts)
    comma = "," if result[0].isdecimal() else ""  # two numbers would run together: "After 300 more sweeps, 40 topics"
    change, lines = find_largest_change(facts.comparison), describe_lines(facts.changes)
    clauses = [escape(f"{opening}{comma} {result}{';' if change or lines else '.'}")]
    if change is not None:
        clauses.append(_draw_change(facts.comparison, change, ";" if lines else "."))
    if lines:
        clauses.append(write_element("span", f"{lines}.", title=_LINES_TIP))
    tip = write_title(_TIP.format(a=facts.comparison.a, b=facts.comparison.b))
    return f'<p class="cm-say"{tip}>{" ".join(clauses)}</p>'


def find_opening(facts: LeadFacts) -> str:
    """Return in a few words what distinguishes B from A: ``With labels``, ``With another seed``."""
    a, b = facts.run_a, facts.run_b
    moments = facts.comparison.a.minibatch, facts.comparison.b.minibatch
    if a.number == b.number:
        back = "back " if moments[1] < moments[0] else ""
        return f"From {name_step(a)} {moments[0]:,} {back}to {moments[1]:,}"
    if a.corpus_name != b.corpus_name:
        return f"On {b.corpus_name} instead of {a.corpus_name}"
    if facts.learns_labels[0] != facts.learns_labels[1]:
        return "With labels" if facts.learns_labels[1] else "Without labels"
    if a.model != b.model:
        return f"With {name_model(b.model)} instead of {name_model(a.model)}"
    if tuple(a.layers) != tuple(b.layers):
        return f"With {_join_widths(b)} topics instead of {_join_widths(a)}"
    return _find_setting(a, b) or _find_course(a, b)


def _join_widths(run: RunFacts) -> str:
    return "-".join(map(str, run.layers))


def _find_setting(a: RunFacts, b: RunFacts) -> str:
    """Return the setting by which two runs differ; an empty text if none or only the seed does."""
    if a.inference != b.inference:
        names = [name_inference(run.model, run.inference) or "the usual inference" for run in (b, a)]
        return f"With {names[0]} instead of {names[1]}"
    names_of = (a.settings.keys() | b.settings.keys()) - {"layers", "inference"}
    different = [name for name in sorted(names_of) if a.settings.get(name) != b.settings.get(name)]
    if len(different) != 1:
        return "With other settings" if different else ""
    (name,) = different
    values = [format_value(run.settings[name]) if name in run.settings else "none" for run in (b, a)]
    return f"With {describe_setting(b.model, name).label} {values[0]} instead of {values[1]}"


def _find_course(a: RunFacts, b: RunFacts) -> str:
    """Return how two runs of the same settings differ: in their seed, or in how long they were trained."""
    if b.parent == a.number:
        return f"After {b.minibatch:,} more {STEPS[name_step(b)]}"
    return "With another seed" if a.seed != b.seed else f"In run {b.number}"


def describe_result(facts: LeadFacts) -> str:
    """Return what came of it: labels predicted correctly, topics with a partner, and the change of the perplexity."""
    learns, (accuracy_a, accuracy_b) = facts.learns_labels, facts.accuracies
    cost = _describe_perplexity(facts)
    if learns == (True, True) and accuracy_a is not None and accuracy_b is not None:
        right = [format_percent(each.right, 0) for each in (accuracy_b, accuracy_a)]
        return f"the topics predict {right[0]} of the {accuracy_b.part} labels correctly, those of A {right[1]}{cost}"
    if learns == (False, True) and accuracy_b is not None:
        return (
            f"the topics predict {format_percent(accuracy_b.right, 0)} of the {accuracy_b.part} labels correctly{cost}"
        )
    if learns == (True, False) and accuracy_a is not None:
        return f"the topics predict no labels, those of A {format_percent(accuracy_a.right, 0)} correctly{cost}"
    comparison = facts.comparison
    n_paired, n_topics = sum(pair.paired for pair in comparison.pairs), sum(comparison.a.widths)
    if facts.run_a.number == facts.run_b.number:
        absences: Counter[str] = Counter(comparison.find_absence(pair) for pair in comparison.pairs if not pair.paired)
        parts = [f"{plural(count, 'topic was', 'topics were')} {word}"
                 for kind, word in (("pruned", "pruned"), ("new", "added")) if (count := absences[kind])]  # fmt: skip
        return " and ".join(parts) or f"all {n_topics:,} topics stay"
    found = "all" if n_paired == n_topics else f"{n_paired:,} of"
    alike = f", {format_percent(comparison.mean_score, 0)} alike on average" if n_paired else ""
    return f"{found} {n_topics:,} topics have a partner{alike}{cost}"


def _describe_perplexity(facts: LeadFacts) -> str:
    """Return the change of the perplexity as the end of a clause; empty if the runs cannot be compared by it."""
    if facts.estimates is None or not facts.estimates.a.lower_is_better:
        return ""
    if facts.run_a.number == facts.run_b.number or facts.run_a.corpus_name != facts.run_b.corpus_name:
        return ""
    return f", at {describe_cost(facts.estimates)} {facts.estimates.a.name}"


def find_largest_change(comparison: Comparison) -> Pair | None:
    """Return the pair of layer 1 that changed most and whose first title words all differ; None if there is none.

    The change is one minus the likeness, weighted by the larger share; light and background topics are left out.
    """
    if comparison.a.image_shape is not None or comparison.b.image_shape is not None:
        return None
    changed = [
        pair for pair in comparison.pairs if pair.layer == 1 and pair.paired and _has_new_title(comparison, pair)
    ]
    return max(changed, key=lambda pair: _weigh_change(comparison, pair), default=None)


def _weigh_change(comparison: Comparison, pair: Pair) -> float:
    if pair.a is None or pair.b is None:
        return 0.0
    return (1.0 - pair.score) * max(comparison.a.share(pair.a), comparison.b.share(pair.b))


def _has_new_title(comparison: Comparison, pair: Pair) -> bool:
    a, b = comparison.a, comparison.b
    if pair.a is None or pair.b is None or pair.a in a.light or pair.b in b.light:
        return False
    if BACKGROUND in (a.role(pair.a), b.role(pair.b)):
        return False
    return not set(a.title_words(pair.a)[:_FIRST_WORDS]) & set(b.title_words(pair.b)[:_FIRST_WORDS])


def _draw_change(comparison: Comparison, pair: Pair, end: str) -> str:
    """Return the change of a topic as a button: ``'opec' differs most: its partner in B, 'ec', is 31% alike``.

    Only a topic of the same run is said to be the same one.  The punctuation mark ``end`` is part of it, so that no
    line begins with the mark.
    """
    a, b = comparison.a, comparison.b
    if pair.a is None or pair.b is None:
        return ""
    before, now = (f"‘{shorten(side.title(node), LONGEST_TITLE)}’" for side, node in ((a, pair.a), (b, pair.b)))
    alike = f"{format_percent(pair.score, 0)} alike"
    text = f"{before} differs most: its partner in B, {now}, is {alike}"
    if a.run == b.run:
        text = f"{before} changed most: now {now}, {alike}"
    tip = f"“{a.title(pair.a)}” of A and “{b.title(pair.b)}” of B: show both"
    content = f"<span>{escape(text)}</span>{end}"
    return write_element("button", content, class_="cm-topic", data_do="select", data_side="b",
                         data_id=format_identity(pair.b), title=tip)  # fmt: skip


def describe_lines(changes: Sequence[EdgeChange]) -> str:
    """Return how many lines are new and how many are gone: ``11 lines are new, 4 are gone``."""
    counts = Counter(change.kind for change in changes)
    new, gone = counts["gained"], counts["lost"]
    if not changes:
        return ""
    if not new and not gone:
        return "all lines stay"
    clauses: list[str] = []
    for count, word in ((new, "new"), (gone, "gone")):
        if count:
            nouns = ("is", "are") if clauses else ("line is", "lines are")
            clauses.append(f"{plural(count, *nouns)} {word}")
    return ", ".join(clauses)
