"""Bars by group: what is not known is said, and no text becomes markup."""

from topiary.app.views.trends.group_chart import GroupBar, draw_group_bars


def test_names_of_groups_are_no_markup():
    nasty = "<b>x</b>"
    markup = draw_group_bars([GroupBar(nasty, nasty, 0.2, 0.1, 0.3, 5)], 0.2)
    assert "<b>x" not in markup
    assert "&lt;b&gt;x" in markup


def test_bars_say_what_is_not_known():
    bars = draw_group_bars([GroupBar("a", "a", float("nan"), float("nan"), float("nan"), 0)], 0.1)
    assert "no documents" in bars
