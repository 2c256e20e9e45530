"""Readers of marked-up text: HTML, LaTeX, subtitles, notebooks, and front matter.

The text of pages in HTML, without the markup.

The text of documents in LaTeX, without commands and formulas.

The text of subtitles, of notebooks, and of files that begin with front matter.
"""

import json
import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import unescape
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import yaml
from lxml import etree

from topiary.app.ingest.source import Contents, Unreadable

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


_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%.*\n?[ \t]*")
# Environments without prose; one without an end is not recognised.
_PROSELESS = (
    "equation|align|alignat|gather|multline|flalign|eqnarray|math|displaymath|dmath|tikzpicture|pgfpicture|picture|"
    "verbatim|Verbatim|lstlisting|minted|algorithm|algorithmic|algorithm2e|tabular|tabularx|longtable|array|"
    "thebibliography|filecontents|comment|code|pspicture|forest"
)
_BEGIN_OR_END = re.compile(rf"\\(begin|end)\s*\{{({_PROSELESS})\*?\}}")
_FORMULA_MARK = re.compile(r"(?<!\\)(?:\\\\)*(\$\$?|\\[\[\]()])")
_FORMULA_ENDS = {"$": "$", "$$": "$$", "\\[": "\\]", "\\(": "\\)"}  # closing marks of formulas by their opening marks
_LONGEST_FORMULA = 5_000  # characters
_VERBATIM = re.compile(r"\\verb\*?([^A-Za-z\s*])[^\n]{0,300}?\1")
_ARGUMENT = r"\{[^{}]{0,1000}\}"  # a pattern of a required argument of a command
_OPTIONS = r"(?:\s?\[[^\]\n]{0,300}\])"  # a pattern of an optional argument of a command
# Commands whose arguments are not prose.
_REFERENCE = re.compile(
    r"\\(?:[A-Za-z]*cite[A-Za-z]*|(?:eq|page|auto|name|c|C|v)?ref|label|input|include|subfile|includegraphics|graphicspath|"
    r"bibliography|bibliographystyle|addbibresource|usepackage|RequirePackage|documentclass|pagestyle|thispagestyle|"
    r"vspace|hspace|setlength|addtolength|setcounter|addtocounter|newcommand|renewcommand|providecommand|"
    r"DeclareMathOperator|newtheorem|theoremstyle|hypersetup|geometry|url|index|hyphenation|color|textcolor|begin|end|"
    rf"selectlanguage|foreignlanguage|fontsize|rule|tag|bibitem|pdfbookmark)\*?{_OPTIONS}{{0,3}}\s?{_ARGUMENT}{_OPTIONS}?"
)
_DEFINITION = re.compile(
    rf"\\(?:re)?(?:new|provide)command\*?\s?(?:\{{\\[A-Za-z@]+\}}|\\[A-Za-z@]+){_OPTIONS}{{0,2}}|\\def\s?\\[A-Za-z@]+[#0-9]*"
)
_HREF = re.compile(rf"\\href\s?{_ARGUMENT}")
_ACCENT = re.compile(
    r"\\([`'^\"~=.]|[uvHtcdbrk](?![A-Za-z]))[ \t]{0,3}"
    r"(?:\{[ \t]{0,3}(\\?[A-Za-z])[ \t]{0,3}\}|(\\[ij](?![A-Za-z])|[A-Za-z]))"
)
_ACCENTS = {
    "`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", '"': "\u0308", "=": "\u0304", ".": "\u0307",
    "u": "\u0306", "v": "\u030c", "H": "\u030b", "c": "\u0327", "d": "\u0323", "b": "\u0331",
    "r": "\u030a", "k": "\u0328", "t": "\u0361",
}  # fmt: skip
_LETTERS = {
    "ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "o": "ø", "O": "Ø", "l": "ł", "L": "Ł", "aa": "å", "AA": "Å",
    "i": "i", "j": "j", "dh": "ð", "th": "þ", "dj": "đ", "ng": "ŋ", "textendash": "–", "textemdash": "—", "ldots": "…",
    "dots": "…", "textquoteright": "’", "textquoteleft": "‘", "LaTeX": "LaTeX", "TeX": "TeX", "S": "§",
    "copyright": "©", "textasciitilde": "~", "textbackslash": "\\", "par": "\n\n", "item": "\n", "newline": "\n",
}  # fmt: skip
_LETTER = re.compile(rf"\\({'|'.join(sorted(_LETTERS, key=len, reverse=True))})(?![A-Za-z])(?:\{{\}}|[ \t]*)")
_COMMAND = re.compile(rf"\\[A-Za-z@]+\*?{_OPTIONS}{{0,2}}[ \t]?")
_ESCAPED_SIGN = re.compile(r"\\([%&$#_{} ])")
_HEADING_COMMAND = re.compile(r"\\(?:part|chapter|(?:sub)*section|paragraph|caption|footnote|title|abstract)\b\*?")
_BLANKS = re.compile(r"[ \t]{2,}")
_GAP = re.compile(r"\n{3,}")
_INCLUSION = re.compile(r"\\(?:input|include|subfile)[ \t]{0,9}(?:\{([^{}\n]{1,300})\}|([^\s{}\\]{1,300}))")
_METADATA_COMMANDS = {
    "title": re.compile(r"\\title\s{0,9}(?:\[[^\]]{0,300}\])?\s{0,9}\{"),
    "author": re.compile(r"\\author\s{0,9}(?:\[[^\]]{0,300}\])?\s{0,9}\{"),
    "date": re.compile(r"\\date\s{0,9}\{"),
}
_AUTHOR_JOIN = re.compile(r"\s*\\and(?![A-Za-z])\s*")
_LONGEST_METADATA = 2_000  # characters of a title, an author or a date
_DEEPEST = 20  # levels of files that include one another


