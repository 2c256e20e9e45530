"""Runs ordered together: a run for each seed and combination of settings, all or none."""

import pytest
from process_samples import SMALL, small_corpus

from topiary.app.jobs.new_run import MOST_SEEDS, create_runs, read_seeds
from topiary.app.jobs.run_rules import NewRunError, RunRequest
from topiary.store import runs


def ordered(db, seeds=(), **more):
    fields = {"texts": SMALL, "minibatches": 5} | more
    return create_runs(db, RunRequest(corpus="small", seeds=seeds, model="dlda", **fields))


def test_a_grid_is_every_combination_times_the_seeds_with_names_that_say_so(file):
    texts = {name: text for name, text in SMALL.items() if name != "layers"}
    rows = ordered(file, (1, 2), texts=texts, grid={"eta": ["0.01", "0.05"], "layers": ["6-3", "4"]}, name="trial")
    assert [row.name for row in rows[:3]] == [
        "trial, eta 0.01, layers 6-3, seed 1",
        "trial, eta 0.01, layers 6-3, seed 2",
        "trial, eta 0.01, layers 4, seed 1",
    ]
    assert [(row.settings["eta"][0], row.layers, row.seed) for row in rows] == [
        (eta, layers, seed) for eta in (0.01, 0.05) for layers in ((6, 3), (4,)) for seed in (1, 2)
    ]
    assert {row.run_group for row in rows} == {rows[0].number}


def test_a_grid_without_seeds_has_the_one_seed_which_is_not_in_the_names(file):
    rows = ordered(file, seed=7, grid={"eta": ["0.01", "0.05"]})
    assert [(row.name, row.seed) for row in rows] == [("small dlda, eta 0.01", 7), ("small dlda, eta 0.05", 7)]


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"grid": {"eta": ["0.05", "-1"]}}, "eta must be"),
        ({"grid": {"colour": ["red"]}}, "colour"),
        ({"grid": {"layers": ["6", "3"]}}, "the setting layers is given by itself and in the grid"),
        ({"grid": {"eta": ["0.05", "0.05"]}}, "must be different ones; got '0.05,0.05'"),
        ({"grid": {"eta": []}}, "the values of eta"),
        ({"seeds": range(51), "grid": {"eta": ["0.1", "0.2"]}}, "2 combinations of settings times 51 seeds are more"),
        ({"seeds": (1, 2), "on": "nowhere"}, "--on takes local:N"),
    ],
)
def test_what_cannot_be_orders_nothing(file, more, sentence):
    with pytest.raises(NewRunError, match=sentence.replace("(", r"\(")):
        ordered(file, **more)
    assert runs.list_runs(file) == []


def test_the_averaged_protocol_is_given_among_the_settings_and_needs_test_documents(file):
    texts = SMALL | {"averaged": "true", "averaged_burn_in": "2", "averaged_samples": "3", "paper_point": "true"}
    (row,) = ordered(file, texts=texts)
    measures = [row.options[name] for name in ("averaged", "burn_in", "samples", "paper_point")]
    assert (measures, row.settings["burn_in"]) == ([True, 2, 3, True], int(SMALL["burn_in"]))
    small_corpus(file, test=False, name="untested")
    with pytest.raises(NewRunError, match="has no test documents, which the averaged protocol needs"):
        create_runs(file, RunRequest(corpus="untested", model="dlda", texts=SMALL | {"averaged": "true"}))


def test_runs_of_a_group_share_a_place_whole_and_a_single_run_is_spread(file):
    pytest.importorskip("distributed")
    several = ordered(file, (1, 2), on="local:2") + ordered(file, grid={"eta": ["0.1", "0.2"]}, on="local:2")
    assert {row.options["whole"] for row in several} == {True}
    assert [row.options["whole"] for row in ordered(file, (1,), on="local:2") + ordered(file, (1, 2))] == [False] * 3


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("3", (3,)), ("1-3", (1, 2, 3)), ("1,2,7", (1, 2, 7)), (" 7, 1 - 3 ", (7, 1, 2, 3)), ("0-99", tuple(range(100)))],
)
def test_numbers_and_ranges_are_read_in_their_order(text, seeds):
    assert read_seeds(text) == seeds


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "must be seeds such as 1-5 or 1,3,7; got ''"),
        ("1;2", "must be seeds such as 1-5"),
        ("-1", "must be seeds such as 1-5"),
        ("٣", "must be seeds such as 1-5"),
        ("5-1", f"must be at most {MOST_SEEDS} seeds, the lower one first"),
        ("0-100", f"must be at most {MOST_SEEDS} seeds, the lower one first"),
        ("1-60,61-101", f"must be at most {MOST_SEEDS} seeds, each once"),
        ("1-3,2", "each once; got '1-3,2'"),
        ("9" * 5000, "9…'"),
    ],
)
def test_every_other_text_is_refused_in_a_short_sentence(text, said):
    with pytest.raises(ValueError, match="must be") as error:
        read_seeds(text)
    assert said in str(error.value)
    assert len(str(error.value)) < 130
