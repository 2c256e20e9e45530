"""Kernel of the deep autoencoding topic model: DLDA with an encoder that infers theta in one pass.

Decoder and prior are those of DLDA; the posterior of a document's activations is a Weibull network (Zhang et al., TPAMI
2020, eq. 22 to 25), trained together with topics that move by TLASGR (Algorithm 1).
"""

from topiary.engine.autoencoder import hybrid
from topiary.engine.autoencoder.hybrid import State
from topiary.engine.autoencoder.hybrid_step import HybridKernel
from topiary.engine.contract import Facts, Kernel
from topiary.engine.gpu.devices import Device
from topiary.engine.models.datm.settings import Config

__all__ = ["Config", "State", "build"]


def build(config: Config, facts: Facts, n_threads: int = 1, device: Device | None = None) -> Kernel:
    """Return the kernel of DATM for a corpus; results do not depend on ``n_threads``.

    With a ``device``, the tokens of documents are counted there.
    """
    return HybridKernel(hybrid.make_setup(config, facts, n_threads, device))
