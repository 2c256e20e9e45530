"""The page What comes back: one figure a layer, topics by how often they are found, and what is waited for."""

import math
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from topic_hierarchies import arrays, make_hierarchy
from topic_pairs import WIDTHS, frame_of, permuted

from topiary.app.analysis.hierarchy import format_identity
from topiary.app.analysis.seeds import ENTROPY, LIKELIHOOD, TOTAL, MixingFigure, SeedGroup, measure_group
from topiary.app.views.compare.recurrence import (
    SeedReport,
    describe_most,
    draw_found_link,
    draw_mixing,
    draw_seed_page,
    explain_waiting,
)
from topiary.app.views.explore.detail import PanelState, draw_topic, list_relatives

TAU = 1.0


def run(number, state="finished"):
    return SimpleNamespace(number=number, seed=100 + number, state=state)


def report_of(**more):
    """Run 7 against three permuted copies, in one of which a topic of layer 1 is new."""
    made = arrays(WIDTHS)
    changed = made["phi.0"].copy()
    changed[:, 3] = np.random.default_rng(9).dirichlet(np.full(60, 0.02))
    reference = frame_of(made, 7)
    others = [frame_of(permuted(made, seed)[0], 7 + seed) for seed in (1, 2)] + [
        frame_of(made | {"phi.0": changed}, 10)
    ]
    recurrence = measure_group(reference, others)
    ready = tuple((run(other.run), SimpleNamespace(number=3)) for other in others)
    report = SeedReport(replace(reference, recurrence=recurrence), SeedGroup(run(7), ready), recurrence, (), TAU)
    return report._replace(**more)


@pytest.fixture(scope="module")
def report():
    return report_of()


def test_the_page_has_one_figure_for_every_layer_and_lists_topics_by_how_often_they_come_back(report):
    html = draw_seed_page(report)
    assert html.count("Layer 1: agreement") == html.count("Layer 3: agreement") == 1
    counts = [
        report.hierarchy.count_runs(node) for node in report.hierarchy.nodes(1) if node not in report.hierarchy.light
    ]
    assert sorted(set(counts)) == [3, 4]
    assert f"{counts.count(4)} of {len(counts)} topics found by all 3 other seeds" in html
    marks = [int(mark) for mark in re.findall(r"<b>(\d) of 3</b>", html.partition("Layer 1 <small>")[2])]
    assert marks == sorted((count - 1 for count in counts), reverse=True)
    assert html.count('aria-label="Topics of layer 1"') == 2  # the first twelve, and the others in a fold
    assert f"<summary>{len(counts) - 12} more topics</summary>" in html
    assert "other <b>seeds</b>" in html
    assert "<b>samples</b>" in html
    assert 'data-do="compare" data-run="8"' in html


def test_topics_lead_to_explore_and_show_their_consensus_words_and_edges(report):
    html, hierarchy = draw_seed_page(report), report.hierarchy
    node = hierarchy.at_rank(3, 1)
    row = html.partition(f'<li data-key="{format_identity(node)}">')[2].partition("</li>")[0]
    assert f'data-do="topic" data-id="{format_identity(node)}"' in row
    word = hierarchy.top_words(node, 1)[0]
    assert f"mean probability {word.weight:.3g}" in row
    child = hierarchy.children(node, 1)[0].node
    n_found = hierarchy.count_edge_runs(node, child, TAU)
    (mark,) = re.findall(
        rf'data-id="{format_identity(child)}"[^>]*><span[^>]*>[^<]*</span> <small>(\d of 3)</small>', row
    )
    assert mark == f"{n_found - 1} of 3"
    assert row.count("se-often") == row.count("<small>3 of 3</small>")


def test_what_it_waits_for_and_what_is_left_out_are_sentences():
    group = SeedGroup(run(1), (), (run(2, "queued"), run(3, "running")), (run(4, "failed"),), 5)
    assert explain_waiting(group) == (
        "Waiting for run 2 (seed 102, waiting), run 3 (seed 103, training), which have no snapshot yet from about the "
        "same step as this one. Left out: run 4 (seed 104, failed), which ended without such a snapshot. Left out: 5 "
        "further runs, to save memory."
    )
    html = draw_seed_page(SeedReport(make_hierarchy(), group, None, (), TAU))
    assert '<p class="se-wait" role="status">Waiting for run 2' in html
    assert "New run" not in html
    alone = draw_seed_page(SeedReport(make_hierarchy(), SeedGroup(run(1)), None, (), TAU))
    assert "No run differs from run 1 in its seed alone." in alone
    assert "Train some: the page goes on as soon as they have" in alone


def test_most_other_seeds_are_put_in_words():
    assert [describe_most(n_runs) for n_runs in (2, 3, 6)] == [
        "found by the other seed",
        "found by both other seeds",
        "found by at least 4 of 5 other seeds",
    ]


def test_the_panel_of_a_topic_says_in_how_many_runs_it_is_found_and_leads_to_the_page(report):
    hierarchy = report.hierarchy
    node = hierarchy.at_rank(1, 1)
    html = draw_topic(hierarchy, node, TAU, [], PanelState(root=True))
    assert re.search(r'<button class="ex-found" data-do="seeds" title="[^"]+">.*Found by [23] of 3 other seeds', html)
    assert "found by 3 of 3 other seeds" in list_relatives(hierarchy, hierarchy.at_rank(3, 1), TAU, above=False)
    assert draw_found_link(make_hierarchy(), node) == ""
    assert "other seeds" not in draw_topic(make_hierarchy(), node, TAU, [], PanelState(root=True))


def test_chains_that_have_not_mixed_are_marked_and_unknown_numbers_left_out():
    figures = [
        MixingFigure(LIKELIHOOD, 0, 4, 30, 1.004, 88.0),
        MixingFigure(LIKELIHOOD, 0, 4, 200, 1.004, 600.0),
        MixingFigure(TOTAL, 0, 2, 30, 1.31, 9.0),
        MixingFigure(ENTROPY, 1, 4, 30, math.nan, math.nan, constant=True),
        MixingFigure(ENTROPY, 3, 4, 3, math.nan, math.nan),
        MixingFigure(ENTROPY, 2, 1, 0, math.nan, math.nan),
    ]
    html = draw_mixing(figures, 4)
    assert "<td>1.004</td><td>–</td><td>4 × 30</td><td>too few draws to tell</td>" in html
    assert "<td>1.004</td><td>600</td><td>4 × 200</td><td>mixed</td>" in html
    assert '<td class="se-apart">1.310</td><td>–</td><td>2 × 30</td><td>not mixed</td>' in html
    assert "<td>4 × 3</td><td>not known: 3 draws of each run, 10 are needed</td>" in html
    assert "Sum of r (2 of 4 runs)" in html
    assert "<td>4 × 30</td><td>the same at every draw of every run</td>" in html
    assert "layer 2" not in html
    assert "Not known: it takes 10 points" in draw_mixing(figures[5:], 4)
