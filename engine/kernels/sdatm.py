"""Kernel of the supervised deep autoencoding topic model: labels shape the topics, and are predicted.

DATM with a Bayesian classifier on the activations of all layers (Zhang et al., TPAMI 2020, section III): linear
(sDATM-L) or through a network (sDATM-N).  Documents without a label contribute to all but the label term.
"""

import itertools

import numpy as np

from engine import streams
from engine.autoencoder import amortised, encoder, hybrid, hybrid_step
from engine.autoencoder.classifier import Classifier, compute_features
from engine.autoencoder.encoder import PER_LAYER
from engine.autoencoder.hybrid import Hybrid, State
from engine.contract import Array, Batch, Facts, FloatArray, Kernel, Local, Sweeps
from engine.corpus import list_owners, replace_counts
from engine.gibbs.augment import draw_uniforms
from engine.models.sdatm import Config
from engine.settings import SettingError
from engine.streams import MOVES

__all__ = ["Config", "State", "build"]


def build(config: Config, facts: Facts, n_threads: int = 1) -> Kernel:
    """Return the kernel of sDATM for a corpus; results do not depend on ``n_threads``.

    Raises
    ------
    SettingError
        If words that are not pixels are to be moved.
    """
    if config.moved and facts.image_shape is None:
        raise SettingError(f"only pictures can be moved; set moved to 0, got {config.moved}")
    at = hybrid.make_setup(config, facts, n_threads)
    return hybrid_step.build_kernel(
        at,
        init=lambda seed: _init_state(at, seed),
        gather=lambda seed, state, docs, _local: (_gather_statistics(at, seed, state, docs), None),
        move=lambda seed, state, statistics: hybrid_step.move_state(
            at, seed, state, statistics, _make_classifier(at, seed, state)
        ),
        infer=lambda seed, state, docs, sweeps=None: _infer_theta(at, seed, state, docs, sweeps),
        keep=lambda state: _keep_state(at, state),
        restore=lambda seed, arrays: _restore_state(at, seed, arrays),
        predict=lambda seed, state, docs, draws=None: _predict_classes(
            at, seed, state, docs, draws or config.predict_samples
        ),
        read_features=lambda state, docs: _read_features(at, state, docs),
        work=config.encoders * hybrid.estimate_work(config.layers),
        prediction_work=_estimate_prediction_cost(config),
    )


def _estimate_prediction_cost(config: Config) -> float:
    """Return the cost of a draw of a prediction, fitted to 1, 4 and 20 encoders, with and without shifted images."""
    per_shift = 1.5 if config.moved else 1.0  # an image is read once for each of its shifts
    return (350.0 + 1.3 * sum(config.layers)) * (0.9 + 0.1 * config.encoders) * per_shift


def _gather_statistics(at: Hybrid, seed: int, state: State, docs: Batch) -> hybrid_step.HybridStatistics:
    """Sum the evidence of documents; tokens that leave the frame of a shifted image count among its tokens."""
    config, shape, head = at.config, at.facts.image_shape, _make_classifier(at, seed, state)
    if not (shape and config.moved):
        return hybrid_step.gather_statistics(at, seed, state, docs, head)
    read = shift_at_random(docs, shape, config.moved, seed, int(state.t) + 1)
    return hybrid_step.gather_statistics(at, seed, state, read, head)._replace(tokens=int(docs.counts.sum()))


def _make_classifier(at: Hybrid, seed: int, state: State | None = None) -> Classifier:
    config, hidden = at.config, at.config.hidden if at.config.classifier == "network" else ()
    labels = (config.label_weight, _find_label_start(at, state), config.label_ramp, config.label_rate)
    learning = (config.shortcut, config.dropout, config.decay)
    return Classifier(
        max(1, at.facts.n_classes), hidden, *labels, at.facts.n_documents, config.read_share, seed, *learning
    )


