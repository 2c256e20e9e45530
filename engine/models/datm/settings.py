"""Deep autoencoding topic model: DLDA with an encoder that infers theta in one pass.

Zhang, Chen, Cong, Guo, Liu and Zhou, "Deep autoencoding topic model with scalable hybrid Bayesian
inference" (TPAMI 2020).  Decoder and prior are those of DLDA; the posterior of a document's activations is a
Weibull network (eq. 22 to 25), trained together with topics that move by TLASGR (Algorithm 1).
"""

from dataclasses import dataclass

from topiary.engine.settings import SettingError
from topiary.engine.shared_settings import (
    ENCODER_COUNTS,
    PAPER,
    EncoderSettings,
    below_setting,
    every_setting,
    grow_setting,
)

TITLE = "DATM: deep autoencoding topic model"
STEPS = 3_500  # default length of a run: an encoder learns more slowly than topics that are swept
CHILD = "A parent is a mixture of the topics below it: the weight of a line is the child's part of its parent."
PRESETS: dict[str, dict[str, str]] = {
    "paper": PAPER | {"minibatches": "5000"},
    "encoder": ENCODER_COUNTS | {"minibatches": "8000"},
    "best": {},
}


@dataclass(frozen=True, kw_only=True)
class Config(EncoderSettings):
    """Settings of DATM."""

    grow: bool = grow_setting()
    grow_every: int = every_setting()
    prune_below: float = below_setting()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.grow and self.prior == "paper":
            raise SettingError("grow needs prior matched, which learns the weights r; got paper, which fixes them")
