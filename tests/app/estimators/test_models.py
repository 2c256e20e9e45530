"""The models as scikit-learn estimators: its own common checks, planted topics, and what is refused."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from topiary.app.estimators.models import DATM, DEF, DLDA, DPFA, LDA, SDATM, read_labels, strip_scalar
from topiary.engine.settings import SettingError

TINY = {"layers": (3, 2), "n_iter": 2, "batch_size": 20, "real_values": "round"}
LINEAR = {"classifier": "linear"}


def planted(documents=90, seed=4):
    """Counts of documents about one of three subjects of eight words, and the subject of each."""
    rng = np.random.default_rng(seed)
    subject = rng.integers(0, 3, documents)
    rates = np.full((documents, 24), 0.1)
    for j, k in enumerate(subject):
        rates[j, 8 * k : 8 * k + 8] = 4.0
    return rng.poisson(rates), subject


@pytest.mark.filterwarnings("ignore:.* no word that the model knows")
@parametrize_with_checks(
    [
        DLDA(**TINY, settings={"burn_in": 1, "collect": 1}),
        SDATM(**TINY, settings={"predict_samples": 2, "hidden": (4, 3)}),
    ]
)
def test_the_common_checks_of_scikit_learn_pass(estimator, check):
    check(estimator)


@pytest.mark.nightly  # what these check lies in what all estimators share
@pytest.mark.filterwarnings("ignore:.* no word that the model knows")
@parametrize_with_checks(
    [
        DATM(**TINY),
        *(LDA(**TINY | {"layers": (3,)}, inference=inference) for inference in ("gibbs", "cavi", "svi")),
        DPFA(**TINY),
        DEF(**TINY),
    ]
)
def test_the_common_checks_pass_for_the_other_models(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", [DATM, LDA, DPFA, DEF])
def test_the_other_models_place_documents_and_are_cloned_with_their_parameters(estimator):
    counts, layers = planted(20)[0], (3,) if estimator is LDA else (3, 2)
    model = estimator(**TINY | {"layers": layers}, random_state=0)
    placed = model.fit(counts).transform(counts)
    assert placed.shape == (20, sum(layers))
    np.testing.assert_array_equal(clone(model).fit(counts).transform(counts), placed)


def test_lda_names_its_inference():
    with pytest.raises(SettingError, match="inference of LDA must be 'gibbs', 'cavi' or 'svi'; got 'vb'"):
        LDA(inference="vb", n_iter=1).fit(planted(10)[0])


def test_words_that_are_known_become_a_topic():
    counts, _ = planted()
    table = pd.DataFrame(counts, columns=[f"word{v}" for v in range(24)])
    for X, words in ((counts, [0, 1, 2]), (table, ["word0", "word1", "word2"])):
        model = LDA(layers=(2,), n_iter=30, random_state=0, topics={"first": words}).fit(X)
        assert model.components_[model.seeded_["first"], :8].sum() > 0.6
        assert model.components_.shape == (3, 24)


@pytest.mark.parametrize(
    ("topics", "sentence"),
    [
        ("words", "topics must be a dictionary or list with words for each topic"),
        (["ab"], "the words of topic 0 are no list; give at least two in one"),
        ([[0, 99]], "topic 0 has the word 99, which is no column of X; it has 24"),
        (
            {"a": ["word1", "word2"]},
            "'word1', which is no column of X; the names of its columns are known only of a table",
        ),
        ([[3, 3]], "topic 0 needs at least two different words, and has 1"),
    ],
)
def test_words_that_make_no_topic_are_refused(topics, sentence):
    with pytest.raises(ValueError, match=sentence):
        LDA(layers=(2,), n_iter=3, topics=topics).fit(planted(30)[0])
    with pytest.raises(SettingError, match="LDA with these settings makes no topics from words; leave topics out"):
        LDA(layers=(2,), inference="cavi", n_iter=3, topics=[[0, 1]]).fit(planted(30)[0])


@pytest.fixture(scope="module")
def fitted():
    counts, subject = planted()
    return DLDA(layers=(3, 2), n_iter=60, batch_size=30, random_state=0).fit(counts), counts, subject


def test_planted_subjects_are_found_as_topics(fitted):
    model, _, _ = fitted
    mass = model.components_.reshape(3, 3, 8).sum(axis=2)
    assert sorted(mass.argmax(axis=1).tolist()) == [0, 1, 2]
    assert (mass.max(axis=1) > 0.8).all()


def test_documents_of_a_subject_use_its_topic(fitted):
    model, counts, subject = fitted
    used = model.transform(counts)[:, :3].argmax(axis=1)
    topic = model.components_.reshape(3, 3, 8).sum(axis=2).argmax(axis=0)
    assert (used == topic[subject]).mean() > 0.9


def test_activations_of_every_layer_are_shares_and_topics_lie_on_the_simplex(fitted):
    model, counts, _ = fitted
    placed = model.transform(counts)
    np.testing.assert_allclose([placed[:, :3].sum(axis=1), placed[:, 3:].sum(axis=1)], 1.0)
    for table in model.topics_:
        np.testing.assert_allclose(table.sum(axis=1), 1.0)
    assert [len(table) for table in model.topics_] == [len(share) for share in model.popularity_] == [3, 2]
    assert list(model.get_feature_names_out()) == ["dlda_l1_0", "dlda_l1_1", "dlda_l1_2", "dlda_l2_0", "dlda_l2_1"]


def test_topics_come_with_their_coherence_and_layers_with_their_diversity(fitted):
    model, counts, _ = fitted
    assert [len(layer) for layer in model.coherence_] == [3, 2]
    present = counts > 0
    first = np.argsort(-model.topics_[0][1], kind="stable")[:10]
    pairs = [(i, j) for place, i in enumerate(first) for j in first[place + 1 :]]
    both = [(present[:, i] & present[:, j]).mean() for i, j in pairs]
    apart = [present[:, i].mean() * present[:, j].mean() for i, j in pairs]
    by_hand = np.mean([np.log(b / a) / -np.log(b) if b else -1.0 for b, a in zip(both, apart, strict=True)])
    assert model.coherence_[0][1] == pytest.approx(by_hand)
    heaviest = [set(np.argsort(-topic, kind="stable")[:10].tolist()) for topic in model.topics_[0]]
    assert model.diversity_[0] == pytest.approx(len(set.union(*heaviest)) / 30)
    assert len(model.diversity_) == 2


def test_a_document_has_the_same_place_in_whatever_company_and_form_it_comes(fitted):
    model, counts, _ = fitted
    whole = model.transform(counts)
    np.testing.assert_array_equal(model.transform(counts[5:7]), whole[5:7])
    np.testing.assert_array_equal(model.transform(counts[::-1])[::-1], whole)
    for form in (sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix):
        np.testing.assert_array_equal(model.transform(form(counts)), whole)


@pytest.mark.parametrize(
    ("model", "mean"),
    [
        (DLDA(layers=(3, 2), n_iter=30, batch_size=30, random_state=0), lambda state: state.mean[0]),
        (LDA(layers=(3,), n_iter=30, random_state=0), lambda state: state.mean),
        (DPFA(layers=(3, 2), n_iter=30, batch_size=30, random_state=0), lambda state: state.mean),
    ],
    ids=["dlda", "lda-gibbs", "dpfa"],
)
def test_topics_are_the_means_over_the_last_samples_as_on_the_pages(model, mean):
    counts, _ = planted(60)
    model = clone(model).fit(counts)
    shown = np.asarray(mean(model.state_), dtype=np.float64)
    phi = model.state_.phi[0] if isinstance(model.state_.phi, tuple) else model.state_.phi
    np.testing.assert_array_equal(phi, shown / shown.sum(axis=0))
    np.testing.assert_allclose(model.components_, phi.T, rtol=1e-12)


def test_documents_without_a_known_word_are_placed_nowhere_and_named(fitted):
    model, counts, _ = fitted
    some = counts[:7].copy()
    some[[1, 4]] = 0
    with pytest.warns(UserWarning, match=r"2 of 7 documents have no word that the model knows \(rows 1, 4\)"):
        placed = model.transform(some)
    assert np.isnan(placed[[1, 4]]).all()
    np.testing.assert_array_equal(
        np.delete(placed, [1, 4], axis=0), np.delete(model.transform(counts[:7]), [1, 4], axis=0)
    )
    assert model.score(some) < 0
    with pytest.warns(UserWarning, match=r"7 of 7 .* \(rows 0, 1, 2, 3, 4 \.\.\.\)"):
        model.transform(sparse.csr_array(np.zeros((7, 24))))


TEXTS = ["the cat sat on the mat", "dogs and cats", "a dog"]


@pytest.mark.parametrize(
    ("X", "kind", "sentence"),
    [
        (TEXTS, ValueError, r"X holds texts \('the cat .* CountVectorizer before it, as in make_pipeline\(C.*, DLDA\("),
        (np.array(TEXTS), ValueError, "X holds texts"),
        (np.array([None, *TEXTS], dtype=object), ValueError, "X holds texts"),
        (pd.Series(TEXTS), ValueError, "X holds texts"),
        ([b"a cat"], ValueError, "X holds texts"),
        ([text.split() for text in TEXTS], ValueError, r"X holds lists of words .*CountVectorizer\(analyzer=list\)"),
        (pd.DataFrame({"n": [1, 2, 3], "text": TEXTS}), ValueError, r"the column 'text' of X holds texts.* X\['t"),
        ("the cat", TypeError, "X is one text"),
        ((text for text in TEXTS), TypeError, "X is a generator: give an array or a sparse matrix"),
        ({"text": TEXTS}, TypeError, "X is a dict"),
        (None, TypeError, "X is None"),
    ],
)
def test_texts_given_as_counts_are_told_of_the_vectorizer(X, kind, sentence):
    with pytest.raises(kind, match=f"DLDA reads counts of words, and {sentence}"):
        DLDA().fit(X)


def test_tables_of_counts_are_counts(fitted):
    model, counts, _ = fitted
    for form in (pd.DataFrame(counts), counts.astype(str).astype(object), counts.tolist()):
        assert model._read_counts(form).n_documents == len(counts)


@pytest.mark.parametrize(
    ("y", "kind", "sentence"),
    [
        ([["a", "b"], ["c"], ["d"]], ValueError, r"row 0 of y is \['a', 'b'\]: a document has one label"),
        ([{"a"}, {"b"}, {"c"}], ValueError, "row 0 of y is {'a'}: a document has one label"),
        ("abc", TypeError, "y is one text: give a list or an array with one label for each document"),
        ({"a": 1}, TypeError, "y is a dict"),
        (pd.DataFrame({"l": [1, 2], "m": [1, 2]}), ValueError, r"y is a table of 2 columns: give .* y\['l'\]"),
    ],
)
def test_what_is_no_label_of_each_document_is_refused(y, kind, sentence):
    with pytest.raises(kind, match=sentence):
        read_labels(y, None)
    assert read_labels(iter("aba"), None)[0].tolist() == ["a", "b"]


def test_the_same_random_state_gives_the_same_topics_whatever_the_threads():
    counts, _ = planted(40)
    model = DLDA(layers=(4, 2), n_iter=5, batch_size=10, random_state=3)
    one = model.fit(counts).components_
    np.testing.assert_array_equal(clone(model).set_params(n_jobs=2).fit(counts).components_, one)
    assert not np.array_equal(clone(model).set_params(random_state=4).fit(counts).components_, one)
    drawn = [clone(model).set_params(random_state=np.random.default_rng(5)).fit(each).components_
             for each in (counts, sparse.dok_matrix(counts))]  # fmt: skip
    assert np.array_equal(*drawn)


def test_batch_gibbs_sweeps_all_documents():
    counts, _ = planted(30)
    model = DLDA(layers=(3,), inference="gibbs", n_iter=5, random_state=0).fit(counts)
    assert model.transform(counts).shape == (30, 3)


def test_values_that_are_no_counts_are_refused_in_one_sentence():
    counts = planted(10)[0].astype(float)
    counts[4, 2] = 0.5
    with pytest.raises(ValueError, match=r"DLDA reads counts.*got 0.5 in row 4.*real_values='round'"):
        DLDA().fit(counts)
    with pytest.raises(ValueError, match="Negative values"):
        DLDA().fit(-counts)
    real = DLDA(settings={"link": "gamma"})._read_counts(counts, reset=True)
    assert (real.values.dtype, real.values.min()) == (np.float32, 0.5)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"layers": (3, 0)}, "layers must be at least 1"),
        ({"inference": "magic"}, "inference must be one of"),
        ({"settings": {"colour": 1}}, "DLDA has no setting 'colour'; it has .*eta"),
        ({"layers": (3.7, 2)}, r"layers must be a whole number; got 3\.7"),
        ({"settings": {"gamma0": np.inf}}, "gamma0 must be a finite number; got inf"),
        ({"n_iter": 0}, "n_iter must be a whole number of at least 1; got 0"),
        ({"n_iter": 8.0}, r"n_iter must be a whole number of at least 1; got 8\.0"),
        ({"real_values": "guess"}, "real_values must be"),
        ({"settings": {"layers": (3,)}}, "give layers as a parameter of DLDA, not in settings"),
        ({"settings": {"batch_size": 3}}, "give batch_size as a parameter of DLDA, not in settings"),
        ({"settings": [1]}, r"settings must be a dictionary of settings by name; got \[1\]"),
        ({"settings": "eta=0.1"}, "settings must be a dictionary of settings by name; got 'eta=0.1'"),
        ({"n_jobs": 1.5}, r"n_jobs must be a whole number other than 0, -1 for every processor; got 1\.5"),
        ({"n_jobs": 0}, "n_jobs must be a whole number other than 0"),
        ({"inference": "gibbs", "settings": {"inference": "gibbs"}}, "give inference as a parameter of DLDA"),
    ],
)
def test_parameters_that_cannot_be_are_refused_when_fitting(parameters, sentence):
    with pytest.raises((SettingError, ValueError), match=sentence):
        DLDA(**parameters).fit(planted(10)[0])


@pytest.mark.parametrize("kind", [bool, np.int8, np.uint8, np.int64, np.float32])
def test_counts_of_every_type_are_read_without_a_warning(kind):
    counts = (planted(10)[0] * 50 % 128).astype(kind)
    read = DLDA()._read_counts(counts, reset=True)
    assert read.values.dtype == np.int32
    np.testing.assert_array_equal(read.values, counts[counts != 0].astype(int))


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int64])
def test_a_count_too_large_is_refused_whatever_its_type(kind):
    counts = planted(10)[0].astype(kind)
    counts[3, 3] = 2**31
    with pytest.raises(ValueError, match="values of X must be at most 2147483647; got 2147483648"):
        DLDA().fit(counts)


def test_real_values_too_large_are_refused_as_well():
    values = planted(10)[0] * 1e37
    with pytest.raises(ValueError, match="values of X must be at most 2147483647"):
        DLDA(settings={"link": "gamma"}).fit(values)


@pytest.mark.parametrize("model", [DLDA, DATM])
def test_widths_that_there_is_no_time_to_learn_are_refused(model):
    sentence = r"takes more than 40 mini-batches, 20 \(grow_every\) for each of the layers, and n_iter is 40; give more"
    growing = model(layers=(6, 6), n_iter=40, settings={"grow": True, "grow_every": 20}, random_state=0)
    with pytest.raises(SettingError, match=sentence):
        growing.fit(planted(20)[0])
    assert len(growing.set_params(n_iter=41).fit(planted(20)[0]).phi_) == 2


def test_parameters_changed_after_fitting_wait_for_the_next_fit():
    counts = planted(20)[0]
    model = DATM(layers=(4, 2), n_iter=3, random_state=0).fit(counts)
    places = model.transform(counts)
    model.set_params(inference="ghai", settings={"inputs": "tfidf"})
    np.testing.assert_array_equal(model.transform(counts), places)


def test_the_score_is_the_log_probability_of_words_not_shown():
    """Topics that were planted foretell words better than topics without use, which know nothing of 24 words."""
    counts = planted(60)[0]
    model = DLDA(layers=(4, 2), n_iter=60, batch_size=20, random_state=0).fit(counts)
    unlearned = {"inference": "tlasgr", "start": "flat", "step": 1e-6}
    begun = DLDA(layers=(4, 2), n_iter=1, batch_size=20, random_state=0, settings=unlearned).fit(counts)
    assert model.score(counts) > begun.score(counts) + 0.2
    assert begun.score(counts) == pytest.approx(-np.log(counts.shape[1]), abs=0.1)
    assert model.score(counts) == model.score(sparse.csr_array(counts))
    with pytest.raises(ValueError, match="X needs one with 2 tokens"):
        model.score(np.eye(counts.shape[1], dtype=int))


def test_a_search_finds_its_way_by_the_score():
    counts = planted(40)[0]
    search = GridSearchCV(DLDA(n_iter=20, batch_size=10, random_state=0), {"layers": [(1,), (4, 2)]}, cv=2).fit(counts)
    assert search.best_params_ == {"layers": (4, 2)}


def test_inference_may_stand_in_settings_where_the_parameter_is_not_given():
    assert DLDA(settings={"inference": "gibbs"})._make_config().inference == "gibbs"


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"n_iter": 8.0}, r"^n_iter must be a whole number of at least 1; got 8\.0$"),
        ({"n_iter": "8"}, "^n_iter must be a whole number of at least 1; got '8'$"),
        ({"settings": {"label_start": "3"}}, "^label_start must be a whole number; got '3'$"),
    ],
)
def test_a_number_that_cannot_be_is_blamed_by_its_own_name(parameters, sentence):
    counts, subject = planted(20)
    with pytest.raises(ValueError, match=sentence):
        SDATM(**{"layers": (3,)} | parameters).fit(counts, subject)


def test_numpy_numbers_of_mini_batches_are_taken_with_labels_too():
    config = SDATM(n_iter=np.int64(8), settings={"label_ramp": np.int64(3)})._make_config()
    assert (config.label_start, config.label_ramp) == (2, 3)


def test_labels_that_would_never_count_are_refused():
    counts, subject = planted(20)
    model = SDATM(layers=(3,), n_iter=10, settings={"label_start": 10})
    with pytest.raises(ValueError, match=r"labels count after 10 mini-batches \(label_start\), and n_iter is 10"):
        model.fit(counts, subject)
    SDATM(layers=(3,), n_iter=1, settings={"label_start": 10, "label_weight": 0.0}).fit(counts, subject)


def test_values_of_usual_grids_of_parameters_are_taken():
    """NumPy's numbers, arrays for lists, and one number for all layers."""
    counts = planted(20)[0]
    grid = {
        "layers": np.array([3, 2]),
        "batch_size": np.int64(5),
        "n_iter": np.int64(2),
        "settings": {"eta": np.float64(0.1)},
    }
    plain = DLDA(layers=(3, 2), batch_size=5, n_iter=2, settings={"eta": (0.1,)}, random_state=0).fit(counts)
    np.testing.assert_array_equal(DLDA(**grid, random_state=0).fit(counts).components_, plain.components_)


