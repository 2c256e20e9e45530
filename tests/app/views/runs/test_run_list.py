"""What boards show: users' words are text, states are words, numbers are what the row says.

Where there are no topics yet, one sentence says why and what to do.
"""

import math
import re
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from numbers_traced import untraced

from topiary.app.jobs.estimates import Estimate, choose_headline, summarize_estimate
from topiary.app.jobs.forks import format_default
from topiary.app.names import STATES as RUN_STATES
from topiary.app.views import top_bar
from topiary.app.views.markup import write_attributes, write_element
from topiary.app.views.runs import kpis
from topiary.app.views.runs.new_run_form import FormField, describe_bounds, draw_new_run_form
from topiary.app.views.runs.run_list import (
    RunChoice,
    TableRun,
    WaitFacts,
    draw_empty_store,
    draw_marked,
    draw_run_choice,
    draw_run_table,
    draw_runs,
    draw_sparkline,
    draw_waiting_page,
    explain_no_topics,
    explain_order,
    follow_preparation,
    follow_start,
    list_differing,
    matches_search,
    round_estimate,
)
from topiary.app.views.text import format_number, format_perplexity, format_rate, format_span
from topiary.store.events import StructureChange

NASTY = "<img src=x onerror=alert(1)>\"'&"
WHAT_TO_DO = re.compile("resume|Watch says why and what may fix it|start another run|appear here")


def run(**changes):
    fields = {
        "number": 7,
        "name": "",
        "corpus_name": "garden",
        "model": "dlda",
        "inference": "tlasgr",
        "layers": (8, 4),
        "settings": {"eta": [0.05]},
        "options": {"protocol": {"documents": 312, "burn_in": 20, "collect": 20, "thin": 1, "observed": 0.8}},
        "seed": 1,
        "attempt": 1,
        "state": "running",
        "minibatch": 50,
        "planned": 200,
        "seconds": 100.0,
        "tokens_per_second": 412_000.0,
        "point_perplexity": 812.34,
        "averaged_perplexity": None,
        "heartbeat_age": 0.4,
        "message": "",
        "traceback": "",
        "request": "run",
        "created": datetime(2026, 1, 1, tzinfo=UTC),
        "started": None,
        "ended": None,
        "run_group": None,
        "parent": None,
        "parent_minibatch": None,
        "process": {},
    }
    return SimpleNamespace(**fields | changes)


def listed(row, state="running"):
    return draw_runs([row], lambda _: state, lambda _: (3.0, 2.0, 1.0), 7)


@pytest.mark.parametrize("field", ["name", "corpus_name", "model", "inference", "message"])
def test_no_word_of_a_user_becomes_markup(field):
    row = run(**{field: NASTY})
    about = kpis.RunHealth("failed", None, 0)
    shown = (
        listed(row, "failed"),
        kpis.draw_kpis(row, about),
        kpis.draw_details(row, [(NASTY, NASTY, NASTY)]),
        kpis.draw_overlay_choice(row, [run(number=8, name=NASTY)], [8], [("#000", "solid"), ("#111", "dashed")]),
        top_bar.draw_top_bar(top_bar.VisitorPlace("runs", row, "running", NASTY), [row], trouble=NASTY),
        draw_empty_store([NASTY]),
    )
    assert not [html for html in shown if "<img" in html]


def test_attributes_are_escaped_and_absent_ones_left_out():
    assert write_attributes(data_do='a"b', hidden=True, title=None, open=False) == ' data-do="a&#34;b" hidden'
    assert write_element("a", "<b>x</b>", class_="c") == '<a class="c"><b>x</b></a>'


@pytest.mark.parametrize(
    ("state", "verbs"),
    [
        ("running", {"pause", "stop"}),
        ("queued", {"move", "stop"}),
        ("paused", {"resume", "stop"}),
        ("stopped", {"resume"}),
        ("failed", {"resume"}),
        ("silent", {"resume", "stop"}),
        ("finished", set()),
    ],
)
def test_a_run_offers_what_its_state_allows(state, verbs):
    html = listed(run(), state)
    assert {verb for verb in ("pause", "stop", "resume", "move") if f'data-do="{verb}"' in html} == verbs


