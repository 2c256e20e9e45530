"""Two snapshots of the same made-up hierarchy, one permuted and changed a little, and their comparison."""

from types import SimpleNamespace

import numpy as np
from topic_hierarchies import arrays, vocabulary

from topiary.app.analysis.comparison import Comparison, compare
from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.read_hierarchy import build_hierarchy

WIDTHS = (24, 12, 6)


def frame_of(
    made: dict[str, np.ndarray], run: int, words: tuple[str, ...] | None = None, snapshot: int = 3, **more
) -> Hierarchy:
    """A frame of a run at mini-batch 700."""
    words = words or vocabulary(len(made["phi.0"]))
    row = SimpleNamespace(number=run, seed=5 + run, corpus_name="news & <views>", family=more.get("family", run))
    moment, labels, classes = (
        SimpleNamespace(number=snapshot, minibatch=700),
        more.get("labels", {}),
        more.get("classes", ()),
    )
    return build_hierarchy(made, words, labels, row, moment, classes=classes)


def permuted(made: dict[str, np.ndarray], seed: int = 4) -> tuple[dict[str, np.ndarray], list[np.ndarray]]:
    """The same topics under other numbers; ``orders[l][k]`` is the old number of topic ``k``."""
    rng = np.random.default_rng(seed)
    depth = sum(name.startswith("phi.") for name in made)
    orders = [rng.permutation(made[f"phi.{layer}"].shape[1]) for layer in range(depth)]
    turned = {"phi.0": made["phi.0"][:, orders[0]], "r": made["r"][orders[-1]]}
    for layer in range(1, depth):
        turned[f"phi.{layer}"] = made[f"phi.{layer}"][np.ix_(orders[layer - 1], orders[layer])]
    return turned, orders


def same() -> tuple[Comparison, list[np.ndarray]]:
    """Run 7 against a permuted copy of itself, run 8."""
    made = arrays(WIDTHS)
    turned, orders = permuted(made)
    return compare(frame_of(made, 7), frame_of(turned, 8)), orders


def changed(width: int = 24) -> Comparison:
    """Run 7 against a permuted run 8 in which one topic is new and others have moved."""
    made = arrays(WIDTHS)
    turned, orders = permuted(made)
    rng = np.random.default_rng(9)
    first = turned["phi.0"].copy()
    first[:, 0] = rng.dirichlet(np.full(60, 0.02))
    second = 0.55 * turned["phi.1"] + 0.45 * rng.dirichlet(np.full(24, 0.05), 12).T
    assert orders[0].shape == (width,)
    return compare(frame_of(made, 7), frame_of(turned | {"phi.0": first, "phi.1": second}, 8))


def opinionated(classes_a: tuple[str, ...], classes_b: tuple[str, ...]) -> Comparison:
    """Run 7 against run 8, whose topics speak for these classes; none where there are none."""
    made = arrays(WIDTHS)

    def speaking(classes: tuple[str, ...], seed: int) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(seed)
        shapes = ((len(classes), width) for width in WIDTHS) if classes else ()
        return {f"model.class_weights.{layer}": rng.normal(size=shape) for layer, shape in enumerate(shapes)}

    return compare(
        frame_of(made | speaking(classes_a, 5), 7, classes=classes_a),
        frame_of(made | speaking(classes_b, 6), 8, classes=classes_b),
    )


def reword(words: tuple[str, ...] | None = None) -> Comparison:
    """Run 7 against a run 8 of the same topics, in each of which some of 300 words came and went."""
    made = arrays(WIDTHS, 300)
    other = np.random.default_rng(3).dirichlet(np.full(300, 0.2), WIDTHS[0]).T
    there = made | {"phi.0": 0.5 * made["phi.0"] + 0.5 * other}
    return compare(frame_of(made, 7, words), frame_of(there, 8, words))


def narrow(heaviest: float = 2.3) -> Hierarchy:
    """A frame of few topics, whose top topics have no child above ``heaviest`` times the average."""
    made = arrays((32, 16, 8))
    rng = np.random.default_rng(1)
    flat = 1.0 + 0.2 * rng.random((16, 8))
    flat[rng.permutation(16)[:8], np.arange(8)] = heaviest * 16 / (16 - heaviest)  # of the sum, with 15 others of 1.1
    return frame_of(made | {"phi.2": (flat / flat.sum(axis=0)).astype(np.float32)}, 7)
