"""Kernel of the supervised deep autoencoding topic model, whose topics are also learned from labels, to predict them.

This is DATM with a Bayesian classifier on the activations of all layers (Zhang et al., TPAMI 2020, section III): linear
(sDATM-L) or a network (sDATM-N).  Documents without a label contribute to all terms except the label term.
"""

import itertools

import numpy as np

from topiary.engine import streams
from topiary.engine.autoencoder import amortised, hybrid, hybrid_step
from topiary.engine.autoencoder.classifier import Classifier, compute_features
from topiary.engine.autoencoder.encoder import PER_LAYER
from topiary.engine.autoencoder.hybrid import Hybrid, State
from topiary.engine.autoencoder.hybrid_step import HybridKernel, HybridStatistics
from topiary.engine.contract import Array, Batch, Facts, FloatArray, Info, Kernel, Local, PredictingKernel, Sweeps
from topiary.engine.corpus import list_owners, replace_counts
from topiary.engine.gibbs.augment import draw_uniforms
from topiary.engine.gpu.devices import Device
from topiary.engine.models.sdatm.settings import Config
from topiary.engine.settings import SettingError
from topiary.engine.streams import MOVES

__all__ = ["Config", "State", "build"]


def build(config: Config, facts: Facts, n_threads: int = 1, device: Device | None = None) -> Kernel:
    """Return the kernel of sDATM for a corpus; results do not depend on ``n_threads``.

    With a ``device``, the tokens of documents are counted there.

    Raises
    ------
    SettingError
        If the settings ask for shifted images, but the documents are not images.
    """
    if config.moved and facts.image_shape is None:
        raise SettingError(f"only pictures can be moved; set moved to 0, got {config.moved}")
    return SdatmKernel(hybrid.make_setup(config, facts, n_threads, device))


