"""Local samplers and whole inferences of DLDA against what is known; false-alarm rate 1e-5 per test, seeds fixed."""

import itertools

import numba
import numpy as np
import pytest
from drawing import RARE, bars, chi_square, mismatch

from topiary.engine.contract import Batch, Facts, Sweeps, flatten, unflatten
from topiary.engine.gibbs.collapsed import THETA, SweepPlan
from topiary.engine.gibbs.local import LINKS, Sampler
from topiary.engine.gibbs.upper import Hyper
from topiary.engine.hierarchy.topics import pack_topics
from topiary.engine.models.dlda import kernel as dlda
from topiary.engine.pool import Pool
from topiary.engine.settings import SettingError
from topiary.engine.shared_settings import MOST_SWEPT
from topiary.engine.streams import INFER, LOCAL, Address

HYPER = Hyper(1.0, 1.0, 1.0, 1.0)
INFERENCES = ("gibbs", "tlasgr", "tlfsgr", "sgrld")
BOTH = ("collapsed", "plain")
pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="many sweeps, too slow with the compiler off")


def collect(sampler, glob, address, batch, local, plan, factor):
    """The counts of one block of documents, as tables of every layer."""
    sums, _ = sampler.gather(glob, address, batch, local, plan)
    return sampler.scale_counts(glob, address, sums, factor / plan.collect)


def rows(table, dtype=np.int32):
    """A dense table (documents, V) as a batch."""
    documents, words = np.nonzero(table)
    starts = np.concatenate([[0], np.cumsum(np.bincount(documents, minlength=len(table)))]).astype(np.int64)
    numbers = np.arange(len(table), dtype=np.int64)
    values = table[documents, words].astype(dtype)
    return Batch(words.astype(np.int32), values, starts, np.full(len(table), -1, np.int32), numbers)


def sampler_of(kind, *, hyper=HYPER, expected=False, n_threads=1):
    return Sampler(hyper, LINKS["poisson"], kind == "collapsed", expected, Pool(n_threads))


def hierarchy(*widths, seed=0):
    """Random topics of the given widths, words first, and r."""
    rng = np.random.default_rng(seed)
    phi = tuple(np.ascontiguousarray(rng.dirichlet(np.full(n, 0.3), k).T) for n, k in itertools.pairwise(widths))
    return phi, rng.gamma(1.0, size=widths[-1])


@pytest.mark.parametrize("fresh", [False, True])
def test_theta_is_drawn_after_the_topics_and_not_in_the_last_sweep(fresh):
    table = np.random.default_rng(1).poisson(0.8, (40, 30))
    phi, r = hierarchy(30, 12, 9, 3)
    sampler = sampler_of("collapsed")
    glob, batch = sampler.pack_globals(phi, r), rows(table)
    local = sampler.start_locals(glob, batch, Address(1, LOCAL, 0))
    start = local.theta.copy()
    _, counts = sampler.gather(glob, Address(1, LOCAL, 1), batch, local, SweepPlan(fresh=fresh, burn_in=0, collect=1))
    assert np.array_equal(local.theta, start)
    sampler.redraw_theta(glob, Address(1, LOCAL, 2), batch, local, counts)
    assert (local.theta != start).all()
    sampler.gather(glob, Address(1, LOCAL, 3), batch, local, SweepPlan(fresh=fresh, burn_in=1, collect=1))
    between = local.theta.copy()
    sampler.gather(glob, Address(1, LOCAL, 3), batch, local, SweepPlan(fresh=True, burn_in=1, collect=1))
    assert (between != start).all(), "all sweeps but the last draw theta"


# splits


