"""Presets: settings that every model can read, over which what is given beside them wins."""

import pytest
from process_samples import small_corpus

from app.jobs import new_run, presets
from app.jobs.run_rules import NewRunError
from engine import models, settings
from store.database import open_database


@pytest.fixture
def file(tmp_path):
    database = open_database(str(tmp_path / "store.db"))
    small_corpus(database, labelled=True)
    yield database
    database.close()


OFFERED = [(model, name) for model in models.names() for name in presets.names(model)]


def test_the_models_offer_the_settings_of_their_papers():
    assert {(model, "paper") for model in ("dlda", "datm", "sdatm")} <= set(OFFERED)


@pytest.mark.parametrize(("model", "name"), OFFERED)
def test_a_model_can_read_its_presets_and_they_change_something(model, name):
    config = models.load(model).Config
    texts = presets.preset(model, name).texts
    assert (settings.parse(config, texts) == config()) == (name == "best")  # the defaults by their name
    assert presets.LENGTH not in texts


@pytest.mark.parametrize(("model", "minibatches"), [("dlda", 3500), ("datm", 5000), ("sdatm", 3500)])
def test_a_run_of_a_preset_has_its_settings_and_its_length(file, model, minibatches):
    row = new_run.create(file, "small", model=model, texts={}, preset="paper")
    texts = presets.preset(model, "paper").texts
    wanted = settings.to_json(settings.parse(models.load(model).Config, texts))
    assert {name: row.settings[name] for name in texts} == {name: wanted[name] for name in texts}
    assert row.planned == minibatches


def test_the_paper_of_dlda_has_the_settings_of_its_table_1(file):
    kept = new_run.create(file, "small", model="dlda", texts={}, preset="paper").settings
    names = ("inference", "simplex", "burn_in", "collect", "batch_size", "step", "tau", "kappa", "scale_step")
    assert [kept[name] for name in names] == ["tlasgr", "clamp", 20, 10, 200, 1.0, 20.0, 0.7, 0.5]


def test_what_is_given_beside_a_preset_wins(file):
    row = new_run.create(file, "small", model="dlda", texts={"collect": "4"}, minibatches=7, preset="paper")
    assert (row.settings["collect"], row.settings["burn_in"], row.planned) == (4, 20, 7)


def test_a_preset_that_is_not_there_is_refused_with_those_there_are(file):
    with pytest.raises(NewRunError, match="model dlda has no preset 'fast'; it has paper"):
        new_run.create(file, "small", model="dlda", texts={}, preset="fast")
