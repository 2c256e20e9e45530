"""Training of DATM as a whole: planted topics come back, the bound rises, and each setting does what it says."""

import numba
import numpy as np
import pytest
from drawing import bars, mismatch
from plain_datm import case, dense, learn, rows, softplus, step
from scipy import special, stats
from tiny_sdatm import CLASSES, TINY, N, built, labelled, same, snapshot, trained

from topiary.engine import models, shared_settings
from topiary.engine.autoencoder import amortised, encoder, hybrid, hybrid_step
from topiary.engine.autoencoder.classifier import FASTER
from topiary.engine.autoencoder.encoder import PER_LAYER
from topiary.engine.contract import Batch, Facts, Sweeps, flatten, unflatten
from topiary.engine.corpus import divide_tokens
from topiary.engine.gibbs.local import LayerCounts
from topiary.engine.models.datm import kernel as datm

compiled = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="many steps, too slow with the compiler off")


def learnt(inference, n_steps, seed=1, **settings):
    """Mean topics of the last fifth of training on bars, and the bound step by step."""
    truth, table = bars()
    special = {"layers": (10,), "batch_size": 40, "eta": 0.1, "kl_warm_up": 20, "learning_rate": 0.02} | settings
    kernel = datm.build(datm.Config(inference=inference, **special), Facts(25, len(table)))
    state, order = kernel.init(seed), np.random.default_rng(seed)
    bounds, mean, kept = [], np.zeros(truth.shape), 0
    for t in range(n_steps):
        chosen = np.sort(order.choice(len(table), 40, replace=False))
        docs = rows(table[chosen])._replace(documents=chosen.astype(np.int64))
        state, info = kernel.step(seed, state, docs)
        bounds.append(info.elbo)
        if t >= 0.8 * n_steps:
            mean, kept = mean + state.phi[0], kept + 1
    return kernel, state, mismatch(mean / kept, truth), np.array(bounds)


@compiled
@pytest.mark.parametrize(
    ("inference", "counts", "n_steps", "limit"),
    [
        ("whai", "gibbs", 300, 0.12),
        pytest.param("whai", "encoder", 700, 0.2, marks=pytest.mark.nightly),
        pytest.param("iwhai", "encoder", 700, 0.2, marks=pytest.mark.nightly),
        pytest.param("wai", "gibbs", 300, 0.12, marks=pytest.mark.nightly),
    ],
)
def test_bars_are_recovered_and_the_bound_rises(inference, counts, n_steps, limit):
    tries = [learnt(inference, n_steps, seed, counts=counts) for seed in (1, 2)]
    assert min(found for _, _, found, _ in tries) < limit
    for _, _, _, bounds in tries:
        fifth = n_steps // 5
        assert bounds[-fifth:].mean() > bounds[:10].mean() + 5.0
        assert bounds[-fifth:].mean() > bounds[fifth : 2 * fifth].mean()


@compiled
@pytest.mark.parametrize("inference", ["wai", "ghai"])
def test_the_bound_rises_under_every_other_inference(inference):
    _, _, _, bounds = learnt(inference, 300, counts="encoder")
    assert bounds[-60:].mean() > bounds[:10].mean() + 5.0


@compiled
def test_an_encoder_places_a_document_where_its_words_came_from():
    """Documents of a single bar each: the topic of that bar has most of the document's activation."""
    truth, _ = bars()
    kernel, state, _, _ = learnt("whai", 300)
    docs = rows(np.round(60 * truth.T).astype(int))
    theta = kernel.infer(1, state, docs).theta[0]
    rates = theta @ state.phi[0].T
    distance = 0.5 * np.abs(rates / rates.sum(axis=1, keepdims=True) - truth.T).sum(axis=1)
    assert np.median(distance) < 0.35
    heaviest = state.phi[0][:, theta.argmax(axis=1)]
    assert (0.5 * np.abs(heaviest - truth).sum(axis=0) < 0.2).sum() >= 9
    assert (np.abs(theta.sum(axis=1) - 60) < 25).all()


