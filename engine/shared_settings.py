"""Settings that several models share: fields of a Config, and all settings of the models with an encoder.

Decreasing step sizes of stochastic-gradient MCMC.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from topiary.engine.contract import Facts, FloatArray
from topiary.engine.settings import ALWAYS, ENCODER, PRIORS, STEP_SIZES, SWEEPS, WIDTHS, SettingError, check, setting

MOST_SWEPT = 30_000_000  # tokens: then a sweep takes about two seconds on two cores, and its state about 100 MB


class Schedule(NamedTuple):
    """``eps_t = first ((tau + t) / (tau + 1))^-kappa`` for mini-batches t = 1, 2, ...; ``eps_1 = first``.

    This is the form of the DLDA authors; the paper's ``a (1 + t / b)^-c`` has ``first = a ((b + 1) / b)^-c``.
    """

    first: float = 1.0
    tau: float = 20.0
    kappa: float = 0.7


def step_size(schedule: Schedule, t: int) -> float:
    """Return ``eps_t`` of mini-batch ``t``, counted from 1."""
    return float(schedule.first * ((schedule.tau + t) / (schedule.tau + 1.0)) ** -schedule.kappa)


def update_average(old: FloatArray, new: FloatArray, rate: float) -> FloatArray:
    """Return a running average M after one more estimate; an average that is all zero becomes the first estimate."""
    return np.asarray((1.0 - rate) * old + rate * new) if old.any() else new


def find_sweeps_start(facts: Facts) -> int | None:
    """Return the number of mini-batches after which an ``auto`` run continues with sweeps; None if it never does.

    Topics start as clusters of documents (:mod:`engine.first_topics`), so sweeps begin at once: mini-batches before
    them made topics worse on both corpora measured (see the measurements in the guide).  Corpora too large for sweeps
    of a few seconds stay with mini-batches.

    Parameters
    ----------
    facts : Facts
        Sizes of the corpus.
    """
    return None if facts.n_tokens > MOST_SWEPT else 0


def first_setting() -> Any:
    """Return the field ``step`` of a Config."""
    return setting(
        1.0, STEP_SIZES, "First step size", "eps_1 of eps_t = eps_1 ((tau + t)/(tau + 1))^-kappa.", low=1e-9, high=100
    )


def delay_setting() -> Any:
    """Return the field ``tau`` of a Config."""
    return setting(20.0, STEP_SIZES, "Step delay tau", "Larger: steps stay large for longer.", low=0, high=1e6)


def decay_setting() -> Any:
    """Return the field ``kappa`` of a Config."""
    return setting(0.7, STEP_SIZES, "Step decay kappa", "How fast steps shrink.", low=0, high=1)


def scale_setting() -> Any:
    """Return the field ``scale_step`` of a Config."""
    return setting(
        0.5,
        STEP_SIZES,
        "Preconditioner step",
        "eps'_t / eps_t of the running averages M (the authors' code halves it).",
        low=1e-6,
        high=1,
    )


MOST_DEVICE_TOPICS = 1024  # of a layer: what the memory of the lanes of a graphics processor holds
GUESSED = 50.0  # sum of alpha over the topics if none is given

# The paper's settings for all models with an encoder.  Only the second head differs: with ``head=scale`` (eq. 24) and
# the full divergence, the encoder stops describing the documents within a thousand mini-batches.
PAPER = {
    "inference": "whai", "batch_size": "200", "inputs": "log", "prior": "paper", "head": "mean", "kl_weight": "1",
    "counts": "encoder", "refine": "0", "simplex": "clamp", "shape": "topic", "split": "1",
}  # fmt: skip
# The encoder as the only source of counts, made to work.  Prior and heads are the paper's; shape, weight of the
# divergence and no downward term those of later code of its authors; the split of the words and the step size ours.
ENCODER_COUNTS = {
    "inference": "iwhai", "batch_size": "200", "head": "mean", "shape": "document", "split": "0.7", "kl_weight": "0.05",
    "learning_rate": "0.01", "prior": "paper", "counts": "encoder", "refine": "0", "simplex": "clamp",
}  # fmt: skip


class EveryDocument:
    """Base of a Config whose model reads all training documents in every step."""

    @property
    def until_plateau(self) -> bool:
        """True: a run without a given length ends when its curve no longer improves."""
        return True

    def sweeps_after(self, _facts: Facts) -> int:
        """Return 0: sweeps of all documents begin with the first step (see ``Kernel.sweeps_after``)."""
        return 0


def layers_setting() -> Any:
    """Return the field ``layers`` of a Config."""
    return setting(
        (128, 64, 32),
        ALWAYS,
        "Topics per layer",
        "Widths from the layer next to the words upwards, for example 128-64-32.",
        low=1,
        high=65535,
    )


def explain_device_width(layers: tuple[int, ...]) -> str:
    """Return why a graphics processor cannot sweep layers of these widths; an empty text if it can."""
    if max(layers) <= MOST_DEVICE_TOPICS:
        return ""
    return f"a layer has at most {MOST_DEVICE_TOPICS:,} topics on a graphics processor; got {max(layers):,}"


def grow_setting() -> Any:
    """Return the field ``grow`` of a Config."""
    return setting(
        False,
        WIDTHS,
        "Learn the widths layer by layer",
        "Start with one layer as wide as the first of the topics per layer, add the others one by one, and "
        "prune from each the topics it does not need; of the other widths only their number counts.",
    )


def every_setting() -> Any:
    """Return the field ``grow_every`` of a Config."""
    return setting(
        500,
        WIDTHS,
        "Steps per added layer",
        "When widths are learnt: mini-batches (sweeps of Gibbs) before a layer is pruned and the next is added.",
        low=1,
        high=10**7,
    )


def below_setting() -> Any:
    """Return the field ``prune_below`` of a Config."""
    return setting(
        0.01,
        WIDTHS,
        "Prune topics below",
        "When widths are learnt: a topic of the newest layer is removed when its weight r_k is below this.",
        low=0,
        high=100,
    )


def count_growth_steps(config: Any) -> int:
    """Return the number of steps after which learned widths are final; 0 if the widths are given."""
    return len(config.layers) * config.grow_every if getattr(config, "grow", False) else 0


def concentrations_setting(drawn: str, given: str) -> Any:
    """Return the field ``learn_concentrations`` of a Config; ``drawn`` and ``given`` name the priors in its help."""
    return setting(
        False,
        PRIORS,
        "Learn the concentrations",
        f"Draw {drawn} in every sweep of all documents, instead of keeping the given numbers; {given}",
    )


def simplex_setting(default: str) -> Any:
    """Return the field ``simplex`` of a Config."""
    return setting(
        default,
        STEP_SIZES,
        "Step on the simplex",
        "exact: no error; clamp: the paper's Euler step, entries at least 2.2e-16; reflect: made positive.",
        choices=("exact", "clamp", "reflect"),
    )


@dataclass(frozen=True, kw_only=True)
class LdaSettings:
    """Settings of every LDA model: a single layer of topics, and Dirichlet priors."""

    layers: tuple[int, ...] = setting(
        (128,), ALWAYS, "Topics", "Number of topics; LDA has one layer.", low=1, high=65535
    )
    start: str = setting(
        "clusters",
        ALWAYS,
        "Start of the topics",
        "clusters: from groups of similar documents (k-means), which gives far better topics; random: nearly equal "
        "ones, as published.",
        choices=("clusters", "random"),
    )
    alpha: tuple[float, ...] = setting(
        (0.1,),
        PRIORS,
        "Topic shares alpha",
        "Dirichlet parameter of every document's topic shares: one number, or one per topic separated by commas; small "
        "(0.1 is usual): few topics in a document; 0: 50 divided by the number of topics, as often published.",
        low=0,
        high=1000,
    )
    beta: tuple[float, ...] = setting(
        (0.05,),
        PRIORS,
        "Topic smoothing beta",
        "Dirichlet parameter of the topics: one number, or one per word of the vocabulary; larger is smoother; 0.05, "
        "0.1 and 0.01 are usual.",
        low=1e-6,
        high=100,
    )

    def __post_init__(self) -> None:
        check(self)
        if len(self.layers) != 1:
            widths = "-".join(map(str, self.layers))
            raise SettingError(
                f"layers must be a single number of topics, such as 128, as LDA has one layer; got {widths}"
            )
        if len(self.alpha) not in (1, self.layers[0]):
            raise SettingError(f"alpha needs 1 value or {self.layers[0]}, one per topic; got {len(self.alpha)}")
        if len(self.alpha) > 1 and min(self.alpha) <= 0.0:
            raise SettingError("alpha must be above 0 for every topic where there is one per topic; got 0")

    def expand_alpha(self, n_topics: int) -> FloatArray:
        """Return alpha of every topic, (K,): the given numbers, or their mean for all if there are not K of them."""
        if len(self.alpha) == n_topics and min(self.alpha) > 0.0:
            return np.array(self.alpha, dtype=np.float64)
        mean = sum(self.alpha) / len(self.alpha)
        return np.full(n_topics, mean if mean > 0.0 else GUESSED / n_topics)

    def expand_beta(self, n_words: int) -> FloatArray:
        """Return beta of every word, (V,)."""
        if len(self.beta) not in (1, n_words):
            raise SettingError(f"beta needs 1 value or {n_words}, one per word of the vocabulary; got {len(self.beta)}")
        return np.array(self.beta, dtype=np.float64) if len(self.beta) == n_words else np.full(n_words, self.beta[0])


class EncoderShape(NamedTuple):
    """The kind of an encoder.

    Attributes
    ----------
    posterior : str
        "weibull" or "gamma", a key of ``encoder.POSTERIORS``.
    downward : bool
        Whether the shape depends on the layer above (eq. 22); not in IWHAI.
    by_mean : bool
        Whether the second head is the posterior mean; if not, it is lambda itself, as in eq. 24.
    per_document : bool
        Whether the topics of a layer share one shape, between 0.1 and 10, in a document; not in eq. 23.
    """

    posterior: str = "weibull"
    downward: bool = True
    by_mean: bool = True
    per_document: bool = False


def head_gain_setting(default: float) -> Any:
    """Return the field ``head_gain`` of a Config."""
    return setting(
        default,
        ENCODER,
        "Start of the second head",
        "Its first weights, times Glorot's; above 1 separates documents from the start, which labels need.",
        low=1e-3,
        high=100,
    )


@dataclass(frozen=True, kw_only=True)
class EncoderSettings:
    """Settings of every model with an encoder."""

    layers: tuple[int, ...] = layers_setting()
    inference: str = setting(
        "whai",
        ALWAYS,
        "Inference",
        "whai: Weibull encoder, topics by MCMC; wai: topics by gradients; iwhai: no downward path; ghai: gamma.",
        choices=("whai", "wai", "iwhai", "ghai"),
    )
    batch_size: int = setting(200, ALWAYS, "Mini-batch size", "Documents per mini-batch.", low=1, high=10**7)
    inputs: str = setting(
        "log",
        ENCODER,
        "Input of the encoder",
        "log: ln(1 + count), as the paper; tfidf: times the inverse document frequency, all documents of one length.",
        choices=("log", "tfidf"),
    )
    learning_rate: float = setting(
        5e-3,
        ALWAYS,
        "Encoder step size",
        "Step size of Adam for the encoder's weights; falls as (1 + t/1000)^-1/2.",
        low=1e-8,
        high=1,
    )
    prior: str = setting(
        "matched",
        PRIORS,
        "Prior scale",
        "matched: r is learned and c^(2) follows each document's length; paper: r = c = 1 as in the experiments.",
        choices=("matched", "paper"),
    )
    head: str = setting(
        "mean",
        ENCODER,
        "Second head",
        "mean: the encoder's output is the posterior mean; scale: Weibull's lambda itself, as in equation 24.",
        choices=("mean", "scale"),
    )
    head_gain: float = head_gain_setting(1.0)
    shape: str = setting(
        "topic",
        ENCODER,
        "Shape of the posterior",
        "topic: one k per topic, as equation 23; document: one for all topics of a layer, from 0.1 to 10.",
        choices=("topic", "document"),
    )
    split: float = setting(
        1.0,
        ENCODER,
        "Words that the encoder reads",
        "Share of a document's words, drawn at each reading; the others judge what the encoder makes of them. 1: all.",
        low=0.05,
        high=1,
    )
    kl_weight: float = setting(
        0.1,
        ENCODER,
        "Weight of the divergence",
        "1 is the evidence lower bound; a Weibull cannot fit a sparse gamma prior, so less gives better activations.",
        low=0,
        high=100,
    )
    kl_warm_up: int = setting(
        200, ENCODER, "Divergence warm-up", "Mini-batches over which its weight rises from 0.", low=0, high=10**7
    )
    counts: str = setting(
        "gibbs",
        SWEEPS,
        "Counts for the topics",
        "gibbs: a few sweeps of the mini-batch; encoder: one draw of the encoder, as Algorithm 1; refined: sweeps that "
        "begin at that draw.",
        choices=("gibbs", "encoder", "refined"),
    )
    burn_in: int = setting(
        5, SWEEPS, "Burn-in sweeps per layer", "Gibbs sweeps per layer before counts are kept.", low=0, high=10**4
    )
    collect: int = setting(
        5, SWEEPS, "Collected sweeps per layer", "Gibbs sweeps per layer whose counts are kept.", low=1, high=10**4
    )
    refine: int = setting(
        3,
        SWEEPS,
        "Gibbs sweeps per layer after the encoder",
        "Sweeps per layer that refine the encoder's draw before it rates held-out words; 0: the encoder alone.",
        low=0,
        high=10**4,
    )
    topic_rate: float = setting(
        0.3,
        STEP_SIZES,
        "Step size of topics",
        "Of Adam, where topics move by gradients (wai); falls as the encoder's.",
        low=1e-8,
        high=10,
    )
    eta: float = setting(0.05, PRIORS, "Topic smoothing eta", "Dirichlet parameter of the topics.", low=1e-6, high=100)
    step: float = first_setting()
    tau: float = delay_setting()
    kappa: float = decay_setting()
    scale_step: float = scale_setting()
    simplex: str = simplex_setting("clamp")
    gamma0: float = setting(1.0, PRIORS, "gamma_0", "Total shape of the prior of r.", low=1e-9)
    c0: float = setting(1.0, PRIORS, "c_0", "Rate of the prior of r.", low=1e-9)

    def __post_init__(self) -> None:
        check(self)
        if self.inputs == "tfidf" and self.prior == "paper":
            raise SettingError("inputs tfidf needs prior matched, which gives the encoder a document's length")

    def list_etas(self, n_layers: int) -> tuple[float, ...]:
        """Return the Dirichlet parameters of the layers of a run."""
        return (self.eta,) * n_layers

    def explain_device_refusal(self) -> str:
        """Return why a graphics processor cannot sweep documents; an empty text if it can."""
        if self.inference == "wai" and self.counts == "encoder":
            return (
                "a graphics processor counts tokens, which wai with counts of the encoder does not; set counts to gibbs"
            )
        return explain_device_width(self.layers)

    @property
    def until_overfit(self) -> bool:
        """True: a run without a given length ends once its curve rises again, as encoders memorise documents."""
        return True

    @property
    def encoder_shape(self) -> EncoderShape:
        """The kind of encoder."""
        family = "gamma" if self.inference == "ghai" else "weibull"
        return EncoderShape(family, self.inference != "iwhai", self.head == "mean", self.shape == "document")