@pytest.mark.parametrize("estimator", [DLDA, DATM, SDATM])
def test_every_estimator_takes_the_setting_that_the_guide_has_as_example(estimator):
    guide = Path(__file__).parents[3] / "assets" / "guide" / "estimators.md"
    (example,) = re.findall(r"as in `(\{.*?\})`", guide.read_text(encoding="utf-8"))
    config = estimator(settings=json.loads(example))._make_config()
    assert np.all(np.asarray(config.eta) == 0.1)


def test_labels_are_learnt_and_missing_ones_are_allowed():
    counts, subject = planted(240)
    names = np.array(["garden", "space", "sport"], dtype=object)[subject]
    names[::5] = "?"
    model = SDATM(layers=(6, 3), n_iter=150, batch_size=40, unlabelled="?", random_state=0, settings=LINEAR)
    model.fit(counts, names)
    fresh, request = planted(90, seed=5)
    assert model.classes_.tolist() == ["garden", "space", "sport"]
    assert model.score(fresh, model.classes_[request]) > 0.9
    chances = model.predict_proba(fresh)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert model.predict(fresh).tolist() == model.classes_[chances.argmax(axis=1)].tolist()
    assert model.transform(fresh).shape == (90, 9)


NAN = float("nan")


@pytest.mark.parametrize(
    ("labels", "unlabelled", "classes"),
    [
        (["a", "b", -1], -1, ["a", "b"]),
        ([0, 1, "?"], "?", [0, 1]),
        (np.array([0, 1, "?"], dtype=object), "?", [0, 1]),
        (["a", "b", None], None, ["a", "b"]),
        (np.array([0, 1, None], dtype=object), None, [0, 1]),
        (np.array(["a", "b", NAN], dtype=object), NAN, ["a", "b"]),
        (np.array([0.0, 1.0, NAN]), np.float64(NAN), [0, 1]),
        ([0, 1, NAN], NAN, [0, 1]),
        (np.array([0, 1, 7]), np.array(7), [0, 1]),
    ],
)
def test_documents_without_a_label_make_no_class(labels, unlabelled, classes):
    found, numbers = read_labels(labels, strip_scalar(unlabelled))
    assert (found.tolist(), numbers.tolist()) == (classes, [0, 1, -1])


