"""Reproducible random streams: small, seeded by counters, passed by value.

A stream belongs to ``(seed, purpose, step, document)``; nothing is shared between documents, so
results are the same bits for any number of threads.  Drawing is a pure function: every draw returns
its value and the stream to continue with, and a compiled loop keeps the two words in registers.

The generator is SplitMix64 with a separate increment for every stream (Steele, Lea and Flood,
"Fast splittable pseudorandom number generators", OOPSLA 2014).
"""

from typing import NamedTuple

import numpy as np

from topiary.engine.jit import compiled

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_VAR1 = np.uint64(0xFF51AFD7ED558CCD)
_VAR2 = np.uint64(0xC4CEB9FE1A85EC53)
_S11, _S27, _S30, _S31, _S33 = (np.uint64(n) for n in (11, 27, 30, 31, 33))
_ONE = np.uint64(1)
_UNIT = 1.0 / 9007199254740992.0  # 2^-53
_MASK64 = (1 << 64) - 1

# Purposes: the second part of a stream's address, so that no two uses in a step share random numbers.
INIT, LOCAL, TOPICS, SHAPES, CHAIN, BATCHES, SPLIT, INFER = range(1, 9)
REDRAW, ENCODER, LABELS, LISTED, DROPPED, LOGITS, MEMBERS, ACTIVATIONS, MOVES = range(9, 18)
CONCENTRATIONS, BOOTSTRAP, EDIT = 18, 19, 20


class Stream(NamedTuple):
    """The position of a stream (``state``) and its increment per draw (``gamma``, odd)."""

    state: np.uint64
    gamma: np.uint64


class Address(NamedTuple):
    """The part of a stream's address that all streams of a call share; the last part is the document."""

    seed: int
    purpose: int
    step: int


@compiled
def mix_bits(z: np.uint64) -> np.uint64:
    """Return 64 mixed bits: every input bit affects every output bit (Stafford's variant 13)."""
    z = (z ^ (z >> _S30)) * _MIX1
    z = (z ^ (z >> _S27)) * _MIX2
    return z ^ (z >> _S31)


@compiled
def start_stream(seed: int, purpose: int, step: int, item: int) -> Stream:
    """Return the stream of ``(seed, purpose, step, item)``; all four are taken modulo 2^64."""
    key = mix_bits(np.uint64(seed) + _GOLDEN)
    key = mix_bits((key ^ np.uint64(purpose)) + _GOLDEN)
    key = mix_bits((key ^ np.uint64(step)) + _GOLDEN)
    key = mix_bits((key ^ np.uint64(item)) + _GOLDEN)
    gamma = (key ^ (key >> _S33)) * _VAR1
    gamma = (gamma ^ (gamma >> _S33)) * _VAR2
    return Stream(key, (gamma ^ (gamma >> _S33)) | _ONE)


@compiled
def draw_bits(rng: Stream) -> tuple[np.uint64, Stream]:
    """Return 64 random bits and the stream to continue with."""
    state = rng.state + rng.gamma
    return mix_bits(state), Stream(state, rng.gamma)


@compiled
def draw_uniform(rng: Stream) -> tuple[float, Stream]:
    """Return a float64 uniform on [0, 1) and the stream to continue with."""
    state = rng.state + rng.gamma
    return np.float64(mix_bits(state) >> _S11) * _UNIT, Stream(state, rng.gamma)


@compiled
def draw_positive(rng: Stream) -> tuple[float, Stream]:
    """Return a float64 uniform on (0, 1], safe under a logarithm, and the stream to continue with."""
    state = rng.state + rng.gamma
    return (np.float64(mix_bits(state) >> _S11) + 1.0) * _UNIT, Stream(state, rng.gamma)


def make_generator(seed: int, purpose: int, step: int = 0) -> np.random.Generator:
    """Return a NumPy generator for one purpose and step, for work outside the compiled loops."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence((seed & _MASK64, purpose, step))))
