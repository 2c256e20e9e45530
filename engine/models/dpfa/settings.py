"""Deep Poisson factor analysis: a network of binary units selects the topics of a document.

Gan, Chen, Henao, Carlson and Carin, "Scalable deep Poisson factor analysis for topic modeling" (ICML 2015); equation
numbers are that paper's.  The generative model, with p = 1/2:

    h^(L) ~ Bernoulli(sigmoid(c^(L))),  h^(l) ~ Bernoulli(sigmoid(W^(l) h^(l+1) + c^(l))),
    theta_k ~ Gam(r_k, p / (1 - p)),  x ~ Pois(Phi (theta o h^(1))),  phi_k ~ Dir(a_phi),  r_k ~ Gam(gamma_0, 1/c_0).

With one layer it is NB-FTM (Zhou and Carin, 2015).
"""

import itertools
from dataclasses import dataclass

from topiary.engine import shared_settings
from topiary.engine.contract import Facts
from topiary.engine.settings import ALWAYS, PRIORS, STEP_SIZES, SWEEPS, SettingError, check, setting
from topiary.engine.shared_settings import layers_setting

TITLE = "DPFA: deep Poisson factor analysis"
CHILD = "A child is a topic that documents use more often (or, with a dashed line, less often) when its parent is on."
PRESETS = {
    "paper": {
        "inference": "gibbs", "shrinkage": "student", "start": "flat", "everything_on": "50", "a_phi": "0.05",
        "gamma0": "1", "c0": "1", "minibatches": "3500",
    },
    "paper-sgnht": {
        "inference": "sgnht", "shrinkage": "gaussian", "start": "flat", "topic_step": "sgrld", "step": "0.1",
        "tau": "0", "kappa": "0.33", "batch_size": "100", "burn_in": "20", "collect": "3", "everything_on": "0",
        "minibatches": "3500",
    },
    "paper-bcdf": {
        "inference": "bcdf", "shrinkage": "gaussian", "start": "flat", "batch_size": "100",
        "filter_burn_in": "60", "filter_collect": "40", "everything_on": "0", "minibatches": "3500",
    },
}  # fmt: skip
MOST_MOMENTS = 100_000_000  # numbers in the Gram matrices of the links: 0.8 GB


@dataclass(frozen=True, kw_only=True)
class Config:
    """Settings of DPFA; the presets are the settings of the paper."""

    layers: tuple[int, ...] = layers_setting()
    hierarchy: str = setting(
        "sbn",
        ALWAYS,
        "Hierarchy",
        "sbn: a directed network, whose units above explain those below; rbm: an undirected one, in mini-batches only.",
        choices=("sbn", "rbm"),
    )
    inference: str = setting(
        "auto",
        ALWAYS,
        "Inference",
        "auto: sweeps of every document (gibbs) where the corpus allows, else sgnht; sgnht and bcdf read mini-batches.",
        choices=("auto", "gibbs", "bcdf", "sgnht"),
    )
    shrinkage: str = setting(
        "student",
        ALWAYS,
        "Shrinkage of the weights",
        "student: most weights near 0 and a few large ones, which is easier to read; gaussian: all weights alike.",
        choices=("student", "gaussian"),
    )
    start: str = setting(
        "clusters",
        ALWAYS,
        "Start of the topics",
        "clusters: from groups of similar documents (k-means); flat: nearly equal ones, as the paper.",
        choices=("clusters", "flat"),
    )
    everything_on: int = setting(
        50,
        SWEEPS,
        "First steps with every topic on",
        "Steps before the network is first drawn, so that topics find their words first.",
        low=0,
        high=10**6,
    )
    batch_size: int = setting(
        100, SWEEPS, "Mini-batch size", "Documents per mini-batch (not used by Gibbs).", low=1, high=10**7
    )
    burn_in: int = setting(
        20, SWEEPS, "Burn-in sweeps", "SGNHT: local sweeps of a mini-batch before any is kept.", low=0, high=10**4
    )
    collect: int = setting(
        3, SWEEPS, "Collected sweeps", "SGNHT: local sweeps of a mini-batch that are kept.", low=1, high=10**4
    )
    filter_burn_in: int = setting(
        60, SWEEPS, "Burn-in sweeps of BCDF", "BCDF: local sweeps before any is kept.", low=0, high=10**4
    )
    filter_collect: int = setting(
        40, SWEEPS, "Collected sweeps of BCDF", "BCDF: local sweeps whose counts are kept.", low=1, high=10**4
    )
    forget: float = setting(
        0.0,
        SWEEPS,
        "Forgetting of BCDF",
        "Part of the sums that every mini-batch replaces; 0: all mini-batches weigh the same, as in the paper.",
        low=0,
        high=1,
    )
    topic_step: str = setting(
        "exact",
        STEP_SIZES,
        "Step of the topics",
        "SGNHT: exact transitions with a step for every topic; clamp: their Euler steps; sgrld: as the paper.",
        choices=("exact", "clamp", "sgrld"),
    )
    step: float = shared_settings.first_setting()
    tau: float = shared_settings.delay_setting()
    kappa: float = shared_settings.decay_setting()
    weight_step: float = setting(
        4.5e-4,
        STEP_SIZES,
        "Step of the weights",
        "SGNHT: square of the step size, times the number of documents.",
        low=1e-12,
        high=1,
    )
    noise: float = setting(
        8e-4, STEP_SIZES, "Noise of the thermostats", "SGNHT: noise C that is injected.", low=1e-12, high=1
    )
    a_phi: float = setting(
        0.05, PRIORS, "Topic smoothing a_phi", "Dirichlet parameter of the topics.", low=1e-6, high=100
    )
    gamma0: float = setting(1.0, PRIORS, "gamma_0", "Shape of the prior of r.", low=1e-9)
    c0: float = setting(1.0, PRIORS, "c_0", "Rate of the prior of r.", low=1e-9)

    def __post_init__(self) -> None:
        check(self)
        if self.hierarchy == "rbm" and self.inference in ("gibbs", "bcdf"):
            raise SettingError(f"hierarchy rbm needs inference sgnht (or auto); got {self.inference}")
        if self.inference in ("gibbs", "bcdf") and self.moments > MOST_MOMENTS:
            raise SettingError(f"layers as wide as these need inference sgnht; got {self.inference}")

    @property
    def moments(self) -> int:
        """Number of entries of the Gram matrices that are needed to draw the weights."""
        links = itertools.pairwise(self.layers)
        return sum(below * (above + 1) * (above + 2) // 2 for below, above in links)

    @property
    def until_plateau(self) -> bool:
        """True if a run without a given length ends when its curve no longer falls."""
        return self.inference == "auto"

    def sweeps_after(self, facts: Facts) -> int | None:
        """Return 0 if every step sweeps all documents, else None (see ``Kernel.sweeps_after``)."""
        return 0 if self.choose_inference(facts) == "gibbs" else None

    def choose_inference(self, facts: Facts) -> str:
        """Return the inference that was set, or the one that ``auto`` chooses for a corpus."""
        if self.inference != "auto":
            return self.inference
        swept = (
            self.hierarchy == "sbn"
            and self.moments <= MOST_MOMENTS
            and shared_settings.find_sweeps_start(facts) is not None
        )
        return "gibbs" if swept else "sgnht"
