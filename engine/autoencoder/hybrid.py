"""State of hybrid inference: an encoder, or several, moved by gradients, and topics moved by SG-MCMC.

Zhang, Chen, Cong, Guo, Liu and Zhou, "Deep autoencoding topic model with scalable hybrid Bayesian inference" (TPAMI
2020), Algorithm 1; equation numbers are that paper's.  The state serves DATM and its supervised versions.  Mini-batches
are processed in ``hybrid_step.py``, and documents are placed in ``amortised.py``.

Several encoders of one model learn from different starts, and predictions are their mean: Lakshminarayanan, Pritzel and
Blundell, "Simple and scalable predictive uncertainty estimation using deep ensembles" (NIPS 2017).  The posterior of a
classifier's last layer, which DATM keeps (eq. 33), does not cover the encoder below it, which is the main source of
uncertainty.  All encoders read the same mini-batches over the same topics; the first is the model's own, which draws
the activations that move topics and places documents.

Adam (Kingma and Ba, 2015) on tuples of arrays, and on the rows of a large table that a mini-batch touched.

The objective is maximised: steps go up its gradients.  No argument of the public functions is changed in place.
"""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from topiary.engine import streams, widths
from topiary.engine.autoencoder import encoder
from topiary.engine.contract import Array, Batch, Event, Facts, FloatArray
from topiary.engine.gibbs.local import LINKS, DocumentSweeper, Sampler
from topiary.engine.gibbs.upper import Hyper
from topiary.engine.gpu.devices import Device
from topiary.engine.gpu.sweeps import choose_sweeper
from topiary.engine.hierarchy import topics
from topiary.engine.jit import compiled
from topiary.engine.pool import Pool
from topiary.engine.steering.guide import keep_steering, restore_steering
from topiary.engine.topic_moves import steps
from topiary.engine.topic_moves.steps import Variables
from topiary.engine.widths import GrowthRule

FIRST, SECOND, SMALL = 0.9, 0.999, 1e-8  # decay of the two moments, and a constant that avoids division by 0


class Moments(NamedTuple):
    """Running means of the gradient of every weight and of its square."""

    first: tuple[FloatArray, ...]
    second: tuple[FloatArray, ...]


def start_moments(weights: tuple[FloatArray, ...]) -> Moments:
    """Return the moments before the first step."""
    return Moments(tuple(np.zeros_like(w) for w in weights), tuple(np.zeros_like(w) for w in weights))


class RowGradient(NamedTuple):
    """Gradient in some rows of a table: their numbers ``rows`` (n,), and ``values`` (n, K)."""

    rows: Array
    values: FloatArray

    def add(self, other: "RowGradient") -> "RowGradient":
        """Return the sum of two gradients, with the rows of either."""
        rows = np.union1d(self.rows, other.rows)
        values = np.zeros((len(rows), self.values.shape[1]))
        for part in (self, other):
            values[np.searchsorted(rows, part.rows)] += part.values
        return RowGradient(rows, values)


def step_adam(
    weights: tuple[FloatArray, ...],
    moments: Moments,
    gradients: list[FloatArray | RowGradient],
    rates: list[float],
    t: int,
    fading: list[float] | None = None,
) -> tuple[tuple[FloatArray, ...], Moments]:
    """Return weights and moments after step ``t`` = 1, 2, ...; rows that a :class:`RowGradient` lacks take no step.

    ``rates`` are the step sizes, one for each array.  ``fading`` is the share of each array that decays in addition to
    the step, also in rows without one (Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019).
    """
    fading = fading or [0.0] * len(weights)
    scale = np.sqrt(1.0 - SECOND**t) / (1.0 - FIRST**t)
    small = SMALL * np.sqrt(1.0 - SECOND**t)
    new_weights, first, second = [], [], []
    for weight, m, v, gradient, rate, decay in zip(weights, *moments, gradients, rates, fading, strict=True):
        step_size = rate * scale
        w = np.multiply(weight, 1.0 - decay, order="C") if decay else weight.copy()
        m, v = m.copy(), v.copy()  # noqa: PLW2901
        if isinstance(gradient, RowGradient):
            _move_rows(w, m, v, gradient.rows, gradient.values, step_size, small)
        else:
            _move_weights(
                w.reshape(-1),
                m.reshape(-1),
                v.reshape(-1),
                np.ascontiguousarray(gradient).reshape(-1),
                step_size,
                small,
            )
        new_weights.append(w)
        first.append(m)
        second.append(v)
    return tuple(new_weights), Moments(tuple(first), tuple(second))


