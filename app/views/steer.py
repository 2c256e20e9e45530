"""The page on which visitors steer a run: words and acts of a topic, edits that wait, the journal, and suggestions."""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from topiary.app.analysis.hierarchy import Hierarchy, format_identity, parse_identity
from topiary.app.analysis.journal import JournalEntry
from topiary.app.jobs.edit_orders import EditOrder
from topiary.app.jobs.edit_previews import EditHints, EditPreview
from topiary.app.jobs.steering import MORE
from topiary.app.names import STEPS, format_signed, plural
from topiary.app.views.html import render
from topiary.app.views.text import format_percent, shorten, write_sentence
from topiary.engine.hierarchy.tree import Node
from topiary.engine.steering.edit import BAN, KEEP, MERGE, OUT, PLACE, SEED, SPLIT, STRENGTHS

if TYPE_CHECKING:
    from topiary.engine.steering.suggest import EditProposal

WORDS = 12  # words of a topic that can be edited where they stand
_ALIKE, _OFFERED = 0.6, 8  # likeness from which two topics are offered to be merged, and partners offered
_SUGGESTED = 4  # suggestions of a kind
_SAID = 3  # words that stand for a topic
_EFFECTS = {
    "weak": "the texts overrule it easily",
    "medium": "the texts can still overrule it",
    "strong": "the texts hardly overrule it",
}


class EditTrial(NamedTuple):
    """What came of trying an edit: what it would do, or why that is not known, or why it is refused."""

    preview: EditPreview | None = None
    note: str = ""
    is_refused: bool = False


class SeedSource(NamedTuple):
    """Documents from which a new topic is to be made: how many, the words that distinguish them, and their trial."""

    documents: int = 0
    words: tuple[str, ...] = ()
    trial: EditTrial = EditTrial()


class SteerContents(NamedTuple):
    """What the page shows.

    Attributes
    ----------
    hierarchy : Hierarchy
        Of the snapshot on screen.
    node : Node
        The topic whose words and acts are shown.
    journal : sequence of JournalEntry
        The edits of the run, oldest first.
    steers : collection of str
        The kinds of edits that the model makes; empty if it cannot be steered, for the reason in ``refusal``.
    refusal : str
    drafts : sequence of EditOrder
        Edits of this visitor that have not been applied.
    strength : str
        Of words in the drafts.
    is_ended : bool
        Whether the run trains on as a new run when edits are applied.
    moments : (int or None, int or None)
        Numbers of the snapshots before the last edit that was made, and after it; 0 is the newest one.
    pinned : int
        Number of the snapshot on screen; 0 is the newest one.
    step : str
        What the run calls a step.
    hints : EditHints or str or None
        What the topics of all tokens say of merges and splits, or why they say nothing; None until that is known.
    split : (Node, EditTrial or None) or None
        The topic whose halves are shown, or are sought as long as there is no trial.
    trials : mapping of tuple of str to EditTrial
        What the new topics among the drafts would be, by their words.
    seeds : SeedSource or None
        The documents from which a new topic is to be made, as soon as they are read.
    conditions : sequence of str
        The conditions that select these documents; none if it is made from typed words.
    """

    hierarchy: Hierarchy
    node: Node
    journal: Sequence[JournalEntry]
    steers: Collection[str]
    refusal: str = ""
    drafts: Sequence[EditOrder] = ()
    strength: str = "medium"
    is_ended: bool = False
    moments: tuple[int | None, int | None] = (None, None)
    pinned: int = 0
    step: str = "sweep"
    hints: EditHints | str | None = None
    split: tuple[Node, EditTrial | None] | None = None
    trials: Mapping[tuple[str, ...], EditTrial] = MappingProxyType({})
    seeds: SeedSource | None = None
    conditions: Sequence[str] = ()


