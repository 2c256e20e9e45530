"""DLDA whose documents are swept by a device, with one lane on the CPU: the contract, its law, and refusals."""

from dataclasses import replace

import numba
import numpy as np
import pytest

from engine.contract import Batch, Facts, Sweeps, flatten, unflatten
from engine.gpu.devices import DeviceArray, OneLane
from engine.hierarchy.evaluate import evaluate_point
from engine.kernels import dlda
from engine.models.dlda import Config
from engine.schedule import MOST_SWEPT
from engine.settings import SettingError

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="many sweeps, too slow with the compiler off")


def draw_corpus(n_documents, seed):
    """Return documents about six topics of 15 of 90 words each, two or three topics in a document."""
    rng = np.random.default_rng(seed)
    topics = np.full((90, 6), 0.002)
    for k in range(6):
        topics[15 * k : 15 * k + 15, k] = 1.0
    topics /= topics.sum(axis=0)
    words, counts, starts = [], [], [0]
    for _ in range(n_documents):
        shares = np.zeros(6)
        shares[rng.choice(6, 2, replace=False)] = rng.dirichlet([1.0, 1.0])
        table = rng.multinomial(rng.integers(20, 60), topics @ shares)
        words.append(np.flatnonzero(table))
        counts.append(table[words[-1]])
        starts.append(starts[-1] + len(words[-1]))
    n = np.arange(n_documents, dtype=np.int64)
    words, counts = (np.concatenate(parts).astype(np.int32) for parts in (words, counts))
    return Batch(words, counts, np.array(starts), np.full(n_documents, -1, np.int32), n)


TRAIN = draw_corpus(300, 1)
FACTS = Facts(90, 300, n_tokens=int(TRAIN.counts.sum()))
CONFIG = Config(layers=(12, 5), inference="gibbs", start="flat")


def train(kernel, seed, n_steps, state=None):
    state = kernel.prepare(seed, kernel.init(seed), TRAIN) if state is None else state
    for _ in range(n_steps):
        state, info = kernel.step(seed, state, TRAIN)
    return state, info


def score(kernel, state):
    observed, scored = draw_corpus(150, 2), draw_corpus(150, 2)
    keeps = np.random.default_rng(3).random(len(observed.words)) < 0.8
    observed = observed.cells.select_cells(keeps).batch(observed.documents)
    scored = scored.cells.select_cells(~keeps).batch(scored.documents)
    return evaluate_point(kernel, 1, kernel.find_shown_state(state), observed, scored, Sweeps(40, 80, 2))


@pytest.mark.slow
def test_a_device_finds_topics_as_good_as_the_processor():
    scores = {"cpu": [], "device": []}
    for seed in (1, 2, 3):
        for name, device in (("cpu", None), ("device", OneLane())):
            kernel = dlda.build(CONFIG, FACTS, 1, device)
            scores[name].append(score(kernel, train(kernel, seed, 120)[0]))
    cpu, device = (np.array(values) for values in scores.values())
    spread = max(cpu.std(), device.std(), 0.2)
    assert abs(cpu.mean() - device.mean()) < 4 * spread, scores
    assert device.mean() < 0.7 * 90


def test_a_step_has_the_same_bits_from_a_state_that_was_stored_and_leaves_its_state_unchanged():
    kernel = dlda.build(CONFIG, FACTS, 1, OneLane())
    state, info = train(kernel, 5, 4)
    assert isinstance(state.topics, DeviceArray)
    assert info.tokens == FACTS.n_tokens
    before = {name: array.copy() for name, array in flatten(state).items()}
    resumed = unflatten(dlda.State, before)
    other = dlda.build(CONFIG, FACTS, 2, OneLane())
    one, two = (flatten(train(each, 5, 3, start)[0]) for each, start in ((kernel, state), (other, resumed)))
    assert all(np.array_equal(one[name], two[name]) for name in one)
    assert all(np.array_equal(array, before[name]) for name, array in flatten(state).items())


def test_the_processor_continues_a_run_of_a_device_and_a_device_one_of_the_processor():
    cpu, device = dlda.build(CONFIG, FACTS), dlda.build(CONFIG, FACTS, 1, OneLane())
    for first, second in ((cpu, device), (device, cpu)):
        stored = unflatten(dlda.State, flatten(train(first, 5, 2)[0]))
        state = train(second, 5, 2, stored)[0]
        assert int(state.t) == 4
        assert np.asarray(state.theta).dtype == np.float64


def test_documents_without_local_variables_are_swept_until_they_have_left_their_start():
    kernel = dlda.build(replace(CONFIG, inference="auto"), FACTS, 1, OneLane())
    state = kernel.init(3)
    assert kernel.local(state) is None
    state, info = kernel.step(3, state, TRAIN)
    assert info.token_draws == FACTS.n_tokens * (2 * CONFIG.burn_in + 1)
    assert len(kernel.local(state).topics) == FACTS.n_tokens


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"link": "bernoulli"}, "set link to poisson"),
        ({"sampler": "plain"}, "collapsed sampler"),
        ({"inference": "tlasgr"}, "set inference to gibbs"),
        ({"grow": True}, "set grow to no"),
        ({"layers": (1025,)}, "at most 1,024 topics"),
    ],
)
def test_what_a_device_cannot_do_is_refused_in_a_sentence(changes, words):
    with pytest.raises(SettingError, match=words) as refusal:
        dlda.build(replace(CONFIG, **changes), FACTS, 1, OneLane())
    assert "\n" not in str(refusal.value)
    dlda.build(replace(CONFIG, **changes), FACTS)


def test_a_corpus_too_large_for_sweeps_by_itself_asks_for_gibbs():
    config, facts = replace(CONFIG, inference="auto"), FACTS._replace(n_tokens=MOST_SWEPT + 1)
    with pytest.raises(SettingError, match="set inference to gibbs"):
        dlda.build(config, facts, 1, OneLane())
    dlda.build(CONFIG, facts, 1, OneLane())
