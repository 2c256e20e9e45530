"""Supervised deep autoencoding topic model: labels shape the topics, and are predicted.

Zhang, Chen, Cong, Guo, Liu and Zhou, "Deep autoencoding topic model with scalable hybrid Bayesian
inference" (TPAMI 2020), section III.  DATM with a Bayesian classifier on the activations of all layers: linear
(sDATM-L) or through a network (sDATM-N).  Documents without a label take part in all but the label term.
"""

from dataclasses import dataclass

import numpy as np

from engine import streams
from engine.autoencoder import amortised, encoder, ensemble, hybrid, hybrid_step, image_shifts
from engine.autoencoder.classifier import Classifier, features
from engine.autoencoder.encoder import PER_LAYER
from engine.autoencoder.hybrid import Chain, Settings, Setup, State
from engine.contract import Array, Batch, Facts, FloatArray, Kernel, Local, Sweeps, Topics
from engine.settings import ALWAYS, LABELS, PREDICTIONS, SWEEPS, SettingError, setting

TITLE = "sDATM: supervised deep autoencoding topic model"
STEPS = 3_500  # an encoder learns more slowly than topics that are swept
CHILD = "A parent is a mixture of the topics below it: the weight of a line is the child's part of its parent."
NEEDS_LABELS = True
_OF_LABELS = {
    "head_gain": "1", "hidden": "400-200", "shortcut": "false", "read_share": "1", "dropout": "0", "decay": "0",
    "encoders": "1", "moved": "0", "placed_by": "encoder", "predict_samples": "50",
}  # fmt: skip
PRESETS = {"paper": hybrid.PAPER | _OF_LABELS}
__all__ = ["CHILD", "NEEDS_LABELS", "PRESETS", "STEPS", "TITLE", "Config", "State", "build"]


@dataclass(frozen=True, kw_only=True)
class Config(Settings):
    """Settings of sDATM."""

    classifier: str = setting(
        "network",
        ALWAYS,
        "Classifier",
        "network: sDATM-N, more accurate; linear: sDATM-L, whose weights say what each topic stands for.",
        choices=("network", "linear"),
    )
    counts: str = setting(
        "mixed",
        SWEEPS,
        "Counts for the topics",
        "encoder: as the paper, labels reach the topics; gibbs: sweeps that know no labels; mixed: half of each; "
        "refined: sweeps that begin at the encoder's draw.",
        choices=("mixed", "encoder", "gibbs", "refined"),
    )
    head_gain: float = hybrid.head_gain_setting(4.0)
    label_weight: float = setting(
        100.0,
        LABELS,
        "Weight of labels",
        "Of a label's log-probability beside that of the words; ten times a document's words to predict best.",
        low=0,
        high=1e6,
    )
    label_start: int = setting(
        500,
        LABELS,
        "Labels from mini-batch",
        "Mini-batches without labels at first; none in a fork of a run of DATM, which has had them.",
        low=0,
        high=10**7,
    )
    label_ramp: int = setting(
        200, LABELS, "Label warm-up", "Mini-batches over which the weight of labels rises.", low=0, high=10**7
    )
    label_rate: float = setting(
        5e-4,
        LABELS,
        "Classifier step size",
        "Step size of Adam for the network of sDATM-N; its units die at the encoder's.",
        low=1e-8,
        high=1,
    )
    hidden: tuple[int, ...] = setting(
        (400, 200), LABELS, "Units of the network", "Widths a_1 and a_2 of sDATM-N.", low=1, high=65535
    )
    shortcut: bool = setting(
        True,
        LABELS,
        "Shortcut past the network",
        "The last layer of sDATM-N sees the topics too: the network adds to sDATM-L. Off: as the paper.",
    )
    read_share: float = setting(
        0.5,
        LABELS,
        "Words read for labels",
        "Share of a document's words, drawn anew each time, read once labels count; 1: all, as the paper.",
        low=0.01,
        high=1,
    )
    dropout: float = setting(
        0.5,
        LABELS,
        "Units left out",
        "Share of the encoder's units left out while labels are learned, others each time; 0: as the paper.",
        low=0,
        high=0.99,
    )
    decay: float = setting(
        5000.0,
        LABELS,
        "Decay of the encoder",
        "Over the number of labelled documents, how fast its weights fade, so that few are not learned by heart; "
        "0: as the paper.",
        low=0,
        high=1e9,
    )
    encoders: int = setting(
        1,
        LABELS,
        "Encoders",
        "Encoders on the same topics, each from its own start; a prediction is the mean of all. 1: as the paper.",
        low=1,
        high=20,
    )
    moved: int = setting(
        0,
        LABELS,
        "Pixels that pictures move",
        "At most, another way each time they are read, so that where a thing stands does not matter; 0: as the paper.",
        low=0,
        high=8,
    )
    placed_by: str = setting(
        "sweeps",
        SWEEPS,
        "Places of documents",
        "sweeps: Gibbs sweeps under the topics, as DLDA; encoder: as the paper, and nearly only by their label.",
        choices=("sweeps", "encoder"),
    )
    predict_samples: int = setting(
        50, PREDICTIONS, "Samples of a prediction", "Draws of activations and weights averaged.", low=1, high=10**4
    )