@pytest.mark.parametrize("kind", BOTH)
def test_every_token_goes_to_exactly_one_topic_and_every_table_upward(kind):
    table = np.random.default_rng(1).poisson(0.8, (40, 30))
    phi, r = hierarchy(30, 12, 9, 3)
    sampler = sampler_of(kind)
    glob = sampler.pack_globals(phi, r)
    batch = rows(table)
    local = sampler.start_locals(glob, batch, Address(5, LOCAL, 0))
    got = collect(sampler, glob, Address(5, LOCAL, 1), batch, local, SweepPlan(fresh=False, burn_in=3, collect=1), 1.0)
    words, second, third = got.tables
    assert np.array_equal(words.sum(axis=1), table.sum(axis=0))
    for lower, upper in ((words.sum(axis=0), second.sum(axis=1)), (second.sum(axis=0), third.sum(axis=1))):
        assert (upper <= lower).all()
        assert np.array_equal(upper > 0, lower > 0)
    assert (got.top <= third.sum(axis=0)).all()
    assert np.array_equal(got.top > 0, third.sum(axis=0) > 0)


WEIGHTS = {
    "ordinary": (np.array([0.4, 0.1, 0.2, 0.3, 0.6, 0.9, 0.05, 0.3, 0.7, 0.2, 0.1]), 1.0),
    "some of them zero": (np.array([0.0, 0.5, 0.0, 0.2, 0.0, 0.0, 0.3, 0.0, 0.1, 0.4, 0.0]), 1.0),
    "subnormal": (np.array([3.0, 0.0, 5.0, 1.0, 9.0, 0.0, 2.0, 7.0, 4.0, 0.0, 6.0]), 1e-310),
    "far apart": (np.array([1.0, 1e-200, 0.0, 2.0, 1e-310, 3.0, 0.0, 1.0, 0.5, 0.0, 1e-17]), 1.0),
}


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("above", [(1,), (1, 1), (1, 3)])
def test_a_layer_of_one_topic_shares_out_tokens_by_its_weights(kind, above):
    """Documents of a single token under a layer 2 of one topic: P(z = k) is proportional to phi_vk times phi_k1."""
    weights = WEIGHTS["ordinary"][0]
    n, law = 60_000, weights * np.linspace(0.5, 2.0, len(weights))
    phi = [np.vstack([weights, 1.0 - weights]), np.linspace(0.5, 2.0, len(weights))[:, None]]
    phi += [np.full((below, width), 1.0 / below) for below, width in itertools.pairwise(above)]
    sampler = sampler_of(kind)
    glob = sampler.pack_globals(tuple(phi), np.ones(above[-1]))
    batch = rows(np.tile([1, 0], (n, 1)))
    local = sampler.allocate_locals(glob, batch)
    local.theta1[:] = phi[1][:, 0]
    plan = SweepPlan(fresh=kind == "collapsed", burn_in=1 if kind == "collapsed" else 0, collect=1)
    got = collect(sampler, glob, Address(9, LOCAL, 1), batch, local, plan, 1.0)
    found = np.repeat(np.arange(len(weights)), got.tables[0][0].astype(int))
    assert len(found) == n
    assert chi_square(found, law / law.sum()) > RARE


@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize("kind", BOTH)
def test_tokens_are_split_with_the_right_probabilities(kind, name):
    """Documents of a single token: P(z = k) is proportional to phi_vk times r_k (or theta_k, here r_k too)."""
    weights, unit = WEIGHTS[name]
    n, n_topics = 60_000, len(weights)
    phi = np.vstack([weights * unit, np.full(n_topics, 0.5), 1.0 - weights / 20.0])
    r = np.linspace(0.5, 2.0, n_topics)
    sampler = sampler_of(kind)
    glob = sampler.pack_globals((phi,), r)
    table = np.zeros((n, 3), dtype=int)
    table[:, 0] = 1
    batch = rows(table)
    local = sampler.allocate_locals(glob, batch)
    local.theta1[:] = r
    got = collect(
        sampler,
        glob,
        Address(9, LOCAL, 1),
        batch,
        local,
        SweepPlan(fresh=kind == "collapsed", burn_in=0, collect=1),
        1.0,
    )
    found = np.repeat(np.arange(n_topics), got.tables[0][0].astype(int))
    law = weights * r / (weights * r).sum()
    law[law < 1e-12] = 0.0
    assert len(found) == n
    assert chi_square(found, law) > RARE


