"""Settings that the three models of LDA share: how many topics, alpha, beta."""

import numpy as np
import pytest

from topiary.engine import models, settings, shared_settings
from topiary.engine.contract import Facts
from topiary.engine.shared_settings import Schedule, step_size

MODELS = ("lda-gibbs", "lda-cavi", "lda-svi")
every_model = pytest.mark.parametrize("name", MODELS)


@every_model
def test_more_than_one_layer_is_refused_in_a_sentence(name):
    with pytest.raises(settings.SettingError, match=r"layers must be a single number of topics.*got 128-64"):
        settings.parse(models.load(name).Config, {"layers": "128-64"})


@every_model
def test_alpha_and_beta_need_one_number_or_one_for_each(name):
    module = models.load(name)
    with pytest.raises(settings.SettingError, match="alpha needs 1 value or 3, one per topic; got 2"):
        module.Config(layers=(3,), alpha=(0.1, 0.2))
    with pytest.raises(settings.SettingError, match="alpha must be above 0 for every topic"):
        module.Config(layers=(3,), alpha=(0.1, 0.2, 0.0))
    with pytest.raises(settings.SettingError, match="beta needs 1 value or 5, one per word of the vocabulary; got 2"):
        module.build(module.Config(layers=(3,), beta=(0.1, 0.2)), Facts(5, 2))


@every_model
def test_the_preset_of_the_paper_can_be_read(name):
    module = models.load(name)
    texts = {key: text for key, text in module.PRESETS["paper"].items() if key != "minibatches"}
    config = settings.parse(module.Config, texts)
    assert config.expand_alpha(100)[0] == 0.5
    assert config.beta == (0.05,)


@pytest.mark.parametrize(
    ("alpha", "expanded"), [((0.0,), np.full(128, 50 / 128)), ((0.3,), [0.3] * 4), ((0.1, 0.2, 0.6), [0.1, 0.2, 0.6])]
)
def test_alpha_0_stands_for_50_over_the_number_of_topics(alpha, expanded):
    config = shared_settings.LdaSettings(layers=(len(expanded),), alpha=alpha)
    np.testing.assert_array_equal(config.expand_alpha(len(expanded)), expanded)


def test_kappa_must_let_the_steps_come_to_rest():
    with pytest.raises(settings.SettingError, match=r"kappa must be above 0\.5"):
        models.load("lda-svi").Config(kappa=0.5)


def test_the_first_step_size_is_the_one_asked_for():
    assert step_size(Schedule(0.3, 20.0, 0.7), 1) == pytest.approx(0.3)


def test_the_authors_step_sizes_are_reproduced():
    assert step_size(Schedule(1.0, 20.0, 0.7), 100) == pytest.approx((120 / 21) ** -0.7)
    assert step_size(Schedule(0.001, 1000.0, 0.6), 8000) == pytest.approx(0.001 * (9000 / 1001) ** -0.6)


@pytest.mark.parametrize("t", [1, 2, 50, 3500])
def test_the_form_of_the_paper_gives_the_same_numbers(t):
    a, b, c = 1.0347, 20.0, 0.7
    assert step_size(Schedule(a * ((b + 1.0) / b) ** -c, b, c), t) == pytest.approx(a * (1 + t / b) ** -c)