class ProposedEdit(NamedTuple):
    """An edit that is proposed: a sentence, the topic to look at, and the kind, topic and words of the edit."""

    sentence: str
    node: Node | None
    kind: str
    other: Node | None = None
    word: str = ""

    @property
    def command(self) -> str:
        """The edit as it is written on the command line."""
        return " ".join(
            [self.kind, *(format_identity(node) for node in (self.node, self.other) if node), *self.word.split()]
        )


def draw_steering(contents: SteerContents) -> str:
    """Return the board at the side of the picture: the topic, what waits, the journal, suggestions and a new topic."""
    hierarchy, node, hints = contents.hierarchy, contents.node, contents.hints
    return render(
        "steer.board",
        contents,
        rows=_list_words(contents),
        partners=_list_partners(hierarchy, node, hints),
        measure=_describe_measure(hints),
        parents=hierarchy.nodes(node.layer + 1) if node.layer < hierarchy.n_layers else [],
        is_pinned=_is_pinned(contents),
        waiting=[(describe_draft(hierarchy, each), contents.trials.get(each.words)) for each in contents.drafts],
        journal=[_describe_entry(hierarchy, each) for each in reversed(contents.journal)],
        suggestions=suggest_edits(hierarchy, contents.steers, hints),
        apply=describe_apply(len(contents.drafts), contents.step, is_ended=contents.is_ended),
        strengths=[(name, name, _EFFECTS[name]) for name in STRENGTHS],
        effect=_EFFECTS[contents.strength],
    )


def draw_steer_head(contents: SteerContents) -> str:
    """Return the sentence above the picture: what the last edit that was made has changed."""
    made = next((each for each in reversed(contents.journal) if each.state == "applied" and each.step > 0), None)
    if made is None:
        return render("steer.head", contents, "", "")
    hierarchy = contents.hierarchy
    return render("steer.head", contents, describe_entry(hierarchy, made), describe_change(hierarchy, made))


def draw_steer_note(sentence: str) -> str:
    """Return the page with a sentence in place of everything else."""
    return render("steer.note", sentence)


def describe_change(hierarchy: Hierarchy, entry: JournalEntry) -> str:
    """Return a sentence about an edit that was made: how many topics it changed, and the perplexity around it."""
    changed, all_topics = len(entry.changed), hierarchy.widths[entry.layer - 1]
    said = f"{plural(changed, 'topic')} changed, {max(all_topics - changed, 0):,} did not"
    if entry.perplexity_before is None or entry.perplexity_after is None:
        return f"{said}."
    return f"{said}; perplexity {entry.perplexity_before:,.0f} to {entry.perplexity_after:,.0f}."


def describe_apply(n_drafts: int, step: str, *, is_ended: bool) -> str:
    """Return the word of the button that applies the edits."""
    if not n_drafts:
        return "Nothing to apply yet"
    more = f" and train {MORE} more {STEPS[step]}" if is_ended else ""
    return f"Apply {plural(n_drafts, 'edit')}{more}"


def describe_draft(hierarchy: Hierarchy, order: EditOrder) -> str:
    """Return what an edit asks for as a phrase with the titles of its topics."""
    words = ", ".join(order.words)
    titles = [_quote_title(hierarchy, node) for node in order.topics]
    match order.kind:
        case "seed":
            return f"New topic{f' {order.name}' if order.name else ''} from {words}"
        case "keep":
            return f"Keep {words} in {titles[0]}"
        case "out":
            return f"Keep {words} out of {titles[0]}"
        case "ban":
            return f"Ban {words} everywhere"
        case "merge":
            return f"Merge {titles[1]} into {titles[0]}"
        case "place":
            return f"Place {', '.join(titles[:-1])} under {titles[-1]}"
    return f"{order.kind.capitalize()} {titles[0]}"


def _quote_title(hierarchy: Hierarchy, node: Node) -> str:
    """Return the title of a topic in quotation marks, which tell its words from those of the sentence."""
    return f"“{shorten(hierarchy.title(node), 40)}”" if hierarchy.has(node) else format_identity(node)


