"""Numbers of a piece of HTML that nothing says anything about when they are pointed at."""

import re
from html.parser import HTMLParser

NUMBER = re.compile(r"^[▲▼=+−-]?\s?[<>]?\d[\d,.]*(?:e-?\d+)?\s?%?$")
SENTENCE = 6  # words from which on a text is one
VOID = {"img", "input", "br", "hr", "path", "line", "rect", "circle", "polyline"}
SAY_THEMSELVES = {"button", "option", "summary", "h1", "h2", "h3", "output", "title", "dialog", "label"}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[tuple[str, bool]] = []
        self.untraced: list[str] = []
        self.seen = 0

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            told = bool(dict(attrs).get("title")) or tag in SAY_THEMSELVES
            self.open.append((tag, told))

    def handle_endtag(self, tag):
        while self.open and tag not in VOID:
            if self.open.pop()[0] == tag:
                break

    def handle_data(self, text):
        if len(text.split()) >= SENTENCE and "·" not in text:
            return  # it says itself what the number is
        for word in re.split(r"\s+·\s+|\s+/\s+|\s+", text.strip()):
            if NUMBER.match(word):
                self.seen += 1
                if not any(told for _, told in self.open):
                    self.untraced.append(text.strip()[:60])


def untraced(html: str) -> tuple[int, list[str]]:
    """How many numbers there are, and the texts of those without a word about them."""
    reader = _Reader()
    reader.feed(html)
    return reader.seen, reader.untraced
