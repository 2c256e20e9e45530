"""The encoder and Adam against plain twins: sparse words, lazy rows, softplus, what is pruned."""

import itertools

import numpy as np
import pytest
from plain_datm import PER_LAYER, V, case, counts, dense, learn, rows, softplus, step

from topiary.engine import streams
from topiary.engine.autoencoder import amortised, encoder, hybrid, hybrid_step
from topiary.engine.contract import Facts, Sweeps
from topiary.engine.gibbs.local import Sampler
from topiary.engine.models.datm import kernel as datm
from topiary.engine.settings import SettingError
from topiary.engine.shared_settings import EncoderShape
from topiary.engine.streams import Address

# ------------------------------------------------------------------ softplus


def test_softplus_and_its_slope_keep_their_digits_far_from_nought():
    x = np.array([-700.0, -50.0, -30.0, -1.0, 0.0, 1.0, 30.0, 50.0, 700.0, 1e300])
    value = encoder.softplus(x)
    np.testing.assert_allclose(value[:3], np.exp(x[:3]), rtol=1e-12)
    np.testing.assert_allclose(value[-4:], x[-4:], rtol=1e-12)
    np.testing.assert_allclose(value[3:6], softplus(x[3:6]), rtol=1e-15)
    np.testing.assert_allclose(encoder.softplus_slope(value)[:3], np.exp(x[:3]), rtol=1e-12)
    np.testing.assert_allclose(encoder.softplus_slope(value)[3:6], 1.0 / (1.0 + np.exp(-x[3:6])), rtol=1e-14)
    np.testing.assert_allclose(encoder.softplus_slope(value)[-4:], 1.0, rtol=1e-12)


def test_softplus_beyond_the_reach_of_floats_is_finite():
    x = np.array([-1e300, -800.0, 1e300])
    value = encoder.softplus(x)
    assert np.isfinite(value).all()
    assert np.isfinite(encoder.softplus_slope(value)).all()
    assert (value >= 0).all()


# ------------------------------------------------------------------ words


def test_hidden_layers_are_the_plain_ones_for_any_stretch_of_documents():
    this = case()
    hidden = [np.log1p(dense(this.docs))]
    for layer in range(3):
        w, b = this.state.weights[PER_LAYER * layer : PER_LAYER * layer + 2]
        hidden.append(softplus(hidden[-1] @ w + b))
    for first, last in ((0, 9), (2, 5), (4, 4)):
        got = encoder.read_documents(this.state.weights, 3, this.docs, np.log1p(this.docs.counts), first, last)
        for one, plain in zip(got, hidden[1:], strict=True):
            np.testing.assert_allclose(one, plain[first:last], rtol=1e-12)


def test_inputs_are_logarithms_or_weighed_by_rarity_and_of_one_length():
    docs, table = rows(counts()), counts()
    np.testing.assert_array_equal(encoder.compute_inputs(docs, np.zeros(0), 0), np.log1p(docs.counts))
    spread = (table > 0).sum(axis=0).astype(float)
    weighed = np.log1p(table) * (1.0 + np.log((1.0 + len(table)) / (1.0 + spread)))
    lengths = np.sqrt((weighed**2).sum(axis=1, keepdims=True))
    request = np.divide(8.0 * weighed, lengths, out=np.zeros_like(weighed), where=lengths > 0)
    owners = np.repeat(np.arange(len(table)), np.diff(docs.starts))
    got = encoder.compute_inputs(docs, spread, len(table))
    np.testing.assert_allclose(got, request[owners, docs.words], rtol=1e-12)
    assert not np.allclose(got, encoder.compute_inputs(docs, spread[::-1].copy(), len(table)))


