"""Trials of widths: narrower layers are taken unless twice the topics clearly predict better."""

from dataclasses import replace

import numpy as np
import pytest

from topiary.app.jobs import width_trials
from topiary.app.jobs.plan import RunOptions, ScoreProtocol
from topiary.app.jobs.width_trials import WidthTrial, choose_trial, describe_trials, try_widths
from topiary.engine import models
from topiary.engine.contract import TEST, TRAIN, VALIDATION, Counts
from topiary.engine.corpus import Corpus


@pytest.mark.parametrize(
    ("perplexities", "chosen"),
    [((900, 1_000), 128), ((985, 1_000), 64), ((990, 1_000, 1_100), 64), ((1_000, 1_000, 1_001), 32)],
)
def test_the_widest_layers_that_are_clearly_better_than_half_of_them_are_chosen(perplexities, chosen):
    widths = [(128, 64, 32), (64, 32, 16), (32, 16, 8)]
    trials = [WidthTrial(layers, value) for layers, value in zip(widths, perplexities, strict=False)]
    assert choose_trial(trials).layers[0] == chosen
    said = describe_trials(trials)
    assert said.startswith(f"{chosen}-{chosen // 2}-{chosen // 4}: validation perplexity after 4 sweeps was ")
    assert said.endswith(f"the trials took {4 * len(trials)} sweeps")


def plant_corpus(subjects: int) -> Corpus:
    """Return 600 documents of 60 words each, which all come from one of some subjects with 20 words of their own."""
    rng = np.random.default_rng(3)
    table = np.zeros((600, 640), dtype=np.int32)
    for document in range(600):
        first = 20 * (document % subjects)
        np.add.at(table[document], rng.integers(first, first + 20, 60), 1)
    documents, words = np.nonzero(table)
    return Corpus(
        counts=Counts(np.searchsorted(documents, np.arange(601)), words.astype(np.int32), table[documents, words]),
        vocabulary=tuple(map(str, range(640))),
        part=np.tile(np.array([TRAIN] * 8 + [VALIDATION, TEST], dtype=np.int8), 60),
        labels=np.full(600, -1, dtype=np.int32),
    )


OPTIONS = RunOptions(minibatches=1, protocol=ScoreProtocol(documents=60, part="validation"))


@pytest.mark.parametrize(("subjects", "tried"), [(4, 2), (31, 2)])
def test_widths_are_halved_while_documents_do_not_need_more_topics(subjects, tried):
    """Thirty-one subjects need 32 topics, four do with 16; narrower ones are not tried, as they would have 4 on top."""
    module, beats = models.load("dlda"), []
    config = replace(module.Config(), layers=(32, 16))
    trials = try_widths(plant_corpus(subjects), module, config, OPTIONS, lambda: beats.append(1))
    assert [trial.layers for trial in trials] == [(32, 16), (16, 8)]
    assert len(trials) == tried
    assert len(beats) == tried * width_trials.TRIAL_SWEEPS
    assert choose_trial(trials).layers[0] == (32 if subjects == 31 else 16)
