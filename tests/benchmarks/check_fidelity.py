"""``python -m tests.benchmarks.fidelity`` prints its table and goes on where it was interrupted."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import io, sparse

from tests.benchmarks import fidelity, published, report, synthetic
from tests.benchmarks import fidelity_trials as measuring
from tests.benchmarks.keeping import Table
from tests.benchmarks.reading import commonest, pooled, read_corpus
from topiary.engine import models
from topiary.engine.contract import TEST, TRAIN
from topiary.store.arrays import pack_arrays


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


def run_fidelity(path, *more: str) -> int:
    return fidelity.main(["--data", str(path), "--minibatches", "4", "--threads", "1", *more])


@pytest.fixture
def narrow(monkeypatch):
    """The published table with narrower layers, so that a row takes no time."""
    figures = {trial._replace(layers=(4, 3)[: len(trial.layers)]): 60.0 for trial in published.PUBLISHED}
    monkeypatch.setattr(published, "PUBLISHED", figures)


@pytest.mark.usefixtures("narrow")
def test_fidelity_prints_every_row_beside_its_published_figure(mat_file, capsys):
    assert run_fidelity(mat_file) == 0
    out = capsys.readouterr().out
    for row in ("TLASGR  4 ", "TLASGR  4-3", "TLFSGR  4-3", "SGRLD   4 ", "GIBBS   4-3"):
        assert row in out
    assert "40 training and 20 test documents" in out


@pytest.mark.usefixtures("narrow")
def test_fidelity_reads_the_format_it_is_told(mat_file, capsys):
    assert run_fidelity(mat_file, "--only", "tlasgr:4", "--format", "mat") == 0
    assert run_fidelity(mat_file, "--only", "tlasgr:4", "--format", "lines") == 2
    assert "is not UTF-8" in capsys.readouterr().err  # as lines of text


@pytest.mark.usefixtures("narrow")
def test_fidelity_goes_on_from_its_file_row_by_row(mat_file, tmp_path, capsys, monkeypatch):
    kept = tmp_path / "table.json"
    run_fidelity(mat_file, "--only", "tlasgr:4", "--json", str(kept))
    first = json.loads(kept.read_text())["rows"]
    measure = measuring.measure

    def only_gibbs(corpus, trial, *rest, **named):
        assert trial.inference == "gibbs", "a finished row was measured again"
        return measure(corpus, trial, *rest, **named)

    monkeypatch.setattr(measuring, "measure", only_gibbs)
    assert run_fidelity(mat_file, "--only", "tlasgr:4,gibbs:4", "--json", str(kept)) == 0
    rows = json.loads(kept.read_text())["rows"]
    assert rows[:1] == first
    assert [row["trial"] for row in rows] == ["dlda tlasgr:4", "dlda gibbs:4"]


@pytest.mark.parametrize("place", ["nowhere/table.json", ".", "x" * 300 + ".json"])
def test_a_table_that_cannot_be_kept_is_refused_before_anything_is_read(tmp_path, capsys, place):
    assert run_fidelity(tmp_path / "not-read.mat", "--json", str(tmp_path / place)) == 2
    assert "with --json" in capsys.readouterr().err


@pytest.mark.usefixtures("narrow")
def test_a_figure_is_printed_though_its_file_cannot_be_written_any_more(mat_file, tmp_path, capsys, monkeypatch):
    kept = tmp_path / "table.json"
    measure = measuring.measure

    def filled(*given, **named):
        kept.with_name("table.json.new").mkdir()  # nothing can be written there from now on
        return measure(*given, **named)

    monkeypatch.setattr(measuring, "measure", filled)
    assert run_fidelity(mat_file, "--only", "gibbs:4", "--json", str(kept)) == 2
    report = capsys.readouterr()
    assert "GIBBS   4 " in report.out
    assert "table.json cannot be written" in report.err


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("trial", ["tlasgr:4-3", "sgrld:4", "gibbs:4-3"])
def test_an_interrupted_row_goes_on_to_the_same_figures(mat_file, tmp_path, monkeypatch, trial):
    monkeypatch.setattr(fidelity, "KEEP_SECONDS", 0.0)
    whole, broken = tmp_path / "whole.json", tmp_path / "broken.json"
    run_fidelity(mat_file, "--only", trial, "--json", str(whole))
    save, saved = Table.save, []

    def interrupted(self, key, arrays):
        save(self, key, arrays)
        saved.append(arrays["standing"][0])
        if len(saved) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(Table, "save", interrupted)
    assert run_fidelity(mat_file, "--only", trial, "--json", str(broken)) == 130
    assert not broken.exists()
    assert run_fidelity(mat_file, "--only", trial, "--json", str(broken)) == 0
    assert saved == [1, 2, 3, 4], "it began anew instead of going on"
    one, other = (json.loads(path.read_text())["rows"][0] for path in (whole, broken))
    assert (one["averaged"], one["point"]) == (other["averaged"], other["point"])
    assert not list(tmp_path.glob("*.unfinished"))


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("damage", [b"", b"damaged", pack_arrays({"standing": np.zeros(2)})])
def test_an_unfinished_row_that_is_damaged_begins_anew(mat_file, tmp_path, damage):
    path = tmp_path / "table.json"
    path.with_name("table.json.unfinished").write_bytes(damage)
    assert run_fidelity(mat_file, "--only", "tlasgr:4", "--json", str(path)) == 0
    assert len(json.loads(path.read_text())["rows"]) == 1
    assert not list(tmp_path.glob("*.unfinished"))


@pytest.mark.usefixtures("narrow")
def test_a_table_of_another_length_is_not_gone_on_with(mat_file, tmp_path, capsys):
    kept = tmp_path / "table.json"
    run_fidelity(mat_file, "--only", "tlasgr:4", "--json", str(kept))
    assert fidelity.main(["--data", str(mat_file), "--minibatches", "5", "--json", str(kept)]) == 2
    assert "another corpus or length" in capsys.readouterr().err


def test_a_row_that_is_not_published_is_refused_in_one_sentence(mat_file, capsys):
    assert run_fidelity(mat_file, "--only", "tlasgr:7") == 2
    error = capsys.readouterr().err
    assert error.startswith("python -m tests.benchmarks.fidelity: there is no published figure for 'tlasgr:7'")
    assert error.count("\n") == 1


def test_a_file_of_texts_is_refused_in_one_sentence(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("text,label\nsome words here,one\nother words there,two\n")
    assert run_fidelity(tmp_path / "a.csv") == 2
    assert "give a file of counts" in capsys.readouterr().err


def test_the_settings_of_the_table_are_those_of_the_paper_for_all_depths():
    steps = {"sgrld": (0.1, 20.0, 0.9)}
    for trial in (each for each in published.PUBLISHED if each.model == "dlda"):  # in DATM's table too
        config = models.load(trial.model).Config(**published.settings(trial))
        assert (config.batch_size, config.burn_in, config.collect, config.eta) == (200, 20, 10, (0.05,))
        assert (config.step, config.tau, config.kappa) == steps.get(trial.inference, (1.0, 20.0, 0.7))
        assert config.simplex == "clamp"
        assert config.scale_step == 0.5


def test_the_rows_of_dpfa_are_runs_of_its_presets():
    for trial in (each for each in published.PUBLISHED if each.table.startswith("dpfa")):
        config = models.load(trial.model).Config(**published.settings(trial))
        assert config.start == ("random" if trial.model == "lda-gibbs" else "flat")
        assert config.layers == trial.layers
        if trial.model == "dpfa":
            assert (config.hierarchy == "rbm") == trial.inference.startswith("rbm")
            assert (config.shrinkage == "student") == (trial.inference in ("sbn-t-gibbs", "nb-ftm"))
            assert trial.inference.endswith(config.inference) or trial.inference == "nb-ftm"


# DATM's table


def pooled_rows(path, kept, *more: str) -> list[dict]:
    assert run_fidelity(path, "--models", "datm", "--json", str(kept), *more) == 0
    return json.loads(kept.read_text())["rows"]


@pytest.mark.usefixtures("narrow")
def test_the_table_of_datm_has_every_variant_and_dlda_on_the_same_split(mat_file, tmp_path, capsys):
    rows = pooled_rows(mat_file, tmp_path / "table.json")
    samplers = ("tlasgr", "gibbs", "whai", "wai", "iwhai", "ghai", "encoder", "whai+3", "wai+3", "iwhai+3", "ghai+3")
    assert [row["trial"] for row in rows] == [f"datm {each}:{w}" for each in samplers for w in ("4", "4-3")]
    out = capsys.readouterr().out
    assert "60 training and 60 test documents" in out
    assert "log-compressed" in out
    for row in ("TLASGR  4 ", "WHAI    4-3", "WHAI+3  4 ", "GHAI    4-3"):
        assert row in out


@pytest.mark.usefixtures("narrow")
def test_the_distance_of_a_row_is_to_dlda_tlasgr_of_its_size(mat_file, tmp_path, capsys):
    alone = pooled_rows(mat_file, tmp_path / "alone.json", "--only", "whai:4")
    assert alone[0]["distance"] is None
    assert "needs the row of TLASGR" in capsys.readouterr().out
    rows = pooled_rows(mat_file, tmp_path / "table.json", "--only", "tlasgr:4,tlasgr:4-3,whai:4")
    by_name = {row["trial"]: row for row in rows}
    own = by_name["datm whai:4"]
    assert own["distance"] == pytest.approx(100 * (own["averaged"] / by_name["datm tlasgr:4"]["averaged"] - 1))
    assert f"{own['distance']:+.2f}%" in capsys.readouterr().out


def test_the_published_distances_are_those_of_the_paper():
    figures = {trial.key: figure for trial, figure in published.PUBLISHED.items()}
    row = measuring.Row("datm whai:128-64", 1, 1.0, 1.0, figures["datm whai:128-64"], 0, 0, 0, 1, "")
    assert measuring.published_distance(row) == pytest.approx(100 * (582 / 581 - 1))
    assert figures["datm iwhai:128-64-32"] == 588.0
    assert figures["datm whai+3:128"] == figures["datm whai:128"]


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("row", ["dpfa nb-ftm:4", "dpfa-wiki sbn-sgnht:4-3"])
def test_rows_of_dpfa_are_kept_beside_the_published_figure_of_their_own_table(mat_file, tmp_path, capsys, row):
    table, _, name = row.partition(" ")
    kept = tmp_path / "table.json"
    assert run_fidelity(mat_file, "--models", table, "--only", name, "--json", str(kept)) == 0
    (found,) = json.loads(kept.read_text())["rows"]
    assert found["trial"] == row
    assert found["difference"] == pytest.approx(100 * (found["averaged"] / 60 - 1))
    assert found["test_seconds"] > 0
    assert "a document" in capsys.readouterr().out


def test_counts_without_test_documents_lose_a_tenth_of_them(tmp_path):
    lines = [f"1 {n % 7}:2" for n in range(40)]
    (tmp_path / "counts.ldac").write_text("\n".join(lines) + "\n")
    (tmp_path / "vocab.txt").write_text("\n".join(f"word{v}" for v in range(7)) + "\n")
    corpus = read_corpus(tmp_path / "counts.ldac")
    assert len(corpus.documents(TEST)) == 5, "equal documents stay together"
    assert len(corpus.documents(TRAIN)) == 35


@pytest.mark.usefixtures("narrow")
def test_rows_of_the_two_tables_never_stand_for_each_other(mat_file, tmp_path):
    kept = tmp_path / "table.json"
    assert run_fidelity(mat_file, "--only", "tlasgr:4", "--json", str(kept)) == 0
    one, other = pooled_rows(mat_file, kept, "--only", "tlasgr:4")
    assert [one["trial"], other["trial"]] == ["dlda tlasgr:4", "datm tlasgr:4"]
    assert one["averaged"] != other["averaged"]


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("trial", ["whai:4-3", "whai+3:4", "wai:4"])
def test_an_interrupted_row_of_datm_goes_on_to_the_same_figures(mat_file, tmp_path, monkeypatch, trial):
    monkeypatch.setattr(fidelity, "KEEP_SECONDS", 0.0)
    whole = pooled_rows(mat_file, tmp_path / "whole.json", "--only", trial)
    save, saved = Table.save, []

    def interrupted(self, key, arrays):
        save(self, key, arrays)
        saved.append(arrays["standing"][0])
        if len(saved) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(Table, "save", interrupted)
    broken = ("--models", "datm", "--only", trial, "--json", str(tmp_path / "broken.json"))
    assert run_fidelity(mat_file, *broken) == 130
    rows = pooled_rows(mat_file, tmp_path / "broken.json", "--only", trial)
    assert saved == [1, 2, 3, 4], "it began anew instead of going on"
    assert (rows[0]["averaged"], rows[0]["point"]) == (whole[0]["averaged"], whole[0]["point"])


def test_sweeps_after_the_encoder_are_a_setting_of_their_rows():
    refined = {trial.name: published.settings(trial).get("refine", 0) for trial in published.PUBLISHED}
    assert refined["whai+3:128"] == refined["ghai+3:128-64"] == 3
    assert refined["whai:128"] == refined["encoder:128"] == 0


def test_the_row_of_the_preset_encoder_has_its_settings_and_the_figures_of_whai():
    trial = published.Trial("datm", "encoder", (128, 64, 32))
    config = models.load(trial.model).Config(**published.settings(trial))
    assert (config.counts, config.shape, config.split, config.layers) == ("encoder", "document", 0.7, (128, 64, 32))
    assert published.PUBLISHED[trial] == 581.0


def test_pooling_trains_on_what_is_observed_and_scores_the_rest_of_every_document():
    corpus = synthetic.small_corpus(50, words=60, tokens=30)
    whole = pooled(corpus)
    train, test = whole.documents(TRAIN), whole.documents(TEST)
    assert len(train) == len(test) == 50
    observed, scored = whole.split_tokens(test)
    read = whole.batch(train)
    for name in ("words", "counts", "starts"):
        assert np.array_equal(getattr(observed, name), getattr(read, name)), "training saw what is scored"
    assert scored.counts.sum() + observed.counts.sum() == corpus.counts.values.sum()
    share = scored.counts.sum() / corpus.counts.values.sum()
    assert 0.3 < share < 0.34  # a token more in each document than 30 %, rounded down


def test_pooling_can_score_a_fixed_sample_of_the_documents():
    corpus = synthetic.small_corpus(50, words=60, tokens=30)
    everyone, some = pooled(corpus), pooled(corpus, 10)
    test = some.documents(TEST)
    assert (len(some.documents(TRAIN)), len(test)) == (50, 10)
    assert np.array_equal(some.counts.words[: some.counts.starts[50]], everyone.counts.words[: some.counts.starts[50]])
    _, scored = some.split_tokens(test)
    assert 0.2 < scored.counts.sum() / some.batch(test).counts.sum() < 0.4
    assert np.array_equal(pooled(corpus, 10).counts.words, some.counts.words)


@pytest.mark.usefixtures("narrow")
def test_a_table_that_scores_other_documents_is_not_gone_on_with(mat_file, tmp_path, capsys):
    kept = tmp_path / "table.json"
    pooled_rows(mat_file, kept, "--only", "tlasgr:4", "--scored", "20")
    assert "60 training and 20 test documents" in capsys.readouterr().out
    assert run_fidelity(mat_file, "--models", "datm", "--only", "tlasgr:4", "--json", str(kept)) == 2
    assert "other documents scored" in capsys.readouterr().err


def dense(counts, n_words):
    return sparse.csr_array((counts.values, counts.words, counts.starts), shape=(counts.n_documents, n_words)).toarray()


def test_only_the_commonest_words_that_are_no_stop_words_stay_and_documents_without_them_go(mat_file):
    whole = read_corpus(mat_file)
    table, scored = dense(whole.counts, whole.n_words), dense(whole.scored, whole.n_words)
    often = table.sum(axis=0)
    stops = frozenset(np.array(whole.vocabulary)[np.argsort(often)[-3:]].tolist())
    ranked = [v for v in np.argsort(-often, kind="stable").tolist() if whole.vocabulary[v] not in stops]
    for n_words in (2, 10, 1_000):
        kept = ranked[:n_words]
        filled = table[:, kept].any(axis=1)
        few = commonest(whole, n_words, stops)
        assert few.vocabulary == tuple(whole.vocabulary[v] for v in kept)
        np.testing.assert_array_equal(dense(few.counts, few.n_words), table[filled][:, kept])
        np.testing.assert_array_equal(dense(few.scored, few.n_words), scored[filled][:, kept])
        np.testing.assert_array_equal(few.part, whole.part[filled])
    assert not filled.all() or table[:, ranked[:2]].any(axis=1).sum() < len(table)  # some document did go


@pytest.mark.usefixtures("narrow")
def test_a_table_is_measured_on_fewer_words(mat_file, capsys):
    (mat_file.parent / "stop-word-list.txt").write_text("word1\nword2\n", encoding="utf-8")
    assert run_fidelity(mat_file, "--only", "tlasgr:4", "--words", "50") == 0
    assert "50 words" in capsys.readouterr().out
    assert run_fidelity(mat_file, "--only", "tlasgr:4", "--words", "59") == 0
    assert "58 words" in capsys.readouterr().out
    assert run_fidelity(mat_file, "--only", "tlasgr:4") == 0
    assert "60 words" in capsys.readouterr().out


def test_raw_newsgroups_are_cut_to_the_two_thousand_words_of_the_papers(shared_data):
    folder = shared_data / "20news_counts_61188"
    corpus = read_corpus(folder, 2_000)
    assert (corpus.counts.n_documents, corpus.n_words, int(corpus.counts.values.sum())) == (18_767, 2_000, 1_422_985)
    assert not set(corpus.vocabulary) & set((folder / "stop-word-list.txt").read_text(encoding="utf-8").split())


def test_the_time_left_is_told_from_the_second_step_on(monkeypatch):
    """The first, in which kernels are compiled, took 90 seconds; the others take one each."""
    clock = iter([90.0, 91.0, 140.0])
    monkeypatch.setattr(report, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    left = report.TimeLeft(100)
    assert [left.words(done) for done in (1, 2, 51)] == ["", "1 min 38 s left", "49 s left"]