@pytest.mark.parametrize("inference", ["whai", "iwhai", "ghai"])
def test_the_part_of_a_shape_that_comes_from_above_is_that_of_equation_22_and_none_is_left_out(inference):
    this = case(inference=inference)
    found = amortised.infer_theta(this.at, this.state, this.docs)
    assert len(found.above) == 2
    table, weights, hidden = dense(this.docs), this.state.weights, []
    for layer in range(2):
        w3, b3 = weights[PER_LAYER * layer : PER_LAYER * layer + 2]
        hidden.append(softplus((hidden[-1] if layer else np.log1p(table)) @ w3 + b3))
    for layer, parts in enumerate(found.above):
        w1, b1 = weights[PER_LAYER * layer + 2 : PER_LAYER * layer + 4]
        read = softplus(hidden[layer] @ w1 + b1).sum(axis=1)
        down = (found.theta[layer + 1] @ this.state.phi[layer + 1].T).sum(axis=1)
        request = np.zeros(len(table)) if inference == "iwhai" else down / (down + read)
        np.testing.assert_allclose(parts, request, rtol=1e-12)
    assert amortised.infer_theta(*case(layers=(4,))).above == ()


# ------------------------------------------------------------------ settings


def gradient(this):
    return [getattr(g, "values", g) for g in learn(this.at, 7, this.state, this.docs, None).gradient]


