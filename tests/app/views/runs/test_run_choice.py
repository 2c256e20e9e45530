"""Which runs the list shows and in which order, and the table that compares some of them."""

import math
import re
from types import SimpleNamespace
from typing import Any

import pytest

from topiary.app.jobs.estimates import Estimate
from topiary.app.views.runs.run_choice import RunChoice, draw_marked, draw_run_choice, explain_order
from topiary.app.views.runs.run_table import TableRun, draw_run_table, list_differing


def run(number: int, **fields: Any) -> Any:
    plain: dict[str, Any] = {
        "number": number, "name": "", "corpus_name": "garden", "model": "dlda", "inference": "tlasgr",
        "layers": (4, 2), "settings": {"eta": 0.05}, "options": {"minibatches": 10}, "seed": 1, "state": "finished",
        "minibatch": 10, "planned": 10, "seconds": 5.0, "point_perplexity": 100.0, "averaged_perplexity": None,
        "request": "run", "run_group": None,
    }  # fmt: skip
    return SimpleNamespace(**(plain | fields))


RUNS = [
    run(4, corpus_name="pond", point_perplexity=70.0, minibatch=9),
    run(3, name="Beds", model="datm", point_perplexity=None, seconds=50.0, inference="whai", settings={"kl": 2}),
    run(2, name="ash", point_perplexity=90.0, settings={"eta": 0.1}),
    run(1, seed=2, minibatch=30),
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
    assert "<img" not in draw_run_choice([run(1, corpus_name="<img>"), *RUNS], STATES.__getitem__, RunChoice())


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
        [TableRun(run(9, name="<img>", corpus_name="<img>"), "failed", None)], waiting=False
    )
