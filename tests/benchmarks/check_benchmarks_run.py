"""Every benchmark runs through on something tiny and prints a ratio; no test here looks at a clock."""

import os
import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.benchmarks import (
    chains,
    encoder,
    from_files,
    gibbs_sweep,
    gradients,
    large,
    memory,
    overhead,
    quality,
    screen,
    sure_edges,
    synthetic,
    token_cost,
    topic_moves,
)
from tests.benchmarks import gpu as gpu_speed
from tests.benchmarks import minibatch as minibatch_speed
from tests.benchmarks.rivals import Plain, PlainState
from topiary.engine import models
from topiary.engine.contract import TRAIN, Facts
from topiary.engine.corpus import draw_minibatch
from topiary.store import corpora
from topiary.store.database import open_database

RATIO = re.compile(r"ratio.* \d+\.\d\d")


def run(script, words: str) -> None:
    """Run a benchmark as from a command line."""
    assert script.main(words.split()) == 0


@pytest.fixture(autouse=True)
def apart(tmp_path, monkeypatch):
    """Logs of workers go to the test's folder."""
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "data"))


def test_the_benchmark_of_graphics_processors_prints_a_ratio_and_both_perplexities(capsys):
    run(gpu_speed, "--documents 120 --layers 8-4-2 --warm-up 2 --steps 2 --rounds 2 --threads 1 --one-lane")
    text = capsys.readouterr().out
    assert RATIO.search(text)
    assert re.search(r"perplexity of the mean topics: processor, 1 threads \d+\.\d, graphics processor \d+\.\d", text)


def test_the_gibbs_benchmark_prints_a_ratio(capsys):
    pytest.importorskip("tomotopy", reason="tomotopy is not installed: nothing to compare with")
    run(gibbs_sweep, "--documents 60 --topics 8 --burn-in 1 --sweeps 1 --rounds 2 --threads 1")
    assert RATIO.search(capsys.readouterr().out)


def test_the_benchmark_from_files_prints_a_ratio(capsys, tmp_path):
    pytest.importorskip("tomotopy", reason="tomotopy is not installed: nothing to compare with")
    for number in range(30):
        (tmp_path / f"{number}.txt").write_text(f"apple pear plum {'fig cherry' * (number % 3)}")
    run(from_files, f"--data {tmp_path} --topics 4 --sweeps 3 --rounds 1")
    assert RATIO.search(capsys.readouterr().out)


def test_without_tomotopy_the_gibbs_benchmark_says_so(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tomotopy", None)
    run(gibbs_sweep, "--documents 60 --topics 8 --burn-in 1 --sweeps 1 --rounds 1 --threads 1")
    assert "tomotopy is not installed" in capsys.readouterr().out


def test_the_minibatch_benchmark_prints_ratios_for_every_number_of_threads(capsys):
    run(minibatch_speed, "--documents 300 --layers 8-4-2 --warm-up 1 --steps 1 --rounds 2")
    assert len(RATIO.findall(capsys.readouterr().out)) == 2


def test_the_benchmark_of_moves_prints_ratios_for_moves_and_draws(capsys):
    run(topic_moves, "--words 90 --topics 6 --rounds 2")
    assert len(RATIO.findall(capsys.readouterr().out)) == 4


def test_the_tables_of_that_benchmark_are_as_sparse_as_those_of_a_run():
    tables = topic_moves.made(2_000, 30)
    np.testing.assert_allclose(tables.phi.sum(axis=0), 1.0, rtol=1e-12)
    assert 0.01 < (tables.batch > 0).mean() < 0.06
    assert 0.05 < (tables.sweep > 0).mean() < 0.3


def test_the_benchmark_of_chains_prints_both_samplers_at_every_length(capsys):
    run(chains, "--documents 60 --topics 6 --steps 2 --swept 20")
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line.split()[0] for line in lines] == ["collapsed"] * 4 + ["plain"] * 4


def test_the_encoder_benchmark_prints_ratios_for_placing_and_training(capsys):
    run(encoder, "--documents 60 --words 80 --layers 4-3 --swept 5 --warm-up 1 --steps 1 --rounds 2")
    out = capsys.readouterr().out
    assert len(RATIO.findall(out)) == 6
    ratios = ("sweeps to encoder", "600 sweeps to refined", "TLASGR, 5 + 5 to WHAI")
    for words in ("documents a second and core", *(f"ratio of {each}" for each in ratios)):
        assert words in out


