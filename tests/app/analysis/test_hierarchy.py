"""The frame: one source for every number about a topic."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from topic_hierarchies import arrays, hierarchy_of, make_hierarchy
from topic_pairs import WIDTHS, frame_of

from topiary.app.analysis.hierarchy import (
    BACKGROUND,
    INCOHERENT,
    LIGHT,
    LIVE,
    REASONS,
    EdgeMark,
    find_roles,
    format_identity,
    measure_coherence,
    parse_identity,
)
from topiary.app.export.trees import build_graph
from topiary.engine.hierarchy import certainty, topics
from topiary.engine.hierarchy.tree import Node


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
            assert parse_identity(format_identity(node)) == node


@pytest.mark.parametrize(("layer", "rank"), [(0, 1), (4, 1), (3, 0), (3, 7)])
def test_a_rank_that_does_not_exist_is_refused_in_a_sentence(layer: int, rank: int) -> None:
    with pytest.raises(LookupError, match="has no"):
        make_hierarchy().at_rank(layer, rank)


@pytest.mark.parametrize("text", ["", "L3", "3:17", "L0:1", "L3:0", "L3:17x", "L-1:2", "L3:1e9", "L3:٣"])
def test_what_is_no_identity_is_none(text: str) -> None:
    assert parse_identity(text) is None


def test_identity_is_the_column_counted_from_one() -> None:
    assert format_identity(Node(3, 16)) == "L3:17"


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


def test_words_by_another_trade_are_of_the_same_topics_and_titles_stay() -> None:
    usual = make_hierarchy(n_words=300)
    probable = usual.choose_words(1.0)
    node = usual.at_rank(3, 1)
    weights = [word.weight for word in probable.top_words(node, 30)]
    assert weights == sorted(weights, reverse=True)
    assert probable.top_words(node) != usual.top_words(node)
    assert all(probable.title(each) == usual.title(each) for each in usual.nodes(3))
    assert (probable.trade, usual.choose_words(None), usual.choose_words(usual.trade)) == (1.0, usual, usual)
    assert [word.text for word in probable.choose_words(usual.trade).top_words(node)] == [
        word.text for word in usual.top_words(node)
    ]


def test_every_topic_has_a_role_and_every_layer_its_quality() -> None:
    npmi = {f"npmi.{layer}": np.full(width, 0.25, np.float32) for layer, width in enumerate((24, 12, 6))}
    npmi["npmi.0"][4:6] = 0.1, -0.3
    spread = {f"spread.{layer}": np.full(width, 0.1, np.float32) for layer, width in enumerate((24, 12, 6))}
    spread["spread.0"][4] = 0.5
    bare, found = hierarchy_of({}), hierarchy_of(npmi | spread)
    assert {bare.role(node) for node in bare.nodes(3)} == {"live"}
    assert bare.coherence(Node(1, 5)) is None
    assert bare.quality(1).npmi is None
    assert (found.role(Node(1, 4)), found.role(Node(1, 5)), found.role(Node(1, 6))) == (
        "background",
        "incoherent",
        "live",
    )
    assert found.coherence(Node(1, 5)) == pytest.approx(-0.3)
    kept = [node for node in found.nodes(1) if node not in found.light]
    assert found.quality(1).topics == len(kept)
    assert found.quality(1).npmi == pytest.approx(sum(found.coherence(node) for node in kept) / len(kept))
    first = [word.text for node in kept for word in found.top_words(node, 10)]
    assert found.quality(1).diversity == len(set(first)) / len(first)


def test_the_words_after_a_title_are_the_first_that_are_not_in_it() -> None:
    hierarchy = make_hierarchy(n_words=300)
    for node in hierarchy.nodes(2):
        title, rest = hierarchy.title_words(node), hierarchy.other_words(node, 7)
        assert len(rest) == 7
        assert rest == [word.text for word in hierarchy.top_words(node, 30) if word.text not in title][:7]


def test_topics_of_images_go_by_their_identity_and_named_ones_by_their_name() -> None:
    hierarchy = make_hierarchy((9, 3), n_words=20, image_shape=(4, 5), labels={(1, 2): "strokes"})
    assert hierarchy.title(Node(1, 1)) == "strokes"
    assert hierarchy.title(hierarchy.at_rank(2, 1)) == format_identity(hierarchy.at_rank(2, 1))


def test_padding_of_the_top_documents_is_left_out() -> None:
    hierarchy = make_hierarchy()
    uses = hierarchy.uses(hierarchy.at_rank(1, 1))
    assert 0 < len(uses) < 21
    assert all(use.document >= 0 for use in uses)


def test_the_graph_carries_the_numbers_of_the_frame() -> None:
    hierarchy = make_hierarchy(labels={(3, 1): "Belief"})
    graph = build_graph(hierarchy, 2.0, [hierarchy.at_rank(3, 1)])
    assert isinstance(graph, nx.DiGraph)
    for key, data in graph.nodes(data=True):
        node = parse_identity(key)
        assert node is not None
        assert (data["layer"], data["topic"], data["rank"]) == (node.layer, key, hierarchy.rank(node))
        assert data["share"] == hierarchy.share(node)
        assert data["label"] == hierarchy.name(node)
    for above, below, weight in graph.edges(data="weight"):
        parent, child = parse_identity(above), parse_identity(below)
        assert parent is not None
        assert child is not None
        assert weight == float(hierarchy.phi[parent.layer - 1][child.column, parent.column])
        assert weight > 2.0 / hierarchy.widths[child.layer - 1]


def test_the_graph_below_all_topics_has_every_topic() -> None:
    hierarchy = make_hierarchy()
    roots = [node for layer in (1, 2, 3) for node in hierarchy.nodes(layer)]
    assert len(build_graph(hierarchy, 5.0, roots, light=True)) == sum(hierarchy.widths)


def test_edges_of_a_threshold_are_found_once() -> None:
    hierarchy = make_hierarchy()
    assert hierarchy.edges(2.0) is hierarchy.edges(2.0)
    assert len(hierarchy.edges(1.0)) > len(hierarchy.edges(3.0))
    for threshold in np.linspace(0, 9, 30):
        hierarchy.edges(float(threshold))
    assert len(hierarchy.edges(1.0)) > len(hierarchy.edges(3.0))


PARTS = np.array([0.0005, 0.5, 0.1995, 0.2, 0.1])
SPREAD = np.array([0.9, 0.8, 0.05, 0.04, 0.06])
NPMI = np.array([-0.4, -0.1, -0.01, 0.0, 0.3])


def test_the_first_reason_counts_light_before_background_before_incoherent():
    assert find_roles(PARTS, SPREAD, NPMI) == (LIGHT, BACKGROUND, INCOHERENT, LIVE, LIVE)


def test_what_is_not_known_is_no_reason():
    assert find_roles(PARTS, None, None) == (LIGHT, LIVE, LIVE, LIVE, LIVE)
    assert find_roles(PARTS, None, NPMI) == (LIGHT, INCOHERENT, INCOHERENT, LIVE, LIVE)
    assert find_roles(PARTS, SPREAD, None) == (LIGHT, BACKGROUND, LIVE, LIVE, LIVE)


def test_every_weak_role_has_a_reason():
    assert [bool(REASONS[role]) for role in (LIVE, LIGHT, BACKGROUND, INCOHERENT)] == [False, True, True, True]


def test_figures_are_those_of_the_live_topics_and_their_ten_first_words():
    made = arrays(WIDTHS)
    made["r"][:] = (1, 1, 1, 1, 1, 1e-9)
    rng = np.random.default_rng(1)
    npmi = {f"npmi.{layer}": rng.uniform(-1, 1, width).astype(np.float32) for layer, width in enumerate(WIDTHS)}
    hierarchy = frame_of(made | npmi, 7)
    top = measure_coherence(hierarchy)[2]
    assert (top.n_topics, top.n_live) == (6, 5)
    assert top.mean_npmi == pytest.approx(npmi["npmi.2"][:5].mean())
    assert top.worst_tenth == pytest.approx(npmi["npmi.2"][:5].min())
    first = topics.find_relevant_words(hierarchy.projections[2], hierarchy.shares[2], 10)[0][:5]
    assert top.diversity == pytest.approx(len(np.unique(first)) / 50)
    assert len(measure_coherence(hierarchy)) == 3


def test_without_npmi_in_the_snapshot_there_is_none():
    assert measure_coherence(make_hierarchy()) == ()


def test_edges_are_as_certain_as_their_widened_variance_and_other_seeds_come_first() -> None:
    plain = make_hierarchy()
    hierarchy = replace(plain, edge_variances=tuple(np.full_like(phi, 1e-4) for phi in plain.phi[1:]))
    child = int(hierarchy.phi[1][:, 0].argmax())
    above, below = Node(2, 0), Node(1, child)
    mean, limit = hierarchy.phi[1][child, 0], 1.5 / 24
    found = hierarchy.find_certainty(above, below, 1.5)
    assert found is not None
    variance = certainty.WIDENED * np.float32(1e-4)
    low, high = certainty.find_interval(mean, variance)
    assert (found.low, found.high) == pytest.approx((float(low), float(high)))
    assert found.inclusion == pytest.approx(float(certainty.measure_inclusion(mean, variance, limit)))
    assert EdgeMark(0, 0, found).strength == found.inclusion
    assert EdgeMark(3, 4, found).strength == 0.75
    sure = found._replace(inclusion=0.97)
    assert EdgeMark(0, 0, sure).is_sure
    assert not EdgeMark(3, 4, sure).is_sure
    assert EdgeMark(4, 4, found._replace(inclusion=0.1)).is_sure
    assert EdgeMark(0, 0, None).is_sure