def read_latex(source: str) -> Contents:
    """Return the title, text, author and date of a document in LaTeX, or a part of one."""
    source = _COMMENT.sub(r"\1", source)
    metadata = {name: text for name, command in _METADATA_COMMANDS.items() if (text := _find_argument(source, command))}
    body = _find_body(source)
    title = metadata.pop("title", "")
    if "\\" in metadata.get("date", "") or metadata.get("date", "").lower() == "today":
        metadata.pop("date")
    return Contents(title, strip_commands(body), metadata, "formulas and tables of LaTeX")


def strip_commands(source: str) -> str:
    r"""Return the prose of LaTeX without comments.

    >>> strip_commands(r"Erd\H{o}s wrote \emph{about} $x^2$ in~\cite{a}, na\"{\i}vely --- 50\% of it.")
    'Erdős wrote about in , naïvely — 50% of it.'
    """
    text = _VERBATIM.sub(" ", _drop_formulas(_drop_environments(source)))
    text = _DEFINITION.sub("", text)
    text = _REFERENCE.sub("", _HREF.sub("", text))
    text = unicodedata.normalize("NFC", _ACCENT.sub(_accent_letter, text))
    text = _LETTER.sub(lambda match: _LETTERS[match[1]], text)
    text = _HEADING_COMMAND.sub("\n\n", text).replace("\\\\", "\n")
    text = _COMMAND.sub("", text)
    text = _ESCAPED_SIGN.sub(lambda sign: "\0" if sign[1] in "{}" else sign[1], text)
    text = re.sub(r"(?<!\\)[{}]", "", text).replace("\0", " ").replace("~", " ")
    for typed, sign in (("---", "—"), ("--", "–"), ("``", "“"), ("''", "”")):
        text = text.replace(typed, sign)
    text = "\n".join(line.strip() for line in _BLANKS.sub(" ", text).split("\n"))
    return _GAP.sub("\n\n", text).strip()


