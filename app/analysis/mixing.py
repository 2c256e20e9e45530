"""How well several chains have mixed: R-hat and effective sample size of numbers that need no labels of topics.

Topics of two chains have other numbers, so their weights cannot be compared draw by draw.  These numbers can: the log
likelihood of held-out tokens, the sum of the popularities of the top layer, the number of topics in use and the
entropy of their shares.  They are points of the runs, of the draws themselves and not of their means.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topiary.store import points
from topiary.store.database import Database

LIKELIHOOD, TOTAL, ACTIVE, ENTROPY = "log likelihood", "sum of r", "topics in use", "entropy of shares"
MIXED = 1.01  # R-hat below which chains count as mixed (Vehtari et al. 2021)
CLEARLY_APART = 1.1  # R-hat above which even few draws say that chains are not mixed
LEAST_DRAWS = 10  # of each chain; fewer say nothing
ENOUGH_DRAWS = 50  # of each chain, and as many effective ones: with fewer, R-hat is below 1.01 or not by chance
APART = "not mixed"
_MOST_POINTS = 4000  # of a curve; every point of a run is read
_CURVES = {LIKELIHOOD: ("heldout_loglik", "point_perplexity"), TOTAL: ("r_sum",), ACTIVE: ("active_topics",),
           ENTROPY: ("share_entropy",)}  # fmt: skip
_OF_LAYERS = (ACTIVE, ENTROPY)


class MixingFigure(NamedTuple):
    """How well several chains agree in one number.

    Attributes
    ----------
    name : str
        One of `LIKELIHOOD`, `TOTAL`, `ACTIVE`, `ENTROPY`.
    layer : int
        0 for a number of the whole model.
    chains, draws : int
        Number of chains that have the number, and of draws of each that are used.
    rhat : float
        Rank-normalised split R-hat (Vehtari, Gelman, Simpson, Carpenter and Bürkner, "Rank-normalization, folding, and
        localization", Bayesian Analysis 2021); nan where there are too few draws, or they are all equal.
    ess : float
        Bulk effective sample size of all chains together, from the same paper; nan likewise.
    constant : bool
        True if all draws of all chains are equal.
    """

    name: str
    layer: int
    chains: int
    draws: int
    rhat: float
    ess: float
    constant: bool = False

    @property
    def verdict(self) -> str:
        """What the figure says in words: ``mixed``, ``not mixed``, or that it says nothing, and why."""
        if self.constant:
            return "the same at every draw of every run"
        if self.chains < 2:
            return "not known: fewer than two runs have it"
        if not math.isfinite(self.rhat):
            return f"not known: {self.draws} draws of each run, {LEAST_DRAWS} are needed"
        if self.rhat > (MIXED if self.draws >= ENOUGH_DRAWS else CLEARLY_APART):
            return APART
        is_enough = self.draws >= ENOUGH_DRAWS and self.ess >= ENOUGH_DRAWS * self.chains
        return "mixed" if is_enough else "too few draws to tell"


def measure_mixing(db: Database, runs: Sequence[int], n_layers: int, until: int) -> list[MixingFigure]:
    """Return the figures of runs that differ in the seed alone, from the second half of the steps that all have.

    The points of two runs need not be of the same steps: as many are taken of each, evenly spread.

    Parameters
    ----------
    db : Database
    runs : sequence of int
        The numbers of the runs; those without a curve do not take part in its figures.
    n_layers : int
    until : int
        The last step that is used.
    """
    layers = {name: range(1, n_layers + 1) if name in _OF_LAYERS else (0,) for name in _CURVES}
    return [
        _measure_curve(name, layer, _read_chains(db, runs, curves, layer, until))
        for name, curves in _CURVES.items()
        for layer in layers[name]
    ]


def diagnose_chains(draws: NDArray[np.float64]) -> tuple[float, float]:
    """Return rank-normalised R-hat and bulk ESS of draws (chains, n); nan where they are too few or all equal."""
    if draws.shape[0] < 2 or draws.shape[1] < LEAST_DRAWS or np.ptp(draws) == 0.0:
        return math.nan, math.nan
    from arviz_stats.base.array import array_stats  # loaded here, as only this needs it

    rhat = array_stats.rhat(draws, chain_axis=0, draw_axis=1, method="rank")
    return float(rhat), float(array_stats.ess(draws, chain_axis=0, draw_axis=1, method="bulk"))


def _read_chains(
    db: Database, runs: Sequence[int], curves: Sequence[str], layer: int, until: int
) -> list[dict[int, float]]:
    """Return the values of the first of the ``curves`` that any run has, by step, for each run that has it."""
    for curve in curves:
        series = [points.read_series(db, run, curve, layer, _MOST_POINTS) for run in runs]
        chains = [
            {
                step: value
                for step, value in zip(each.minibatch.tolist(), each.value.tolist(), strict=True)
                if step <= until and math.isfinite(value)
            }
            for each in series
        ]
        if any(chains):
            is_perplexity = curve == "point_perplexity"
            return [
                {step: -math.log(value) for step, value in chain.items() if value > 0} if is_perplexity else chain
                for chain in chains
                if chain
            ]
    return []


def _measure_curve(name: str, layer: int, chains: Sequence[dict[int, float]]) -> MixingFigure:
    """Return the figure of chains of values by step."""
    end = min((max(chain) for chain in chains), default=0)
    late = [[chain[step] for step in sorted(chain) if end / 2 < step <= end] for chain in chains]
    n_draws = min(map(len, late), default=0)
    places = [np.linspace(0, len(each) - 1, n_draws).round().astype(int) for each in late]
    draws = np.array([np.array(each)[chosen] for each, chosen in zip(late, places, strict=True)], dtype=np.float64)
    draws = draws.reshape(len(chains), n_draws)
    rhat, ess = diagnose_chains(draws)
    constant = draws.size > 0 and bool(np.ptp(draws) == 0.0)
    return MixingFigure(name, layer, len(chains), n_draws, rhat, ess, constant)
