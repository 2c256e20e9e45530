"""Kernel of latent Dirichlet allocation by stochastic variational inference (:mod:`engine.lda.variational`)."""

from topiary.engine.contract import Facts, Kernel
from topiary.engine.lda.variational import Pace, State, VariationalKernel
from topiary.engine.models.lda_svi.settings import Config

__all__ = ["Config", "State", "build"]


def build(config: Config, facts: Facts, n_threads: int = 1) -> Kernel:
    """Return the kernel of this model for a corpus; results do not depend on ``n_threads``."""
    return VariationalKernel(
        config, Pace(batch_size=config.batch_size, tau=config.tau, kappa=config.kappa), facts, n_threads
    )