def test_a_fit_takes_labels_of_which_some_are_none():
    counts, subject = planted(20)
    model = SDATM(layers=(3,), n_iter=2, settings=LINEAR).fit(counts, [None if k == 2 else int(k) for k in subject])
    assert model.classes_.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("labels", "unlabelled", "sentence"),
    [
        (["a", "b", None], "?", "row 2 of y is None, which is no label: give one, or set unlabelled=None"),
        (["a", None, NAN], NAN, "row 1 of y is None, which is no label"),
        (np.array([0, NAN, 1]), None, r"row 1 of y is nan, which is no label: give one, or set unlabelled=np\.nan"),
        (np.array(["a", "b", -1]), -1, "unlabelled is -1, and y has '-1', which is not equal: give both the same type"),
        (np.array(["a", "b", NAN]), NAN, "unlabelled is nan, and y has 'nan', which is not equal"),
        (np.array([0, 1, -1]), "-1", "unlabelled is '-1', and y has -1, which is not equal"),
        (np.array([0.0, 1.0, -1.0]), "-1", r"unlabelled is '-1', and y has -1\.0, which is not equal"),
        ([0, 1, "?"], None, r"labels must be all words or all numbers; y has '\?' and 1"),
        ([0, 1, float("inf")], None, "Input y contains infinity"),
        ([0.5, 1.5, None], None, "Unknown label type: continuous"),
    ],
)
def test_labels_that_cannot_be_told_apart_are_refused_in_one_sentence(labels, unlabelled, sentence):
    with pytest.raises(ValueError, match=sentence):
        SDATM(layers=(3,), n_iter=1, unlabelled=unlabelled).fit(planted(3)[0], labels)