def test_list_and_strip_tell_one_point_perplexity_and_what_it_is_of():
    row = run(state="finished", point_perplexity=2485.0)
    of = (
        "Held-out words, lower is better. Topics: those of the last step alone. 20 + 20 sweeps, 312 test documents, "
        "80% of each observed."
    )
    html = draw_runs([row], lambda _: "finished", lambda _: (2800.0, 2485.0), 7)
    assert re.findall(r"<b>([\d,.]+)</b>\s*<span[^>]*>point perplexity", html) == ["2,485.0"]
    assert f'title="{of}"' in html
    strip = kpis.draw_kpis(row, kpis.measure_health("finished", [(10, 2800.0), (20, 2485.0)]))
    assert "<b>2,485.0</b>" in strip
    assert of in strip
    assert "▼ 315.0" in strip
    earlier = run(state="finished", point_perplexity=2485.0, options={"minibatches": 200})
    assert "how it was judged is not known" in kpis.draw_kpis(earlier, kpis.RunHealth("finished", None, 0))


@pytest.mark.parametrize(("minibatch", "left"), [(150, True), (200, False)])
def test_the_time_left_is_told_up_to_the_last_minibatch_and_not_while_it_is_evaluated(minibatch, left):
    row = run(minibatch=minibatch)
    everywhere = [
        kpis.draw_kpis(row, kpis.RunHealth("running", None, 0)).replace("Time left", " left<"),
        draw_runs([row], lambda _: "running", lambda _: (), 7),
        top_bar.draw_top_bar(top_bar.VisitorPlace("watch", row, "running"), [row]),
    ]
    assert [" left<" in html for html in everywhere] == [left] * 3


def test_the_end_of_a_run_is_told_in_its_card_without_saying_twice_that_it_ended_and_whole_when_pointed_at():
    last = "finished: judged with 1,968 test documents, 600 sweeps"
    row = run(state="finished", message=last, ended=datetime.now(UTC), point_perplexity=812.3)
    strip = kpis.draw_kpis(row, kpis.RunHealth("finished", None, 0))
    assert '<span class="tp-dim">judged with 1,968 test documents, 600 sweeps</span>' in strip
    assert strip.count("812.3</b>") == 1
    assert f'title="{last}. By the clock' in strip


def test_the_end_of_a_run_says_whether_its_curve_still_fell_and_repeats_no_figure():
    about = "20 + 20 sweeps, 312 test documents, 80% of each observed"
    last = f"finished: point perplexity 812.3 ({about}), no longer improving since step 210"
    row = run(state="finished", message=last, ended=datetime.now(UTC), point_perplexity=812.3)
    strip = kpis.draw_kpis(row, kpis.RunHealth("finished", -0.1, 40, "no longer improving since step 210"))
    assert strip.count("812.3") == 3, "its card, and the tips of the last one and of its name"
    assert '<span class="tp-dim">as planned</span>' in strip
    assert "no longer improving since step 210<br>" in strip
    row.message = f"{last}; test perplexity (600 sweeps, all test documents) 799.1"
    said = '<span class="tp-dim">test perplexity (600 sweeps, all test documents) 799.1</span>'
    assert said in kpis.draw_kpis(row, kpis.RunHealth("finished", None, 0))


def test_the_end_of_a_run_repeats_no_figure_by_whatever_name_it_stands_for_the_run():
    row = run(state="finished", ended=datetime.now(UTC), point_perplexity=812.3)
    for latest, trend in (({"mean_perplexity": 799.1}, "still falling"), ({}, ""), ({"mean_perplexity": 12_000.0}, "")):
        row.message = f"finished: {summarize_estimate(row, choose_headline(row, latest), trend)}"
        assert '<span class="tp-dim">as planned</span>' in kpis.draw_kpis(
            row, kpis.RunHealth("finished", None, 0, "", latest)
        )
    row.message += ", the bound no longer rises"
    assert '<span class="tp-dim">the bound no longer rises</span>' in kpis.draw_kpis(
        row, kpis.RunHealth("finished", None, 0)
    )