def average_weights(
    means: tuple[FloatArray, ...], weights: tuple[FloatArray, ...], share: float
) -> tuple[FloatArray, ...]:
    """Return running means of weights (Polyak and Juditsky, 1992), moved by ``share`` towards the current weights."""
    return tuple(
        _interpolate(mean.reshape(-1), w.reshape(-1), share).reshape(w.shape)
        for mean, w in zip(means, weights, strict=True)
    )


@compiled
def _interpolate(start: FloatArray, end: FloatArray, share: float) -> FloatArray:
    mean = np.empty_like(start)
    for i in range(len(start)):
        mean[i] = start[i] + share * (end[i] - start[i])
    return mean


@compiled
def _move_weights(w: FloatArray, m: FloatArray, v: FloatArray, g: FloatArray, size: float, small: float) -> None:
    for i in range(len(w)):
        m[i] += (1.0 - FIRST) * (g[i] - m[i])
        v[i] += (1.0 - SECOND) * (g[i] * g[i] - v[i])
        w[i] += size * m[i] / (np.sqrt(v[i]) + small)


@compiled
def _move_rows(
    w: FloatArray, m: FloatArray, v: FloatArray, rows: Array, g: FloatArray, size: float, small: float
) -> None:
    for i in range(len(rows)):
        _move_weights(w[rows[i]], m[rows[i]], v[rows[i]], g[i], size, small)


NEVER = 1 << 40  # number of a sweep that is never reached


class State(NamedTuple):
    """State of hybrid inference.

    ``t`` () int64 steps done; ``phi[l-1]`` (K_{l-1}, K_l); ``r`` (K_L,); ``names`` and ``born`` as in
    :class:`engine.widths.Structure`; ``scale[l-1]`` (K_l,) the M_k^(l) and ``top_scale`` () the M^(L+1); ``spread``
    (V,) how many of the first ``met`` () int64 documents had each word, or (0,) where inputs are not weighted by it;
    ``weights`` the encoder's (W3, b3, W1, b1, W2, b2 per layer), then those of a classifier, with Adam's ``first`` and
    ``second`` moments and the number of their steps ``moved`` () int64; ``topic_first``, ``topic_second`` Adam's
    moments of ln Phi and ln r where gradients move them (WAI), else none; ``steady`` the running mean of ``weights``
    while labels are learned, else none; ``since`` () int64 each, only in a run that continues another one: the step
    after which the encoder begins, and the step after which labels count; ``others`` the further encoders of sDATM
    (see :func:`join_encoders`); ``steering`` that of :class:`engine.steering.edit.Steering`, () before the first edit.
    """

    t: Array
    phi: tuple[FloatArray, ...]
    r: FloatArray
    names: tuple[Array, ...]
    born: Array
    scale: tuple[FloatArray, ...]
    top_scale: FloatArray
    spread: FloatArray
    met: Array
    weights: tuple[FloatArray, ...]
    moved: Array
    first: tuple[FloatArray, ...]
    second: tuple[FloatArray, ...]
    topic_first: tuple[FloatArray, ...]
    topic_second: tuple[FloatArray, ...]
    steady: tuple[FloatArray, ...] = ()
    since: tuple[Array, ...] = ()
    others: tuple[FloatArray, ...] = ()
    steering: tuple[Array, ...] = ()

    @property
    def encoder_age(self) -> int:
        """Number of steps since the encoder began."""
        return int(self.t) - (int(self.since[0]) if self.since else 0)


