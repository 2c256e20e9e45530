"""Comparisons as files and on the terminal: read back, complete, and the same numbers everywhere."""

import csv
import io
import json
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from topic_pairs import changed, frame_of, same

from topiary.app.analysis.comparison import Comparison, compare, count_kinds, find_edge_changes, measure_agreement
from topiary.app.analysis.hierarchy import format_identity, measure_coherence
from topiary.app.analysis.seeds import EstimatePair
from topiary.app.export import comparison as files
from topiary.app.export.comparison import write_summary
from topiary.app.jobs.estimates import Estimate

THRESHOLD = 1.0


@pytest.fixture
def comparison() -> Comparison:
    return changed()


def rows(text: str) -> list[dict[str, object]]:
    return list(csv.DictReader(io.StringIO(text), quoting=csv.QUOTE_NONNUMERIC))


def test_the_json_file_has_every_topic_and_every_edge_and_no_number_that_is_none(comparison: Comparison) -> None:
    report = json.loads(files.render_comparison(comparison, THRESHOLD), parse_constant=pytest.fail)
    changes = find_edge_changes(comparison, THRESHOLD)
    assert len(report["topic_matches"]) == len(comparison.pairs)
    assert len(report["edge_changes"]) == len(changes)
    assert report["edges"] == count_kinds(changes)
    now = measure_agreement(comparison, changes)
    assert report["edge_f1"] == now.edges
    assert [layer["score"] for layer in report["layers"]] == list(now.scores)
    assert (report["a"]["run"], report["b"]["run"], report["threshold"]) == (7, 8, THRESHOLD)
    for pair, row in zip(comparison.pairs, report["topic_matches"], strict=True):
        for side in ("a", "b"):
            node = pair.on(side)
            if node is None:
                assert row[side] is None
            else:
                hierarchy = comparison.hierarchy(side)
                assert row[side]["topic"] == format_identity(node)
                assert (row[side]["rank"], row[side]["share"]) == (hierarchy.rank(node), hierarchy.share(node))
        assert (row["score"], row["margin"]) == (pair.score, pair.margin)
        assert row["share_change"] == comparison.compute_share_change(pair)


def test_the_summary_has_coherence_and_diversity_of_both_where_they_are_known(comparison: Comparison) -> None:
    old = files.summarize_comparison(comparison, THRESHOLD)["layers"]
    assert {layer[f"{name}_{side}"] for layer in old for name in ("npmi", "diversity") for side in "ab"} == {None}
    assert "live topics" not in write_summary(comparison, THRESHOLD, 0)
    b = replace(comparison.b, npmi=tuple(np.linspace(-0.5, 0.5, width) for width in comparison.b.widths))
    known = compare(comparison.a, b)
    for layer, about in zip(files.summarize_comparison(known, THRESHOLD)["layers"], measure_coherence(b), strict=True):
        found = tuple(layer[f"{name}_b"] for name in ("npmi", "worst_tenth", "diversity"))
        assert found == (about.mean_npmi, about.worst_tenth, about.diversity)
        line = f"live topics of layer {layer['layer']}: NPMI - -> {about.mean_npmi:.3f}, worst tenth - -> "
        assert line in write_summary(known, THRESHOLD, 0)


class Beside(NamedTuple):
    """Pairs of seeds, as a page or a command found them."""

    comparisons: tuple[Comparison, ...]
    estimate_pair: EstimatePair | None = None


