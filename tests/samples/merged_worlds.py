"""Documents drawn from known topics, and a chain in which two of them share a column: what a seeded topic must undo."""

from typing import NamedTuple

import numpy as np

from topiary.engine import models
from topiary.engine.contract import Batch, Counts, Facts
from topiary.engine.models.dlda.kernel import State
from topiary.engine.steering import tokens
from topiary.engine.steering.edit import Edit


class Shape(NamedTuple):
    """How a world is made: words, topics, documents, tokens of each, and how peaked topics and documents are."""

    words: int = 400
    topics: int = 8
    documents: int = 500
    tokens: int = 50
    peak: float = 0.04
    mix: float = 0.15


class MergedWorld:
    """A chain of DLDA in which topics 0 and 1 share column 0, and column 1 is a second copy of topic 2."""

    def __init__(self, seed: int, shape: Shape = Shape(), upper: tuple[int, ...] = (4,)) -> None:  # noqa: B008
        rng = np.random.default_rng((11, seed))
        self.phi = rng.dirichlet(np.full(shape.words, shape.peak), shape.topics).T
        theta = rng.dirichlet(np.full(shape.topics, shape.mix), shape.documents)
        lengths = rng.poisson(shape.tokens, shape.documents) + 5
        table = np.array([rng.multinomial(n, self.phi @ each) for n, each in zip(lengths, theta, strict=True)])
        documents, words = np.nonzero(table)
        cells = np.bincount(documents, minlength=shape.documents)
        counts = Counts.of(cells, words.astype(np.int32), table[documents, words].astype(np.int32))
        self.docs: Batch = counts.batch(np.arange(shape.documents))
        config = models.load("dlda").Config(layers=(shape.topics, *upper), inference="gibbs")
        facts = Facts(shape.words, shape.documents, n_tokens=int(table.sum()))
        self.seed, self.kernel = seed, models.load("dlda").build(config, facts)
        self.state = self._merge(rng)

    def _merge(self, rng: np.random.Generator) -> State:
        phi = self.phi.copy()
        phi[:, 0] = (phi[:, 0] + phi[:, 1]) / 2
        phi[:, 1] = phi[:, 2]
        state = self.kernel.init(self.seed)
        phi = np.maximum(phi, 1e-8) / np.maximum(phi, 1e-8).sum(axis=0)
        self.state = self.kernel.prepare(self.seed, state._replace(phi=(phi, *state.phi[1:])), self.docs)
        self.sweep(3)
        topics = self.state.topics.copy()
        topics[topics == 1] = 2
        shared = topics == 2
        topics[shared] = rng.integers(1, 3, shared.sum())
        self.state = self.state._replace(topics=topics)
        self.sweep(10)
        return self.state

    def sweep(self, n: int) -> None:
        """Take steps."""
        for _ in range(n):
            self.state = self.kernel.step(self.seed, self.state, self.docs)[0]

    def choose_words(self) -> tuple[int, ...]:
        """Two words of topic 1 that topic 0 hardly has, neither of them the best one."""
        order = [v for v in np.argsort(-self.phi[:, 1])[:15] if self.phi[v, 1] > 5 * self.phi[v, 0]]
        return int(order[2]), int(order[5])

    def edit(self, kind: str, number: int = 1, **parts: object):
        """Edit the chain and return what that did."""
        edit = Edit(number, int(self.state.t), kind, **parts)
        self.state, result = self.kernel.edit(self.seed, self.state, self.docs, edit)
        return result

    def count(self) -> np.ndarray:
        """The tokens of every word and topic, without any prior."""
        return tokens.count_tokens(tokens.list_tokens(self.docs, self.state.topics), *self.state.phi[0].shape)

    def is_apart(self, k: int) -> bool:
        """Whether the tokens of columns 0 and ``k`` are those of topics 0 and 1."""
        counts = self.count()
        return all(measure_cosine(counts[:, column], self.phi[:, truth]) > 0.9 for column, truth in ((0, 0), (k, 1)))


def measure_cosine(a: np.ndarray, b: np.ndarray) -> float:
    """The cosine of two vectors."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    return float(a @ b / np.sqrt(max((a @ a) * (b @ b), 1e-300)))
