"""Published figures, and the settings that they were reached with."""

from typing import NamedTuple


class Trial(NamedTuple):
    """One cell of a published table: a sampler and the widths of its layers.

    Attributes
    ----------
    table : str
        Whose table: "dlda", "datm", "dpfa" or "dpfa-wiki".  The first two have rows of DLDA, on another split of the
        tokens; "dpfa" is of the same documents and split as "dlda", "dpfa-wiki" of Wikipedia.
    inference : str
    layers : tuple of int
    refine : int
        Gibbs sweeps a layer that go on from the encoder's draw before it rates held-out words.
    """

    table: str
    inference: str
    layers: tuple[int, ...]
    refine: int = 0

    @property
    def model(self) -> str:
        """The model that is trained."""
        if self.table in _DPFA:
            return _DPFA[self.table][self.inference].model
        return "dlda" if self.inference in _DLDA else "datm"

    @property
    def name(self) -> str:
        """As on the command line: ``tlasgr:128-64``, ``whai+3:128`` with three sweeps a layer after the encoder."""
        return f"{self.sampler}:{self.widths}"

    @property
    def key(self) -> str:
        """The name of the trial among those of all tables."""
        return f"{self.table} {self.name}"

    @property
    def sampler(self) -> str:
        """``tlasgr``, ``whai+3``."""
        return f"{self.inference}+{self.refine}" if self.refine else self.inference

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
# DATM (Zhang, Chen, Cong, Guo, Liu and Zhou, TPAMI 2020), Table I: 70/30 split of the tokens of all documents.
_DATM = {
    "tlasgr": (590.0, 581.0, 579.0),
    "gibbs": (584.0, 573.0, 571.0),
    "whai": (591.0, 582.0, 581.0),
    "wai": (593.0, 583.0, 581.0),
    "iwhai": (592.0, 589.0, 588.0),
    "ghai": (615.0, 608.0, 604.0),
}
_REFINED = 3
ENCODER = "encoder"  # our preset, in which the counts come from the encoder alone, next to the figures of WHAI


class _Method(NamedTuple):
    """A row of DPFA's table: the model, its preset, what differs from that, and figures by widths."""

    model: str
    preset: str
    settings: dict[str, object]
    figures: dict[tuple[int, ...], float]