def build(config: Config, facts: Facts, n_threads: int = 1) -> Kernel:
    """The kernel of sDATM for a corpus; results do not depend on ``n_threads``.

    Raises
    ------
    SettingError
        When words that are no pixels are to be moved.
    """
    if config.moved and facts.image_shape is None:
        raise SettingError(f"only pictures can be moved; set moved to 0, got {config.moved}")
    at = hybrid.setup(config, facts, n_threads)
    return Kernel(
        batch_size=config.batch_size,
        real=True,
        measure="perplexity",
        init=lambda seed: _init(at, seed),
        prepare=lambda _seed, state, _docs: state,
        gather=lambda seed, state, docs, _local: (_gather(at, seed, state, docs), None),
        move=lambda seed, state, statistics: hybrid_step.move(at, seed, state, statistics, _head(at, seed, state)),
        infer=lambda seed, state, docs, sweeps=None: _infer(at, seed, state, docs, sweeps),
        topics=lambda state: Topics(state.phi, state.r),
        start_chain=lambda _seed, _state, _docs: Chain(np.array(0)),
        advance_chain=lambda *arguments: hybrid_step.advance(at, *arguments),
        keep=lambda state: _keep(at, state),
        restore=lambda seed, arrays: _restore(at, seed, arrays),
        predict=lambda seed, state, docs, draws=None: _predict(at, seed, state, docs, draws or config.predict_samples),
        reads=lambda state, docs: _reads(at, state, docs),
        work=config.encoders * hybrid.work(config.layers),
        asking=_asking(config),
    )


def _asking(config: Config) -> float:
    """What a draw of a prediction costs; measured with 1, 4 and 20 encoders, and with pictures that move and do not."""
    again = 1.5 if config.moved else 1.0  # for every way that a picture moves it is read anew
    return (350.0 + 1.3 * sum(config.layers)) * (0.9 + 0.1 * config.encoders) * again


def _gather(at: Setup, seed: int, state: State, docs: Batch) -> hybrid_step.Statistics:
    """What documents say; what images lose as they move counts among their tokens all the same."""
    config, shape, head = at.config, at.facts.image_shape, _head(at, seed, state)
    if not (shape and config.moved):
        return hybrid_step.gather(at, seed, state, docs, head)
    read = image_shifts.moved_at_random(docs, shape, config.moved, seed, int(state.t) + 1)
    return hybrid_step.gather(at, seed, state, read, head)._replace(tokens=int(docs.counts.sum()))


def _head(at: Setup, seed: int, state: State | None = None) -> Classifier:
    config, hidden = at.config, at.config.hidden if at.config.classifier == "network" else ()
    labels = (config.label_weight, _labels_since(at, state), config.label_ramp, config.label_rate)
    learning = (config.shortcut, config.dropout, config.decay)
    return Classifier(
        max(1, at.facts.n_classes), hidden, *labels, at.facts.n_documents, config.read_share, seed, *learning
    )


def _labels_since(at: Setup, state: State | None) -> int:
    """The mini-batch after which labels count: as set in a new run, that of the fork where an encoder was there."""
    return int(state.since[1]) if state is not None and state.since else at.config.label_start


def _init(at: Setup, seed: int) -> State:
    state = hybrid.init(at, seed, _head(at, seed).initial(seed, at.config.layers))
    return ensemble.begun(
        state, (_fresh(at, seed, number, at.config.layers) for number in range(1, at.config.encoders))
    )


def _fresh(at: Setup, seed: int, number: int, widths: tuple[int, ...]) -> tuple[FloatArray, ...]:
    """Weights at which a further encoder begins, with its classifier."""
    own = ensemble.seed_of(seed, number)
    rng = streams.generator(own, streams.ENCODER)
    encoding = encoder.initial(rng, at.facts.n_words, widths, at.config.head_gain)
    return (*encoding, *_head(at, own).initial(own, widths))


def _settled(state: State) -> State:
    """The state that reads and predicts documents: with the mean of the weights while labels were learned."""
    return state._replace(weights=state.steady or state.weights)