def test_the_encoder_benchmark_times_models_of_equal_size_that_place_every_document():
    corpus = synthetic.small_corpus(60, words=80)
    docs = corpus.batch(corpus.documents(TRAIN))
    for name in ("datm", "dlda"):
        placed = encoder._Trained(name, corpus, (4, 3), 1).place(docs, None)
        assert [theta.shape for theta in placed.theta] == [(len(docs.documents), 4), (len(docs.documents), 3)]


def test_the_scaling_benchmark_prints_a_slope_and_a_ratio_for_words_and_topics(capsys):
    run(token_cost, "--documents 80 --vocabularies 500 900 --topics 4 8 --rounds 1 --warm-up 1")
    out = capsys.readouterr().out
    assert len(RATIO.findall(out)) == 2
    assert {"V^", "K^"} <= set(re.findall(r"[VK]\^", out))


def test_the_memory_benchmark_prints_the_peak_beside_the_bound(capsys, tmp_path):
    run(memory, f"--scale 0.0005 --layers 6-3 --minibatches 6 --threads 1 --folder {tmp_path}")
    out = capsys.readouterr().out
    assert RATIO.search(out)
    assert "first perplexity in the store" in out
    assert int(re.search(r"peak of the worker (\d+) MB", out)[1]) > 30


def test_the_overhead_benchmark_prints_shares_and_the_start_of_a_worker(capsys):
    run(overhead, "--documents 60 --layers 4-2 --minibatches 8 --threads 1 --starts 1")
    out = capsys.readouterr().out
    assert RATIO.search(out)
    assert re.search(r"second worker: sampling begins +\d+\.\d\d s", out)


def browsed(script, *words: str) -> None:
    """Run a benchmark that needs Chromium, with a browser of its own beside that of the session in this thread."""
    program = os.environ.get("TOPIARY_CHROMIUM") or next(filter(None, map(shutil.which, screen.NAMES)), None)
    if program is None:
        sentence = "no Chromium: install it (Debian: apt-get install chromium) or set TOPIARY_CHROMIUM"
        (pytest.fail if os.environ.get("TOPIARY_REQUIRE_ALL") == "1" else pytest.skip)(sentence)
    with ThreadPoolExecutor(1) as apart:
        apart.submit(script.main, [*words, "--chromium", program]).result()


@pytest.mark.browser
def test_the_benchmark_of_a_large_corpus_prints_ratios_to_its_targets(capsys):
    words = "--documents 300 --points 700 --clicks 2 --sessions 2 --layers 6-4-3"
    browsed(large, *words.split())
    assert len(RATIO.findall(capsys.readouterr().out)) == 12


@pytest.mark.browser
def test_the_screen_benchmark_prints_ratios_to_its_targets(capsys):
    browsed(screen, "--visits", "1", "--crowd", "3")
    out = capsys.readouterr().out
    assert len(RATIO.findall(out)) == 8
    assert len(re.findall(r"[\d.]+ times a bare page", out)) == 6
    assert int(re.search(r"tree of (\d+) topics", out)[1]) >= screen.NODES


# What is compared does the same work.


def test_the_plain_rival_gives_every_token_a_topic_in_every_sweep():
    corpus = synthetic.small_corpus(50)
    docs = corpus.batch(corpus.documents(TRAIN))
    rival = Plain(corpus.n_words, len(docs.documents), (8, 4), burn_in=2, collect=3)
    got = rival.local(rival.init(1), docs.words, docs.counts, docs.starts)
    by_word = np.bincount(docs.words, docs.counts, corpus.n_words)
    np.testing.assert_allclose(got.tables[0].sum(axis=1), by_word, rtol=1e-12)
    assert got.tables[1].sum() >= np.count_nonzero(got.tables[0].sum(axis=0))


