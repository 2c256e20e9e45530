"""``topiary benchmark fidelity`` prints its table and goes on where it was interrupted."""

import json

import numpy as np
import pytest
from scipy import io, sparse

from app import benchmark
from app.benchmarks import fidelity as measuring
from app.benchmarks import published
from app.benchmarks.keeping import Table
from engine import models

from . import synthetic


@pytest.fixture
def mat_file(tmp_path):
    """A small corpus as the paper's .mat file."""
    corpus = synthetic.small_corpus(60, words=60, tokens=30)
    dense = np.zeros((60, corpus.n_words))
    for j in range(60):
        cells = slice(*corpus.counts.starts[j : j + 2])
        dense[j, corpus.counts.words[cells]] = corpus.counts.values[cells]
    train, test = dense[:40], dense[40:]
    scored = np.minimum(test, 1) * (np.arange(corpus.n_words) % 4 == 0)
    matrices = {"wordsTrain": train, "wordsHeldout": test - scored, "wordsTest": scored}
    content = {name: sparse.csc_matrix(matrix.T) for name, matrix in matrices.items()}
    content["vocabulary"] = np.array([[f"word{v}"] for v in range(corpus.n_words)], dtype=object)
    path = tmp_path / "small.mat"
    io.savemat(path, content)
    return path


def fidelity(path, *more: str) -> int:
    return benchmark.main(["fidelity", "--data", str(path), "--minibatches", "4", "--threads", "1", *more])


@pytest.fixture
def narrow(monkeypatch):
    """The published table with narrower layers, so that a row takes no time."""
    figures = {trial._replace(layers=(4, 3)[: len(trial.layers)] or (4,)): 60.0 for trial in published.PUBLISHED}
    monkeypatch.setattr(published, "PUBLISHED", figures)


@pytest.mark.usefixtures("narrow")
def test_fidelity_prints_every_row_beside_its_published_figure(mat_file, capsys):
    assert fidelity(mat_file) == 0
    out = capsys.readouterr().out
    for row in ("TLASGR  4 ", "TLASGR  4-3", "TLFSGR  4-3", "SGRLD   4 ", "GIBBS   4-3"):
        assert row in out
    assert "40 training and 20 test documents" in out


@pytest.mark.usefixtures("narrow")
def test_fidelity_goes_on_from_its_file_row_by_row(mat_file, tmp_path, capsys, monkeypatch):
    kept = tmp_path / "table.json"
    fidelity(mat_file, "--only", "tlasgr:4", "--json", str(kept))
    first = json.loads(kept.read_text())["rows"]
    measure = measuring.measure

    def only_gibbs(corpus, trial, *rest, **named):
        assert trial.inference == "gibbs", "a finished row was measured again"
        return measure(corpus, trial, *rest, **named)

    monkeypatch.setattr(measuring, "measure", only_gibbs)
    assert fidelity(mat_file, "--only", "tlasgr:4,gibbs:4", "--json", str(kept)) == 0
    rows = json.loads(kept.read_text())["rows"]
    assert rows[:1] == first
    assert [row["trial"] for row in rows] == ["dlda tlasgr:4", "dlda gibbs:4"]


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("trial", ["tlasgr:4-3", "sgrld:4", "gibbs:4-3"])
def test_an_interrupted_row_goes_on_to_the_same_figures(mat_file, tmp_path, monkeypatch, trial):
    monkeypatch.setattr(benchmark, "KEEP_SECONDS", 0.0)
    whole, broken = tmp_path / "whole.json", tmp_path / "broken.json"
    fidelity(mat_file, "--only", trial, "--json", str(whole))
    save, saved = Table.save, []

    def interrupted(self, key, arrays):
        save(self, key, arrays)
        saved.append(arrays["standing"][0])
        if len(saved) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(Table, "save", interrupted)
    assert fidelity(mat_file, "--only", trial, "--json", str(broken)) == 130
    assert not broken.exists()
    assert fidelity(mat_file, "--only", trial, "--json", str(broken)) == 0
    assert saved == [1, 2, 3, 4], "it began anew instead of going on"
    one, other = (json.loads(path.read_text())["rows"][0] for path in (whole, broken))
    assert (one["averaged"], one["point"]) == (other["averaged"], other["point"])
    assert not list(tmp_path.glob("*.unfinished"))


@pytest.mark.usefixtures("narrow")
def test_a_table_of_another_length_is_not_gone_on_with(mat_file, tmp_path, capsys):
    kept = tmp_path / "table.json"
    fidelity(mat_file, "--only", "tlasgr:4", "--json", str(kept))
    assert benchmark.main(["fidelity", "--data", str(mat_file), "--minibatches", "5", "--json", str(kept)]) == 2
    assert "another corpus or length" in capsys.readouterr().err


def test_a_row_that_is_not_published_is_refused_in_one_sentence(mat_file, capsys):
    assert fidelity(mat_file, "--only", "tlasgr:7") == 2
    error = capsys.readouterr().err
    assert error.startswith("topiary benchmark: there is no published figure for 'tlasgr:7'")
    assert error.count("\n") == 1


def test_a_file_without_a_split_is_refused_in_one_sentence(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("text,label\nsome words here,one\nother words there,two\n")
    assert fidelity(tmp_path / "a.csv") == 2
    assert "training and test documents" in capsys.readouterr().err


def test_the_settings_of_the_table_are_those_of_the_paper_but_for_shorter_local_chains():
    for trial in published.PUBLISHED:
        config = models.load(trial.model).Config(**published.settings(trial))
        assert (config.batch_size, config.burn_in, config.collect, config.eta) == (200, 5, 5, (0.05,))
        wanted = (0.1, 20.0, 0.9) if trial.inference == "sgrld" else (1.0, 20.0, 0.7)
        assert (config.step, config.tau, config.kappa) == wanted
        assert config.scale_step == 0.5
