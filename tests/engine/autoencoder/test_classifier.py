"""The classifier of sDATM: derivatives, what labels change, and what is predicted."""

from functools import partial

import numpy as np
import pytest
from plain_datm import case, learn

from topiary.engine import models
from topiary.engine.autoencoder import classifier, hybrid, hybrid_step
from topiary.engine.autoencoder.classifier import START_SPREAD, Classifier, softmax
from topiary.engine.contract import Batch, Facts, Sweeps, flatten

WIDTHS, CLASSES, N = (5, 3), 4, 7
WIDE = (9, 8)  # layers that have units to spare
SMALL = {"layers": WIDTHS, "burn_in": 2, "collect": 2}


def head(hidden=(), **changed):
    return Classifier(
        **({"n_classes": CLASSES, "hidden": hidden, "weight": 2.0, "first": 0, "ramp": 1, "rate": 1e-3} | changed),
        n_documents=50,
        seed=5,
    )


def table(labels=None):
    labels = np.arange(N) % CLASSES if labels is None else labels
    nothing = np.zeros(0, np.int32)
    return Batch(nothing, nothing, np.zeros(N + 1, np.int64), labels.astype(np.int32), np.arange(10, 10 + N))


def drawn(seed=0):
    rng = np.random.default_rng(seed)
    theta = [rng.gamma(1.0, 2.0, (N, width)) for width in WIDTHS]
    return theta, rng.uniform(0.5, 2.0, (N, len(WIDTHS)))


def moved(weights, seed=1):
    """Weights away from the zeros where the last layer starts."""
    rng = np.random.default_rng(seed)
    return tuple(
        w + rng.normal(0, 0.3, w.shape) + (4.0 if w.ndim == 2 and (w == START_SPREAD).all() else 0.0) for w in weights
    )


KINDS = pytest.mark.parametrize(
    ("hidden", "shortcut"), [((), False), ((6, 4), False), ((6, 4), True)], ids=["linear", "network", "shortcut"]
)


@KINDS
def test_every_derivative_agrees_with_finite_differences(hidden, shortcut):
    kind = head(hidden, shortcut=shortcut)
    weights = moved(kind.make_weights(3, WIDTHS))
    theta, sizes = drawn()
    docs = table(np.array([0, 1, 2, 3, -1, 1, 2]))
    lesson = kind.learn_labels(weights, theta, sizes, docs, 9)
    rng = np.random.default_rng(2)
    for i, gradient in enumerate(lesson.gradient):
        for at in rng.integers(0, gradient.size, 4):
            ends = []
            for step in (1e-5, -1e-5):
                shifted = [w.copy() for w in weights]
                shifted[i].reshape(-1)[at] += step
                ends.append(kind.learn_labels(tuple(shifted), theta, sizes, docs, 9).value.sum())
            assert gradient.reshape(-1)[at] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5, abs=1e-7), i
    for layer, outer in enumerate(lesson.outer):
        for at in rng.integers(0, outer.size, 6):
            ends = []
            for step in (1e-5, -1e-5):
                shifted = [values.copy() for values in theta]
                shifted[layer].reshape(-1)[at] += step
                ends.append(kind.learn_labels(weights, shifted, sizes, docs, 9).value.sum())
            assert outer.reshape(-1)[at] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5, abs=1e-7)


def test_the_divergence_of_the_weights_agrees_with_finite_differences():
    kind = head()
    weights = moved(kind.make_weights(3, WIDTHS))

    def divergence(each):
        mean, deviation = each[-3], np.logaddexp(0, each[-2])
        return 0.5 * (mean**2 + deviation**2 - 1).sum() - np.log(deviation).sum()

    gradient = kind.differentiate_divergence(weights, 9)
    for i in (-3, -2):
        for at in (0, 5, 17):
            ends = []
            for step in (1e-5, -1e-5):
                shifted = [w.copy() for w in weights]
                shifted[i].reshape(-1)[at] += step
                ends.append(-divergence(shifted) / 50)
            assert gradient[i].reshape(-1)[at] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5)
    assert not gradient[-1].any()


