"""What a session does with work done elsewhere, without a browser."""

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

from topiary.app.pages.session import View
from topiary.app.server.visit import PAUSE, SessionShell


class Visit:
    """A session in which a piece of work has ended."""

    def __init__(self) -> None:
        self.report: list[str] = []
        self.planned: list[tuple[float, Any]] = []
        self.shell = SimpleNamespace(
            _loop=SimpleNamespace(call_later=lambda seconds, _, call: self.planned.append((seconds, call))),
            _next=None,
            _report=("", 0.0),
            notify=lambda sentence, _: self.report.append(sentence),
        )

    def end(self, result: Any, then: Any = None, failed: Any = None) -> None:
        future: Future[Any] = Future()
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)
        SessionShell._finish(self.shell, then, failed, future)  # type: ignore[arg-type]


def test_the_result_goes_on_and_nothing_is_planned() -> None:
    visit, got = Visit(), []
    visit.end(3, got.append, lambda: None)
    assert (got, visit.report, visit.planned) == ([3], [], [])


def test_an_error_is_told_and_the_next_attempt_is_some_seconds_away() -> None:
    visit, again = Visit(), lambda: None
    visit.end(OSError("the disk was away"), failed=again)
    assert (visit.report, visit.planned) == (["the disk was away"], [(PAUSE, again)])


def test_attempts_that_go_on_do_not_say_the_same_again_and_clicks_do() -> None:
    visit = Visit()
    for _ in range(3):
        visit.end(OSError("away"), failed=lambda: None)
    visit.end(OSError("gone"), failed=lambda: None)
    for _ in range(2):
        visit.end(OSError("gone"))
    assert visit.report == ["away", "gone", "gone", "gone"]
    assert len(visit.planned) == 4


def test_what_nobody_wrote_a_sentence_for_goes_to_the_log_and_is_tried_again() -> None:
    visit = Visit()
    with pytest.raises(ZeroDivisionError):
        visit.end(ZeroDivisionError(), failed=lambda: None)
    assert (visit.report, len(visit.planned)) == ([], 1)


def test_work_that_was_given_up_is_no_error() -> None:
    visit, future = Visit(), Future()
    future.cancel()
    SessionShell._finish(visit.shell, None, lambda: None, future)  # type: ignore[arg-type]
    assert (visit.report, visit.planned) == ([], [])


@pytest.mark.parametrize(
    ("page", "tab", "then"),
    [
        ("explore", "layer", ""),
        ("explore", "layer-wide", "wide"),
        ("documents", "between", "between"),
        ("guide", "a-layer--by-hand", "a-layer--by-hand"),
    ],
)
def test_the_chooser_of_runs_forgets_the_layer_that_was_chosen_of_another_and_leaves_the_page_as_it_is(
    page: str, tab: str, then: str
) -> None:
    view = View(page=page, run=1, layer=2, tab=tab)
    SessionShell._on_bar(SimpleNamespace(view=view), {"do": "run", "value": "2"})  # type: ignore[arg-type]
    assert (view.page, view.run, view.layer, view.tab) == (page, 2, 1, then)
