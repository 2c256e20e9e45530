"""Pruned topics in the tree: where they hang, by what, and that nobody takes them for topics."""

import itertools
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from pruned_samples import LOST, NODES, WHEN, frame_at, pruned
from topic_hierarchies import NASTY, arrays

from app.analysis.hierarchy import identity
from app.analysis.pruned_topics import Pruned, gone, last_seen_of, successors
from app.analysis.topic_images import atom_uri
from app.views.explore.controls import tree_foot
from app.views.palette import DARK, LIGHT, LIVE, Theme
from app.views.text import format_percent
from app.views.tree import pruned_layout
from app.views.tree.boxes import boxes
from app.views.tree.layout import Guests, lay_out
from app.views.tree.picture import Choice, cut, draw
from app.views.tree.pruned_layout import hang, pruned_boxes_svg, pruned_sentence
from engine.hierarchy.tree import Edge, Node, Subnetwork

SVG = "{http://www.w3.org/2000/svg}"
THRESHOLD = 1.5


def choice_of(now, count=3, **more) -> Choice:
    return Choice(tuple(now.nodes(3)[:count]), THRESHOLD, **more)


def pruned_topics_in(svg: str) -> list[ET.Element]:
    return [each for each in ET.fromstring(svg).iter(f"{SVG}g") if "tp-pruned" in each.get("class", "").split()]


# ------------------------------------------------------------------ successors


def test_the_words_of_a_pruned_topic_belong_to_topics_as_bayes_rule_says() -> None:
    _, now, last_seen = pruned()
    for each in last_seen:
        parts = {successor.node: successor.part for successor in successors(each.numbers, each.weights, 2, now)}
        for node in now.nodes(2):
            slow = total = 0.0
            for number, weight in zip(each.numbers, each.weights, strict=True):
                chances = {k: now.share(k) * float(now.projections[1][number, now.place(k)]) for k in now.nodes(2)}
                if sum(chances.values()) > 0:
                    slow += weight * chances[node] / sum(chances.values())
                    total += weight
            assert parts.get(node, 0.0) == pytest.approx(slow / total, abs=1e-9)
        assert sum(parts.values()) == pytest.approx(1.0)
        assert list(parts.values()) == sorted(parts.values(), reverse=True)


def test_a_topic_whose_words_one_other_has_alone_leaves_them_all_to_that_one() -> None:
    phi = np.zeros((12, 3))
    phi[:4, 0], phi[4:8, 1], phi[8:, 2] = 0.25, 0.25, 0.25
    now = frame_at({"phi.0": phi, "r": np.array([1.0, 5.0, 2.0]), "names.0": np.array([0, 2, 3])}, 700)
    assert successors((8, 9), (0.7, 0.3), 1, now) == [(Node(1, 3), pytest.approx(1.0))]
    assert [successor.node for successor in successors((0, 4), (0.2, 0.8), 1, now)] == [Node(1, 2), Node(1, 0)]


def test_words_that_no_topic_has_any_more_are_left_to_nobody() -> None:
    phi = np.zeros((12, 2))
    phi[:4, 0], phi[4:8, 1] = 0.25, 0.25
    now = frame_at({"phi.0": phi, "r": np.ones(2), "names.0": np.array([0, 2])}, 700)
    assert successors((9, 10), (0.5, 0.5), 1, now) == []
    assert successors((9, 0), (0.5, 0.5), 1, now) == [(Node(1, 0), pytest.approx(1.0))]


def test_a_topic_is_gone_from_its_pruning_on_and_not_before() -> None:
    last, now, _ = pruned()
    when = dict.fromkeys(NODES, WHEN)
    assert gone(when, now) == list(NODES)
    assert gone(when, last) == []  # it stands in that tree
    assert gone({Node(2, 3): WHEN, Node(2, 2): WHEN}, now) == [Node(2, 2)]  # one that is there is no pruned topic
    early = frame_at({"phi.0": arrays((24,))["phi.0"], "r": np.ones(24)}, 100)
    assert gone(when | {Node(1, 99): WHEN}, early) == []  # neither its layer nor its end has come
    assert gone({Node(2, 2): Pruned(7, 800)}, now) == []
    assert gone({Node(2, 2): Pruned(3, 800)}, now) == [Node(2, 2)]  # of the run this one was forked from


# ------------------------------------------------------------- where, what


def test_a_pruned_topic_hangs_only_where_its_heirs_or_its_children_are_on_screen() -> None:
    last, now, last_seen = pruned()
    part, _ = cut(now, choice_of(now, 1))
    on_screen, pruned_layout = set(part.nodes), hang(last_seen, now, part, THRESHOLD)
    assert pruned_layout.shown
    assert len(pruned_layout.shown) + pruned_layout.more == len(last_seen)
    for each in pruned_layout.shown:
        kin = {successor.node for successor in each.successors} | {child.node for child in each.children}
        assert kin
        assert kin <= on_screen
        made = {edge.below for edge in last.edges(THRESHOLD) if edge.above == each.node}
        assert {child.node for child in each.children} == made & on_screen
        assert each.beside is None or each.beside.layer == each.node.layer
    lonely = part._replace(nodes=tuple(node for node in part.nodes if node.layer == 3), edges=())
    assert hang(last_seen, now, lonely, THRESHOLD).shown == ()