def test_the_json_says_how_far_two_seeds_lie_apart_and_where_a_difference_is_more(comparison: Comparison) -> None:
    twins, _ = same()
    a, b = (Estimate("mean_perplexity", "", value, "") for value in (800.0, 900.0))
    text = files.render_comparison(comparison, THRESHOLD, Beside((twins, twins), EstimatePair(a, b, 7.5)))
    seeds = json.loads(text, parse_constant=pytest.fail)["seeds"]
    reached = measure_agreement(twins, find_edge_changes(twins, THRESHOLD))
    assert seeds["pairs"] == [[7, 8], [7, 8]]
    assert [layer["layer"] for layer in seeds["layers"]] == [1, 2, 3]
    for layer, score in zip(seeds["layers"], reached.scores, strict=True):
        assert (layer["score"]["low"], layer["score"]["high"]) == (score, score)
        assert (layer["npmi"], layer["worst_tenth"], layer["diversity"]) == (None, None, None)
    assert [layer["score"]["below"] for layer in seeds["layers"]] == [
        now < usual - 0.005
        for now, usual in zip(
            measure_agreement(comparison, find_edge_changes(comparison, THRESHOLD)).scores, reached.scores, strict=True
        )
    ]
    assert seeds["layers"][0]["score"]["below"] is True
    assert seeds["edge_f1"] == {"low": reached.edges, "high": reached.edges, "below": True}
    assert seeds["estimate"] == {
        "name": "mean_perplexity", "a": 800.0, "b": 900.0, "difference": 100.0, "seeds_differ_by": 7.5, "beyond": True,
    }  # fmt: skip


def test_the_json_tells_seeds_that_are_not_there_from_seeds_that_nobody_looked_for(comparison: Comparison) -> None:
    alone = Beside((), EstimatePair(*(Estimate("mean_perplexity", "", 1.0, "") for _ in "ab"), None))
    none = json.loads(files.render_comparison(comparison, THRESHOLD, alone), parse_constant=pytest.fail)["seeds"]
    assert (none["pairs"], none["layers"], none["edge_f1"], none["estimate"]["beyond"]) == ([], [], None, None)
    assert json.loads(files.render_comparison(comparison, THRESHOLD))["seeds"] is None


def test_hierarchies_without_edges_are_written_too() -> None:
    single = {"phi.0": np.eye(4), "r": np.ones(4)}
    report = json.loads(
        files.render_comparison(compare(frame_of(single, 7), frame_of(single, 8)), 5.0), parse_constant=pytest.fail
    )
    assert (report["edge_f1"], report["edge_correlation"], report["edge_changes"]) == (None, None, [])
    assert rows(files.render_edges(compare(frame_of(single, 7), frame_of(single, 8)), 5.0)) == []


def test_topics_as_csv_are_read_back_with_their_numbers(comparison: Comparison) -> None:
    read = rows(files.render_pairs(comparison))
    assert len(read) == len(comparison.pairs)
    for pair, row in zip(comparison.pairs, read, strict=True):
        assert row["score"] == pair.score
        assert row["topic_a"] == (format_identity(pair.a) if pair.a else "")
        assert row["entered"] == " ".join(comparison.words(pair).entered)
        if pair.b:
            assert row["words_b"] == " ".join(word.text for word in comparison.b.top_words(pair.b))
            assert row["rank_b"] == comparison.b.rank(pair.b)


def test_edges_as_csv_are_read_back_with_their_weights(comparison: Comparison) -> None:
    read = rows(files.render_edges(comparison, THRESHOLD))
    changes = find_edge_changes(comparison, THRESHOLD)
    assert [row["kind"] for row in read] == [change.kind for change in changes]
    for change, row in zip(changes, read, strict=True):
        assert row["weight_a"] == (change.a.weight if change.a else "")
        assert row["parent_b"] == (format_identity(change.b.above) if change.b else "")
        assert row["threshold"] == THRESHOLD


def test_the_summary_on_the_terminal_lists_the_most_changed_topics(comparison: Comparison) -> None:
    lines = write_summary(comparison, THRESHOLD, 5).splitlines()
    assert lines[0].startswith("A: run 7, mini-batch 700, 24-12-6")
    assert [line.split(":")[0] for line in lines[1:4]] == ["layer 3", "layer 2", "layer 1"]
    counts = count_kinds(find_edge_changes(comparison, THRESHOLD))
    assert f"{counts['gained']} gained, {counts['lost']} lost" in lines[4]
    assert len(lines) == 10
    assert any("none ->" in line or "-> none" in line for line in write_summary(comparison, THRESHOLD, 99).splitlines())


def test_a_run_and_its_copy_show_no_change_in_any_file() -> None:
    comparison, _ = same()
    report = files.summarize_comparison(comparison, THRESHOLD)
    assert {report["edges"][kind] for kind in ("gained", "lost", "stronger", "weaker")} == {0}
    assert all(layer["matched"] == layer["topics_a"] == layer["topics_b"] for layer in report["layers"])
