"""Latent Dirichlet allocation by Gibbs sampling, every document at every step.

Blei, Ng and Jordan, "Latent Dirichlet allocation" (JMLR 3, 2003); the generative model:

    phi_k ~ Dir(beta),  theta_d ~ Dir(alpha),  z_di ~ Cat(theta_d),  w_di ~ Cat(phi_z).
"""

from dataclasses import dataclass

from engine.settings import check
from engine.shared_settings import (
    EveryDocument,
    alpha_setting,
    beta_setting,
    check_priors,
    start_setting,
    topics_setting,
)

TITLE = "LDA: latent Dirichlet allocation by Gibbs sampling"
CHILD = "LDA has one layer: its topics have no children."
PRESETS = {"paper": {"start": "random", "alpha": "0", "beta": "0.05", "minibatches": "3500"}}


@dataclass(frozen=True, kw_only=True)
class Config(EveryDocument):
    """Settings of LDA by Gibbs sampling; the published ones are the preset "paper"."""

    layers: tuple[int, ...] = topics_setting()
    start: str = start_setting()
    alpha: tuple[float, ...] = alpha_setting(0.1)
    beta: tuple[float, ...] = beta_setting(0.05)

    def __post_init__(self) -> None:
        check(self)
        check_priors(self.layers, self.alpha)
