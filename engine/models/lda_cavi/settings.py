"""Latent Dirichlet allocation by coordinate ascent on a variational bound; every step reads all documents.

Blei, Ng and Jordan, "Latent Dirichlet allocation" (JMLR 3, 2003), smoothed; the generative model:

    phi_k ~ Dir(beta),  theta_d ~ Dir(alpha),  z_di ~ Cat(theta_d),  w_di ~ Cat(phi_z).
"""

from dataclasses import dataclass

from topiary.engine.settings import SWEEPS, setting
from topiary.engine.shared_settings import EveryDocument, LdaSettings

TITLE = "LDA: latent Dirichlet allocation by coordinate ascent"
CHILD = "LDA has one layer: its topics have no children."
STEPS = 200
PRESETS = {"paper": {"start": "random", "alpha": "0", "beta": "0.05", "fresh_steps": "0", "minibatches": "100"}}


@dataclass(frozen=True, kw_only=True)
class Config(LdaSettings, EveryDocument):
    """Settings of LDA by coordinate ascent; the preset "paper" has the published values."""

    fresh_steps: int = setting(
        20,
        SWEEPS,
        "Steps with fresh documents",
        "First steps in which every document starts with equal topic shares, which gives better topics; later ones "
        "start with the shares of the step before, and the bound never falls.",
        low=0,
        high=10**7,
    )
