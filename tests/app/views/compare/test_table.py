"""What the boards of the compare page say: safe text, right numbers, right order."""

import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
from topic_hierarchies import NASTY, arrays
from topic_pairs import WIDTHS, changed, frame_of, reword, same

from topiary.app.analysis.comparison import KINDS, Agreement, Comparison, compare, count_kinds, find_edge_changes
from topiary.app.analysis.hierarchy import format_identity
from topiary.app.analysis.seeds import Range, SeedSpread
from topiary.app.views.compare import head, summary
from topiary.app.views.compare import head as compare_pair
from topiary.app.views.compare import table as compare_table
from topiary.app.views.compare.trees import CompareCut, choose_dashes, choose_edge_colour, draw_trees
from topiary.app.views.text import LONGEST_TITLE
from topiary.app.views.theme import LIGHT, LIVE
from topiary.engine.hierarchy.align import TopicPair
from topiary.engine.hierarchy.tree import Node

NAN = float("nan")


@pytest.fixture
def comparison() -> Comparison:
    return changed()


def table(comparison: Comparison, sort: str = "change", layer: int = 0, most: int = 1000) -> str:
    return compare_table.draw_pair_table(comparison, compare_table.PairListing(sort, layer, None, most))


def everything(comparison: Comparison) -> str:
    changes = find_edge_changes(comparison, 0.5)
    roots = tuple(comparison.b.nodes(3))
    drawn = draw_trees(comparison, changes, CompareCut((), roots, 0.5, 40))
    pairs = "".join(compare_pair.draw_pair(comparison, pair, one_run=False) for pair in comparison.pairs)
    legend = compare_table.draw_edge_legend(drawn.changes, changes)
    return table(comparison) + pairs + drawn.a + drawn.b + legend + compare_table.list_edge_changes(comparison, changes)


def test_the_short_answer_counts_in_the_singular_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def said(stronger: int, lost: int, gained: int) -> str:
        counts = {"stronger": stronger, "weaker": 0, "same": 0, "lost": lost, "gained": gained}
        monkeypatch.setattr(summary, "count_kinds", lambda _changes: counts)
        return summary.summarise_changes(same()[0], [])

    assert "<b>8 of 9 edges of A stay</b> (8 stronger, 0 weaker); 1 is new." in said(8, 1, 1)
    assert "<b>A has no edges</b>; 3 of B are new." in said(0, 0, 3)
    assert "<b>A has no edges</b>; 1 of B is new." in said(0, 0, 1)
    assert "<b>1 of 2 edges of A stays</b> (1 stronger, 0 weaker); 0 are new." in said(1, 1, 0)
    assert "<b>0 of 1 edge of A stay</b>; 2 are new." in said(0, 1, 2)


def test_words_and_names_that_look_like_markup_are_text_everywhere() -> None:
    labels = {(1, 1): NASTY[0], (2, 2): NASTY[2]}
    a = frame_of(arrays(WIDTHS), 7, labels=labels)
    b = frame_of(arrays(WIDTHS, seed=2), 8, labels=labels)
    html = everything(compare(a, b))
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    assert 'quo"te' not in html


def test_every_pair_is_in_the_table_once_in_every_order(comparison: Comparison) -> None:
    keys = {f"{'b' if pair.b else 'a'}{format_identity(pair.b or pair.a)}" for pair in comparison.pairs}
    for sort in compare_table.SORT_WORDS:
        found = re.findall(r'<tr data-key="([^"]+)"', table(comparison, sort))
        assert len(found) == len(keys)
        assert set(found) == keys


def test_each_order_begins_with_what_it_names(comparison: Comparison) -> None:
    def first(sort: str) -> list[float]:
        pairs = compare_table.sort_pairs(comparison, sort)
        measure = {
            "score": lambda pair: pair.score,
            "share": lambda pair: -abs(comparison.compute_share_change(pair)),
            "margin": lambda pair: pair.margin if pair.paired else 9.0,
            "change": lambda pair: -(1 - pair.score) * max(share(pair)),
            "popularity": lambda pair: -max(share(pair)),
        }[sort]
        return [measure(pair) for pair in pairs]

    def share(pair):
        return [comparison.hierarchy(side).share(pair.on(side)) for side in ("a", "b") if pair.on(side)]

    for sort in compare_table.SORT_WORDS:
        assert first(sort) == sorted(first(sort)), sort
    assert {pair.layer for pair in compare_table.sort_pairs(comparison, "change", 2)} == {2}


def test_a_long_table_is_cut_but_never_loses_the_chosen_pair(comparison: Comparison) -> None:
    last = compare_table.sort_pairs(comparison, "change")[-1]
    html = compare_table.draw_pair_table(comparison, compare_table.PairListing("change", 0, last, 5))
    assert len(re.findall("<tr data-key", html)) == 6
    assert html.count("cm-chosen") == 1
    assert "more of" in html


