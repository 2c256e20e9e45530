"""While predictions are on their way, the classes page says what it waits for and counts the documents."""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from threading import Event, Semaphore
from typing import Any

import pytest
from class_samples import plant
from databases import open_filled
from inference_samples import plain_model
from page_sessions import PageSession

from topiary.app.analysis import predict as classes
from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.predictions import Doing, store_predictions
from topiary.app.live.feed import Feed, Tick
from topiary.app.live.predictions import PredictionCache
from topiary.app.pages.classes import ClassesPage
from topiary.app.views.classes.class_report import draw_prediction_progress
from topiary.store import notes, runs
from topiary.store.database import Database

__all__ = ["plain_model"]


class Session(PageSession):
    """A classes page of a program of its own, whose work elsewhere is done at :meth:`work`."""

    def __init__(self, db: Database, **fields: Any) -> None:
        super().__init__(db, "classes", **fields)
        self.feed.classes.keep = partial(store_predictions, db)
        self.page = ClassesPage(self.context)
        self.shown: list[str] = []
        self.feed.subscribe(lambda call: call(), self._tick)

    def _tick(self, tick: Tick) -> None:
        for callback in self.ticks:
            callback(tick)
        self.shown.append(self.page.board.html)


@pytest.fixture
def db(tmp_path: Any, plain_model: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    monkeypatch.setattr(classes, "BLOCK", 2)
    db = open_filled(tmp_path / "store.db", plant)
    yield db
    db.close()


def test_the_page_counts_the_documents_until_the_answer_stands(db: Database) -> None:
    session = Session(db)
    assert "Getting the predictions" in session.page.board.html
    session.work().feed.stop()
    counts = [f"{done} of 5 documents" for done in (0, 2, 4, 5)]
    report = [next((count for count in counts if count in text), "") for text in session.shown]
    assert report == ["", *counts, ""]
    assert "Preparing the model" in session.shown[0]
    assert "the kernels are loaded before it counts" in session.shown[1]
    assert all('aria-busy="true"' in text for text in session.shown)
    assert "5 labelled test documents" in session.page.board.html


def test_a_run_without_labels_offers_to_go_on_with_them_before_anything_is_prepared(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = plant(db, classes=False, name="topics only")
    monkeypatch.setattr(classes, "open_inference", None)
    session = Session(db, run=row.number).work()
    session.feed.stop()
    assert f"Run {row.number} learns topics without labels" in session.page.board.html
    session.page.handle({"do": "supervise"})
    assert (session.view.page, session.view.tab) == ("runs", f"fork-{row.number}-labels")


def test_a_run_without_topics_is_told_that_it_learns_no_labels_but_cannot_be_continued_yet(db: Database) -> None:
    row = runs.create_run(
        db,
        corpus=1,
        model="dlda",
        inference="tlasgr",
        layers=(4, 2),
        settings={"layers": [4, 2], "classes": False},
        options={},
        seed=1,
    )
    session = Session(db, run=row.number).work()
    session.feed.stop()
    assert f"Run {row.number} learns topics without labels" in session.page.board.html
    assert re.search(r'data-do="supervise" disabled title="It has no topics yet', session.page.board.html)


def test_a_corpus_without_labels_is_told_what_it_needs(db: Database) -> None:
    row = plant(db, classes=False, labelled=False, name="bare")
    session = Session(db, run=row.number).work()
    session.feed.stop()
    assert "Documents of bare belong to no classes" in session.page.board.html
    assert "a folder for each class" in session.page.board.html
    assert "supervise" not in session.page.board.html


def test_the_threshold_that_shows_paths_is_taken(db: Database) -> None:
    session = Session(db, threshold=100.0).work()
    session.feed.stop()
    (value,) = re.findall(r'data-do="threshold" data-value="([\d.]+)"', session.page.board.html)
    session.page.handle({"do": "threshold", "value": value})
    assert session.view.threshold == float(value)
    assert 'class="cl-paths"' in session.page.board.html


def test_after_a_restart_the_page_shows_the_same_without_computing(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Session(db).work()
    monkeypatch.setattr(classes, "classify_run", None)
    second = Session(db).work()
    for session in (first, second):
        session.feed.stop()
    assert second.shown == []
    assert second.page.board.html == first.page.board.html


def test_a_page_whose_answer_stands_is_not_disturbed_by_somebody_elses_prediction(db: Database) -> None:
    session = Session(db).work()
    stands = session.page.board.html
    session.feed.classes.doing = Doing(7, 3, 10, 20)
    session._tick(Tick())
    session.feed.stop()
    assert session.page.board.html == stands


@pytest.mark.parametrize(
    ("fields", "doing", "words"),
    [
        ({}, Doing(1, 1, 2, 5), "Predicting the class of every labelled test document"),
        ({"snapshot": 1}, Doing(1, 1, 2, 5), "Predicting the class of every labelled test document"),
        ({"snapshot": 1}, Doing(1, 2, 2, 5), "waiting for that of run 1 "),
        ({}, Doing(7, 2, 2, 5), "waiting for that of run 7 "),
    ],
)
def test_it_says_whose_predictions_are_made_first(
    db: Database, fields: dict[str, int], doing: Doing, words: str
) -> None:
    session = Session(db, **fields)
    session.feed.classes.doing = doing
    session._tick(Tick())
    session.feed.stop()
    assert words in session.page.board.html
    assert "2 of 5 documents" in session.page.board.html


def test_a_screen_reader_hears_the_sentence_once_and_finds_the_number_at_the_bar() -> None:
    texts = [draw_prediction_progress(Doing(2, 9, done, 25_000), mine=True) for done in (0, 1000, 24_000)]
    spoken = {text[text.index('role="status"') : text.index("</p>")] for text in texts}
    assert len(spoken) == 1
    assert 'aria-valuemax="25000" aria-valuenow="1000" aria-valuetext="1,000 of 25,000 documents"' in texts[1]
    assert 'style="width:4.0%"' in texts[1]
    assert '<p class="tp-dim" aria-hidden="true">24,000 of 25,000 documents</p>' in texts[2]


def test_before_anything_is_known_there_is_no_bar() -> None:
    for doing in (None, Doing(2, 9)):
        assert "progressbar" not in draw_prediction_progress(doing, mine=True)


def test_whoever_waits_for_a_prediction_holds_up_nobody_else(db: Database) -> None:
    feed, gate = Feed(db), Event()
    feed.look_now()

    def predict(*_: Any) -> Any:
        assert gate.wait(60)
        raise ReadError("it was only waited for")

    feed.classes = PredictionCache(db, predict)
    waiting = [Session(db) for _ in range(4)]
    answers: list[str] = []
    asked = Semaphore(0)

    def in_turn(work: Any, then: Any, _: Any) -> None:
        _elsewhere(feed.submit_in_turn, work, then)
        asked.release()

    for session in waiting:
        page = ClassesPage(replace(session.context, feed=feed, later=partial(_elsewhere, feed.submit), in_turn=in_turn))
        page._draw = lambda page=page: answers.append(page._answer.sentence)
    try:
        assert all(asked.acquire(timeout=20) for _ in waiting)
        assert feed.submit(lambda: "at once").result(timeout=20) == "at once"
        assert not answers
    finally:
        gate.set()
    feed.submit_in_turn(lambda: None).result(timeout=20)
    feed.stop()
    for session in waiting:
        session.feed.stop()
    assert answers == ["It was only waited for."] * 4


def _elsewhere(submit: Any, work: Any, then: Any, _: Any = None) -> None:
    submit(work).add_done_callback(lambda done: then(done.result()))


def test_an_answer_that_could_not_be_read_is_asked_for_again(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    failures = iter([OSError("the disk was away"), OSError("still"), None, None])
    recall = PredictionCache.recall

    def shaky(*request: Any) -> Any:
        if error := next(failures):
            raise error
        return recall(*request)

    monkeypatch.setattr(PredictionCache, "recall", shaky)
    session = Session(db).work()
    session.feed.stop()
    assert "5 labelled test documents" in session.page.board.html


def test_a_topic_renamed_meanwhile_is_called_by_its_new_name(db: Database) -> None:
    session = Session(db, threshold=1.0).work()
    assert 'class="cl-paths"' in session.page.board.html
    for layer, width in enumerate(session.page._answer.hierarchy.widths, 1):
        for topic in range(1, width + 1):
            notes.set_label(db, 1, layer, topic, f"herbs {layer} {topic}")
    session.feed.relabel(1)
    session.feed.stop()
    assert "herbs 1 " in session.page.board.html