def test_a_run_of_a_group_says_so_with_its_seed_and_is_found_by_it():
    html = listed(run(run_group=5, seed=3))
    assert ">Group 5 · seed 3</div>" in html
    assert untraced(html)[1] == []
    assert "Group" not in listed(run())
    assert matches_search(run(run_group=5, seed=3), "running", "group 5 seed 3")
    assert not matches_search(run(), "running", "group")


@pytest.mark.parametrize(
    ("state", "name"), [("finished", "Finished"), ("paused", "Paused"), ("queued", "Waiting since")]
)
def test_the_date_beneath_a_state_is_that_of_the_state_and_says_so_when_pointed_at(state, name):
    made, over = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 3, 4, 5, tzinfo=UTC)
    row = run(state=state, created=made, ended=None if state == "queued" else over)
    date = f"{(made if state == 'queued' else over).astimezone():%d %b %H:%M}"
    assert f'title="{name} {date}, by the clock of the database">{date}</div>' in listed(row, state)
    row.message = "<said>"
    assert f'title="&lt;said&gt;. {name} {date}, by' in listed(row, state)
    assert "by the clock" not in listed(row, "running")


def test_a_fork_says_where_it_comes_from_and_whether_its_parent_is_still_there():
    child = run(parent=3, parent_minibatch=2000)
    said = "continues run 3 from step 2,000"
    assert f"{said} (deleted since)" in listed(child)
    both = draw_runs([child, run(number=3)], lambda _: "finished", lambda _: (), 7)
    assert said in both
    assert "deleted since" not in both
    assert both.count('data-do="compare"') == 1
    assert 'data-do="compare"' not in listed(child)
    bars = [
        top_bar.draw_top_bar(top_bar.VisitorPlace("watch", child, "finished"), everyone)
        for everyone in ([child], [run(number=3)])
    ]
    assert ['data-value="3" title="Continues' in bar for bar in bars] == [False, True]
    assert "run 3 from step 2,000" in kpis.draw_details(child, [])
    assert said in kpis.draw_kpis(child, kpis.RunHealth("running", None, 0))
    bar = top_bar.draw_top_bar(top_bar.VisitorPlace("watch", run(), "finished"), [])
    assert "continues run" not in listed(run()) + bar


def test_learnt_widths_are_told_with_their_budget_and_in_the_bar():
    learnt = run(layers=(121, 110, 84), settings={"layers": [128, 128, 128], "grow": True})
    assert "121-110-84, learnt from a budget of 128" in kpis.draw_details(learnt, [])
    assert 'title="grow: ' in kpis.draw_details(learnt, [])
    assert "<dd>eta_1 0.0412, gamma0 2</dd>" in kpis.draw_details(learnt, [], {"eta_1": 0.04123, "gamma0": 2.0})
    assert "Learnt" not in kpis.draw_details(learnt, [], {})
    assert "121-110-84" in top_bar.draw_top_bar(top_bar.VisitorPlace("watch", learnt, "running"), [learnt])
    strip = kpis.draw_kpis(learnt, kpis.RunHealth("running", None, 0))
    assert "121-110-84" in strip
    assert "learnt from a budget of 128" in strip
    assert "budget" not in kpis.draw_details(run(), []) + kpis.draw_kpis(run(), kpis.RunHealth("running", None, 0))


def test_changes_of_one_minibatch_are_one_sentence_without_the_list_of_topics():
    happened = [
        SimpleNamespace(minibatch=1, change=None),
        SimpleNamespace(minibatch=16, change=StructureChange(1, (2, 9), 9, 7)),
        SimpleNamespace(minibatch=16, change=StructureChange(2, (), 0, 7)),
    ]
    assert kpis.summarise_changes(happened) == [(16, "layer 1 from 9 to 7 topics; layer 2 begins with 7 topics")]


