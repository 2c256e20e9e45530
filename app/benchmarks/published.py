"""Published figures, and the settings that they were reached with."""

from typing import NamedTuple


class Trial(NamedTuple):
    """One cell of a published table: a sampler and the widths of its layers."""

    model: str
    inference: str
    layers: tuple[int, ...]

    @property
    def name(self) -> str:
        """As on the command line: ``tlasgr:128-64``."""
        return f"{self.inference}:{self.widths}"

    @property
    def widths(self) -> str:
        """``128-64-32``."""
        return "-".join(map(str, self.layers))


_WIDTHS = ((128,), (128, 64), (128, 64, 32))

# DLDA (Cong, Chen, Liu and Zhou, ICML 2017), Table 1, 20 Newsgroups: averaged perplexity of held-out words.
_DLDA = {
    "tlasgr": (770.0, 758.0, 757.0),
    "tlfsgr": (772.0, 759.0, 760.0),
    "sgrld": (777.0, 770.0, 775.0),
    "gibbs": (768.0, 754.0, 752.0),
}

PUBLISHED = {
    Trial("dlda", inference, layers): figure
    for inference, figures in _DLDA.items()
    for layers, figure in zip(_WIDTHS, figures, strict=True)
}

# What differs from the defaults of the model: SGRLD moves by eps_t = 0.1 ((20 + t) / 21)^-0.9.
_SETTINGS = {("dlda", "sgrld"): {"step": 0.1, "tau": 20.0, "kappa": 0.9}}


def settings(trial: Trial) -> dict[str, object]:
    """Values of the model's ``Config`` for a trial."""
    own = _SETTINGS.get((trial.model, trial.inference), {})
    return {"layers": trial.layers, "inference": trial.inference, **own}


def models() -> tuple[str, ...]:
    """Models with a published table."""
    return tuple(dict.fromkeys(trial.model for trial in PUBLISHED))


def chosen(names: tuple[str, ...], only: tuple[str, ...]) -> tuple[Trial, ...]:
    """The trials of the named models, in the order of the table, or only those named like ``tlasgr:128-64``.

    Raises
    ------
    LookupError
        When a model or trial has no published figure.
    """
    unknown = [name for name in names if name not in models()]
    if unknown:
        raise LookupError(f"there is no published table for {unknown[0]!r}; there is one for {', '.join(models())}")
    trials = tuple(trial for trial in PUBLISHED if trial.model in names)
    missing = set(only) - {trial.name for trial in trials}
    if missing:
        known = ", ".join(trial.name for trial in trials)
        raise LookupError(f"there is no published figure for {sorted(missing)[0]!r}; there are {known}")
    return tuple(trial for trial in trials if trial.name in only) if only else trials
