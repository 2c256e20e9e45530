"""Histories in memory are bounded, and what is looked at stays."""

from operator import attrgetter

from topiary.app.live.cache import Cache
from topiary.app.live.history import History
from topiary.store.points import Point


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
