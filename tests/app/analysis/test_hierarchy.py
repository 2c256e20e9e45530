"""The frame: one source for every number about a topic."""

from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
from topic_hierarchies import arrays, make_hierarchy, vocabulary

from app.analysis.hierarchy import build_hierarchy, identity, parse_identity
from app.export.graph import build_graph
from engine.hierarchy.tree import Node


def test_shares_sum_to_one_and_ranks_count_them_down_in_every_layer() -> None:
    hierarchy = make_hierarchy()
    for layer in range(1, hierarchy.n_layers + 1):
        nodes = hierarchy.nodes(layer)
        assert [hierarchy.rank(node) for node in nodes] == list(range(1, len(nodes) + 1))
        assert sum(hierarchy.share(node) for node in nodes) == pytest.approx(1.0)
        assert [hierarchy.share(node) for node in nodes] == sorted(
            (hierarchy.share(node) for node in nodes), reverse=True
        )


def test_rank_and_identity_find_the_same_topic() -> None:
    hierarchy = make_hierarchy()
    for layer in (1, 2, 3):
        for rank in range(1, hierarchy.widths[layer - 1] + 1):
            node = hierarchy.at_rank(layer, rank)
            assert hierarchy.rank(node) == rank
            assert parse_identity(identity(node)) == node


@pytest.mark.parametrize(("layer", "rank"), [(0, 1), (4, 1), (3, 0), (3, 7)])
def test_a_rank_that_does_not_exist_is_refused_in_a_sentence(layer: int, rank: int) -> None:
    with pytest.raises(LookupError, match="has no"):
        make_hierarchy().at_rank(layer, rank)


@pytest.mark.parametrize("text", ["", "L3", "3:17", "L0:1", "L3:0", "L3:17x", "L-1:2", "L3:1e9", "L3:٣"])
def test_what_is_no_identity_is_none(text: str) -> None:
    assert parse_identity(text) is None


def test_identity_is_the_column_counted_from_one() -> None:
    assert identity(Node(3, 16)) == "L3:17"


def test_top_words_carry_their_weight_in_the_projection() -> None:
    hierarchy = make_hierarchy()
    node = hierarchy.at_rank(2, 1)
    for word in hierarchy.top_words(node, 12):
        number = hierarchy.vocabulary.index(word.text)
        assert word.weight == hierarchy.projections[1][number, node.column]


def test_parents_and_children_are_the_two_ends_of_one_edge() -> None:
    hierarchy = make_hierarchy()
    node = hierarchy.at_rank(2, 1)
    for child, weight in hierarchy.children(node, 30):
        assert (node, weight) in hierarchy.parents(child, 30)
    assert hierarchy.children(hierarchy.at_rank(1, 1)) == []
    assert hierarchy.parents(hierarchy.at_rank(3, 1)) == []


def test_names_given_by_people_go_to_the_topic_of_their_identity_number() -> None:
    hierarchy = make_hierarchy(labels={(3, 2): "Belief", (1, 1): ""})
    assert hierarchy.name(Node(3, 1)) == "Belief"
    assert hierarchy.title(Node(3, 1)) == "Belief"
    assert hierarchy.name(Node(1, 0)) == ""
    assert hierarchy.title(Node(1, 0)).count(" ") >= 2


def test_a_title_is_the_three_most_relevant_of_the_twelve_heaviest_words() -> None:
    hierarchy = make_hierarchy(n_words=300)
    differ = 0
    for layer in (1, 2, 3):
        taken: set[frozenset[str]] = set()
        for node in hierarchy.nodes(layer):  # the most popular one chooses first
            report = {}
            for word in hierarchy.top_words(node, 12):
                row = hierarchy.projections[layer - 1][hierarchy.vocabulary.index(word.text)].astype(np.float64)
                lift = row[node.column] / (row @ hierarchy.shares[layer - 1])
                report[word.text] = 0.3 * np.log(row[node.column]) + 0.7 * np.log(lift)
            best, title = sorted(report, key=lambda text: -report[text]), hierarchy.title_words(node)
            assert title == best[:3] or frozenset(best[:3]) in taken
            assert hierarchy.title(node) == " ".join(title)
            taken.add(frozenset(title))
            differ += title != [word.text for word in hierarchy.top_words(node, 3)]
        assert len(taken) == hierarchy.widths[layer - 1]
    assert differ > 20


def test_the_words_after_a_title_are_the_heaviest_that_are_not_in_it() -> None:
    hierarchy = make_hierarchy(n_words=300)
    for node in hierarchy.nodes(2):
        title, rest = hierarchy.title_words(node), hierarchy.other_words(node, 7)
        assert len(rest) == 7
        assert rest == [word.text for word in hierarchy.top_words(node, 30) if word.text not in title][:7]


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


def test_topics_of_images_go_by_their_rank_and_named_ones_by_their_name() -> None:
    hierarchy = make_hierarchy((9, 3), n_words=20, image_shape=(4, 5), labels={(1, 2): "strokes"})
    assert hierarchy.title(Node(1, 1)) == "strokes"
    assert hierarchy.title(hierarchy.at_rank(2, 1)) == "topic 1"


def test_padding_of_the_top_documents_is_left_out() -> None:
    hierarchy = make_hierarchy()
    uses = hierarchy.uses(hierarchy.at_rank(1, 1))
    assert 0 < len(uses) < 21
    assert all(use.document >= 0 for use in uses)


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


def test_the_graph_carries_the_numbers_of_the_frame() -> None:
    hierarchy = make_hierarchy(labels={(3, 1): "Belief"})
    graph = build_graph(hierarchy, 2.0, [hierarchy.at_rank(3, 1)])
    assert isinstance(graph, nx.DiGraph)
    for key, data in graph.nodes(data=True):
        node = parse_identity(key)
        assert node is not None
        assert (data["layer"], data["topic"], data["rank"]) == (node.layer, node.column + 1, hierarchy.rank(node))
        assert data["share"] == hierarchy.share(node)
        assert data["label"] == hierarchy.name(node)
    for above, below, weight in graph.edges(data="weight"):
        parent, child = parse_identity(above), parse_identity(below)
        assert parent is not None
        assert child is not None
        assert weight == float(hierarchy.phi[parent.layer - 1][child.column, parent.column])
        assert weight > 2.0 / hierarchy.widths[child.layer - 1]


def test_the_whole_graph_has_every_topic() -> None:
    hierarchy = make_hierarchy()
    assert len(build_graph(hierarchy, 5.0)) == sum(hierarchy.widths)


def test_edges_of_a_threshold_are_found_once() -> None:
    hierarchy = make_hierarchy()
    assert hierarchy.edges(2.0) is hierarchy.edges(2.0)
    assert len(hierarchy.edges(1.0)) > len(hierarchy.edges(3.0))
    for threshold in np.linspace(0, 9, 30):
        hierarchy.edges(float(threshold))
    assert len(hierarchy.edges(1.0)) > len(hierarchy.edges(3.0))
