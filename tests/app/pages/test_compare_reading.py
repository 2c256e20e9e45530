"""What the compare page reads from a real store: default partner, decisions, another seed."""

from types import SimpleNamespace

import feed_samples
import numpy as np
import pytest

from topiary.app.analysis.seeds import choose_partner, differ_only_in_seed, find_other_seeds
from topiary.app.pages import compare_reading
from topiary.app.pages.session import View
from topiary.store import notes, runs, snapshots
from topiary.store.points import Point, insert_points


def trained(db, seed, snapshot_seed, *, minibatches=(10, 40)):
    """A run with snapshots of the given topics."""
    row = feed_samples.run(db)
    with db.write() as connection:
        from sqlalchemy import update

        from topiary.store import tables

        connection.execute(update(tables.runs).where(tables.runs.c.number == row.number).values(seed=seed))
    for minibatch in minibatches:
        arrays = feed_samples.arrays(snapshot_seed + minibatch)
        snapshots.append_snapshot(db, row.number, row.attempt, minibatch, 1.0, arrays)
    return runs.get_run(db, row.number)


def context(db, feed, **fields):
    feed.look_now()
    return SimpleNamespace(view=View(**fields), feed=feed, db=db, reader=feed.reader)


def test_two_runs_are_read_and_matched_with_the_moments_of_both(db, feed):
    one, two = trained(db, 1, 0), trained(db, 2, 500)
    here = context(db, feed, run=two.number)
    request = compare_reading.read_request(here)
    assert request == compare_reading.ComparisonRequest(one.number, 0, two.number, 0)
    found = compare_reading.fetch_comparison(here, request)
    assert found.comparison is not None
    assert (found.comparison.a.run, found.comparison.b.run) == (one.number, two.number)
    assert [moment.minibatch for moment in found.snapshots_a] == [10, 40]
    assert len(found.comparison.pairs) >= 6


def test_decisions_of_the_store_are_honoured_from_either_side(db, feed):
    one, two = trained(db, 1, 0), trained(db, 2, 500)
    notes.save_match(db, one.number, two.number, notes.MatchDecision(1, 2, 3))
    notes.save_match(db, one.number, two.number, notes.MatchDecision(1, 0, 4))
    there = compare_reading.fetch_comparison(
        context(db, feed), compare_reading.ComparisonRequest(one.number, 0, two.number, 0)
    ).comparison
    back = compare_reading.fetch_comparison(
        context(db, feed), compare_reading.ComparisonRequest(two.number, 0, one.number, 0)
    ).comparison
    assert there.alignment.partners(1)[1] == 2
    assert back.alignment.partners(1)[2] == 1
    assert 3 not in there.alignment.partners(1).values()
    assert 3 not in back.alignment.partners(1)


def test_an_older_snapshot_of_the_same_run_pairs_topics_by_number(db, feed):
    row = trained(db, 1, 0)
    first, last = snapshots.list_snapshots(db, row.number)
    found = compare_reading.fetch_comparison(
        context(db, feed), compare_reading.ComparisonRequest(row.number, first.number, row.number, last.number)
    )
    assert all(pair.a == pair.b for pair in found.comparison.pairs)