def test_the_pair_tells_what_entered_and_left_and_offers_other_partners(comparison: Comparison) -> None:
    pair = max((pair for pair in comparison.pairs if pair.paired), key=lambda pair: len(comparison.words(pair).entered))
    html = compare_pair.draw_pair(comparison, pair, one_run=False)
    words = comparison.words(pair)
    assert html.count("<ins ") == len(words.entered) + len(words.left)
    assert html.count("<option") >= 12
    assert re.search(f'value="{format_identity(pair.a)}" selected', html)
    assert "Undo" not in html
    assert "Partner in A" not in compare_pair.draw_pair(comparison, pair, one_run=True)


def test_a_pair_matched_by_hand_can_be_undone_and_says_so() -> None:
    made = arrays(WIDTHS)
    decided = compare(frame_of(made, 7), frame_of(made, 8), [TopicPair(2, 0, 3), TopicPair(1, 4, -1)])
    pair = decided.pair("a", Node(2, 0))
    assert pair is not None
    html = compare_pair.draw_pair(decided, pair, one_run=False)
    assert "matched by hand" in html
    assert "Undo" in html
    assert table(decided).count("by hand") == 2  # once as title, once as word
    alone = decided.pair("a", Node(1, 4))
    assert alone is not None
    assert "decided by hand" in compare_pair.draw_pair(decided, alone, one_run=False)
    assert '<option value="none" selected>' in compare_pair.draw_pair(decided, alone, one_run=False)


def test_the_legend_counts_the_drawn_edges_and_all_edges(comparison: Comparison) -> None:
    changes = find_edge_changes(comparison, 1.0)
    drawn = draw_trees(comparison, changes, CompareCut((), tuple(comparison.b.nodes(3)[:1]), 1.0, 40))
    html = compare_table.draw_edge_legend(drawn.changes, changes)
    here, every = count_kinds(drawn.changes), count_kinds(changes)
    assert re.findall(r"<b>(\d+)</b> of (\d+)", html) == [(str(here[kind]), str(every[kind])) for kind in KINDS]
    assert sum(here.values()) < sum(every.values())


@pytest.mark.parametrize("word", ["w{0:03}", "word number {0:03}", "w{0:03} and so on, far too long a name for a box"])
def test_words_that_entered_are_marked_in_the_tree_however_long_and_with_blanks(word: str) -> None:
    compared = reword(tuple(word.format(number) for number in range(300)))
    roots = tuple(compared.b.nodes(1))
    drawn = draw_trees(compared, find_edge_changes(compared, 1.0), CompareCut((), roots, 1.0, 40))
    entered = 0  # a long title is cut, with the words that entered it
    for pair in compared.pairs:
        if pair.paired and pair.b in roots:
            cut = compared.b.title_words(pair.b) if len(compared.b.title(pair.b)) > LONGEST_TITLE else ()
            entered += len(set(compared.words(pair).entered) - set(cut))
    assert drawn.b.count("underline") >= entered > 20


def test_kinds_of_edges_differ_by_more_than_colour() -> None:
    for theme in (LIVE, LIGHT):
        assert len({choose_edge_colour(theme, kind) for kind in KINDS}) == len(KINDS)
    patterns = [choose_dashes(kind, 2.6) for kind in ("gained", "lost", "weaker", "same")]
    assert len(set(patterns)) == 4
    for kind in ("gained", "lost", "weaker"):  # round ends of a wide line must not close the gaps
        gap = float(choose_dashes(kind, 8.0).split()[1])
        assert gap > 8


def test_only_the_most_popular_topics_are_drawn_and_the_rest_is_a_chip(comparison: Comparison) -> None:
    changes = find_edge_changes(comparison, 0.1)
    drawn = draw_trees(comparison, changes, CompareCut((), tuple(comparison.b.nodes(3)), 0.1, 4))
    assert "tp-more" in drawn.b
    assert len(re.findall(r'data-id="L1:\d+" role', drawn.b)) < 24


def test_the_numbers_stand_beside_those_of_another_seed() -> None:
    now = Agreement((0.9, 0.5), (1.0, 0.75), 0.5, 0.25)
    layers = (Range(0.7, 0.8), Range(0.5, 0.52)), (Range(1, 1), Range(0.9, 1))
    spread = SeedSpread(3, *layers, Range(0.8, 0.8), None, (), ())
    html = summary.draw_agreement(now, spread)
    report = re.findall(r"<b>([0-9.]+)</b><span class=\"tp-dim\">(.*?)(?: · |</span>)", html)
    assert report == [
        ("0.50", "like two seeds 0.50 to 0.52"), ("0.90", "above two seeds 0.70 to 0.80"),
        ("0.50", '<strong class="cm-below">below</strong> two seeds 0.80'), ("0.25", ""),
    ]  # fmt: skip
    assert "75% of the weight matched</span> (two seeds 90% to 100%)" in html
    without = summary.draw_agreement(Agreement((NAN,), (0.0,), NAN, NAN), None)
    assert "two seeds" not in without
    assert "<b>–</b>" in without


