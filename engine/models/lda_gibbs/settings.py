"""Latent Dirichlet allocation by Gibbs sampling; every step reads all documents.

Blei, Ng and Jordan, "Latent Dirichlet allocation" (JMLR 3, 2003); the generative model:

    phi_k ~ Dir(beta),  theta_d ~ Dir(alpha),  z_di ~ Cat(theta_d),  w_di ~ Cat(phi_z).
"""

from dataclasses import dataclass

from topiary.engine.settings import SettingError
from topiary.engine.shared_settings import EveryDocument, LdaSettings, concentrations_setting, explain_device_width

TITLE = "LDA: latent Dirichlet allocation by Gibbs sampling"
CHILD = "LDA has one layer: its topics have no children."
PRESETS = {
    "paper": {"start": "random", "alpha": "0", "beta": "0.05", "learn_concentrations": "no", "minibatches": "3500"}
}


@dataclass(frozen=True, kw_only=True)
class Config(LdaSettings, EveryDocument):
    """Settings of LDA by Gibbs sampling; the preset "paper" has the published values."""

    learn_concentrations: bool = concentrations_setting(
        "alpha and beta",
        "a single alpha stays the same for all topics, several become the topics' own; each has an exponential prior "
        "whose mean is the given number.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.learn_concentrations and len(self.beta) > 1:
            raise SettingError("learn_concentrations needs a single beta for all words; got a number for each")

    def explain_device_refusal(self) -> str:
        """Return why a graphics processor cannot sweep documents; an empty text if it can."""
        return explain_device_width(self.layers)
