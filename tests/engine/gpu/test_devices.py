"""Models whose documents are swept by a device, with one lane on the CPU: the contract, their law, and refusals."""

import itertools
from dataclasses import replace

import numba
import numpy as np
import pytest

from topiary.engine.contract import Batch, Facts, Sweeps, flatten, unflatten
from topiary.engine.gpu.devices import DeviceArray, OneLane, SpareMemory, read_arrays
from topiary.engine.hierarchy.evaluate import evaluate_point
from topiary.engine.hierarchy.paths import compute_shares
from topiary.engine.models.dlda import kernel as dlda
from topiary.engine.models.dlda.settings import Config
from topiary.engine.models.lda_gibbs import kernel as lda_gibbs
from topiary.engine.models.lda_gibbs.settings import Config as LdaConfig
from topiary.engine.settings import SettingError

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
SHORT, LONG = Sweeps(40, 80, 2), Sweeps(200, 1600, 2)
CONFIG = Config(layers=(12, 5), inference="gibbs", start="flat")


def train(kernel, seed, n_steps, state=None):
    state = kernel.prepare(seed, kernel.init(seed), TRAIN) if state is None else state
    for _ in range(n_steps):
        docs = TRAIN if kernel.is_sweeping(state) else draw_mini_batch(int(state.t))
        state, info = kernel.step(seed, state, docs)
    return state, info


def score(kernel, state, sweeps=SHORT):
    observed, scored = draw_corpus(150, 2), draw_corpus(150, 2)
    keeps = np.random.default_rng(3).random(len(observed.words)) < 0.8
    observed = observed.cells.select_cells(keeps).batch(observed.documents)
    scored = scored.cells.select_cells(~keeps).batch(scored.documents)
    return evaluate_point(kernel, 1, kernel.find_shown_state(state), observed, scored, sweeps)


GIVEN = LdaConfig(layers=(12,), start="random")
LDA = replace(GIVEN, learn_concentrations=True)


def draw_mini_batch(step):
    """Return 60 documents that a step reads."""
    first = 60 * (step % 5)
    return TRAIN.cells.rows(first, first + 60).batch(TRAIN.documents[first : first + 60])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "config", "n_steps"),
    [
        pytest.param(dlda, CONFIG, 120, id="gibbs"),
        pytest.param(
            dlda, replace(CONFIG, inference="tlasgr", batch_size=60), 150, id="tlasgr", marks=pytest.mark.nightly
        ),
        pytest.param(lda_gibbs, GIVEN, 120, id="lda", marks=pytest.mark.nightly),
    ],
)
def test_a_device_finds_topics_as_good_as_the_processor(model, config, n_steps):
    scores = {"cpu": [], "device": []}
    for seed in (1, 2, 3):
        for name, device in (("cpu", None), ("device", OneLane())):
            kernel = model.build(config, FACTS, 1, device)
            scores[name].append(score(kernel, train(kernel, seed, n_steps)[0]))
    cpu, device = (np.array(values) for values in scores.values())
    spread = max(cpu.std(), device.std(), 0.2)
    assert abs(cpu.mean() - device.mean()) < 4 * spread, scores
    assert device.mean() < 0.7 * 90


