"""Two hierarchies compared: pairs, words, edges, agreement."""

import gc
import html
import math
import re
import weakref
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from topic_hierarchies import arrays, make_hierarchy, vocabulary
from topic_pairs import WIDTHS, changed, frame_of, permuted, reword, same

from topiary.app.analysis import topic_reader
from topiary.app.analysis.comparison import EdgeChange, compare, count_kinds, find_edge_changes, measure_agreement
from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.export.comparison import list_pairs
from topiary.app.live.cache import Cache, SharedMemory, count_bytes
from topiary.app.views.compare.summary import summarise_changes
from topiary.app.views.compare.trees import CompareCut, draw_trees
from topiary.engine.hierarchy.align import TopicPair
from topiary.engine.hierarchy.tree import Edge, Node


def test_a_permuted_run_has_the_same_topics_words_and_edges() -> None:
    comparison, orders = same()
    for layer, order in enumerate(orders, 1):
        for new, old in enumerate(order.tolist()):
            assert comparison.partner("b", Node(layer, new)) == Node(layer, old)
            assert comparison.partner("a", Node(layer, old)) == Node(layer, new)
    assert all(comparison.words(pair) == ((), ()) for pair in comparison.pairs)
    assert all(comparison.compute_share_change(pair) == pytest.approx(0, abs=1e-6) for pair in comparison.pairs)
    changes = find_edge_changes(comparison, 1.5)
    assert count_kinds(changes) == {
        "gained": 0,
        "lost": 0,
        "stronger": 0,
        "weaker": 0,
        "same": len(comparison.a.edges(1.5)),
    }
    now = measure_agreement(comparison, changes)
    assert now.edges == 1
    assert now.correlation == pytest.approx(1)
    assert now.matched == pytest.approx((1, 1, 1))
    assert min(now.scores) > 0.99


def test_rounding_makes_no_layer_match_by_more_than_all_of_it() -> None:
    plain = (frame_of(arrays(WIDTHS, seed=2), number) for number in (7, 8))
    a, b = (replace(hierarchy, shares=tuple(share * (1 + 1e-9) for share in hierarchy.shares)) for hierarchy in plain)
    pairs = compare(a, b)
    assert sum(a.share(pair.a) for pair in pairs.pairs if pair.layer == 1 and pair.a) > 1
    assert max(measure_agreement(pairs, find_edge_changes(pairs, 1.5)).matched) == 1


def test_every_edge_of_either_side_is_told_once_with_what_became_of_it() -> None:
    comparison = changed()
    threshold = 2.0
    changes = find_edge_changes(comparison, threshold)
    here = [change.a for change in changes if change.kind != "gained"]
    there = [change.b for change in changes if change.kind != "lost"]
    assert here == comparison.a.edges(threshold)
    assert sorted(there) == sorted(comparison.b.edges(threshold))
    assert all(count > 0 for kind, count in count_kinds(changes).items() if kind != "stronger")
    for change in changes:
        check(comparison, change, threshold)


def check(comparison, change: EdgeChange, threshold: float) -> None:
    def times_flat(hierarchy: Hierarchy, edge: Edge | None) -> float:
        return edge.weight * hierarchy.widths[edge.layer - 2] if edge else 0.0

    before, now = times_flat(comparison.a, change.a), times_flat(comparison.b, change.b)
    if change.a and change.b:
        assert comparison.partner("a", change.a.above) == change.b.above
        assert comparison.partner("a", change.a.below) == change.b.below
        assert change.b.weight == pytest.approx(comparison.b.phi[change.layer - 1][change.b.child, change.b.parent])
    if change.kind == "gained":
        assert now > threshold >= before
    elif change.kind == "lost":
        assert before > threshold >= now
    else:
        assert min(before, now) > threshold
        request = "stronger" if now / before >= 1.5 else "weaker" if now / before <= 1 / 1.5 else "same"
        assert change.kind == request


def test_an_edge_of_a_topic_without_partner_is_lost_or_gained_with_it() -> None:
    comparison = changed()
    alone = {pair.a or pair.b for pair in comparison.pairs if not pair.paired}
    assert alone
    ends = [
        change
        for change in find_edge_changes(comparison, 0.1)
        if (change.a is None and change.kind == "gained") or (change.b is None and change.kind == "lost")
    ]
    assert ends
    for change in ends:
        edge = change.a or change.b
        assert edge is not None
        assert {edge.above, edge.below} & alone


