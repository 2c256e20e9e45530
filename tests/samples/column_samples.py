"""A snapshot of a model of rows and columns: topics of users above groups of items."""

from types import SimpleNamespace

import numpy as np
from topic_hierarchies import vocabulary

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.read_hierarchy import build_hierarchy
from topiary.engine.contract import LINEAR, POSITIVE, Link, Topics
from topiary.engine.hierarchy.topics import pack_topics

ITEMS = 16  # four of each factor; the first ten have names that could be markup
FACTORS = np.kron(np.eye(4), np.full((4, 1), 0.25)) * np.tile([1.3, 1.1, 0.9, 0.7], 4)[:, None]
GROUPS = np.array([[5.0, 0.0], [5.0, 0.0], [0.0, 1.0], [4.0, 1.0]])  # of the factors: two column topics


def table(**changed: object) -> Topics:
    """Four factors of items, under two topics of rows and two of columns; the second of columns is more popular."""
    link = Link(POSITIVE, LINEAR, np.zeros(4))
    means = (np.ones(4), np.ones(2))
    own = Topics((FACTORS, GROUPS), np.ones(2), (link,), ("gamma",) * 2, (np.ones(4), np.array([1.0, 3.0])), means)
    rows = own._replace(phi=(FACTORS, np.array([[1.0, 0.1], [0.1, 1.0], [1.0, 0.1], [0.1, 1.0]])))
    return rows._replace(columns=own._replace(**changed))  # type: ignore[arg-type]


def hierarchy_of(topics: Topics) -> Hierarchy:
    run = SimpleNamespace(number=7, seed=5, corpus_name="plays", family=7)
    made = {name: np.asarray(array, np.float32) for name, array in pack_topics(topics).items() if "links" not in name}
    codes = {
        name: np.asarray(array) for name, array in pack_topics(topics).items() if name.endswith(("links", "units"))
    }
    snapshot = SimpleNamespace(number=3, minibatch=700)
    return build_hierarchy(made | codes, vocabulary(ITEMS), {}, run, snapshot)
