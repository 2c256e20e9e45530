"""Inference by the encoder, without iterations (DATM section II-B): priors, activations and rates of documents.

Documents are processed in tables of a fixed number of rows, so that the results of a document do not depend on the
other documents.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from topiary.engine import corpus, streams
from topiary.engine.autoencoder import encoder, hybrid
from topiary.engine.autoencoder.encoder import POSTERIORS, Dropout, Heads, TablePrior, Tape
from topiary.engine.autoencoder.hybrid import Clock, Hybrid, State
from topiary.engine.contract import Batch, FloatArray, Local, Rates, Sweeps
from topiary.engine.gibbs.collapsed import SweepPlan
from topiary.engine.gibbs.local import EncodedDocuments, plan_inference
from topiary.engine.streams import Address
from topiary.engine.topic_moves import diffusion

ROWS = 32  # documents in a table
_SAMPLE_BITS = 20  # bits of a noise address that hold the number of the sample


def make_prior(at: Hybrid, state: State, docs: Batch) -> TablePrior:
    """Return the prior of some documents.

    With ``prior="matched"``, c_j^(2) = r_. / x_j., so that the prior mean of theta_j^(1) sums to the length of the
    document, as with the Beta draw of p^(2) in DLDA; sizes follow.  With ``prior="paper"``, c and sizes are 1.
    """
    n, n_layers = len(docs.documents), len(state.phi)
    c, sizes = np.ones((n, n_layers)), np.ones((n, n_layers))
    if at.config.prior == "matched":
        lengths = np.maximum(np.add.reduceat(np.append(docs.counts, 0), docs.starts[:-1]), 1.0)
        lengths[docs.starts[1:] == docs.starts[:-1]] = 1.0
        total = max(float(state.r.sum()), diffusion.LEAST_SCALE)
        c[:, 0] = total / lengths
        sizes[:, 0] = lengths / state.phi[0].shape[1]
        for layer in range(1, n_layers):
            sizes[:, layer] = total / state.phi[layer].shape[1]
    return TablePrior(state.phi, state.r, c, sizes)


def cut_tables(docs: Batch, rows: int) -> Iterator[tuple[int, int, Batch]]:
    """Yield tables of at most ``rows`` documents of a batch, as (first, end, documents)."""
    for first in range(0, len(docs.documents), rows):
        end = min(first + rows, len(docs.documents))
        yield first, end, corpus.slice_documents(docs, first, end)


def encode_table(
    at: Hybrid, state: State, docs: Batch, prior: TablePrior, noise: Any, left_out: Dropout | None = None
) -> Tape:
    """Encode a table of documents and draw activations with ``noise(layer)``; if it is None, take their means."""
    return encoder.run_forward(at.config.encoder_shape, _compute_heads(state, docs, left_out), prior, noise)


def _compute_heads(state: State, docs: Batch, left_out: Dropout | None = None) -> Heads:
    values = encoder.compute_inputs(docs, state.spread, int(state.met))
    hidden = encoder.read_documents(state.weights, len(state.phi), docs, values, 0, len(docs.documents), left_out)
    return encoder.compute_heads(state.weights, hidden, left_out)


def make_noise(at: Hybrid, state: State, address: Address, docs: Batch) -> Any:
    """Return a function that gives the random numbers of a table for each layer."""
    family = POSTERIORS[at.config.encoder_shape.posterior]
    return lambda layer: family.make_noise(*address, docs.documents, layer, state.phi[layer].shape[1])


def _fill_table(docs: Batch) -> Batch:
    """Return a table padded with empty documents: matrix products of equal sizes give a row the same bits anywhere."""
    n_missing = ROWS - len(docs.documents)
    starts = np.concatenate([docs.starts, np.full(n_missing, docs.starts[-1])])
    zeros = np.zeros(n_missing, dtype=np.int64)
    return Batch(docs.words, docs.counts, starts, np.append(docs.labels, zeros - 1), np.append(docs.documents, zeros))


def infer_theta(at: Hybrid, state: State, docs: Batch) -> Local:
    """Return the posterior means of theta in every layer, given the means in the layer above."""
    theta = [np.empty((len(docs.documents), phi.shape[1])) for phi in state.phi]
    above = [np.zeros(len(docs.documents)) for _ in state.phi[1:]]
    for first, last, part in cut_tables(docs, ROWS):
        table = _fill_table(part)
        tape = encode_table(at, state, table, make_prior(at, state, table), None)
        for result, layer in zip(theta, tape.theta, strict=True):
            result[first:last] = layer[: last - first]
        if at.config.encoder_shape.downward:
            for index, shares in enumerate(above):
                shares[first:last] = _share_from_above(at, tape, index)[: last - first]
    return Local(tuple(theta), tuple(above))


def sweep_theta(at: Hybrid, seed: int, state: State, docs: Batch, sweeps: Sweeps | None) -> Local:
    """Return posterior means of theta by Gibbs sweeps under the topics, as in DLDA, without the encoder."""
    n_layers = len(state.phi)
    plan = plan_inference(n_layers, sweeps, hybrid.choose_first_rates(at, n_layers))
    return at.sweeper.place_documents(state.phi, state.r, docs, Address(seed, streams.INFER, 0), plan)


def _share_from_above(at: Hybrid, tape: Tape, layer: int) -> FloatArray:
    """Return, for each document, the share of ``Phi theta`` in the shape ``k + Phi theta`` of a layer (eq. 22)."""
    added = tape.priors[layer]
    own = encoder.spread_shapes(at.config.encoder_shape, tape.shape_heads[layer], added.shape[1])
    return np.asarray(added.sum(axis=1) / (own.sum(axis=1) + added.sum(axis=1)))


def sample_theta(at: Hybrid, state: State, address: Address, docs: Batch, *, smooth: bool = False) -> list[FloatArray]:
    """Draw theta in every layer; with ``smooth``, layer 1 gets its mean given the draws above."""
    theta = [np.empty((len(docs.documents), phi.shape[1])) for phi in state.phi]
    family = POSTERIORS[at.config.encoder_shape.posterior]
    for first, last, part in cut_tables(docs, ROWS):
        table = _fill_table(part)
        tape = encode_table(at, state, table, make_prior(at, state, table), make_noise(at, state, address, table))
        bottom = family.compute_mean(tape.draws[0].shape, tape.draws[0].scale) if smooth else tape.theta[0]
        for result, layer in zip(theta, [bottom, *tape.theta[1:]], strict=True):
            result[first:last] = layer[: last - first]
    return theta


def draw_tables(
    at: Hybrid, seed: int, state: State, docs: Batch, n_samples: int, first_sample: int = 0
) -> Iterator[tuple[int, int, Batch, Iterator[tuple[list[FloatArray], FloatArray]]]]:
    """Yield (first, end, padded table, iterator over draws of theta and their sizes) for every table of documents."""
    numbers = range(first_sample, first_sample + n_samples)
    for first, last, part in cut_tables(docs, ROWS):
        table = _fill_table(part)
        prior, heads = make_prior(at, state, table), _compute_heads(state, table)
        yield first, last, table, _draw_table(at, seed, state, table, prior, heads, numbers)


def _draw_table(
    at: Hybrid, seed: int, state: State, table: Batch, prior: TablePrior, heads: Heads, numbers: range
) -> Iterator[tuple[list[FloatArray], FloatArray]]:
    for number in numbers:
        noise = make_noise(at, state, Address(seed, streams.ACTIVATIONS, number), table)
        yield encoder.run_forward(at.config.encoder_shape, heads, prior, noise).theta, prior.sizes


def advance_chain(
    at: Hybrid, seed: int, state: State, chain: Clock, observed: Batch, scored: Batch, sweeps: Sweeps
) -> tuple[Clock, Rates]:
    """Sum the rates of scored cells over samples; a sample takes ``refine`` sweeps per layer, if any.

    There are as many samples as a chain would keep, or fewer if its sweeps do not suffice for all of them.
    """
    clock = int(chain.clock) + 1
    sample_sweeps = Sweeps(at.config.refine * len(state.phi), 1)
    affordable = (sweeps.burn_in + sweeps.collect) // max(1, sample_sweeps.burn_in)
    rates = Rates(np.zeros(len(scored.words)), np.zeros(len(observed.documents)))
    for sample in range(min(sweeps.collect // sweeps.thin, max(1, affordable))):
        address = Address(seed, streams.CHAIN, (clock << _SAMPLE_BITS) + sample)
        theta = sample_theta(at, state, address, observed, smooth=not at.config.refine)
        if at.config.refine:
            sample_rates = _rate_sample(at, state, address, observed, scored, theta, sample_sweeps)
            rates = Rates(rates.cells + sample_rates.cells, rates.totals + sample_rates.totals)
            continue
        encoder.add_rates(state.phi[0], theta[0], scored.words, scored.starts, rates.cells)
        rates.totals[:] += theta[0].sum(axis=1)
    return Clock(np.array(clock)), rates


def _rate_sample(
    at: Hybrid,
    state: State,
    address: Address,
    observed: Batch,
    scored: Batch,
    theta: Sequence[FloatArray],
    sweeps: Sweeps,
) -> Rates:
    """Return the rates of scored cells after Gibbs sweeps that continue from the encoder's draw ``theta``."""
    sweep_address = address._replace(purpose=streams.INFER)  # separate random numbers, as for the draw of topics
    plan = SweepPlan(fresh=False, **sweeps._asdict(), first_rates=hybrid.choose_first_rates(at, 1))
    start = encode_start(at, state, address._replace(purpose=streams.REDRAW), observed, theta)
    return at.sweeper.rate_cells(state.phi, state.r, observed, scored, start, sweep_address, plan)[1]


def encode_start(
    at: Hybrid, state: State, address: Address, docs: Batch, theta: Sequence[FloatArray]
) -> EncodedDocuments:
    """Return the start of Gibbs sweeps that continue from the encoder's draw ``theta``."""
    return EncodedDocuments(theta, make_prior(at, state, docs).c, address)
