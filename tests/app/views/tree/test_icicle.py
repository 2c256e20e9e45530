"""The overview has every topic once, below its heaviest parent, as wide as its share."""

import itertools
import re

import pytest
from topic_hierarchies import make_hierarchy

from topiary.app.analysis.hierarchy import format_identity
from topiary.app.views.tree.icicle import draw_icicle, lay_out_icicle


@pytest.mark.parametrize("widths", [(40, 20, 8), (6, 3), (5,), (3, 3, 3, 3)])
def test_every_topic_has_one_cell_within_that_of_its_heaviest_parent(widths):
    hierarchy = make_hierarchy(widths)
    rows = lay_out_icicle(hierarchy)
    assert [row[0].node.layer for row in rows] == list(range(len(widths), 0, -1))
    cells = {cell.node: cell for row in rows for cell in row}
    assert len(cells) == sum(map(len, rows)) == sum(widths)
    for node, cell in cells.items():
        if node.layer == hierarchy.n_layers:
            assert cell.width == pytest.approx(hierarchy.share(node))
            continue
        above = cells[hierarchy.parents(node, 1)[0].node]
        assert above.left - 1e-9 <= cell.left
        assert cell.left + cell.width <= above.left + above.width + 1e-9


def test_cells_of_a_row_do_not_overlap_and_siblings_are_as_wide_as_their_shares_say():
    hierarchy = make_hierarchy((40, 20, 8))
    for row in lay_out_icicle(hierarchy):
        for one, other in itertools.pairwise(row):
            assert one.left + one.width <= other.left + 1e-9
            if (
                one.node.layer < 3
                and hierarchy.parents(one.node, 1)[0].node == hierarchy.parents(other.node, 1)[0].node
            ):
                ratio = hierarchy.share(one.node) / hierarchy.share(other.node)
                assert one.width / other.width == pytest.approx(ratio)


def test_a_cell_makes_its_topic_the_root_and_roots_and_topics_of_the_tree_are_marked():
    hierarchy = make_hierarchy((40, 20, 8), labels={(3, 1): '<b>"name"</b>'})
    root, shown = hierarchy.nodes(3)[0], [*hierarchy.nodes(3)[:1], *hierarchy.nodes(2)[:4]]
    html = draw_icicle(hierarchy, [root], shown)
    keys = re.findall(r'<button data-do="root" data-id="([^"]+)"', html)
    assert len(keys) == len(set(keys)) == 68
    assert re.findall(r'data-id="([^"]+)"[^>]*aria-current="true"', html) == [format_identity(root)]
    drawn = re.findall(r'data-id="([^"]+)" data-key="[^"]+" class="ex-drawn"', html)
    assert set(drawn) == set(map(format_identity, shown))
    assert all(f"Topic {format_identity(node)} (" in html for node in shown)
    assert "<b>&#34;" not in html
    assert re.findall(r'role="group" aria-label="(Layer \d)"', html) == ["Layer 3", "Layer 2", "Layer 1"]
