"""Deep exponential families by black-box variational inference.

Ranganath, Tang, Charlin and Blei, "Deep exponential families" (AISTATS 2015); equation numbers are that paper's.  The
generative model, with units of one family in every layer:

    x ~ Pois(W_0 z_1),   w_0 ~ Gam(0.1, rate 0.3)
    gamma      z_l ~ Gam(a, rate a / (W_l z_{l+1})),        top Gam(0.3, rate 0.3),  w ~ Gam(0.1, rate 0.3)
    bernoulli  z_l ~ Ber(sigmoid(W_l z_{l+1} + b)),         top Ber(0.1),            w, b ~ N(0, 1)
    poisson    z_l ~ Pois(W_l z_{l+1} + b),                 top Pois(0.1),           w, b ~ Gam(0.1, rate 0.3)
               or Pois(softplus(W_l z_{l+1} + b)),                                   w, b ~ N(0, 1)

The posterior is approximated by independent units and weights of the same families.  A step reads all training
documents, or the next part of a large corpus, and moves units and weights at once.
"""

from dataclasses import dataclass

from topiary.engine.settings import ALWAYS, PRIORS, STEP_SIZES, SWEEPS, SettingError, check, setting
from topiary.engine.shared_settings import EveryDocument, layers_setting

TITLE = "DEF: deep exponential family"
CHILD = "A topic below another is one whose mean rises (or falls, if marked so) with the one above."
PRESETS = {
    "paper": {
        "layers": "100-30-15", "family": "gamma", "gradient": "score", "start": "random", "parameters": "softplus",
        "samples": "64", "aside": "16", "step": "0.2", "kappa": "0", "window": "10", "batch_size": "1000",
        "weight_shape": "0.1", "weight_rate": "0.3", "shape": "0.3", "rate": "0.3", "on": "0.1",
        "minibatches": "10000",
    }
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Config(EveryDocument):
    """Settings of the deep exponential family; the preset "paper" holds those of the paper."""

    layers: tuple[int, ...] = layers_setting()
    family: str = setting(
        "gamma",
        ALWAYS,
        "Hidden units",
        "gamma: how much of a topic, mostly close to none; bernoulli: on or off; poisson: how many times.",
        choices=("gamma", "bernoulli", "poisson"),
    )
    link: str = setting(
        "log",
        ALWAYS,
        "Link of Poisson units",
        "log: weights are positive, a topic can only raise those below; softplus: weights may be negative.",
        choices=("log", "softplus"),
    )
    gradient: str = setting(
        "implicit",
        ALWAYS,
        "Gradients",
        "implicit: through the draws of gamma variables, with far less noise; score: the score function of the paper "
        "for all (units that are on or off, or counts, always use it).",
        choices=("implicit", "score"),
    )
    start: str = setting(
        "clusters",
        ALWAYS,
        "Start of the topics",
        "clusters: from groups of similar documents (k-means); random: as in the paper's released code.",
        choices=("clusters", "random"),
    )
    batch_size: int = setting(
        20_000,
        SWEEPS,
        "Documents per step",
        "Approximate documents per step, each once in a pass; a larger corpus takes several steps a pass.",
        low=1,
        high=10**7,
    )
    samples: int = setting(
        64, SWEEPS, "Samples of the score function", "Draws of every variable in a step.", low=2, high=4096
    )
    aside: int = setting(
        16,
        SWEEPS,
        "Samples set aside",
        "Samples that only estimate the control variate, which lowers the noise of the others.",
        low=1,
        high=4096,
    )
    draws: int = setting(
        1,
        SWEEPS,
        "Draws of the weights",
        "Per step, with implicit gradients: more is slower and less noisy.",
        low=1,
        high=64,
    )
    step: float = setting(0.1, STEP_SIZES, "First step size", "Of RMSProp.", low=1e-6, high=10)
    tau: float = setting(50.0, STEP_SIZES, "Step delay tau", "Larger: steps stay large for longer.", low=0, high=1e6)
    kappa: float = setting(
        0.6, STEP_SIZES, "Step decay kappa", "How fast steps shrink; 0 keeps them, as the paper does.", low=0, high=1
    )
    window: float = setting(
        10.0, STEP_SIZES, "Window of RMSProp", "Steps over which the size of gradients is averaged.", low=1, high=1e6
    )
    parameters: str = setting(
        "logarithm",
        STEP_SIZES,
        "Parameters of gamma laws",
        "logarithm: of shape and mean, which converge faster; softplus: of shape and scale, as in the paper.",
        choices=("logarithm", "softplus"),
    )
    shape: float = setting(0.3, PRIORS, "Shape of gamma units", "Small: few topics a document.", low=1e-3, high=100)
    rate: float = setting(
        0.3, PRIORS, "Rate of the top's gamma units", "Their mean is shape / rate.", low=1e-3, high=1e3
    )
    on: float = setting(
        0.1, PRIORS, "Mean of the top's units", "Chance of Bernoulli, rate of Poisson units.", low=1e-4, high=0.99
    )
    weight_shape: float = setting(0.03, PRIORS, "Shape of gamma weights", "Small: sparse.", low=1e-3, high=100)
    weight_rate: float = setting(0.3, PRIORS, "Rate of gamma weights", "Of their prior.", low=1e-6, high=1e6)

    def __post_init__(self) -> None:
        check(self)
        if self.link == "softplus" and self.family != "poisson":
            raise SettingError("link softplus needs family poisson; got " + self.family)
        if self.aside >= self.samples:
            raise SettingError(f"aside must be less than samples = {self.samples}; got {self.aside}")
        if self.draws > self.samples:
            raise SettingError(f"draws must be at most samples = {self.samples}; got {self.draws}")