def test_a_pair_is_marked_where_it_is_less_alike_than_nearly_all_pairs_of_two_seeds(comparison: Comparison) -> None:
    scores = [pair.score for pair in comparison.pairs if pair.layer == 1 and pair.paired]
    floor = sorted(scores)[3] + 1e-9
    listing = compare_table.PairListing("score", 1, None, 99, (floor, NAN, NAN))
    html = compare_table.draw_pair_table(comparison, listing)
    assert html.count("cm-beyond") == html.count("More than chance: ") == 4
    assert "; 4 of the pairs less alike than 95% of those of two seeds" in html
    assert html.count("No more than chance: ") == len(scores) - 4
    assert "chance" not in compare_table.draw_pair_table(comparison, compare_table.PairListing("score", 1, None, 99))


def run(number: int, **more: object) -> SimpleNamespace:
    known = {
        "number": number, "name": "", "corpus_name": "<b>news</b>", "model": "dlda", "inference": "tlasgr",
        "layers": (8, 4), "seed": 1, "minibatch": 10, "planned": 20, "seconds": 3.0, "point_perplexity": None,
        "averaged_perplexity": None, "state": "running", "options": {}, "settings": {"eta": 0.05, "layers": [8, 4]},
    }  # fmt: skip
    return SimpleNamespace(**(known | more))


def test_settings_that_differ_are_shown_and_a_setting_of_one_model_only_is_a_dash() -> None:
    one, two = run(1), run(2, seed=2, settings={"eta": 0.05, "label_weight": 1.0})
    rows = {each.name: (each.a, each.b) for each in head.pair_settings(one, two) if not each.same}
    assert rows == {"seed": ("1", "2"), "label_weight": ("–", "1.0")}
    html = head.draw_settings(one, two, identical=False)
    assert html.count("<tr") == 3
    assert re.findall(r"<th[^>]*>([^<]*)</th>", html)[3:] == ["Seed", "label_weight"]
    assert "<b>news" not in head.draw_settings(one, two, identical=True)
    assert "Nothing differs" in head.draw_settings(one, replace_seed(one), identical=False)


def test_the_point_perplexity_is_one_figure_and_says_what_it_is_of() -> None:
    protocol = {"documents": 312, "burn_in": 20, "collect": 20, "thin": 1, "observed": 0.8}
    done = run(1, state="finished", point_perplexity=3032.0, options={"protocol": protocol})
    earlier = run(2, state="stopped", point_perplexity=2485.0, options={})
    rows = {each.name: each for each in head.pair_settings(done, earlier)}
    row = rows["point perplexity"]
    assert (row.a, row.b) == ("3,032.0", "2,485.0")
    assert row.report.tip.startswith("A: Held-out words")
    assert "20 + 20 sweeps, 312 test documents, 80% of each observed. B: Held-out" in row.report.tip
    assert [name for name in rows if "perplexity" in name] == ["point perplexity"]
    judged = {each.name: each for each in head.pair_settings(done, earlier, ({"mean_perplexity": 2900.0}, {}))}
    both = judged["perplexity of the mean topics"]
    assert (both.a, both.b) == ("2,900.0", "–")


def replace_seed(row: SimpleNamespace) -> SimpleNamespace:
    return SimpleNamespace(**vars(row))


def test_the_head_names_both_runs_and_every_control_has_a_label() -> None:
    end = head.ComparedRun(run(1), (SimpleNamespace(number=4, minibatch=500),), 4, 900)
    html = head.draw_head(end, end._replace(run=run(2)), [run(2), run(1)], head.HeadFacts(5.0, rooted=True), ready=True)
    assert html.count("<select") == html.count('aria-label="Run') + html.count('aria-label="Snapshot') + 1 == 5
    assert '<option value="4" selected>Mini-batch 500</option>' in html
    assert "&lt;b&gt;news" in html
    empty = head.draw_head(head.ComparedRun(None, (), 0, None), end, [run(1)], head.HeadFacts(5.0), ready=False)
    assert "Choose a run" in empty
    assert "Save" not in empty
    assert ('data-do="popular"' in html, 'data-do="popular"' in empty) == (True, False)


def test_names_given_by_people_stand_instead_of_words() -> None:
    comparison, _ = same()
    named = replace(comparison, b=replace(comparison.b, labels={Node(1, 0): "herbs & spices"}))
    assert "herbs &amp; spices" in table(named)