@pytest.mark.parametrize(
    ("model", "config"),
    [
        (dlda, CONFIG),
        (dlda, replace(CONFIG, inference="tlasgr", batch_size=60)),
        (dlda, replace(CONFIG, inference="tlfsgr", batch_size=60)),
        (dlda, replace(CONFIG, inference="auto", first_minibatches=5)),
        (dlda, replace(CONFIG, inference="sgrld", batch_size=60)),
        (dlda, replace(CONFIG, grow=True, grow_every=3)),
        (dlda, replace(CONFIG, learn_concentrations=True)),
        (lda_gibbs, GIVEN),
        (lda_gibbs, LDA),
    ],
    ids=["gibbs", "tlasgr", "tlfsgr", "auto", "sgrld", "grow", "learnt", "lda", "lda-learnt"],
)
def test_a_step_has_the_same_bits_from_a_state_that_was_stored_and_leaves_its_state_unchanged(model, config):
    kernel = model.build(config, FACTS, 1, OneLane())
    state, info = train(kernel, 5, 4)
    assert isinstance(state.topics, DeviceArray) == kernel.is_sweeping(state)
    is_moved = not config.learn_concentrations and (model is lda_gibbs or config.moves_on_device)
    assert isinstance(state.phi if model is lda_gibbs else state.phi[0], DeviceArray) == is_moved
    assert info.tokens == (FACTS.n_tokens if kernel.is_sweeping(state) else draw_mini_batch(3).counts.sum())
    before = {name: array.copy() for name, array in flatten(state).items()}
    resumed = unflatten(model.State, before)
    other = model.build(config, FACTS, 2, OneLane())
    one, two = (flatten(train(each, 5, 3, start)[0]) for each, start in ((kernel, state), (other, resumed)))
    assert all(np.array_equal(one[name], two[name]) for name in one)
    assert all(np.array_equal(array, before[name]) for name, array in flatten(state).items())


class CountedLane(OneLane):
    """A device that counts the numbers that are read from it."""

    read_numbers = 0

    def read(self, array):
        self.read_numbers += array.size
        return super().read(array)


@pytest.mark.parametrize(
    ("model", "config"),
    [(dlda, CONFIG), (dlda, replace(CONFIG, layers=(6,))), (lda_gibbs, LDA)],
    ids=["dlda", "one layer", "lda"],
)
def test_rows_of_local_variables_are_read_alone(model, config):
    device = CountedLane()
    kernel = model.build(config, FACTS, 1, device)
    fresh, whole = (kernel.local(train(kernel, 5, 2)[0]) for _ in range(2))
    for name in fresh._fields:
        array, expected = getattr(fresh, name), np.asarray(getattr(whole, name))
        if not isinstance(array, DeviceArray):
            continue
        for rows in (slice(0), slice(3, 9), slice(len(array) - 2, len(array) + 5)):
            device.read_numbers = 0
            found = array[rows]
            assert type(found) is np.ndarray
            assert (found.dtype, found.tobytes()) == (expected.dtype, expected[rows].tobytes())
            assert found.shape == expected[rows].shape
            assert device.read_numbers <= 2 * expected[rows].size
        np.asarray(array)
        assert array[3:9].tobytes() == expected[3:9].tobytes()  # once all are here


@pytest.mark.parametrize(
    ("model", "config"),
    [(dlda, CONFIG), (dlda, replace(CONFIG, inference="tlasgr")), (lda_gibbs, GIVEN)],
    ids=["gibbs", "tlasgr", "lda"],
)
def test_statistics_that_are_read_are_those_of_the_device_and_lie_on_the_host(model, config):
    kernel = model.build(config, FACTS, 1, OneLane())
    state = kernel.prepare(5, kernel.init(5), TRAIN)
    statistics, _ = kernel.gather(5, state, TRAIN, kernel.local(state))
    found = read_arrays(statistics)
    assert type(found) is type(statistics)
    pairs = zip(found, statistics, strict=True)
    if model is dlda:
        pairs = itertools.chain(zip(found.counted, statistics.counted, strict=True), list(pairs)[1:])
    for ours, theirs in pairs:
        assert not isinstance(ours, DeviceArray)
        assert np.array_equal(ours, np.asarray(theirs))


@pytest.mark.parametrize(("model", "config"), [(dlda, CONFIG), (lda_gibbs, LDA)], ids=["dlda", "lda"])
def test_the_processor_continues_a_run_of_a_device_and_a_device_one_of_the_processor(model, config):
    cpu, device = model.build(config, FACTS), model.build(config, FACTS, 1, OneLane())
    for first, second in ((cpu, device), (device, cpu)):
        before = flatten(train(first, 5, 2)[0])
        after = flatten(train(second, 5, 2, unflatten(model.State, before))[0])
        assert int(after["t"]) == 4
        assert all(after[name].dtype == before[name].dtype for name in before)