def test_with_a_shortcut_and_a_silent_network_the_classifier_is_linear():
    linear, network = head(), head((6, 4), shortcut=True)
    weights, theta, sizes = moved(linear.make_weights(3, WIDTHS)), *drawn()
    silent = list(network.make_weights(3, WIDTHS))
    silent[-3][4:], silent[-2][4:], silent[-1][:] = weights
    silent[-2][:4] = -50.0
    numbers = np.arange(N)
    together = network.predict_classes(tuple(silent), theta, sizes, numbers, 0)
    np.testing.assert_allclose(together, linear.predict_classes(weights, theta, sizes, numbers, 0), rtol=1e-12)


def test_a_network_sees_topics_only_through_its_layers_unless_there_is_a_shortcut():
    for kind, rows in ((head((6, 4)), 4), (head((6, 4), shortcut=True), 4 + sum(WIDTHS)), (head(shortcut=True), 8)):
        assert kind.make_weights(3, WIDTHS)[-3].shape == (rows, CLASSES)


def test_a_document_without_a_label_teaches_nothing():
    kind = head((6, 4))
    weights = moved(kind.make_weights(3, WIDTHS))
    theta, sizes = drawn()
    lesson = kind.learn_labels(weights, theta, sizes, table(np.full(N, -1)), 9)
    assert not lesson.value.any()
    assert not any(each.any() for each in (*lesson.outer, *lesson.gradient))


def test_labels_come_in_by_degrees():
    kind = head(first=100, ramp=50)
    assert [kind.weigh_labels(t) for t in (1, 100, 125, 150, 1000)] == [0.0, 0.0, 1.0, 2.0, 2.0]


def test_probabilities_of_huge_logits_are_finite():
    np.testing.assert_allclose(softmax(np.array([[1e4, 0.0, -1e4]])), [[1, 0, 0]])


@KINDS
def test_class_weights_are_the_slopes_of_the_mean_logits(hidden, shortcut):
    kind = head(hidden, shortcut=shortcut)
    weights = moved(kind.make_weights(3, WIDTHS))
    shown = kind.compute_class_weights(weights, WIDTHS)
    assert [each.shape for each in shown] == [(CLASSES, width) for width in WIDTHS]
    if not hidden:
        np.testing.assert_allclose(np.concatenate(shown, axis=1), weights[-3].T, atol=1e-12)


# ------------------------------------------------------------------ the model


