"""The first sentence of the page Compare: what differs between the two runs."""

from collections import Counter
from typing import NamedTuple

from topiary.app.analysis.comparison import Comparison
from topiary.app.analysis.seeds import EstimatePair
from topiary.app.jobs.plan import STEPS, name_step
from topiary.app.names import name_inference, name_model, plural
from topiary.app.views.compare.labels import LabelAccuracy, describe_cost
from topiary.app.views.run_facts import RunFacts, format_estimate
from topiary.app.views.runs.new_run_form import describe_setting, format_value
from topiary.app.views.text import escape, format_percent, write_title

_TIP = "A is run {a.run} at {a.moment}, B run {b.run} at {b.moment}; the figures are explained below"


class LeadFacts(NamedTuple):
    """What the sentence is about.

    Attributes
    ----------
    accuracies : pair of LabelAccuracy or None
        How well the topics of A and of B predict labels.
    estimates : EstimatePair or None
        How well both predict held-out words; None if it is not known of the snapshots on screen.
    """

    comparison: Comparison
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
    """Return the sentence as HTML: what distinguishes B from A, and what came of it."""
    opening, result = find_opening(facts), describe_result(facts)
    comma = "," if result[0].isdecimal() else ""  # two numbers would run together: "After 300 more sweeps, 40 topics"
    tip = write_title(_TIP.format(a=facts.comparison.a, b=facts.comparison.b))
    return f'<p class="cm-say"{tip}>{escape(f"{opening}{comma} {result}.")}</p>'


def describe_yardsticks(facts: LeadFacts) -> list[str]:
    """Return with what the figures of the sentence are to be compared, and the perplexities of both runs."""
    known = [each for each in facts.accuracies if each is not None]
    parts = []
    if known and known[0].commonest is not None:
        parts.append(f"The commonest class alone: {format_percent(known[0].commonest, 0)}")
    estimates = facts.estimates
    if estimates is not None:
        values = f"{format_estimate(estimates.a)} in A, {format_estimate(estimates.b)} in B"
        parts.append(f"{estimates.a.name} {values}")
    return parts


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
        return f"the topics name the right label for {right[0]} of {accuracy_b.part} documents, A for {right[1]}{cost}"
    if learns == (False, True) and accuracy_b is not None:
        right_b = format_percent(accuracy_b.right, 0)
        return f"the topics name the right label for {right_b} of {accuracy_b.part} documents{cost}"
    if learns == (True, False) and accuracy_a is not None:
        return f"the topics name no labels, A the right one for {format_percent(accuracy_a.right, 0)}{cost}"
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
    """Return the change of the perplexity as a clause; empty if the runs cannot be compared by it."""
    if facts.estimates is None or not facts.estimates.a.lower_is_better:
        return ""
    if facts.run_a.number == facts.run_b.number or facts.run_a.corpus_name != facts.run_b.corpus_name:
        return ""
    return f"; {facts.estimates.a.name} is {describe_cost(facts.estimates)}"
