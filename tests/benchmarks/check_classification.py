"""The benchmark of classification judges sDATM and plain classifiers on documents they did not learn from."""

import gzip
import json
from types import SimpleNamespace

import numpy as np
import pytest
from inference_samples import replace_methods
from scipy import io, sparse

from tests.benchmarks import classification, labelled, published
from tests.benchmarks import classifiers as judging
from topiary.engine.contract import TEST, TRAIN

RNG_SEED = 4
TINY = ("--layers", "4-3", "--minibatches", "4", "--threads", "1")
QUICK = ("label_start=0", "label_ramp=1", "hidden=4-3", "predict_samples=2", "batch_size=20")


def documents(rng, n):
    """Counts (n, 14) and labels 1 or 2: each class has words of its own; word 12 is rare, word 13 a stop word."""
    labels = rng.integers(1, 3, n)
    rates = np.where(labels[:, None] == 1, [3.0] * 6 + [0.1] * 6, [0.1] * 6 + [3.0] * 6)
    dense = np.concatenate([rng.poisson(rates), np.zeros((n, 1)), np.full((n, 1), 2)], axis=1).astype(int)
    return dense, labels


@pytest.fixture
def news(tmp_path):
    """A folder laid out as the counts of 20 Newsgroups."""
    folder = tmp_path / "news"
    folder.mkdir()
    rng = np.random.default_rng(RNG_SEED)
    for name, n in (("train", 60), ("test", 30)):
        dense, labels = documents(rng, n)
        dense[0, 12] = 2  # four times in all
        with gzip.open(folder / f"{name}.mtx.gz", "wb") as stream:
            io.mmwrite(stream, sparse.coo_matrix(dense), field="integer")
        (folder / f"{name}.label").write_text("\n".join(map(str, labels)) + "\n")
    (folder / "vocabulary.txt").write_text("\n".join([*(f"word{v}" for v in range(13)), "the"]) + "\n")
    (folder / "stop-word-list.txt").write_text("the\nand\n")
    return folder


@pytest.fixture
def reviews(tmp_path):
    """A table of texts with labels and a split."""
    rng = np.random.default_rng(RNG_SEED)
    lines = ["text,label,split"]
    for number in range(90):
        label = ("pos", "neg")[int(rng.integers(2))]
        own = "wonderful lovely moving" if label == "pos" else "dreadful boring tedious"
        split = "train" if number < 60 else "test"
        lines.append(f"{own} film actors{' onlytested' if split == 'test' else ''},{label},{split}")
    path = tmp_path / "reviews.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def digits(tmp_path):
    """Pictures of 4 x 4 pixels in idx files: the upper half bright or the lower."""
    folder = tmp_path / "digits"
    folder.mkdir()
    rng = np.random.default_rng(RNG_SEED)
    for name, n in (("train", 60), ("t10k", 30)):
        labels = rng.integers(0, 2, n).astype(np.uint8)
        pictures = np.zeros((n, 4, 4), np.uint8)
        pictures[labels == 0, :2], pictures[labels == 1, 2:] = 255, 17
        head = b"".join(int(each).to_bytes(4, "big") for each in (0x803, n, 4, 4))
        (folder / f"{name}-images-idx3-ubyte").write_bytes(head + pictures.tobytes())
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(
            (0x801).to_bytes(4, "big") + n.to_bytes(4, "big") + labels.tobytes()
        )
    return folder


def classify(path, *more: str) -> int:
    settings = [word for text in QUICK for word in ("--set", text)]
    return classification.main(["--data", str(path), *TINY, *settings, *more])


def rows_of(path, kept, *more: str) -> list[dict]:
    assert classify(path, "--json", str(kept), *more) == 0
    return json.loads(kept.read_text())["rows"]


def test_every_classifier_has_a_row_with_error_f1_seconds_and_the_published_figure(news, tmp_path, capsys):
    rows = rows_of(news, tmp_path / "table.json")
    assert [row["classifier"] for row in rows] == ["sdatm-n", "sdatm-l", "svm", "logistic"]
    assert [row["published"] for row in rows] == [15.81, 18.63, None, None]
    by_name = {row["classifier"]: row for row in rows}
    assert by_name["svm"]["error"] == by_name["logistic"]["error"] == 0.0
    assert by_name["svm"]["macro_f1"] == 1.0
    out = capsys.readouterr().out
    assert "20news: 60 documents for training and 30 for the test, 12 words, 2 classes" in out
    for words in ("sDATM-N", "15.81%", "tf-idf, linear SVM", "macro-F1"):
        assert words in out


def test_the_vocabulary_lacks_stop_words_and_words_under_five(news):
    whole = labelled.read(news, labelled.Request())
    assert (whole.name, whole.n_words) == ("20news", 12)


def test_a_validation_reads_no_file_of_the_test(news, tmp_path, capsys):
    for path in news.glob("test*"):
        path.write_bytes(b"nobody can read this")
    rows = rows_of(news, tmp_path / "table.json", "--validation", "--models", "sdatm-l,svm")
    assert [minibatch for minibatch, _ in rows[0]["curve"]] == [1, 2, 3, 4]
    out = capsys.readouterr().out
    assert "46 documents for training and 14 held out for validation" in out
    assert "no test document was looked at" in out


def test_a_validation_leaves_the_test_documents_of_a_table_alone(reviews):
    whole = labelled.read(reviews, labelled.Request())
    held = labelled.read(reviews, labelled.Request(validation=True))
    assert (whole.learned.n_documents, whole.judged.n_documents) == (60, 30)
    assert (held.learned.n_documents, held.judged.n_documents) == (46, 14)


