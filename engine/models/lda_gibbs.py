"""Latent Dirichlet allocation by Gibbs sampling; every step reads all documents.

Blei, Ng and Jordan, "Latent Dirichlet allocation" (JMLR 3, 2003); the generative model:

    phi_k ~ Dir(beta),  theta_d ~ Dir(alpha),  z_di ~ Cat(theta_d),  w_di ~ Cat(phi_z).
"""

from dataclasses import dataclass

from engine.shared_settings import EveryDocument, LdaSettings

TITLE = "LDA: latent Dirichlet allocation by Gibbs sampling"
CHILD = "LDA has one layer: its topics have no children."
PRESETS = {"paper": {"start": "random", "alpha": "0", "beta": "0.05", "minibatches": "3500"}}


@dataclass(frozen=True, kw_only=True)
class Config(LdaSettings, EveryDocument):
    """Settings of LDA by Gibbs sampling; the preset "paper" has the published values."""
