"""What a hierarchy is built from: the mean of the topics, titles, background, and snapshots that have only topics."""

from types import SimpleNamespace

import numpy as np
import pytest
from topic_hierarchies import arrays, hierarchy_of, make_hierarchy, vocabulary

from topiary.app.analysis.read_hierarchy import build_hierarchy
from topiary.engine.hierarchy.tree import Node


def test_a_title_is_of_the_twelve_most_relevant_words_and_no_two_of_a_layer_are_alike() -> None:
    hierarchy = make_hierarchy(n_words=300)
    differ = 0
    for layer in (1, 2, 3):
        for node in hierarchy.nodes(layer):
            title = hierarchy.title_words(node)
            assert set(title) <= {word.text for word in hierarchy.top_words(node, 12)}
            assert hierarchy.title(node) == ", ".join(title)
            differ += title != [word.text for word in hierarchy.choose_words(1.0).top_words(node, 3)]
        assert len({frozenset(hierarchy.title_words(node)) for node in hierarchy.nodes(layer)}) == len(
            hierarchy.nodes(layer)
        )
    assert differ > 20


def test_the_mean_of_the_topics_is_shown_where_a_snapshot_has_it() -> None:
    other = arrays(seed=2, n_words=300)
    mean = {f"mean.{layer}": other[f"phi.{layer}"] for layer in range(3)}
    shown, expected = hierarchy_of(mean), hierarchy_of({f"phi.{layer}": other[f"phi.{layer}"] for layer in range(3)})
    for layer in (1, 2, 3):
        np.testing.assert_array_equal(shown.projections[layer - 1], expected.projections[layer - 1])
        np.testing.assert_array_equal(shown.words[layer - 1], expected.words[layer - 1])
    np.testing.assert_array_equal(shown.popularity[0], expected.popularity[0])
    assert shown.edges(2.0) == expected.edges(2.0)


def test_words_that_are_everywhere_are_in_no_title_of_any_layer() -> None:
    usual = hierarchy_of({})
    word = int(usual.titles[0][0, 0])
    assert any(word in title for table in usual.titles for title in table.tolist())
    found = hierarchy_of({"everywhere": np.array([word], dtype=np.int32)})
    assert found.common_words == (word,)
    assert not any(word in title for table in found.titles for title in table.tolist())


def test_the_title_of_a_topic_above_leaves_out_the_words_of_its_background_child() -> None:
    made = arrays(n_words=300)
    made["phi.1"][:, 0] = 0.05 / 23
    made["phi.1"][3, 0], made["phi.1"][8, 0] = 0.5, 0.45 + 0.05 / 23
    wide = np.full(24, 0.02, dtype=np.float32)
    wide[3] = 0.6
    above = {"spread.1": np.full(12, 0.1, dtype=np.float32), "spread.2": np.full(6, 0.2, dtype=np.float32)}
    usual, found = hierarchy_of(made), hierarchy_of(made | {"spread.0": wide} | above)
    paths = made["phi.0"] * made["phi.1"][:, 0]  # of every word through every child
    apart = 1 - paths[:, 3] / paths.sum(axis=1)
    assert apart[usual.titles[1][0]].min() < 0.5 <= apart[found.titles[1][0]].min()
    assert set(found.title_words(Node(2, 0))) <= {word.text for word in found.top_words(Node(2, 0), 12)}
    assert found.role(Node(1, 3)) == "background"
    assert set(found.title_words(Node(1, 3))) <= {word.text for word in found.top_words(Node(1, 3), 12)}


def test_the_titles_of_a_snapshot_that_has_them_are_not_chosen_again() -> None:
    usual = hierarchy_of({})
    kept = {f"title.{layer}": words[:, 5:8].astype(np.int32) for layer, words in enumerate(usual.words)}
    found, partial = hierarchy_of(kept), hierarchy_of({"title.0": kept["title.0"]})
    for layer in range(3):
        np.testing.assert_array_equal(found.titles[layer], kept[f"title.{layer}"])
        np.testing.assert_array_equal(partial.titles[layer], usual.titles[layer])


def test_a_topic_that_is_nearly_the_same_as_a_more_popular_one_has_it_as_its_twin() -> None:
    made = arrays(n_words=300)
    made["phi.2"][:, 4] = made["phi.2"][:, 1]
    made["r"][1], made["r"][4] = 2.0, 1.0
    found = hierarchy_of(made)
    assert (found.twin(Node(3, 4)), found.twin(Node(3, 1))) == (Node(3, 1), None)
    assert found.choose_words(1.0).twin(Node(3, 4)) == Node(3, 1)
    assert found.title(Node(3, 4)) != found.title(Node(3, 1))


@pytest.mark.parametrize("n_words", [1, 2])
def test_a_corpus_of_one_or_two_words_has_titles_and_nothing_after_them(n_words: int) -> None:
    hierarchy = make_hierarchy((3, 1), n_words=n_words)
    for node in (*hierarchy.nodes(1), *hierarchy.nodes(2)):
        assert sorted(hierarchy.title_words(node)) == sorted(hierarchy.vocabulary)
        assert hierarchy.other_words(node, 7) == []


def test_a_topic_keeps_its_title_when_the_columns_are_in_another_order() -> None:
    made, turned = arrays(), arrays()
    turned["phi.0"], turned["phi.1"] = made["phi.0"][:, ::-1], made["phi.1"][::-1]
    turned |= {"names.0": np.arange(24)[::-1], "names.1": np.arange(12), "names.2": np.arange(6)}
    run, snapshot = (
        SimpleNamespace(number=1, seed=1, corpus_name="x", family=1),
        SimpleNamespace(number=1, minibatch=0),
    )
    one, other = (build_hierarchy(each, vocabulary(60), {}, run, snapshot) for each in (made, turned))
    assert [one.title(Node(1, column)) for column in range(24)] == [
        other.title(Node(1, column)) for column in range(24)
    ]


def test_topics_that_nothing_uses_have_a_title_too() -> None:
    made = arrays()
    made["r"][:] = [1, 0, 0, 0, 0, 0]
    made["phi.2"][:, 0] = np.eye(12)[0]
    run, snapshot = (
        SimpleNamespace(number=1, seed=1, corpus_name="x", family=1),
        SimpleNamespace(number=1, minibatch=0),
    )
    hierarchy = build_hierarchy(made, vocabulary(60), {}, run, snapshot)
    assert all(len(set(hierarchy.title_words(node))) == 3 for layer in (1, 2, 3) for node in hierarchy.nodes(layer))


def test_a_snapshot_of_bare_topics_is_enough_for_a_frame() -> None:
    bare = {name: array for name, array in arrays().items() if name.startswith("phi") or name == "r"}
    run, snapshot = (
        SimpleNamespace(number=1, seed=1, corpus_name="x", family=1),
        SimpleNamespace(number=1, minibatch=0),
    )
    hierarchy = build_hierarchy(bare, vocabulary(60), {}, run, snapshot)
    assert hierarchy.uses(hierarchy.at_rank(1, 1)) == []
    assert hierarchy.step_sizes == ()
    assert all(layer.all() for layer in hierarchy.alive)
