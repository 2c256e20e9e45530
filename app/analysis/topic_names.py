"""Names proposed for topics: phrases of two or three words that are typical of a topic's own documents.

A phrase is a run of words that belong together (normalised pointwise mutual information, as in
:mod:`app.ingest.text.words`).  It is proposed for the topic of its layer of which it is most typical, by the log
likelihood ratio (Dunning 1993) of the documents that have it, each of which counts for a topic as much as it uses it.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import chdtri, xlogy

from topiary.app.analysis.hierarchy import LIGHT, PRINTED_WORDS, Hierarchy
from topiary.app.analysis.read_hierarchy import find_snapshot
from topiary.app.analysis.shares import build_matrix
from topiary.app.analysis.topic_reader import TopicReader
from topiary.app.ingest.new_documents import find_rules
from topiary.app.ingest.text.cleaning import clean_text
from topiary.app.ingest.text.words import JOINT, Pairs, Wording, join_phrases
from topiary.engine.hierarchy.tree import Node
from topiary.store import corpora
from topiary.store.run_rows import RunRow

PROPOSED = 3  # phrases of a topic
_MOST_READ, _MOST_OF_TOPIC, _FEWEST_OF_TOPIC = 2000, 40, 10  # documents of a layer, and of each of its topics
_AT_ONCE = 200  # documents in memory with all of their text
_LONGEST = 3000  # characters that are read of a text
_LEAST_NPMI = 0.3  # of the words of a phrase
_LEAST_DOCUMENTS = 4  # that have a phrase, counted by their shares of the topic
_LEAST_PART = 0.1  # of the topic's documents
_LEAST_TIMES = 3.0  # as many as of the other documents
_WITHIN = 0.8  # share of a phrase's documents with a longer one around it, from which only that one is proposed
_CHANCE = 0.01  # that any of the phrases of a layer is proposed by chance

Phrase = tuple[str, ...]


class ProposedName(NamedTuple):
    """A phrase that is proposed as the name of a topic, as its documents write it.

    ``part`` of the documents have it, each counted by its share of the topic, which is ``times`` as many as of the
    other documents that were read.
    """

    name: str
    part: float
    times: float

    @property
    def reason(self) -> str:
        """Why it is proposed: ``in 34 % of its documents, 12 times as often as in others``."""
        times = f"{self.times:.0f}" if self.times < 100 else "over 100"
        return f"in {round(100 * self.part)} % of its documents, {times} times as often as in others"


Proposals = Mapping[Node, tuple[ProposedName, ...]]


class _Split(NamedTuple):
    """The texts that were read, the words of each in runs of neighbours, and the weight (N, K) of each for topics."""

    texts: Sequence[str]
    runs: Sequence[Sequence[Sequence[str]]]
    weights: NDArray[np.float64]


class _Marks(NamedTuple):
    """Which texts have which phrases (P, N), and how typical each phrase is of each topic.

    ``counts`` (P, K) are the texts that have it, weighted by their shares of the topic, ``parts`` the same as a part of
    all texts so weighted, ``times`` the ratio to that part of the rest, and ``typical`` the log likelihood ratio, 0
    where the rest has it more often.
    """

    found: csr_array
    counts: NDArray[np.float64]
    parts: NDArray[np.float64]
    times: NDArray[np.float64]
    typical: NDArray[np.float64]


def propose_names(reader: TopicReader, run: RunRow, snapshot: int, layer: int) -> Proposals:
    """Return the phrases proposed for the topics of a layer, most typical first; topics without one are left out.

    They are remembered for a snapshot, and do not depend on the words that a page shows.  If the shares of documents
    are not stored yet, the examples in the snapshot are read.
    """
    key = run.number, snapshot, layer, reader.find_shares(run.number, snapshot)

    def make() -> Proposals:
        return _propose_names(reader, run, reader.hierarchy(run, find_snapshot(reader.db, run.number, snapshot)), layer)

    return reader.fetch("topic names", key, make)


def find_phrases(texts: Sequence[Sequence[Sequence[str]]]) -> list[Phrase]:
    """Return the runs of two or three words that belong together in some texts, given as runs of neighbouring words."""
    pairs = _find_pairs(texts)
    known = frozenset(pairs)
    longer = _find_pairs([[[word for word, _ in join_phrases(run, known)] for run in runs] for runs in texts])
    phrases = {tuple(each.split(JOINT)) for each in (*pairs, *longer)}
    return sorted(each for each in phrases if len(each) <= 3 and len({*each}) == len(each))


def _propose_names(reader: TopicReader, run: RunRow, hierarchy: Hierarchy, layer: int) -> Proposals:
    nodes = [node for node in hierarchy.nodes(layer) if hierarchy.role(node) != LIGHT]
    split = _read_texts(reader, run, hierarchy, layer, nodes)
    telling = {word for node in nodes for word in _list_telling(hierarchy, node)}
    phrases = [each for each in find_phrases(split.runs) if telling & {*each}]
    if not phrases:
        return {}
    marks = _mark_phrases(split, phrases)
    limit = chdtri(1, _CHANCE / marks.typical.size)
    owners = marks.typical.argmax(axis=1)
    found = {}
    for node in nodes:
        column, words = hierarchy.place(node), _list_telling(hierarchy, node)
        fits = (marks.typical[:, column] > limit) & (marks.counts[:, column] >= _LEAST_DOCUMENTS) & (owners == column)
        fits &= (marks.parts[:, column] >= _LEAST_PART) & (marks.times[:, column] >= _LEAST_TIMES)
        order = np.argsort(-marks.typical[:, column], kind="stable")
        ranked = [number for number in order[fits[order]].tolist() if words & {*phrases[number]}]
        chosen = _choose_phrases(phrases, ranked, marks.counts[:, column])
        if chosen:
            found[node] = tuple(_describe_phrase(split, phrases, marks, number, column) for number in chosen)
    return found


def _read_texts(reader: TopicReader, run: RunRow, hierarchy: Hierarchy, layer: int, nodes: Sequence[Node]) -> _Split:
    """Read the beginnings of the documents that use the topics of a layer most."""
    most = min(_MOST_OF_TOPIC, max(_FEWEST_OF_TOPIC, _MOST_READ // max(1, len(nodes))))
    used = {node: reader.rank(hierarchy, node).numbers[:most].tolist() for node in nodes}
    numbers = sorted({number for each in used.values() for number in each})
    corpus = corpora.get_run_corpus(reader.db, run)
    wording = find_rules(corpus.meta, corpus.kind, hierarchy.vocabulary).wording
    read: dict[int, str] = {}
    for first in range(0, len(numbers), _AT_ONCE):
        documents = corpora.read_documents(reader.db, corpus.number, numbers[first : first + _AT_ONCE])
        read |= {each.number: each.text[:_LONGEST] for each in documents if each.text.strip()}
    weights = np.zeros((len(read), hierarchy.widths[layer - 1]))
    found = reader.find_shares(run.number, hierarchy.snapshot)
    if found is not None:
        weights[:] = build_matrix(reader.read_use(found, layer).layer, weights.shape[1])[list(read)].toarray()
    else:
        places = {number: place for place, number in enumerate(read)}
        for node, documents in used.items():
            weights[[places[number] for number in documents if number in places], hierarchy.place(node)] = 1.0
    return _Split(list(read.values()), [_split_text(text, wording) for text in read.values()], weights)


def _split_text(text: str, wording: Wording) -> list[list[str]]:
    prepared = wording.lower_capitals(wording.prepare_text(text))
    return list(wording.runs(wording.space_text(clean_text(prepared))))


def _find_pairs(texts: Sequence[Sequence[Sequence[str]]]) -> tuple[str, ...]:
    """Return the pairs of neighbouring words that belong together, each joined by ``JOINT``."""
    pairs = Pairs()
    for runs in texts:
        pairs.add(runs)
    return pairs.phrases(_LEAST_NPMI, _LEAST_DOCUMENTS)


def _list_telling(hierarchy: Hierarchy, node: Node) -> set[str]:
    """Return the words shown of a topic, those of phrases one by one."""
    return {word for each in hierarchy.top_words(node, PRINTED_WORDS) for word in each.text.split(JOINT)}


def _mark_phrases(split: _Split, phrases: Sequence[Phrase]) -> _Marks:
    numbers = {phrase: number for number, phrase in enumerate(phrases)}
    cells = [
        (numbers[phrase], text)
        for text, runs in enumerate(split.runs)
        for phrase in {tuple(run[i : i + n]) for run in runs for n in (2, 3) for i in range(len(run) - n + 1)}
        if phrase in numbers
    ]
    rows, columns = np.array(cells, dtype=np.int64).reshape(-1, 2).T
    found = csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(phrases), len(split.runs)))
    weights, counts = split.weights, np.asarray(found @ split.weights)
    sizes, everywhere = weights.sum(axis=0), np.asarray(found.sum(axis=1))[:, None]
    others = np.maximum(len(weights) - sizes, np.finfo(float).eps)
    parts = counts / np.maximum(sizes, np.finfo(float).eps)
    elsewhere = np.maximum(everywhere - counts, 0.0) / others
    times = parts / np.maximum(elsewhere, 0.5 / others)  # where no other text has it, as if half a text had
    both = everywhere / len(weights)
    typical = 2 * (_sum_logs(parts, both, sizes) + _sum_logs(elsewhere, both, others))
    return _Marks(found, counts, parts, times, np.where(parts > elsewhere, typical, 0.0))


def _sum_logs(part: NDArray[np.float64], whole: NDArray[np.float64], size: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log likelihood of some texts by their own part that has a phrase, less that by the part of all."""
    rest, others = np.clip(1 - part, 0, 1), 1 - whole
    return size * (xlogy(part, part / whole) + xlogy(rest, rest / np.maximum(others, np.finfo(float).tiny)))


