"""Presets: settings that every model can read, over which what is given beside them wins."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from databases import open_filled
from process_samples import small_corpus

from topiary.app.jobs import new_run, run_rules
from topiary.app.jobs.run_rules import NewRunError, choose_length, describe_widths, propose_widths
from topiary.engine import models, settings
from topiary.store import corpora, runs, snapshots


@pytest.fixture
def file(tmp_path):
    database = open_filled(tmp_path / "store.db", small_corpus, labelled=True)
    yield database
    database.close()


OFFERED = [(model, name) for model in models.list_names() for name in run_rules.list_presets(model)]


def test_the_models_offer_the_settings_of_their_papers():
    assert {(model, "paper") for model in ("dlda", "datm", "sdatm")} <= set(OFFERED)


@pytest.mark.parametrize(("model", "name"), OFFERED)
def test_a_model_can_read_its_presets_and_they_change_something(model, name):
    config = models.load(model).Config
    texts = run_rules.find_preset(model, name).texts
    assert (settings.parse(config, texts) == config()) == (name == "best")  # the defaults by their name
    assert run_rules.PRESET_LENGTH not in texts


@pytest.mark.parametrize(("model", "minibatches"), [("dlda", 3500), ("datm", 5000), ("sdatm", 3500)])
def test_a_run_of_a_preset_has_its_settings_and_its_length(file, model, minibatches):
    row = new_run.create_run(file, "small", model=model, texts={}, preset="paper")
    texts = run_rules.find_preset(model, "paper").texts
    wanted = settings.to_json(settings.parse(models.load(model).Config, texts))
    assert {name: row.settings[name] for name in texts} == {name: wanted[name] for name in texts}
    assert row.planned == minibatches


def test_the_paper_of_dlda_has_the_settings_of_its_table_1(file):
    kept = new_run.create_run(file, "small", model="dlda", texts={}, preset="paper").settings
    names = ("inference", "simplex", "burn_in", "collect", "batch_size", "step", "tau", "kappa", "scale_step")
    assert [kept[name] for name in names] == ["tlasgr", "clamp", 20, 10, 200, 1.0, 20.0, 0.7, 0.5]


def test_what_is_given_beside_a_preset_wins(file):
    row = new_run.create_run(file, "small", model="dlda", texts={"collect": "4"}, minibatches=7, preset="paper")
    assert (row.settings["collect"], row.settings["burn_in"], row.planned) == (4, 20, 7)


def test_a_preset_that_is_not_there_is_refused_with_those_there_are(file):
    with pytest.raises(NewRunError, match="model dlda has no preset 'fast'; it has paper"):
        new_run.create_run(file, "small", model="dlda", texts={}, preset="fast")


def corpus(documents, tokens=100):
    """What the length of a run depends on."""
    return SimpleNamespace(train_documents=documents, documents=documents, tokens=documents * tokens, words=1000)


@pytest.mark.parametrize(
    ("documents", "settings", "length"),
    [
        (100, {"inference": "tlasgr"}, 300),
        (2_225, {"inference": "tlasgr"}, 300),
        (11_314, {"inference": "tlasgr"}, 679),
        (18_846, {"inference": "tlasgr"}, 1_131),
        (18_846, {"inference": "tlasgr", "batch_size": 400}, 566),
        (500_000, {"inference": "tlasgr"}, 3_500),
        (500_000, {}, 3_500),
        (18_846, {"inference": "gibbs"}, 300),
        (18_846, {}, 3_000),
        (18_846, {"first_minibatches": 40}, 3_040),
        (100, {"grow": True, "grow_every": 500, "layers": (64, 64)}, 1_300),
    ],
)
def test_a_run_sweeps_3000_times_at_most_or_makes_twelve_passes_within_bounds_after_its_widths_are_learned(
    documents, settings, length
):
    assert choose_length("dlda", models.load("dlda").Config(**settings), corpus(documents)) == length


@pytest.mark.parametrize("model", ["datm", "sdatm"])
def test_a_model_with_an_encoder_has_the_length_of_the_paper(model):
    assert choose_length(model, models.load(model).Config(), corpus(100)) == 3_500


@pytest.mark.parametrize(
    ("documents", "widths"),
    [
        (0, (16, 8)),
        (959, (16, 8)),
        (960, (32, 16, 8)),
        (1_920, (64, 32, 16)),
        (3_839, (64, 32, 16)),
        (3_840, (128, 64, 32)),
        (10**7, (128, 64, 32)),
    ],
)
def test_larger_corpora_get_more_topics(documents, widths):
    assert propose_widths(documents, 1_000 * documents) == widths


def test_a_topic_has_enough_tokens_of_its_own_where_documents_are_short():
    assert propose_widths(2_000, 2_300 * 32 - 1) == (16, 8)
    assert propose_widths(2_000, 2_300 * 32) == propose_widths(1_000, 10**9) == (32, 16, 8)


def test_no_layer_has_fewer_than_eight_topics():
    assert propose_widths(10**6, 10**9, n_layers=6) == (128, 64, 32, 16, 8)


def test_a_proposal_says_what_a_topic_has_with_it_and_with_its_neighbours(empty_file):
    small_corpus(empty_file)
    corpus = replace(corpora.find_corpus(empty_file, "small"), documents=2_000, train_documents=2_000, tokens=360_000)
    assert describe_widths((64, 32, 16), corpus) == (
        "64-32-16: proposed for 2,000 documents, so that each of the 64 topics next to the words has about 31 "
        "documents and 5,600 words (128 would have 16 documents and 2,800 words, finer topics; 32 would have 62 "
        "documents and 11,000 words, broader ones)"
    )


@pytest.fixture
def empty_file(tmp_path):
    database = open_filled(tmp_path / "store.db")
    yield database
    database.close()


def layers(row):
    return row.settings["layers"]


def test_a_run_whose_widths_nobody_says_has_those_of_its_corpus(empty_file, monkeypatch):
    monkeypatch.setattr("topiary.app.jobs.run_rules.TOPIC_TOKENS", 500)
    small_corpus(empty_file)
    small_corpus(empty_file, documents=1_500, name="many")
    for corpus, widths in (("small", [16, 8]), ("many", [32, 16, 8])):  # 20 words a document
        assert layers(new_run.create_run(empty_file, corpus, model="dlda", texts={})) == widths
        assert layers(new_run.create_run(empty_file, corpus, model="datm", texts={}, preset="paper")) == widths
    assert layers(new_run.create_run(empty_file, "small", model="dlda", texts={"layers": "5-3"})) == [5, 3]


def test_learned_widths_keep_their_budget_and_a_fork_the_widths_of_its_snapshot(empty_file):
    small_corpus(empty_file)
    assert layers(new_run.create_run(empty_file, "small", model="dlda", texts={"grow": "yes"})) == [128, 64, 32]
    parent = new_run.create_run(
        empty_file, "small", model="dlda", texts={"layers": "6-3", "batch_size": "20"}, minibatches=2
    )
    from topiary.app.jobs import trainer
    from topiary.app.jobs.forks import find_origin

    trainer.train_run(empty_file, parent.number)
    assert snapshots.find_latest(empty_file, parent.number)
    child = new_run.fork_run(empty_file, find_origin(empty_file, parent.number), texts={}, minibatches=2)
    assert layers(runs.get_run(empty_file, child.number)) == [6, 3]