def test_every_run_can_be_continued_as_another_one():
    for html in (
        listed(run(), "finished"),
        top_bar.draw_top_bar(top_bar.VisitorPlace("watch", run(), "finished"), [run()]),
    ):
        assert 'data-do="fork" data-run="7"' in html


def test_every_number_of_the_list_and_the_strip_says_what_it_is_when_it_is_pointed_at():
    row = run(averaged_perplexity=700.0, parent=3, parent_minibatch=40)
    latest = {"mean_perplexity": 760.0}
    html = draw_runs([row], lambda _: "running", lambda _: (3.0, 2.0), 7, latest=lambda _: latest)
    strip = kpis.draw_kpis(row, kpis.measure_health("running", [(10, 900.0), (20, 850.0)], latest))
    for text, least in ((html, 5), (strip, 8)):
        seen, silent = untraced(text)
        assert (seen >= least, silent) == (True, [])


def test_deleting_needs_the_number_typed_however_long_the_name():
    html = listed(run(name="my roses " * 20))
    assert 'data-needs="7"' in html
    assert " disabled" in html[html.index("data-needs") :]


def test_a_wish_on_its_way_is_said():
    assert "pausing" in listed(run(request="pause"))
    assert "stopping" in listed(run(request="stop"))


def test_the_strip_says_progress_pace_and_time_left():
    latest = {"mean_perplexity": 760.04}
    html = kpis.draw_kpis(run(), kpis.measure_health("running", [(10, 900.0), (20, 850.0), (30, 820.0)], latest))
    assert ">Perplexity of the mean topics</span></span><b>760.0</b>" in html
    assert (
        "mean topics"
        not in kpis.draw_kpis(run(), kpis.measure_health("running", [(10, 900.0), (20, 850.0), (30, 820.0)])).lower()
    )
    for said in ("812.3", "50<small> / 200", "2 s each", "412 k", "5 min 00 s", "just now", "▼ 80.0"):
        assert said in html


@pytest.mark.parametrize(
    ("state", "perplexity", "said"),
    [("running", None, "on its way"), ("finished", None, "not measured"), ("finished", 812.3, "")],
)
def test_a_perplexity_that_is_there_is_not_called_unmeasured(state, perplexity, said):
    html = kpis.draw_kpis(run(point_perplexity=perplexity), kpis.RunHealth(state, None, 0))
    assert [words for words in ("on its way", "not measured") if words in html] == ([said] if said else [])


def test_the_averaged_perplexity_is_a_number_of_its_own():
    assert "Averaged perplexity" not in kpis.draw_kpis(run(), kpis.RunHealth("running", None, 0))
    assert "757.1" in kpis.draw_kpis(run(averaged_perplexity=757.1), kpis.RunHealth("running", None, 0))


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (None, "–"),
        (0.2, "0 s"),
        (59.6, "1 min 00 s"),
        (75, "1 min 15 s"),
        (1200, "20 min"),
        (7500, "2 h 05 min"),
        (200000, "2 d 7 h"),
    ],
)
def test_times_are_said_as_people_say_them(seconds, said):
    assert format_span(seconds) == said


def test_numbers_that_are_missing_are_dashes():
    rates = [format_rate(value) for value in (999, 999.7, 1000, 412_345, 999_499, 999_950, 1e6, 1.84e6, 999.9e9)]
    assert rates == ["999", "1,000", "1 k", "412 k", "999 k", "1,000 k", "1 M", "1.84 M", "1,000 G"]
    assert (format_number(None), format_rate(float("nan")), format_perplexity(None)) == ("–", "–", "–")