def _find_label_start(at: Hybrid, state: State | None) -> int:
    """Return the mini-batch after which labels count: as set, or that of the fork if the parent had an encoder."""
    return int(state.since[1]) if state is not None and state.since else at.config.label_start


def _init_state(at: Hybrid, seed: int) -> State:
    state = hybrid.init_state(at, seed, _make_classifier(at, seed).make_weights(seed, at.config.layers))
    return hybrid.add_encoders(
        state, (_draw_encoder(at, seed, number, at.config.layers) for number in range(1, at.config.encoders))
    )


def _draw_encoder(at: Hybrid, seed: int, number: int, widths: tuple[int, ...]) -> tuple[FloatArray, ...]:
    """Draw first weights of a further encoder and its classifier."""
    own_seed = hybrid.derive_seed(seed, number)
    rng = streams.make_generator(own_seed, streams.ENCODER)
    encoding = encoder.draw_weights(rng, at.facts.n_words, widths, at.config.head_gain)
    return (*encoding, *_make_classifier(at, own_seed).make_weights(own_seed, widths))


def _average_state(state: State) -> State:
    """Return the state that reads and predicts documents: with the mean of the weights while labels were learned."""
    return state._replace(weights=state.steady or state.weights)


def _keep_state(at: Hybrid, state: State) -> dict[str, Array]:
    """Return arrays as of DATM, all encoders, and weights of topics for classes: ``class_weights.l`` (C, K_l)."""
    arrays = (
        hybrid.keep_state(_average_state(state))
        | {"labels_since": np.array(_find_label_start(at, state))}
        | hybrid.keep_encoders(state)
    )
    return arrays | {f"class_weights.{layer}": table for layer, table in enumerate(_average_class_weights(at, state))}


def _average_class_weights(at: Hybrid, state: State) -> list[FloatArray]:
    """Return every topic's weight for a class, (C, K_l) a layer: the mean of all encoders, as predictions are."""
    widths = tuple(phi.shape[1] for phi in state.phi)
    heads = (_average_state(member).weights[PER_LAYER * len(widths) :] for member in hybrid.split_encoders(state))
    tables = [_make_classifier(at, 0).compute_class_weights(head, widths) for head in heads]
    return [np.asarray(sum(layers) / len(tables)) for layers in zip(*tables, strict=True)]


def _restore_state(at: Hybrid, seed: int, arrays: dict[str, Array]) -> State:
    n_layers = sum(name.startswith("phi.") for name in arrays)
    widths = tuple(arrays[f"phi.{layer}"].shape[1] for layer in range(n_layers))
    state = hybrid.restore_state(at, seed, arrays, _make_classifier(at, seed).make_weights(seed, widths))
    return hybrid.add_encoders(
        state, (_restore_encoder(at, seed, number, state, arrays) for number in range(1, at.config.encoders))
    )


def _restore_encoder(
    at: Hybrid, seed: int, number: int, state: State, arrays: dict[str, Array]
) -> tuple[FloatArray, ...]:
    """Return the weights of a further encoder that continues a snapshot.

    If the parent lacks it, it continues the parent's own encoder, with its own first classifier: labels count at once,
    and an untrained encoder would spoil the predictions of the others until it has caught up.
    """
    n, widths = PER_LAYER * len(state.phi), tuple(phi.shape[1] for phi in state.phi)
    fresh = _draw_encoder(at, seed, number, widths)
    begin = state.weights[:n] if "weights.0" in arrays else fresh[:n]
    name = f"encoder.{number}"
    return (*hybrid.restore_weights(arrays, name, begin), *hybrid.restore_weights(arrays, name, fresh[n:], n))


def _infer_theta(at: Hybrid, seed: int, state: State, docs: Batch, sweeps: Sweeps | None) -> Local:
    """Return posterior means of theta of every layer.

    An encoder that learns labels comes to represent little of a document but its class, so then theta is from sweeps.
    """
    reads_labels = _make_classifier(at, seed, state).weigh_labels(int(state.t)) > 0.0
    if reads_labels and at.config.placed_by == "sweeps":
        return amortised.sweep_theta(at, seed, state, docs, sweeps)
    return amortised.infer_theta(at, _average_state(state), docs)


