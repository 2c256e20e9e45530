"""Kernel of the deep autoencoding topic model: DLDA with an encoder that infers theta in one pass.

Decoder and prior are those of DLDA; the posterior of a document's activations is a Weibull network (Zhang et al., TPAMI
2020, eq. 22 to 25), trained together with topics that move by TLASGR (Algorithm 1).
"""

from topiary.engine.autoencoder import amortised, hybrid, hybrid_step
from topiary.engine.autoencoder.hybrid import State
from topiary.engine.contract import Facts, Kernel
from topiary.engine.gpu.devices import Device
from topiary.engine.models.datm.settings import Config

__all__ = ["Config", "State", "build"]


def build(config: Config, facts: Facts, n_threads: int = 1, device: Device | None = None) -> Kernel:
    """Return the kernel of DATM for a corpus; results do not depend on ``n_threads``.

    With a ``device``, the tokens of documents are counted there.
    """
    setup = hybrid.make_setup(config, facts, n_threads, device)
    return hybrid_step.build_kernel(
        setup,
        init=lambda seed: hybrid.init_state(setup, seed),
        gather=lambda seed, state, docs, _local: (hybrid_step.gather_statistics(setup, seed, state, docs), None),
        move=lambda seed, state, statistics: hybrid_step.move_state(setup, seed, state, statistics),
        infer=lambda _seed, state, docs, _sweeps=None: amortised.infer_theta(setup, state, docs),
        keep=hybrid.keep_state,
        restore=lambda seed, arrays: hybrid.restore_state(setup, seed, arrays),
        work=hybrid.estimate_work(config.layers),
    )
