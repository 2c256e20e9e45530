"""How each kind of edit changes a draft: where the chain is, and what its next steps do."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from topiary.engine import first_topics
from topiary.engine.contract import Array, Batch, Counts, FloatArray
from topiary.engine.pool import Pool
from topiary.engine.steering import tokens
from topiary.engine.steering.draft import IDLE, Draft
from topiary.engine.steering.edit import (
    BAN,
    KEEP,
    MERGE,
    OUT,
    PIN,
    PLACE,
    REMOVE,
    SEED,
    SPLIT,
    STRENGTHS,
    UNPIN,
    Edit,
    EditRefused,
    EditResult,
    check_layer,
)
from topiary.engine.steering.guide import ABSENT

LEAST_DOCUMENTS = 10  # of a new topic; from fewer, the words of a carve are those of single documents
SOURCES, MOST_SOURCES = 0.8, 3  # a new topic is carved out of the topics with this share of its words, three at most
LEAST_GAIN = 0.1  # in log-likelihood per token, of what is two topics and not one
PARTS = 8  # bits of a random stream's number for the parts of an edit
OFTEN = 20.0  # no word weighs more in a prior than this part of the tokens of a mean topic


def apply_edit(draft: Draft, seed: int, edit: Edit) -> EditResult:
    """Change a draft by an edit and return what it did.

    Raises
    ------
    EditRefused
        When the edit cannot be done; the draft is then of no use.
    """
    check_layer(edit.kind, edit.layer)
    before = draft.topics.copy()
    draft.at = tokens.EditAddress(seed, edit.step, edit.number << PARTS)
    topic, changed, found = _ACTIONS[edit.kind](draft, edit)
    draft.steering = draft.steering._replace(applied=np.array(edit.number, np.int64))
    draft.hold()
    moved = np.flatnonzero(draft.topics != before)
    owners = np.searchsorted(draft.table.starts, moved, side="right")
    names = draft.names[edit.layer - 1]
    name = None if topic is None else int(draft.names[edit.layer - (edit.kind != PLACE)][topic])
    return EditResult(name, tuple(sorted({int(names[k]) for k in changed})), len(moved), len(np.unique(owners)), found)


class EditOutcome(NamedTuple):
    """What an edit did: columns of its new topic, the one it ``found`` or chose, and of the topics that changed."""

    topic: int | None
    changed: Iterable[int]
    found: bool = False


def _seed(draft: Draft, edit: Edit) -> EditOutcome:
    """Carve a new topic out of those that have its words now, or keep the words in one that is about them already."""
    words = np.unique(np.array(edit.words, np.int64))
    table = _require_tokens(draft, "a new topic")
    hits = np.isin(table.words, words)
    near = _find_near(table, hits)
    same = None if edit.topics else _find_same_topic(draft, hits, near)
    if same is not None:
        kept = _keep(draft, edit._replace(topics=(int(draft.names[0][same]),)))
        return EditOutcome(same, kept.changed, found=True)
    k = _choose_column(draft, edit.topics)
    sources = _choose_sources(np.bincount(draft.topics[hits & near], minlength=draft.phi[0].shape[1]))
    own, chosen = draft.topics.copy(), hits | np.isin(draft.topics, sources)
    taken = near & chosen
    tokens.halve_tokens(draft.take_address(), taken)
    draft.topics[hits | taken] = k
    _add_prior(draft, k, words, edit.strength)
    shares = _divide(draft, chosen, own, k)
    _carve_rows(draft, k, shares)
    changed = [k, *np.flatnonzero(shares > 0.1)]
    draft.refresh_columns(np.array(changed))
    return EditOutcome(k, changed)


def _keep(draft: Draft, edit: Edit) -> EditOutcome:
    """Add words to the prior of a topic, and let their tokens choose it."""
    k, words = draft.find_column(1, _take_one(edit)), np.unique(np.array(edit.words, np.int64))
    out = draft.steering.out
    allowed = (out[:, 0] == 1) & np.isin(out[:, 1], words) & (out[:, 2] == draft.names[0][k])
    draft.steering = draft.steering._replace(out=out[~allowed])
    _add_prior(draft, k, words, edit.strength)
    if not draft.holds_tokens:
        return EditOutcome(None, (k,))
    own, chosen = draft.topics.copy(), np.isin(draft.table.words, words)
    draft.topics[chosen & _mark_documents(draft.table, draft.topics == k)] = k
    shares = _divide(draft, chosen, own, k)
    draft.refresh_columns(np.array([k]))
    return EditOutcome(None, (k, *np.flatnonzero(shares > 0.0)))


def _out(draft: Draft, edit: Edit) -> EditOutcome:
    """Take words out of a topic for good."""
    k, words = draft.find_column(1, _take_one(edit)), np.unique(np.array(edit.words, np.int64))
    name = int(draft.names[0][k])
    prior = draft.steering.prior
    wanted = np.isin(prior[:, 0], words) & (prior[:, 1] == name)
    draft.steering = draft.steering._replace(prior=prior[~wanted])
    _add_out(draft, 1, words, np.full(len(words), name))
    if draft.holds_tokens:
        chosen = np.isin(draft.table.words, words) & (draft.topics == k)
        draft.scatter_topic(chosen, k)
    return EditOutcome(None, (k,))


def _ban(draft: Draft, edit: Edit) -> EditOutcome:
    """Let words say nothing about topics from now on."""
    counts, banned = draft.count_words(), draft.steering.banned
    words = np.union1d(banned[:, 0], edit.words).astype(np.int64)
    shares = counts[words] / counts.sum()
    if shares.sum() > 0.9:
        raise EditRefused("these words are nine of ten tokens of the corpus; ban fewer")
    draft.steering = draft.steering._replace(banned=np.column_stack([words, shares]))
    return EditOutcome(None, ())


def _pin(draft: Draft, edit: Edit) -> EditOutcome:
    """Keep a topic, and its mean, as it is shown."""
    name = _take_one(edit)
    k = draft.find_column(edit.layer, name)
    if draft.means:
        mean = draft.means[edit.layer - 1].phi[:, k].astype(np.float64)
        draft.phi[edit.layer - 1][:, k] = np.maximum(mean / mean.sum(), ABSENT)
    draft.steering = draft.steering._replace(pinned=_add_rows(draft.steering.pinned, [(edit.layer, name)]))
    return EditOutcome(None, (k,))


def _unpin(draft: Draft, edit: Edit) -> EditOutcome:
    """Let a topic move again."""
    name = _take_one(edit)
    k = draft.find_column(edit.layer, name)
    draft.steering = draft.steering._replace(pinned=_drop_rows(draft.steering.pinned, (edit.layer, name)))
    return EditOutcome(None, (k,))


def _merge(draft: Draft, edit: Edit) -> EditOutcome:
    """Give what a topic has to another one, and take it away."""
    if len(set(edit.topics)) != 2:
        raise EditRefused("a merge needs two topics: the one that stays and the one that goes into it")
    a, b = (draft.find_column(edit.layer, name) for name in edit.topics)
    layer, weights = edit.layer, draft.weigh_layer(edit.layer)

    def give_row(table: FloatArray) -> None:
        table[a] += table[b]
        table[b] = 0.0

    if layer == 1 and draft.holds_tokens:
        draft.topics[draft.topics == b] = a
        draft.refresh_columns(np.array([a]))
    else:
        phi = draft.phi[layer - 1]
        draft.set_column(layer, a, weights[a] * phi[:, a] + weights[b] * phi[:, b] + ABSENT)
        draft.theta[layer - 1][:, a] += draft.theta[layer - 1][:, b]
    _take_away(draft, layer, b)
    draft.change_rows(layer, give_row)
    return EditOutcome(None, (a, b))


def _remove(draft: Draft, edit: Edit) -> EditOutcome:
    """Give the tokens of a topic to others, and take it away."""
    k = draft.find_column(edit.layer, _take_one(edit))
    if np.count_nonzero(~draft.is_removed(edit.layer)) < 2:
        raise EditRefused("this is the last topic of its layer; keep it")
    if edit.layer == 1 and draft.holds_tokens:
        draft.scatter_topic(draft.topics == k, k)

    def cut_row(table: FloatArray) -> None:
        table[k] = 0.0

    _take_away(draft, edit.layer, k)
    draft.change_rows(edit.layer, cut_row)
    return EditOutcome(None, (k,))


def _split(draft: Draft, edit: Edit) -> EditOutcome:
    """Divide the tokens of a topic between it and a new one."""
    old = draft.find_column(1, _take_one(edit))
    _require_tokens(draft, "a split")
    k = _choose_column(draft, (), kept=old)
    chosen = draft.topics == old
    own = draft.topics.copy()
    halves = divide_topic(draft.docs, draft.topics, old, len(draft.phi[0]), draft.pool)
    draft.topics[chosen & halves] = k
    shares = _divide(draft, chosen, own, k)
    _carve_rows(draft, k, shares)
    draft.refresh_columns(np.array([old, k]))
    return EditOutcome(k, (old, k))


def _place(draft: Draft, edit: Edit) -> EditOutcome:
    """Put topics under one topic of the layer above, and under no other."""
    if len(edit.topics) < 2:
        raise EditRefused("a place needs topics: those to be moved, and at last their parent in the layer above")
    *children, parent = edit.topics
    rows, upper = [draft.find_column(edit.layer, child) for child in children], edit.layer + 1
    column = draft.find_column(upper, parent) if parent >= 0 else _choose_parent(draft, upper, rows)

    def move_rows(table: FloatArray) -> None:
        totals = table[rows].sum(axis=1)
        table[rows] = 0.0
        table[rows, column] = totals

    out, names = draft.steering.out, draft.names[edit.layer]
    draft.steering = draft.steering._replace(out=out[(out[:, 0] != upper) | ~np.isin(out[:, 1], children)])
    draft.change_rows(edit.layer, move_rows)
    others = np.delete(names, column)
    _add_out(draft, upper, np.repeat(children, len(others)), np.tile(others, len(children)))
    return EditOutcome(column if parent < 0 else None, rows)


_ACTIONS: dict[str, Callable[[Draft, Edit], EditOutcome]] = {
    SEED: _seed, KEEP: _keep, OUT: _out, BAN: _ban, PIN: _pin, UNPIN: _unpin, MERGE: _merge, SPLIT: _split,
    REMOVE: _remove, PLACE: _place,
}  # fmt: skip


def divide_topic(docs: Batch, topics: Array, k: int, n_words: int, pool: Pool) -> Array:
    """Return which tokens are in the second of two groups of documents that differ most in topic ``k``, (tokens,)."""
    table = tokens.list_tokens(docs, topics)
    mine = topics == k
    owners = np.repeat(np.arange(len(docs.documents)), np.diff(table.starts))[mine]
    keys, counts = np.unique(owners * n_words + table.words[mine], return_counts=True)
    present, rows = np.unique(keys // n_words, return_inverse=True)
    words = (keys % n_words).astype(np.int32)
    part = Counts.of(np.bincount(rows), words, counts.astype(np.int32)).batch(docs.documents[present])
    if len(present) < 2 * LEAST_DOCUMENTS:
        raise EditRefused(
            f"only {len(present)} documents have tokens of this topic, and a split needs {2 * LEAST_DOCUMENTS}; "
            "choose a larger topic"
        )
    phi = first_topics.cluster_topics(k, part, n_words, (2,), pool).phi[0]
    gains = np.bincount(rows, weights=counts * np.log(phi[words, 1] / phi[words, 0]))
    second = np.zeros(len(docs.documents), np.bool_)
    second[present] = gains > 0.0
    return np.repeat(second, np.diff(table.starts))


def _require_tokens(draft: Draft, what: str) -> tokens.TokenTable:
    """Return the tokens, or refuse an edit that moves some where no topics of tokens are kept."""
    if not draft.holds_tokens:
        raise EditRefused(
            f"{what} needs the topics of all tokens, which this run does not keep; train it by sweeps of all documents"
        )
    return draft.table


def _take_one(edit: Edit) -> int:
    """Return the only topic of an edit."""
    if len(edit.topics) != 1:
        raise EditRefused(f"the edit {edit.kind} needs one topic, got {len(edit.topics)}")
    return edit.topics[0]


def _mark_documents(table: tokens.TokenTable, marked: Array) -> Array:
    """Return which tokens are in documents that have a marked one, (tokens,)."""
    lengths = np.diff(table.starts)
    before = np.concatenate([[0], np.cumsum(marked)])
    return np.repeat(before[table.starts[1:]] > before[table.starts[:-1]], lengths)


def _find_near(table: tokens.TokenTable, hits: Array) -> Array:
    """Return which tokens are in documents with two of the words that ``hits`` marks, (tokens,)."""
    lengths = np.diff(table.starts)
    owners = np.repeat(np.arange(len(lengths)), lengths)[hits]
    pairs = np.unique(np.stack([owners, table.words[hits]]), axis=1)
    near = np.bincount(pairs[0], minlength=len(lengths)) >= 2
    n = int(near.sum())
    if n < LEAST_DOCUMENTS:
        found = "no document has" if n == 0 else "only 1 document has" if n == 1 else f"only {n} documents have"
        raise EditRefused(
            f"{found} two of these words; name words that occur together in at least {LEAST_DOCUMENTS} documents"
        )
    return np.repeat(near, lengths)


def _find_same_topic(draft: Draft, hits: Array, near: Array) -> int | None:
    """Return the topic that has most of the words that ``hits`` marks if one more topic of them would gain nothing.

    A topic that was made of other words is not it.
    """
    held = np.bincount(draft.topics[hits & near], minlength=draft.phi[0].shape[1])
    sources = _choose_sources(held)
    table = draft.table._replace(topics=draft.topics.copy())
    gain, _ = tokens.measure_split(draft.take_address(), table, sources, near, draft.etas[0], len(draft.phi[0]))
    there = sources[~np.isin(draft.names[0][sources], draft.steering.prior[:, 1])]
    return int(there[0]) if gain < LEAST_GAIN and len(there) else None


def _choose_parent(draft: Draft, layer: int, rows: Sequence[int]) -> int:
    """Return the topic of a layer that has most to do with some of the layer below, and no placed ones below it.

    That is the one of largest F1, given the part of it that goes to these topics, and the part of these from it.
    """
    weights, out = draft.weigh_layer(layer), draft.steering.out[draft.steering.out[:, 0] == layer]
    names, mine = draft.names[layer - 1], draft.phi[layer - 1][rows].sum(axis=0) * weights
    gone = draft.is_removed(layer)
    parents = [np.setdiff1d(names[~gone], out[out[:, 1] == child, 2]) for child in np.unique(out[:, 1])]
    taken = gone | np.isin(names, [each[0] for each in parents if len(each) == 1])
    if taken.all():
        raise EditRefused(f"all topics of layer {layer} have topics placed below them; name one of them as the parent")
    return int(np.argmax(np.where(taken, -1.0, mine / (weights + mine.sum()))))


def _choose_sources(held: Array) -> Array:
    """Return the topics that a new one is carved out of, given how many tokens of its words each holds."""
    order = np.argsort(-held, kind="stable")
    enough = int((np.cumsum(held[order]) < SOURCES * held.sum()).sum()) + 1
    return order[: min(enough, MOST_SOURCES)]


def _choose_column(draft: Draft, topics: tuple[int, ...], kept: int = -1) -> int:
    """Return a column for a new topic: the one asked for, one that is free, or a new one."""
    if topics:
        k = draft.find_column(1, topics[0], alive=False)
    else:
        taken = np.concatenate([draft.steering.prior[:, 1], draft.steering.pinned[draft.steering.pinned[:, 0] == 1, 1]])
        counts = draft.count_topics()
        free = (counts < IDLE * counts.mean()) & ~np.isin(draft.names[0], taken)
        free |= draft.is_removed(1)
        free[kept] &= kept < 0
        k = int(np.argmin(np.where(free, counts, np.inf))) if free.any() else draft.add_topic()
    draft.scatter_topic(draft.topics == k, k)
    draft.forget_topic(1, k)
    return k


def _divide(draft: Draft, chosen: Array, own: Array, k: int) -> FloatArray:
    """Let tokens choose between their own topic and ``k``, and return the share of each topic that ``k`` takes."""
    prior = np.zeros(len(draft.phi[0]))
    mine = draft.steering.prior[:, 1] == draft.names[0][k]
    prior[draft.steering.prior[mine, 0]] = draft.steering.prior[mine, 2]
    counts = tokens.count_tokens(draft.table, *draft.phi[0].shape)
    banned = draft.steering.banned[:, 0]
    chosen = chosen & ~np.isin(draft.table.words, banned)
    tokens.divide_tokens(draft.take_address(), draft.table, chosen, own, k, prior, draft.etas[0], counts)
    n_topics = draft.phi[0].shape[1]
    taken = np.bincount(own[(draft.topics == k) & (own != k)], minlength=n_topics)
    return np.asarray(taken / np.maximum(np.bincount(own, minlength=n_topics), 1))


def _carve_rows(draft: Draft, k: int, shares: FloatArray) -> None:
    """Give topic ``k`` the same shares of the rows above other topics as of their tokens."""

    def give_shares(table: FloatArray) -> None:
        table[k] = shares @ table
        table *= np.where(np.arange(len(table)) == k, 1.0, 1.0 - shares)[:, None]

    draft.change_rows(1, give_shares)


def _add_prior(draft: Draft, k: int, words: Array, strength: str) -> None:
    """Add words to the prior of a topic of layer 1, in place of what they weighed there before."""
    counts, name = draft.count_words(), draft.names[0][k]
    most = counts.sum() / draft.phi[0].shape[1] / OFTEN
    weights = np.maximum(np.rint(STRENGTHS[strength] * np.minimum(counts[words], most)), 1.0)
    prior = draft.steering.prior
    kept = prior[~(np.isin(prior[:, 0], words) & (prior[:, 1] == name))]
    entries = np.column_stack([words, np.full(len(words), name), weights]).astype(np.int64)
    draft.steering = draft.steering._replace(prior=np.concatenate([kept, entries]))


def _add_out(draft: Draft, layer: int, rows: Array, columns: Array) -> None:
    """Set weights to 0 for good."""
    entries = np.column_stack([np.full(len(rows), layer), rows, columns]).astype(np.int64)
    draft.steering = draft.steering._replace(out=np.unique(np.concatenate([draft.steering.out, entries]), axis=0))


def _take_away(draft: Draft, layer: int, k: int) -> None:
    """Mark a topic as removed, and make it flat and idle."""
    draft.forget_topic(layer, k)
    draft.flatten_column(layer, k)
    draft.theta[layer - 1][:, k] = ABSENT
    removed = _add_rows(draft.steering.removed, [(layer, int(draft.names[layer - 1][k]))])
    draft.steering = draft.steering._replace(removed=removed)


def _add_rows(table: Array, rows: list[tuple[int, int]]) -> Array:
    """Return a table of Steering with more rows, each once."""
    return np.unique(np.concatenate([table, np.array(rows, np.int64)]), axis=0)


def _drop_rows(table: Array, row: tuple[int, int]) -> Array:
    """Return a table of Steering without a row."""
    return table[(table != row).any(axis=1)]
