"""Trials of proposed widths of layers: a few sweeps each decide whether narrower layers predict words as well.

The proposal is a rule about the size of a corpus (:func:`app.jobs.run_rules.propose_widths`), and some corpora have
fewer subjects than their size suggests: topics that only divide others among themselves are harder to read.  Half as
many topics are therefore taken while the wider layers do not lower the perplexity of validation documents by
``LEAST_GAIN``.  On corpora that need the topics, twice as many lowered it by 5 to 15 %, on film reviews by less than
0.3 %.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

from topiary.app.jobs.plan import RunOptions
from topiary.app.jobs.run_rules import halve_widths
from topiary.app.jobs.training import Training, collect_facts, measure_effort, plan_run
from topiary.engine.corpus import Corpus
from topiary.engine.models import RegisteredModel

TRIAL_SWEEPS = 4  # 8 took 5 to 8 % of the time of 300 sweeps, and decide alike (BBC, Reuters, 20 Newsgroups)
LEAST_GAIN = 0.02  # by which the wider of two neighbours must lower the perplexity, relative to that of the narrower


class WidthTrial(NamedTuple):
    """The perplexity of validation documents after ``TRIAL_SWEEPS`` sweeps with some widths."""

    layers: tuple[int, ...]
    perplexity: float


def try_widths(
    corpus: Corpus,
    module: RegisteredModel,
    config: Any,
    options: RunOptions,
    between: Callable[[], None] = lambda: None,
) -> list[WidthTrial]:
    """Try the widths of a config and narrower ones until wider ones are clearly better; return the trials.

    The seed is that of the corpus, so that runs that differ in their seed alone get the same widths.

    Parameters
    ----------
    corpus : Corpus
        With validation documents.
    config : Config
        Its model must sweep all documents from the first step.
    options : RunOptions
        Protocol of the perplexity and number of threads.
    between : callable
        Called after each sweep.

    Returns
    -------
    list of WidthTrial
        The widest first; see :func:`choose_trial`.
    """
    trials: list[WidthTrial] = []
    layers = tuple(config.layers)
    while layers:
        trials.append(_try_layers(corpus, module, replace(config, layers=layers), options, between))
        if len(trials) > 1 and _is_wider_better(*trials[-2:]):
            break
        layers = halve_widths(layers)
    return trials


def choose_trial(trials: Sequence[WidthTrial]) -> WidthTrial:
    """Return the widest layers that are clearly better than half as many topics, or else the last of the trials."""
    return next((wide for wide, narrow in pairwise(trials) if _is_wider_better(wide, narrow)), trials[-1])


def describe_trials(trials: Sequence[WidthTrial]) -> str:
    """Return a sentence with the chosen widths and the perplexity of every trial."""
    chosen = choose_trial(trials)
    figures = ", ".join(f"{each.perplexity:,.0f} with {_format_layers(each)}" for each in trials)
    sweeps = TRIAL_SWEEPS * len(trials)
    return (
        f"{_format_layers(chosen)}: validation perplexity after {TRIAL_SWEEPS} sweeps was {figures}; twice the topics "
        f"are taken if they lower it by {LEAST_GAIN:.0%}; the trials took {sweeps} sweeps"
    )


def _try_layers(
    corpus: Corpus, module: RegisteredModel, config: Any, options: RunOptions, between: Callable[[], None]
) -> WidthTrial:
    """Train with some widths for ``TRIAL_SWEEPS`` sweeps, and measure the perplexity of the mean topics."""
    kernel = module.build(config, collect_facts(corpus), n_threads=options.threads)
    training = Training(corpus, kernel, module.State, corpus.split_seed)
    state = training.first_state()
    plan = plan_run(training, options, measure_effort(training, state, sweeps=1.0, tokens_per_document=1.0))
    position = training.start(state, plan)
    for _ in range(TRIAL_SWEEPS):
        position, _ = training.step(position)
        between()
    return WidthTrial(tuple(config.layers), training.curve_point(kernel.find_shown_state(position.state), plan))


def _is_wider_better(wide: WidthTrial, narrow: WidthTrial) -> bool:
    """Return whether the wider layers lower the perplexity enough."""
    return wide.perplexity < (1.0 - LEAST_GAIN) * narrow.perplexity


def _format_layers(trial: WidthTrial) -> str:
    return "-".join(map(str, trial.layers))
