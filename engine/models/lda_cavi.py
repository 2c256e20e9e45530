"""Latent Dirichlet allocation by coordinate ascent on a variational bound, every document at every step.

Blei, Ng and Jordan, "Latent Dirichlet allocation" (JMLR 3, 2003), smoothed; the generative model:

    phi_k ~ Dir(beta),  theta_d ~ Dir(alpha),  z_di ~ Cat(theta_d),  w_di ~ Cat(phi_z).
"""

from dataclasses import dataclass

from engine.contract import Facts, Kernel
from engine.lda import priors, variational
from engine.lda.variational import State
from engine.settings import SWEEPS, check, setting

__all__ = ["CHILD", "PRESETS", "STEPS", "TITLE", "Config", "State", "build"]

TITLE = "LDA: latent Dirichlet allocation by coordinate ascent"
CHILD = "LDA has one layer: its topics have no children."
STEPS = 200
PRESETS = {"paper": {"start": "random", "alpha": "0", "beta": "0.05", "fresh_steps": "0", "minibatches": "100"}}


@dataclass(frozen=True, kw_only=True)
class Config:
    """Settings of LDA by coordinate ascent; the published ones are the preset "paper"."""

    layers: tuple[int, ...] = priors.topics_setting()
    start: str = priors.start_setting()
    alpha: tuple[float, ...] = priors.alpha_setting(0.1)
    beta: tuple[float, ...] = priors.beta_setting(0.05)
    fresh_steps: int = setting(
        20,
        SWEEPS,
        "Steps with fresh documents",
        "At so many first steps every document begins with equal topic shares, which ends in better topics; from then "
        "on it goes on from its shares of the step before, and the bound never falls.",
        low=0,
        high=10**7,
    )

    def __post_init__(self) -> None:
        check(self)
        priors.check_priors(self.layers, self.alpha)

    @property
    def until_plateau(self) -> bool:
        """A run whose length nobody gave ends once the bound no longer rises."""
        return True

    def sweeps_after(self, _facts: Facts) -> int:
        """Every step reads all documents."""
        return 0


def build(config: Config, facts: Facts, n_threads: int = 1) -> Kernel:
    """The kernel of LDA by coordinate ascent for a corpus; results do not depend on ``n_threads``."""
    rule = variational.Rule(
        n_topics=config.layers[0],
        alpha=config.alpha,
        beta=priors.betas(config.beta, facts.n_words),
        start=config.start,
        batch_size=None,
        step=lambda _t: 1.0,
        fresh=config.fresh_steps,
        measured=1,
    )
    return variational.kernel_of(rule, facts, n_threads)
