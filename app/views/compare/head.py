"""The top of the page Compare: the two runs with their settings and coherence, and what it says first.

That is the sentence on what differs, the largest topics with their partners, and one pair.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import NamedTuple

from topiary.app.analysis.comparison import SHOWN_WORDS, SIDES, Comparison, Pair, Side, get_other_side
from topiary.app.analysis.hierarchy import BACKGROUND, Hierarchy, format_identity, measure_coherence
from topiary.app.analysis.seeds import EstimatePair, SeedSpread, get_layer_value
from topiary.app.analysis.topic_images import draw_atom_uri
from topiary.app.jobs.estimates import KINDS, describe_estimate, list_estimates
from topiary.app.names import STEPS, format_signed, name_inference, name_model, name_step, plural
from topiary.app.views.compare.labels import LabelAccuracy, describe_cost
from topiary.app.views.compare.table import describe_absence, describe_likeness, format_margin, format_share_change
from topiary.app.views.compare.trees import ABSENT, find_overlay
from topiary.app.views.explore.controls import SnapshotOption, draw_threshold_slider
from topiary.app.views.html import render
from topiary.app.views.markup import draw_title, list_run_entries, mark_edited, write_element
from topiary.app.views.runs.new_run_form import SettingText, describe_setting, format_value
from topiary.app.views.text import escape, format_estimate, format_percent, format_span, shorten, write_title
from topiary.engine.hierarchy.tree import Node
from topiary.engine.quality.measures import Coherence
from topiary.store.run_rows import RunRow

SAVES = (
    ("svg", "Trees (SVG)"),
    ("png", "Trees (PNG)"),
    ("topics.csv", "Topics (CSV)"),
    ("edges.csv", "Edges (CSV)"),
    ("json", "Everything (JSON)"),
)
_TIP = "A is run {a.run} at {a.moment}, B run {b.run} at {b.moment}; the figures are explained below"
_MOST_PARTNERS = 12  # candidates listed as partners, the best first
NOTHING = '<p class="ex-none">Choose a topic in the table or in one of the trees.</p>'
TOPICS = 6  # of A
_WORDS = 7  # of each topic
_TINT = 26  # percent of the colour of a class behind the topic that speaks most for or against it
_STRIP_TIP = "The topics of layer 1 with the largest shares in A, each above the topic of B that is nearest to it"


class ComparedRun(NamedTuple):
    """One side of a comparison: its run (or None), its snapshots, oldest first, and the chosen one (0 = live).

    ``live`` is the mini-batch of the newest topics, None if it is not known.
    """

    run: RunRow | None
    moments: Sequence[SnapshotOption]
    pinned: int
    live: int | None


class HeadFacts(NamedTuple):
    """What the top of the page says, and what its menu has chosen.

    Attributes
    ----------
    sentence : str
        The sentence that answers, as HTML.
    yardsticks : sequence of str
        With what its figures are to be compared.
    doubt : (str, str, str)
        From `describe_doubt`.
    chooser : str
        The choice of a class, as HTML.
    n_layers, layer : int
        Layers that have parents, and that whose topics are looked at for other parents.
    whole, rooted : bool
        Whether everything is shown, and whether roots were chosen by hand.
    """

    threshold: float
    sentence: str = ""
    yardsticks: Sequence[str] = ()
    doubt: tuple[str, str, str] = ("", "", "")
    chooser: str = ""
    n_layers: int = 0
    layer: int = 0
    whole: bool = False
    rooted: bool = False


def draw_head(a: ComparedRun, b: ComparedRun, everyone: Sequence[RunRow], facts: HeadFacts, *, ready: bool) -> str:
    """Return the sentence and the row of choices; it offers files to save if ``ready``: if there is a comparison."""
    ends = [_describe_end(side, compared, everyone) for side, compared in (("a", a), ("b", b))]
    saves = (("", "Save"), *SAVES) if ready else ()
    layers = [(layer, f"Parents of layer {layer}") for layer in range(facts.n_layers, 0, -1)]
    return render("compare.head", ends, facts, layers, draw_threshold_slider(facts.threshold), saves)


def draw_status(sentence: str, *, busy: bool) -> str:
    """Return the sentence about work in progress or an error, for screen readers too."""
    return render("compare.status", sentence, busy)


def _describe_end(side: str, compared: ComparedRun, everyone: Sequence[RunRow]) -> SimpleNamespace:
    """Return the choices of a run and of its snapshot on one side."""
    runs: list[tuple[object, str]] = [*list_run_entries(everyone)]
    chosen = next((row.number for row in everyone if compared.run and row.number == compared.run.number), "")
    if not chosen:
        runs.insert(0, ("", "Choose a run"))
    newest = "Latest" if compared.live is None else f"Latest · {compared.live:,}"
    older = ((snapshot.number, f"Mini-batch {snapshot.minibatch:,}") for snapshot in reversed(compared.moments))
    return SimpleNamespace(
        side=side,
        hint="what it is compared with" if side == "a" else "what is looked at",
        runs=runs,
        run=chosen,
        snapshots=[(0, newest), *older],
        pinned=compared.pinned,
    )


_NAMED = 4  # settings that differ, named while the table is folded
Latest = Mapping[str, float | None]
_NO_VALUES: tuple[Latest, Latest] = ({}, {})


class SettingPair(NamedTuple):
    """One setting of both runs; "–" for a run without such a setting."""

    name: str
    a: str
    b: str
    report: SettingText

    @property
    def same(self) -> bool:
        """True if both runs have the same value."""
        return self.a == self.b


def pair_settings(a: RunRow, b: RunRow, latest: tuple[Latest, Latest] = _NO_VALUES) -> list[SettingPair]:
    """Return every setting of either run, model and inference first.

    ``latest`` holds the newest curve values of each run, as `app.jobs.estimates` reads them.
    """
    facts_a, facts_b = _list_facts(a, latest[0]), _list_facts(b, latest[1])
    return [
        SettingPair(name, facts_a.get(name, "–"), facts_b.get(name, "–"), _describe_setting(a, b, name))
        for name in dict.fromkeys((*facts_a, *facts_b))
    ]


def draw_settings(a: RunRow, b: RunRow, latest: tuple[Latest, Latest] = _NO_VALUES, *, identical: bool) -> str:
    """Return the table of settings, and a button that shows or hides those that do not differ.

    Parameters
    ----------
    latest : pair of mappings
        As in `pair_settings`.
    identical : bool
        Whether settings that do not differ are shown.
    """
    pairs = pair_settings(a, b, latest)
    visible = [pair for pair in pairs if identical or not pair.same]
    hidden = sum(pair.same for pair in pairs)
    return render("compare.settings", a.number, b.number, visible, hidden, identical, _name_differences(pairs))


def _name_differences(pairs: Sequence[SettingPair]) -> str:
    """Return how many settings differ, and the names of the first; what came of them is left out."""
    names = [pair.report.label for pair in pairs if not pair.same and pair.name not in (*KINDS, "training time")]
    if not names:
        return "none differs"
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{len(names)} {'differs' if len(names) == 1 else 'differ'}: {', '.join(names[:_NAMED])}{more}"


def _describe_setting(a: RunRow, b: RunRow, name: str) -> SettingText:
    if name in a.settings or name in b.settings:
        return describe_setting((a if name in a.settings else b).model, name)
    if name not in KINDS:
        return SettingText(name.capitalize(), "")
    meaning_a, meaning_b = describe_estimate(a, KINDS[name]), describe_estimate(b, KINDS[name])
    return SettingText(
        name.capitalize(), f"{meaning_a}." if meaning_a == meaning_b else f"A: {meaning_a}. B: {meaning_b}."
    )


def _list_facts(run: RunRow, latest: Latest) -> dict[str, str]:
    facts = {
        "corpus": run.corpus_name,
        "model": name_model(run.model),
        "inference": name_inference(run.model, run.inference) or "the usual one",
        "layers": "-".join(map(str, run.layers)),
        "seed": str(run.seed),
        STEPS[name_step(run)]: f"{run.minibatch:,} of {run.planned:,}",
        "training time": format_span(run.seconds),
    }
    facts |= {each.name: format_estimate(each) for each in list_estimates(run, latest)}
    values = {name: format_value(value) for name, value in run.settings.items() if name not in ("layers", "inference")}
    return facts | values


_OptionalCoherence = Coherence | None
_COLUMNS: tuple[tuple[str, str, Callable[[Coherence], float]], ...] = (
    (
        "NPMI",
        "How often the first ten words of a topic meet in training documents: 1 always, 0 as by chance, -1 never; "
        "mean over the live topics",
        lambda each: each.mean_npmi,
    ),
    ("Worst tenth", "NPMI of the tenth of the live topics where it is lowest", lambda each: each.worst_tenth),
    (
        "Diversity",
        "Distinct words among the first ten of the live topics: 1 when no two topics share a word",
        lambda each: each.diversity,
    ),
)


def draw_coherence(comparison: Comparison, spread: SeedSpread | None = None) -> str:
    """Return the coherence of both runs as a table, the top layer first; empty if neither snapshot has any.

    The better figure is bold if the two differ by more than two seeds of one model do (``spread``); without a second
    seed, no figure is bold.
    """
    a, b = measure_coherence(comparison.a), measure_coherence(comparison.b)
    depth = max(len(a), len(b))
    if not depth:
        return ""
    rows = [
        (
            layer,
            _list_figures(get_layer_value(a, layer - 1), get_layer_value(b, layer - 1), _find_seed_gaps(spread, layer)),
        )
        for layer in range(depth, 0, -1)
    ]
    same = comparison.a.corpus == comparison.b.corpus
    sentence = ("" if spread is None else _BOLD) if same else "The two corpora differ: these figures do not compare."
    return render("compare.coherence", _COLUMNS, rows, sentence)


_OF_RUN = "Of the live topics of the layer; the head of the column says what"
_BOLD = "Bold: better by more than two seeds of one model differ."


def _find_seed_gaps(spread: SeedSpread | None, layer: int) -> tuple[float, ...]:
    """Return the largest difference between two seeds for each column; infinite if it is not known."""
    if spread is None or layer > len(spread.gaps):
        return (math.inf,) * len(_COLUMNS)
    return tuple(gap if math.isfinite(gap) else math.inf for gap in spread.gaps[layer - 1])


def _list_figures(a: _OptionalCoherence, b: _OptionalCoherence, gaps: tuple[float, ...]) -> list[tuple[str, bool, str]]:
    """Return the figures of a layer, A and B in turn: as text, whether it is the better one, and what it is."""
    figures = []
    for (_, _, figure), gap in zip(_COLUMNS, gaps, strict=True):
        values = [math.nan if each is None else figure(each) for each in (a, b)]
        best = max((value for value in values if math.isfinite(value)), default=math.nan)
        tied = f"{values[0]:.3f}" == f"{values[1]:.3f}" or not abs(values[0] - values[1]) > gap
        tip = _OF_RUN if math.isinf(gap) else f"{_OF_RUN}; two seeds of one model differ by up to {gap:.3f}"
        for value in values:
            text = f"{value:.3f}".replace("-", "−") if math.isfinite(value) else ""
            figures.append((text, value == best and not tied, tip))
    return figures


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
    run_a: RunRow
    run_b: RunRow
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


def _join_widths(run: RunRow) -> str:
    return "-".join(map(str, run.layers))


def _find_setting(a: RunRow, b: RunRow) -> str:
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


def _find_course(a: RunRow, b: RunRow) -> str:
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
        right_a = format_percent(accuracy_a.right, 0)
        return f"B names none, where A names the right one for {right_a} of {accuracy_a.part} documents{cost}"
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


def draw_pair(comparison: Comparison, pair: Pair, *, one_run: bool, drawn: bool = True) -> str:
    """Return the panel about a pair.

    Parameters
    ----------
    one_run : bool
        Whether both sides are the same run: then topics are paired by number, and no other partner can be chosen.
    drawn : bool
        Whether the trees show the pair.
    """
    shown: Side = "b" if pair.b is not None else "a"
    offered = None if drawn else SimpleNamespace(side=shown, key=format_identity(pair.on(shown) or Node(0, 0)))
    return render(
        "compare.pair", pair, "-".join(format_identity(node) for node in (pair.a, pair.b) if node),
        _describe_pair(comparison, pair), offered, [_describe_side(comparison, pair, side) for side in SIDES],
        _describe_facts(comparison, pair), None if one_run else _list_partners(comparison, pair),
    )  # fmt: skip


def _describe_pair(comparison: Comparison, pair: Pair) -> str:
    likeness = describe_likeness(comparison, pair)
    if pair.paired:
        doubt = " · another partner would fit about as well" if pair.margin < 0.02 and not pair.fixed else ""
        return f"{likeness} · margin {format_margin(pair)}{doubt}"
    decided = " · decided by hand" if pair.fixed and not comparison.find_absence(pair) else ""
    return f"of {'A' if pair.b is None else 'B'} · {likeness}{decided}"


def _describe_side(comparison: Comparison, pair: Pair, side: Side) -> SimpleNamespace:
    """Return the topic of one side with its words, or why there is none."""
    node, hierarchy = pair.on(side), comparison.hierarchy(side)
    absence = describe_absence(comparison, pair) if node is None else ""
    words = [] if node is None or hierarchy.has_pictures else hierarchy.top_words(node, SHOWN_WORDS)
    heaviest = max((word.weight for word in words), default=0.0) or 1.0
    change = comparison.words(pair)
    changed = change.left if side == "a" else change.entered
    rows = [(word.text, 100 * word.weight / heaviest, word.text in changed) for word in words]
    return SimpleNamespace(side=side, hierarchy=hierarchy, node=node, absence=absence, words=rows)


def _describe_facts(comparison: Comparison, pair: Pair) -> SimpleNamespace:
    """Return the ranks, the change of the share, and the heaviest parents of both, which may be partners."""
    facts = SimpleNamespace(ranks="", share=format_share_change(comparison.compute_share_change(pair)), parents=())
    if pair.a is None or pair.b is None:
        return facts
    ranks = comparison.a.rank(pair.a), comparison.b.rank(pair.b)
    facts.ranks = f"{ranks[0]} → {ranks[1]}" if ranks[0] != ranks[1] else f"{ranks[0]} in both"
    parents = [
        (hierarchy, relative.node) if (relative := next(iter(hierarchy.parents(node, 1)), None)) is not None else None
        for hierarchy, node in ((comparison.a, pair.a), (comparison.b, pair.b))
    ]
    if any(parents):
        a, b = (None if each is None else each[1] for each in parents)
        facts.parents, facts.is_same = parents, a is not None and comparison.partner("a", a) == b
    return facts


def _list_partners(comparison: Comparison, pair: Pair) -> SimpleNamespace | None:
    """Return the choice of another partner for the topic of B (of A, if there is none in B)."""
    side: Side = "b" if pair.b is not None else "a"
    node, other_side = pair.on(side), get_other_side(side)
    if node is None:
        return None
    other, partner = comparison.hierarchy(other_side), pair.on(other_side)
    entries = [("none", "No partner")]
    for rank, topic in enumerate(comparison.list_candidates(side, node)):
        if rank < _MOST_PARTNERS or topic.node == partner:
            alike = f"{format_percent(topic.score, 0)} alike"
            title = f"{format_identity(topic.node)} · {alike} · {other.title(topic.node)}"
            entries.append((format_identity(topic.node), title))
    chosen = format_identity(partner) if partner is not None else "none"
    label = f"Partner in {other_side.upper()}"
    return SimpleNamespace(side=side, key=format_identity(node), label=label, entries=entries, chosen=chosen)


def choose_largest(comparison: Comparison) -> list[Pair]:
    """Return the pairs of the largest topics of layer 1 of A, without light and background ones if there are others."""
    nodes = comparison.a.nodes(1)
    live = [node for node in nodes if node not in comparison.a.light and comparison.a.role(node) != BACKGROUND]
    pairs = (comparison.pair("a", node) for node in (live or nodes)[:TOPICS])
    return [pair for pair in pairs if pair is not None]


def draw_strip(comparison: Comparison, label: int, chosen: Pair | None = None) -> str:
    """Return the strip as HTML: a card for each pair, A above B, with how alike they are and the words that differ.

    Parameters
    ----------
    label : int
        Number of the class whose weights tint the topics, as in `find_overlay`.
    chosen : Pair, optional
        The pair that is selected.
    """
    cards = "".join(_draw_card(comparison, pair, label, chosen=pair == chosen) for pair in choose_largest(comparison))
    overlay = find_overlay(comparison, "b", label) or find_overlay(comparison, "a", label)
    tint = ""
    if overlay is not None:
        name = escape(shorten(overlay.name, 40))
        tint = f' · <i class="cm-swatch cm-for"></i>speaks for {name} <i class="cm-swatch cm-against"></i>against it'
    words = "" if comparison.b.has_pictures else " · <ins>entered</ins> <del>left</del>"
    title = write_element("h2", "The largest topics and their nearest partner", class_="tp-h2", title=_STRIP_TIP)
    meaning = write_title("Topics of layer 1 with a partner in the other run, and the median cosine", comparison.b)
    note = f'<span class="tp-dim"{meaning}>{_describe_pairing(comparison)}{words}{tint}</span>'
    return (
        f'<section class="cm-strip"><div class="cm-strip-head">{title}{note}</div>'
        f'<ol class="cm-cards" data-rove>{cards}</ol></section>'
    )


def _describe_pairing(comparison: Comparison) -> str:
    """Return how many topics of layer 1 have a partner, and how alike half of the pairs are at most."""
    pairs = [pair for pair in comparison.pairs if pair.layer == 1]
    scores = sorted(pair.score for pair in pairs if pair.paired)
    if not scores:
        return "layer 1 · no topic has a partner"
    found = f"all {len(pairs):,}" if len(scores) == len(pairs) else f"{len(scores):,} of {len(pairs):,}"
    median = format_percent(scores[len(scores) // 2], 0)
    return f"layer 1 · {found} are paired, half of them under {median} alike"


def _draw_card(comparison: Comparison, pair: Pair, label: int, *, chosen: bool) -> str:
    side: Side = "a" if pair.b is None else "b"
    halves = [_draw_half(comparison, pair, each, label) for each in SIDES]
    alike = '<span class="cm-alike"></span>'
    if pair.paired:
        part, text = f"{100 * pair.score:.0f}%", describe_likeness(comparison, pair)
        alike = f'<span class="cm-alike" style="--part:{part}"><i></i>{text}</span>'
    button = write_element("button", alike.join(halves), data_do="select", data_side=side,
                           data_id=format_identity(pair.on(side) or Node(0, 0)),
                           aria_pressed=str(chosen).lower())  # fmt: skip
    return f"<li>{button}</li>"


def _draw_half(comparison: Comparison, pair: Pair, side: Side, label: int) -> str:
    node, hierarchy = pair.on(side), comparison.hierarchy(side)
    if node is None:
        absence = write_element("span", ABSENT[comparison.find_absence(pair)], class_="cm-none")
        return write_element("span", absence, class_="cm-half", title=describe_absence(comparison, pair))
    share = format_percent(hierarchy.share(node))
    overlay = find_overlay(comparison, side, label)
    tint, tip = None, f"Topic {format_identity(node)} of {side.upper()}, {share} of the words of layer 1"
    if overlay is not None:
        colour = "speaks" if overlay.weight(node) > 0 else "denies"
        tint = f"background:color-mix(in oklab,var(--tp-{colour}) {_TINT * abs(overlay.part(node)):.0f}%,transparent)"
        tip += f"; {overlay.words(node)}"
    content = f"{_draw_content(comparison, pair, side, share)}{_name_class(hierarchy, node)}"
    return write_element("span", content, class_="cm-half", title=tip, style=tint)


def _draw_content(comparison: Comparison, pair: Pair, side: Side, share: str) -> str:
    """Return the title of a topic with its share, and its words, or its picture with the name if it has one."""
    node, hierarchy = pair.on(side) or Node(0, 0), comparison.hierarchy(side)
    shown = hierarchy.name(node) if hierarchy.has_pictures else hierarchy.title(node)
    title = f"{draw_title(shown or '')}{mark_edited(hierarchy, node)}"
    name = f'<span class="cm-strip-top"><strong>{title}</strong><small>{share}</small></span>'
    if hierarchy.has_pictures:
        return f'{name}<img src="{draw_atom_uri(hierarchy, node)}" alt="picture of topic {format_identity(node)}">'
    change = comparison.words(pair)
    marked, tag = (change.left, "del") if side == "a" else (change.entered, "ins")
    words = " ".join(
        f"<{tag}>{written}</{tag}>" if word.text in marked else f"<span>{written}</span>"
        for word in hierarchy.top_words(node, _WORDS)
        for written in [escape(shorten(word.text, 18))]
    )
    return f'{name}<span class="cm-strip-words">{words}</span>'


def _name_class(hierarchy: Hierarchy, node: Node) -> str:
    """Return the class for which a topic speaks most; empty if it speaks for none."""
    opinions = [hierarchy.opinion(node, label) for label in range(len(hierarchy.classes))]
    most = max(opinions, default=0.0)
    if most <= 0.0:
        return ""
    name = hierarchy.classes[opinions.index(most)]
    tip = f"The class for which the topic speaks most: {name} ({format_signed(most)})"
    return write_element("em", escape(shorten(name, 22)), title=tip)
