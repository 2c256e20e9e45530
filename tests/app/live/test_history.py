"""Histories in memory are bounded, and what is looked at stays."""

from app.live.history import History, HistoryCache
from store.points import Point


def history(run: int, points: int) -> History:
    made = History(run, 1)
    made.add(Point(t, t, float(t), "point_perplexity", 0, 1.0) for t in range(points))
    return made


def known(cache: HistoryCache) -> list[int]:
    return [run for run in range(10) if cache.peek(run) is not None]


def test_the_least_used_history_is_forgotten_first() -> None:
    cache = HistoryCache(most_points=25, least=1)
    cache.add(1, history(1, 10))
    cache.add(2, history(2, 10))
    assert cache.get(1) is not None
    cache.add(3, history(3, 10))
    assert known(cache) == [1, 3]


def test_bringing_a_history_up_to_date_does_not_count_as_using_it() -> None:
    cache = HistoryCache(most_points=25, least=1)
    cache.add(1, history(1, 10))
    cache.add(2, history(2, 10))
    assert cache.peek(1) is not None
    cache.replace(1, history(1, 10))
    cache.add(3, history(3, 10))
    assert known(cache) == [2, 3]


def test_a_few_histories_are_kept_whatever_their_size() -> None:
    cache = HistoryCache(most_points=5, least=2)
    for run in (1, 2, 3):
        cache.add(run, history(run, 10))
    assert known(cache) == [2, 3]


def test_histories_that_grew_are_bounded_too() -> None:
    cache = HistoryCache(most_points=25, least=1)
    cache.add(1, history(1, 10))
    growing = cache.add(2, history(2, 10))
    growing.add(Point(t, t, float(t), "point_perplexity", 0, 1.0) for t in range(10, 20))
    cache.tidy()
    assert known(cache) == [2]


def test_of_two_that_bring_the_same_history_the_first_is_kept() -> None:
    cache = HistoryCache()
    first = cache.add(1, history(1, 3))
    assert cache.add(1, history(1, 3)) is first
    cache.drop(1)
    cache.replace(1, history(1, 3))
    assert known(cache) == []
