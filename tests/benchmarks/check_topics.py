"""The benchmark of topics by time: what every method is given, when it is looked at, and what the table says."""

import itertools
import json
import math
import sys

import numpy as np
import pytest
from process_samples import small_corpus

from tests.benchmarks import peers, topics
from topiary.app.jobs.load_corpus import load_corpus
from topiary.app.jobs.run_rules import SETTLING
from topiary.engine.contract import TEST, TRAIN, VALIDATION, Topics
from topiary.engine.hierarchy import effects
from topiary.store import corpora
from topiary.store.database import open_database


@pytest.fixture
def store(tmp_path):
    """A store with a small labelled corpus of four subjects."""
    path = str(tmp_path / "store.db")
    database = open_database(path)
    small_corpus(database, labelled=True)
    database.close()
    return path


@pytest.fixture
def corpus(store):
    database = open_database(store)
    found = load_corpus(database, corpora.find_corpus(database, "small"))
    database.close()
    return found


SETUP = topics.TopicsSetup(layers=(4, 2), budgets=(0.05, 3.0), threads=1)


def test_the_table_has_a_line_for_every_method_budget_and_layer(store, tmp_path, capsys):
    for name in ("tomotopy", "gensim"):
        pytest.importorskip(name, reason=f"{name} is not installed: nothing to compare with")
    kept = tmp_path / "rows.json"
    words = ["small", "--store", store, "--layers", "4-2", "--budgets", "0.05,0.2"]
    assert topics.main([*words, "--seeds", "1,2", "--threads", "1", "--json", str(kept)]) == 0
    out = capsys.readouterr().out
    rows = json.loads(kept.read_text())
    assert {(row["method"], row["seed"], row["layer"]) for row in rows} == {
        *((topics.OURS, seed, layer) for seed in (1, 2) for layer in (1, 2)),
        *((name, seed, 1) for name in peers.PEERS for seed in (1, 2)),
    }
    for name in topics.METHODS:
        assert sum(line.startswith(name) for line in out.splitlines()) == 2
    assert "small: 91 training documents, 5 validation," in out
    assert all((row["edges"] > 0) == (row["layer"] == 2 and row["budget"] == 0.2) for row in rows)
    assert "0.05 s: NPMI of layer 1 at least the best LDA's on" in out


@pytest.mark.parametrize("method", [topics.OURS, *peers.PEERS])
def test_every_method_finds_the_planted_subjects(corpus, method):
    if method in ("tomotopy", "gensim"):
        pytest.importorskip(method, reason=f"{method} is not installed: nothing to compare with")
    rows = list(topics.measure_method("small", corpus, method, [1], SETUP))
    last = rows[-1 if method != topics.OURS else -2]
    assert (last.layer, last.topics) == (1, 4)
    assert last.nmi > 0.8 or method == "nmf"
    assert last.diversity > 0.7
    assert math.isnan(last.perplexity) == (method == "nmf")
    assert math.isnan(last.perplexity) or 10 < last.perplexity < 40


def test_validation_documents_come_from_training_where_a_corpus_has_none_and_never_from_the_test(corpus):
    made = topics.add_validation(corpus)
    assert np.array_equal(made.documents(TEST), corpus.documents(TEST))
    assert len(made.documents(VALIDATION)) == 5
    assert topics.add_validation(made) is made
    assert np.array_equal(topics.add_validation(corpus).part, made.part)


def test_tomotopy_is_judged_by_the_mean_of_its_samples(corpus):
    tomotopy = pytest.importorskip("tomotopy", reason="tomotopy is not installed: nothing to compare with")
    counts = corpus.batch(corpus.documents(TRAIN)).cells
    results = peers.train_tomotopy(counts, corpus.n_words, 4, 1, 1)
    first, *_, last = itertools.islice(results, 10)
    model = tomotopy.LDAModel(k=4, seed=1)
    for start, end in itertools.pairwise(counts.starts):
        model.add_doc(
            np.repeat(np.arange(corpus.n_words).astype(str)[counts.words[start:end]], counts.values[start:end])
        )
    model.train(100, workers=1)
    sample = np.zeros_like(last.phi)
    sample[np.array(model.used_vocabs, dtype=int)] = np.array([model.get_topic_word_dist(k) for k in range(4)]).T
    assert (first.steps, last.steps) == (10, 100)
    assert np.allclose(last.phi.sum(axis=0), 1)
    difference = np.abs(last.phi - sample).sum(axis=0).max()
    assert 0.005 < difference < 0.3, "close to the last sample, and not it"


def test_ours_ends_by_itself_and_is_the_same_for_every_later_budget(corpus):
    rows = list(
        topics.measure_method(
            "small", corpus, topics.OURS, [1], topics.TopicsSetup(layers=(4,), budgets=(50, 90), threads=1)
        )
    )
    assert rows[0].steps <= SETTLING
    same = (rows[0].steps, rows[0].seconds, rows[0].perplexity, rows[0].npmi)
    assert same == (rows[1].steps, rows[1].seconds, rows[1].perplexity, rows[1].npmi)


def present(first, second, popularity):
    """A hierarchy of three topics under two, over words of which each topic has its own."""
    own = np.eye(3)
    return effects.Presentation(
        (own[:, first], own[:, first] @ second), (None, None), (own[:, first], second), popularity
    )


