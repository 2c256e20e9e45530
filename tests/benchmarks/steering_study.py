"""Whether a scripted analyst finds the groups of 20 Newsgroups by steering, beside word priors of tomotopy.

The analyst knows three words of every group: those that tell it best from the others in the validation part, whose
documents nothing trains on.  A chain of DLDA gets a topic of each three words after a warm-up, and the first ten
proposals after that; another one gets them at the step at which ``topiary train --topics`` makes them.  tomotopy's LDA
gets the same words by ``set_word_prior`` before its first iteration, as many topics, and as many iterations.  Documents
of the test part are then placed by every model with its topics fixed, and their largest topics are compared with their
groups.  Which topic stands for a group is chosen in the validation part.
"""

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tests.benchmarks.peers import train_tomotopy
from tests.benchmarks.reading import read_corpus
from tests.benchmarks.report import load, parser, say, shared_data
from tests.benchmarks.steering import CorpusChain
from topiary.app.jobs.edit_orders import FIRST
from topiary.engine import models
from topiary.engine.contract import TEST, TRAIN, Array, Batch, Facts, Kernel
from topiary.engine.corpus import Corpus
from topiary.engine.parts import draw_validation, hash_contents
from topiary.engine.pool import Pool
from topiary.engine.quality.measures import compute_nmi
from topiary.engine.steering import suggest

DATA, WORDS, SHARE = "20news_counts_61188", 10_000, 0.1  # of the training documents for validation
SEEDS_EACH, SUGGESTIONS = 3, 10
Place: TypeAlias = Callable[[Batch], Array]


class Judged(NamedTuple):
    """How well topics tell groups apart in the test part; ``own`` is F1 of the topics made for the groups."""

    nmi: float
    best: float
    own: float


class Study:
    """A corpus, its parts, and what the scripted analyst knows of its groups."""

    def __init__(self, corpus: Corpus) -> None:
        rng = np.random.default_rng(corpus.split_seed)
        part = draw_validation(rng, corpus.part, hash_contents(corpus.counts), SHARE)
        self.corpus, self.n_groups = replace(corpus, part=part), len(corpus.label_names)
        train, test = np.flatnonzero(part == TRAIN), np.flatnonzero(part == TEST)
        held = np.flatnonzero((part != TRAIN) & (part != TEST))
        self.train, self.known, self.test = (self.corpus.batch(documents) for documents in (train, held, test))
        self.known_groups, self.test_groups = corpus.labels[held], corpus.labels[test]
        self.words = self._choose_words()

    def _choose_words(self) -> list[tuple[int, ...]]:
        """Return the words of every group with the largest parts of the information on it; no word is of two groups."""
        owners = np.repeat(self.known_groups, np.diff(self.known.starts))
        counts = np.zeros((self.n_groups, self.corpus.n_words))
        np.add.at(counts, (owners, self.known.words), 1.0)
        shares = (counts + 0.01) / np.bincount(self.known_groups, minlength=self.n_groups)[:, None]
        information = shares * np.log(shares / shares.mean(axis=0))
        information[information < information.max(axis=0)] = -np.inf
        return [tuple(map(int, np.argsort(-row, kind="stable")[:SEEDS_EACH])) for row in information]

    def judge(self, place: Place, own: Sequence[int] | None = None) -> Judged:
        """Judge a model by the largest topics of the documents of the test part."""
        known, found = place(self.known), place(self.test)
        n_topics = 1 + max(int(known.max()), int(found.max()), *(own or (0,)))
        best = rate_topics(self.known_groups, known, self.n_groups, n_topics).argmax(axis=1)
        rates = rate_topics(self.test_groups, found, self.n_groups, n_topics)
        groups = np.arange(self.n_groups)
        made = float("nan") if own is None else float(rates[groups, list(own)].mean())
        return Judged(compute_nmi(self.test_groups, found), float(rates[groups, best].mean()), made)


def rate_topics(groups: Array, topics: Array, n_groups: int, n_topics: int) -> Array:
    """Return F1 of every topic as a class for every group, (groups, topics)."""
    table = np.zeros((n_groups, n_topics))
    np.add.at(table, (groups, topics), 1.0)
    return 2.0 * table / np.maximum(table.sum(axis=1)[:, None] + table.sum(axis=0), 1.0)


def study_ours(study: Study, layers: tuple[int, ...], seed: int, sweeps: Sequence[int]) -> Iterator[tuple[str, Judged]]:
    """Yield how a chain is judged before edits, after its topics of words, after suggestions, and without edits."""
    living = CorpusChain(study.corpus, layers, seed)

    def judge(state: Any, own: Sequence[int] | None = None) -> Judged:
        return study.judge(place_by(living.kernel, seed, living.kernel.find_shown_state(state)), own)

    state = living.sweep(living.state, sweeps[0])
    yield "DLDA before", judge(state)
    yield "DLDA unedited", judge(living.sweep(state, sum(sweeps[1:])))
    state, own = add_topics(study, living, state)
    state = living.sweep(state, sweeps[1])
    yield "DLDA, 20 topics of words", judge(state, own)
    for kind, parts in list_suggestions(study, living, state, set(own)):
        state = living.edit(state, kind, **parts)[0]
    state = living.sweep(state, sweeps[2])
    yield "DLDA, and 10 suggestions", judge(state, own)
    width = state.phi[0].shape[1]
    state, own = add_topics(study, living, living.sweep(living.state, FIRST))
    yield "DLDA, words from the start", judge(living.sweep(state, sum(sweeps) - FIRST), own)
    yield from study_peer(study, width, seed, sum(sweeps))