def test_tables_go_to_topics_of_the_next_layer_with_the_right_probabilities():
    """A document of one token sends one table up: it goes to topic c with probability phi_kc theta_c."""
    upper = np.array([[0.3, 0.0, 0.2, 1.0, 0.05, 0.5, 0.0, 0.6, 0.4, 0.1]])
    n, width = 60_000, upper.shape[1]
    sampler = sampler_of("collapsed")
    glob = sampler.pack_globals((np.ones((1, 1)), np.vstack([upper, 1.0 - upper])[:1]), np.ones(width))
    batch = rows(np.ones((n, 1), dtype=int))
    local = sampler.allocate_locals(glob, batch)
    local.theta[:] = np.linspace(0.2, 1.4, width)
    got = collect(
        sampler,
        glob,
        Address(9, LOCAL, 1),
        batch,
        local,
        SweepPlan(fresh=False, burn_in=0, collect=1, first_rates=2),
        1.0,
    )
    law = upper[0] * np.linspace(0.2, 1.4, width)
    found = np.repeat(np.arange(width), got.tables[1][0].astype(int))
    assert len(found) == n
    assert chi_square(found, law / law.sum()) > RARE


def test_expected_statistics_have_the_mean_of_the_sampled_ones():
    table = np.random.default_rng(3).poisson(0.7, (200, 12))
    phi, r = hierarchy(12, 5, 3, seed=4)
    batch = rows(table)
    collected = []
    for expected in (False, True):
        sampler = sampler_of("plain", expected=expected)
        glob = sampler.pack_globals(phi, r)
        local = sampler.start_locals(glob, batch, Address(1, LOCAL, 0))
        plan = SweepPlan(fresh=True, burn_in=50, collect=300)
        collected.append(collect(sampler, glob, Address(1, LOCAL, 1), batch, local, plan, 1.0))
    sampled, expected = collected
    for one, other in zip(sampled.tables, expected.tables, strict=True):
        np.testing.assert_allclose(other.sum(), one.sum(), rtol=0.01)
        np.testing.assert_allclose(other, one, atol=0.02 * one.max())
    np.testing.assert_allclose(expected.top, sampled.top, rtol=0.05)


@pytest.mark.parametrize("n_layers", [1, 2, 3])
def test_the_collapsed_and_the_plain_sampler_agree_on_posterior_means(n_layers):
    table = np.random.default_rng(3).poisson(0.7, (150, 12))
    phi, r = hierarchy(*(12, 5, 3, 2)[: n_layers + 1], seed=4)
    batch = rows(table)
    placed = []
    for kind in BOTH:
        sampler = sampler_of(kind, hyper=Hyper(6.0, 7.0, 30.0, 20.0))  # light tails: means that settle soon
        plan = SweepPlan(fresh=True, burn_in=100, collect=1_500, quantity=THETA)
        placed.append(sampler.place_documents(sampler.pack_globals(phi, r), Address(1, INFER, 0), batch, plan))
    for one, other in zip(placed[0].theta, placed[1].theta, strict=True):
        means = one.mean(axis=0), other.mean(axis=0)
        np.testing.assert_allclose(*means, rtol=0.02, atol=0.02 * max(means[0]))
        assert np.sqrt(((one - other) ** 2).mean() / (one**2).mean()) < 0.08


@pytest.mark.parametrize("kind", BOTH)
def test_the_smallest_prior_shape_of_rates_leaves_every_number_finite(kind):
    """Gam(1e-9, .) is below the smallest float64 nearly always, and q of an empty document would be infinite."""
    batch = rows(np.random.default_rng(1).poisson(1.0, (40, 20)) * (np.arange(40) % 4 > 0)[:, None])
    settings = dlda.Config(layers=(6, 4, 3), sampler=kind, e0=1e-9, burn_in=10, collect=1, settle=1)
    kernel = dlda.build(settings, Facts(20, 40))
    state = kernel.init(3)
    for _ in range(4):
        state, _ = kernel.step(3, state, batch)
        assert all(np.isfinite(values).all() for values in flatten(state).values())