def inline_files(source: str, name: PurePosixPath, read: Callable[[PurePosixPath], str | None], most: int) -> str:
    r"""Return a source with the files that ``\input`` and similar commands include inserted.

    Parameters
    ----------
    name : path
        Path of the source; the names of included files are relative to it.
    read : callable
        Returns the source of another file; None if there is none.
    most : int
        Largest number of characters in all; files that exceed it are left out.
    """
    left = most - len(source)

    def expand(text: str, above: frozenset[PurePosixPath]) -> str:
        """Return a text with its included files inserted; ``above`` are the files that include it."""

        def insert(match: re.Match[str]) -> str:
            nonlocal left
            for path in list_paths(match, name):
                if path not in above and len(above) < _DEEPEST and left > 0 and (inner := read(path)) is not None:
                    left -= len(inner) + 1
                    return expand(_COMMENT.sub(r"\1", inner), above | {path}) if left > 0 else " "
            return " "

        return _INCLUSION.sub(insert, text)

    return expand(_COMMENT.sub(r"\1", source), frozenset({name}))


def list_paths(found: re.Match[str], name: PurePosixPath) -> tuple[PurePosixPath, ...]:
    """Return the files that an including command may mean in the file ``name``."""
    path = PurePosixPath((found[1] or found[2]).strip(' "'))
    if path.is_absolute() or ".." in path.parts:
        return ()
    near = name.parent / path
    return (near,) if path.suffix == ".tex" else (PurePosixPath(f"{near}.tex"), near)


def find_included(source: str, name: PurePosixPath) -> set[PurePosixPath]:
    """Return the files that a source includes."""
    bare = _COMMENT.sub(r"\1", source)
    return {path for match in _INCLUSION.finditer(bare) for path in list_paths(match, name)}


def _find_body(source: str) -> str:
    """Return the body of the document, or the whole source if it is only a part of one."""
    start = source.find("\\begin{document}")
    end = source.find("\\end{document}", start)
    return source[max(start, 0) : end if end >= 0 else len(source)]


def _drop_environments(source: str) -> str:
    """Return the source without environments that have no prose."""
    pieces: list[str] = []
    position, depth, outer_start = 0, 0, 0
    for mark in _BEGIN_OR_END.finditer(source):
        if mark[1] == "begin":
            if depth == 0:
                outer_start = mark.start()
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                pieces.append(source[position:outer_start])
                position = mark.end()
    return " ".join([*pieces, source[position:]])


def _drop_formulas(source: str) -> str:
    """Return the source without formulas; a mark that is not closed in the same paragraph begins no formula."""
    pieces: list[str] = []
    position, start, closing = 0, -1, ""
    for mark in _FORMULA_MARK.finditer(source):
        if closing and mark[1] != closing:
            new_paragraph = closing == "$" and "\n\n" in source[start : mark.start(1)]
            if new_paragraph or mark.start(1) - start > _LONGEST_FORMULA:
                closing = ""
        if closing and mark[1] == closing:
            pieces += [source[position:start], " "]
            position, closing = mark.end(1), ""
        elif not closing and mark[1] in _FORMULA_ENDS:
            start, closing = mark.start(1), _FORMULA_ENDS[mark[1]]
    return "".join([*pieces, source[position:]])


def _accent_letter(match: re.Match[str]) -> str:
    letter = (match[2] or match[3]).lstrip("\\")
    return letter + _ACCENTS[match[1]]


def _find_argument(source: str, command: re.Pattern[str]) -> str:
    """Return the argument of a command as plain text on one line; empty if it is missing or too long."""
    match = command.search(source)
    if match is None:
        return ""
    depth = 1
    for position in range(match.end(), min(len(source), match.end() + _LONGEST_METADATA)):
        depth += {"{": 1, "}": -1}.get(source[position], 0) if source[position - 1] != "\\" else 0
        if depth == 0:
            argument = _AUTHOR_JOIN.sub(", ", source[match.end() : position]).replace("\\thanks", "\\cite")
            return " ".join(strip_commands(argument).split())
    return ""


SUBTITLE_KINDS = (".srt", ".vtt", ".sbv")