def add_topics(study: Study, living: CorpusChain, state: Any) -> tuple[Any, list[int]]:
    """Return the state with a topic for the words of every group, and these topics."""
    own = []
    for words in study.words:
        state, result = living.edit(state, "seed", words=words)
        own.append(int(result.topic))
    return state, own


def list_suggestions(study: Study, living: CorpusChain, state: Any, own: set[int]) -> list[tuple[str, dict[str, Any]]]:
    """Return the first proposals of each kind in turn, no topic twice, and none that does away with a topic of ``own``.

    The engine names columns, which are the numbers of topics as long as none is pruned.
    """
    n_words, n_topics = state.phi[0].shape
    merges = suggest.judge_merges(living.docs, state.topics, n_words, n_topics)
    splits = suggest.find_splits(living.seed, living.docs, state.topics, n_words, n_topics, Pool(2))
    proposals = [
        [
            ("merge", {"topics": each.topics if each.topics[1] not in own else each.topics[::-1]})
            for each in merges
            if each.score > suggest.LEAST_MERGE
        ],
        [("split", {"topics": each.topics}) for each in splits],
        [("ban", {"words": each.words}) for each in suggest.find_bans(state.phi[0])],
    ]
    chosen, touched = list[tuple[str, dict[str, Any]]](), set[int]()
    for kind, parts in chain.from_iterable(zip_longest(*proposals, fillvalue=("", {}))):
        topics = set(parts.get("topics", ()))
        if kind and not topics & touched and not (kind == "merge" and topics <= own):
            chosen.append((kind, parts))
            touched |= topics
    say("  " + ", ".join(f"{kind} {name_parts(study, state, parts)}" for kind, parts in chosen[:SUGGESTIONS]))
    return chosen[:SUGGESTIONS]


def name_parts(study: Study, state: Any, parts: dict[str, Any]) -> str:
    """Return the words of an edit, or the first words of its topics."""
    columns = [np.argsort(-state.phi[0][:, k])[:3].tolist() for k in parts.get("topics", ())] or [parts["words"]]
    return " + ".join(" ".join(study.corpus.vocabulary[word] for word in words) for words in columns)


def study_peer(study: Study, width: int, seed: int, iterations: int) -> Iterator[tuple[str, Judged]]:
    """Yield how LDA of tomotopy is judged without and with priors of the words; it has one layer of ``width`` topics.

    Its topics and prior are put into a model of one layer, so that documents are placed as ours are.
    """
    module = models.load("dlda")
    facts = Facts(study.corpus.n_words, len(study.train.documents))
    kernel = module.build(module.Config(layers=(width,), inference="gibbs"), facts, n_threads=2)
    for name, words in (("LDA of tomotopy", []), ("LDA of tomotopy, word priors", study.words)):
        peer = train_tomotopy(study.train.cells, study.corpus.n_words, width, seed, 2, words)
        result = next(each for each in peer if each.steps >= iterations)
        state = kernel.init(seed)._replace(phi=(np.ascontiguousarray(result.phi),), r=result.alpha)
        yield (name, study.judge(place_by(kernel, seed, state), range(len(words)) if words else None))


def place_by(kernel: Kernel, seed: int, state: Any) -> Place:
    """Return what gives documents their largest topics of layer 1, under the topics of a state."""
    return lambda docs: np.asarray(kernel.infer(seed, state, docs).theta[0].argmax(axis=1))


def main(argv: Sequence[str] | None = None) -> int:
    """Print the words, the suggestions, and a row for each model: medians over seeds."""
    options = parser(__doc__ or "", corpus=False)
    options.add_argument("--data", type=Path, help=f"counts with labels (default: the shared {DATA})")
    options.add_argument("--layers", default="64-32-16", help="layers of the chain before edits (default 64-32-16)")
    options.add_argument(
        "--sweeps", type=int, nargs=3, default=[300, 100, 100], help="before, between and after edits (300 100 100)"
    )
    options.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="runs (default 1 2 3)")
    arguments = options.parse_args(argv)
    say(load())
    study = Study(read_corpus(arguments.data or shared_data() / DATA, WORDS))
    for name, words in zip(study.corpus.label_names, study.words, strict=True):
        say(f"{name:26} {' '.join(study.corpus.vocabulary[word] for word in words)}")
    rows = defaultdict[str, list[Judged]](list)
    for seed in arguments.seeds:
        for name, judged in study_ours(study, tuple(map(int, arguments.layers.split("-"))), seed, arguments.sweeps):
            rows[name].append(judged)
            say(f"seed {seed}  {name:34} NMI {judged.nmi:.3f}  F1 {judged.best:.3f}  F1 of own topics {judged.own:.3f}")
    for name, each in rows.items():
        say(f"{name:34} " + "  ".join(f"{median(values):.3f}" for values in zip(*each, strict=True)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
