"""A made-up hierarchy before and after a pruning of topics 3, 6 and 10 of layer 2, when a third layer comes."""

from types import SimpleNamespace

import numpy as np
from topic_hierarchies import arrays, vocabulary

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.read_hierarchy import build_hierarchy

LOST = (2, 5, 9)


def frame_at(made: dict[str, np.ndarray], minibatch: int, **more) -> Hierarchy:
    """A frame of run 7."""
    run = SimpleNamespace(number=more.pop("run", 7), seed=5, corpus_name="news", family=7)
    moment = SimpleNamespace(number=minibatch, minibatch=minibatch)
    return build_hierarchy(made, vocabulary(len(made["phi.0"])), more.pop("labels", {}), run, moment, **more)


def pruned(widths: tuple[int, int] = (24, 12), n_words: int = 60, **more) -> tuple[Hierarchy, Hierarchy]:
    """Return the last frame with all topics and the first without three of them."""
    before, rng = arrays(widths, n_words), np.random.default_rng(8)
    kept = np.setdiff1d(np.arange(widths[1]), LOST)
    after = {
        "phi.0": before["phi.0"],
        "phi.1": before["phi.1"][:, kept],
        "phi.2": rng.dirichlet(np.full(len(kept), 0.3), 6).T,
        "r": rng.gamma(0.7, 1.0, 6),
        "names.0": np.arange(widths[0]),
        "names.1": kept,
        "names.2": np.arange(6),
    }
    return frame_at(before, 600, **more), frame_at(after, 700, **more)