def test_edges_are_measured_against_a_flat_topic_so_that_widths_may_differ() -> None:
    made = arrays((24, 12))
    wide = {
        "phi.0": np.repeat(made["phi.0"], 2, axis=1),  # every topic of layer 1 split into two of half the weight
        "phi.1": np.repeat(made["phi.1"], 2, axis=0) / 2,
        "r": made["r"],
    }
    comparison = compare(frame_of(made, 7), frame_of(wide, 8))
    kept = [change for change in find_edge_changes(comparison, 1.0) if change.a and change.b]
    assert kept
    assert {change.kind for change in kept} == {"same"}
    assert all(change.ratio == pytest.approx(1, rel=1e-4) for change in kept)


def test_words_enter_and_leave_only_when_they_are_far_from_the_other_list() -> None:
    made = arrays((6,), n_words=60)
    weights = np.linspace(2, 1, 60)
    first, second = np.tile(weights, (6, 1)).T, np.tile(weights, (6, 1)).T
    first[[11, 12], 0] = first[[12, 11], 0]  # places swapped at the edge of the twelve: no change
    second[50, 0], second[0, 0] = 3.0, 0.5  # one word comes from far behind, one falls far back
    named = [{"phi.0": table / table.sum(axis=0), "r": made["r"]} for table in (first, second)]
    comparison = compare(frame_of(named[0], 7), frame_of(named[1], 8), [TopicPair(1, 0, 0)])
    words = vocabulary(60)
    pair = comparison.pair("a", Node(1, 0))
    assert pair is not None
    assert pair.fixed
    assert comparison.words(pair) == ((words[50],), (words[0],))


def test_runs_of_different_corpora_are_compared_by_the_words_both_have() -> None:
    made = arrays(WIDTHS)
    words = vocabulary(60)
    turned, orders = permuted(made)
    order = np.random.default_rng(3).permutation(60)
    more = np.full((5, 24), 0.001, dtype=np.float32)
    other = turned | {"phi.0": np.concatenate([turned["phi.0"][order], more])}
    names = (*(words[place] for place in order), *(f"foreign{place}" for place in range(5)))
    comparison = compare(frame_of(made, 7), frame_of(other, 8, names))
    assert comparison.shared_words == 60
    assert comparison.alignment.partners(1) == {int(old): new for new, old in enumerate(orders[0])}
    assert min(pair.score for pair in comparison.pairs) > 0.98


def test_runs_without_a_common_word_are_refused_in_a_sentence() -> None:
    made = arrays((4,), n_words=12)
    with pytest.raises(ValueError, match="Runs 7 and 8 have no word in common"):
        compare(frame_of(made, 7), frame_of(made, 8, tuple(f"x{place}" for place in range(12))))


def test_two_snapshots_of_one_run_are_paired_by_number_whatever_they_say() -> None:
    turned, _ = permuted(arrays(WIDTHS))
    comparison = compare(frame_of(arrays(WIDTHS), 7), frame_of(turned, 7, snapshot=4))
    assert all(pair.a == pair.b and not pair.fixed for pair in comparison.pairs)


def pruned(made: dict[str, np.ndarray], kept: list[list[int]]) -> dict[str, np.ndarray]:
    """The snapshot after topics were pruned: fewer columns, whose names say which topics they are."""
    fewer = {"r": made["r"][kept[-1]]}
    for layer, columns in enumerate(kept):
        rows = kept[layer - 1] if layer else range(len(made["phi.0"]))
        fewer[f"phi.{layer}"] = made[f"phi.{layer}"][np.ix_(rows, columns)]
        fewer[f"names.{layer}"] = np.array(columns)
    return fewer


def test_topics_keep_their_numbers_when_others_were_pruned() -> None:
    made = arrays((24, 12))
    fewer = pruned(made, [[place for place in range(24) if place not in (3, 9)], [*range(4), *range(5, 12)]])
    gone = {Node(1, 3), Node(1, 9), Node(2, 4)}
    for run in (7, 8):  # by number in the same run, by what they are about in another
        comparison = compare(frame_of(made, 7), frame_of(fewer, run, snapshot=4))
        for pair in comparison.pairs:
            assert pair.b == (None if pair.a in gone else pair.a)
        for change in find_edge_changes(comparison, 1.0):
            if change.a and change.b:
                assert (change.a.above, change.a.below) == (change.b.above, change.b.below)
    assert comparison.list_candidates("b", Node(1, 10))[0].node == Node(1, 10)
    turned = compare(
        frame_of(fewer, 8), frame_of(made, 7), [TopicPair(1, 10, 11), TopicPair(1, 3, 4), TopicPair(2, -1, 5)]
    )
    decided = {(pair.a, pair.b) for pair in turned.pairs if pair.fixed}
    assert decided == {(Node(1, 10), Node(1, 11)), (None, Node(2, 5))}  # topic 3 of the first is no more