_CLOCK = r"(?:[0-9]+:)?[0-9]{1,2}:[0-9]{2}[.,][0-9]{1,3}"  # a pattern of a time in subtitles
_TIMES = re.compile(rf"\s*{_CLOCK}\s*(?:-+>|,)\s*{_CLOCK}(?:\s.*)?")
_BLOCK = re.compile(r"(?:NOTE|STYLE|REGION)(?:\s|$)")
_SPEAKER = re.compile(r"<v(?:\.[^\s<>]*)?\s+([^<>]{1,200})>")
_MARK = re.compile(r"<[^<>\n]{0,300}>|\{\\[^{}\n]{0,300}\}|\{[A-Za-z]:[^{}\n]{0,100}\}")


def read_subtitles(text: str) -> str:
    r"""Return the spoken lines; those that rolling captions repeat appear once.

    >>> read_subtitles("1\n00:01,000 --> 00:02,000\n<i>The ferry</i>\n\n2\n00:02,000 --> 00:03,000\nwas late.")
    'The ferry\nwas late.'
    """
    return join_cues(_split_cues(text.splitlines()))


def join_cues(cues: Iterable[Sequence[str]]) -> str:
    """Return the spoken lines of cues, without their marks; those that rolling captions repeat appear once."""
    spoken: list[str] = []
    last_lines: list[str] = []  # lines of the previous cue
    for cue in cues:
        lines = [line for each in cue if (line := _strip_marks(each))]
        new_lines = lines
        for size in range(min(len(last_lines), len(lines)), 0, -1):
            if last_lines[-size:] == lines[:size]:
                new_lines = lines[size:]
                break
        spoken += new_lines
        last_lines = lines or last_lines
    return "\n".join(spoken)


def _split_cues(lines: list[str]) -> list[list[str]]:
    """Return the lines of each cue, which follow a line of times, without the number or name of the next cue."""
    starts = [place for place, line in enumerate(lines) if _TIMES.fullmatch(line)]
    if not starts:
        return [lines]
    cues = []
    for start, end in zip(starts, [*starts[1:], len(lines) + 1], strict=True):
        cue = lines[start + 1 : end]
        if end <= len(lines) and cue and (cue[-1].strip().isdecimal() or (len(cue) > 1 and not cue[-2].strip())):
            cue = cue[:-1]  # the number or name of the next cue
        cues.append(_drop_blocks(cue))
    return cues


def _drop_blocks(lines: list[str]) -> list[str]:
    """Return the lines of a cue without the notes, styles and regions of WebVTT that follow it."""
    for place, line in enumerate(lines):
        if _BLOCK.match(line) and place and not lines[place - 1].strip():
            return lines[:place]
    return lines


def _strip_marks(line: str) -> str:
    """Return a line without its marks, preceded by the name of the speaker if it has one."""
    return " ".join(unescape(_MARK.sub("", _SPEAKER.sub(r"\1: ", line))).split())


_FENCES = {"---": ("---", "..."), "+++": ("+++",)}  # the ends by the opening line, of YAML and of TOML
_BLANK_LINES = 16  # characters of a text in which front matter begins
_LARGEST_FRONT = 1 << 16  # characters of front matter
_YAML_LINE = re.compile(r"([A-Za-z][\w .-]{0,60}?)\s*:\s*(.*)")
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)
_ATTACHMENT = re.compile(r"!\[[^\]\n]{0,300}\]\(attachment:[^)\n]{0,300}\)")


class FrontMatter(NamedTuple):
    """The fields of the front matter, by name, and the text below it."""

    fields: dict[str, str]
    text: str


