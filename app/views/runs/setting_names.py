"""Settings as people read them: the label and the help of the new-run form instead of the name in the code."""

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from engine import models
from engine.settings import Setting, describe


class Report(NamedTuple):
    """How a setting is called, and what it means; the name itself and nothing where no model knows it."""

    label: str
    tip: str


def report(model: str, name: str) -> Report:
    """Look a setting of a model up."""
    about = _settings(model).get(name)
    return Report(name, "") if about is None else Report(about.label, f"{name}: {about.help}")


# Values of choices whose names are those of the command line, where these are no plain words.
VALUES = {
    "auto": "automatic",
    "tlasgr": "TLASGR-MCMC",
    "tlfsgr": "TLFSGR-MCMC",
    "sgrld": "SGRLD",
    "sgnht": "SGNHT",
    "bcdf": "bCDF",
    "gibbs": "Gibbs sampling",
    "poisson": "Poisson",
    "bernoulli": "Bernoulli",
    "gaussian": "Gaussian",
    "student": "Student's t",
    "sbn": "sigmoid belief network",
    "rbm": "restricted Boltzmann machine",
}


def value_words(value: Any) -> str:
    """The value of a setting as people say it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return VALUES.get(value, value)
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


@cache
def _settings(model: str) -> Mapping[str, Setting]:
    if model not in models.names():  # a run of a later version
        return {}
    return {about.name: about for about in describe(models.load(model).Config)}
