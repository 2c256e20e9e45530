"""Edits of topics as users ask for them: how each is written, its check, and phrases about it and its result."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from topiary.app.jobs.records import load_model
from topiary.app.jobs.run_rules import collect_row_facts
from topiary.app.jobs.topic_guide import LEAST_WORDS, TopicGuide
from topiary.app.names import name_model, plural
from topiary.engine import models
from topiary.engine.contract import Facts
from topiary.engine.hierarchy.tree import Node
from topiary.engine.steering.edit import (
    BAN,
    KEEP,
    KINDS,
    MERGE,
    OUT,
    PIN,
    PLACE,
    REMOVE,
    SEED,
    SPLIT,
    STRENGTHS,
    UNPIN,
    EditRefused,
    check_layer,
)
from topiary.store import corpora, edits
from topiary.store.database import Database
from topiary.store.edits import APPLIED, CHOSEN, REFUSED, WAITING, EditRow, NewEdit
from topiary.store.run_rows import RunRow

FIRST = 20  # steps before the topics of a guide are made: before, no topic has found its words
LEAST_LIKE = 0.7  # likeness, of 1, from which a word of the vocabulary is near another one


class EditForm(NamedTuple):
    """How an edit is written: the numbers of its topics and of its words (at least), an example, and its meaning."""

    topics: int
    words: int
    example: str
    meaning: str


FORMS: Mapping[str, EditForm] = {
    SEED: EditForm(0, LEAST_WORDS, "seed tsunami aid", "make a new topic from words"),
    KEEP: EditForm(1, 1, "keep L1:3 tsunami", "keep words in a topic"),
    OUT: EditForm(1, 1, "out L1:3 year", "keep words out of a topic"),
    BAN: EditForm(0, 1, "ban year", "keep words out of all topics"),
    PIN: EditForm(1, 0, "pin L1:3", "keep a topic as it is"),
    UNPIN: EditForm(1, 0, "unpin L1:3", "let it move again"),
    MERGE: EditForm(2, 0, "merge L1:3 L1:8", "move the words of the second topic into the first"),
    SPLIT: EditForm(1, 0, "split L1:3", "make two topics of one"),
    REMOVE: EditForm(1, 0, "remove L1:3", "give the words of a topic to the others"),
    PLACE: EditForm(2, 0, "place L1:3 L2:1", "put a topic below one of the layer above"),
}


class EditOrder(NamedTuple):
    """An edit as a user asks for it; ``name`` is that of a new topic, which is made in layer 1."""

    kind: str
    topics: tuple[Node, ...] = ()
    words: tuple[str, ...] = ()
    strength: str = "medium"
    name: str = ""


def check_order(order: EditOrder, numbers: Mapping[str, int]) -> NewEdit:
    """Return an edit for the journal, given the numbers of the words of the corpus (:func:`number_words`)."""
    if order.kind not in FORMS:
        raise EditRefused(f"there is no edit {order.kind!r}; there are {', '.join(KINDS)}")
    form, layers = FORMS[order.kind], [node.layer for node in order.topics]
    fits = len(order.topics) == form.topics and (len(order.words) >= form.words if form.words else not order.words)
    if not fits:
        given = f"{plural(len(order.topics), 'topic')} and {plural(len(order.words), 'word')}"
        raise EditRefused(f"an edit to {form.meaning} is written like {form.example!r}; got {given}")
    if order.kind == PLACE and layers[1] != layers[0] + 1:
        raise EditRefused(
            f"a topic of layer {layers[0]} is placed below one of layer {layers[0] + 1}, as in {form.example!r}"
        )
    if order.kind == MERGE and (layers[0] != layers[1] or order.topics[0] == order.topics[1]):
        raise EditRefused(f"two different topics of one layer are merged, as in {form.example!r}")
    layer = layers[0] if layers else 1
    check_layer(order.kind, layer)
    if order.strength not in STRENGTHS:
        raise EditRefused(f"the strength of an edit is {', '.join(STRENGTHS)}; got {order.strength!r}")
    words = find_words(order.words, numbers)
    if len(words) < form.words:
        raise EditRefused(f"an edit to {form.meaning} needs {form.words} different words, as in {form.example!r}")
    topics = tuple(node.column + 1 for node in order.topics)
    return NewEdit(order.kind, layer, topics, words, order.strength, order.name.strip())


def number_words(vocabulary: Sequence[str]) -> dict[str, int]:
    """Return the numbers of the words of a vocabulary, also by their small letters where these are no other word."""
    small = {word.casefold(): number for number, word in enumerate(vocabulary)}
    return small | {word: number for number, word in enumerate(vocabulary)}


def find_words(words: Iterable[str], numbers: Mapping[str, int]) -> tuple[int, ...]:
    """Return the numbers of words, each once; refuse unknown ones with the words that are near them."""
    typed = {word: numbers.get(word, numbers.get(word.casefold())) for word in dict.fromkeys(words)}
    if unknown := [word for word, number in typed.items() if number is None]:
        raise EditRefused(f"the corpus has no {' and no '.join(_suggest_words(word, numbers) for word in unknown)}")
    return tuple(dict.fromkeys(number for number in typed.values() if number is not None))


def _suggest_words(word: str, numbers: Mapping[str, int]) -> str:
    """Return an unknown word with the words that are near it."""
    near = get_close_matches(word.casefold(), numbers, n=3, cutoff=LEAST_LIKE)
    return f"{word!r}" + (f" (near it are {', '.join(near)})" if near else " (nor a word near it)")


def check_steerable(db: Database, row: RunRow, kinds: Iterable[str]) -> None:
    """Refuse edits of a run whose model, or whose place, cannot make them."""
    corpus = corpora.get_run_corpus(db, row)
    if on := row.options.get("on"):
        raise EditRefused(
            f"the documents of run {row.number} are swept by {on}, and edits are made by the processor here; "
            "fork the run without a place, and edit the fork"
        )
    module, config = load_model(row)
    check_model(row.model, module.build(config, facts := collect_row_facts(corpus)).steers, facts, kinds)


def list_steerable(db: Database, row: RunRow) -> tuple[frozenset[str], str]:
    """Return the kinds of edits that a run can make; without any, also the sentence that says why."""
    try:
        check_steerable(db, row, ())
    except EditRefused as error:
        return frozenset(), str(error)
    module, config = load_model(row)
    return module.build(config, collect_row_facts(corpora.get_run_corpus(db, row))).steers, ""


def check_model(model: str, steers: frozenset[str], facts: Facts, kinds: Iterable[str]) -> None:
    """Refuse kinds of edits that a model, which can make those of ``steers``, cannot make."""
    if not steers:
        able = [name_model(name) for name in models.list_names() if _can_be_steered(name, facts)]
        raise EditRefused(f"{name_model(model)} cannot be steered as this run trains it; {', '.join(able)} can")
    if missing := [kind for kind in kinds if kind in KINDS and kind not in steers]:
        able = [kind for kind in KINDS if kind in steers]
        raise EditRefused(
            f"{name_model(model)} as this run trains it knows no edit {missing[0]!r}; it knows {', '.join(able)}"
        )


def _can_be_steered(model: str, facts: Facts) -> bool:
    module = models.load(model)
    try:
        return bool(module.build(module.Config(), facts).steers)
    except ValueError:  # not on such a corpus
        return False


def find_edit(journal: Sequence[EditRow], run: int, number: int) -> EditRow:
    """Return an edit of a journal; raise NotFound if there is none with this number."""
    for each in journal:
        if each.edit == number:
            return each
    raise edits.make_missing_edit(run, number)


def describe_edit(row: EditRow, vocabulary: Sequence[str]) -> str:
    """Return what an edit asks for as a phrase: ``keep tsunami, aid in L1:3``."""
    words = ", ".join(vocabulary[word] for word in row.words)
    topics = [f"that of edit {-topic}" if topic < 0 else f"L{row.layer}:{topic}" for topic in row.topics]
    upper = row.layer + 1
    named = f" {row.name!r}" if row.name else ""
    match row.kind:
        case "seed":
            return f"new topic{named} of layer {row.layer} from {words}"
        case "keep":
            return f"keep {words} in {topics[0]}"
        case "out":
            return f"keep {words} out of {topics[0]}"
        case "merge":
            return f"merge {topics[1]} into {topics[0]}"
        case "place":
            parent = row.topics[-1] or row.topic
            above = f"L{upper}:{parent}" if parent else f"the topic of layer {upper} that has most to do with it"
            return f"place {', '.join(topics[:-1])} under {above}{named}"
    return f"{row.kind} {words or topics[0]}"


def describe_result(row: EditRow) -> str:
    """Return what became of an edit as a phrase: ``3 topics changed, 410 tokens moved; perplexity 964.0 to 966.1``."""
    if row.state == WAITING:
        return "waits"
    if row.state != APPLIED:
        return f"{'refused: ' if row.state == REFUSED else ''}{row.message}"
    found = f"L{row.layer}:{row.topic} has these words already and keeps them; " if row.message else ""
    made = found or (f"made L{row.layer}:{row.topic}; " if row.topic is not None and row.kind != PLACE else "")
    changed = f"{plural(len(row.changed), 'topic')} changed, {plural(row.tokens, 'token')} moved"
    before, after = (
        f"{each:,.1f}" if each is not None else "" for each in (row.perplexity_before, row.perplexity_after)
    )
    measured = f"; perplexity {before} to {after}" if before and after else ""
    return f"{made}{changed}{measured}"


def plan_guide(
    guide: TopicGuide, vocabulary: Sequence[str], layers: Sequence[int], steps: int, author: str
) -> list[NewEdit]:
    """Return the edits with which a run follows a guide.

    Parameters
    ----------
    layers : sequence of int
        Widths of the run.
    steps : int
        Its length.

    Raises
    ------
    EditRefused
        When the corpus lacks a word, or there are too few topics in layer 2 for the parents.
    """
    numbers = number_words(vocabulary)
    parents = list(dict.fromkeys(topic.parent for topic in guide.topics if topic.parent))
    if parents and (len(layers) < 2 or len(parents) > layers[1]):
        has = f"{layers[1]:,} topics in layer 2" if len(layers) > 1 else "one layer"
        raise EditRefused(
            f"the guide names {plural(len(parents), 'parent')}, and the run has {has}; give it more layers or topics"
        )
    step = max(1, min(FIRST, steps // 4))
    plan = [NewEdit(BAN, words=find_words(guide.ban, numbers))] if guide.ban else []
    below = defaultdict[str, list[int]](list)  # the edits that make the topics of each parent
    for topic in guide.topics:
        plan.append(NewEdit(SEED, words=find_words(topic.words, numbers), name=topic.name))
        below[topic.parent].append(-len(plan))
    plan += [NewEdit(PLACE, topics=(*below[parent], CHOSEN), name=parent) for parent in parents]
    return [each._replace(step=step, author=author) for each in plan]
