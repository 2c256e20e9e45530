"""How long a run is whose length nobody gave."""

from types import SimpleNamespace

import pytest

from app.jobs.usual_length import usual_length
from engine import models


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
        (18_846, {}, 300),
        (18_846, {"first_minibatches": 40}, 340),
        (100, {"grow": True, "grow_every": 500, "layers": (64, 64)}, 1_300),
    ],
)
def test_a_run_sweeps_300_times_or_makes_twelve_passes_within_bounds_after_its_widths_are_learned(
    documents, settings, length
):
    assert usual_length("dlda", models.load("dlda").Config(**settings), corpus(documents)) == length


@pytest.mark.parametrize("model", ["datm", "sdatm"])
def test_a_model_with_an_encoder_has_the_length_of_the_paper(model):
    assert usual_length(model, models.load(model).Config(), corpus(100)) == 3_500
