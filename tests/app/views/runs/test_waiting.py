"""The first minute: steps, an estimate in round figures, and the two first documents of a corpus."""

from topiary.app.views.runs.waiting import (
    WaitFacts,
    draw_waiting_page,
    follow_preparation,
    follow_start,
    round_estimate,
)


def test_the_steps_of_the_demo_follow_its_preparation():
    assert [follow_preparation(share, 0, 0).step for share in (0.0, 0.1, 0.5, 0.95)] == [0, 0, 1, 2]
    seconds = [follow_preparation(share, 0, 0).seconds for share in (0.0, 0.3, 0.9, 1.0)]
    assert seconds == sorted(seconds, reverse=True)
    page = draw_waiting_page(follow_preparation(0.4, 5088, 145_030), 40, late=False)
    assert "in about 40 seconds." in page
    assert "<b>Read 5,088 documents</b><span>145,030 words</span>" in page
    assert '<li class="wt-now" aria-current="step"><b>Compile the model</b>' in page
    assert "<b>Python documentation</b>" in page


def test_while_a_model_is_compiled_the_estimate_falls_and_the_bar_grows():
    corpus = WaitFacts(0, 0.0, 0.0, 300, 9000)
    facts = [follow_start(corpus, "waiting for kernels that another run is compiling", at) for at in (0.0, 21.0, 90.0)]
    assert [round_estimate(each.seconds) for each in facts] == [50, 30, 6]
    assert facts[0].share < facts[1].share < facts[2].share <= follow_start(corpus, "", 0.0).share
    assert [each.step for each in (*facts, follow_start(corpus, "training", 0.0))] == [1, 1, 1, 2]
    assert "Longer than usual: another run trains first." in draw_waiting_page(
        facts[0]._replace(queued=True), 50, late=True
    )


def test_estimates_are_round():
    assert [round_estimate(seconds) for seconds in (600, 91, 90, 33, 10.5, 6, 0)] == [600, 120, 50, 40, 20, 6, 6]


def test_documents_of_a_visitor_are_in_the_drawing_as_text():
    own = [("<b>first</b>", "coffee " * 90), ("", "")]
    page = draw_waiting_page(WaitFacts(2, 0.9, 6.0, 2, 90, own, (8, 4)), 6, late=True)
    assert "<b>first" not in page
    assert "&lt;b&gt;first" in page
    assert page.count("a document</text>") == 2  # in the wide and in the narrow drawing
    assert "Longer than usual: training." in page
    assert "Layers of 8, 4 topics." in page
