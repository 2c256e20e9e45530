"""The evidence lower bound is one: it lies below the probability of the words, which two topics let integrate."""

import numpy as np
import pytest
from plain_datm import case, dense
from scipy import stats

from engine.autoencoder import amortised, encoder, hybrid_step

DRAWS = 200


def evidence(this):
    """log p(x_j) of every document, theta integrated out on a grid of logarithms: Poisson words, gamma activations."""
    prior = amortised.prior_of(this.at, this.state, this.docs)
    logs = np.linspace(-14.0, 6.0, 200)
    weight = logs[1] - logs[0]
    theta = np.exp(logs)
    found = []
    for counts, c in zip(dense(this.docs), prior.c[:, 0], strict=True):
        rates = this.state.phi[0][:, 0, None, None] * theta[:, None] + this.state.phi[0][:, 1, None, None] * theta
        logged = stats.poisson.logpmf(counts[:, None, None], rates).sum(axis=0)
        own = [stats.gamma.logpdf(theta, r, scale=1.0 / c) + logs for r in this.state.r]  # d theta = theta d ln theta
        whole = logged + own[0][:, None] + own[1]
        top = whole.max()
        found.append(top + np.log(np.exp(whole - top).sum() * weight**2))
    return np.array(found)


def bounds(this):
    """The bound of all documents, DRAWS independent estimates."""
    return np.array([hybrid_step.learn(this.at, seed, this.state, this.docs, None).elbo for seed in range(DRAWS)])


@pytest.mark.parametrize("inference", ["whai", "ghai"])
def test_it_lies_below_the_probability_of_the_words(inference):
    this = case(layers=(2,), inference=inference, prior="matched")
    drawn, known = bounds(this), evidence(this).sum()
    error = drawn.std() / np.sqrt(DRAWS)
    assert drawn.mean() < known + 3.0 * error  # false alarm: 0.1 %, were it an equality
    assert np.isfinite(known)


def test_without_the_divergence_it_would_not(monkeypatch):
    this = case(layers=(2,), inference="whai", prior="matched", counts="encoder")
    state = this.state
    for _ in range(300):
        state, _ = hybrid_step.step(this.at, 7, state, this.docs)
    trained = this._replace(state=state._replace(phi=this.state.phi, r=this.state.r))
    monkeypatch.setattr(encoder, "divergences", lambda *_: [np.zeros(len(this.docs.documents))])
    assert bounds(trained).mean() > evidence(trained).sum()