def _keep(at: Setup, state: State) -> dict[str, Array]:
    """As DATM, with all encoders, and how much every topic speaks for a class: ``class_weights.l`` (C, K_l)."""
    kept = hybrid.keep(_settled(state)) | {"labels_since": np.array(_labels_since(at, state))} | ensemble.keep(state)
    return kept | {f"class_weights.{layer}": table for layer, table in enumerate(_class_weights(at, state))}


def _class_weights(at: Setup, state: State) -> list[FloatArray]:
    """How much every topic speaks for a class, (C, K_l) a layer: the mean of all encoders, as predictions are."""
    widths = tuple(phi.shape[1] for phi in state.phi)
    heads = (_settled(member).weights[PER_LAYER * len(widths) :] for member in ensemble.members(state))
    tables = [_head(at, 0).class_weights(own, widths) for own in heads]
    return [np.asarray(sum(layers) / len(tables)) for layers in zip(*tables, strict=True)]


def _restore(at: Setup, seed: int, arrays: dict[str, Array]) -> State:
    n_layers = sum(name.startswith("phi.") for name in arrays)
    widths = tuple(arrays[f"phi.{layer}"].shape[1] for layer in range(n_layers))
    state = hybrid.restore(at, seed, arrays, _head(at, seed).initial(seed, widths))
    return ensemble.begun(state, (_further(at, seed, number, state, arrays) for number in range(1, at.config.encoders)))


def _further(at: Setup, seed: int, number: int, state: State, arrays: dict[str, Array]) -> tuple[FloatArray, ...]:
    """Weights of a further encoder that goes on from a snapshot.

    One that the parent lacks goes on from the parent's own, with a classifier of its own start: labels count at once,
    and an encoder that has never read would spoil the predictions of the others until it has caught up.
    """
    n, widths = PER_LAYER * len(state.phi), tuple(phi.shape[1] for phi in state.phi)
    fresh = _fresh(at, seed, number, widths)
    begin = state.weights[:n] if "weights.0" in arrays else fresh[:n]
    name = f"encoder.{number}"
    return (*hybrid.restored(arrays, name, begin), *hybrid.restored(arrays, name, fresh[n:], n))


def _infer(at: Setup, seed: int, state: State, docs: Batch, sweeps: Sweeps | None) -> Local:
    """Posterior means of theta of every layer.

    An encoder that learns labels comes to say of a document little but its class, so then sweeps place documents.
    """
    reads_labels = _head(at, seed, state).share(int(state.t)) > 0.0
    if reads_labels and at.config.placed_by == "sweeps":
        return amortised.swept(at, seed, state, docs, sweeps)
    return amortised.infer(at, _settled(state), docs)


def _reads(at: Setup, state: State, docs: Batch) -> list[FloatArray]:
    """Features of documents as the encoder means them."""
    theta = amortised.infer(at, _settled(state), docs).theta
    return features(theta, amortised.prior_of(at, state, docs).sizes)


def _predict(at: Setup, seed: int, state: State, docs: Batch, n_samples: int) -> FloatArray:
    """Probability of every class, averaged over encoders and draws of activations and weights (eq. 36)."""
    encoders = list(ensemble.members(state))
    each = -(-n_samples // len(encoders))
    report = [
        _report_moved(at, ensemble.seed_of(seed, number), _settled(member), docs, each)
        for number, member in enumerate(encoders)
    ]
    return np.asarray(sum(report) / len(report))


def _report_moved(at: Setup, seed: int, state: State, docs: Batch, n_samples: int) -> FloatArray:
    """Probability of every class by one encoder, averaged over the ways that pictures move, the shortest first."""
    if not at.config.moved or at.facts.image_shape is None:
        return _report(at, seed, state, docs, n_samples)
    ways = image_shifts.ways(at.config.moved)[:n_samples]
    each = -(-n_samples // len(ways))
    report = [
        _report(at, seed, state, image_shifts.moved(docs, at.facts.image_shape, *way), each, first)
        for first, way in zip(range(0, each * len(ways), each), ways, strict=True)
    ]
    return np.asarray(sum(report) / len(report))


def _report(at: Setup, seed: int, state: State, docs: Batch, n_samples: int, first_sample: int = 0) -> FloatArray:
    """Probability of every class by one encoder, averaged over draws."""
    head = _head(at, seed)
    own = state.weights[PER_LAYER * len(state.phi) :]
    chances: FloatArray = np.zeros((len(docs.documents), head.n_classes))
    for first, last, table, draws in amortised.draws(at, seed, state, docs, n_samples, first_sample):
        for number, (theta, sizes) in enumerate(draws, first_sample):
            chances[first:last] += head.chances(own, theta, sizes, table.documents, number)[: last - first]
    return chances / n_samples