class SdatmKernel(HybridKernel, PredictingKernel):
    """The kernel of sDATM."""

    def __init__(self, at: Hybrid) -> None:
        super().__init__(at)
        self.work *= at.config.encoders
        self.prediction_work = _estimate_prediction_cost(at.config)

    def init(self, seed: int) -> State:
        """Return the first state, with all encoders and their classifiers."""
        state = hybrid.init_state(self.at, seed, self._make_classifier(seed).make_weights(seed, self.config.layers))
        return hybrid.add_encoders(
            state, (self._draw_encoder(seed, number, self.config.layers) for number in range(1, self.config.encoders))
        )

    def _draw_encoder(self, seed: int, number: int, widths: tuple[int, ...]) -> tuple[FloatArray, ...]:
        """Draw the initial weights of an additional encoder and its classifier."""
        own_seed = hybrid.derive_seed(seed, number)
        rng = streams.make_generator(own_seed, streams.ENCODER)
        encoding = hybrid.draw_encoder(self.at, rng, self.at.facts.n_words, widths)
        return (*encoding, *self._make_classifier(own_seed).make_weights(own_seed, widths))

    def gather(self, seed: int, state: State, docs: Batch, local: None) -> tuple[HybridStatistics, None]:
        """Return the summed statistics of documents, shifted at random if they are images and the settings ask for it.

        The number of tokens is that of the images before they were shifted.
        """
        config, shape, classifier = self.config, self.at.facts.image_shape, self._make_classifier(seed, state)
        if not (shape and config.moved):
            return hybrid_step.gather_statistics(self.at, seed, state, docs, classifier), None
        shifted = shift_at_random(docs, shape, config.moved, seed, int(state.t) + 1)
        statistics = hybrid_step.gather_statistics(self.at, seed, state, shifted, classifier)
        return statistics._replace(tokens=int(docs.counts.sum())), None

    def move(self, seed: int, state: State, statistics: HybridStatistics) -> tuple[State, Info]:
        """Move the encoders and classifiers up their gradients, then Phi and r by the counts."""
        return hybrid_step.move_state(self.at, seed, state, statistics, self._make_classifier(seed, state))

    def _make_classifier(self, seed: int, state: State | None = None) -> Classifier:
        """Return the classifier of the settings; after a fork, ``state`` tells from when on labels are used."""
        config = self.config
        return Classifier(
            n_classes=max(1, self.at.facts.n_classes),
            hidden=config.hidden if config.classifier == "network" else (),
            weight=config.label_weight,
            first=self._find_label_start(state),
            ramp=config.label_ramp,
            rate=config.label_rate,
            n_documents=self.at.facts.n_documents,
            read=config.read_share,
            seed=seed,
            shortcut=config.shortcut,
            dropout=config.dropout,
            decay=config.decay,
        )

    def _find_label_start(self, state: State | None) -> int:
        """Return the mini-batch after which labels are used: that of the settings, or the one at which it was forked.

        The latter holds if the parent run had an encoder; ``state.since`` then has the step after which the encoder
        began, and the step after which labels are used.
        """
        return int(state.since[1]) if state is not None and state.since else self.config.label_start

    def infer(self, seed: int, state: State, docs: Batch, sweeps: Sweeps | None = None) -> Local:
        """Return posterior means of theta of every layer, by Gibbs sweeps or by the encoder.

        An encoder that learns labels represents little of a document except its class.  Once labels are used, sweeps
        therefore take its place, if the setting ``placed_by`` says so.
        """
        learns_labels = self._make_classifier(seed, state).weigh_labels(int(state.t)) > 0.0
        if learns_labels and self.config.placed_by == "sweeps":
            return amortised.sweep_theta(self.at, seed, state, docs, sweeps)
        return amortised.infer_theta(self.at, _average_state(state), docs)

    def read_features(self, state: State, docs: Batch) -> list[FloatArray]:
        """Return the features of documents that the classifier reads, from the mean activations of the encoder."""
        theta = amortised.infer_theta(self.at, _average_state(state), docs).theta
        return compute_features(theta, amortised.make_prior(self.at, state, docs).sizes)

    def predict(self, seed: int, state: State, docs: Batch, draws: int | None = None) -> FloatArray:
        """Return the probability of every class, averaged over encoders, and draws of activations and weights (36)."""
        encoders = list(hybrid.split_encoders(state))
        n_samples_each = -(-(draws or self.config.predict_samples) // len(encoders))
        predictions = [
            self._predict_shifted(hybrid.derive_seed(seed, number), _average_state(member), docs, n_samples_each)
            for number, member in enumerate(encoders)
        ]
        return np.asarray(sum(predictions) / len(predictions))

    def _predict_shifted(self, seed: int, state: State, docs: Batch, n_samples: int) -> FloatArray:
        """Return the probability of every class by one encoder, averaged over draws and, for images, over shifts."""
        if not self.config.moved or self.at.facts.image_shape is None:
            return self._predict_once(seed, state, docs, n_samples)
        shifts = list_shifts(self.config.moved)[:n_samples]
        n_samples_each = -(-n_samples // len(shifts))
        predictions = [
            self._predict_once(
                seed, state, shift_images(docs, self.at.facts.image_shape, *shift), n_samples_each, first
            )
            for first, shift in zip(range(0, n_samples_each * len(shifts), n_samples_each), shifts, strict=True)
        ]
        return np.asarray(sum(predictions) / len(predictions))

    def _predict_once(self, seed: int, state: State, docs: Batch, n_samples: int, first_sample: int = 0) -> FloatArray:
        """Return the probability of every class by one encoder, averaged over draws."""
        classifier = self._make_classifier(seed)
        weights = state.weights[PER_LAYER * len(state.phi) :]
        sums: FloatArray = np.zeros((len(docs.documents), classifier.n_classes))
        for first, last, table, draws in amortised.draw_tables(self.at, seed, state, docs, n_samples, first_sample):
            for number, (theta, sizes) in enumerate(draws, first_sample):
                sums[first:last] += classifier.predict_classes(weights, theta, sizes, table.documents, number)[
                    : last - first
                ]
        return sums / n_samples

    def keep(self, state: State) -> dict[str, Array]:
        """Return the arrays of a DATM snapshot, those of all encoders, and ``class_weights.l`` (C, K_l)."""
        arrays = (
            hybrid.keep_state(_average_state(state))
            | {"labels_since": np.array(self._find_label_start(state))}
            | hybrid.keep_encoders(state)
        )
        return arrays | {
            f"class_weights.{layer}": table for layer, table in enumerate(self._average_class_weights(state))
        }

    def _average_class_weights(self, state: State) -> list[FloatArray]:
        """Return the weights of topics for classes, (C, K_l) per layer, averaged over encoders as predictions are."""
        widths = tuple(phi.shape[1] for phi in state.phi)
        all_head_weights = (
            _average_state(member).weights[PER_LAYER * len(widths) :] for member in hybrid.split_encoders(state)
        )
        tables = [
            self._make_classifier(0).compute_class_weights(head_weights, widths) for head_weights in all_head_weights
        ]
        return [np.asarray(sum(layers) / len(tables)) for layers in zip(*tables, strict=True)]

    def restore(self, seed: int, arrays: dict[str, Array]) -> State:
        """Return the state that continues a snapshot."""
        n_layers = sum(name.startswith("phi.") for name in arrays)
        widths = tuple(arrays[f"phi.{layer}"].shape[1] for layer in range(n_layers))
        state = hybrid.restore_state(self.at, seed, arrays, self._make_classifier(seed).make_weights(seed, widths))
        return hybrid.add_encoders(
            state, (self._restore_encoder(seed, number, state, arrays) for number in range(1, self.config.encoders))
        )

    def _restore_encoder(
        self, seed: int, number: int, state: State, arrays: dict[str, Array]
    ) -> tuple[FloatArray, ...]:
        """Return the weights of an additional encoder, continued from a snapshot.

        If the snapshot does not have this encoder, it starts as a copy of the main encoder with a new classifier.
        Labels are used at once then, and an untrained encoder would impair the mean predictions until it has caught up.
        """
        n, widths = PER_LAYER * len(state.phi), tuple(phi.shape[1] for phi in state.phi)
        fresh = self._draw_encoder(seed, number, widths)
        initial = hybrid.restore_weights(arrays, "weights", fresh[:n])
        name = f"encoder.{number}"
        return (*hybrid.restore_weights(arrays, name, initial), *hybrid.restore_weights(arrays, name, fresh[n:], n))


def _estimate_prediction_cost(config: Config) -> float:
    """Return the cost of one draw of a prediction (see ``Kernel.prediction_work``).

    The formula was fitted to 1, 4 and 20 encoders, with and without shifted images.
    """
    per_shift = 1.5 if config.moved else 1.0  # an image is read once for each of its shifts
    return (350.0 + 1.3 * sum(config.layers)) * (0.9 + 0.1 * config.encoders) * per_shift


def _average_state(state: State) -> State:
    """Return the state for inference and prediction: with the mean weights since labels are used, if there are any."""
    return state._replace(weights=state.steady or state.weights)


def list_shifts(most: int) -> list[tuple[int, int]]:
    """Return all shifts (down, right) by at most ``most`` pixels in each direction, the shortest first: (0, 0) ..."""
    span = range(-most, most + 1)
    return sorted(itertools.product(span, span), key=lambda shift: (shift[0] ** 2 + shift[1] ** 2, shift))


def shift_images(docs: Batch, shape: tuple[int, int], down: Array | int, right: Array | int) -> Batch:
    """Return shifted images of ``shape`` (height, width), without the pixels that leave the frame.

    Parameters
    ----------
    down, right : (documents,) int, or one number for all
        Shifts in pixels.
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
    """Shift every image at random; each shift of :func:`list_shifts` has the same probability."""
    uniforms = draw_uniforms(seed, MOVES, step, docs.documents, 2)  # do not depend on the mini-batch of a document
    down, right = (np.floor(uniforms * (2 * most + 1)).astype(np.int64) - most).T
    return shift_images(docs, shape, down, right)
