"""What takes long is made once however many ask for it, and a failure leaves nothing behind."""

from concurrent.futures import ThreadPoolExecutor
from operator import attrgetter
from threading import Event

import numpy as np
import pytest

from topiary.app.live.cache import Cache, History, count_value_bytes
from topiary.store.points import Point


def fail():
    raise OSError("disk gone")


def refuse():
    raise AssertionError


def test_what_is_here_is_not_made_again():
    known = Cache(2)
    assert known.get("a") is None
    assert known.fetch("a", lambda: 1) == 1
    assert (known.fetch("a", refuse), known.get("a")) == (1, 1)


def test_the_least_used_is_forgotten_first():
    known = Cache(2)
    for key in "aba":
        known.fetch(key, lambda: 1)
    known.fetch("c", lambda: 1)
    assert [known.get(key) for key in "abc"] == [1, None, 1]


def test_values_may_have_a_size_and_some_are_kept_whatever_theirs():
    known = Cache(10, size=len, least=1)
    for key, value in (("a", "12345"), ("b", "123456"), ("c", "x" * 20)):
        known.fetch(key, lambda value=value: value)
    assert [known.get(key) for key in "abc"] == [None, None, "x" * 20]


def test_texts_of_a_column_count_with_their_letters():
    assert count_value_bytes(np.zeros(3)) == 24
    assert count_value_bytes(np.array(["", "x" * 1000], dtype=object)) > 1000


def test_values_are_changed_in_place_without_counting_as_used():
    known = Cache(2)
    known.fetch("a", lambda: 1)
    known.fetch("b", lambda: 2)
    known.change(lambda key, value: value + (key == "a"))
    known.fetch("c", lambda: 3)
    assert [known.get(key) for key in "abc"] == [None, 2, 3]


def test_a_failure_leaves_nothing_behind_and_the_next_caller_tries_again():
    known = Cache(2)
    with pytest.raises(OSError, match="disk gone"):
        known.fetch("a", fail)
    assert known._turns == {}
    assert known.fetch("a", lambda: 1) == 1
    assert known.fetch("a", refuse) == 1
    assert known._turns == {}


def test_whoever_waited_for_one_that_failed_makes_it_and_all_others_take_that():
    known, began, go, made = Cache(2), Event(), Event(), []

    def slow_failure():
        began.set()
        assert go.wait(10)
        fail()

    def work():
        made.append(1)
        return len(made)

    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(known.fetch, "a", slow_failure)
        assert began.wait(10)
        others = [pool.submit(known.fetch, "a", work) for _ in range(3)]
        go.set()
        with pytest.raises(OSError, match="disk gone"):
            first.result(10)
        assert [other.result(10) for other in others] == [1, 1, 1]
    assert known._turns == {}


def history(run: int, points: int) -> History:
    made = History(run, 1)
    made.add(Point(t, t, float(t), "point_perplexity", 0, 1.0) for t in range(points))
    return made


def make_cache(most: int, least: int) -> "Cache[int, History]":
    return Cache(most, attrgetter("points"), least)


def known(cache: "Cache[int, History]") -> list[int]:
    return [run for run in range(10) if cache.peek(run) is not None]


def test_the_least_used_history_is_forgotten_first() -> None:
    cache = make_cache(25, 1)
    cache.put(1, history(1, 10))
    cache.put(2, history(2, 10))
    assert cache.get(1) is not None
    cache.put(3, history(3, 10))
    assert known(cache) == [1, 3]


def test_bringing_a_history_up_to_date_does_not_count_as_using_it() -> None:
    cache = make_cache(25, 1)
    cache.put(1, history(1, 10))
    cache.put(2, history(2, 10))
    assert cache.peek(1) is not None
    cache.change(lambda run, known: history(1, 10) if run == 1 else known)
    cache.put(3, history(3, 10))
    assert known(cache) == [2, 3]


def test_a_few_histories_are_kept_whatever_their_size() -> None:
    cache = make_cache(5, 2)
    for run in (1, 2, 3):
        cache.put(run, history(run, 10))
    assert known(cache) == [2, 3]


def test_histories_that_grew_are_bounded_too() -> None:
    cache = make_cache(25, 1)
    cache.put(1, history(1, 10))
    growing = cache.put(2, history(2, 10))
    growing.add(Point(t, t, float(t), "point_perplexity", 0, 1.0) for t in range(10, 20))
    cache.trim()
    assert known(cache) == [2]


def test_a_history_that_was_dropped_is_not_brought_back_by_a_change() -> None:
    cache = make_cache(25, 1)
    first = cache.fetch(1, lambda: history(1, 3))
    assert cache.fetch(1, lambda: history(1, 3)) is first
    cache.drop(1)
    cache.change(lambda run, known: history(1, 3))
    assert (known(cache), cache.keys()) == ([], set())
