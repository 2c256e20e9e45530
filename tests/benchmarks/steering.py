"""Whether edits of a living chain do what they say: seeds in planted worlds, and all kinds of edits on a corpus.

In each world two true topics share a column, and two words seed the second of them; they are apart when the tokens of
both columns, counted without any prior, have a cosine above .9 with the truth.  With ``--corpus`` a chain of DLDA is
edited in each of the other ways, and what is left after 200 sweeps is printed, with the perplexity beside an unedited
chain after 50.
"""

import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tests.benchmarks.report import corpus_of, load, parser, say
from tests.samples.merged_worlds import MergedWorld, Shape, measure_cosine
from topiary.app.jobs.load_corpus import load_corpus
from topiary.engine import first_topics, models
from topiary.engine.contract import TRAIN, Array, Facts, Sweeps
from topiary.engine.corpus import Corpus
from topiary.engine.hierarchy import evaluate
from topiary.engine.steering import tokens
from topiary.engine.steering.edit import Edit, EditRefused, EditResult
from topiary.store import corpora
from topiary.store.database import open_existing

SHAPES = (
    Shape(),
    Shape(words=2_000, documents=1_000),
    Shape(topics=20, documents=1_500),
    Shape(tokens=25, documents=1_500),
    Shape(tokens=200, documents=300),
    Shape(peak=0.1),
    Shape(peak=0.02),
    Shape(mix=0.4, documents=1_000),
    Shape(mix=0.07),
    Shape(words=1_000, topics=12, documents=800, tokens=80, peak=0.06, mix=0.25),
)


def try_worlds(worlds: int, sweeps: int) -> None:
    """Print how many worlds come apart, without the edit and with it."""
    apart = {"unedited": 0, "after one sweep": 0, f"after {sweeps}": 0}
    for seed in range(worlds):
        world = MergedWorld(seed, SHAPES[seed % len(SHAPES)])
        before = world.state
        world.sweep(sweeps)
        apart["unedited"] += world.is_apart(1)
        world.state = before
        try:
            k = world.edit("seed", words=world.choose_words()).topic
        except EditRefused as refusal:
            say(f"  world {seed} refused: {refusal}")
            continue
        world.sweep(1)
        first = world.is_apart(k)
        world.sweep(sweeps - 1)
        last = world.is_apart(k)
        apart["after one sweep"] += first
        apart[f"after {sweeps}"] += last
        if not last:
            say(f"  world {seed} is not apart: {SHAPES[seed % len(SHAPES)]}")
    for name, n in apart.items():
        say(f"{name:18} {n} of {worlds} apart")


class CorpusChain:
    """A chain of DLDA on a corpus."""

    def __init__(self, corpus: Corpus, layers: tuple[int, ...], seed: int) -> None:
        train = np.flatnonzero(corpus.part == TRAIN)
        self.docs, self.seed, self.n_edits = corpus.batch(train), seed, 0
        self.split = corpus.split_tokens(np.flatnonzero(corpus.part != TRAIN))
        config = models.load("dlda").Config(layers=layers, inference="gibbs")
        facts = Facts(corpus.n_words, len(train), n_tokens=int(self.docs.counts.sum()))
        self.kernel = models.load("dlda").build(config, facts, 2)
        state = self.kernel.init_from_documents(seed, corpus.batch(first_topics.sample_documents(train)))
        self.state = self.kernel.prepare(seed, state, self.docs)

    def sweep(self, state: Any, n: int) -> Any:
        """Return the state after some steps."""
        for _ in range(n):
            state = self.kernel.step(self.seed, state, self.docs)[0]
        return state

    def edit(self, state: Any, kind: str, **parts: Any) -> tuple[Any, EditResult]:
        """Return the state after an edit, and what it did."""
        self.n_edits += 1
        return self.kernel.edit(self.seed, state, self.docs, Edit(self.n_edits, int(state.t), kind, **parts))

    def count(self, state: Any) -> Array:
        """Return the tokens of every word and topic."""
        return tokens.count_tokens(tokens.list_tokens(self.docs, state.topics), *state.phi[0].shape)

    def score(self, state: Any) -> float:
        """Return the perplexity of the mean topics."""
        shown = self.kernel.find_shown_state(state)
        return evaluate.evaluate_point(self.kernel, self.seed, shown, *self.split, Sweeps(20, 30))


Verdict: TypeAlias = tuple[bool, str]  # whether an edit is still there, and by what that is seen


class Trial(NamedTuple):
    """An edit, and how a later state is asked whether it is still there."""

    kind: str
    parts: dict[str, Any]
    measure: Callable[[Any, int | None], Verdict]  # given the state and the column of a new topic


