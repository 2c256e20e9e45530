"""Frames of made-up topics for the tests of views and exports; seeds fixed."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.read_hierarchy import build_hierarchy
from topiary.engine.contract import BINARY, GAMMA, SIGMOID, SIGNED, Link, Topics
from topiary.engine.hierarchy.topics import pack_topics

NASTY = (
    "<script>alert('x')</script>",
    "a&b",
    'quo"te',
    "None",
    "nan",
    "bell\x07",
    "=1+1",
    "naïve",
    "日本語",
    "back\\slash",
)


def vocabulary(n_words: int) -> tuple[str, ...]:
    """Ordinary words, with every kind of word that has broken a viewer among them."""
    return (*NASTY, *(f"word{number}" for number in range(len(NASTY), n_words)))[:n_words]


def arrays(widths: tuple[int, ...] = (24, 12, 6), n_words: int = 60, seed: int = 1) -> dict[str, np.ndarray]:
    """A snapshot as the store keeps it, columns on the simplex."""
    rng = np.random.default_rng(seed)
    sizes = (n_words, *widths)
    made = {
        f"phi.{layer}": rng.dirichlet(np.full(below, 0.08), above).T.astype(np.float32)
        for layer, (below, above) in enumerate(pairwise(sizes))
    }
    made["r"] = rng.gamma(0.7, 1.0, widths[-1]).astype(np.float32)
    for layer, width in enumerate(widths):
        made[f"step.{layer}"] = rng.gamma(2.0, 0.01, width).astype(np.float32)
        made[f"top_documents.{layer}"] = rng.integers(-1, 50, (width, 20))
        made[f"top_weights.{layer}"] = rng.gamma(1.0, 1.0, (width, 20)).astype(np.float32)
    return made


def make_hierarchy(
    widths: tuple[int, ...] = (24, 12, 6),
    n_words: int = 60,
    seed: int = 1,
    labels: dict[tuple[int, int], str] | None = None,
    image_shape: tuple[int, int] | None = None,
) -> Hierarchy:
    """A frame of run 7, snapshot 3, mini-batch 700."""
    return build_hierarchy(
        arrays(widths, n_words, seed),
        vocabulary(n_words),
        labels or {},
        SimpleNamespace(number=7, seed=5, corpus_name="news & <views>", family=7),
        SimpleNamespace(number=3, minibatch=700),
        image_shape=image_shape,
    )


CLASSES = ("space", "<b>sport</b>", "medicine & more")


def hierarchy_with_classes() -> Hierarchy:
    """The usual frame, of a model whose topics speak for classes."""
    made = arrays()
    rng = np.random.default_rng(2)
    for layer, width in enumerate((24, 12, 6)):
        made[f"model.class_weights.{layer}"] = rng.normal(size=(3, width)).astype(np.float32)
    run, snapshot = (
        SimpleNamespace(number=7, seed=5, corpus_name="news", family=7),
        SimpleNamespace(number=3, minibatch=700),
    )
    return build_hierarchy(made, vocabulary(60), {}, run, snapshot, classes=CLASSES)


def signed_hierarchy(seed: int = 12, *, turned: bool = False) -> Hierarchy:
    """A hierarchy of 12-6-3 topics whose upper ones are on or off, and make those below more frequent or rarer.

    ``turned`` gives the weights between layers 1 and 2 the other sign.
    """
    rng = np.random.default_rng(seed)
    weights = tuple(rng.normal(0.0, 2.0, shape) for shape in ((12, 6), (6, 3)))
    weights = (-weights[0], weights[1]) if turned else weights
    links = tuple(Link(SIGNED, SIGMOID, rng.normal(size=len(table))) for table in weights)
    active = rng.gamma(2.0, size=12), rng.uniform(0.2, 0.8, 6), rng.uniform(0.2, 0.8, 3)
    phi = (rng.dirichlet(np.full(60, 0.2), 12).T, *weights)
    made = pack_topics(Topics(phi, np.zeros(3), links, (GAMMA, BINARY, BINARY), active, active))
    run, snapshot = (
        SimpleNamespace(number=7, seed=5, corpus_name="news", family=7),
        SimpleNamespace(number=3, minibatch=700),
    )
    return build_hierarchy(made, vocabulary(60), {}, run, snapshot)


def hierarchy_of(more: dict[str, np.ndarray], n_words: int = 300) -> Hierarchy:
    """The usual hierarchy with more arrays in its snapshot."""
    run, snapshot = (
        SimpleNamespace(number=1, seed=1, corpus_name="x", family=1),
        SimpleNamespace(number=1, minibatch=0),
    )
    return build_hierarchy(arrays(n_words=n_words) | more, vocabulary(n_words), {}, run, snapshot)