def find_alike(hierarchy: Hierarchy, node: Node) -> list[tuple[Node, float]]:
    """Return the other topics of the layer with the cosine of their words to those of a topic, the most alike first."""
    projection = hierarchy.projections[node.layer - 1]
    lengths = np.sqrt(np.einsum("vk,vk->k", projection, projection))
    own = projection[:, hierarchy.place(node)]
    cosines = own @ projection / np.maximum(lengths * lengths[hierarchy.place(node)], 1e-300)
    others = [each for each in hierarchy.nodes(node.layer) if each != node]
    return sorted(((each, float(cosines[hierarchy.place(each)])) for each in others), key=lambda pair: -pair[1])


def suggest_edits(
    hierarchy: Hierarchy, steers: Collection[str], hints: EditHints | str | None = None
) -> list[ProposedEdit]:
    """Return edits worth a look: topics of layer 1 that say the same, or are two, and words that lead many.

    Merges and splits are judged by the likelihood if there are ``hints``; else merges by the cosine of words.
    """
    judged = hints if isinstance(hints, EditHints) else None
    found = []
    if MERGE in steers:
        merges = _list_alike(hierarchy) if judged is None else _list_same(hierarchy, judged)
        for stays, goes, why in merges[:_SUGGESTED]:
            sentence = f"Merge {_quote_title(hierarchy, stays)} and {_quote_title(hierarchy, goes)}: {why}."
            found.append(ProposedEdit(sentence, stays, MERGE, goes))
    if SPLIT in steers and judged is not None:
        for node in [*filter(hierarchy.has, judged.splits)][:_SUGGESTED]:
            halves = " | ".join(", ".join(half[:_SAID]) for half in judged.splits[node])
            sentence = f"Split {_quote_title(hierarchy, node)}: its documents form two groups, {halves}."
            found.append(ProposedEdit(sentence, node, SPLIT))
    if BAN in steers:
        for lead in _list_bans(hierarchy):
            word = hierarchy.vocabulary[lead.words[0]]
            sentence = f"Ban {word}: it is among the first words of {lead.score:.0f} topics of {hierarchy.widths[0]}."
            found.append(ProposedEdit(sentence, None, BAN, word=word))
    return found


@lru_cache(maxsize=4)
def _list_bans(hierarchy: Hierarchy) -> "list[EditProposal]":
    """Return the words to ban that are worth a look; finding them takes longer than drawing the page."""
    from topiary.engine.steering.suggest import find_bans  # loads kernels, which the other pages do without

    return find_bans(hierarchy.projections[0])[:_SUGGESTED]


def _list_same(hierarchy: Hierarchy, hints: EditHints) -> list[tuple[Node, Node, str]]:
    """Return pairs of topics that say the same by the likelihood of their words, and what a merge would change."""
    return [
        (a, b, f"as one topic, {format_signed(100 * measure_cost(change), 1)}% perplexity of their words")
        for a, b, change in hints.list_merges()
        if hierarchy.has(a) and hierarchy.has(b)
    ]


def _list_alike(hierarchy: Hierarchy) -> list[tuple[Node, Node, str]]:
    """Return pairs of topics of layer 1 whose words are nearly the same, and how alike they are."""
    pairs = {
        frozenset((node, other)): alike
        for node in hierarchy.nodes(1)
        for other, alike in find_alike(hierarchy, node)[:1]
        if alike >= _ALIKE
    }
    return [
        (*sorted(pair, key=hierarchy.rank), f"their words are {format_percent(alike)} alike")  # type: ignore[misc]
        for pair, alike in sorted(pairs.items(), key=lambda each: -each[1])
    ]


def measure_cost(change: float) -> float:
    """Return by which share a change in log-likelihood per token raises perplexity.

    >>> round(measure_cost(-0.02), 4)
    0.0202
    """
    return float(np.expm1(-change))