def test_a_topic_that_one_of_two_snapshots_of_a_run_lacks_was_pruned_or_came_later() -> None:
    made = arrays((24, 12))
    fewer = pruned(made, [list(range(24)), [*range(4), *range(5, 12)]])
    full, rest = frame_of(made, 7, snapshot=1), frame_of(fewer, 7, snapshot=2)
    early, late = replace(full, minibatch=100), replace(rest, minibatch=300)
    for a, b, absence in (
        (early, late, "pruned"),
        (late, early, "pruned"),
        (replace(full, minibatch=300), replace(rest, minibatch=100), "new"),
        (early, replace(late, run=8), ""),
    ):
        comparison = compare(a, b)
        alone = [pair for pair in comparison.pairs if not pair.paired]
        assert [pair.a or pair.b for pair in alone] == [Node(2, 4)]
        assert comparison.find_absence(alone[0]) == absence
        assert {comparison.find_absence(pair) for pair in comparison.pairs if pair.paired} == {""}
        changes = find_edge_changes(comparison, 0.1)
        trees = draw_trees(comparison, changes, CompareCut(tuple(a.nodes(2)), tuple(b.nodes(2)), 0.1, 40))
        here, there = (trees.b, trees.a) if b.widths[1] == 11 else (trees.a, trees.b)
        word = {"pruned": "pruned", "new": "not there yet", "": "no partner"}[absence]
        assert f">{word}</tspan>" in here
        assert f">{word}</tspan>" not in there
        assert [row["absence"] for row in list_pairs(comparison) if not (row["a"] and row["b"])] == [absence or None]
        summary = summarise_changes(comparison, changes)
        assert ("1 was pruned" in summary) == (absence == "pruned")


def test_the_change_in_short_names_words_and_counts_that_the_tables_have() -> None:
    comparison = changed()
    changes = find_edge_changes(comparison, 1.0)
    report, counts = summarise_changes(comparison, changes), count_kinds(changes)
    paired = sum(pair.paired for pair in comparison.pairs)
    assert f"<b>{paired} of 42 topics of A</b>" in report
    alike = np.mean([pair.score for pair in comparison.pairs if pair.paired])
    assert f"have a partner in B, {100 * alike:.0f}% alike on average" in report
    assert f"{42 - paired} of A and {42 - paired} of B have none" in report
    kept = counts["stronger"] + counts["weaker"] + counts["same"]
    assert f"<b>{kept} of {kept + counts['lost']} edges of A stay</b>" in report
    assert f"{counts['gained']} are new" in report
    assert "<ins>" not in summarise_changes(same()[0], find_edge_changes(same()[0], 1.0))


def test_a_word_in_short_is_named_where_it_moved_the_more_weight_and_never_twice() -> None:
    comparison = reword()
    report = html.unescape(summarise_changes(comparison, find_edge_changes(comparison, 1.0)))
    changes = [comparison.words(pair) for pair in comparison.pairs if pair.layer == 1]
    named = {tag: re.findall(f"<{tag}>(.*)</{tag}>", report)[0].split() for tag in ("ins", "del")}
    assert set(named["ins"]) <= {word for change in changes for word in change.entered}
    assert set(named["del"]) <= {word for change in changes for word in change.left}
    assert not set(named["ins"]) & set(named["del"])
    most = max(comparison.pairs, key=lambda pair: comparison.b.share(pair.b) if pair.layer == 1 and pair.b else 0)
    assert set(comparison.words(most).entered) & set(named["ins"])