def test_the_plain_rival_and_our_kernels_count_the_same_in_distribution():
    corpus = synthetic.small_corpus(100, words=80, tokens=30)
    docs, layers = corpus.batch(corpus.documents(TRAIN)), (6, 4, 3)
    module = models.load("dlda")
    config = module.Config(layers=layers, inference="tlasgr", burn_in=100, collect=400)
    kernel = module.build(config, Facts(corpus.n_words, len(docs.documents)))
    rival, ratios = Plain(corpus.n_words, len(docs.documents), layers, burn_in=100, collect=400), []
    for seed in range(1, 9):  # one pair of chains differs by 4 % in the upper layers
        start = kernel.init(seed)
        begin = rival.init(seed)._replace(phi=start.phi, r=start.r)
        theirs = rival.local(begin, docs.words, docs.counts, docs.starts)
        state, _ = kernel.step(seed, start, docs)  # the first mini-batch sets M to its estimate: rho = 1, M = x_.k
        pairs = [(ours.sum(), table.sum()) for ours, table in zip(state.scale, theirs.tables, strict=True)]
        ratios.append([np.log(ours / table) for ours, table in [*pairs, (state.top_scale, theirs.q)]])
    words, *upper = np.array(ratios).T
    np.testing.assert_allclose(words, 0.0, atol=1e-12)
    for logs in upper:
        assert abs(logs.mean()) < 3 * logs.std(ddof=1) / np.sqrt(len(logs))


def test_a_step_of_the_plain_rival_keeps_topics_on_the_simplex():
    corpus = synthetic.small_corpus(300)
    rival = Plain(corpus.n_words, 240, (8, 4, 2), burn_in=2, collect=1)
    state = rival.init(1)
    for t in (1, 2):
        docs = corpus.batch(draw_minibatch(1, t, corpus.documents(TRAIN), 100))
        state = rival.step(state, docs.words, docs.counts, docs.starts)
    assert isinstance(state, PlainState)
    assert state.t == 2
    for phi in state.phi:
        assert (phi > 0).all()
        np.testing.assert_allclose(phi.sum(axis=0), 1.0, rtol=1e-12)


def test_a_widened_corpus_has_the_same_documents_under_other_word_numbers():
    corpus = synthetic.small_corpus(30)
    wide = token_cost.widened(corpus, 5000)
    assert wide.n_words == 5000
    assert wide.counts.words.max() > corpus.n_words
    assert len(np.unique(wide.counts.words)) == len(np.unique(corpus.counts.words))
    np.testing.assert_array_equal(wide.counts.values, corpus.counts.values)


def test_the_slope_of_a_power_law_is_its_exponent():
    assert token_cost.slope([2, 4, 8], [4, 16, 64]) == pytest.approx(2.0)


def test_the_synthetic_corpus_is_the_same_every_time_and_of_the_size_asked_for(tmp_path):
    db = open_database(tmp_path / "s.db")
    rows = [
        synthetic.store_corpus(db, name, documents=synthetic.BLOCK + 500, words=700, tokens=400_000) for name in "ab"
    ]
    assert rows[0].content_hash == rows[1].content_hash
    assert rows[0].documents == synthetic.BLOCK + 500
    assert rows[0].tokens == pytest.approx(400_000, rel=0.03)
    assert 0 < rows[0].documents - rows[0].train_documents < 0.05 * rows[0].documents
    assert corpora.load_corpus(db, rows[0].number).counts.words.max() < 700
    db.close()


def test_the_quality_benchmark_prints_seconds_and_the_documents_looked_at(capsys):
    run(quality, "--documents 600 --words 100 --tokens 20 --layers 6-3 --rounds 1")
    out = capsys.readouterr().out
    assert "540 of 540 training documents" in out
    assert "60 of 60 test documents" in out
    assert re.search(r"median \d+\.\d\d s, in processor time", out)


def test_the_gradients_of_a_deep_exponential_family_are_compared(capsys):
    run(gradients, "--documents 80 --layers 4-2 --train 60 --seconds 0.1")
    report = capsys.readouterr().out
    for name in ("implicit", "score"):
        assert len(re.findall(rf"  {name} +(?:deviation|ELBO) -?[0-9]", report)) == 2


def test_edges_of_the_true_topics_are_true_and_in_their_intervals_and_those_of_a_split_topic_are_not():
    true, _ = sure_edges.draw_world(sure_edges.SHAPES["long"], 1)
    exact = sure_edges.list_edges(true, true, [np.full_like(phi, 1e-6) for phi in true])
    truth = sure_edges.judge_edges(exact)
    assert (truth.true, truth.held, truth.found) == (1.0, 1.0, truth.drawn)
    halves = [true[0], np.concatenate([true[1] / 2, true[1] / 2]), true[2]]
    halves[0] = np.concatenate([true[0], true[0]], axis=1)  # every topic of layer 1 twice, each with half its weight
    split = sure_edges.judge_edges(sure_edges.list_edges(true, halves, [np.full_like(phi, 1e-9) for phi in halves]))
    assert split.held < 0.5
