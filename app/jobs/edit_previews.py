"""What edits of a run would do: tried on the topics that its tokens have now, of which nothing is changed.

The last checkpoint of a run has the topics of all tokens.  An edit is tried on it by the same code by which the worker
makes it; what merges and splits would do to the likelihood is measured there too.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from topiary.app.jobs.edit_orders import EditOrder, check_order, check_steerable, number_words
from topiary.app.jobs.load_corpus import load_corpus
from topiary.app.jobs.records import load_model
from topiary.app.names import name_step
from topiary.engine.contract import Array
from topiary.engine.hierarchy.tree import Node
from topiary.engine.pool import Pool
from topiary.engine.steering.edit import SPLIT, Edit, EditRefused
from topiary.store import checkpoints, corpora, edits
from topiary.store.database import Database
from topiary.store.errors import DamagedArrays
from topiary.store.run_rows import RunRow

MOST_TOKENS = 5_000_000  # of documents on which edits are tried; more take seconds, and gigabytes of memory
WORDS = 8  # of a topic that an edit makes or changes
_UNREAD = ("chain.", "rates.", "places.", "titles.")  # what a checkpoint says of documents and of earlier steps


class UntriedEdit(EditRefused):
    """Edits cannot be tried on this run now, and the worker makes them all the same; the message says why."""


class TopicOutline(NamedTuple):
    """A topic after an edit: its first words, its tokens, and the documents that have some of them."""

    topic: Node
    words: tuple[str, ...]
    tokens: int
    documents: int


class EditPreview(NamedTuple):
    """What an edit would do to topics of layer 1.

    Attributes
    ----------
    moment : str
        The step of the topics on which it was tried: ``sweep 120``.
    topics : tuple of TopicOutline
        The topics that it makes and changes; of a new one the first.
    tokens, documents : int
        Tokens that change their topic, and documents with such tokens.
    found : bool
        Whether the first of the topics, which was to be made, is there already.
    """

    moment: str
    topics: tuple[TopicOutline, ...]
    tokens: int
    documents: int
    found: bool = False

    def share(self, outline: TopicOutline) -> float:
        """Return the share of a topic in the tokens of all these topics."""
        return outline.tokens / max(1, sum(each.tokens for each in self.topics))

    def list_rows(self) -> list[dict[str, Any]]:
        """Return these topics as records, with identities and shares."""
        return [
            {**each._asdict(), "topic": f"L1:{each.topic.column + 1}", "share": self.share(each)}
            for each in self.topics
        ]


class EditHints(NamedTuple):
    """What the topics of all tokens say of merges and splits in layer 1.

    Attributes
    ----------
    moment : str
        The step of the topics, as in :class:`EditPreview`.
    edited : int
        Number of the last edit before it.
    changes : mapping of (Node, Node) to float
        Change in log-likelihood per token if the second, smaller topic were merged into the first, best first.
    splits : mapping of Node to tuple of tuple of str
        The first words of both halves of topics that are two, the best first.
    """

    moment: str
    edited: int
    changes: Mapping[tuple[Node, Node], float]
    splits: Mapping[Node, tuple[tuple[str, ...], ...]]

    def list_merges(self) -> list[tuple[Node, Node, float]]:
        """Return the pairs that say the same, the best first."""
        from topiary.engine.steering.suggest import LEAST_MERGE

        return [(*pair, change) for pair, change in self.changes.items() if change > LEAST_MERGE]

    def find_partners(self, topic: Node) -> list[tuple[Node, float]]:
        """Return topics with which one could be merged, the best first, with the change in log-likelihood."""
        return [(b if topic == a else a, change) for (a, b), change in self.changes.items() if topic in (a, b)]


def preview_edit(db: Database, row: RunRow, order: EditOrder) -> EditPreview:
    """Return what an edit would do, as far as it moves tokens.

    Raises
    ------
    UntriedEdit
        If edits cannot be tried.
    EditRefused
        If it cannot be done, as the worker would refuse it; the message is one sentence.
    """
    moment = _Moment(db, row, [order.kind])
    new = check_order(order, number_words(moment.words))
    number, columns = edits.find_last_edit(db, row.number) + 1, tuple(topic - 1 for topic in new.topics)
    edit = Edit(number, moment.position.minibatch, new.kind, new.layer, columns, new.words, new.strength)
    position, result = moment.training.edit(moment.position, edit)
    made = [] if result.topic is None else [result.topic]
    named = made + [each for each in result.changed if each not in made] if new.layer == 1 else []
    if new.kind == SPLIT:
        named.reverse()  # what stays comes first
    return EditPreview(moment.name, tuple(moment.outline(position.state, named)), *result[2:])


def find_hints(db: Database, row: RunRow) -> EditHints | str:
    """Return which topics of layer 1 could be merged or split, judged by the likelihood, or why that is not known."""
    from topiary.engine.steering import suggest  # loads kernels, which pages without hints do without

    try:
        moment = _Moment(db, row, ())
    except EditRefused as error:
        return str(error)
    state, docs = moment.position.state, moment.training.read_all()
    names = _list_names(state)
    nodes, sizes = [Node(1, int(name)) for name in names], (len(moment.words), len(names))
    merges = suggest.judge_merges(docs, state.topics, *sizes)
    splits = suggest.find_splits(row.seed, docs, state.topics, *sizes, Pool(1))
    return EditHints(
        moment.name,
        moment.position.edited,
        {(nodes[each.topics[0]], nodes[each.topics[1]]): each.score for each in merges},
        {nodes[each.topics[0]]: tuple(map(moment.spell, each.halves)) for each in splits},
    )


class _Moment:
    """The last checkpoint of a run, with the topics of all its tokens."""

    def __init__(self, db: Database, row: RunRow, kinds: Iterable[str]) -> None:
        from topiary.app.jobs.training import Training, collect_facts  # loads what trains, which pages do without

        check_steerable(db, row, kinds)
        corpus_row = corpora.get_run_corpus(db, row)
        if corpus_row.tokens > MOST_TOKENS:
            raise UntriedEdit(
                f"the corpus has {corpus_row.tokens:,} tokens, and edits are tried on at most {MOST_TOKENS:,} before "
                "they are made"
            )
        try:
            found = checkpoints.load_checkpoint(db, row.number, _choose_unread)
        except DamagedArrays as error:
            raise UntriedEdit(f"the checkpoint of run {row.number} is damaged; resume the run to mend it") from error
        module, config = load_model(row)
        corpus = load_corpus(db, corpus_row)
        kernel = module.build(config, collect_facts(corpus), n_threads=1)
        self.training = Training(corpus, kernel, module.State, row.seed)
        position = None if found is None else self.training.unpack(found.minibatch, found.arrays)
        if position is None or not kernel.takes_edits(position.state) or not len(getattr(position.state, "topics", ())):
            raise UntriedEdit(
                f"run {row.number} has not kept the topics of its tokens yet, so edits cannot be tried before they "
                "are made"
            )
        self.position, self.words = position, corpus.vocabulary
        self.name = f"{name_step(row)} {position.minibatch:,}"

    def spell(self, words: Iterable[int]) -> tuple[str, ...]:
        """Return the first of these words."""
        return tuple(self.words[word] for word in list(words)[:WORDS])

    def outline(self, state: Any, named: Iterable[int]) -> Iterable[TopicOutline]:
        """Yield topics of layer 1 of a state, which have these original columns."""
        docs, names = self.training.read_all(), _list_names(state)
        words = np.repeat(docs.words, docs.counts)
        owners = np.repeat(np.repeat(np.arange(len(docs.documents)), np.diff(docs.starts)), docs.counts)
        for name in named:
            mine = state.topics == np.flatnonzero(names == name)[0]
            counts = np.bincount(words[mine], minlength=len(self.words))
            first = [word for word in np.argsort(-counts, kind="stable")[:WORDS].tolist() if counts[word]]
            yield TopicOutline(Node(1, name), self.spell(first), int(mine.sum()), len(np.unique(owners[mine])))


def _choose_unread(names: Iterable[str]) -> set[str]:
    return {name for name in names if name.startswith(_UNREAD)}


def _list_names(state: Any) -> Array:
    """Return the original columns of the topics of layer 1 of a state."""
    return state.names[0] if hasattr(state, "names") else np.arange(state.phi.shape[1])