def test_a_layer_has_no_more_pruned_topics_than_topics_on_screen_but_two(monkeypatch: pytest.MonkeyPatch) -> None:
    _, now, last_seen = pruned()
    part, _ = cut(now, choice_of(now))
    assert len(hang(last_seen, now, part, 0.0).shown) == 3
    monkeypatch.setattr(pruned_layout, "MOST", 1)
    assert len(hang(last_seen, now, part, 0.0).shown) == 1
    monkeypatch.undo()
    (successor, *_) = successors(last_seen[0].numbers, last_seen[0].weights, 2, now)
    alone, _ = cut(now, Choice((successor.node,), 0.0))
    found = hang(last_seen, now, alone, 0.0)
    assert (len(found.shown), found.more) == (2, 1)
    assert "1 more is not drawn here" in pruned_sentence(found)


def test_topics_keep_their_order_when_pruned_topics_come_among_them() -> None:
    _, now, last_seen = pruned((60, 25))
    choice = Choice(tuple(now.nodes(3)[:4]), THRESHOLD)
    without, among = draw(now, choice), draw(now, choice, last_seen=last_seen)
    order = among.layout.order()
    pruned_boxes = {each.node for each in among.pruned_layout.shown}
    assert pruned_boxes
    assert {layer: tuple(node for node in nodes if node not in pruned_boxes) for layer, nodes in order.items()} == (
        without.layout.order()
    )
    for each in among.pruned_layout.shown:
        if each.beside is not None:
            seats = order[each.node.layer]
            assert seats.index(each.beside) < seats.index(each.node)
            between = seats[seats.index(each.beside) + 1 : seats.index(each.node)]
            assert set(between) <= pruned_boxes


def test_a_pruned_topic_draws_no_topic_to_itself() -> None:
    _, now, _ = pruned()
    above, below, pruned_box = now.nodes(2)[0], now.nodes(1)[0], Node(2, LOST[0])
    edge = Edge(2, above.column, below.column, 0.3)
    part = Subnetwork((above,), (above, below), (edge,), {})
    contents = boxes(now, part.nodes)
    layout = lay_out(
        part,
        contents | {pruned_box: contents[above]},
        guests=Guests({pruned_box: above}, (edge._replace(parent=pruned_box.column, weight=0.9),)),
    )
    middle = {node: layout.places[node].x + contents[node].width / 2 for node in part.nodes}
    assert middle[above] == pytest.approx(middle[below], abs=2.0)  # points
    assert layout.places[pruned_box].x > layout.places[above].x
    (way,) = layout.ways
    assert (way.edge.above, way.edge.below) == (pruned_box, below)


@pytest.mark.parametrize("aspect", [0.6, 1.78, 4.0])
def test_no_pruned_topic_stands_on_a_topic_or_on_another_pruned_topic(aspect: float) -> None:
    _, now, last_seen = pruned((60, 25))
    drawing = draw(now, Choice(tuple(now.nodes(3)), 1.0), aspect=aspect, last_seen=last_seen)
    contents = boxes(now, drawing.part.nodes) | pruned_boxes_svg(drawing.pruned_layout)
    assert len(contents) == len(drawing.layout.places) == len(drawing.part.nodes) + len(drawing.pruned_layout.shown)
    areas = [
        (place.x, place.y, place.x + contents[node].width, place.y + contents[node].height)
        for node, place in drawing.layout.places.items()
    ]
    for one, other in itertools.combinations(areas, 2):
        assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
    assert max(area[2] for area in areas) <= drawing.layout.width
    assert max(area[3] for area in areas) <= drawing.layout.height


# -------------------------------------------------------------- the picture


def test_from_afar_a_pruned_topic_bears_words_of_its_title_as_topics_do() -> None:
    last, now, last_seen = pruned((60, 25))
    drawing = draw(now, Choice(tuple(now.nodes(3)), 1.0), aspect=1.78, last_seen=last_seen)
    found = {node: box.gist for node, box in pruned_boxes_svg(drawing.pruned_layout).items()}
    assert found == {node: tuple(last.title_words(node)[:2]) for node in found}
    assert any(gist != tuple(word.text for word in last.top_words(node, 2)) for node, gist in found.items())


