"""Supervised deep autoencoding topic model: labels shape the topics and are predicted.

Zhang, Chen, Cong, Guo, Liu and Zhou, "Deep autoencoding topic model with scalable hybrid Bayesian
inference" (TPAMI 2020), section III.  DATM with a Bayesian classifier on the activations of all layers: linear
(sDATM-L) or through a network (sDATM-N).  Documents without a label contribute to every term but that of the labels.
"""

from dataclasses import dataclass

from topiary.engine.settings import ALWAYS, LABELS, PREDICTIONS, SWEEPS, setting
from topiary.engine.shared_settings import ENCODER_COUNTS, PAPER, EncoderSettings, head_gain_setting

TITLE = "sDATM: supervised deep autoencoding topic model"
STEPS = 3_500  # an encoder learns more slowly than swept topics
CHILD = "A parent is a mixture of the topics below it: the weight of a line is the child's part of its parent."
NEEDS_LABELS = True
_LABEL_PRESET = {
    "head_gain": "1", "hidden": "400-200", "shortcut": "false", "read_share": "1", "dropout": "0", "decay": "0",
    "encoders": "1", "moved": "0", "placed_by": "encoder", "predict_samples": "50",
}  # fmt: skip
PRESETS = {"paper": PAPER | _LABEL_PRESET, "encoder": ENCODER_COUNTS}


@dataclass(frozen=True, kw_only=True)
class Config(EncoderSettings):
    """Settings of sDATM."""

    classifier: str = setting(
        "network",
        ALWAYS,
        "Classifier",
        "network: sDATM-N, more accurate; linear: sDATM-L, whose weights show the classes of each topic.",
        choices=("network", "linear"),
    )
    counts: str = setting(
        "mixed",
        SWEEPS,
        "Counts for the topics",
        "encoder: as the paper, labels reach the topics; gibbs: sweeps without labels; mixed: half of each; "
        "refined: sweeps that begin at the encoder's draw.",
        choices=("mixed", "encoder", "gibbs", "refined"),
    )
    head_gain: float = head_gain_setting(4.0)
    label_weight: float = setting(
        100.0,
        ALWAYS,
        "Weight of labels",
        "Of a label's log-probability relative to the words; ten times a document's words predicts best.",
        low=0,
        high=1e6,
    )
    label_start: int = setting(
        500,
        LABELS,
        "Labels from mini-batch",
        "First mini-batches, without labels; none in a fork of a run of DATM, which has read them.",
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
        "Step size of Adam for the network of sDATM-N; its units die at the encoder's step size.",
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
        "The last layer of sDATM-N reads the topics too: the network adds to sDATM-L. Off: as the paper.",
    )
    read_share: float = setting(
        0.5,
        LABELS,
        "Words read for labels",
        "Share of a document's words, drawn at each reading, once labels count; 1: all, as the paper.",
        low=0.01,
        high=1,
    )
    dropout: float = setting(
        0.5,
        LABELS,
        "Units left out",
        "Share of the encoder's units dropped at random while labels are learned; 0: as the paper.",
        low=0,
        high=0.99,
    )
    decay: float = setting(
        5000.0,
        LABELS,
        "Decay of the encoder",
        "Of its weights, divided by the number of labelled documents: prevents overfitting a few; 0: as the paper.",
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
        "Pixels that images shift",
        "At most, at random at each reading, so that the position of an object does not matter; 0: as the paper.",
        low=0,
        high=8,
    )
    placed_by: str = setting(
        "sweeps",
        SWEEPS,
        "Places of documents",
        "sweeps: Gibbs sweeps under the topics, as DLDA; encoder: as the paper, mostly by the label.",
        choices=("sweeps", "encoder"),
    )
    predict_samples: int = setting(
        50, PREDICTIONS, "Samples of a prediction", "Draws of activations and weights averaged.", low=1, high=10**4
    )
