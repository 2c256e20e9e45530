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

from topiary.app.analysis.hierarchy import LIGHT, Hierarchy
from topiary.app.analysis.read_hierarchy import find_snapshot
from topiary.app.analysis.shares import build_matrix
from topiary.app.analysis.topic_reader import TopicReader
from topiary.app.ingest.new_documents import find_rules
from topiary.app.ingest.text.cleaning import clean_text
from topiary.app.ingest.text.words import JOINT, Pairs, join_phrases
from topiary.engine.hierarchy.tree import Node
from topiary.store import corpora

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

_TINY = 1e-12

Phrase = tuple[str, ...]
Array = NDArray[np.float64]


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
        return f"in {round(100 * self.part)}% of its documents, {times} times as often as in others"


Proposals = Mapping[Node, tuple[ProposedName, ...]]


def propose_names(reader: TopicReader, shown: Hierarchy, layer: int) -> Proposals:
    """Return the phrases proposed for the topics of a layer, most typical first; light topics are left out.

    They are remembered for a snapshot, and do not depend on the words that a page shows.  If the shares of documents
    are not stored yet, the examples in the snapshot are read.
    """
    run = reader.find_run(shown.run)

    def make() -> Proposals:
        snapshot = find_snapshot(reader.db, run.number, shown.snapshot)
        return _propose_names(reader, reader.hierarchy(run, snapshot), layer)

    key = run.number, shown.snapshot, layer, reader.find_shares(run.number, shown.snapshot)
    return reader.fetch("topic names", key, make)


def find_phrases(texts: Sequence[Sequence[Sequence[str]]]) -> list[Phrase]:
    """Return the runs of two or three words that belong together in some texts, given as runs of neighbouring words."""
    pairs = _find_pairs(texts)
    known = frozenset(pairs)
    longer = _find_pairs([[[word for word, _ in join_phrases(run, known)] for run in runs] for runs in texts])
    phrases = {tuple(each.split(JOINT)) for each in (*pairs, *longer)}
    return sorted(each for each in phrases if len(each) <= 3 and len({*each}) == len(each))


def _propose_names(reader: TopicReader, hierarchy: Hierarchy, layer: int) -> Proposals:
    nodes = [node for node in hierarchy.nodes(layer) if hierarchy.role(node) != LIGHT]
    texts, weights = _read_texts(reader, hierarchy, layer, nodes)
    corpus = corpora.get_run_corpus(reader.db, reader.find_run(hierarchy.run))
    wording = find_rules(corpus.meta, corpus.kind, hierarchy.vocabulary).wording
    prepared = (clean_text(wording.lower_capitals(wording.prepare_text(text))) for text in texts)
    runs = [list(wording.runs(wording.space_text(text))) for text in prepared]
    telling = {node: {word for each in hierarchy.top_words(node) for word in each.text.split(JOINT)} for node in nodes}
    known = set().union(*telling.values())
    phrases = [phrase for phrase in find_phrases(runs) if known & {*phrase}]
    if not phrases:
        return {}
    having = _mark_phrases(runs, phrases)
    counts = having @ weights
    parts, times, typical = _compare_counts(counts, np.asarray(having.sum(axis=1))[:, None], weights)
    is_found = (typical > chdtri(1, _CHANCE / typical.size)) & (typical == typical.max(axis=1, keepdims=True))
    is_found &= (counts >= _LEAST_DOCUMENTS) & (parts >= _LEAST_PART) & (times >= _LEAST_TIMES)
    found = {}
    for node in nodes:
        column = hierarchy.place(node)
        order = np.argsort(-typical[:, column], kind="stable")
        ranked = [number for number in order[is_found[order, column]].tolist() if telling[node] & {*phrases[number]}]
        found[node] = tuple(
            ProposedName(
                _write_phrase(phrases[number], [texts[text] for text in having[[number]].indices.tolist()]),
                float(parts[number, column]),
                float(times[number, column]),
            )
            for number in _choose_phrases(phrases, ranked, counts[:, column])
        )
    return found