@pytest.mark.nightly  # compiles for a third of a minute
def test_counts_too_many_for_small_tables_are_the_same_in_large_ones(monkeypatch):
    phi, r = hierarchy(30, 12, 9, seed=2)
    sampler, batch = sampler_of("collapsed"), rows(np.random.default_rng(1).poisson(0.8, (40, 30)))
    glob, plan = sampler.pack_globals(phi, r), SweepPlan(fresh=True, burn_in=1, collect=2)
    tables = []
    for most in (2 * int(batch.counts.sum()), 2 * int(batch.counts.sum()) - 1):
        monkeypatch.setattr("topiary.engine.gibbs.local.MOST_COUNTED", most)
        got = collect(sampler, glob, Address(5, LOCAL, 1), batch, sampler.allocate_locals(glob, batch), plan, 2.0)
        tables.append(got.tables[0])
    assert [table.dtype for table in tables] == [np.int32, np.int64]
    assert np.array_equal(*tables)


# recovery


@pytest.mark.parametrize("inference", INFERENCES)
def test_bars_are_recovered_up_to_permutation(inference):
    truth, table = bars()
    special = {"gibbs": {}, "sgrld": {"step": 0.01, "tau": 1000.0}}.get(inference, {})
    settings = dlda.Config(layers=(10,), inference=inference, batch_size=40, eta=(0.1,), **special)
    kernel = dlda.build(settings, Facts(25, len(table)))
    best = min(_learn(kernel, table, inference, seed, truth) for seed in (1, 2))
    assert best < 0.12


def _learn(kernel, table, inference, seed, truth):
    every = rows(table)
    state = kernel.prepare(seed, kernel.init(seed), every)
    order = np.random.default_rng(seed)
    n_steps, mean, kept = (200 if inference == "gibbs" else 300), np.zeros(truth.shape), 0
    for t in range(n_steps):
        chosen = np.sort(order.choice(len(table), 40, replace=False))
        small = rows(table[chosen])._replace(documents=chosen.astype(np.int64))
        state, _ = kernel.step(seed, state, every if inference == "gibbs" else small)
        if t >= 0.8 * n_steps:  # topics do not change places late in so clear a case
            mean += state.phi[0]
            kept += 1
    return mismatch(mean / kept, truth)


def test_minibatches_of_auto_are_those_of_tlasgr():
    table = np.minimum(np.random.default_rng(2).poisson(0.5, (31, 140)), 1)
    states = []
    for inference in ("auto", "tlasgr"):
        config = dlda.Config(layers=(130, 6, 4), inference=inference, burn_in=2, collect=2, settle=2, link="bernoulli")
        kernel, batch = dlda.build(config, Facts(140, len(table))), rows(table)
        state = kernel.init(3)
        assert not kernel.is_sweeping(state)
        for _ in range(3):
            state, _ = kernel.step(3, state, batch)
        states.append(flatten(state))
    assert all(np.array_equal(states[0][name], states[1][name]) for name in states[0])


# concentrations


@pytest.mark.parametrize("learns", [False, True])
def test_a_checkpoint_without_eta_continues_from_the_given_one(learns):
    table = np.random.default_rng(7).poisson(0.5, (31, 40))
    kernel = dlda.build(dlda.Config(layers=(6, 4), inference="gibbs", learn_concentrations=learns), Facts(40, 31))
    state = kernel.prepare(3, kernel.init(3), rows(table))
    arrays = flatten(state)
    old = unflatten(dlda.State, {name: values for name, values in arrays.items() if name != "eta"})
    steps = [flatten(kernel.step(3, each, rows(table))[0]) for each in (state, old)]
    assert all(np.array_equal(steps[0][name], steps[1][name]) for name in steps[0])
    assert (tuple(steps[0]["eta"]) == (0.03, 0.15)) != learns


def test_a_run_that_continues_a_snapshot_begins_with_the_concentrations_it_had():
    table = np.random.default_rng(7).poisson(0.5, (31, 40))
    settings = {"layers": (6, 4), "inference": "gibbs"}
    kernel = dlda.build(dlda.Config(**settings, learn_concentrations=True), Facts(40, 31))
    state, info = kernel.step(3, kernel.prepare(3, kernel.init(3), rows(table)), rows(table))
    arrays = pack_topics(kernel.topics(state)) | kernel.keep(state)
    again, given = kernel.restore(3, arrays), dlda.build(dlda.Config(**settings), Facts(40, 31)).restore(3, arrays)
    assert np.array_equal(again.eta, state.eta)
    assert (again.gamma0, again.c0) == (state.gamma0, state.c0)
    assert (*given.eta, given.gamma0, given.c0) == (0.03, 0.15, 1.0, 1.0)
    assert [(each.name, each.layer) for each in info.concentrations] == [
        ("eta", 1), ("eta", 2), ("gamma0", 0), ("c0", 0),
    ]  # fmt: skip
    assert [each.value for each in info.concentrations] == [*state.eta, state.gamma0, state.c0]


