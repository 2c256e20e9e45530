"""Where there are no topics yet, one sentence says why and what to do."""

import re

import pytest

from topiary.app.names import STATES
from topiary.app.views.runs.notices import explain_no_topics

WHAT_TO_DO = re.compile("resume|Watch says why and what may fix it|start another run|appear here")


@pytest.mark.parametrize("state", STATES)
def test_every_state_has_one_sentence_with_what_to_do_or_to_wait_for(state):
    said = explain_no_topics(7, state, "compiling kernels, once.")
    assert said.startswith("Run 7 ")
    assert said.count(".") == 1
    assert said.endswith(".")
    assert WHAT_TO_DO.search(said)


def test_what_a_worker_does_is_said_while_it_trains_only():
    assert "(compiling kernels, once)" in explain_no_topics(7, "running", "compiling kernels, once")
    assert "compiling" not in explain_no_topics(7, "failed", "compiling kernels, once")