def test_no_pair_is_less_than_30_percent_alike_unless_it_is_known_to_be_one() -> None:
    a, b = frame_of(arrays(WIDTHS), 7), frame_of(arrays(WIDTHS, seed=2), 8)
    comparison = compare(a, b)
    scores = [pair.score for pair in comparison.pairs if pair.paired]
    assert min(scores) >= 0.3
    assert len(scores) < sum(WIDTHS)
    assert {comparison.find_relation(pair) for pair in comparison.pairs} == {"nearest", "nearest left", "no partner"}
    for pair in comparison.pairs:
        if comparison.find_relation(pair) == "nearest":
            (first, back) = comparison.list_candidates("a", pair.a)[0], comparison.list_candidates("b", pair.b)[0]
            assert pair.b == first.node or pair.a == back.node
    again = compare(a, replace(b, run=7))
    assert {again.find_relation(pair) for pair in again.pairs} == {"the same topic"}


def test_candidates_are_all_topics_of_the_other_side_best_first() -> None:
    comparison, orders = same()
    found = comparison.list_candidates("b", Node(2, 5))
    assert found[0].node == Node(2, int(orders[1][5]))
    assert len(found) == 12
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    deeper = compare(make_hierarchy((24, 12, 6)), make_hierarchy((24, 12)))
    assert deeper.list_candidates("a", Node(3, 0)) == []


def test_hierarchies_of_one_layer_have_no_edges_to_agree_on() -> None:
    comparison = compare(frame_of(arrays((6,)), 7), frame_of(arrays((5,), seed=2), 8))
    now = measure_agreement(comparison, find_edge_changes(comparison, 5.0))
    assert math.isnan(now.edges)
    assert math.isnan(now.correlation)


def remembering(monkeypatch: pytest.MonkeyPatch, decided: set[TopicPair]) -> topic_reader.TopicReader:
    monkeypatch.setattr(topic_reader, "list_decisions", lambda *_: frozenset(decided))
    return topic_reader.TopicReader(None, SharedMemory())


def test_two_hierarchies_are_matched_once_a_decision_and_renamed_topics_are_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, decided = [], set()

    def counting(*request):
        asked.append(request)
        return compare(*request)

    monkeypatch.setattr(topic_reader, "compare", counting)
    a, b = frame_of(arrays(WIDTHS), 7), frame_of(arrays(WIDTHS, seed=2), 8)
    known = remembering(monkeypatch, decided)
    first = known.compare(a, b)
    assert known.compare(a, b).alignment is first.alignment
    renamed = replace(b, labels={Node(1, 0): "herbs"})
    again = known.compare(a, renamed)
    assert (again.b, again.alignment) == (renamed, first.alignment)
    assert len(asked) == 1
    decided.add(TopicPair(1, 0, 1))
    assert known.compare(a, b).partner("a", Node(1, 0)) == Node(1, 1)
    assert len(asked) == 2


def test_matches_that_are_remembered_keep_no_frame_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    hierarchies = [frame_of(arrays(WIDTHS, seed=seed), 7 + seed) for seed in (1, 2)]
    known, alive = remembering(monkeypatch, set()), [weakref.ref(hierarchy) for hierarchy in hierarchies]
    known.compare(*hierarchies)
    hierarchies.clear()
    gc.collect()
    assert [ref() for ref in alive] == [None, None]


def test_the_cache_of_frames_counts_what_they_take() -> None:
    hierarchy = make_hierarchy((24, 12))
    one = sum(array.nbytes for array in (hierarchy.phi[0], hierarchy.phi[1], hierarchy.projections[1]))
    for most, kept in ((4 * one, 4), (4 * one - 1, 3)):
        hierarchies = Cache(most, count_bytes, least=3)
        for snapshot in range(4):
            hierarchies.fetch((7, snapshot), partial(replace, hierarchy, snapshot=snapshot))
        assert sum(hierarchies.get((7, snapshot)) is not None for snapshot in range(4)) == kept


def test_a_fork_keeps_the_numbers_of_topics_that_are_nearly_the_same() -> None:
    made = arrays((8,))
    common = made["phi.0"].mean(axis=1, keepdims=True)
    near = {"phi.0": 0.97 * common + 0.03 * made["phi.0"], "r": made["r"]}
    swapped = near | {"phi.0": near["phi.0"][:, [1, 0, *range(2, 8)]]}
    parent = frame_of(near, 7)

    def partners(hierarchy: Hierarchy) -> dict[int, int]:
        return compare(parent, hierarchy).alignment.partners(1)

    assert partners(frame_of(swapped, 8))[0] == 1
    assert partners(frame_of(swapped, 8, family=7)) == {column: column for column in range(8)}
