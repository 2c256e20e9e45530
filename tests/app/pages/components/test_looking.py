"""Boards of a session that only looks hear no request that changes the store."""

import panel as pn
from bokeh.document import Document
from panel.io.state import set_curdoc

from app.pages.components.board import Board
from app.pages.components.looking import only_look, refused


def test_only_boards_of_documents_that_only_look_refuse():
    looking, other = Document(), Document()
    only_look(looking)
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
