"""Phrases are neighbours that belong together, and are joined from the left."""

import math
import random

import pytest

from app.ingest.text.wording import MOST_PHRASES, Pairs, find_sentences, join_phrases


def pairs_of(*runs, most=1_000):
    found = Pairs(most)
    for run in runs:
        found.add([run.split()])
    return found


def test_words_that_only_come_together_are_a_phrase_and_those_that_meet_by_chance_are_not():
    draw = random.Random(1)
    others = [f"w{number}" for number in range(20)]
    found = Pairs()
    for _ in range(300):
        run = draw.choices(others, k=10)
        run[4:6] = ["new", "york"]
        found.add([run])
    assert found.phrases(0.5, 10) == ("new_york",)
    assert len(found.phrases(-1.0, 2)) > 300


def test_the_measure_is_the_normalised_mutual_information():
    found = pairs_of("a b", "a b", "a c", "d e")
    expected = math.log((2 / 8) / ((3 / 8) * (2 / 8))) / -math.log(2 / 8)
    assert found.phrases(expected - 1e-12, 2) == ("a_b",)
    assert found.phrases(expected + 1e-12, 2) == ()


def test_a_phrase_occurs_often_enough_and_is_of_two_words():
    found = pairs_of(*["left right"] * 3, *["very very"] * 9)
    assert found.phrases(0.1, 3) == ("left_right",)
    assert found.phrases(0.1, 4) == ()


def test_the_most_frequent_phrases_come_first_and_are_not_too_many():
    found = pairs_of(*["b c"] * 3, *["d e"] * 3, *["f g"] * 5)
    assert found.phrases(0.1, 2) == ("f_g", "b_c", "d_e")
    many = pairs_of(*(f"x{number} y{number} x{number} y{number}" for number in range(MOST_PHRASES + 50)), most=100_000)
    assert len(many.phrases(0.1, 2)) == MOST_PHRASES


def test_pairs_are_forgotten_where_there_are_too_many_the_rarest_first():
    found = pairs_of(*["new york"] * 30, *(f"x{number} y{number}" for number in range(500)), most=100)
    assert len(found.pairs) <= 100
    assert found.phrases(0.1, 10) == ("new_york",)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("in new york city", ["in", "new_york", "city"]),
        ("new new york", ["new", "new_york"]),
        ("york city", ["york_city"]),
        ("", []),
    ],
)
def test_phrases_are_joined_from_the_left(words, expected):
    found = list(join_phrases(words.split(), frozenset({"new_york", "york_city"})))
    assert [word for word, _ in found] == expected
    assert sum(size for _, size in found) == len(words.split())


def test_no_phrase_goes_beyond_punctuation_but_beyond_the_end_of_a_line():
    text = "in new\nyork. city (north) 东京，大阪\n\nlast"
    assert [text[begin:end].strip() for begin, end in find_sentences(text)] == [
        "in new\nyork", "city", "north", "东京", "大阪", "last",
    ]  # fmt: skip