def split_front_matter(text: str) -> FrontMatter:
    r"""Split YAML or TOML front matter from a text; without any, return no fields and the whole text.

    >>> split_front_matter("---\ntitle: Tea\ntags: [a, b]\n---\nIt rains.")
    FrontMatter(fields={'title': 'Tea', 'tags': 'a, b'}, text='It rains.')
    """
    if not text[:_BLANK_LINES].lstrip("\ufeff\r\n").startswith(tuple(_FENCES)):
        return FrontMatter({}, text)
    opening, _, rest = text.lstrip("\ufeff\r\n").partition("\n")
    ends = _FENCES.get(opening.rstrip())
    if ends is None:
        return FrontMatter({}, text)
    ending = re.compile(rf"^(?:{'|'.join(map(re.escape, ends))})[ \t]*\r?$\n?", re.MULTILINE)
    end = ending.search(rest, 0, _LARGEST_FRONT)
    if end is None:
        return FrontMatter({}, text)
    block = rest[: end.start()]
    fields = _read_toml(block) if opening.startswith("+") else _read_yaml(block)
    return FrontMatter(fields, rest[end.end() :].lstrip("\r\n")) if fields else FrontMatter({}, text)


def _read_toml(block: str) -> dict[str, str]:
    try:
        return _read_cells(tomllib.loads(block.replace("\r\n", "\n")))
    except (ValueError, RecursionError):
        return {}


def _read_yaml(block: str) -> dict[str, str]:
    """Return the fields of YAML; if it is invalid, as with a colon in a title, use its lines ``name: value``."""
    try:
        fields = _SafeYaml(block).get_single_data()
        return _read_cells(fields) if isinstance(fields, dict) else {}
    except (yaml.YAMLError, ValueError, RecursionError):
        return {
            match[1]: match[2].strip(" \t\r\"'") for line in block.splitlines() if (match := _YAML_LINE.fullmatch(line))
        }


class _SafeYaml(yaml.SafeLoader):  # type: ignore[misc]
    """A loader of YAML that refuses aliases, with which a few lines can expand beyond all bounds."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("a reference")
        return super().compose_node(parent, index)


def _read_cells(fields: Mapping[Any, Any]) -> dict[str, str]:
    """Return single values and lists of them as texts; deeper nested values are meant for programs and left out."""
    texts = {str(name).strip(): _read_cell(value) for name, value in fields.items()}
    return {name: text for name, text in texts.items() if name and text}


def _read_cell(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(filter(None, (_read_cell(each) for each in value if not isinstance(each, list | dict))))
    if isinstance(value, dict) or value is None:
        return ""
    return " ".join((value if isinstance(value, str) else str(value)).split())


def read_notebook(raw: bytes) -> Contents:
    """Return the title and the text cells of a Jupyter notebook, without its code.

    Raises
    ------
    Unreadable
        If it is not a notebook, or has no text cells.
    """
    try:
        notebook = json.loads(raw)
    except (ValueError, RecursionError):
        notebook = None
    if not isinstance(notebook, dict):
        raise Unreadable("is no notebook")
    cells = _list_cells(notebook.get("cells"))
    for sheet in _list_cells(notebook.get("worksheets")):  # before version 4
        cells += _list_cells(sheet.get("cells"))
    if not cells and "nbformat" not in notebook:
        raise Unreadable("is no notebook")
    texts = [_join_cell(cell) for cell in cells if cell.get("cell_type") in ("markdown", "raw", "heading")]
    text = _ATTACHMENT.sub("", "\n\n".join(filter(None, texts)))
    has_code = any(cell.get("cell_type") == "code" for cell in cells)
    if not text.strip():
        raise Unreadable("has cells of code only" if has_code else "has no cells")
    metadata = notebook.get("metadata")
    title = metadata.get("title") if isinstance(metadata, dict) else None
    heading = _HEADING.search(text)
    title = title if isinstance(title, str) else heading[1] if heading else ""
    return Contents(title, text, {}, "cells of code" if has_code else "")


def _list_cells(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _join_cell(cell: Mapping[str, Any]) -> str:
    """Return the text of a cell, which is stored as one string or a list of lines."""
    source = cell.get("source")
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    text = source if isinstance(source, str) else ""
    return f"# {text}" if cell.get("cell_type") == "heading" else text