def labelled(n=240, seed=0, *, share=1.0):
    """Documents on four subjects of eight words each, labelled by subject; a share of the labels is known."""
    rng = np.random.default_rng(seed)
    subject = rng.integers(0, CLASSES, n)
    counts = rng.poisson(0.1 + 1.2 * (np.arange(32) // 8 == subject[:, None]))
    present = counts > 0
    report = np.where(rng.random(n) < share, subject, -1).astype(np.int32)
    batch = Batch(
        np.nonzero(present)[1].astype(np.int32),
        counts[present].astype(np.int32),
        np.concatenate([[0], np.cumsum(present.sum(1))]).astype(np.int64),
        report,
        np.arange(n, dtype=np.int64),
    )
    return batch, subject


def trained(model, steps, batch, **changed):
    module = models.load(model)
    kernel = module.build(module.Config(**(SMALL | changed)), Facts(32, len(batch.documents), CLASSES))
    state = kernel.init(4)
    for _ in range(steps):
        state, _ = kernel.step(4, state, batch)
    return kernel, state


@pytest.mark.parametrize(("classifier", "share"), [("linear", 1.0), ("network", 0.3)])
def test_planted_classes_are_predicted_for_documents_never_seen(classifier, share):
    batch, _ = labelled(share=share)
    kernel, state = trained(
        "sdatm", 150, batch, classifier=classifier, label_start=20, label_ramp=10, predict_samples=10
    )
    fresh, subject = labelled(seed=1)
    chances = kernel.predict(4, state, fresh._replace(labels=np.full(240, -1, np.int32)))
    assert np.mean(chances.argmax(axis=1) == subject) > 0.95
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)


def test_with_labels_of_no_weight_it_is_datm_to_the_bit():
    batch, _ = labelled()
    _, plain = trained("datm", 6, batch)
    _, silent = trained("sdatm", 6, batch, counts="gibbs", head_gain=1.0, label_weight=0.0, label_start=0)
    one, other = flatten(plain), flatten(silent)
    assert all(np.array_equal(one[name], other[name]) for name in one)


def test_labels_of_some_weight_change_the_encoder_and_the_topics():
    batch, _ = labelled()
    _, silent = trained("sdatm", 6, batch, counts="encoder", label_weight=0.0, label_start=0, label_ramp=1)
    _, on_message = trained("sdatm", 6, batch, counts="encoder", label_weight=10.0, label_start=0, label_ramp=1)
    assert not np.array_equal(silent.weights[0], on_message.weights[0])
    assert not np.array_equal(silent.phi[0], on_message.phi[0])


def test_the_weights_that_predict_are_the_mean_of_the_last_tenth_of_the_steps_with_labels():
    kind = head(first=10)
    assert [kind.weigh_newest(t) for t in (1, 10)] == [None, None]
    assert head(weight=0.0).weigh_newest(50) is None
    assert [kind.weigh_newest(t) for t in (11, 14, 16)] == [0.0, 0.0, 0.0]
    assert kind.weigh_newest(15) == pytest.approx(10 / 11)
    assert kind.weigh_newest(260) == pytest.approx(10 / 60)  # the 50th of them
    assert kind.weigh_newest(5010) == pytest.approx(5 / 100)


def test_documents_are_read_and_predicted_with_steady_weights_which_a_snapshot_keeps():
    batch, _ = labelled()
    kernel, before = trained("sdatm", 5, batch, label_start=5, label_ramp=1, predict_samples=3)
    assert before.steady == ()
    states = [before]
    for _ in range(6):
        states.append(kernel.step(4, states[-1], batch)[0])
    first, last, now = states[1].weights, states[5].weights, states[6]
    for mean, one, other in zip(now.steady, first, last, strict=True):
        np.testing.assert_allclose(mean, one + 10 / 11 * (other - one), rtol=1e-9)
    steady = now._replace(weights=now.steady, steady=())
    np.testing.assert_array_equal(kernel.predict(4, now, batch), kernel.predict(4, steady, batch))
    assert not np.array_equal(kernel.predict(4, now, batch), kernel.predict(4, now._replace(steady=()), batch))
    for read, expected in zip(kernel.infer(4, now, batch).theta, kernel.infer(4, steady, batch).theta, strict=True):
        np.testing.assert_array_equal(read, expected)
    kept = kernel.keep(now)
    for i, weight in enumerate(now.steady):
        np.testing.assert_array_equal(kept[f"weights.{i}"], weight)
    for name, table in kernel.keep(steady).items():
        np.testing.assert_array_equal(kept[name], table)


def snapshot(kernel, state):
    topics = kernel.topics(state)
    return {f"phi.{i}": phi for i, phi in enumerate(topics.phi)} | {"r": topics.r} | kernel.keep(state)


def test_labels_count_at_once_in_a_fork_of_datm_and_by_degrees():
    batch, _ = labelled()
    kernel, state = trained("datm", 5, batch)
    config = models.load("sdatm").Config(**SMALL, label_start=500, label_ramp=10)
    child = models.load("sdatm").build(config, Facts(32, len(batch.documents), CLASSES))
    begun = child.restore(4, snapshot(kernel, state))
    assert [int(each) for each in begun.since] == [0, 5]
    after, _ = child.step(4, begun, batch)
    assert after.steady, "labels count"
    again = child.restore(4, snapshot(child, after))
    assert [int(each) for each in again.since] == [0, 5], "and go on where they were in a fork of the fork"
    fresh = child.restore(4, {name: array for name, array in snapshot(kernel, state).items() if "weights" not in name})
    assert [int(each) for each in fresh.since] == [5, 505], "a new encoder first learns without labels"


@pytest.mark.parametrize(
    "other", [{"classifier": "linear"}, {"hidden": (9, 6)}, {"shortcut": False}], ids=["linear", "wider", "no shortcut"]
)
def test_a_fork_to_another_classifier_begins_with_a_new_one_and_the_old_encoder(other):
    batch, _ = labelled()
    own = {"label_start": 0, "label_ramp": 1, "hidden": (8, 6), "predict_samples": 2}
    kernel, state = trained("sdatm", 4, batch, **own)
    config = models.load("sdatm").Config(**SMALL, **(own | other))
    child = models.load("sdatm").build(config, Facts(32, len(batch.documents), CLASSES))
    begun, fresh = child.restore(4, snapshot(kernel, state)), child.init(4)
    n = 6 * len(WIDTHS)
    for i, (weight, new) in enumerate(zip(begun.weights, fresh.weights, strict=True)):
        np.testing.assert_array_equal(weight, new if i >= n else state.steady[i])
    assert int(begun.since[1]) == 4
    child.predict(4, child.step(4, begun, batch)[0], batch)
    same = kernel.restore(4, snapshot(kernel, state))
    np.testing.assert_array_equal(same.weights[-3], state.steady[-3])
    assert int(same.since[1]) == 0


def test_the_bound_is_that_of_whole_documents_also_while_labels_are_learned_from_less():
    batch, _ = labelled(n=90)
    own = {"label_start": 3, "label_ramp": 1}
    kernel, state = trained("sdatm", 4, batch, layers=WIDE, read_share=0.3, dropout=0.5, **own)
    all_of_it = models.load("sdatm").Config(**(SMALL | {"layers": WIDE}), read_share=1.0, dropout=0.0, **own)
    whole = models.load("sdatm").build(all_of_it, Facts(32, len(batch.documents), CLASSES))
    assert kernel.step(4, state, batch)[1].elbo == pytest.approx(whole.step(4, state, batch)[1].elbo, rel=1e-12)
    setup, bare = hybrid.make_setup(all_of_it, Facts(32, 90, CLASSES), 1), state._replace(weights=state.weights[:12])
    learned = learn(setup, 4, bare, batch, None)
    total, judged = hybrid_step._sum_bounds(setup, 4, bare, batch)
    assert total / judged == pytest.approx(learned.elbo, rel=1e-12)


def test_where_labels_no_longer_count_weights_are_not_averaged():
    batch, _ = labelled()
    _, state = trained("sdatm", 3, batch, label_start=0)
    later = models.load("sdatm").Config(**SMALL, label_start=50)
    kernel = models.load("sdatm").build(later, Facts(32, len(batch.documents), CLASSES))
    assert state.steady
    assert kernel.step(4, state, batch)[0].steady == ()


def test_a_prediction_does_not_depend_on_the_company():
    batch, _ = labelled()
    kernel, state = trained("sdatm", 3, batch, predict_samples=3, label_start=0)
    whole = kernel.predict(4, state, batch)
    first = int(batch.starts[40])
    rest = Batch(
        batch.words[first:], batch.counts[first:], batch.starts[40:] - first, batch.labels[40:], batch.documents[40:]
    )
    np.testing.assert_array_equal(kernel.predict(4, state, rest), whole[40:])


@pytest.mark.parametrize("prior", ["matched", "paper"])
def test_a_kernel_says_what_its_classifier_reads(prior):
    """Activations relative to the sizes of the prior, not to the document's own mean."""
    batch, _ = labelled()
    kernel, state = trained("sdatm", 3, batch, prior=prior, placed_by="encoder")
    theta = kernel.infer(4, state, batch, None).theta
    total, lengths = float(state.r.sum()), np.add.reduceat(batch.counts, batch.starts[:-1])
    sizes = [lengths[:, None] / WIDTHS[0], *(total / width for width in WIDTHS[1:])]
    for layer, values, size in zip(kernel.read_features(state, batch), theta, sizes, strict=True):
        np.testing.assert_allclose(layer, np.log1p(values / (size if prior == "matched" else 1.0)), rtol=1e-12)


def alike(kernel, state, batch, subject):
    """Share of the documents whose nearest one, by the Hellinger distance of layer 1, has the same subject."""
    theta = kernel.infer(4, state, batch, None).theta[0]
    roots = np.sqrt(theta / theta.sum(axis=1, keepdims=True))
    near = roots @ roots.T
    np.fill_diagonal(near, -1.0)
    return np.mean(subject[near.argmax(axis=1)] == subject)


def test_what_a_document_is_about_stays_in_its_place_when_labels_say_less():
    """Two subjects share a label. The encoder comes to tell the two labels apart and little else; sweeps do not."""
    batch, subject = labelled()
    batch = batch._replace(labels=(subject // 2).astype(np.int32))
    heavy = {"label_start": 40, "label_ramp": 10, "label_weight": 1000.0, "hidden": (16, 8)}
    kernel, state = trained("sdatm", 300, batch, **heavy)
    as_paper, _ = trained("sdatm", 0, batch, **heavy, placed_by="encoder")
    assert alike(kernel, state, batch, subject) > 0.95 > alike(as_paper, state, batch, subject)


def test_the_encoder_places_documents_until_labels_count():
    batch, _ = labelled()
    early = {"label_start": 3, "label_ramp": 1}
    kernel, state = trained("sdatm", 3, batch, **early)
    as_paper, _ = trained("sdatm", 0, batch, **early, placed_by="encoder")
    same_place = partial(np.testing.assert_array_equal, kernel.infer(4, state, batch, None).theta[0])
    same_place(as_paper.infer(4, state, batch, None).theta[0])
    state, _ = kernel.step(4, state, batch)
    ours, theirs = (each.infer(4, state, batch, None) for each in (kernel, as_paper))
    assert not np.allclose(ours.theta[0], theirs.theta[0])
    assert theirs.above
    assert not ours.above
    few = kernel.infer(4, state, batch, Sweeps(2, 1, 1))
    assert not np.allclose(ours.theta[0], few.theta[0])


def test_a_wide_network_stays_alive_where_labels_are_missing():
    """At the encoder's step size its units died, and every document got the same probabilities."""
    batch, _ = labelled(share=0.8)
    labels = {"label_start": 20, "label_ramp": 10, "predict_samples": 5, "hidden": (400, 200)}
    kernel, state = trained("sdatm", 150, batch, **labels)
    fresh, subject = labelled(seed=1)
    assert np.mean(kernel.predict(4, state, fresh).argmax(axis=1) == subject) > 0.9


def test_a_network_that_has_learned_nothing_tells_documents_apart():
    """Beside what all documents share, as much signal leaves the network as topics bring in."""
    kind = Classifier(3, (400, 200), 1.0, 0, 0, 1e-3, 10)
    widths = (60, 30)
    rng = np.random.default_rng(2)
    theta = [rng.gamma(0.2, 5.0, size=(50, k)) for k in widths]
    inputs = classifier.compute_features(theta, np.ones((50, 2)))
    last = classifier._run_forward(kind.make_weights(3, widths), inputs)[-1][0]
    shared = np.abs(last.mean(axis=0)).mean()
    assert last.std(axis=0).mean() > 0.4 * shared
    assert last.std(axis=0).mean() > 0.5 * np.concatenate(inputs, axis=1).std(axis=0).mean()


def test_a_share_of_the_encoders_units_is_left_out_once_labels_count_others_at_every_step():
    """Binomial: 119 units of 7 documents, 200 steps; five standard deviations, false alarm 1 in 1.7 million."""
    kind, numbers = head(first=10, dropout=0.3), np.arange(N)
    assert kind.drop_units(numbers, WIDE, 10) is None
    assert head(first=10).drop_units(numbers, WIDE, 20) is None
    assert head(first=10, weight=0.0, dropout=0.3).drop_units(numbers, WIDE, 20) is None
    steps = [kind.drop_units(numbers, WIDE, t) for t in range(11, 211)]
    assert all(step.kept == pytest.approx([0.7, 0.7]) for step in steps)
    assert [factor.shape for factor in steps[0].factors] == [(N, width) for width in WIDE]
    many = np.array([np.concatenate(step.factors, axis=1) for step in steps])
    assert set(np.round(np.unique(many), 12)) == {0.0, round(1 / 0.7, 12)}
    assert abs((many == 0.0).sum() - 0.3 * many.size) < 5 * np.sqrt(0.21 * many.size)
    assert (many[0] != many[1]).any()
    assert (many[0][0] != many[0][1]).any()
    alone = kind.drop_units(numbers[-1:], WIDE, 11)
    np.testing.assert_array_equal(np.concatenate(alone.factors, axis=1)[0], many[0][-1])


def test_a_narrow_layer_keeps_all_its_units():
    """Half of five units cannot tell four classes apart: a class was lost."""
    left_out = head(dropout=0.5).drop_units(np.arange(N), [8, 7], 9)
    assert left_out.kept == [0.5, 1.0]
    assert set(np.unique(left_out.factors[0])) == {0.0, 2.0}
    assert (left_out.factors[1] == 1.0).all()


def texts():
    counts = np.random.default_rng(8).integers(1, 6, 4000).astype(np.int32)
    words = np.tile(np.arange(200, dtype=np.int32), 20)
    return Batch(words, counts, np.arange(0, 4001, 200), np.zeros(20, np.int32), np.arange(20))


def read(at, docs, t, kind):
    return hybrid_step.divide_documents(at, 0, docs, t, kind).read


def test_while_labels_count_a_share_of_the_tokens_is_read_another_one_at_every_step():
    """Binomial: 12,000 tokens; four standard deviations, false alarm 1 in 15,000."""
    whole, kind = texts(), head(first=10, read=0.3)
    at = case((5, 4)).at
    assert read(at, whole, 10, kind) is whole
    assert read(at, whole, 20, head(first=10, read=1.0)) is whole
    assert read(at, whole, 20, head(first=10, read=0.3, weight=0.0)) is whole
    one, other = read(at, whole, 20, kind), read(at, whole, 21, kind)
    tokens = whole.counts.sum()
    for part in (one, other):
        assert abs(part.counts.sum() - 0.3 * tokens) < 4 * np.sqrt(0.21 * tokens)
        assert (part.counts > 0).all()
        assert len(part.starts) == len(whole.starts)
    assert one.counts.shape != other.counts.shape or (one.counts != other.counts).any()
    again = read(at, whole, 20, kind)
    np.testing.assert_array_equal(one.counts, again.counts)


def test_the_fewer_labels_the_faster_weights_fade_but_no_unit_falls_silent():
    batch, _ = labelled()
    head = Classifier(CLASSES, (), 1.0, 0, 1, 1e-3, 240, decay=600.0)
    weights = (np.ones((32, 5)), np.ones(5), np.ones((5, 3)), np.ones((3, 4)))

    def lost(documents, part=1.0):
        some = batch._replace(labels=np.where(np.arange(240) < 240 * part, batch.labels, -1))
        return head._replace(n_documents=documents).list_decays(
            weights, 3, 0.01, len(some.labels), int((some.labels >= 0).sum()), 1
        )

    np.testing.assert_allclose(lost(240), [0.01 * 2.5, 0.0, 0.01 * 0.5, 0.0], rtol=1e-12)
    np.testing.assert_allclose(lost(2400), [0.01 * 0.25, 0.0, 0.01 * 0.25, 0.0], rtol=1e-12)
    np.testing.assert_allclose(lost(2400, part=0.5), [0.01 * 0.5, 0.0, 0.01 * 0.5, 0.0], rtol=1e-12)
    np.testing.assert_allclose(lost(2, part=0.5), [0.01 * 3.2, 0.0, 0.01 * 0.5, 0.0], rtol=1e-12)
    assert lost(240, part=0.0) == [0.0] * 4


def test_weights_of_the_encoder_fade_in_a_step_with_labels_and_only_then():
    batch, _ = labelled()
    own = {"label_start": 2, "label_ramp": 1, "predict_samples": 2, "learning_rate": 0.01}
    n = 6 * len(WIDTHS)
    fades, stays = (trained("sdatm", 2, batch, **own, decay=decay)[0] for decay in (50.0, 0.0))
    state = fades.init(4)
    for step in range(4):
        one, other = fades.step(4, state, batch)[0], stays.step(4, state, batch)[0]
        lost = 50.0 / 240 * 0.01 / np.sqrt(1.0 + (step + 1) / hybrid_step.DECAY) * (step >= 2)
        for place, (faded, kept, before) in enumerate(zip(one.weights, other.weights, state.weights, strict=True)):
            share = lost if place < n and before.ndim > 1 else 0.0
            np.testing.assert_allclose(faded, kept - share * before, rtol=1e-9, atol=1e-12)
        state = one
