"""Double deep exponential family: a model of a table of counts with one hierarchy of its rows and one of its columns.

Ranganath, Tang, Charlin and Blei, "Deep exponential families" (AISTATS 2015), section 6.2, sparse gamma:

    x_ni ~ Pois(sum_k z_n1k y_i1k),   rows    z_l ~ Gam(a, rate a / (W_l z_{l+1})),
                                      columns y_l ~ Gam(a, rate a / (U_l y_{l+1})),   tops and weights Gam(a, rate 0.3)

with the same widths on both sides.  Rows are documents and columns are words: ``y_1`` takes the place of ``W_0``.
Gradients are pathwise; a step moves all columns and the rows of its mini-batch, or all rows of a small table.
"""

from dataclasses import dataclass

from topiary.engine.settings import ALWAYS, PRIORS, STEP_SIZES, SWEEPS, check, setting
from topiary.engine.shared_settings import EveryDocument, layers_setting

TITLE = "Double DEF: rows and columns in hierarchies"
CHILD = "A topic below another is one that rows with more of the one above have more of."
PRESETS = {
    "paper": {
        "layers": "100-30-15", "shape": "0.1", "rate": "0.3", "weight_shape": "0.1", "step": "0.2", "kappa": "0",
        "window": "10", "parameters": "softplus", "minibatches": "10000",
    }
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Config(EveryDocument):
    """Settings of the double DEF."""

    layers: tuple[int, ...] = layers_setting()
    batch_size: int = setting(
        20_000,
        SWEEPS,
        "Rows per step",
        "Approximate rows per step, each once in a pass; a larger table takes several steps a pass.",
        low=1,
        high=10**7,
    )
    draws: int = setting(
        1, SWEEPS, "Draws of a step", "Samples of every variable: more is slower and less noisy.", low=1, high=64
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
        ALWAYS,
        "Parameters of gamma laws",
        "logarithm: of shape and mean, which converge faster; softplus: of shape and scale, as in the paper.",
        choices=("logarithm", "softplus"),
    )
    shape: float = setting(
        0.1,
        PRIORS,
        "Shape of the units",
        "Of rows and columns, in every layer; small: few topics each.",
        low=1e-3,
        high=100,
    )
    rate: float = setting(0.3, PRIORS, "Rate of the top's units", "Their mean is shape / rate.", low=1e-3, high=1e3)
    weight_shape: float = setting(0.1, PRIORS, "Shape of the weights", "Small: sparse.", low=1e-3, high=100)
    weight_rate: float = setting(0.3, PRIORS, "Rate of the weights", "Of their prior.", low=1e-6, high=1e6)

    def __post_init__(self) -> None:
        check(self)
