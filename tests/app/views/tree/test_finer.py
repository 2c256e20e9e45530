"""Topics of a run that refines a topic hang below it in pictures and files, and change nothing else of the tree."""

import json
import re
from dataclasses import replace

import networkx as nx
import pytest
from topic_hierarchies import make_hierarchy

from app.analysis.hierarchy import Hierarchy, format_identity
from app.export.trees import render_tree
from app.views.explore.controls import draw_tree_foot
from app.views.explore.refining import draw_opened_list
from app.views.palette import LIGHT
from app.views.tree.finer import DOTS, MOST
from app.views.tree.picture import TreeChoice, draw_tree
from engine.hierarchy.tree import Node

RUN = 12
LAYERS = (1, 2, 3)


@pytest.fixture
def finer() -> Hierarchy:
    return replace(make_hierarchy((9, 4), seed=3), run=RUN)


def refine(finer: Hierarchy, node: Node) -> Hierarchy:
    return replace(make_hierarchy(), finer={node: (finer,)})


def choose(hierarchy: Hierarchy, *runs: int) -> TreeChoice:
    return TreeChoice(tuple(hierarchy.nodes(3)[:2]), 1.5, finer=frozenset(runs))


def pick_drawn(layer: int) -> Node:
    """Return a topic of a layer that the tree shows."""
    plain = make_hierarchy()
    return next(node for node in draw_tree(plain, choose(plain)).part.nodes if node.layer == layer)


@pytest.mark.parametrize("layer", LAYERS)
def test_it_is_folded_at_first_and_a_handle_says_how_many_there_are(finer: Hierarchy, layer: int) -> None:
    node = pick_drawn(layer)
    hierarchy = refine(finer, node)
    drawing = draw_tree(hierarchy, choose(hierarchy))
    (handle,) = re.findall(r'<g [^>]*class="tp-finer".*?</text>', drawing.svg)
    assert f'data-id="{format_identity(node)}" data-value="{RUN}"' in handle
    assert f"4 finer topics, run {RUN}" in handle
    assert "4 finer</text>" in handle
    assert "data-run" not in drawing.svg


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("closed", [False, True])
def test_opened_topics_hang_below_it_on_dotted_lines(finer: Hierarchy, layer: int, *, closed: bool) -> None:
    node = pick_drawn(layer)
    hierarchy = refine(finer, node)
    choice = choose(hierarchy, RUN)._replace(closed=frozenset({node} if closed else ()))
    drawing = draw_tree(hierarchy, choice)
    plain = draw_tree(make_hierarchy(), choice)
    assert drawing.part == plain.part
    keys = {f"{RUN}/{format_identity(each)}" for each in finer.nodes(2)}
    assert set(re.findall(rf'data-id="([^"]+)" data-run="{RUN}"', drawing.svg)) == keys
    lines = re.findall(rf'data-from="{format_identity(node)}" data-to="({RUN}/[^"]+)"', drawing.svg)
    assert set(lines) == keys
    places = drawing.layout.places
    for opened in drawing.opened:
        assert places[opened.place].y > places[node].y
    assert f">run {RUN}</text>" in drawing.svg
    shown = {band.layer: band.shown for band in drawing.layout.bands if band.shown}
    assert shown == {band.layer: band.shown for band in plain.layout.bands}


def test_a_run_that_is_not_opened_or_refines_a_topic_out_of_sight_draws_nothing(finer: Hierarchy) -> None:
    plain = make_hierarchy()
    drawn = draw_tree(plain, choose(plain))
    hidden = next(node for node in plain.nodes(1) if node not in drawn.part.nodes)
    assert draw_tree(refine(finer, hidden), choose(plain, RUN)).svg == drawn.svg
    assert draw_tree(refine(finer, pick_drawn(2)), choose(plain, 99)).opened == []


def test_only_the_largest_topics_of_a_wide_run_are_drawn() -> None:
    wide = replace(make_hierarchy((40,), seed=4), run=RUN)
    hierarchy = refine(wide, pick_drawn(2))
    drawing = draw_tree(hierarchy, choose(hierarchy, RUN))
    assert [each.node for each in drawing.opened] == [node for node in wide.nodes(1) if node not in wide.light][:MOST]


@pytest.mark.parametrize("form", ["svg", "json", "graphml", "gexf", "dot"])
def test_files_contain_what_is_opened_and_only_that(finer: Hierarchy, form: str) -> None:
    node = pick_drawn(2)
    hierarchy = refine(finer, node)
    folded, opened = (render_tree(hierarchy, choose(hierarchy, *runs), form) for runs in ((), (RUN,)))
    assert f"run {RUN}" not in folded
    assert folded == render_tree(make_hierarchy(), choose(hierarchy), form)
    if form == "svg":
        assert opened.count(f'stroke-dasharray="{DOTS}"') == len(finer.nodes(2)) + 1  # outlines and the handle
        assert opened.count('stroke-dasharray="0.1 ') == len(finer.nodes(2))
        assert f"dotted: topics of run {RUN}" in opened
    else:
        assert all(f"{RUN}/{format_identity(each)}" in opened for each in finer.nodes(2))


def test_the_graph_of_a_file_has_the_run_and_the_shares_of_opened_topics(finer: Hierarchy) -> None:
    node = pick_drawn(2)
    hierarchy = refine(finer, node)
    graph = nx.node_link_graph(json.loads(render_tree(hierarchy, choose(hierarchy, RUN), "json")), edges="edges")
    for each in finer.nodes(2):
        key = f"{RUN}/{format_identity(each)}"
        assert graph.nodes[key]["run"] == RUN
        assert graph.nodes[key]["title"] == finer.title(each)
        assert graph.edges[format_identity(node), key]["weight"] == pytest.approx(finer.share(each))


def test_the_tree_as_text_has_links_to_the_opened_topics(finer: Hierarchy) -> None:
    hierarchy = refine(finer, pick_drawn(1))
    choice = choose(hierarchy, RUN)
    drawing = draw_tree(hierarchy, choice)
    assert all(
        f"run={RUN}&amp;layer=2&amp;topic={each.column + 1}" in draw_opened_list(drawing.opened)
        for each in finer.nodes(2)
    )
    assert f"dotted: topics of run {RUN}" in draw_tree_foot(hierarchy, choice, drawing, [])


def test_a_picture_for_print_has_no_handles_of_folded_topics(finer: Hierarchy) -> None:
    hierarchy = refine(finer, pick_drawn(2))
    assert "finer" not in draw_tree(hierarchy, choose(hierarchy), theme=LIGHT).svg