@pytest.mark.parametrize(("model", "config"), [(dlda, CONFIG), (lda_gibbs, LDA)], ids=["dlda", "lda"])
def test_a_device_evaluates_and_places_documents_as_the_processor_does(model, config):
    cpu, device = model.build(config, FACTS), model.build(config, FACTS, 1, OneLane())
    state = cpu.find_shown_state(train(cpu, 4, 40)[0])
    ours, theirs = (score(each, state, LONG) for each in (device, cpu))
    assert ours == pytest.approx(theirs, rel=0.005)  # seeds differ by .002
    docs = draw_mini_batch(0)
    here, again, there = (
        np.concatenate(compute_shares(each.topics(state), each.infer(seed, state, docs, LONG), docs), axis=1)
        for each, seed in ((cpu, 1), (cpu, 2), (device, 1))
    )
    np.testing.assert_allclose(there.sum(axis=1), here.sum(axis=1))
    assert np.abs(there - here).mean() < 1.3 * np.abs(again - here).mean()  # as two seeds of the processor
    np.testing.assert_allclose(there.mean(axis=0), here.mean(axis=0), atol=0.02)


def test_chains_under_evaluation_continue_with_the_same_bits_from_a_state_that_was_stored():
    kernel = dlda.build(CONFIG, FACTS, 1, OneLane())
    state, docs = kernel.init(3), draw_mini_batch(1)
    chain, _ = kernel.advance_chain(3, state, kernel.start_chain(3, state, docs), docs, docs, Sweeps(2, 1))
    stored = unflatten(type(chain), flatten(chain))
    assert np.asarray(stored.topics).dtype == np.uint16
    (one, ours), (two, theirs) = (
        kernel.advance_chain(3, state, start, docs, docs, Sweeps(1, 2)) for start in (chain, stored)
    )
    assert np.array_equal(ours.cells, theirs.cells)
    assert all(np.array_equal(a, b) for a, b in zip(flatten(one).values(), flatten(two).values(), strict=True))


def test_a_device_learns_the_concentrations_of_lda_as_the_processor_does():
    alphas, betas = ([], []), ([], [])
    for seed in (1, 2, 3):
        for i, device in enumerate((None, OneLane())):
            kernel = lda_gibbs.build(LDA, FACTS, 1, device)
            state = train(kernel, seed, 60)[0]
            for _ in range(20):
                state = kernel.step(seed, state, TRAIN)[0]
                alphas[i].append(state.alpha.sum())
                betas[i].append(state.beta[0])
    for values in (alphas, betas):
        assert np.mean(values[1]) == pytest.approx(np.mean(values[0]), rel=0.1)


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
        ({"layers": (1025,)}, "at most 1,024 topics"),
    ],
)
def test_what_a_device_cannot_do_is_refused_in_a_sentence(changes, words):
    with pytest.raises(SettingError, match=words) as refusal:
        dlda.build(replace(CONFIG, **changes), FACTS, 1, OneLane())
    assert "\n" not in str(refusal.value)
    dlda.build(replace(CONFIG, **changes), FACTS)


def test_lda_of_more_topics_than_a_device_holds_is_refused():
    with pytest.raises(SettingError, match="at most 1,024 topics"):
        lda_gibbs.build(replace(LDA, layers=(1025,)), FACTS, 1, OneLane())


def test_memory_of_a_device_is_used_again_and_given_up_when_asked():
    reserved = []
    memory = SpareMemory(lambda size: reserved.append(size) or np.zeros(size, np.uint8))
    first, second = memory.take((8, 5), np.float64), memory.take((8, 5), np.float64)
    assert not np.shares_memory(first, second)
    del first
    third = memory.take((40,), np.float64)
    assert reserved == [320, 320]
    assert not np.shares_memory(second, third)
    del second, third
    memory.clear()
    memory.take((40,), np.float64)
    assert reserved == [320] * 3
