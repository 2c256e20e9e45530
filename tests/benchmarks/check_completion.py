"""The benchmark of completion: its documents and rows, and what the table says."""

import json
from dataclasses import replace

import numpy as np
import pytest
from process_samples import small_corpus

from tests.benchmarks import completion
from tests.benchmarks.completion import main
from topiary.app.jobs.load_corpus import load_corpus
from topiary.engine.contract import TEST, TRAIN
from topiary.store import corpora
from topiary.store.database import open_database


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store with a small corpus of four subjects."""
    path = str(tmp_path_factory.mktemp("completion") / "store.db")
    database = open_database(path)
    small_corpus(database, labelled=True)  # whose test documents are of all four subjects
    database.close()
    return path


@pytest.fixture(scope="module")
def corpus(store):
    database = open_database(store)
    found = load_corpus(database, corpora.find_corpus(database, "small"))
    database.close()
    return found


SETUP = completion.Setup(steps=60)


def test_no_document_is_trained_on_and_judged(corpus):
    parts = completion.parts_of(corpus, 1_000, 10)
    groups = [parts.train.documents, parts.validation.observed.documents, parts.test.observed.documents]
    assert len(np.unique(np.concatenate(groups))) == sum(map(len, groups))
    assert set(np.concatenate(groups[:2])) == set(corpus.documents(TRAIN))
    assert set(groups[2]) <= set(corpus.documents(TEST))
    assert len(completion.parts_of(corpus, 7, 3).train.documents) == 7


def test_a_corpus_without_test_documents_is_a_sentence(corpus):
    whole = type(corpus)(
        counts=corpus.counts, vocabulary=corpus.vocabulary, part=np.full_like(corpus.part, TRAIN), labels=corpus.labels,
        label_names=corpus.label_names,
    )  # fmt: skip
    with pytest.raises(ValueError, match="needs at least 5 training documents and 1 test document; the corpus has"):
        completion.parts_of(whole, 10, 10)


def test_every_family_has_every_depth_and_both_poisson_links_share_the_first():
    assert list(completion.trials(completion.METHODS, (4, 2))) == [
        ("lda", (4,)), ("gamma", (4,)), ("gamma", (4, 2)), ("sigmoid", (4,)), ("sigmoid", (4, 2)), ("poisson", (4,)),
        ("poisson", (4, 2)), ("poisson-log", (4, 2)),
    ]  # fmt: skip


def test_planted_subjects_are_completed_far_better_than_by_chance(corpus):
    parts = completion.parts_of(corpus, 1_000, 30)
    steps, setup = [], replace(SETUP, priors=completion.best_priors(parts, 4))
    for method in ("lda", "gamma"):
        row = completion.measure(parts, method, (4,), 1, setup, steps.append)
        assert row.perplexity < 0.75 * corpus.n_words
        assert row.training_seconds > 0.0 < row.test_seconds
    assert steps == list(range(1, 61))


def test_a_row_of_the_paper_has_its_settings_and_says_so(corpus):
    texts = completion.texts_of("sigmoid", (4, 2), "paper")
    assert {name: texts[name] for name in ("family", "layers", "gradient", "start", "weight_shape")} == {
        "family": "bernoulli", "layers": "4-2", "gradient": "score", "start": "random", "weight_shape": "0.1",
    }  # fmt: skip
    parts = completion.parts_of(corpus, 20, 5)
    setup = completion.Setup(steps=2, preset="paper")
    row = completion.measure(parts, "gamma", (4, 2), 1, setup, lambda _done: None)
    assert row.settings == "score functions, as in the paper"
    assert completion.line(row).split()[-8:] == ["2303", "1539", *row.settings.split()]


def test_the_command_prints_a_line_for_every_row_and_keeps_them(store, tmp_path, capsys):
    kept = tmp_path / "rows.json"
    words = ["small", "--store", store, "--layers", "4-2", "--steps", "2", "--test", "5"]
    assert main([*words, "--methods", "lda,poisson-log", "--seeds", "2", "--threads", "1", "--json", str(kept)]) == 0
    out = capsys.readouterr().out
    rows = json.loads(kept.read_text())
    assert [(row["method"], row["layers"], row["seed"]) for row in rows] == [
        ("lda", "4", 1), ("lda", "4", 2), ("poisson-log", "4-2", 1), ("poisson-log", "4-2", 2),
    ]  # fmt: skip
    assert sum(line.startswith(("LDA  ", "poisson-log  ")) for line in out.splitlines()) == 4
    assert "validation and 5 test documents" in out


def test_a_mistake_is_one_sentence(store, capsys):
    with pytest.raises(SystemExit) as left:
        main(["small", "--store", store, "--methods", "magic"])
    assert left.value.code == 2
    assert "there is no 'magic'; there are lda, gamma, sigmoid, poisson, poisson-log" in capsys.readouterr().err
    assert main(["small", "--store", store, "--layers", "x"]) == 2
    assert "layers" in capsys.readouterr().err
    assert main(["nothing", "--store", store]) == 2
    assert "nothing" in capsys.readouterr().err