def list_trials(chain: CorpusChain) -> list[Trial]:
    """Return the edits of a chain: of its most similar topics, its largest, and one of middle size."""
    counts = chain.count(chain.state).astype(np.float64)
    sizes, theta = counts.sum(axis=0), chain.state.theta[:, : chain.state.phi[1].shape[1]].mean(axis=0)
    unit = counts / np.sqrt((counts * counts).sum(axis=0))
    alike = unit.T @ unit - np.eye(len(sizes))
    a, b = map(int, np.unravel_index(np.triu(alike).argmax(), alike.shape))
    k, big, parent = int(np.argsort(sizes)[len(sizes) // 2]), int(sizes.argmax()), int(np.argsort(-theta)[3])
    word = int(counts[:, k].argmax())

    def cosine(state: Any, column: int, other: Array) -> float:
        return measure_cosine(chain.count(state)[:, column], other)

    def merged(state: Any, _: int | None) -> Verdict:
        both = cosine(state, a, counts[:, a] + counts[:, b])
        left = int(chain.count(state)[:, b].sum())
        return both > 0.9 and not left, f"cosine with both {both:.3f}, {left} tokens in the other"

    def halves(state: Any, new: int | None) -> Verdict:
        now = chain.count(state)
        smaller, likeness = min(now[:, big].sum(), now[:, new].sum()) / sizes[big], cosine(state, big, now[:, new])
        return smaller > 0.1 and likeness < 0.9, f"cosine of the halves {likeness:.2f}, smaller one {smaller:.0%}"

    def returned(state: Any, _: int | None) -> Verdict:
        now = chain.count(state)
        best, left = max(measure_cosine(column, counts[:, k]) for column in now.T), int(now[:, k].sum())
        return not left and best < 0.9, f"{left} tokens, most similar topic {best:.2f} ({alike[k].max():.2f} before)"

    def left(state: Any, _: int | None) -> Verdict:
        n = int(chain.count(state)[word, k])
        return n == 0, f"{n} tokens left"

    def share(state: Any, _: int | None) -> Verdict:
        weights = state.phi[1][k] * state.theta[:, : len(theta)].mean(axis=0)
        part = float(weights[parent] / weights.sum())
        return part > 0.999, f"share of the parent {part:.3f}"

    def moved(state: Any, _: int | None) -> Verdict:
        shown = [chain.kernel.find_shown_state(each).phi[0][:, k] for each in (state, chain.state)]
        by = float(np.abs(shown[0] - shown[1]).max())
        return by == 0.0, f"mean moved by {by:.1g}"

    return [
        Trial("merge", {"topics": (a, b)}, merged),
        Trial("split", {"topics": (big,)}, halves),
        Trial("remove", {"topics": (k,)}, returned),
        Trial("out", {"topics": (k,), "words": (word,)}, left),
        Trial("pin", {"topics": (k,)}, moved),
        Trial("place", {"topics": (k, parent)}, share),
        Trial("ban", {"words": tuple(np.argsort(-counts.sum(axis=1))[:3].tolist())}, lambda *_: (True, "three words")),
    ]


def try_edits(corpus: Corpus, layers: tuple[int, ...], seeds: Sequence[int], warm_up: int) -> None:
    """Print what is left of edits of a corpus, and what they cost."""
    kept, costs = defaultdict[str, list[bool]](list), defaultdict[str, list[tuple[float, float]]](list)
    for seed in seeds:
        chain = CorpusChain(corpus, layers, seed)
        chain.state = chain.sweep(chain.state, warm_up)
        before, control = chain.score(chain.state), chain.score(chain.sweep(chain.state, 50))
        say(f"seed {seed}: perplexity {before:.1f}, unedited after 50 sweeps {control:.1f}")
        for trial in list_trials(chain):
            edited, result = chain.edit(chain.state, trial.kind, **trial.parts)
            edited = chain.sweep(edited, 50)
            score = chain.score(edited)
            cost = (100.0 * (score / before - 1.0), 100.0 * (score / control - 1.0))
            costs[trial.kind].append(cost)
            holds, sentence = trial.measure(chain.sweep(edited, 150), result.topic)
            kept[trial.kind].append(holds)
            costly = f"{cost[0]:+.2f}% since the edit, {cost[1]:+.2f}% beside unedited"
            say(f"  {trial.kind:7} {costly}; after 200: {sentence}{'' if holds else ' - LOST'}")
    for kind, verdicts in kept.items():
        say(f"{kind:7} there after 200 sweeps in {sum(verdicts)} of {len(verdicts)}")
        for beside, values in zip(("before it", "the unedited chain"), zip(*costs[kind], strict=True), strict=True):
            within = sum(value <= 0.5 for value in values)
            say(f"        after 50 at most .5% above {beside} in {within}; median {median(values):+.2f}%")


def read_stored(store: str, name: str) -> Corpus:
    """Return a corpus of a store."""
    db = open_existing(store)
    return load_corpus(db, corpora.find_corpus(db, name))


def main(argv: Sequence[str] | None = None) -> int:
    """Try the worlds, and a corpus if one is named."""
    options = parser(__doc__ or "")
    options.add_argument("--worlds", type=int, default=20, help="planted worlds, of ten shapes (default 20)")
    options.add_argument("--sweeps", type=int, default=40, help="sweeps after the edit of a world (default 40)")
    options.add_argument("--layers", default="64-32-16", help="layers of the chain on the corpus (default 64-32-16)")
    options.add_argument("--warm-up", type=int, default=300, help="sweeps before the edits of a corpus (default 300)")
    options.add_argument("--seeds", type=int, nargs="*", default=[1], help="chains on the corpus (default 1; none: 0)")
    options.add_argument("--stored", nargs=2, metavar=("STORE", "CORPUS"), help="edit this corpus instead")
    arguments = options.parse_args(argv)
    say(load())
    try_worlds(arguments.worlds, arguments.sweeps)
    if arguments.seeds:
        layers = tuple(map(int, arguments.layers.split("-")))
        corpus = read_stored(*arguments.stored) if arguments.stored else corpus_of(arguments)
        try_edits(corpus, layers, arguments.seeds, arguments.warm_up)
    return 0


if __name__ == "__main__":
    sys.exit(main())