def _list_partners(hierarchy: Hierarchy, node: Node, hints: EditHints | str | None) -> list[tuple[Node, str]]:
    """Return topics with which one could be merged, the best first, each with what speaks for it."""
    if isinstance(hints, EditHints) and (judged := hints.find_partners(node)):
        partners = [
            (other, f"{format_signed(100 * measure_cost(change), 1)}% perplexity")
            for other, change in judged
            if hierarchy.has(other)
        ]
    else:
        partners = [(other, f"{format_percent(alike)} alike") for other, alike in find_alike(hierarchy, node)]
    return partners[:_OFFERED]


def _describe_measure(hints: EditHints | str | None) -> str:
    """Return by what merges are ordered, in a sentence."""
    if isinstance(hints, EditHints):
        return f"In layer 1 by the likelihood of all words at {hints.moment}, in other layers by the likeness of words."
    return f"By the likeness of words. {write_sentence(hints)}" if hints else "By the likeness of words so far."


def _list_words(contents: SteerContents) -> list[SimpleNamespace]:
    """Return the first words of the topic, and those kept in it or out of it, each with its state."""
    hierarchy, node = contents.hierarchy, contents.node
    states = _find_states(contents)
    words = hierarchy.top_words(node, WORDS)
    largest = max((word.weight for word in words), default=1.0)
    rows = [
        SimpleNamespace(text=word.text, part=word.weight / largest, state=states.pop(word.text, ("", "")))
        for word in words
    ]
    return rows + [SimpleNamespace(text=text, part=0.0, state=state) for text, state in states.items()]


_WORDS_OF_STATES = {KEEP: "kept", OUT: "not here", BAN: "banned"}


def _find_states(contents: SteerContents) -> dict[str, tuple[str, str]]:
    """Return the last edit of each word for this topic as ``(kind, word for it)``; drafts end in " …"."""
    identity = format_identity(contents.node)
    states: dict[str, tuple[str, str]] = {}
    for entry in contents.journal:
        if entry.state in ("applied", "waiting") and (entry.kind == BAN or identity in entry.topics):
            if entry.kind in _WORDS_OF_STATES:
                states |= dict.fromkeys(entry.words, (entry.kind, _WORDS_OF_STATES[entry.kind]))
        elif entry.state == "applied" and entry.kind == SEED and entry.topic == identity:
            states |= dict.fromkeys(entry.words, (KEEP, "kept"))
    for order in contents.drafts:
        if order.kind in _WORDS_OF_STATES and (order.kind == BAN or contents.node in order.topics):
            states |= dict.fromkeys(order.words, (order.kind, f"{_WORDS_OF_STATES[order.kind]} …"))
    return states


def _is_pinned(contents: SteerContents) -> bool:
    """Return whether the last edit that pinned or unpinned the topic pinned it."""
    identity = format_identity(contents.node)
    kinds = [each.kind for each in contents.journal if each.state == "applied" and identity in each.topics[:1]]
    return next((kind for kind in reversed(kinds) if kind in ("pin", "unpin")), "") == "pin"


def describe_entry(hierarchy: Hierarchy, entry: JournalEntry) -> str:
    """Return what an edit of the journal asks for, with the titles of its topics where all are in the snapshot."""
    nodes = [node for text in entry.topics if (node := parse_identity(text)) is not None and hierarchy.has(node)]
    if len(nodes) < len(entry.topics):
        return entry.what
    order = EditOrder(entry.kind, tuple(nodes), entry.words, entry.strength, entry.name)
    return describe_draft(hierarchy, order)


def _describe_entry(hierarchy: Hierarchy, entry: JournalEntry) -> SimpleNamespace:
    """Return what the journal says of an edit."""
    when = "" if entry.state == "waiting" or entry.step < 0 else f"{entry.step:,}"
    return SimpleNamespace(
        number=entry.number,
        what=describe_entry(hierarchy, entry),
        state=entry.state,
        when=when,
        strength=entry.strength if entry.kind in (KEEP, SEED) else "",
        author=entry.author,
        result=entry.result,
        can_undo=entry.state in ("waiting", "applied") and entry.step >= 0,
        topic=entry.topic,
        is_placed=entry.kind == PLACE,
    )
