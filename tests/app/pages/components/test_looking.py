"""Boards of a session that only looks hear no request that changes the store."""

import panel as pn
from bokeh.document import Document
from panel.io.state import set_curdoc

from app.pages.components.board import Board
from app.pages.components.looking import ask_before_changes, refused


def test_only_boards_of_documents_that_only_look_refuse():
    looking, other, roles = Document(), Document(), ["viewer"]
    ask_before_changes(looking, lambda: roles[-1] == "viewer")
    heard = []
    with set_curdoc(looking):
        board = Board("", heard.append)
        assert "delete" in refused()
    with set_curdoc(other):
        assert refused() == []
        free = Board("", heard.append)
    assert pn.state.curdoc is None
    for message in ({"do": "delete", "run": "1"}, {"do": "go", "page": "runs"}):
        board._handle_msg(message)
    assert heard == [{"do": "go", "page": "runs"}]
    free._handle_msg({"do": "delete", "run": "1"})
    assert heard[-1]["do"] == "delete"
    board.refused = []  # as a forged patch of the document would
    board._handle_msg({"do": "dismiss", "import": "1"})
    assert heard[-1]["do"] == "delete"
    roles.append("analyst")
    board._handle_msg({"do": "dismiss", "import": "1"})
    assert heard[-1]["do"] == "dismiss"
