"""The newest values of the curves by which runs are judged."""

import pytest
from store_samples import claimed_run

from app.jobs.judged import latest_of, latest_of_all
from app.live.feed import Feed
from store import points
from store.database import open_database
from store.points import Point


@pytest.fixture
def db(tmp_path):
    opened = open_database(str(tmp_path / "store.db"))
    yield opened
    opened.close()


def test_the_newest_value_of_each_curve_is_read_for_one_run_and_for_all_and_by_the_feed(db):
    judged, bare = claimed_run(db), claimed_run(db)
    written = [
        Point(t, 10 * t, 0.1, name, 0, value)
        for t, name, value in ((1, "mean_perplexity", 9.0), (3, "mean_perplexity", 7.0), (3, "point_perplexity", 8.0))
    ]
    points.append_points(db, judged.number, judged.attempt, written)
    assert latest_of(db, judged.number) == {"mean_perplexity": 7.0}
    assert latest_of(db, bare.number) == {}
    assert latest_of_all(db) == {judged.number: {"mean_perplexity": 7.0}}
    feed = Feed(db)
    feed.look_now()
    feed.read_sparks([judged.number, bare.number])
    assert (feed.judged(judged.number), feed.judged(bare.number)) == ({"mean_perplexity": 7.0}, {})
    feed.stop()
