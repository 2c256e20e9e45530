"""Topics of a run that refines a topic hang below it in pictures and files, and change nothing else of the tree."""

import itertools
import json
import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pytest
from topic_hierarchies import make_hierarchy

from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.export.trees import render_tree
from topiary.app.views.explore.controls import draw_tree_foot
from topiary.app.views.explore.refining import draw_opened_list
from topiary.app.views.palette import LIGHT
from topiary.app.views.tree.finer import DOTS, MOST
from topiary.app.views.tree.picture import TreeChoice, draw_tree
from topiary.engine.hierarchy.tree import Node

RUN = 12
LAYERS = (1, 2, 3)


@pytest.fixture
def finer() -> Hierarchy:
    return replace(make_hierarchy((9, 4), seed=13), run=RUN)


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


def list_children(finer: Hierarchy, node: Node) -> list[Node]:
    """Return the children above the threshold of `choose`, the heaviest first, at most as many as are drawn."""
    column = finer.phi[1][:, finer.place(node)]
    heavy = [child for child in np.argsort(-column) if column[child] > 1.5 / len(column)]
    return [node for child in heavy if (node := Node(1, int(child))) not in finer.light][:MOST]


def name(*nodes: Node) -> set[str]:
    return {f"{RUN}/{format_identity(node)}" for node in nodes}


@pytest.fixture
def shared(finer: Hierarchy) -> tuple[list[Node], list[Node]]:
    """Two topics of the finer run, and their children, at least one of which they share."""
    for one, other in itertools.combinations(finer.nodes(2), 2):
        children = [list_children(finer, node) for node in (one, other)]
        if {*children[0]} & {*children[1]} and {*children[0]} ^ {*children[1]}:
            return [one, other], [*dict.fromkeys(itertools.chain(*children))]
    raise AssertionError("no two topics share a child; choose another seed")


def test_a_finer_topic_opens_its_own_children_one_row_further_down(finer: Hierarchy, shared: Any) -> None:
    (one, _), _ = shared
    refined = pick_drawn(3)
    hierarchy = refine(finer, refined)
    folded = draw_tree(hierarchy, choose(hierarchy, RUN))
    choice = choose(hierarchy, RUN)._replace(unfolded=frozenset(name(one)))
    drawing = draw_tree(hierarchy, choice)
    children = list_children(finer, one)
    (key,) = name(one)
    box = ElementTree.fromstring(folded.svg).find(f".//*[@data-id='{key}']")
    assert box is not None
    assert box.get("aria-expanded") == "false"
    assert [*box.itertext()][-1] == f"+{len(children)}"
    assert set(re.findall(rf'data-id="([^"]+)" data-run="{RUN}"', drawing.svg)) == name(*finer.nodes(2), *children)
    assert set(re.findall(rf'data-from="{key}" data-to="([^"]+)"', drawing.svg)) == name(*children)
    opened = ElementTree.fromstring(drawing.svg).find(f".//*[@data-id='{key}']")
    assert opened is not None
    assert opened.get("aria-expanded") == "true"
    places = {each.node: drawing.layout.places[each.place] for each in drawing.opened}
    assert all(places[child].y > places[one].y for child in children)
    assert drawing.part == folded.part


def test_children_that_two_finer_topics_share_are_drawn_once(finer: Hierarchy, shared: Any) -> None:
    parents, children = shared
    hierarchy = refine(finer, pick_drawn(2))
    drawing = draw_tree(hierarchy, choose(hierarchy, RUN)._replace(unfolded=frozenset(name(*parents))))
    assert sorted(each.node for each in drawing.opened) == sorted([*finer.nodes(2), *children])
    lines = re.findall(rf'data-from="({RUN}/[^"]+)" data-to="({RUN}/[^"]+)"', drawing.svg)
    wanted = {(*name(parent), *name(child)) for parent in parents for child in list_children(finer, parent)}
    assert sorted(lines) == sorted(wanted)
    outline = draw_opened_list(drawing.opened)
    assert outline.count("<li>") == len(drawing.opened)
    assert outline.count("<ul>") == 2


@pytest.mark.parametrize("form", ["svg", "json", "graphml", "gexf", "dot"])
def test_files_contain_the_children_that_are_shown(finer: Hierarchy, shared: Any, form: str) -> None:
    (one, _), _ = shared
    hierarchy, children = refine(finer, pick_drawn(2)), list_children(finer, one)
    choice = choose(hierarchy, RUN)
    folded, unfolded = (
        render_tree(hierarchy, choice._replace(unfolded=frozenset(keys)), form) for keys in ((), name(one))
    )
    if form == "svg":
        assert unfolded.count('stroke-dasharray="0.1 ') == folded.count('stroke-dasharray="0.1 ') + len(children)
    else:
        added = re.findall(rf'"{RUN}/(L1:[0-9]+)"', unfolded)
        assert set(added) == {format_identity(child) for child in children}
        assert f'"{RUN}/L1:' not in folded
    if form == "json":
        graph = nx.node_link_graph(json.loads(unfolded), edges="edges")
        (key,) = name(one)
        for child in children:
            (below,) = name(child)
            assert graph.edges[key, below]["weight"] == pytest.approx(float(finer.phi[1][child.column, one.column]))
            assert graph.edges[key, below]["run"] == RUN


def test_topics_below_layer_1_are_not_taken_for_the_background_that_stands_apart() -> None:
    plain, finer = make_hierarchy(), replace(make_hierarchy((9, 1), seed=13), run=RUN)
    top = [plain.nodes(3)[0], plain.nodes(3)[-1]]
    npmi = tuple(np.zeros(width, np.float32) for width in plain.widths)
    spread = tuple(np.full(width, 0.05, np.float32) for width in plain.widths)
    spread[2][top[1].column] = 0.9
    refined = draw_tree(plain, TreeChoice((top[0],), 1.5)).part.nodes[-1]
    hierarchy = replace(plain, npmi=npmi, spread=spread, finer={refined: (finer,)})
    drawing = draw_tree(hierarchy, TreeChoice(tuple(top), 1.5, closed=frozenset([top[1]]), finer=frozenset([RUN])))
    assert refined.layer == 1
    assert "Background: words that documents of all kinds use" in drawing.svg
    assert drawing.svg.count("Finer topics") == 1


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
