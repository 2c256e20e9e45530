"""The benchmark of LDA runs through on something tiny; no test here looks at a clock."""

import re
import sys

import pytest

from tests.benchmarks import lda

TINY = "--documents 60 --topics 8 --alpha 0.1 --threads 1"


def run(words: str) -> None:
    """Run the benchmark as from a command line."""
    assert lda.main(words.split()) == 0


def test_sweeps_are_compared_with_those_of_tomotopy(capsys):
    pytest.importorskip("tomotopy", reason="tomotopy is not installed: nothing to compare with")
    run(f"{TINY} --only gibbs --burn-in 1 --sweeps 1 --rounds 2")
    assert re.search(r"ratio to tomotopy: \d+\.\d\d", capsys.readouterr().out)


def test_minibatches_are_compared_with_those_of_scikit_learn(capsys):
    pytest.importorskip("sklearn", reason="scikit-learn is not installed: nothing to compare with")
    run(f"{TINY} --only svi --epochs 2 --batch-size 16")
    out = capsys.readouterr().out
    assert re.search(r"ratio to scikit-learn: \d+\.\d\d", out)
    assert len(re.findall(r"perplexity \d+\.\d", out)) == 2


def test_without_the_others_it_says_so(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tomotopy", None)
    monkeypatch.setitem(sys.modules, "sklearn.decomposition", None)
    run(f"{TINY} --only gibbs svi --burn-in 1 --sweeps 1 --rounds 1 --epochs 1 --batch-size 16")
    out = capsys.readouterr().out
    assert "tomotopy is not installed" in out
    assert "scikit-learn is not installed" in out


def test_perplexity_is_printed_beside_what_is_published(capsys):
    run(f"{TINY} --only fidelity --train 2 --collect 3")
    assert re.search(r"averaged over 3 samples: \d+\.\d, published 893", capsys.readouterr().out)