def _read_features(at: Hybrid, state: State, docs: Batch) -> list[FloatArray]:
    """Return features of documents at the encoder's means."""
    theta = amortised.infer_theta(at, _average_state(state), docs).theta
    return compute_features(theta, amortised.make_prior(at, state, docs).sizes)


def _predict_classes(at: Hybrid, seed: int, state: State, docs: Batch, n_samples: int) -> FloatArray:
    """Return the probability of every class, averaged over encoders and draws of activations and weights (eq. 36)."""
    encoders = list(hybrid.split_encoders(state))
    each = -(-n_samples // len(encoders))
    report = [
        _predict_shifted(at, hybrid.derive_seed(seed, number), _average_state(member), docs, each)
        for number, member in enumerate(encoders)
    ]
    return np.asarray(sum(report) / len(report))


def _predict_shifted(at: Hybrid, seed: int, state: State, docs: Batch, n_samples: int) -> FloatArray:
    """Return the probability of every class by one encoder, averaged over shifts of images, the shortest first."""
    if not at.config.moved or at.facts.image_shape is None:
        return _predict_once(at, seed, state, docs, n_samples)
    ways = list_shifts(at.config.moved)[:n_samples]
    each = -(-n_samples // len(ways))
    report = [
        _predict_once(at, seed, state, shift_images(docs, at.facts.image_shape, *way), each, first)
        for first, way in zip(range(0, each * len(ways), each), ways, strict=True)
    ]
    return np.asarray(sum(report) / len(report))


def _predict_once(
    at: Hybrid, seed: int, state: State, docs: Batch, n_samples: int, first_sample: int = 0
) -> FloatArray:
    """Return the probability of every class by one encoder, averaged over draws."""
    head = _make_classifier(at, seed)
    weights = state.weights[PER_LAYER * len(state.phi) :]
    chances: FloatArray = np.zeros((len(docs.documents), head.n_classes))
    for first, last, table, draws in amortised.draw_tables(at, seed, state, docs, n_samples, first_sample):
        for number, (theta, sizes) in enumerate(draws, first_sample):
            chances[first:last] += head.predict_classes(weights, theta, sizes, table.documents, number)[: last - first]
    return chances / n_samples


def list_shifts(most: int) -> list[tuple[int, int]]:
    """List all (down, right) by at most ``most`` pixels each, the shortest first: (0, 0), then its neighbours ..."""
    span = range(-most, most + 1)
    return sorted(itertools.product(span, span), key=lambda way: (way[0] ** 2 + way[1] ** 2, way))


def shift_images(docs: Batch, shape: tuple[int, int], down: Array | int, right: Array | int) -> Batch:
    """Return images of ``shape`` (height, width) shifted; pixels that leave the frame are lost.

    Parameters
    ----------
    down, right : (documents,) int, or one number for all
        Pixels.
    """
    height, width = shape
    owners = list_owners(docs.starts)
    rows, columns = np.divmod(docs.words, width)
    rows = rows + np.broadcast_to(down, docs.documents.shape)[owners]
    columns = columns + np.broadcast_to(right, docs.documents.shape)[owners]
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    words = np.where(inside, rows * width + columns, 0).astype(docs.words.dtype)
    return replace_counts(docs._replace(words=words), np.where(inside, docs.counts, 0).astype(docs.counts.dtype))


def shift_at_random(docs: Batch, shape: tuple[int, int], most: int, seed: int, step: int) -> Batch:
    """Return every image shifted at random, each of :func:`list_shifts` with equal probability."""
    chances = draw_uniforms(seed, MOVES, step, docs.documents, 2)  # keyed by document, not by batch
    down, right = (np.floor(chances * (2 * most + 1)).astype(np.int64) - most).T
    return shift_images(docs, shape, down, right)
