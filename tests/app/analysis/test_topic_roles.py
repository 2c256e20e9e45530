"""One word for every topic, and a reason for every word."""

import numpy as np

from app.analysis.topic_roles import BACKGROUND, INCOHERENT, LIGHT, LIVE, REASONS, roles

PARTS = np.array([0.0005, 0.5, 0.1995, 0.2, 0.1])
SPREAD = np.array([0.9, 0.8, 0.05, 0.04, 0.06])
NPMI = np.array([-0.4, -0.1, -0.01, 0.0, 0.3])


def test_the_first_reason_counts_light_before_background_before_incoherent():
    assert roles(PARTS, SPREAD, NPMI) == (LIGHT, BACKGROUND, INCOHERENT, LIVE, LIVE)


def test_what_is_not_known_is_no_reason():
    assert roles(PARTS, None, None) == (LIGHT, LIVE, LIVE, LIVE, LIVE)
    assert roles(PARTS, None, NPMI) == (LIGHT, INCOHERENT, INCOHERENT, LIVE, LIVE)
    assert roles(PARTS, SPREAD, None) == (LIGHT, BACKGROUND, LIVE, LIVE, LIVE)


def test_every_weak_role_has_a_reason():
    assert [bool(REASONS[role]) for role in (LIVE, LIGHT, BACKGROUND, INCOHERENT)] == [False, True, True, True]