def test_a_sparkline_draws_finite_values_only_and_nothing_of_one_point():
    assert "polyline" not in draw_sparkline([5.0])
    assert "nan" not in draw_sparkline([1.0, float("nan"), 3.0])
    assert draw_sparkline([1.0, float("nan"), 3.0]).count(",") == draw_sparkline([1.0, 3.0]).count(",")
    assert "polyline" in draw_sparkline([2.0, 2.0])


def test_a_constant_and_a_default_are_typed_as_people_type_them():
    assert [format_default(value) for value in ((128, 64), (0.05,), True, 20.0, "poisson")] == [
        "128-64",
        "0.05",
        "true",
        "20.0",
        "poisson",
    ]


def test_bounds_are_said_in_whole_numbers_where_they_are_whole():
    assert describe_bounds(1, 10**7, "200") == "1 to 10,000,000, usually 200"
    assert describe_bounds(0.001, 100, "4.0") == "0.001 to 100, usually 4.0"
    assert (describe_bounds(0, None, "1"), describe_bounds(None, None, "")) == ("at least 0, usually 1", "")


def test_the_form_opens_the_folded_settings_when_one_of_them_is_wrong():
    wrong = FormField("tau", "Delay", "help", "text", "x", error="tau cannot be read")
    right = FormField("tau", "Delay", "help", "text", "1")
    assert 'data-key="advanced" open' in draw_new_run_form([], [], "", [], [wrong], ("", ""), ready=False)
    assert 'data-key="advanced" open' not in draw_new_run_form([], [], "", [], [right], ("", ""), ready=True)
    assert "tau cannot be read" in draw_new_run_form([], [], "", [], [wrong], ("", ""), ready=False)


def test_an_empty_store_offers_the_demo_and_one_with_a_corpus_the_form():
    assert 'data-do="demo"' in draw_empty_store([])
    assert 'data-do="demo"' not in draw_empty_store(["garden"])
    assert NASTY not in draw_empty_store([], NASTY)
    assert 'data-do="new"' in draw_empty_store(["garden"])


def options(bar):
    return re.findall(r'<option value="(\w*)"', bar)


def test_the_chooser_offers_the_newest_those_at_work_and_the_chosen_and_leads_to_all():
    everyone = [run(number=number) for number in range(300, 0, -1)]
    states = {4: "running", 5: "paused"}

    def bar(page="watch", rows=everyone):
        return top_bar.draw_top_bar(
            top_bar.VisitorPlace(page, rows[-7], "finished"), rows, lambda number: states.get(number, "")
        )

    newest = [str(number) for number in range(300, 250, -1)]
    assert options(bar()) == [*newest, "7", "4", "all"]
    assert "All 300 runs" in bar()
    assert options(bar("runs")) == [*newest, "7", "4"]
    assert "all" not in options(bar(rows=everyone[-40:]))


def test_a_column_has_one_kind_of_perplexity_the_best_that_most_runs_have():
    averaged = run(number=1, state="finished", averaged_perplexity=700.0, point_perplexity=812.0)
    others = [run(number=number, state="finished", point_perplexity=800.0 + number) for number in (2, 3)]
    html = draw_runs([averaged, *others], lambda _: "finished", lambda _: (), 1)
    assert re.findall(r"<b>([\d,.]+)</b><span[^>]*>([a-z ]*perplexity)", html) == [
        ("812.0", "point perplexity"), ("802.0", "point perplexity"), ("803.0", "point perplexity"),
    ]  # fmt: skip


def test_the_steps_of_the_demo_follow_its_preparation():
    assert [follow_preparation(share, 0, 0).step for share in (0.0, 0.1, 0.5, 0.95)] == [0, 0, 1, 2]
    seconds = [follow_preparation(share, 0, 0).seconds for share in (0.0, 0.3, 0.9, 1.0)]
    assert seconds == sorted(seconds, reverse=True)
    page = draw_waiting_page(follow_preparation(0.4, 5088, 145_030), 40, late=False)
    assert "in about 40 seconds." in page
    assert "<b>Read 5,088 documents</b><span>145,030 words</span>" in page
    assert '<li class="wt-now" aria-current="step"><b>Compile the model</b>' in page
    assert "<b>Python documentation</b>" in page