def test_the_divergence_weighs_its_share_of_the_warm_up():
    """It rises in a straight line to step 10 and then stays: the gradients are those of that weight set by hand."""
    this = case(kl_weight=0.8, kl_warm_up=10)
    at = [gradient(this._replace(state=this.state._replace(t=np.array(t)))) for t in (4, 9, 20)]
    for t, weight, found in zip((4, 9, 20), (0.4, 0.8, 0.8), at, strict=True):
        plain = case(kl_weight=weight, kl_warm_up=0)
        request = gradient(plain._replace(state=plain.state._replace(t=np.array(t))))
        for one, other in zip(found, request, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_a_step_moves_the_encoder_by_adam_and_the_topics_by_their_counts():
    this = case(layers=(5, 4), counts="encoder", learning_rate=0.01)
    learned = learn(this.at, 7, this.state, this.docs, None)
    state, info = step(this.at, 7, this.state, this.docs)
    assert int(state.t) == int(this.state.t) + 1
    assert info.elbo == learned.elbo
    rate = 0.01 / np.sqrt(1 + 4 / hybrid_step.DECAY)
    for before, after, slope in zip(this.state.weights[1:], state.weights[1:], learned.gradient[1:], strict=True):
        request = rate * np.sign(slope)  # its moments begin here, whatever t is
        np.testing.assert_allclose(after - before, np.where(np.abs(slope) > 1e-4, request, after - before), rtol=1e-2)
    assert all((one != other).any() for one, other in zip(state.phi, this.state.phi, strict=True))


@pytest.mark.parametrize("prior", ["matched", "paper"])
@pytest.mark.parametrize("counts", ["gibbs", "encoder"])
def test_r_is_learnt_where_the_prior_is_matched_and_one_where_it_is_the_papers(prior, counts):
    this = case(layers=(5, 4), prior=prior, counts=counts, burn_in=1, collect=1)
    state, _ = step(this.at, 7, this.state, this.docs)
    assert np.array_equal(state.r, this.state.r) == (prior == "paper")
    if prior == "paper":
        assert (state.r == 1).all()


def test_counts_of_a_mini_batch_stand_for_the_whole_corpus():
    """rho = N / batch size: 50 documents, 9 of them here; and of all words, also where a part of them was read."""
    this = case(layers=(5, 4), counts="encoder")
    for read in (this.docs, divide_tokens(this.docs, 0.5, 1, 4)[0]):
        theta = learn(this.at, 7, this.state, read, None).theta
        statistics = hybrid_step.gather_statistics(this.at, 7, this.state, this.docs)
        counted, draws = hybrid_step._count_tokens(this.at, 7, this.state, this.docs, theta, 4)
        got = hybrid_step._scale_counts(this.at, 7, this.state, statistics._replace(counted=counted))
        assert draws == 1
        by_word = np.bincount(this.docs.words, this.docs.counts, len(got.tables[0]))
        np.testing.assert_allclose(got.tables[0].sum(axis=1), by_word * 50 / 9, rtol=1e-12)


def test_topics_take_a_langevin_step_of_their_own_size():
    this = case(layers=(5, 4), step=0.5, tau=3.0, kappa=0.6, scale_step=0.25)
    rng = np.random.default_rng(3)
    tables = [rng.gamma(1.0, 20.0, phi.shape) for phi in this.state.phi]
    got = LayerCounts(tables, rng.gamma(1.0, 5.0, 4), 30.0)
    old = this.state._replace(scale=(np.full(5, 10.0), np.full(4, 20.0)), top_scale=np.array(8.0))
    state, sizes = hybrid_step._diffuse_topics(this.at, 7, old, got, 4)
    eps = shared_settings.step_size(shared_settings.Schedule(0.5, 3.0, 0.6), 4)
    for layer, table in enumerate(tables):
        request = (1 - eps / 4) * old.scale[layer] + eps / 4 * table.sum(axis=0)
        np.testing.assert_allclose(state.scale[layer], request, rtol=1e-12)
        np.testing.assert_allclose(sizes[layer], eps / request, rtol=1e-12)
    np.testing.assert_allclose(state.top_scale, (1 - eps / 4) * 8.0 + eps / 4 * 30.0, rtol=1e-12)


@pytest.mark.parametrize("model", ["datm", "sdatm"])
def test_adam_begins_again_after_a_fork_so_that_its_first_steps_are_no_longer_than_its_rate(model):
    module = models.load(model)
    still = {"decay": 0.0} if model == "sdatm" else {}  # what fades comes on top of a step
    config = module.Config(layers=(5, 3), burn_in=1, collect=1, **still)
    kernel = module.build(config, Facts(30, 60, 3))
    rng = np.random.default_rng(5)
    counts = rng.poisson(0.8, (60, 30))
    present = counts > 0
    starts = np.concatenate([[0], np.cumsum(present.sum(1))]).astype(np.int64)
    labels = (np.arange(60) % 3).astype(np.int32)
    words, values = np.nonzero(present)[1].astype(np.int32), counts[present].astype(np.int32)
    batch = Batch(words, values, starts, labels, np.arange(60))
    state = kernel.init(1)
    for _ in range(30):
        state, _ = kernel.step(1, state, batch)
    topics = kernel.topics(state)
    kept = {f"phi.{i}": phi for i, phi in enumerate(topics.phi)} | {"r": topics.r} | kernel.keep(state)
    begun = kernel.restore(1, kept)
    after, _ = kernel.step(1, begun, batch)
    own = PER_LAYER * 2
    steps = [np.abs(new - old).max() for new, old in zip(after.weights, begun.weights, strict=True)]
    assert max(steps[:own]) <= config.learning_rate * 1.001
    if model == "sdatm":  # its labels count from the fork on
        assert 0 < max(steps[own:]) <= FASTER * config.learning_rate * 1.001


def test_an_encoder_that_begins_in_a_fork_has_the_schedules_of_a_new_one():
    this = case(layers=(5, 4), learning_rate=0.01, kl_warm_up=100)
    arrays = {f"phi.{i}": phi for i, phi in enumerate(this.state.phi)} | {"r": this.state.r}
    arrays |= {"t": np.array(3500), "top_scale": np.array(1.0)}
    arrays |= {f"scale.{i}": np.ones(width) for i, width in enumerate((5, 4))}
    begun = hybrid.restore_state(this.at, 7, arrays)
    assert (int(begun.t), begun.encoder_age) == (3500, 0)
    after, _ = step(this.at, 7, begun, this.docs)
    steps = [np.abs(new - old).max() for new, old in zip(after.weights, begun.weights, strict=True)]
    assert max(steps) == pytest.approx(0.01 / np.sqrt(1.0 + 1 / hybrid_step.DECAY), rel=1e-3)
    kept = arrays | hybrid.keep_state(after)
    assert hybrid.restore_state(this.at, 7, kept).encoder_age == 1  # and a fork of the fork knows when it began
    old = hybrid.restore_state(this.at, 7, {name: array for name, array in kept.items() if name != "encoder_since"})
    assert old.encoder_age == 3501


def test_an_encoder_whose_shapes_are_of_another_kind_begins_anew_in_a_fork():
    parent = case(layers=(5, 4))
    kept = {f"phi.{i}": phi for i, phi in enumerate(parent.state.phi)} | {"r": parent.state.r}
    kept |= hybrid.keep_state(parent.state._replace(t=np.array(300)))
    child = case(layers=(5, 4), shape="document")
    begun = hybrid.restore_state(child.at, 7, kept)
    assert (int(begun.t), begun.encoder_age) == (300, 0)
    assert [w.shape for w in begun.weights[2:4]] == [(5, 1), (1,)]
    assert not np.array_equal(begun.weights[0], parent.state.weights[0])
    again = hybrid.restore_state(child.at, 7, kept | hybrid.keep_state(begun))
    assert all(np.array_equal(a, b) for a, b in zip(again.weights, begun.weights, strict=True))


# ------------------------------------------------------------------ topics by gradients, from counts


def test_expected_counts_give_the_slope_of_the_likelihood_in_the_topics():
    """Fisher's identity, with theta fixed: where counts are split in proportion, both are x / rate times theta."""
    this = case(layers=(5,))
    phi, theta = this.state.phi[0], np.random.default_rng(3).gamma(1.0, size=(len(this.docs.documents), 5))
    shares = encoder.compute_likelihood(phi, theta, *this.docs[:3]).shares
    request = encoder.compute_topic_slope(phi, theta, shares, this.docs.words, this.docs.starts)
    got = LayerCounts([phi * request], np.zeros(5), 0.0)
    np.testing.assert_allclose(hybrid_step.estimate_slopes(this.state, got, 1)[0], request, rtol=1e-12)


def test_expected_tables_give_the_slope_of_the_likelihood_in_r():
    """Customers x ~ NB(r, 1 - e^-q), the activations integrated out; tables have their exact means."""
    this = case(layers=(5,))
    x, q, r, h = np.array([0, 1, 4, 30, 2]), 0.7, this.state.r, 1e-6
    tables = r * (special.digamma(x + r) - special.digamma(r))
    got = LayerCounts([np.zeros_like(this.state.phi[0])], tables, q)
    ends = [stats.nbinom.logpmf(x, r + side * h, np.exp(-q)) for side in (1, -1)]
    np.testing.assert_allclose(
        hybrid_step.estimate_slopes(this.state, got, 4)[1], (ends[0] - ends[1]) / (2 * h) / 4, rtol=1e-6
    )


@pytest.mark.parametrize("prior", ["matched", "paper"])
def test_documents_are_scored_under_the_rates_of_the_prior_that_is_learned(prior, monkeypatch):
    this, seen = case(prior=prior, refine=2), []
    rate = this.at.sampler.rate_cells

    def watched(*given):
        scored = rate(*given)
        seen.append(given[4].c.copy())
        return scored

    monkeypatch.setattr(type(this.at.sampler), "rate_cells", lambda _, *given: watched(*given))
    start = hybrid.Clock(np.array(0))
    amortised.advance_chain(this.at, 7, this.state, start, this.docs, this.docs, Sweeps(20, 2))
    assert len(seen) == 2
    assert all(np.array_equal(c, np.ones_like(c)) == (prior == "paper") for c in seen)


def test_topics_by_gradients_from_counts_stay_on_the_simplex_and_move_r_only_where_it_is_learned():
    for prior in ("matched", "paper"):
        this = case(inference="wai", counts="gibbs", prior=prior, topic_rate=0.5)
        state = this.state
        for _ in range(5):
            state, info = step(this.at, 7, state, this.docs)
        for layer, before in zip(state.phi, this.state.phi, strict=True):
            np.testing.assert_allclose(layer.sum(axis=0), 1.0, rtol=1e-12)
            assert np.abs(layer - before).max() > 1e-3
        assert np.array_equal(state.r, this.state.r) == (prior == "paper")
        assert info.step_sizes[0][0] == pytest.approx(0.5 / np.sqrt(1 + 8 / 1000))


def test_topics_and_the_models_own_encoder_are_the_same_with_others_beside_it():
    alone, together = flatten(trained(built(1), 6)), flatten(trained(built(3), 6))
    assert all(np.array_equal(array, together[name]) for name, array in alone.items())
    assert len(together) == len(alone) + 2 * hybrid.PARTS * sum(name.startswith("weights.") for name in alone)


@pytest.mark.parametrize("steps", [1, 5], ids=["before labels", "with labels"])
def test_each_encoder_makes_the_step_that_it_would_make_alone(steps):
    kernel, batch = built(3), labelled()
    before = trained(kernel, steps)
    after, _ = kernel.step(4, before, batch)
    members = list(zip(hybrid.split_encoders(before), hybrid.split_encoders(after), strict=True))
    assert len(members) == 3
    for number, (was, now) in enumerate(members):
        alone, _ = built(1).step(hybrid.derive_seed(4, number), was, batch)
        same(alone.weights, now.weights)
        same(alone.first, now.first)
        same(alone.second, now.second)
        same(alone.steady or alone.weights, now.steady or now.weights)


@pytest.mark.parametrize("classifier", ["network", "linear"])
def test_class_weights_are_the_mean_of_all_encoders(classifier):
    kernel, single = built(3, classifier=classifier), built(1, classifier=classifier)
    state = trained(kernel, 6)
    apart = [single.keep(member) for member in hybrid.split_encoders(state)]
    together = kernel.keep(state)
    for layer in range(len(TINY["layers"])):
        tables = [kept[f"class_weights.{layer}"] for kept in apart]
        assert np.abs(tables[0] - tables[1]).max() > 1e-3
        np.testing.assert_allclose(together[f"class_weights.{layer}"], np.mean(tables, axis=0), atol=1e-12)


def test_encoders_differ_from_the_start():
    weights = [member.weights[0] for member in hybrid.split_encoders(built(3).init(4))]
    assert all(np.abs(one - other).max() > 0.01 for one, other in zip(weights, weights[1:] + weights[:1], strict=True))
    assert len({hybrid.derive_seed(4, number) for number in range(20)} | {hybrid.derive_seed(5, 1)}) == 21


def test_a_prediction_is_the_mean_of_all_encoders_which_share_the_draws():
    kernel, batch = built(3), labelled(1)
    state = trained(kernel, 8)
    alone = built(1, predict_samples=2)
    report = [
        alone.predict(hybrid.derive_seed(4, number), member, batch)
        for number, member in enumerate(hybrid.split_encoders(state))
    ]
    assert np.abs(report[0] - report[1]).max() > 0.01
    np.testing.assert_allclose(kernel.predict(4, state, batch), sum(report) / 3, rtol=1e-12)
    fewer = [
        alone.predict(hybrid.derive_seed(4, number), member, batch, 1)
        for number, member in enumerate(hybrid.split_encoders(state))
    ]
    np.testing.assert_allclose(kernel.predict(4, state, batch, 3), sum(fewer) / 3, rtol=1e-12)


def test_several_encoders_are_less_often_sure_and_wrong():
    """On planted classes, 40 documents of which are labelled wrongly: doubt is added where encoders disagree."""
    batch = labelled()
    wrong = np.arange(0, N, 3)
    noisy = batch._replace(labels=np.where(np.isin(np.arange(N), wrong), (batch.labels + 1) % CLASSES, batch.labels))
    kernel = built(4, label_weight=1000.0, dropout=0.0, read_share=1.0)
    state = kernel.init(4)
    for _ in range(60):
        state, _ = kernel.step(4, state, noisy)
    fresh = labelled(1)

    def loss(chances):
        return -np.log(chances[np.arange(N), fresh.labels]).mean()

    alone = built(1, predict_samples=2)
    each = [
        loss(alone.predict(hybrid.derive_seed(4, number), member, fresh))
        for number, member in enumerate(hybrid.split_encoders(state))
    ]
    assert loss(kernel.predict(4, state, fresh)) < np.mean(each) - 0.01


def test_threads_change_no_bit():
    one, two = flatten(trained(built(4), 4)), flatten(trained(built(4, n_threads=2), 4))
    assert all(np.array_equal(array, two[name]) for name, array in one.items())


def test_a_run_goes_on_from_a_checkpoint_with_all_its_encoders():
    kernel, batch = built(3), labelled()
    state = trained(kernel, 5)
    again = unflatten(type(state), flatten(state))
    one, other = flatten(kernel.step(4, state, batch)[0]), flatten(kernel.step(4, again, batch)[0])
    assert all(np.array_equal(array, other[name]) for name, array in one.items())


def test_a_snapshot_keeps_the_steady_weights_of_all_encoders():
    kernel, batch = built(3), labelled(1)
    state = trained(kernel, 8)
    restored = kernel.restore(4, snapshot(kernel, state))
    for was, now in zip(hybrid.split_encoders(state), hybrid.split_encoders(restored), strict=True):
        same(now.weights, was.steady)
    np.testing.assert_allclose(kernel.predict(4, restored, batch), kernel.predict(4, state, batch), rtol=1e-12)


def test_a_fork_begins_encoders_that_its_parent_lacks_and_leaves_those_it_does_not_want():
    parent = built(2)
    kept = snapshot(parent, trained(parent, 8))
    more = list(hybrid.split_encoders(built(3).restore(4, kept)))
    fresh = list(hybrid.split_encoders(built(3).init(4)))
    theirs = list(hybrid.split_encoders(parent.restore(4, kept)))
    encoding = PER_LAYER * 2
    same(more[1].weights, theirs[1].weights)
    same(more[2].weights[:encoding], theirs[0].weights[:encoding])
    same(more[2].weights[encoding:], fresh[2].weights[encoding:])
    assert not built(1).restore(4, kept).others


def test_in_a_fork_to_another_classifier_each_encoder_goes_on_with_a_new_one():
    parent = built(2)
    kept = snapshot(parent, trained(parent, 8))
    theirs = list(hybrid.split_encoders(parent.restore(4, kept)))
    changed = built(2, hidden=(7, 4))
    found, fresh = (list(hybrid.split_encoders(state)) for state in (changed.restore(4, kept), changed.init(4)))
    encoding = PER_LAYER * 2
    for number in range(2):
        same(found[number].weights[:encoding], theirs[number].weights[:encoding])
        same(found[number].weights[encoding:], fresh[number].weights[encoding:])


def test_in_a_fork_of_topics_alone_encoders_begin_apart():
    parent = built(1)
    bare = {
        name: table for name, table in snapshot(parent, trained(parent, 2)).items() if not name.startswith("weights")
    }
    found = list(hybrid.split_encoders(built(2).restore(4, bare)))
    assert np.abs(found[1].weights[0] - found[0].weights[0]).max() > 0.01