def test_the_accuracy_of_a_snapshot_is_the_last_label_error_until_then_unless_it_has_been_predicted(
    db, feed, monkeypatch
):
    row = trained(db, 1, 0)
    errors = [Point(minibatch, minibatch, 1.0, "label_error", 0, error) for minibatch, error in ((5, 50.0), (30, 10.0))]
    here = context(db, feed)
    hierarchies = [feed.hierarchy(row.number, each.number) for each in snapshots.list_snapshots(db, row.number)]
    assert [compare_reading.read_accuracy(here, each) for each in hierarchies] == [None, None]
    with db.write() as connection:
        insert_points(connection, row.number, errors)
    rights = [compare_reading.read_accuracy(here, each) for each in hierarchies]
    assert [each.right for each in rights] == pytest.approx([0.5, 0.9])
    predicted = SimpleNamespace(scores=SimpleNamespace(error=0.04), train_counts=np.array([30, 10]))
    monkeypatch.setattr(feed.classes, "recall", lambda *_: predicted)
    accuracy = compare_reading.read_accuracy(here, hierarchies[1])
    assert (accuracy.right, accuracy.part, accuracy.commonest) == (pytest.approx(0.96), "test", 0.75)
    monkeypatch.setattr(compare_reading, "find_part", lambda _: "validation")
    monkeypatch.setattr(feed.classes, "recall", lambda _, snapshot: predicted if snapshot == moments[1] else None)
    moments = [each.snapshot for each in hierarchies]
    found = compare_reading.fetch_comparison(
        here, compare_reading.ComparisonRequest(row.number, moments[0], row.number, moments[1])
    )
    assert [(each.right, each.part) for each in found.accuracies] == [(0.5, "validation"), (0.9, "validation")]


def test_a_snapshot_that_is_gone_is_told_in_a_sentence(db, feed):
    one, two = trained(db, 1, 0), trained(db, 2, 500)
    found = compare_reading.fetch_comparison(
        context(db, feed), compare_reading.ComparisonRequest(one.number, 99, two.number, 0)
    )
    assert found.comparison is None
    assert found.sentence == f"Run {one.number} has no such snapshot; choose another one."


def test_the_baseline_is_another_seed_at_the_nearest_mini_batch(db, feed):
    base, run = trained(db, 1, 0), trained(db, 2, 500)
    with db.write() as connection:  # the run looked at has other settings than the rest
        from sqlalchemy import update

        from topiary.store import tables

        connection.execute(update(tables.runs).where(tables.runs.c.number == run.number).values(settings={"eta": 1}))
    here = context(db, feed)
    request = compare_reading.ComparisonRequest(base.number, 0, run.number, 0)
    lonely = here.reader.find_seeds(compare_reading.fetch_comparison(here, request).comparison)
    assert lonely.comparisons == ()
    assert f"how much another seed would change, train run {run.number} once more" in lonely.sentence
    twin = trained(db, 7, 900, minibatches=(5, 45, 300))
    here = context(db, feed)
    found = here.reader.find_seeds(compare_reading.fetch_comparison(here, request).comparison)
    (one,) = found.comparisons
    assert (one.a.run, one.b.run) == (base.number, twin.number)
    assert (one.a.minibatch, one.b.minibatch) == (40, 45)
    assert f"in nothing but the seed, {base.number} and {twin.number}." in found.sentence


def test_all_pairs_of_seeds_of_either_run_are_the_baseline_up_to_six(db, feed):
    first = [trained(db, seed, 100 * seed) for seed in (1, 2, 3)]
    other = [trained(db, seed, 100 * seed) for seed in (11, 12)]
    with db.write() as connection:  # other settings
        from sqlalchemy import update

        from topiary.store import tables

        wide = tables.runs.c.number.in_([row.number for row in other])
        connection.execute(update(tables.runs).where(wide).values(settings={"eta": 1}))
    here = context(db, feed)
    request = compare_reading.ComparisonRequest(first[0].number, 0, other[0].number, 0)
    found = here.reader.find_seeds(compare_reading.fetch_comparison(here, request).comparison)
    pairs = {frozenset((each.a.run, each.b.run)) for each in found.comparisons}
    assert pairs == {frozenset(pair) for pair in ((4, 5), (1, 3), (1, 2), (3, 2))}
    for seed in range(4, 9):
        trained(db, seed, 100 * seed)
    here = context(db, feed)
    assert len(here.reader.find_seeds(compare_reading.fetch_comparison(here, request).comparison).comparisons) == 6


def test_two_seeds_are_their_own_baseline(db, feed):
    one, two = trained(db, 1, 0), trained(db, 2, 500)
    here = context(db, feed)
    found = here.reader.find_seeds(
        compare_reading.fetch_comparison(
            here, compare_reading.ComparisonRequest(one.number, 0, two.number, 0)
        ).comparison
    )
    assert found.comparisons == ()
    assert "differ only in their seed, so every difference here is chance" in found.sentence