class Clock(NamedTuple):
    """State of the chain of documents under evaluation: only the number of calls so far, ``clock`` () int64."""

    clock: Array


class Hybrid(NamedTuple):
    """The settings, facts, sampler and sweeper of documents that the functions below share."""

    config: Any
    facts: Facts
    sampler: Sampler
    sweeper: DocumentSweeper


def make_setup(config: Any, facts: Facts, n_threads: int, device: Device | None = None) -> Hybrid:
    """Return the settings, facts and sampler of a kernel, whose documents are swept by ``device`` if there is one.

    Raises
    ------
    SettingError
        When the device cannot do this work.
    """
    hyper = Hyper(0.01, 0.01, 1.0, 1.0)
    sampler = Sampler(hyper, LINKS["poisson"], collapsed=True, expected=False, pool=Pool(n_threads))
    return Hybrid(config, facts, sampler, choose_sweeper(sampler, device, config.explain_device_refusal)[0])


def estimate_work(layers: tuple[int, ...]) -> float:
    """Return the encoder's cost per document relative to a draw of a topic (see ``Kernel.work``).

    It covers the dense products in both directions and the special functions of every activation, as measured with
    layers 128-64-32 and 512-256-128-64.
    """
    dense = sum(below * width for below, width in itertools.pairwise(layers)) + 2 * sum(k * k for k in layers)
    return dense / 80.0 + 6.0 * sum(layers)


def init_state(at: Hybrid, seed: int, extra: tuple[FloatArray, ...] = ()) -> State:
    """Return a state with nearly flat topics, r = 1/K_L (1 with the paper's prior), a new encoder, and ``extra``."""
    config, rule = at.config, read_rule(at.config)
    layers = config.layers[:1] if rule else config.layers
    rng = streams.make_generator(seed, streams.INIT)
    phi = tuple(widths.draw_flat_topics(rng, *shape) for shape in itertools.pairwise((at.facts.n_words, *layers)))
    r = np.full(layers[-1], 1.0 if config.prior == "paper" else 1.0 / layers[-1])
    weights = draw_encoder(at, streams.make_generator(seed, streams.ENCODER), at.facts.n_words, layers)
    return State(
        t=np.array(0, dtype=np.int64),
        phi=phi,
        r=r,
        names=widths.name_topics(phi),
        born=np.array(0 if rule else widths.SETTLED, dtype=np.int64),
        scale=tuple(np.zeros(width) for width in layers),
        top_scale=np.array(0.0),
        spread=_start_spread(at),
        met=np.array(0, dtype=np.int64),
        weights=(*weights, *extra),
        **_start_moments(at, (*weights, *extra), phi, r),
    )


def draw_encoder(at: Hybrid, rng: np.random.Generator, n_words: int, layers: tuple[int, ...]) -> tuple[FloatArray, ...]:
    """Draw initial weights of an encoder, or of its layers ``layers`` over a layer of ``n_words`` units."""
    config = at.config
    return encoder.draw_weights(rng, n_words, layers, config.head_gain, per_document=config.encoder_shape.per_document)


def _start_spread(at: Hybrid) -> FloatArray:
    """Return the ``spread`` of words before any document is read; (0,) if inputs are not weighted."""
    return np.zeros(at.facts.n_words if at.config.inputs == "tfidf" else 0)


def count_spread(at: Hybrid, state: State, docs: Batch) -> Array:
    """Return the number of documents with each word, (V,); (0,) once the whole corpus has been counted."""
    if not len(state.spread) or int(state.met) >= at.facts.n_documents:
        return np.zeros(0, dtype=np.int64)
    return np.bincount(docs.words, minlength=len(state.spread))


def add_spread(state: State, spread: Array, n_documents: int) -> State:
    """Return the state with the counts ``spread`` of ``n_documents`` more documents added."""
    if not len(spread):
        return state
    return state._replace(spread=state.spread + spread, met=np.array(state.met + n_documents))