def test_while_a_model_is_compiled_the_estimate_falls_and_the_bar_grows():
    corpus = WaitFacts(0, 0.0, 0.0, 300, 9000)
    facts = [follow_start(corpus, "waiting for kernels that another run is compiling", at) for at in (0.0, 21.0, 90.0)]
    assert [round_estimate(each.seconds) for each in facts] == [50, 30, 6]
    assert facts[0].share < facts[1].share < facts[2].share <= follow_start(corpus, "training", 0.0).share
    assert [each.step for each in (*facts, follow_start(corpus, "training", 0.0))] == [1, 1, 1, 2]
    assert follow_start(corpus, "", 0.0) == follow_start(corpus, "loading 300 documents", 0.0) == facts[0], (
        "unknown yet"
    )
    assert "<h1>Your topics come after those of the run that trains now.</h1>" in draw_waiting_page(
        facts[0]._replace(queued=True), 50, late=True
    )


def test_estimates_are_round():
    assert [round_estimate(seconds) for seconds in (600, 91, 90, 33, 10.5, 6, 0)] == [600, 120, 50, 40, 20, 6, 6]


def test_documents_of_a_visitor_are_in_the_drawing_as_text():
    own = [("<b>first</b>", "coffee " * 90), ("", "")]
    page = draw_waiting_page(WaitFacts(2, 0.9, 6.0, 2, 90, own, (8, 4)), 6, late=True)
    assert "<b>first" not in page
    assert "&lt;b&gt;first" in page
    assert page.count("a document</text>") == 2  # in the wide and in the narrow drawing
    assert "Longer than usual: training." in page
    assert "Layers of 8, 4 topics." in page


def listed_run(number: int, **fields: Any) -> Any:
    plain: dict[str, Any] = {
        "number": number, "name": "", "corpus_name": "garden", "model": "dlda", "inference": "tlasgr",
        "layers": (4, 2), "settings": {"eta": 0.05}, "options": {"minibatches": 10}, "seed": 1, "state": "finished",
        "minibatch": 10, "planned": 10, "seconds": 5.0, "point_perplexity": 100.0, "averaged_perplexity": None,
        "request": "run", "run_group": None,
    }  # fmt: skip
    return SimpleNamespace(**(plain | fields))


RUNS = [
    listed_run(4, corpus_name="pond", point_perplexity=70.0, minibatch=9),
    listed_run(3, name="Beds", model="datm", point_perplexity=None, seconds=50.0, inference="whai", settings={"kl": 2}),
    listed_run(2, name="ash", point_perplexity=90.0, settings={"eta": 0.1}),
    listed_run(1, seed=2, minibatch=30),
]
STATES = {4: "running", 3: "failed", 2: "finished", 1: "finished"}


def select(**chosen: str) -> list[int]:
    choice = RunChoice()
    for name, value in chosen.items():
        choice = choice.change(name, value)
    return [row.number for row in choice.select(RUNS, STATES.__getitem__, lambda _: {})]


@pytest.mark.parametrize(
    ("order", "numbers"),
    [
        ("newest", [4, 3, 2, 1]), ("oldest", [1, 2, 3, 4]), ("perplexity", [2, 1, 4, 3]), ("steps", [1, 3, 2, 4]),
        ("time", [3, 4, 2, 1]), ("name", [2, 3, 1, 4]), ("no such order", [4, 3, 2, 1]),
    ],
)  # fmt: skip
def test_runs_are_listed_in_the_chosen_order(order: str, numbers: list[int]) -> None:
    assert select(order=order) == numbers


def test_runs_are_chosen_by_state_corpus_model_and_words() -> None:
    assert select(state="finished") == [2, 1]
    assert select(corpus="garden", model="dlda") == [2, 1]
    assert select(model="datm") == [3]
    assert select(corpus="garden", text="ASH") == [2]
    assert select(state="finished", corpus="pond") == []