@pytest.mark.parametrize(
    "changed", [{"inference": "tlasgr"}, {"sampler": "plain"}, {"grow": True}, {"link": "bernoulli"}]
)
def test_concentrations_are_not_learnt_from_mini_batches(changed):
    with pytest.raises(SettingError, match="learn_concentrations needs sweeps of all documents"):
        dlda.Config(learn_concentrations=True, **changed)


def test_a_corpus_too_large_for_sweeps_learns_no_concentrations():
    facts = Facts(40, 31, n_tokens=MOST_SWEPT + 1)
    with pytest.raises(SettingError, match="which inference auto does not make of 30,000,001 tokens"):
        dlda.build(dlda.Config(layers=(6, 4), learn_concentrations=True), facts)


# threads


@pytest.mark.parametrize(
    ("inference", "changed"),
    [
        *[(inference, {}) for inference in INFERENCES],
        ("gibbs", {"sampler": "plain"}),
        ("gibbs", {"sample_gamma0": True}),
        ("gibbs", {"learn_concentrations": True}),
        ("tlasgr", {"statistics": "expected"}),
        ("tlasgr", {"link": "bernoulli"}),
        ("gibbs", {"link": "gamma"}),
    ],
)
def test_the_same_seed_gives_the_same_bits_for_one_and_two_threads(inference, changed):
    rng = np.random.default_rng(7)
    table = rng.poisson(0.5, (31, 140))
    dtype = np.int32
    if changed.get("link") == "bernoulli":
        table = np.minimum(table, 1)
    if changed.get("link") == "gamma":
        table, dtype = table * rng.gamma(2.0, size=table.shape), np.float32
    batch = rows(table, dtype)
    settings = dlda.Config(layers=(130, 6, 4), inference=inference, burn_in=2, collect=2, settle=2, **changed)
    states, places, rates = [], [], []
    for n_threads in (1, 2):
        kernel = dlda.build(settings, Facts(140, len(table)), n_threads)
        state = kernel.prepare(3, kernel.init(3), batch)
        for _ in range(4):
            state, _ = kernel.step(3, state, batch)
        states.append(flatten(state))
        places.append(kernel.infer(3, state, batch, Sweeps(2, 2)))
        chain = kernel.start_chain(3, state, batch)
        rates.append(kernel.advance_chain(3, state, chain, batch, batch, Sweeps(1, 2))[1])
    assert all(np.array_equal(states[0][name], states[1][name]) for name in states[0])
    assert all(np.isfinite(values).all() for values in states[0].values())
    for one, other in ((places[0].theta, places[1].theta), (rates[0], rates[1])):
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("inference", ["auto", "gibbs"])
def test_a_new_run_begins_without_a_burn_in_which_topics_learnt_before_have(inference):
    """A burn-in under r of the first clusters would give their giant top topic to every document."""
    kernel = dlda.build(dlda.Config(layers=(3, 2), inference=inference), Facts(30, 20, n_tokens=400))
    batch = rows(np.random.default_rng(1).poisson(0.8, (20, 30)))
    state = kernel.prepare(1, kernel.init_from_documents(1, batch), batch)
    assert (state.theta == 1 / 2).all()
    assert len(state.topics) == batch.counts.sum()
    state, _ = kernel.step(1, state, batch)
    kept = pack_topics(kernel.topics(state))
    for arrays in (kept | kernel.keep(state), kept):  # its own snapshot, and that of another model
        again = kernel.restore(1, arrays)
        assert kernel.local(kernel.prepare(1, again, batch)) is None, "the first step burns in"
        assert len(kernel.step(1, again, batch)[0].topics) == batch.counts.sum()
