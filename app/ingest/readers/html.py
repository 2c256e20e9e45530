"""The text of pages in HTML, without the markup."""

import re

from lxml import etree

PAGE_KINDS = (".html", ".htm", ".xhtml")

_HIDDEN_TAGS = frozenset({"script", "style", "template", "noscript"})
_INLINE = "a|abbr|b|bd[io]|cite|code|data|dfn|em|font|i|kbd|mark|q|s|samp|small|span|strong|su[bp]|u"
_INLINE_TAG = re.compile(_INLINE)
_BLOCK_END = re.compile(rf"</(?!(?:{_INLINE})\b)[A-Za-z][A-Za-z0-9:-]{{0,30}}\s*>", re.IGNORECASE)
_PAGE_START = re.compile(
    r"\s*<(?:!doctype html|html|head|body|div|p|table|ul|ol|h[1-6]|article|section)\b", re.IGNORECASE
)
_PAGE_ENDS = re.compile(
    r"</(?:html|body|div|p|table|td|ul|ol|li|h[1-6]|article|section|script|style)\s*>", re.IGNORECASE
)
_TAG = re.compile(r"</?[A-Za-z!][^<>]{0,300}>")
# Smallest number of closing tags of blocks, and smallest share of characters in tags, in HTML.
_FEWEST_BLOCKS, _TAG_SHARE = 3, 0.1
_PAGE_GAP = re.compile(r"\s*\n\s*| {2,}")


def is_page(text: str) -> bool:
    """Return whether a text is clearly HTML: it begins like a page or block, or has closing blocks and many tags.

    >>> is_page("<p>Rain fell.</p>"), is_page("A great film.<br /><br />See it!"), is_page("if a < b and b > c")
    (True, False, False)
    """
    if "</" not in text:
        return False
    if _PAGE_START.match(text):
        return _PAGE_ENDS.search(text) is not None
    if len(_PAGE_ENDS.findall(text)) < _FEWEST_BLOCKS:
        return False
    return sum(map(len, _TAG.findall(text))) >= _TAG_SHARE * len(text)


def read_page(page: str) -> tuple[str, str]:
    r"""Return the title of a page, "" if it has none, and its text, a line for each block, without scripts and styles.

    >>> read_page("<title>A day</title><p>Rain <b>fell</b>.</p><p>All day.</p><script>x = 1</script>")
    ('A day', 'Rain fell.\nAll day.')
    """
    if not page.strip():
        return "", ""
    # The parser leaves out the ends of blocks that it has closed before, so that words on both sides would be joined.
    raw = _BLOCK_END.sub(r"\g<0> ", page.replace("\0", "")).encode("utf-8", "replace")
    parser = etree.HTMLParser(target=_PageReader(), encoding="utf-8", huge_tree=True)
    title, text = etree.fromstring(raw, parser)
    return title, text


def _shorten_gap(gap: re.Match[str]) -> str:
    return "\n" if "\n" in gap[0] else " "


class _PageReader:
    """The target of a parser that collects the pieces of the title and the text."""

    def __init__(self) -> None:
        self.title: list[str] = []
        self.text: list[str] = []
        self._inside = ""  # the open tag of the title or of a hidden part

    def start(self, tag: str, _attributes: object) -> None:
        """Begin the title, a hidden part, or another line."""
        if not self._inside and (tag in _HIDDEN_TAGS or (tag == "title" and not self.title)):
            self._inside = tag
        elif not _INLINE_TAG.fullmatch(tag):
            self.text.append("\n")

    def end(self, tag: str) -> None:
        """End the title, a hidden part, or a line."""
        if tag == self._inside:
            self._inside = ""
        elif not _INLINE_TAG.fullmatch(tag):
            self.text.append("\n")

    def data(self, text: str) -> None:
        """Add a text."""
        if self._inside == "title":
            self.title.append(text)
        elif not self._inside:
            self.text.append(re.sub(r"\s+", " ", text))

    def close(self) -> tuple[str, str]:
        """Return the title and the text."""
        text = _PAGE_GAP.sub(_shorten_gap, "".join(self.text)).strip()
        return " ".join("".join(self.title).split()), text
