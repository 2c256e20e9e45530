"""The text of pages in HTML, without the markup."""

import re
from html.parser import HTMLParser

PAGE_KINDS = (".html", ".htm", ".xhtml")

_HIDDEN_TAGS = frozenset({"script", "style", "template", "noscript"})
_INLINE_TAG = re.compile("a|abbr|b|bd[io]|cite|code|data|dfn|em|font|i|kbd|mark|q|s|samp|small|span|strong|su[bp]|u")
_PAGE_START = re.compile(
    r"\s*<(?:!doctype html|html|head|body|div|p|table|ul|ol|h[1-6]|article|section)\b", re.IGNORECASE
)
_PAGE_ENDS = re.compile(
    r"</(?:html|body|div|p|table|td|ul|ol|li|h[1-6]|article|section|script|style)\s*>", re.IGNORECASE
)
_TAG = re.compile(r"</?[A-Za-z!][^<>]{0,300}>")
# Smallest number of closing tags of blocks, and smallest share of characters in tags, in HTML.
_FEWEST_BLOCKS, _TAG_SHARE = 3, 0.1
_TEXTLESS_PART = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1\s*>|\Z)|<[!?][^>]*(?:>|\Z)", re.DOTALL | re.IGNORECASE
)
_UNENDED_TAG = re.compile(r"<(?=[^<>]*(?:<|\Z))")
_LONG_TAG = re.compile(r"<(/?[A-Za-z][A-Za-z0-9]*)[^<>]{2000,}>")
_PAGE_GAP = re.compile(r"\s*\n\s*")


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
    reader = _PageReader()
    reader.feed(_tame_tags(page))
    reader.close()
    return " ".join("".join(reader.title).split()), _PAGE_GAP.sub("\n", "".join(reader.text)).strip()


def _tame_tags(page: str) -> str:
    """Remove parts without text and close or shorten tags on which the library would take quadratic time.

    A comment or script without an end extends to the end of the page, as in browsers.
    """
    bare = _TEXTLESS_PART.sub("", page)
    return _LONG_TAG.sub(r"<\1>", _UNENDED_TAG.sub("&lt;", bare))


class _PageReader(HTMLParser):
    """A parser that collects the pieces of the title and the text."""

    def __init__(self) -> None:
        super().__init__()
        self.title: list[str] = []
        self.text: list[str] = []
        self._inside = ""  # the open tag of the title or of a hidden part

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 - the signature of HTMLParser
        if not self._inside and (tag in _HIDDEN_TAGS or (tag == "title" and not self.title)):
            self._inside = tag
        elif not _INLINE_TAG.fullmatch(tag):
            self.text.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._inside:
            self._inside = ""
        elif not _INLINE_TAG.fullmatch(tag):
            self.text.append("\n")

    def handle_data(self, data: str) -> None:
        if self._inside == "title":
            self.title.append(data)
        elif not self._inside:
            self.text.append(re.sub(r"\s+", " ", data))
