"""What units do to the words: projections of linear links, effects of the others, against plain sums."""

import itertools

import numpy as np
import pytest
from scipy.special import expit

from topiary.engine.contract import BINARY, GAMMA, LINEAR, POSITIVE, SIGMOID, SIGNED, SIMPLEX, SOFTPLUS, Link, Topics
from topiary.engine.hierarchy import effects, topics
from topiary.engine.hierarchy.tree import find_edges

RNG = np.random.default_rng(20_261_125)
V = 11


def simplex(*shape):
    return RNG.dirichlet(np.full(shape[0], 0.5), shape[1]).T


def linear():
    return Topics((simplex(V, 5), simplex(5, 4), simplex(4, 3)), RNG.gamma(1.0, size=3))


def belief():
    """A sigmoid belief network of two binary layers over five topics."""
    weights = RNG.normal(0.0, 2.0, (5, 4)), RNG.normal(0.0, 2.0, (4, 3))
    links = tuple(Link(SIGNED, SIGMOID, RNG.normal(size=len(w))) for w in weights)
    means = RNG.gamma(2.0, size=5), RNG.uniform(0.1, 0.9, 4), RNG.uniform(0.1, 0.9, 3)
    return Topics((simplex(V, 5), *weights), RNG.normal(size=3), links, (GAMMA, BINARY, BINARY), means, means)


def test_linear_links_on_the_simplex_have_their_projections_bit_for_bit():
    made = linear()
    shown = effects.present_hierarchy(made)
    for one, other in zip(shown.words, topics.project_topics(made.phi), strict=True):
        assert one.tobytes() == other.tobytes()
    for one, other in zip(shown.weights, made.phi, strict=True):
        assert one is other
    for one, other in zip(shown.popularity, topics.weigh_topics(made.phi, made.r), strict=True):
        assert one.tobytes() == other.tobytes()
    assert shown.lowers == (None, None, None)


@pytest.mark.parametrize("layer", [2, 3])
def test_the_effect_of_a_binary_unit_is_the_change_of_the_rates_when_it_is_switched(layer):
    made = belief()
    found = effects.compute_effects(made)

    def rates(state):
        for below in range(layer - 1, 0, -1):
            state = expit(made.phi[below] @ state + made.links[below - 1].bias)
        return made.phi[0] @ (made.means[0] * state)

    for unit in range(made.phi[layer - 1].shape[1]):
        on, off = made.means[layer - 1].copy(), made.means[layer - 1].copy()
        on[unit], off[unit] = 1.0, 0.0
        change = rates(on) - rates(off)
        np.testing.assert_allclose(found.raises[layer - 1][:, unit], np.maximum(change, 0.0), atol=1e-12)
        np.testing.assert_allclose(found.lowers[layer - 1][:, unit], np.maximum(-change, 0.0), atol=1e-12)


def test_the_effect_of_positive_linear_links_is_their_product():
    """Gamma layers: one unit more adds a column of the weights, which are in tokens."""
    weights = RNG.gamma(0.5, size=(5, 3))
    means = RNG.gamma(2.0, size=3)
    made = Topics(
        (simplex(V, 5), weights),
        np.ones(3),
        (Link(POSITIVE, LINEAR, np.zeros(5)),),
        (GAMMA, GAMMA),
        (weights @ means, means),
        (weights @ means, means),
    )
    found = effects.compute_effects(made)
    np.testing.assert_allclose(found.raises[1], made.phi[0] @ weights, rtol=1e-12)
    assert found.lowers == (None, None)
    np.testing.assert_allclose(effects.list_topic_words(made)[1].sum(axis=0), 1.0)


def test_softplus_links_follow_their_response():
    weights, bias, means = RNG.normal(size=(5, 3)), RNG.normal(size=5), RNG.gamma(2.0, size=3)
    base = np.logaddexp(0.0, weights @ means + bias)
    made = Topics(
        (simplex(V, 5), weights),
        np.ones(3),
        (Link(SIGNED, SOFTPLUS, bias),),
        (GAMMA, GAMMA),
        (base, means),
        (base, means),
    )
    found = effects.compute_effects(made)
    more = means.copy()
    more[1] += 1.0
    change = made.phi[0] @ (base * (np.logaddexp(0.0, weights @ more + bias) - base))
    np.testing.assert_allclose(found.raises[1][:, 1] - found.lowers[1][:, 1], change, atol=1e-12)


def test_edges_of_other_links_are_shares_of_what_a_parent_changes_with_their_sign():
    made = belief()
    for layer, table in enumerate(effects.compute_edge_weights(made), start=2):
        np.testing.assert_allclose(np.abs(table).sum(axis=0), 1.0)
        np.testing.assert_array_equal(np.sign(table), np.sign(made.phi[layer - 1]))
    shown = effects.present_hierarchy(made)
    drawn = find_edges(shown.weights, 1.0)
    assert {edge.weight < 0 for edge in drawn} == {True, False}
    assert all(edge.size > 1.0 / made.phi[edge.layer - 1].shape[0] for edge in drawn)


def kept(made):
    """What `restored` reads of a snapshot in single precision."""
    arrays = {name: np.asarray(array) for name, array in topics.pack_topics(made).items()}
    return {name: array.astype(np.float32) if array.dtype.kind == "f" else array for name, array in arrays.items()}


def check_same(again, made):
    assert (again.units, again.directed) == (made.units, made.directed)
    assert [(link.kind, link.response) for link in again.links] == [(link.kind, link.response) for link in made.links]
    pairs = itertools.chain(
        zip(again.phi, made.phi, strict=True),
        zip(again.popularity, made.popularity, strict=True),
        zip(again.means, made.means, strict=True),
        ((one.bias, other.bias) for one, other in zip(again.links, made.links, strict=True)),
    )
    for one, other in pairs:
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("made", [linear(), belief()], ids=["linear", "belief"])
def test_a_snapshot_gives_the_same_hierarchy_back(made):
    again = topics.unpack_topics(kept(made))
    check_same(again, made)
    assert again.columns is None


@pytest.mark.parametrize("shown", [False, True])
def test_a_snapshot_gives_the_hierarchy_of_columns_back_too(shown):
    columns = belief()
    made = linear()._replace(columns=columns)
    again = topics.unpack_topics(kept(made), shown=shown)
    check_same(again, made)
    assert again.columns is not None
    check_same(again.columns, columns)
    assert again.columns.columns is None


def test_simplex_links_may_say_so_themselves():
    made = linear()
    link = (Link(SIMPLEX, LINEAR, np.zeros(5)), Link(SIMPLEX, LINEAR, np.zeros(4)))
    means = made.phi[1] @ (made.phi[2] @ made.r), made.phi[2] @ made.r, made.r
    explicit = made._replace(links=link, means=means)
    for one, other in zip(effects.list_topic_words(explicit), topics.project_topics(made.phi), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