def test_words_are_counted_over_one_pass_of_the_documents():
    this = case(inputs="tfidf")
    state = this.state._replace(spread=np.zeros(V), met=np.array(0))
    seen = (dense(this.docs) > 0).sum(axis=0)
    for _ in range(10):  # 9 documents a batch, 50 in the corpus
        words = hybrid.count_spread(this.at, state, this.docs)
        state = hybrid.add_spread(state, words, len(this.docs.documents))
    assert int(state.met) == 54
    np.testing.assert_array_equal(state.spread, 6 * seen)
    kept = hybrid.keep_state(state)
    again = hybrid.restore_state(this.at, 1, {name: np.asarray(value) for name, value in kept.items()} | phi_of(state))
    assert int(again.met) == 54
    np.testing.assert_array_equal(again.spread, state.spread)
    plain = case()
    assert hybrid.add_spread(plain.state, hybrid.count_spread(plain.at, plain.state, plain.docs), 9) is plain.state
    assert "spread" not in hybrid.keep_state(plain.state)


def phi_of(state):
    return {f"phi.{layer}": table for layer, table in enumerate(state.phi)} | {"r": state.r}


def test_the_gradient_of_weighed_inputs_is_that_of_finite_differences():
    this = case(layers=(5, 4), inputs="tfidf", kl_weight=1.0, kl_warm_up=0)
    state = this.state._replace(spread=np.arange(V) % 7.0, met=np.array(9))
    got = learn(this.at, 7, state, this.docs, None).gradient[0]
    for place in (0, len(got.rows) // 2):
        shifted = []
        for change in (1e-5, -1e-5):
            table = state.weights[0].copy()
            table[got.rows[place], 2] += change
            moved = state._replace(weights=(table, *state.weights[1:]))
            shifted.append(learn(this.at, 7, moved, this.docs, None).elbo)
        assert got.values[place, 2] == pytest.approx((shifted[0] - shifted[1]) / 2e-5, rel=1e-5)


def test_weighed_inputs_need_the_prior_that_knows_how_long_a_document_is():
    with pytest.raises(SettingError, match="inputs tfidf needs prior matched"):
        datm.Config(inputs="tfidf", prior="paper")


def test_a_mini_batch_touches_the_words_it_has_and_no_other():
    this = case(layers=(5, 4), counts="encoder")
    first = learn(this.at, 7, this.state, this.docs, None).gradient[0]
    present = np.flatnonzero(dense(this.docs).sum(axis=0))
    assert len(present) == V - 1
    assert np.array_equal(first.rows, present)
    new, _ = step(this.at, 7, this.state, this.docs)
    assert (this.state.weights[0][present] != new.weights[0][present]).all()
    for name in ("weights", "first", "second"):
        before, after = getattr(this.state, name)[0], getattr(new, name)[0]
        assert before[V - 1].tobytes() == after[V - 1].tobytes()


def test_a_long_mini_batch_cut_into_tables_has_the_gradient_of_its_parts():
    """More documents than one table holds: sums over documents, divided once."""
    table = np.tile(counts(), (30, 1))
    assert len(table) > hybrid_step.ROWS
    this = case(table=table)
    whole = learn(this.at, 7, this.state, this.docs, None)
    parts, total = (slice(0, 100), slice(100, 270)), 0.0
    sums = [np.zeros_like(w) for w in this.state.weights[1:]]
    for part in parts:
        got = learn(this.at, 7, this.state, rows(table[part], 100 + part.start), None)
        n = part.stop - part.start
        total += n * got.elbo
        sums = [a + n * b for a, b in zip(sums, got.gradient[1:], strict=True)]
    assert whole.elbo == pytest.approx(total / 270, rel=1e-12)
    for one, other in zip(whole.gradient[1:], sums, strict=True):
        np.testing.assert_allclose(one, other / 270, rtol=1e-9, atol=1e-10)


# ------------------------------------------------------------------ Adam


def plain_adam(weight, gradients, rate):
    """Algorithm 1 of Kingma and Ba, line by line."""
    m, v = np.zeros_like(weight), np.zeros_like(weight)
    for t, g in enumerate(gradients, start=1):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        weight = weight + rate * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return weight, m, v


def test_adam_is_the_plain_one_on_arrays_of_any_shape_and_order():
    rng = np.random.default_rng(1)
    start = (rng.normal(size=(4, 3)), rng.normal(size=5), np.asfortranarray(rng.normal(size=(3, 2))))
    gradients = [[1e-3 * rng.normal(size=w.shape) for w in start] for _ in range(7)]
    weights, moments = start, hybrid.start_moments(start)
    for t, each in enumerate(gradients, start=1):
        weights, moments = hybrid.step_adam(weights, moments, [each[0], each[1], each[2].T.copy().T], [0.01] * 3, t)
    for i, weight in enumerate(start):
        request = plain_adam(weight, [each[i] for each in gradients], 0.01)
        for got, plain in zip((weights[i], moments.first[i], moments.second[i]), request, strict=True):
            np.testing.assert_allclose(got, plain, rtol=1e-10)


def test_weights_fade_beside_their_step_in_any_order_and_in_rows_that_stay():
    rng = np.random.default_rng(3)
    start = (rng.normal(size=(4, 3)), np.asfortranarray(rng.normal(size=(3, 2))), rng.normal(size=(6, 3)))
    gradients = [rng.normal(size=(4, 3)), rng.normal(size=(3, 2)), hybrid.RowGradient(np.array([1]), np.ones((1, 3)))]
    plain, _ = hybrid.step_adam(start, hybrid.start_moments(start), gradients, [0.01] * 3, 1)
    faded, _ = hybrid.step_adam(start, hybrid.start_moments(start), gradients, [0.01] * 3, 1, [0.1, 0.2, 0.3])
    for one, other, before, lost in zip(faded, plain, start, (0.1, 0.2, 0.3), strict=True):
        np.testing.assert_allclose(one, other - lost * before, rtol=1e-12)


def test_adam_climbs_and_a_row_it_is_not_told_of_stays():
    table = np.random.default_rng(2).normal(size=(6, 3))
    kept = table.copy()
    rows_seen = np.array([1, 4])
    values = np.array([[1.0, -2.0, 3.0], [-0.5, 0.25, 4.0]])
    (new,), moments = hybrid.step_adam(
        (table,), hybrid.start_moments((table,)), [hybrid.RowGradient(rows_seen, values)], [0.01], 1
    )
    assert np.array_equal(table, kept)
    np.testing.assert_allclose(new[rows_seen] - kept[rows_seen], 0.01 * np.sign(values), rtol=1e-6)
    others = [0, 2, 3, 5]
    assert np.array_equal(new[others], kept[others])
    assert (moments.first[0][others] == 0).all()
    assert (moments.second[0][others] == 0).all()
    dense_gradient = np.zeros_like(kept)
    dense_gradient[rows_seen] = values
    request = plain_adam(kept, [dense_gradient], 0.01)
    np.testing.assert_allclose(new, request[0], rtol=1e-12)


# ------------------------------------------------------------------ pruned units


def random_prior(rng, widths, n):
    phi = tuple(np.ascontiguousarray(rng.dirichlet(np.ones(a), b).T) for a, b in itertools.pairwise(widths))
    c, sizes = rng.gamma(2.0, 0.5, (n, len(phi))), rng.gamma(2.0, 0.5, (n, len(phi)))
    return encoder.TablePrior(phi, rng.gamma(2.0, 0.5, widths[-1]), c, sizes)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("posterior", ["weibull", "gamma"])
@pytest.mark.parametrize("layers", [(6,), (5, 6)])
def test_a_pruned_encoder_is_the_old_one_without_the_units_it_lost(posterior, layers, shared):
    """The means of kept units equal those of an encoder whose lost units say nothing, exactly but for rounding."""
    rng, kept = np.random.default_rng(3), np.array([0, 2, 5])
    docs = rows(counts())
    n, n_layers = len(docs.documents), len(layers)
    weights = tuple(
        w + rng.normal(0.0, 0.2, w.shape) for w in encoder.draw_weights(rng, V, layers, per_document=shared)
    )
    prior = random_prior(rng, (V, *layers), n)
    lost = np.setdiff1d(np.arange(6), kept)
    deaf = [w.copy() for w in weights]
    deaf[-4][lost] = deaf[-2][lost] = 0.0  # the heads do not hear them
    phi = [layer.copy() for layer in prior.phi]
    if n_layers > 1:
        phi[-1][:, lost] = 0.0  # nor do the activations below
    kind = EncoderShape(posterior, per_document=shared)
    hidden = encoder.read_documents(weights, n_layers, docs, np.log1p(docs.counts), 0, n)
    old = encoder.run_forward(kind, encoder.compute_heads(tuple(deaf), hidden), prior._replace(phi=tuple(phi)), None)
    small = encoder.prune_weights(weights, kept)
    assert small[PER_LAYER * (n_layers - 1)].flags.c_contiguous
    less = prior._replace(phi=(*prior.phi[:-1], np.ascontiguousarray(prior.phi[-1][:, kept])), r=prior.r[kept])
    hidden = encoder.read_documents(small, n_layers, docs, np.log1p(docs.counts), 0, n)
    new = encoder.run_forward(kind, encoder.compute_heads(small, hidden), less, None)
    np.testing.assert_allclose(new.theta[-1], old.theta[-1][:, kept], rtol=1e-12)
    for one, other in zip(new.theta[:-1], old.theta[:-1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("inference", ["whai", "iwhai", "wai", "ghai"])
def test_growing_prunes_every_array_of_the_encoder_alike(inference):
    config = datm.Config(layers=(6, 9), grow=True, grow_every=3, prune_below=0.05, inference=inference)
    at, docs = hybrid.make_setup(config, Facts(V, 50), 1), rows(counts())
    state = hybrid.init_state(at, 1)
    for _ in range(3):
        state, _ = step(at, 1, state, docs)
    r = np.array([0.5, 0.01, 0.6, 0.02, 0.7, 0.8])
    kept = np.flatnonzero(r > 0.05)
    grown, events = hybrid.grow_state(at, 1, state._replace(r=r))
    assert [(e.kind, e.layer, e.before, e.after) for e in events] == [("pruned", 1, 6, 4), ("layer added", 2, 0, 4)]
    old, new = state.weights, grown.weights
    for arrays in (new, grown.first, grown.second):
        assert [w.shape for w in arrays] == [(V, 4), (4,), *[(4, 4), (4,)] * 5]
    assert np.array_equal(new[0], old[0][:, kept])
    assert np.array_equal(new[1], old[1][kept])
    for i in (2, 4):
        assert np.array_equal(new[i], old[i][np.ix_(kept, kept)])
        assert np.array_equal(new[i + 1], old[i + 1][kept])
    assert not any(w.any() for w in (*grown.first, *grown.second)), "Adam begins again"
    assert int(grown.moved) == 0
    assert np.array_equal(grown.phi[0], state.phi[0][:, kept])
    assert np.array_equal(grown.scale[0], state.scale[0][kept])
    assert [len(layer) for layer in grown.scale] == [4, 4]
    assert [m.shape for m in grown.topic_first] == ([(V, 4), (4, 4), (4,)] if inference == "wai" else [])
    after, info = step(at, 1, grown, docs)
    assert np.isfinite(info.elbo)
    assert all(np.isfinite(values).all() for values in (*after.weights, *after.phi, after.r))


# ------------------------------------------------------------------ placing documents


def test_the_matched_prior_expects_as_many_tokens_as_a_document_has():
    this = case(prior="matched")
    prior = amortised.make_prior(this.at, this.state, this.docs)
    lengths = np.maximum(dense(this.docs).sum(axis=1), 1.0)
    expected = np.full(len(lengths), this.state.r.sum())
    for layer in reversed(range(3)):
        expected = expected / prior.c[:, layer]
        np.testing.assert_allclose(prior.sizes[:, layer] * this.state.phi[layer].shape[1], expected, rtol=1e-12)
    np.testing.assert_allclose(expected, lengths, rtol=1e-12)
    paper = case(prior="paper")
    prior = amortised.make_prior(paper.at, paper.state, paper.docs)
    assert (prior.c == 1).all()
    assert (prior.sizes == 1).all()


def test_rates_are_summed_over_samples_at_the_cells_asked_for():
    this = case(layers=(5, 4))
    observed, scored = this.docs, rows(counts(2))
    theta = np.random.default_rng(1).gamma(1.0, size=(len(observed.documents), 5))
    cells = np.full(len(scored.words), 10.0)
    encoder.add_rates(this.state.phi[0], theta, scored.words, scored.starts, cells)
    documents = np.repeat(np.arange(len(theta)), np.diff(scored.starts))
    np.testing.assert_allclose(cells, 10.0 + (theta @ this.state.phi[0].T)[documents, scored.words], rtol=1e-12)


def test_no_two_draws_of_a_refined_sample_share_their_random_numbers(monkeypatch):
    this = case(layers=(5, 4), refine=2)
    used = []
    for name in ("assign_tokens", "rate_cells"):
        monkeypatch.setattr(Sampler, name, _recording(getattr(Sampler, name), used))
    monkeypatch.setattr(amortised, "make_noise", _recording(amortised.make_noise, used))
    scored = rows(counts(2))
    chain = hybrid.Clock(np.array(0))
    amortised.advance_chain(this.at, 7, this.state, chain, this.docs, scored, Sweeps(9, 3))
    assert len(used) == 9
    assert len(set(used)) == 9


def test_sweeps_after_the_encoder_are_as_many_a_layer(monkeypatch):
    used = []
    monkeypatch.setattr(Sampler, "rate_cells", _recording(Sampler.rate_cells, used, Sweeps))
    for layers in ((5,), (5, 4), (5, 4, 3)):
        this = case(layers=layers, refine=2)
        scored = rows(counts(2))
        amortised.advance_chain(this.at, 7, this.state, hybrid.Clock(np.array(0)), this.docs, scored, Sweeps(0, 1))
    assert used == [Sweeps(2, 1), Sweeps(4, 1), Sweeps(6, 1)]


@pytest.mark.parametrize(
    ("refine", "sweeps", "samples"),
    [
        (2, Sweeps(60, 60, 2), 30),
        (2, Sweeps(0, 1), 1),
        (2, Sweeps(1, 0), 0),
        (9, Sweeps(60, 60, 2), 6),
        (9, Sweeps(0, 60), 3),
    ],
)
def test_samples_are_those_of_a_chain_or_what_its_sweeps_pay_for(monkeypatch, refine, sweeps, samples):
    used = []
    monkeypatch.setattr(Sampler, "rate_cells", _recording(Sampler.rate_cells, used, Sweeps))
    this, scored = case(layers=(5, 4), refine=refine), rows(counts(2))
    amortised.advance_chain(this.at, 7, this.state, hybrid.Clock(np.array(0)), this.docs, scored, sweeps)
    assert used == [Sweeps(2 * refine, 1)] * samples


def _recording(function, used, kind=Address):
    def recording(*arguments):
        used.append(next(each for each in arguments if isinstance(each, kind)))
        return function(*arguments)

    return recording


def test_a_sample_is_a_draw_and_a_smooth_one_its_mean_given_the_layers_above():
    this = case(layers=(5, 4))
    address = Address(7, streams.CHAIN, 3)
    drawn = amortised.sample_theta(this.at, this.state, address, this.docs)
    smooth = amortised.sample_theta(this.at, this.state, address, this.docs, smooth=True)
    assert np.array_equal(drawn[1], smooth[1])
    means = np.zeros_like(drawn[0])
    sizes = [softplus(h @ this.state.weights[4] + this.state.weights[5]) for h in _hidden(this)]
    means = np.concatenate(sizes) * amortised.make_prior(this.at, this.state, this.docs).sizes[:, :1]
    np.testing.assert_allclose(smooth[0], means, rtol=1e-10)
    assert not np.isclose(drawn[0], means).any()


def _hidden(this):
    w, b = this.state.weights[:2]
    return [softplus(np.log1p(dense(this.docs)) @ w + b)]
