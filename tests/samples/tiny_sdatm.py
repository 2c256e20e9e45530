"""A small sDATM on documents of three subjects, for tests of encoders and labels."""

import numpy as np

from topiary.engine import models
from topiary.engine.contract import Batch, Facts

CLASSES, WORDS, N = 3, 24, 120


TINY = {
    "layers": (6, 4),
    "hidden": (5, 4),
    "burn_in": 1,
    "collect": 1,
    "label_start": 2,
    "label_ramp": 2,
    "predict_samples": 6,
}


def labelled(seed=0):
    """Documents on three subjects of eight words each, labelled by subject."""
    rng = np.random.default_rng(seed)
    subject = rng.integers(0, CLASSES, N)
    counts = rng.poisson(0.1 + 1.2 * (np.arange(WORDS) // 8 == subject[:, None]))
    present = counts > 0
    starts = np.concatenate([[0], np.cumsum(present.sum(1))]).astype(np.int64)
    words = np.nonzero(present)[1].astype(np.int32)
    return Batch(words, counts[present].astype(np.int32), starts, subject.astype(np.int32), np.arange(N))


def built(encoders, n_threads=1, **changed):
    module = models.load("sdatm")
    config = module.Config(**(TINY | {"encoders": encoders} | changed))
    return module.build(config, Facts(WORDS, N, CLASSES), n_threads=n_threads)


def trained(kernel, steps, seed=4):
    batch, state = labelled(), kernel.init(seed)
    for _ in range(steps):
        state, _ = kernel.step(seed, state, batch)
    return state


def snapshot(kernel, state):
    topics = kernel.topics(state)
    return {f"phi.{i}": phi for i, phi in enumerate(topics.phi)} | {"r": topics.r} | kernel.keep(state)


def same(one, other):
    assert len(one) == len(other)
    for mine, yours in zip(one, other, strict=True):
        np.testing.assert_array_equal(mine, yours)
