"""Charts by group: bars with intervals and a heat map that say what is not known, and no text that becomes markup."""

import numpy as np

from topiary.app.views.trends.group_chart import GroupBar, GroupTable, draw_group_bars, draw_heat_map


def test_names_of_topics_and_groups_are_no_markup():
    nasty = "<b>x</b>"
    table = GroupTable([nasty], [3], ["L1:1"], [nasty], np.array([[0.5]]), np.array([[1]], np.int8))
    bars = draw_group_bars([GroupBar(nasty, nasty, 0.2, 0.1, 0.3, 5)], 0.2)
    for markup in (bars, draw_heat_map(table)):
        assert "<b>x" not in markup
        assert "&lt;b&gt;x" in markup


def test_bars_and_cells_say_what_is_not_known():
    bars = draw_group_bars([GroupBar("a", "a", float("nan"), float("nan"), float("nan"), 0)], 0.1)
    assert "no documents" in bars
    mean = np.array([[0.4, np.nan], [0.1, 0.2]])
    table = GroupTable(
        ["g", "h"], [10, 10], ["L1:1", "L1:2"], ["one", "two"], mean, np.array([[1, 0], [-1, 0]], np.int8)
    )
    heat = draw_heat_map(table)
    assert heat.count("▲") == heat.count("▼") == 1
    assert "<td>–</td>" in heat