# DPFA (Gan, Chen, Henao, Carlson and Carin, ICML 2015), Table 1, 20 Newsgroups: averaged perplexity of held-out words.
_NEWSGROUPS = {
    "lda": _Method("lda-gibbs", "paper", {}, {(128,): 893.0}),
    "nb-ftm": _Method("dpfa", "paper", {}, {(128,): 887.0}),
    "sbn-gibbs": _Method("dpfa", "paper", {"shrinkage": "gaussian"}, {(128, 64): 851.0, (128, 64, 32): 846.0}),
    "sbn-t-gibbs": _Method("dpfa", "paper", {}, {(128, 64, 32): 827.0}),
    "sbn-sgnht": _Method("dpfa", "paper-sgnht", {}, {(128, 64): 850.0, (128, 64, 32): 846.0}),
    "rbm-sgnht": _Method("dpfa", "paper-sgnht", {"hierarchy": "rbm"}, {(128, 64): 893.0, (128, 64, 32): 896.0}),
    "sbn-bcdf": _Method("dpfa", "paper-bcdf", {}, {(128, 64): 896.0, (128, 64, 32): 905.0}),
}
# Table 3: Wikipedia, of which the paper read ten million articles.
_WIKIPEDIA = {
    "sbn-sgnht": _Method("dpfa", "paper-sgnht", {}, {(128, 64, 32): 876.0}),
    "rbm-sgnht": _Method("dpfa", "paper-sgnht", {"hierarchy": "rbm"}, {(128, 64, 32): 942.0}),
    "sbn-bcdf": _Method("dpfa", "paper-bcdf", {}, {(128, 64, 32): 986.0}),
}
_DPFA = {"dpfa": _NEWSGROUPS, "dpfa-wiki": _WIKIPEDIA}
PUBLISHED = {
    Trial(table, inference, layers): figure
    for table, rows in (("dlda", _DLDA), ("datm", _DATM))
    for inference, figures in rows.items()
    for layers, figure in zip(_WIDTHS, figures, strict=True)
}
PUBLISHED |= {Trial("datm", ENCODER, layers): figure for layers, figure in zip(_WIDTHS, _DATM["whai"], strict=True)}
PUBLISHED |= {
    Trial("datm", inference, layers, _REFINED): figure
    for inference in ("whai", "wai", "iwhai", "ghai")
    for layers, figure in zip(_WIDTHS, _DATM[inference], strict=True)
}
PUBLISHED |= {
    Trial(table, name, layers): figure
    for table, methods in _DPFA.items()
    for name, method in methods.items()
    for layers, figure in method.figures.items()
}
# Table II of DATM: per cent of the test documents that get a wrong label; four layers, 512-256-128-64.
ERRORS = {
    "20news": {"sdatm-n": 15.81, "sdatm-l": 18.63},
    "imdb": {"sdatm-n": 10.92, "sdatm-l": 13.66},
    "mnist": {"sdatm-n": 0.97, "sdatm-l": 1.03},
}
# DEF (Ranganath, Tang, Charlin and Blei, AISTATS 2015), Table 2: perplexity on The New York Times and on Science, by
# method and number of layers.
COMPLETION: dict[tuple[str, int], tuple[float, float]] = {
    ("lda", 1): (2717.0, 1711.0),
    ("gamma", 1): (2525.0, 1652.0),
    ("gamma", 2): (2303.0, 1539.0),
    ("gamma", 3): (2251.0, 1542.0),
    ("sigmoid", 1): (2343.0, 1633.0),
    ("sigmoid", 2): (2653.0, 1665.0),
    ("sigmoid", 3): (2507.0, 1653.0),
    ("poisson", 1): (2590.0, 1620.0),
    ("poisson", 2): (2423.0, 1560.0),
    ("poisson", 3): (2416.0, 1576.0),
    ("poisson-log", 2): (2288.0, 1523.0),
    ("poisson-log", 3): (2366.0, 1545.0),
}
# What differs from the preset "paper": SGRLD moves by
# eps_t = 0.1 ((20 + t) / 21)^-0.9.
_SETTINGS: dict[tuple[str, str], dict[str, object]] = {("dlda", "sgrld"): {"step": 0.1, "tau": 20.0, "kappa": 0.9}}


def settings(trial: Trial) -> dict[str, object]:
    """Values of the model's ``Config`` for a trial."""
    if trial.table in _DPFA:
        method = _DPFA[trial.table][trial.inference]
        return _paper(method.model, method.preset) | method.settings | {"layers": trial.layers}
    if trial.inference == ENCODER:
        return _paper(trial.model, ENCODER) | {"layers": trial.layers}
    ours = trial.model == "datm" and trial.refine  # the defaults, and sweeps after the encoder
    own = {"refine": trial.refine} if ours else _paper(trial.model)
    own |= _SETTINGS.get((trial.table, trial.inference), {})
    return own | {"layers": trial.layers, "inference": trial.inference}


def _paper(model: str, name: str = "paper") -> dict[str, object]:
    """The settings that a preset of a model names."""
    from topiary.app.jobs.run_rules import find_preset
    from topiary.engine import models, settings

    texts = find_preset(model, name).texts
    config = settings.parse(models.load(model).Config, texts)
    return {name: getattr(config, name) for name in texts}


def tables() -> tuple[str, ...]:
    """Models with a published table."""
    return tuple(dict.fromkeys(trial.table for trial in PUBLISHED))


def chosen(names: tuple[str, ...], only: tuple[str, ...]) -> tuple[Trial, ...]:
    """The trials of the named models, in the order of the table, or only those named like ``tlasgr:128-64``.

    Raises
    ------
    LookupError
        When a model or trial has no published figure.
    """
    unknown = [name for name in names if name not in tables()]
    if unknown:
        raise LookupError(f"there is no published table for {unknown[0]!r}; there is one for {', '.join(tables())}")
    trials = tuple(trial for trial in PUBLISHED if trial.table in names)
    missing = set(only) - {trial.name for trial in trials}
    if missing:
        known = ", ".join(trial.name for trial in trials)
        raise LookupError(f"there is no published figure for {sorted(missing)[0]!r}; there are {known}")
    return tuple(trial for trial in trials if trial.name in only) if only else trials
