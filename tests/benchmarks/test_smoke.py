"""One benchmark runs through, at night; the tests of all are in ``check_*.py``, which ``.ci/nightly`` collects."""

import re

import pytest

from tests.benchmarks import minibatch


@pytest.mark.nightly
def test_a_benchmark_runs_on_something_tiny_and_prints_a_ratio_for_every_number_of_threads(capsys):
    words = "--documents 60 --layers 4-2 --warm-up 1 --steps 1 --rounds 1"
    assert minibatch.main(words.split()) == 0
    assert len(re.findall(r"ratio.* \d+\.\d\d", capsys.readouterr().out)) == 2
