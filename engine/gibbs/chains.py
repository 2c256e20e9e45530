"""Local chains of documents under evaluation: where they start, and how they go on under fixed topics."""

from typing import NamedTuple

import numpy as np

from engine import streams
from engine.contract import Array, Batch, FloatArray, Rates, Sweeps
from engine.gibbs.gibbs import Address
from engine.gibbs.local import Locals, Sampler
from engine.gibbs.tokens import Globals


class Chain(NamedTuple):
    """Local chains of documents under evaluation: ``clock`` () int64 calls so far, then as in Locals."""

    clock: Array
    topics: Array
    theta1: FloatArray
    theta: FloatArray
    c: FloatArray
    link_scale: FloatArray


def start_chain(sampler: Sampler, glob: Globals, seed: int, docs: Batch) -> Chain:
    """The chains of documents where they start."""
    local = sampler.fresh(glob, docs, Address(seed, streams.CHAIN, 0))
    return Chain(np.array(0, dtype=np.int64), *local)


def advance_chain(
    sampler: Sampler, glob: Globals, seed: int, chain: Chain, observed: Batch, scored: Batch, sweeps: Sweeps
) -> tuple[Chain, Rates]:
    """Go on with chains, changing none: as they are then, and summed rates of the ``scored`` cells."""
    local = Locals(*(values.copy() for values in chain[1:]))
    clock = int(chain.clock) + 1
    rates = sampler.rate(glob, Address(seed, streams.CHAIN, clock), observed, scored, local, sweeps)
    return Chain(np.array(clock), *local), rates