def test_a_run_that_was_trained_much_longer_is_no_baseline(db, feed):
    short, long = trained(db, 1, 0), trained(db, 2, 500, minibatches=(300, 900))
    here = context(db, feed)
    found = here.reader.find_seeds(
        compare_reading.fetch_comparison(
            here, compare_reading.ComparisonRequest(short.number, 0, long.number, 0)
        ).comparison
    )
    assert found.comparisons == ()
    assert "number of steps" in found.sentence
    trained(db, 3, 600, minibatches=(30, 60))
    here = context(db, feed)
    found = here.reader.find_seeds(
        compare_reading.fetch_comparison(
            here, compare_reading.ComparisonRequest(short.number, 0, long.number, 0)
        ).comparison
    )
    assert (found.comparisons[0].a.run, found.comparisons[0].a.minibatch) == (short.number, 40)
    assert found.comparisons[0].b.minibatch == 30


def test_only_runs_that_differ_in_nothing_but_the_seed_are_a_baseline():
    base = {
        "number": 1,
        "corpus": 1,
        "model": "dlda",
        "inference": "tlasgr",
        "settings": {"layers": [4, 2]},
        "family": 1,
        "seed": 1,
        "options": {},
        "run_group": None,
    }
    one = SimpleNamespace(**base, layers=(4, 2))  # the widths learnt: the settings have what was ordered
    others = [
        SimpleNamespace(**(base | {"number": place, "family": place} | change), layers=(3, 2))
        for place, change in enumerate(
            ({"seed": 2}, {"seed": 1}, {"seed": 2, "model": "datm"}, {"seed": 2, "settings": {"layers": [4, 3]}},
             {"seed": 2, "corpus": 2}, {"seed": 2, "settings": {"layers": [4, 2], "eta": 1}},
             {"seed": 2, "family": 1}, {"seed": 3}), 2
        )
    ]  # fmt: skip
    assert [row.number for row in find_other_seeds(one, [one, *others])] == [9, 2]
    assert differ_only_in_seed(one, others[0])
    assert not differ_only_in_seed(one, one)


def test_the_usual_partner_is_the_parent_then_the_same_corpus_then_the_latest():
    rows = [
        SimpleNamespace(number=number, corpus=corpus, parent=None)
        for number, corpus in ((1, 1), (2, 1), (3, 2), (4, 1))
    ]
    assert choose_partner(rows[3], rows).number == 2
    assert choose_partner(rows[2], rows).number == 4
    rows[3].parent = 1
    assert choose_partner(rows[3], rows).number == 1
    assert choose_partner(rows[0], rows[:1]) is None


def test_a_partner_that_is_not_there_is_said_and_not_that_there_is_only_one_run(db, feed):
    one, two = trained(db, 1, 0), trained(db, 2, 500)
    here = context(db, feed, run=two.number, partner=999)
    assert (
        compare_reading.explain_waiting(here, compare_reading.read_request(here))
        == "There is no run 999 in this store; choose another one as A."
    )
    runs.delete_run(db, finished(db, one).number)
    here = context(db, feed, run=two.number)
    assert "only one run" in compare_reading.explain_waiting(here, compare_reading.read_request(here))


def test_a_run_whose_worker_went_away_before_a_snapshot_keeps_nobody_waiting(db, feed, monkeypatch):
    one, two = feed_samples.run(db), trained(db, 2, 500)
    here = context(db, feed, run=two.number, partner=one.number)
    monkeypatch.setattr(feed, "state", lambda number: "silent")
    assert (
        compare_reading.explain_waiting(here, compare_reading.read_request(here))
        == f"Run {one.number} has fallen silent before its first snapshot; Watch offers to resume it."
    )


def finished(db, row):
    return runs.finish_run(db, row.number, row.attempt, "finished")
