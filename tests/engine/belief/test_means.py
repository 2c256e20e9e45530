"""Running means of topics, shapes and network: plain means at first, and a topic that is another one begins anew."""

import numpy as np
import pytest

from engine.belief import means
from engine.belief.steps import Variables
from engine.pool import Pool

WIDTHS = (3, 2)


def sample(rng, phi):
    """Variables as a step leaves them: these topics, all else drawn."""
    weights, biases = rng.normal(size=WIDTHS), tuple(rng.normal(size=width) for width in WIDTHS)
    none = np.zeros((0, WIDTHS[0]))
    return Variables(phi, none, np.zeros(3), rng.gamma(2.0, size=3), (weights,), (), biases, (), ())


def followed(samples):
    found = means.begin(np.full((6, 3), 1 / 6), np.zeros(3), (np.zeros(WIDTHS),), tuple(map(np.zeros, WIDTHS)))
    for t, each in enumerate(samples, start=1):
        found = means.follow(found, each, each.phi, 0.0, t, Pool(1))
    return found


@pytest.fixture
def alike():
    rng = np.random.default_rng(4)
    base = np.kron(np.eye(3), np.ones((2, 1)))
    tables = [base + 0.1 * rng.random((6, 3)) for _ in range(5)]
    return [sample(rng, table / table.sum(axis=0)) for table in tables]


def test_the_first_samples_count_alike(alike):
    found = followed(alike)
    np.testing.assert_allclose(found.mean, np.mean([each.phi for each in alike], axis=0), rtol=1e-6)
    np.testing.assert_allclose(found.mean_shapes, np.mean([each.shapes for each in alike], axis=0))
    np.testing.assert_allclose(found.mean_weights[0], np.mean([each.weights[0] for each in alike], axis=0))
    for layer in (0, 1):
        plain = np.mean([each.biases[layer] for each in alike], axis=0)
        np.testing.assert_allclose(found.mean_biases[layer], plain)


def test_a_topic_that_is_another_one_begins_anew_with_its_shape_bias_and_weights(alike):
    last = alike[-1]
    turned = last._replace(phi=last.phi[::-1].copy())  # topics 0 and 2 are swapped, topic 1 stays
    found = followed([*alike[:-1], turned])
    assert found.averaged.tolist() == [1, 5, 1]
    for topic in (0, 2):
        np.testing.assert_allclose(found.mean[:, topic], turned.phi[:, topic], rtol=1e-6)
        np.testing.assert_allclose(found.mean_weights[0][topic], turned.weights[0][topic])
        assert found.mean_shapes[topic] == pytest.approx(turned.shapes[topic])
        assert found.mean_biases[0][topic] == pytest.approx(turned.biases[0][topic])
    plain = np.mean([each.weights[0][1] for each in alike], axis=0)
    np.testing.assert_allclose(found.mean_weights[0][1], plain)
