"""How long a run is whose length nobody gave."""

import pytest

from app.jobs.new_run import usual_length
from engine import models


@pytest.mark.parametrize(
    ("documents", "settings", "length"),
    [
        (100, {}, 300),
        (2_225, {}, 300),
        (11_314, {}, 679),
        (18_846, {}, 1_131),
        (18_846, {"batch_size": 400}, 566),
        (500_000, {}, 3_500),
        (18_846, {"inference": "gibbs"}, 300),
        (100, {"grow": True, "grow_every": 500, "layers": (64, 64)}, 1_300),
    ],
)
def test_a_run_makes_twelve_passes_within_bounds_after_its_widths_are_learned(documents, settings, length):
    assert usual_length("dlda", models.load("dlda").Config(**settings), documents) == length


@pytest.mark.parametrize("model", ["datm", "sdatm"])
def test_a_model_with_an_encoder_has_the_length_of_the_paper(model):
    assert usual_length(model, models.load(model).Config(), 100) == 3_500
