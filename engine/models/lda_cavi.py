"""Latent Dirichlet allocation by coordinate ascent on a variational bound, every document at every step.

Blei, Ng and Jordan, "Latent Dirichlet allocation" (JMLR 3, 2003), smoothed; the generative model:

    phi_k ~ Dir(beta),  theta_d ~ Dir(alpha),  z_di ~ Cat(theta_d),  w_di ~ Cat(phi_z).
"""

from dataclasses import dataclass

from engine.settings import SWEEPS, check, setting
from engine.shared_settings import (
    EveryDocument,
    alpha_setting,
    beta_setting,
    check_priors,
    start_setting,
    topics_setting,
)

TITLE = "LDA: latent Dirichlet allocation by coordinate ascent"
CHILD = "LDA has one layer: its topics have no children."
STEPS = 200
PRESETS = {"paper": {"start": "random", "alpha": "0", "beta": "0.05", "fresh_steps": "0", "minibatches": "100"}}


@dataclass(frozen=True, kw_only=True)
class Config(EveryDocument):
    """Settings of LDA by coordinate ascent; the published ones are the preset "paper"."""

    layers: tuple[int, ...] = topics_setting()
    start: str = start_setting()
    alpha: tuple[float, ...] = alpha_setting(0.1)
    beta: tuple[float, ...] = beta_setting(0.05)
    fresh_steps: int = setting(
        20,
        SWEEPS,
        "Steps with fresh documents",
        "First steps in which every document starts with equal topic shares, which gives better topics; later ones "
        "start with the shares of the step before, and the bound never falls.",
        low=0,
        high=10**7,
    )

    def __post_init__(self) -> None:
        check(self)
        check_priors(self.layers, self.alpha)