def get_variables(state: State) -> Variables:
    """Return the variables of the topics; variables of models without an encoder are empty."""
    return Variables(state.phi, (), state.r, state.scale, state.top_scale, *(np.zeros(0),) * 3)


def choose_first_rates(at: Hybrid, default: int) -> int:
    """Return the sweep from which the rates c are drawn; never with the paper's prior, where c = 1 (section II-C)."""
    return NEVER if at.config.prior == "paper" else default


def read_rule(config: Any) -> GrowthRule | None:
    """Return the rule by which widths are learned; None if they are fixed."""
    return widths.read_rule(config) if hasattr(config, "grow") else None


def _start_moments(
    at: Hybrid, weights: tuple[FloatArray, ...], phi: tuple[FloatArray, ...], r: FloatArray
) -> dict[str, Any]:
    """Return the fields of a State before Adam's first step: moments, number of steps, and no mean of weights."""
    moments = start_moments(weights)
    topic = start_moments((*phi, r) if at.config.inference == "wai" else ())
    return {"moved": np.array(0, dtype=np.int64), **moments._asdict(), "steady": ()} | {
        f"topic_{name}": values for name, values in topic._asdict().items()
    }


def keep_state(state: State) -> dict[str, Array]:
    """Return the arrays of a snapshot other than topics: weights, running averages M, and position in the schedule."""
    arrays: dict[str, Array] = {"t": state.t, "top_scale": state.top_scale} | widths.keep_names(state.names, state.born)
    arrays |= {"spread": state.spread, "met": state.met} if len(state.spread) else {}
    arrays |= {"encoder_since": state.since[0]} if state.since else {}
    arrays |= {f"scale.{layer}": values for layer, values in enumerate(state.scale)} | keep_steering(state.steering)
    return arrays | {f"weights.{i}": weight for i, weight in enumerate(state.weights)}


def restore_state(at: Hybrid, seed: int, arrays: dict[str, Array], extra: tuple[FloatArray, ...] = ()) -> State:
    """Return the state that continues a snapshot; weights that it lacks, or of another shape, start as in `init_state`.

    If one of the ``extra`` weights has another shape in the snapshot, all of them do: half a classifier is useless.
    """
    phi, r = topics.unpack_topics(arrays)[:2]
    layers = tuple(layer.shape[1] for layer in phi)
    fresh = draw_encoder(at, streams.make_generator(seed, streams.ENCODER), at.facts.n_words, layers)
    extra_weights = restore_weights(arrays, "weights", extra, len(fresh))
    continues = "scale.0" in arrays
    t = int(arrays["t"]) if continues else 0
    zeros, spread = tuple(np.zeros(width) for width in layers), _start_spread(at)
    names, born = widths.restore_names(arrays, phi, t, read_rule(at.config))
    steering, phi = restore_steering(arrays, phi, names)
    scale = tuple(np.asarray(arrays.get(f"scale.{i}", values), dtype=np.float64) for i, values in enumerate(zeros))
    own_weights = restore_weights(arrays, "weights", fresh)
    since = _find_since(at, arrays, t, encodes=own_weights is not fresh, report=extra_weights is not extra)
    weights = (*own_weights, *extra_weights)
    return State(
        t=np.array(t, dtype=np.int64),
        phi=phi,
        r=r,
        names=names,
        born=born,
        scale=scale,
        top_scale=np.asarray(arrays["top_scale"] if continues else 0.0, dtype=np.float64),
        spread=np.asarray(arrays["spread"], dtype=np.float64) if len(spread) and "spread" in arrays else spread,
        met=np.array(int(arrays.get("met", 0)), dtype=np.int64),
        weights=weights,
        since=since,
        steering=steering,
        **_start_moments(at, weights, phi, r),
    )


