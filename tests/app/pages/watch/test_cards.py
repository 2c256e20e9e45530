"""The cards of the watch page: the answer to an earlier request does not open the way for a second one of the same."""

from types import SimpleNamespace

from app.pages.session import View
from app.pages.watch.cards import TopicPreview


def test_a_late_answer_to_an_earlier_request_does_not_have_the_latest_one_made_twice():
    asked = []
    feed = SimpleNamespace(
        known_hierarchy=lambda run, snapshot: None,
        run=lambda run: object(),
        latest=lambda run: None,
        state=lambda run: "running",
        hierarchy=lambda run, snapshot: None,
    )
    view = View(page="watch", run=1)
    context = SimpleNamespace(
        view=view,
        feed=feed,
        on_tick=lambda on_message: None,
        later=lambda work, then, failed: asked.append((work, then)),
    )
    preview = TopicPreview(context)
    preview._draw()
    view.run = 2
    assert [work.args for work, _ in asked] == [(1, 0), (2, 0)]
    asked[0][1](None)  # the answer about run 1 comes while run 2 is being read
    preview._draw()
    assert len(asked) == 2
