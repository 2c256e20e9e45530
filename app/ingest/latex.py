r"""The text of LaTeX: without comments, formulas, references and commands; accents as letters.

Braces need not be balanced: documents define commands that no program but TeX follows, and a parser that insists on
balance loses the rest of the document.
"""

import re
import unicodedata
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import NamedTuple

_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%.*\n?[ \t]*")
# Environments without prose, by their beginnings and ends; an environment that never ends is none.
_WORDLESS = (
    "equation|align|alignat|gather|multline|flalign|eqnarray|math|displaymath|dmath|tikzpicture|pgfpicture|picture|"
    "verbatim|Verbatim|lstlisting|minted|algorithm|algorithmic|algorithm2e|tabular|tabularx|longtable|array|"
    "thebibliography|filecontents|comment|code|pspicture|forest"
)
_BEGIN_OR_END = re.compile(rf"\\(begin|end)\s*\{{({_WORDLESS})\*?\}}")
_MATHS = re.compile(r"(?<!\\)(?:\\\\)*(\$\$?|\\[\[\]()])")
_CLOSES = {"$": "$", "$$": "$$", "\\[": "\\]", "\\(": "\\)"}
_LONGEST_FORMULA = 5_000
_VERBATIM = re.compile(r"\\verb\*?([^A-Za-z\s*])[^\n]{0,300}?\1")
_ARGUMENT = r"\{[^{}]{0,1000}\}"
_OPTIONS = r"(?:\s?\[[^\]\n]{0,300}\])"
# Commands whose arguments are no prose.
_REFERENCE = re.compile(
    r"\\(?:[A-Za-z]*cite[A-Za-z]*|(?:eq|page|auto|name|c|C|v)?ref|label|input|include|subfile|includegraphics|graphicspath|"
    r"bibliography|bibliographystyle|addbibresource|usepackage|RequirePackage|documentclass|pagestyle|thispagestyle|"
    r"vspace|hspace|setlength|addtolength|setcounter|addtocounter|newcommand|renewcommand|providecommand|"
    r"DeclareMathOperator|newtheorem|theoremstyle|hypersetup|geometry|url|index|hyphenation|color|textcolor|begin|end|"
    rf"selectlanguage|foreignlanguage|fontsize|rule|tag|bibitem|pdfbookmark)\*?{_OPTIONS}{{0,3}}\s?{_ARGUMENT}{_OPTIONS}?"
)
_DEFINED = re.compile(
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
_SIGN = re.compile(r"\\([%&$#_{} ])")
_PART = re.compile(r"\\(?:part|chapter|(?:sub)*section|paragraph|caption|footnote|title|abstract)\b\*?")
_BLANKS = re.compile(r"[ \t]{2,}")
_GAP = re.compile(r"\n{3,}")
_INCLUDED = re.compile(r"\\(?:input|include|subfile)[ \t]{0,9}(?:\{([^{}\n]{1,300})\}|([^\s{}\\]{1,300}))")
_ABOUT = {
    "title": re.compile(r"\\title\s{0,9}(?:\[[^\]]{0,300}\])?\s{0,9}\{"),
    "author": re.compile(r"\\author\s{0,9}(?:\[[^\]]{0,300}\])?\s{0,9}\{"),
    "date": re.compile(r"\\date\s{0,9}\{"),
}
_AND = re.compile(r"\s*\\and(?![A-Za-z])\s*")
_LONGEST_ABOUT = 2_000
_DEEPEST = 20  # files that take in one another


class Article(NamedTuple):
    """A document in LaTeX: its title, what else its preamble says of it, and its text."""

    title: str
    fields: dict[str, str]
    text: str


def read_latex(source: str) -> Article:
    """Return the title, author, date and text of a document, or of a part of one."""
    source = _COMMENT.sub(r"\1", source)
    about = {name: text for name, begins in _ABOUT.items() if (text := _find_argument(source, begins))}
    body = _find_body(source)
    title = about.pop("title", "")
    if "\\" in about.get("date", "") or about.get("date", "").lower() == "today":
        about.pop("date")
    return Article(title, about, strip_commands(body))


def strip_commands(source: str) -> str:
    r"""Return the prose of LaTeX without comments.

    >>> strip_commands(r"Erd\H{o}s wrote \emph{about} $x^2$ in~\cite{a}, na\"{\i}vely --- 50\% of it.")
    'Erdős wrote about in , naïvely — 50% of it.'
    """
    text = _VERBATIM.sub(" ", _drop_formulas(_drop_environments(source)))
    text = _DEFINED.sub("", text)
    text = _REFERENCE.sub("", _HREF.sub("", text))
    text = unicodedata.normalize("NFC", _ACCENT.sub(_accent_letter, text))
    text = _LETTER.sub(lambda found: _LETTERS[found[1]], text)
    text = _PART.sub("\n\n", text).replace("\\\\", "\n")
    text = _COMMAND.sub("", text)
    text = _SIGN.sub(lambda sign: "\0" if sign[1] in "{}" else sign[1], text)
    text = re.sub(r"(?<!\\)[{}]", "", text).replace("\0", " ").replace("~", " ")
    for typed, sign in (("---", "—"), ("--", "–"), ("``", "“"), ("''", "”")):
        text = text.replace(typed, sign)
    text = "\n".join(line.strip() for line in _BLANKS.sub(" ", text).split("\n"))
    return _GAP.sub("\n\n", text).strip()


def inline_files(source: str, name: PurePosixPath, read: Callable[[PurePosixPath], str | None], most: int) -> str:
    r"""Return a source with the files that it takes in by ``\input`` and the like, in their places.

    Parameters
    ----------
    name : path
        Of the file it is, to which those names are relative.
    read : callable
        Gives the source of another file; None where there is none.
    most : int
        Characters of the whole; files that would make it longer are left out.
    """
    left = most - len(source)

    def within(text: str, seen: frozenset[PurePosixPath]) -> str:
        def place(found: re.Match[str]) -> str:
            nonlocal left
            for path in list_paths(found, name):
                if path not in seen and len(seen) < _DEEPEST and left > 0 and (inner := read(path)) is not None:
                    left -= len(inner) + 1
                    return within(_COMMENT.sub(r"\1", inner), seen | {path}) if left > 0 else " "
            return " "

        return _INCLUDED.sub(place, text)

    return within(_COMMENT.sub(r"\1", source), frozenset({name}))


def list_paths(found: re.Match[str], name: PurePosixPath) -> tuple[PurePosixPath, ...]:
    """Return the files that a command may mean in a file of that name."""
    path = PurePosixPath((found[1] or found[2]).strip(' "'))
    if path.is_absolute() or ".." in path.parts:
        return ()
    near = name.parent / path
    return (near,) if path.suffix == ".tex" else (PurePosixPath(f"{near}.tex"), near)


def find_included(source: str, name: PurePosixPath) -> set[PurePosixPath]:
    """Return the files that a source takes in."""
    bare = _COMMENT.sub(r"\1", source)
    return {path for found in _INCLUDED.finditer(bare) for path in list_paths(found, name)}


def _find_body(source: str) -> str:
    """Return what stands between the beginning and the end of the document, or all of a part of one."""
    begin = source.find("\\begin{document}")
    end = source.find("\\end{document}", begin)
    return source[max(begin, 0) : end if end >= 0 else len(source)]


def _drop_environments(source: str) -> str:
    """Return the source without environments that have no prose, and what is within them."""
    kept: list[str] = []
    place, depth, outer = 0, 0, 0
    for mark in _BEGIN_OR_END.finditer(source):
        if mark[1] == "begin":
            if depth == 0:
                outer = mark.start()
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                kept.append(source[place:outer])
                place = mark.end()
    return " ".join([*kept, source[place:]])


def _drop_formulas(source: str) -> str:
    """Return the source without formulas; a mark that nothing closes in the same paragraph begins none."""
    kept: list[str] = []
    place, begin, closing = 0, -1, ""
    for mark in _MATHS.finditer(source):
        if (
            closing
            and mark[1] != closing
            and (
                mark.start(1) - begin > _LONGEST_FORMULA or (closing == "$" and "\n\n" in source[begin : mark.start(1)])
            )
        ):
            closing = ""
        if closing and mark[1] == closing:
            kept += [source[place:begin], " "]
            place, closing = mark.end(1), ""
        elif not closing and mark[1] in _CLOSES:
            begin, closing = mark.start(1), _CLOSES[mark[1]]
    return "".join([*kept, source[place:]])


def _accent_letter(found: re.Match[str]) -> str:
    letter = (found[2] or found[3]).lstrip("\\")
    return letter + _ACCENTS[found[1]]


def _find_argument(source: str, begins: re.Pattern[str]) -> str:
    """Return the argument of a command, its braces balanced, on one line; empty where there is none."""
    found = begins.search(source)
    if found is None:
        return ""
    depth = 1
    for place in range(found.end(), min(len(source), found.end() + _LONGEST_ABOUT)):
        depth += {"{": 1, "}": -1}.get(source[place], 0) if source[place - 1] != "\\" else 0
        if depth == 0:
            argument = _AND.sub(", ", source[found.end() : place]).replace("\\thanks", "\\cite")
            return " ".join(strip_commands(argument).split())
    return ""
