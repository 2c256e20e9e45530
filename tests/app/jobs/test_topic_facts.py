"""What a snapshot says of its topics: the right words, the training documents only, and nothing of pixels."""

from dataclasses import replace

import numpy as np
import pytest

from app.jobs import topic_facts
from engine.contract import TEST, TRAIN
from engine.hierarchy import topics
from engine.quality import coherence
from tests.benchmarks.synthetic import small_corpus


@pytest.fixture
def corpus():
    return small_corpus(100)


def snapshot(n_words: int, seed: int = 1) -> dict[str, np.ndarray]:
    """Topics of two layers."""
    rng = np.random.default_rng(seed)
    return {
        "phi.0": rng.dirichlet(np.full(n_words, 0.1), 6).T,
        "phi.1": rng.dirichlet(np.full(6, 0.3), 3).T,
        "r": rng.gamma(1.0, 1.0, 3),
    }


def test_the_coherence_is_that_of_the_ten_words_shown_first_in_the_training_documents(corpus):
    arrays = snapshot(corpus.n_words)
    found = topic_facts.topic_facts(corpus, topic_facts.common(corpus), arrays, ())
    phi = [arrays["phi.0"].astype(np.float32), arrays["phi.1"].astype(np.float32)]
    train = corpus.batch(corpus.documents(TRAIN)).cells
    for layer, projection in enumerate(topics.project_topics(phi)):
        parts = topics.compute_shares(topics.weigh_topics(phi, arrays["r"])[layer])
        words, _ = topics.find_relevant_words(projection, parts, 10)
        expected = coherence.npmi(words, coherence.count_pairs(words, train, corpus.n_words))
        np.testing.assert_allclose(found[f"npmi.{layer}"], expected, rtol=1e-6)
        assert found[f"npmi.{layer}"].dtype == np.float32


def test_test_documents_are_not_looked_at(corpus):
    arrays = snapshot(corpus.n_words)
    values = corpus.counts.values.copy()
    words = corpus.counts.words.copy()
    for document in corpus.documents(TEST).tolist():
        cells = slice(corpus.counts.starts[document], corpus.counts.starts[document + 1])
        words[cells] = np.arange(cells.stop - cells.start)
        values[cells] = 90
    other = replace(corpus, counts=corpus.counts._replace(words=words, values=values))
    first, second = (topic_facts.topic_facts(each, topic_facts.common(each), arrays, ()) for each in (corpus, other))
    assert set(first) == set(second) == {"everywhere", "npmi.0", "npmi.1"}
    for name, array in first.items():
        np.testing.assert_array_equal(array, second[name])


def test_the_mean_of_the_topics_is_judged_where_there_is_one(corpus):
    drawn, mean = snapshot(corpus.n_words), snapshot(corpus.n_words, seed=2)
    both = drawn | {"mean.0": mean["phi.0"], "mean.1": mean["phi.1"]}
    alone = mean | {"r": drawn["r"]}
    for layer in (0, 1):
        found, expected = (
            topic_facts.topic_facts(corpus, np.zeros(0), each, ())[f"npmi.{layer}"] for each in (both, alone)
        )
        np.testing.assert_array_equal(found, expected)


def test_the_spread_is_there_once_enough_documents_are_placed(corpus):
    arrays = snapshot(corpus.n_words)
    placed = np.random.default_rng(4).random((50, 6)).astype(np.float32)
    few = np.full((50, 3), -1, dtype=np.float32)
    found = topic_facts.topic_facts(corpus, np.zeros(0), arrays, (placed, few))
    assert found["spread.0"].shape == (6,)
    assert ((found["spread.0"] > 0.5) & (found["spread.0"] <= 1.0)).all()
    assert "spread.1" not in found


@pytest.mark.parametrize("kind", ["pixels", "real"])
def test_of_pixels_and_real_numbers_there_are_no_words_to_judge(corpus, kind):
    if kind == "pixels":
        corpus = replace(corpus, image_shape=(1, corpus.n_words))
    else:
        corpus = replace(corpus, counts=corpus.counts._replace(values=corpus.counts.values.astype(np.float32)))
    placed = (np.full((60, 6), 0.2, dtype=np.float32), np.full((60, 3), 0.3, dtype=np.float32))
    arrays = snapshot(corpus.n_words)
    assert topic_facts.common(corpus).tolist() == []
    assert set(topic_facts.topic_facts(corpus, topic_facts.common(corpus), arrays, placed)) == {"spread.0", "spread.1"}


def test_of_very_many_documents_some_are_looked_at(corpus):
    assert topic_facts.training_counts(corpus).n_documents == len(corpus.documents(TRAIN))
    assert topic_facts.training_counts(corpus, 30).n_documents == -(-len(corpus.documents(TRAIN)) // 3)
