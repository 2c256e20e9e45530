"""Kernel of latent Dirichlet allocation by coordinate ascent; the model is in :mod:`engine.models.lda_cavi`."""

from engine import shared_settings
from engine.contract import Facts, Kernel
from engine.lda import variational
from engine.lda.variational import State
from engine.models.lda_cavi import Config

__all__ = ["Config", "State", "build"]


def build(config: Config, facts: Facts, n_threads: int = 1) -> Kernel:
    """Return the kernel of LDA by coordinate ascent for a corpus; results do not depend on ``n_threads``."""
    rule = variational.VariationalRule(
        n_topics=config.layers[0],
        alpha=config.alpha,
        beta=shared_settings.expand_beta(config.beta, facts.n_words),
        start=config.start,
        batch_size=None,
        step=lambda _t: 1.0,
        fresh=config.fresh_steps,
        measured=1,
    )
    return variational.build_kernel(rule, facts, n_threads)
