"""The text of documents in LaTeX, without commands and formulas."""

import re
import unicodedata
from collections.abc import Callable
from pathlib import PurePosixPath

from topiary.app.ingest.source import Contents

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
