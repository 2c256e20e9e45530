"""The page in place of every one that shows a run, as long as the store has none."""

from panel.viewable import Viewable

from app.pages.components.board import Board, Message
from app.pages.session import Context
from app.views.runs.notices import no_run


def no_run_page(context: Context) -> Viewable:
    """One sentence, and a button that leads to where runs are started."""

    def on_message(message: Message) -> None:
        if message["do"] == "runs":
            context.view.param.update(page="runs", tab="")

    return Board(no_run(), on_message)
