"""Latent Dirichlet allocation by stochastic variational inference; every step reads a mini-batch.

Hoffman, Blei and Bach, "Online learning for latent Dirichlet allocation" (NIPS 2010) and Hoffman, Blei, Wang and
Paisley, "Stochastic variational inference" (JMLR 14, 2013); the generative model:

    phi_k ~ Dir(beta),  theta_d ~ Dir(alpha),  z_di ~ Cat(theta_d),  w_di ~ Cat(phi_z).
"""

from dataclasses import dataclass

from topiary.engine.settings import STEP_SIZES, SWEEPS, SettingError, setting
from topiary.engine.shared_settings import LdaSettings

TITLE = "LDA: latent Dirichlet allocation by stochastic variational inference"
CHILD = "LDA has one layer: its topics have no children."
PRESETS = {
    "paper": {
        "start": "random", "alpha": "0", "beta": "0.05", "batch_size": "256", "tau": "1", "kappa": "0.7",
        "minibatches": "2000",
    }
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Config(LdaSettings):
    """Settings of LDA by stochastic variational inference; the preset "paper" has the published values."""

    batch_size: int = setting(256, SWEEPS, "Mini-batch size", "Documents per mini-batch.", low=1, high=10**7)
    tau: float = setting(
        64.0,
        STEP_SIZES,
        "Step delay tau",
        "Of the steps (t + tau)^-kappa; larger: first steps are smaller.",
        low=0,
        high=1e6,
    )
    kappa: float = setting(
        0.7,
        STEP_SIZES,
        "Step decay kappa",
        "How fast steps shrink: above 0.5, so that they converge, and at most 1.",
        low=0.5,
        high=1,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kappa <= 0.5:
            raise SettingError(f"kappa must be above 0.5, or the steps do not converge; got {self.kappa}")
