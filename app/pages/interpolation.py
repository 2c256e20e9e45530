"""The half of the documents page that interpolates between two documents of the corpus."""

from collections.abc import Callable
from functools import partial
from typing import ClassVar

import numpy as np

from topiary.app.analysis.hierarchy import Hierarchy
from topiary.app.analysis.inference import DocumentTopics, decode_line
from topiary.app.analysis.topic_images import draw_picture_uri
from topiary.app.pages.components import Board
from topiary.app.pages.documents_reading import DocumentSearch, Failure, LineEnds, choose_pair, place_ends, try_work
from topiary.app.pages.messages import MessagePart, on
from topiary.app.pages.session import Context
from topiary.app.views.documents import placed_document as form
from topiary.app.views.documents.placed_document import draw_line
from topiary.app.views.explore.detail import cut_excerpt
from topiary.app.views.text import escape

WORDS = 10  # words shown of a step


class Interpolation(MessagePart):
    """The two documents at the ends, the search for other ends, and the steps between them.

    Parameters
    ----------
    changed : callable
        Called when the ends have been placed, since the topics may have changed.
    """

    fields: ClassVar = {"steps": "steps", "mixed": "mixed"}

    def __init__(self, context: Context, changed: Callable[[], None]) -> None:
        super().__init__(context)
        self._changed = changed
        self._search = DocumentSearch(context, self._draw)
        self._ends: LineEnds | None = None
        self._request: tuple[int, int, int, int] | None = None
        self._form = Board(on_message=self.handle, sheets=["explore", "documents"])
        self._steps = Board(sheets=["explore", "documents"])

    @property
    def boards(self) -> tuple[Board, Board]:
        """The boards to show, from top to bottom."""
        return self._form, self._steps

    @property
    def hierarchy(self) -> Hierarchy | None:
        """The hierarchy in which the ends were placed; None before that."""
        return self._ends.hierarchy if self._ends is not None else None

    def forget(self) -> None:
        """Forget the request, so that the ends are placed again when they are shown next."""
        self._request = None

    def choose(self) -> None:
        """Show the interpolation that the view asks for, after placing its ends if necessary."""
        self._search.follow()
        view = self._view
        request = (view.run, view.snapshot, *view.documents)
        if len(request) < 4:
            self._ends = self._request = None
            self._steps.html = ""
        elif request != self._request:
            self._request = request
            self._steps.html = '<p class="dc-read" role="status">Finding the topics of the two documents …</p>'
            work = partial(try_work, place_ends, self._context, request)
            self._context.later(work, partial(self._receive, request))
        self._draw()

    def _receive(self, request: tuple[int, ...], ends: LineEnds | Failure) -> None:
        if request != self._request:
            return
        if isinstance(ends, Failure):
            self._steps.html = f'<p class="dc-read" role="status">{escape(ends.sentence)}</p>'
            return
        self._ends = ends
        self._changed()
        self._draw()

    def _draw(self) -> None:
        ends = self._ends if self._ends is not None and self._ends.request == self._request else None
        mixing = self._choose_layer(ends) if ends is not None else None
        self._form.html = form.draw_line_form(self._list_ends(ends), self._search.search, self._view.steps, mixing)
        if ends is not None and mixing is not None:
            thetas = (ends.placed[0].theta, ends.placed[1].theta)
            steps = decode_line(
                ends.inference.mixtures, thetas, mixing.chosen or mixing.telling, self._view.steps, WORDS
            )
            self._steps.html = draw_line(self._context.feed.update_names(ends.hierarchy), steps)

    def _choose_layer(self, ends: LineEnds) -> form.MixingChoice:
        """Return the layer to interpolate in: the visitor's choice, or else the highest in which the two differ."""
        layers = len(ends.inference.mixtures)
        return form.MixingChoice(layers, min(self._view.mixed, layers), ends.telling)

    def _list_ends(self, ends: LineEnds | None) -> list[form.LineEnd]:
        if ends is None:
            return [form.LineEnd(number, f"document {number}", "", "") for number in self._view.documents]
        pictures = [_draw_picture(ends.hierarchy, placed) for placed in ends.placed]
        return [
            form.LineEnd(
                document.number, document.title, document.label or "", picture, cut_excerpt(document.text, 160)
            )
            for document, picture in zip(ends.documents, pictures, strict=True)
        ]

    @on("document")
    def _open(self, number: int) -> None:
        self._put(documents=(number,), tab="", trail=())

    @on("any-two")
    def _choose_any(self) -> None:
        work = partial(choose_pair, self._context, self._view.run)
        self._context.later(work, self._choose_ends)

    def _choose_ends(self, numbers: tuple[int, ...]) -> None:
        self._put(documents=numbers)

    @on("turn")
    def _turn(self) -> None:
        self._put(documents=self._view.documents[::-1])

    @on("find")
    def _find(self, value: str) -> None:
        self._search.find(value)

    @on("end")
    def _replace_end(self, number: int, side: str) -> None:
        documents, place = list(self._view.documents), 1 if side == "1" else 0
        documents[place : place + 1] = [number]
        self._put(documents=tuple(documents[:2]))


def _draw_picture(hierarchy: Hierarchy, placed: DocumentTopics) -> str:
    if not hierarchy.has_pictures:
        return ""
    pixels = np.zeros(len(hierarchy.vocabulary))
    pixels[placed.words] = placed.counts
    return draw_picture_uri(hierarchy.image_shape or (1, 1), pixels)