def restore_weights(
    arrays: dict[str, Array], name: str, weights: tuple[FloatArray, ...], first: int = 0
) -> tuple[FloatArray, ...]:
    """Return the arrays ``name.first``, ``name.first+1`` ... of a snapshot, or ``weights`` if the shapes differ."""
    names = [f"{name}.{first + i}" for i in range(len(weights))]
    restored = tuple(np.asarray(arrays.get(array_name, 0.0), dtype=np.float64) for array_name in names)
    return restored if [array.shape for array in restored] == [weight.shape for weight in weights] else weights


def _find_since(at: Hybrid, arrays: dict[str, Array], t: int, *, encodes: bool, report: bool) -> tuple[Array, ...]:
    """Return the ``since`` of a state that continues from a snapshot at step ``t``.

    Unless the snapshot ``encodes``, that is, unless its encoder was restored, a new encoder starts its schedules here,
    and waits for labels as in a new run.  An existing encoder has already learned without labels, so they count at
    once; or since the same step as before if ``report``, that is, if the classifier was restored too.
    """
    if not encodes:
        return np.array(t), np.array(t + getattr(at.config, "label_start", 0))
    encoder = np.array(int(arrays.get("encoder_since", 0)))
    before = int(arrays.get("labels_since", t)) if report else t
    return encoder, np.array(min(before, t))


def grow_state(at: Hybrid, seed: int, state: State) -> tuple[State, tuple[Event, ...]]:
    """Return the state with the structure of the next step, if widths are learned (Algorithm 2), and the events."""
    structure = widths.Structure(state.phi, state.r, state.names, state.born)
    change = widths.grow_structure(seed, int(state.t), structure, read_rule(at.config))
    if change is None:
        return state, ()
    new = steps.change_structure(at.config, get_variables(state), change)
    weights = encoder.prune_weights(state.weights, change.columns)
    if change.added:
        width = change.structure.phi[-1].shape[1]
        rng = streams.make_generator(seed, streams.ENCODER, int(state.t))
        weights = (*weights, *draw_encoder(at, rng, width, (width,)))
    structure, moments = change.structure, _start_moments(at, weights, new.phi, new.r)
    state = state._replace(**structure._asdict(), scale=new.scale, top_scale=new.top_scale, weights=weights, **moments)
    return state, change.events


PARTS = 4  # tuples of an encoder in ``State.others``: weights, their two moments, their running mean


def derive_seed(seed: int, number: int) -> int:
    """Return the seed of encoder ``number``; for number 0 that of the run."""
    return seed if number == 0 else int(streams.make_generator(seed, streams.MEMBERS, number).integers(1 << 63))


def add_encoders(state: State, others: Iterable[tuple[FloatArray, ...]]) -> State:
    """Return the state with further encoders and their classifiers, which start at the weights ``others``."""
    members = (state._replace(weights=weights, steady=(), **start_moments(weights)._asdict()) for weights in others)
    return join_encoders(state, members)


def split_encoders(state: State) -> Iterator[State]:
    """Yield a state for each encoder with its own weights, the model's own encoder first."""
    yield state._replace(others=())
    n = len(state.weights)
    for first in range(0, len(state.others), PARTS * n):
        parts = [state.others[start : start + n] for start in range(first, first + PARTS * n, n)]
        weights, moments, squares, steady = parts
        steady = steady if state.steady else ()  # averaged from the same step on as the first encoder's
        yield state._replace(weights=weights, first=moments, second=squares, steady=steady, others=())


def join_encoders(state: State, others: Iterable[State]) -> State:
    """Return the state whose further encoders are those of ``others``.

    All have the same parts: before labels count, the weights stand in for the unused running mean.
    """
    rows: tuple[FloatArray, ...] = ()
    for member in others:
        rows += (*member.weights, *member.first, *member.second, *(member.steady or member.weights))
    return state._replace(others=rows)


def keep_encoders(state: State) -> dict[str, Array]:
    """Return the snapshot arrays of further encoders, ``encoder.1.0`` ...: the weights used for predictions."""
    _, *others = split_encoders(state)
    return {
        f"encoder.{number}.{i}": weight
        for number, member in enumerate(others, 1)
        for i, weight in enumerate(member.steady or member.weights)
    }