def _read_texts(
    reader: TopicReader, hierarchy: Hierarchy, layer: int, nodes: Sequence[Node]
) -> tuple[list[str], Array]:
    """Return the beginnings of the documents that use the topics of a layer most, and their weight for each (N, K)."""
    most = min(_MOST_OF_TOPIC, max(_FEWEST_OF_TOPIC, _MOST_READ // max(1, len(nodes))))
    used = {node: reader.rank(hierarchy, node).numbers[:most].tolist() for node in nodes}
    numbers = sorted({number for each in used.values() for number in each})
    corpus = reader.find_run(hierarchy.run).corpus
    read: dict[int, str] = {}
    for first in range(0, len(numbers), _AT_ONCE):
        documents = corpora.read_documents(reader.db, corpus, numbers[first : first + _AT_ONCE])
        read |= {each.number: each.text[:_LONGEST] for each in documents if each.text.strip()}
    found = reader.find_shares(hierarchy.run, hierarchy.snapshot)
    if found is not None:
        shares = build_matrix(reader.read_use(found, layer).layer, hierarchy.widths[layer - 1])
        return list(read.values()), shares[list(read)].toarray().astype(np.float64)
    weights = np.zeros((len(read), hierarchy.widths[layer - 1]))
    for node, documents in used.items():
        weights[np.isin(list(read), documents), hierarchy.place(node)] = 1.0
    return list(read.values()), weights


def _find_pairs(texts: Sequence[Sequence[Sequence[str]]]) -> tuple[str, ...]:
    """Return the pairs of neighbouring words that belong together, each joined by ``JOINT``."""
    pairs = Pairs()
    for runs in texts:
        pairs.add(runs)
    return pairs.phrases(_LEAST_NPMI, _LEAST_DOCUMENTS)


def _mark_phrases(texts: Sequence[Sequence[Sequence[str]]], phrases: Sequence[Phrase]) -> csr_array:
    """Return which texts have which phrases, (P, N)."""
    numbers = {phrase: number for number, phrase in enumerate(phrases)}
    cells = [
        (numbers[phrase], text)
        for text, runs in enumerate(texts)
        for phrase in {tuple(run[i : i + n]) for run in runs for n in (2, 3) for i in range(len(run) - n + 1)}
        if phrase in numbers
    ]
    rows, columns = np.array(cells, dtype=np.int64).reshape(-1, 2).T
    return csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(phrases), len(texts)))


def _compare_counts(counts: Array, everywhere: Array, weights: Array) -> tuple[Array, Array, Array]:
    """Return how typical phrases are of topics, each (P, K), from the weighted number of texts that have them.

    The part of the texts of a topic that have a phrase, how many times that is the part of the others (where none has
    it, as if half a text had), and the log likelihood ratio, 0 where the others have it more often.
    """
    sizes = np.maximum(weights.sum(axis=0), _TINY)
    others = np.maximum(len(weights) - sizes, _TINY)
    parts, elsewhere, both = counts / sizes, np.maximum(everywhere - counts, 0) / others, everywhere / len(weights)
    typical = 2 * (_sum_logs(parts, both, sizes) + _sum_logs(elsewhere, both, others))
    return parts, parts / np.maximum(elsewhere, 0.5 / others), np.where(parts > elsewhere, typical, 0.0)


def _sum_logs(part: Array, whole: Array, size: Array) -> Array:
    """Return the log likelihood of some texts by their own part that has a phrase, less that by the part of all."""
    rest, others = np.clip(1 - part, 0, 1), np.maximum(1 - whole, _TINY)
    return size * (xlogy(part, part / whole) + xlogy(rest, rest / others))


def _choose_phrases(phrases: Sequence[Phrase], ranked: Sequence[int], counts: Array) -> list[int]:
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


def _write_phrase(phrase: Phrase, texts: Sequence[str]) -> str:
    """Return a phrase as it is written most often in the texts that have it."""
    joined = r"\W{0,3}(?:\w\W)?".join(map(re.escape, phrase))  # an O'Gara is found, too
    pattern = re.compile(rf"\b{joined}\b", re.IGNORECASE)
    forms = Counter(" ".join(match[0].split()) for text in texts for match in pattern.finditer(text))
    return max(forms, key=lambda form: (forms[form], form), default=" ".join(phrase))
