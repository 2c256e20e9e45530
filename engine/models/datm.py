"""Deep autoencoding topic model: DLDA with an encoder that places a document at once.

Zhang, Chen, Cong, Guo, Liu and Zhou, "Deep autoencoding topic model with scalable hybrid Bayesian
inference" (TPAMI 2020).  Decoder and prior are DLDA's; the posterior of a document's activations is a
Weibull network (eq. 22 to 25), trained beside topics that move by TLASGR (Algorithm 1).
"""

from dataclasses import dataclass

import numpy as np

from engine import widths
from engine.autoencoder import amortised, hybrid, hybrid_step
from engine.autoencoder.hybrid import Chain, Settings, State
from engine.contract import Facts, Kernel, Topics
from engine.settings import SettingError

TITLE = "DATM: deep autoencoding topic model"
STEPS = 3_500  # an encoder learns more slowly than topics that are swept
CHILD = "A parent is a mixture of the topics below it: the weight of a line is the child's part of its parent."
PRESETS: dict[str, dict[str, str]] = {"paper": hybrid.PAPER | {"minibatches": "5000"}, "best": {}}
__all__ = ["CHILD", "PRESETS", "STEPS", "TITLE", "Config", "State", "build"]


@dataclass(frozen=True, kw_only=True)
class Config(Settings):
    """Settings of DATM."""

    grow: bool = widths.grow_setting()
    grow_every: int = widths.every_setting()
    prune_below: float = widths.below_setting()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.grow and self.prior == "paper":
            raise SettingError("grow needs prior matched, which learns the weights r; got paper, which fixes them")


def build(config: Config, facts: Facts, n_threads: int = 1) -> Kernel:
    """The kernel of DATM for a corpus; results do not depend on ``n_threads``."""
    at = hybrid.setup(config, facts, n_threads)
    return Kernel(
        batch_size=config.batch_size,
        real=True,
        measure="perplexity",
        init=lambda seed: hybrid.init(at, seed),
        prepare=lambda _seed, state, _docs: state,
        gather=lambda seed, state, docs, _local: (hybrid_step.gather(at, seed, state, docs), None),
        move=lambda seed, state, statistics: hybrid_step.move(at, seed, state, statistics),
        infer=lambda _seed, state, docs, _sweeps=None: amortised.infer(at, state, docs),
        topics=lambda state: Topics(state.phi, state.r),
        start_chain=lambda _seed, _state, _docs: Chain(np.array(0)),
        advance_chain=lambda *arguments: hybrid_step.advance(at, *arguments),
        keep=hybrid.keep,
        restore=lambda seed, arrays: hybrid.restore(at, seed, arrays),
        work=hybrid.work(config.layers),
    )