def _choose_phrases(phrases: Sequence[Phrase], ranked: Sequence[int], counts: NDArray[np.float64]) -> list[int]:
    """Return the first phrases of a topic, no two with a word in common, longer ones for parts of them."""
    chosen: list[int] = []
    taken: set[str] = set()
    for number in ranked:
        around = (other for other in ranked if _is_within(phrases[number], phrases[other]))
        best = next((other for other in around if counts[other] >= _WITHIN * counts[number]), number)
        if len(chosen) < PROPOSED and not taken & {*phrases[best]}:
            chosen.append(best)
            taken |= {*phrases[best]}
    return chosen


def _is_within(phrase: Phrase, other: Phrase) -> bool:
    return len(phrase) < len(other) and phrase in (other[: len(phrase)], other[-len(phrase) :])


def _describe_phrase(split: _Split, phrases: Sequence[Phrase], marks: _Marks, number: int, column: int) -> ProposedName:
    """Return a phrase as it is written most often in the texts that have it."""
    texts = marks.found.indices[marks.found.indptr[number] : marks.found.indptr[number + 1]].tolist()
    joined = r"\W{0,3}(?:\w\W)?".join(map(re.escape, phrases[number]))  # an O'Gara is found, too
    pattern = re.compile(rf"\b{joined}\b", re.IGNORECASE)
    forms = Counter(" ".join(match[0].split()) for text in texts for match in pattern.finditer(split.texts[text]))
    written = max(forms, key=lambda form: (forms[form], form), default=" ".join(phrases[number]))
    return ProposedName(written, float(marks.parts[number, column]), float(marks.times[number, column]))