def test_a_validation_judges_the_last_quarter_of_each_class():
    labels = np.array([0, 0, 0, 0, 1, 0, 1, 1, 1, 2, 0, 0, 0])
    part = labelled.last_of_each(labels, 0.25)
    assert np.flatnonzero(part == TEST).tolist() == [8, 11, 12]  # of 8, 4 and 1: 2, 1 and none
    assert set(part.tolist()) == {TRAIN, TEST}


def test_words_that_only_test_documents_have_are_not_in_the_vocabulary(reviews):
    assert labelled.read(reviews, labelled.Request()).n_words == 8  # two times three, film, actors


def test_pictures_are_counts_of_sixteen_greys(digits, tmp_path):
    found = labelled.read(digits, labelled.Request())
    assert (found.name, found.n_words) == ("mnist", 16)
    assert set(found.learned.values.tolist()) == {2, 16}
    assert rows_of(digits, tmp_path / "table.json", "--models", "svm")[0]["error"] == 0.0


def test_labels_of_judged_documents_never_reach_the_model(news, monkeypatch):
    seen = []
    build = judging.models.load("sdatm").build

    def watched(*arguments, **named):
        kernel = build(*arguments, **named)

        def predict(seed, state, docs):
            seen.append(docs.labels)
            return kernel.predict(seed, state, docs)

        return replace_methods(kernel, predict=predict)

    monkeypatch.setattr(judging.models.load("sdatm"), "build", watched)
    assert classify(news, "--models", "sdatm-l") == 0
    assert len(seen) == 1
    assert (seen[0] == -1).all()


def test_finished_rows_are_not_measured_again(news, tmp_path, monkeypatch):
    kept = tmp_path / "table.json"
    first = rows_of(news, kept, "--models", "svm,sdatm-l")
    monkeypatch.setattr(judging, "measure", lambda *_, **__: pytest.fail("a finished row was measured again"))
    assert rows_of(news, kept, "--models", "svm,sdatm-l") == first


def test_layers_may_be_given_as_every_other_setting(news, capsys):
    settings = [word for text in (*QUICK, "layers=4-3") for word in ("--set", text)]
    words = ["--data", str(news), "--minibatches", "2", "--models", "sdatm-l", *settings]
    assert classification.main(words) == 0
    assert "2 mini-batches, layers=4-3 " in capsys.readouterr().out


def test_other_settings_make_a_row_of_their_own(news, tmp_path):
    kept = tmp_path / "table.json"
    rows_of(news, kept, "--models", "sdatm-l")
    rows = rows_of(news, kept, "--models", "sdatm-l", "--set", "label_weight=20")
    assert [row["settings"].get("label_weight") for row in rows] == [None, "20"]


def test_error_and_macro_f1_agree_with_a_count_by_hand():
    about = SimpleNamespace(judged_labels=np.array([0, 0, 1, 2]), label_names=("a", "b", "c"))
    judged = judging.judge(about, np.array([0, 1, 1, 1]))
    assert judged.error == 0.5
    assert judged.macro_f1 == pytest.approx((2 / 3 + 1 / 2 + 0) / 3)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--set", "label_weigth=3"), "there is no setting 'label_weigth'"),
        (("--models", "svm", "--set", "label_weigth=3"), "there is no setting 'label_weigth'"),
        (("--set", "label_weight"), "--set wants NAME=VALUE"),
        (("--layers", "4-0"), "layers must be at least 1"),
        (("--set", "layers=4"), "the setting layers is given twice, by --set and by --layers; give it once"),
        (("--set", "label_weight=9", "--set", "label_weight=8"), "label_weight is given twice, by --set; give it once"),
        (("--set", "classifier=linear"), "leave --set classifier out and choose by --models"),
    ],
)
def test_a_mistake_is_told_in_one_sentence_before_anything_is_read(tmp_path, capsys, words, sentence):
    assert classify(tmp_path / "nothing", *words) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("words", [("--words", "9"), ("--stop-words", "none")])
@pytest.mark.parametrize("corpus", ["news", "digits"])
def test_another_vocabulary_of_counts_is_refused_in_one_sentence(request, capsys, corpus, words):
    assert classify(request.getfixturevalue(corpus), "--models", "svm", *words) == 2
    assert "whose vocabulary is a fixed one; leave --words and --stop-words out" in capsys.readouterr().err


def test_the_vocabulary_of_texts_is_as_it_is_wanted(reviews):
    assert labelled.read(reviews, labelled.Request(n_words=3)).n_words == 3


def test_an_option_that_is_none_is_refused_in_one_line(tmp_path, capsys):
    with pytest.raises(SystemExit) as left:
        classify(tmp_path, "--models", "forest")
    assert left.value.code == 2
    error = capsys.readouterr().err
    assert "there is no 'forest'" in error
    assert error.count("\n") == 1


def test_a_folder_without_a_corpus_is_refused_in_one_sentence(tmp_path, capsys):
    assert classify(tmp_path) == 2
    assert "holds none of 20news, imdb, mnist" in capsys.readouterr().err


def test_the_published_errors_are_those_of_the_paper():
    assert published.ERRORS["imdb"] == {"sdatm-n": 10.92, "sdatm-l": 13.66}
    assert set(published.ERRORS) == set(labelled.CORPORA)
