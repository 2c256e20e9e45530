"""The title and the text of a page in HTML."""

import re
from html.parser import HTMLParser

KINDS = (".html", ".htm", ".xhtml")

_UNSEEN = frozenset({"script", "style", "template", "noscript"})
_RUNS_ON = re.compile("a|abbr|b|bd[io]|cite|code|data|dfn|em|font|i|kbd|mark|q|s|samp|small|span|strong|su[bp]|u")
_BEGINS = re.compile(r"\s*<(?:!doctype html|html|head|body|div|p|table|ul|ol|h[1-6]|article|section)\b", re.IGNORECASE)
_ENDS = re.compile(r"</(?:html|body|div|p|table|td|ul|ol|li|h[1-6]|article|section|script|style)\s*>", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z!][^<>]{0,300}>")
_BLOCKS, _TAGS = 3, 0.1  # ends of blocks, and the share of tags in all characters, from which a text is HTML
_TEXTLESS = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1\s*>|\Z)|<[!?][^>]*(?:>|\Z)", re.DOTALL | re.IGNORECASE
)
_UNENDED = re.compile(r"<(?=[^<>]*(?:<|\Z))")
_LONG = re.compile(r"<(/?[A-Za-z][A-Za-z0-9]*)[^<>]{2000,}>")
_GAP = re.compile(r"\s*\n\s*")


def is_page(text: str) -> bool:
    """Whether a text is visibly HTML: it begins as a page or a block, or blocks end in it and much of it is tags.

    >>> is_page("<p>Rain fell.</p>"), is_page("A great film.<br /><br />See it!"), is_page("if a < b and b > c")
    (True, False, False)
    """
    if "</" not in text:
        return False
    if _BEGINS.match(text):
        return _ENDS.search(text) is not None
    if len(_ENDS.findall(text)) < _BLOCKS:
        return False
    return sum(map(len, _TAG.findall(text))) >= _TAGS * len(text)


def readable(page: str) -> tuple[str, str]:
    r"""The title of a page, empty where it has none, and its text: a line for each block, no scripts and styles.

    >>> readable("<title>A day</title><p>Rain <b>fell</b>.</p><p>All day.</p><script>x = 1</script>")
    ('A day', 'Rain fell.\nAll day.')
    """
    reader = _Reader()
    reader.feed(_tame(page))
    reader.close()
    return " ".join("".join(reader.title).split()), _GAP.sub("\n", "".join(reader.text)).strip()


def _tame(page: str) -> str:
    """The page without what has no text and with tags that end: on others the library takes the square of their number.

    A comment or script that never ends goes on to the end of the page, as in browsers.
    """
    bare = _TEXTLESS.sub("", page)
    return _LONG.sub(r"<\1>", _UNENDED.sub("&lt;", bare))


class _Reader(HTMLParser):
    """Gathers the pieces of title and text as it is fed."""

    def __init__(self) -> None:
        super().__init__()
        self.title: list[str] = []
        self.text: list[str] = []
        self._inside = ""  # title, or what is not seen

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 - the signature of HTMLParser
        if not self._inside and (tag in _UNSEEN or (tag == "title" and not self.title)):
            self._inside = tag
        elif not _RUNS_ON.fullmatch(tag):
            self.text.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._inside:
            self._inside = ""
        elif not _RUNS_ON.fullmatch(tag):
            self.text.append("\n")

    def handle_data(self, data: str) -> None:
        if self._inside == "title":
            self.title.append(data)
        elif not self._inside:
            self.text.append(re.sub(r"\s+", " ", data))