def test_only_what_differs_among_runs_can_be_chosen() -> None:
    html = draw_run_choice(RUNS, STATES.__getitem__, RunChoice(model="datm"))
    assert re.findall(r'data-change="(\w+)"', html) == ["state", "corpus", "model", "order"]
    assert '<option value="datm" selected>DATM</option>' in html
    assert "all corpora" in html
    assert draw_run_choice(RUNS[2:3], STATES.__getitem__, RunChoice()) == ""
    assert 'value="gone" selected' in draw_run_choice(RUNS, STATES.__getitem__, RunChoice(corpus="gone"))
    assert "<img" not in draw_run_choice([listed_run(1, corpus_name="<img>"), *RUNS], STATES.__getitem__, RunChoice())


def test_perplexities_of_several_corpora_are_not_ranked_without_a_warning() -> None:
    assert "do not compare" in explain_order(RUNS, RunChoice(order="perplexity"))
    assert explain_order(RUNS[1:], RunChoice(order="perplexity")) == ""
    assert explain_order(RUNS, RunChoice()) == ""


def test_a_table_takes_two_marked_runs() -> None:
    assert draw_marked((), 1) == ""
    assert "disabled" not in draw_marked({1, 2}, 4)
    assert re.search(r'data-do="table"[^>]* disabled', draw_marked({1}, 4))
    assert "Mark all" in draw_marked((), 40)
    assert "Mark the first 40" in draw_marked((), 41)


def test_only_settings_that_differ_are_columns_and_those_that_a_model_lacks_are_dashes() -> None:
    found = {label: values for label, _, values in list_differing(RUNS[1:])}
    assert found["Seed"] == ["1", "1", "2"]
    assert found["Model"] == ["DATM", "DLDA", "DLDA"]
    assert not {"Corpus", "Topics per layer", "kl"} & found.keys()
    (eta,) = [values for label, values in found.items() if "–" in values and label not in ("Inference",)]
    assert eta == ["–", "0.1", "0.05"]


def test_the_table_has_the_figures_of_every_run_and_marks_the_best_of_those_that_compare() -> None:
    def estimate(value: float, name: str = "point perplexity") -> Estimate:
        return Estimate("point_perplexity", name, value, "")

    rows = [
        TableRun(RUNS[0], "running", estimate(70.0)),
        TableRun(RUNS[1], "failed", None),
        TableRun(RUNS[2], "finished", estimate(90.0), (0.25, math.nan)),
        TableRun(RUNS[3], "finished", estimate(100.0), (0.125,)),
    ]
    html = draw_run_table(rows, waiting=True)
    assert re.findall(r"<b>([\d.]+)</b>", html) == ["90.0"], "the run on the other corpus has nothing to compare with"
    assert "NPMI, layer 2</span></th>" in html
    assert "<td>0.250</td><td>–</td>" in html
    assert "<td>0.125</td><td>–</td>" in html
    assert "30 mini-batches" in html
    assert "50 s" in html
    assert "Coherences are being read" in html
    assert "do not compare" in html
    assert "do not differ in any setting" in draw_run_table([rows[2], rows[2]], waiting=False)
    assert "<img" not in draw_run_table(
        [TableRun(listed_run(9, name="<img>", corpus_name="<img>"), "failed", None)], waiting=False
    )


@pytest.mark.parametrize("state", RUN_STATES)
def test_every_state_has_one_sentence_with_what_to_do_or_to_wait_for(state):
    said = explain_no_topics(7, state, "compiling kernels, once.")
    assert said.startswith("Run 7 ")
    assert said.count(".") == 1
    assert said.endswith(".")
    assert WHAT_TO_DO.search(said)


def test_what_a_worker_does_is_said_while_it_trains_only():
    assert "(compiling kernels, once)" in explain_no_topics(7, "running", "compiling kernels, once")
    assert "compiling" not in explain_no_topics(7, "failed", "compiling kernels, once")