def test_the_agreement_of_edges_is_the_weight_of_the_parents_found_again_beyond_chance():
    """By hand: topics 1 and 2 have the same parents in both, and topic 3 has .25 : .75 against .75 : .25."""
    edges = np.array([[0.6, 0.0], [0.0, 0.5], [0.2, 0.6]])
    popularity = (np.ones(3), np.array([1.0, 1.0]))
    one = present([0, 1, 2], edges, popularity)
    moved = present([2, 0, 1], edges[[2, 0, 1]][:, [1, 0]], popularity)
    assert topics.measure_edge_agreement([one, moved]) == pytest.approx([1.0])
    other = np.array([[0.6, 0.0], [0.0, 0.5], [0.6, 0.2]])
    chance = (1 + 0 + 0.75 + 0 + 1 + 0.25 + 0.25 + 0.75 + 0.5) / 9  # all parents with all others' parents
    expected = (2.5 / 3 - chance) / (1 - chance)
    assert topics.measure_edge_agreement([one, present([0, 1, 2], other, popularity)]) == pytest.approx([expected])
    assert topics.measure_edge_agreement([one]) == []


def test_a_peer_has_the_time_that_ours_took_to_its_end(corpus):
    setup = topics.TopicsSetup(layers=(4,), budgets=(1.0, math.inf), threads=1)
    pytest.importorskip("tomotopy", reason="tomotopy is not installed: nothing to compare with")
    rows = {row.budget: row for row in topics.measure_method("small", corpus, "tomotopy", [1], setup, end=0.2)}
    assert rows[math.inf].seconds <= 0.2 < rows[1.0].seconds <= 1.0


def stand(seconds):
    return topics.MethodState(seconds, int(seconds * 10), Topics((np.eye(2),), np.ones(2)), None, None)


@pytest.mark.parametrize(
    ("ends", "budgets", "expected"),
    [
        ((1, 2, 3, 4), (2, 3.5), [(2, 2), (3.5, 3)]),
        ((1, 2), (5, 9), [(5, 2), (9, 2)]),  # it had ended
        ((7, 8), (2, 5, 7.5), [(2, 7), (5, 7), (7.5, 7)]),  # its first result came late, and says so
    ],
)
def test_a_method_is_looked_at_within_its_budget(ends, budgets, expected):
    found = topics._pick_states(iter([stand(seconds) for seconds in ends]), budgets)
    assert [(budget, at.seconds) for budget, at in found] == expected


def row(method, npmi, perplexity, diversity=0.8, seed=1, budget=10.0, corpus="news"):
    known = {"npmi": npmi, "perplexity": perplexity, "diversity": diversity, "budget": budget, "corpus": corpus}
    rest = dict.fromkeys(topics.TopicsRow._fields, 0.5) | {"method": method, "seed": seed, "layer": 1}
    rest |= {"topics": 4, "live": 4}
    return topics.TopicsRow(**rest | known)


def test_the_verdict_compares_medians_over_seeds_with_the_best_lda():
    ours = [row("topiary", npmi, 90.0, seed=seed) for seed, npmi in enumerate((0.1, 0.3, 0.31))]
    others = [row("tomotopy", 0.29, 100.0, 0.9), row("sklearn", 0.1, 95.0, 0.7), row("nmf", 0.9, math.nan)]
    (said,) = topics.write_verdicts([*ours, *others])
    assert said == (
        "10 s: NPMI of layer 1 at least the best LDA's on 1 of 1 corpora (within .01 on 1), diversity not lower than "
        "that LDA's on 0, perplexity below every LDA's on 1"
    )
    (said,) = topics.write_verdicts([*ours, row("tomotopy", 0.305, 80.0, 0.7)])
    assert "on 0 of 1 corpora (within .01 on 1), diversity not lower than that LDA's on 1" in said
    assert said.endswith("below every LDA's on 0")
    assert topics.write_verdicts(ours) == []


def test_a_mistake_is_one_sentence(store, capsys):
    for words, sentence in (
        (["--methods", "magic"], "there is no 'magic'; there are topiary, tomotopy, gensim, sklearn, nmf"),
        (["--budgets", "0"], "must be seconds above 0 or end, as 10,30,end; got '0'"),
        (["--budgets", "inf"], "must be seconds above 0 or end, as 10,30,end; got 'inf'"),
        (["--seeds", "x"], "must be seeds such as 1-5 or 1,3,7; got 'x'"),
    ):
        with pytest.raises(SystemExit) as left:
            topics.main(["small", "--store", store, *words])
        assert left.value.code == 2
        assert sentence in capsys.readouterr().err
    assert topics.main(["nothing", "--store", store]) == 2
    assert "nothing" in capsys.readouterr().err


@pytest.mark.parametrize(("method", "module"), [("tomotopy", "tomotopy"), ("gensim", "gensim.models")])
def test_a_peer_that_is_not_installed_is_named_with_the_way_to_get_it(corpus, monkeypatch, method, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(peers.MissingPeerError, match=rf"{method} is not installed; pip install '{method}'"):
        next(topics.measure_method("small", corpus, method, [1], SETUP))
