"""Kernel of latent Dirichlet allocation by stochastic variational inference, a mini-batch of documents at every step.

The model is in :mod:`engine.models.lda_svi`.
"""

from engine import shared_settings
from engine.contract import Facts, Kernel
from engine.lda import variational
from engine.lda.variational import State
from engine.models.lda_svi import Config

__all__ = ["Config", "State", "build"]


def build(config: Config, facts: Facts, n_threads: int = 1) -> Kernel:
    """Return the kernel of LDA by stochastic variational inference; results do not depend on ``n_threads``."""
    rule = variational.VariationalRule(
        n_topics=config.layers[0],
        alpha=config.alpha,
        beta=shared_settings.expand_beta(config.beta, facts.n_words),
        start=config.start,
        batch_size=config.batch_size,
        step=lambda t: float((t + config.tau) ** -config.kappa),
        fresh=None,
        measured=10,
    )
    return variational.build_kernel(rule, facts, n_threads)
