"""Coherence of layers from what a snapshot keeps."""

import numpy as np
import pytest
from topic_hierarchies import arrays, make_hierarchy
from topic_pairs import WIDTHS, frame_of

from app.analysis.coherence import coherence_of
from engine.hierarchy import topics


def test_figures_are_those_of_the_live_topics_and_their_ten_first_words():
    made = arrays(WIDTHS)
    made["r"][:] = (1, 1, 1, 1, 1, 1e-9)
    rng = np.random.default_rng(1)
    npmi = {f"npmi.{layer}": rng.uniform(-1, 1, width).astype(np.float32) for layer, width in enumerate(WIDTHS)}
    hierarchy = frame_of(made | npmi, 7)
    top = coherence_of(hierarchy)[2]
    assert (top.n_topics, top.n_live) == (6, 5)
    assert top.mean_npmi == pytest.approx(npmi["npmi.2"][:5].mean())
    assert top.worst_tenth == pytest.approx(npmi["npmi.2"][:5].min())
    first = topics.find_relevant_words(hierarchy.projections[2], hierarchy.shares[2], 10)[0][:5]
    assert top.diversity == pytest.approx(len(np.unique(first)) / 50)
    assert len(coherence_of(hierarchy)) == 3


def test_without_npmi_in_the_snapshot_there_is_none():
    assert coherence_of(make_hierarchy()) == ()