def test_one_class_is_too_few():
    with pytest.raises(ValueError, match="at least 2 classes"):
        SDATM(n_iter=1).fit(planted(10)[0], np.zeros(10))


def test_an_encoder_places_documents_of_a_subject_together():
    counts, subject = planted(240)
    model = DATM(layers=(3, 2), n_iter=150, batch_size=40, random_state=0).fit(counts)
    used = model.transform(counts)[:, :3].argmax(axis=1)
    topic = model.components_.reshape(3, 3, 8).sum(axis=2).argmax(axis=0)
    assert (used == topic[subject]).mean() > 0.9


def test_estimators_stand_in_a_pipeline_behind_a_counter():
    from sklearn.feature_extraction.text import CountVectorizer

    texts = ["rose hedge rose", "rocket moon", "rose lawn", "moon rocket launch"]
    pipeline = make_pipeline(CountVectorizer(), DLDA(layers=(2,), n_iter=3, random_state=0))
    assert pipeline.fit_transform(texts).shape == (4, 2)


def test_pictures_are_moved_where_their_height_and_width_are_known():
    counts, subject = planted(40)
    sizes = {"layers": (4,), "n_iter": 4, "settings": {"moved": 1, "label_start": 1, "predict_samples": 9}}
    shape = (2, counts.shape[1] // 2)
    model = SDATM(**sizes, image_shape=np.array(shape), random_state=0).fit(counts, subject)
    still = SDATM(**sizes, image_shape=shape, random_state=0).set_params(settings=sizes["settings"] | {"moved": 0})
    assert np.abs(model.predict_proba(counts) - still.fit(counts, subject).predict_proba(counts)).max() > 1e-4
    with pytest.raises(ValueError, match="only pictures can be moved; set moved to 0, got 1"):
        SDATM(**sizes).fit(counts, subject)


@pytest.mark.parametrize("shape", [(5, 5), (24,), 24, np.array(24), (-4, -6), (4, 3, 2), (4.0, 6.0), (True, 24), "46"])
def test_an_image_shape_that_does_not_fit_is_refused(shape):
    counts, subject = planted(20)
    sentence = f"image_shape is height and width, 24 pixels together as X has features; got {shape!r}"
    with pytest.raises(ValueError, match=re.escape(sentence)):
        SDATM(layers=(3,), n_iter=2, image_shape=shape).fit(counts, subject)


@pytest.mark.parametrize("shape", [[4, 6], np.array([4, 6]), (np.int64(4), np.int32(6))])
def test_an_image_shape_may_be_a_list_or_of_numpy(shape):
    counts, subject = planted(20)
    model = SDATM(layers=(3,), n_iter=2, image_shape=shape, settings=LINEAR).fit(counts, subject)
    assert model._find_image_shape() == (4, 6)
