"""Which topics have changed."""

import numpy as np

from topiary.engine.steering.changes import find_changed_topics


def test_topics_have_changed_if_their_counts_point_elsewhere_or_are_new():
    before = np.array([[9, 0, 5, 0], [1, 0, 5, 4], [0, 0, 0, 4]])
    after = np.array([[30, 0, 9, 7, 0, 0], [2, 0, 0, 0, 0, 1], [0, 0, 1, 0, 0, 0]])
    assert find_changed_topics(before, after).tolist() == [2, 3, 5]
    assert find_changed_topics(before, before).tolist() == []


def test_a_cosine_of_nine_tenths_is_no_change():
    angle = np.array([[1.0, 1.0], [0.0, 0.0]])
    for cosine, changed in ((0.91, []), (0.89, [0, 1])):
        other = np.array([[cosine] * 2, [np.sqrt(1 - cosine**2)] * 2])
        assert find_changed_topics(angle, other).tolist() == changed
