"""Counts of a mini-batch from activations already drawn: what moves Phi and r when an encoder places documents.

The counts of every word are split over topics in proportion to ``phi_vk theta_jk`` and carried up as
tables (models.md 1.1 steps 1 and 2; DATM section II-D), one sample a document.
"""

import numpy as np

from engine.contract import FloatArray
from engine.gibbs import slots as packed
from engine.gibbs import tokens
from engine.gibbs import upper as above
from engine.gibbs.gibbs import Address, Desk, Documents, Outcome, document, make_desk, send_up
from engine.gibbs.tokens import Globals
from engine.jit import compiled, inlined
from engine.streams import stream, uniform


@compiled
def assign_documents(
    phi: FloatArray, address: Address, docs: Documents, theta1: FloatArray, begin: int, end: int
) -> None:
    """Draw the topic of every token of documents ``begin:end``: ``P(z = k) ~ phi_vk theta_jk``."""
    sums = np.empty(phi.shape[1])
    for j in range(begin, end):
        rng = stream(address.seed, address.purpose, address.step, docs.numbers[j])
        token = docs.tokens[j]
        for cell in range(docs.starts[j], docs.starts[j + 1]):
            word = docs.words[cell]
            total = 0.0
            for k in range(len(sums)):
                total += phi[word, k] * theta1[j, k]
                sums[k] = total
            for _ in range(docs.counts[cell]):
                u, rng = uniform(rng)
                docs.topics[token] = min(np.searchsorted(sums, u * total, side="right"), len(sums) - 1)
                token += 1


@compiled
def lift_documents(glob: Globals, address: Address, docs: Documents, begin: int, end: int, out: Outcome) -> None:
    """Carry the counts of documents ``begin:end`` to the top of the hierarchy and add them to ``out.tables``."""
    _lift(glob, address, docs, begin, end, out, make_desk(glob, docs, begin, end))


@inlined
def _lift(glob: Globals, address: Address, docs: Documents, begin: int, end: int, out: Outcome, desk: Desk) -> None:
    s, slots, of = desk.s, desk.slots, desk.cells.of
    for j in range(begin, end):
        doc = document(docs, j)
        rng = stream(address.seed, address.purpose, address.step, docs.numbers[j])
        above.survey(glob.upper, doc.theta, s)
        n = packed.fill_slots(doc.topics, slots)
        send_up(rng, glob.upper, doc.theta, s, slots, n, True, out.tables)
        above.set_q(doc.c, s.q)
        out.q_top[j] += s.q[len(doc.c)]
        tokens.spread(doc, of)
        tokens.count_words(doc, of, out.tables.words)
        packed.empty_slots(slots, n)