def test_nobody_takes_a_pruned_topic_for_a_topic() -> None:
    _, now, last_seen = pruned()
    without, among = draw(now, choice_of(now)), draw(now, choice_of(now), last_seen=last_seen)
    pruned_boxes = pruned_topics_in(among.svg)
    assert [each.get("data-id") for each in pruned_boxes] == [identity(each.node) for each in among.pruned_layout.shown]
    for group, each in zip(pruned_boxes, among.pruned_layout.shown, strict=True):
        label = group.get("aria-label", "")
        assert label.startswith(f"Pruned topic {identity(each.node)} of layer 2, no longer in the tree: pruned at")
        assert all(word in label for word in each.last_seen.words[:12] if word not in NASTY)
        assert group.get("aria-roledescription") == "pruned topic"
        (box,) = group.findall(f"{SVG}rect")  # neither bar nor tab nor handle
        assert (box.get("stroke"), box.get("stroke-dasharray")) == (LIVE.muted, "4 4")
        colours = {element.get(name) for element in group.iter() for name in ("fill", "stroke")}
        assert colours <= {None, LIVE.muted, LIVE.box}
        texts = ["".join(text.itertext()) for text in group.iter(f"{SVG}text")]
        assert texts[:2] == ["pruned", identity(each.node)]
    topics = 'class="tp-node(?: tp-root)?" data-id="([^"]+)"'
    assert re.findall(topics, among.svg) == re.findall(topics, without.svg)
    assert re.findall("Layer 2 · [^<]+", among.svg) == re.findall("Layer 2 · [^<]+", without.svg)
    assert "tp-pruned" not in without.svg
    assert without.svg == draw(now, choice_of(now), last_seen=()).svg


def test_a_pruned_topic_says_when_it_went_and_lines_lead_to_its_heirs_and_to_what_it_was_made_of() -> None:
    _, now, last_seen = pruned()
    drawing = draw(now, choice_of(now, 6), last_seen=last_seen)
    lines = [each for each in ET.fromstring(drawing.svg).iter(f"{SVG}path") if each.get("class") == "tp-wake"]
    for group, each in zip(pruned_topics_in(drawing.svg), drawing.pruned_layout.shown, strict=True):
        kin = [*(successor.node for successor in each.successors), *(child.node for child in each.children)]
        assert group.get("data-kin", "").split() == [identity(node) for node in kin]
        own = [line for line in lines if line.get("data-pruned") == identity(each.node)]
        assert len(own) == len(kin)
        report = [line.findtext(f"{SVG}title") or "" for line in own]
        assert all(identity(node) in title for node, title in zip(kin, report, strict=True))
        assert all(line.get("stroke-dasharray") for line in own)
        label = group.get("aria-label", "")
        assert "pruned at mini-batch 650" in label
        for successor in each.successors:
            assert re.search(
                rf"{re.escape(format_percent(successor.part))} (of its words are now )?in topic "
                rf"{now.rank(successor.node)}\b",
                label,
            )
    assert len(lines) == sum(len(each.successors) + len(each.children) for each in drawing.pruned_layout.shown)
    assert any(each.successors for each in drawing.pruned_layout.shown)
    assert any(each.children for each in drawing.pruned_layout.shown)


@pytest.mark.parametrize("theme", [LIVE, LIGHT, DARK])
def test_a_picture_with_pruned_topics_is_well_formed_whatever_their_words_and_names(theme: Theme) -> None:
    labels = {(2, column + 1): f'<b>"{column}" & \x07' for column in LOST}
    _, now, last_seen = pruned((24, 12), len(NASTY), labels=labels)
    drawing = draw(now, choice_of(now, 6), theme=theme, last_seen=last_seen)
    assert drawing.pruned_layout.shown
    assert "<b>" not in drawing.svg
    assert '<b>"2" & \ufffd' in " ".join(ET.fromstring(drawing.svg).itertext())


def test_the_file_shows_the_pruned_topics_too_and_says_so_in_its_caption() -> None:
    _, now, last_seen = pruned()
    drawing = draw(now, choice_of(now), theme=LIGHT, last_seen=last_seen)
    assert "var(" not in drawing.svg
    assert f"grey dashes: {len(drawing.pruned_layout.shown)} pruned topic" in drawing.svg
    for each in drawing.pruned_layout.shown:
        assert f">{identity(each.node)}</text>" in drawing.svg
    assert "pruned" not in draw(now, choice_of(now), theme=LIGHT).svg


def test_the_tree_as_text_lists_the_pruned_topics_apart_from_the_topics() -> None:
    _, now, last_seen = pruned()
    choice = choice_of(now)
    drawing = draw(now, choice, last_seen=last_seen)
    foot = tree_foot(now, choice, drawing, None, [pruned_sentence(drawing.pruned_layout), ""])
    tree, _, pruned_boxes = foot.partition("Pruned topics, no longer part of the tree:")
    for each in drawing.pruned_layout.shown:
        key = f'data-id="{identity(each.node)}"'
        assert key not in tree
        assert f"{key}>Pruned topic {identity(each.node)} of layer 2</button>" in pruned_boxes
    assert "in grey dashes; dashed lines lead to" in tree
    assert "Pruned topics" not in tree_foot(now, choice, draw(now, choice), None, [])


def test_a_pruned_topic_of_a_topic_of_images_is_its_last_picture() -> None:
    last, now, _ = pruned((24, 12), 64, image_shape=(8, 8))
    last_seen = [last_seen_of(last, node, WHEN, atom_uri(last, node)) for node in NODES]
    drawing = draw(now, choice_of(now, 6), last_seen=last_seen)
    shown = [image.get("href") for group in pruned_topics_in(drawing.svg) for image in group.iter(f"{SVG}image")]
    assert shown == [atom_uri(last, each.node) for each in drawing.pruned_layout.shown]
    assert shown
