"""What the beginning of a file shows: the kind of a text, the dialect of a table, and how to save what is not read."""

import codecs
import csv
import os
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from io import StringIO
from itertools import islice, pairwise
from pathlib import Path, PurePath
from typing import Any, Literal, NamedTuple, TypeAlias

from topiary.app.ingest import packing
from topiary.app.ingest.errors import IngestError, plural
from topiary.app.ingest.options import QUOTES, USUAL, ImportOptions, describe_separator, find_separator
from topiary.app.ingest.tables.headers import MOST_TITLES, Names, has_header, knows_names, read_names
from topiary.app.ingest.tables.names import is_known
from topiary.app.ingest.tables.values import is_number
from topiary.app.ingest.text import encodings

PLAIN = (".txt", ".text", "")  # endings that do not tell the kind
_NUMBERED = re.compile(r"\.(?:\d+|[0-9a-f]{16,}|[^.]*:2,[a-z]*)")  # as mail programs and collections end names
_KIND_BY_ENDING = {
    ".bib": "bibtex", ".bibtex": "bibtex", ".ris": "ris", ".enw": "endnote", ".ciw": "wos", ".nbib": "medline",
    ".medline": "medline", ".rss": "feed", ".atom": "feed",
}  # fmt: skip
ABOUT = re.compile(r"(?:read_?me|licen[cs]e|copying|change(?:s|log)|notice|citation)\b", re.IGNORECASE)
_READ, _START = 1 << 16, 1 << 14  # bytes at the beginning of a file that are read, and by which a text is recognised
_FEWEST = 3  # entries by which a kind is recognised
_MOST_SAMPLED = 40  # files of a folder or zip file that are examined
_FEED_ROOTS = ("rss", "feed", "rdf")  # root elements of feeds

_RIS = re.compile(r"\s?TY {1,2}- ?[A-Z][A-Z0-9]{2,8}\s*$", re.MULTILINE)
_RIS_LINE = re.compile(r"^\s?[A-Z][A-Z0-9] {1,2}-(?: |$)", re.MULTILINE)
_WOS = re.compile(r"(?:FN (?:Clarivate|Thomson|ISI|Web of Science)|\s*PT [A-Z]\s*\r?\n(?:AU|BA|BE|AF|TI|GP) )")
_MEDLINE = re.compile(r"\s*(?:PMID|OWN |STAT)- \S.*\r?\n(?:[A-Z][A-Z0-9]{1,3} {0,2}- .*\r?\n){2}")
_ENDNOTE = re.compile(r"\s*%0 [A-Z][A-Za-z ]{2,40}\r?\n(?:%[0-9A-Za-z@!$&(+*<>^~] .*\r?\n)")
_BIBTEX = re.compile(
    r"(?:\s|%[^\n]*\n|@(?:comment|string|preamble)\b[^\n]*\n)*@(?:article|book|inproceedings|incollection|misc|online|"
    r"phdthesis|mastersthesis|techreport|report|thesis|unpublished|conference|proceedings|inbook|electronic|manual)"
    r"\s*\{[^\s,{}]*,",
    re.IGNORECASE,
)
_MAIL = re.compile(
    r"\s*From \S.*(?:[0-9]{4}|:[0-9]{2}).*\r?\n[!-9;-~]+:[ \t]|\s*From \S.*\r?\n(?:[!-9;-~]+:[ \t].*\r?\n){2}"
)
_MAIL_HEADERS = re.compile(r"\s*((?:[!-9;-~]+:(?:[ \t].*)?\r?\n(?:[ \t]+\S.*\r?\n)*){3,})")
_MAIL_NAMES = frozenset((
    "from", "to", "cc", "date", "subject", "reply-to", "sender", "return-path", "received", "delivered-to",
    "message-id", "mime-version", "content-type", "in-reply-to", "references", "envelope-to", "x-original-to",
    "x-mailer", "user-agent",
))  # fmt: skip
# Headers that a server or a mail program adds; a memo that people write has none of them.
_MAIL_SIGNS = frozenset(("return-path", "received", "delivered-to", "message-id", "mime-version", "envelope-to"))
_NEWS_NAMES = frozenset(("newsgroups", "path", "xref", "nntp-posting-host"))  # posts are read as texts
STARS = "iramuteq"  # the kind of texts below lines of starred variables
_STAR_LINE = re.compile(r"\s*(?:\*{4}|\d{4})(?:\s+\*[^\s*]\S*)+\s*")
_STARS_ALONE = "****"
# Patterns that match the beginning of a text of each kind.
_BEGINNINGS = {"wos": _WOS, "medline": _MEDLINE, "endnote": _ENDNOTE, "bibtex": _BIBTEX, "mail": _MAIL}
# A message of WhatsApp begins with [12.03.21, 14:05:11] Ann: or 3/12/21, 2:05 PM - Ann:, with invisible direction
# marks anywhere and, in some languages, words before and after the time.
_MARK = "[\u200e\u200f\u202a-\u202e]*"
_CLOCK = (
    r"(?:[^\W\d_]{1,4}[ \u00a0\u202f]?)?[0-9]{1,2}[:.][0-9]{2}(?:[:.][0-9]{2})?"
    r"(?:[ \u00a0\u202f]?(?:[ap]\.?[ \u00a0\u202f]?m\.?|[AP]M|[^\W\d_]{1,4}))?"
)
# A separator of the numbers in a date; a number of one or two digits, and a year.
_SEP = rf"{_MARK}[./-]{_MARK} ?"
_NN, _FULL_YEAR = "[0-9]{1,2}", "[0-9]{4}"
_DAY = rf"(?:{_NN}{_SEP}{_NN}{_SEP}[0-9]{{2,4}}|{_FULL_YEAR}{_SEP}{_NN}{_SEP}{_NN})\.?"
_DAY_AND_CLOCK = rf"({_DAY}),? ({_CLOCK})"
WHATSAPP = re.compile(rf"{_MARK}(?:\[{_DAY_AND_CLOCK}\] |{_DAY_AND_CLOCK} [-–] )(.*)")
_WORD_FIRST = re.compile(r"\s*\"?(\S[^\t,;\"]{0,200}?)\"?[\t,; ]\s*([0-9]{1,9})(?:\.0+)?\s*")
_NUMBER_FIRST = re.compile(r"\s*([0-9]{1,9})[\t,; ]\s*\"?([^\s0-9][^\t,;\"]{0,200}?)\"?\s*")
_WITHOUT_LETTERS = re.compile(r"([^\s,;\"]{1,40})\t([0-9]{1,9})\s*")  # a number or sign, and its count
_WORD_SHARE = 0.6  # share of the entries that have letters, in a list of words
_LONGEST_GRAM = 3  # words of an entry of a list of words and counts


def find_kind(path: Path) -> str | None:
    """Return the kind of a file, by its name or content, or of half of the files in a folder; None if there is none."""
    if not path.is_dir():
        return None if packing.find_suffix(path) == ".csv" else look_at(path).kind
    return _choose_kind(Counter(look_at(file).kind for file in sample_files(path)))


def recognise_kinds(*kinds: str) -> Callable[[Path], bool]:
    """Return a function that recognises a file of some kinds, or a folder with half of its files of one kind."""
    return lambda path: find_kind(path) in kinds


def find_kind_in_zip(path: Path) -> str | None:
    """Return the kind of half of the files in a zip file; None if there is none or it cannot be opened."""
    kinds: Counter[str | None] = Counter()
    try:
        with zipfile.ZipFile(path) as archive:
            names = [info for info in archive.infolist() if not info.is_dir() and not _is_hidden(info.filename)]
            for info in names[:_MOST_SAMPLED]:
                with archive.open(info) as stream:
                    kinds[Beginning(PurePath(info.filename), stream.read(_START)).kind] += 1
            if len(names) == 1 and Path(names[0].filename).suffix.lower() == ".xml":
                return "xml"
    except (*packing.UNPACKING, NotImplementedError, UnicodeDecodeError):
        return None
    return _choose_kind(kinds)


def _choose_kind(kinds: Counter[str | None]) -> str | None:
    """Return the kind of at least half of all files; lists of words must be several. None if there is no such kind."""
    for kind, times in kinds.most_common():
        if kind is not None and 2 * times >= kinds.total() and (kind != "wordcounts" or times >= _FEWEST):
            return kind
    return None


def find_kind_of_text(start: str) -> str | None:
    """Return the kind of a text by its beginning; None if it is none of the kinds."""
    for kind, pattern in _BEGINNINGS.items():
        if pattern.match(start):
            return kind
    if begins_with_mail_headers(start):
        return "mail"
    first = next((line for line in start.splitlines() if line.strip()), "")
    if _STAR_LINE.fullmatch(first):
        return STARS
    if _RIS.search(start) and len(_RIS_LINE.findall(start)) >= _FEWEST:
        return "ris"
    lines = [line for line in start.splitlines()[:200] if line.strip()]
    messages = sum(bool(WHATSAPP.match(line)) for line in lines)
    if messages >= _FEWEST and 4 * messages >= len(lines) and WHATSAPP.match(lines[0]):
        return "whatsapp"
    return "wordcounts" if is_word_list(lines) else None


def begins_with_mail_headers(start: str) -> bool:
    """Return whether a text begins with the headers of a message as it was sent, one of its sender among them."""
    block = _MAIL_HEADERS.match(start)
    if block is None:
        return False
    lines = [line.partition(":") for line in block[1].splitlines() if line[:1] not in (" ", "\t")]
    names = {name.strip().lower(): content for name, _, content in lines}
    is_sent = not _MAIL_SIGNS.isdisjoint(names) or ("date" in names and "@" in names.get("from", ""))
    known = len(_MAIL_NAMES.intersection(names))
    return "from" in names and is_sent and known >= _FEWEST and _NEWS_NAMES.isdisjoint(names)


def is_star_line(line: str) -> bool:
    """Return whether a line begins a text in a corpus of IRaMuTeQ or Alceste.

    >>> [is_star_line(line) for line in ("**** *id_1 *year_2001", "0001 *sex_f", "****", "** a **", "2001 was wet")]
    [True, True, True, False, False]
    """
    return _STAR_LINE.fullmatch(line) is not None or line.strip() == _STARS_ALONE


def is_word_list(lines: Sequence[str]) -> bool:
    """Return whether lines are words with their counts, below at most one line of column names."""
    complete = lines[:-1] if len(lines) > _FEWEST else lines  # the last line may be cut
    entries = [entry for line in complete if (entry := read_entry(line))]
    words = {word for word, _ in entries}
    if len(entries) < max(len(complete) - 1, _FEWEST - 1) or len(words) < len(entries):
        return False
    if len(entries) < len(complete) and read_entry(complete[0]):  # only the first line may be no entry
        return False
    if len(entries) >= _FEWEST and all(after == count + 1 for (_, count), (_, after) in pairwise(entries)):
        return False  # the numbers of lines, 1, 2, 3, ...
    if sum(any(map(str.isalpha, word)) for word in words) < _WORD_SHARE * len(words):
        return False
    return all(len(word.split()) <= _LONGEST_GRAM for word in words)


def read_entry(line: str) -> tuple[str, int] | None:
    r"""Return the word and the count on a line, in either order; None for any other line.

    >>> read_entry("harbour\t12"), read_entry("  12 harbour"), read_entry("harbour")
    (('harbour', 12), ('harbour', 12), None)
    """
    match = _WORD_FIRST.fullmatch(line)
    if match and any(map(str.isalpha, match[1])):
        return match[1], int(match[2])
    if match := _WITHOUT_LETTERS.fullmatch(line):
        return match[1], int(match[2])
    match = _NUMBER_FIRST.fullmatch(line)
    return (match[2], int(match[1])) if match and any(map(str.isalpha, match[2])) else None


def list_files(path: Path, kinds: Collection[str]) -> list[Path]:
    """Return the files of some kinds: the path itself, or those at any depth in a folder, sorted.

    Raises
    ------
    IngestError
        If a folder has none.
    """
    if not path.is_dir():
        return [path]
    matching = sorted(file for file in path.rglob("*") if _is_visible(file, path) and look_at(file).kind in kinds)
    if not matching:
        raise IngestError(path, f"has no files of the format {' or '.join(kinds)} in it")
    return matching


def find_plain_suffix(path: PurePath) -> str:
    """Return the suffix of a file, empty for a number or the like, which does not tell what is in it."""
    ending = packing.find_suffix(path)
    return "" if _NUMBERED.fullmatch(ending) else ending


class Beginning:
    """The beginning of a file, and what it shows.

    Parameters
    ----------
    name : PurePath
    raw : bytes
        The first bytes of its content, unpacked.
    """

    def __init__(self, name: PurePath, raw: bytes) -> None:
        self.name, self.raw = name, raw

    @cached_property
    def text(self) -> str:
        """The first characters."""
        raw = self.raw[:_START]
        return raw.decode(encodings.recognise_text(raw, "utf-8"), "replace").removeprefix("\ufeff")

    @cached_property
    def first(self) -> bytes:
        """The first byte that is neither a mark nor a blank."""
        return self.raw.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]

    @cached_property
    def root(self) -> str:
        """The name of the root element of XML, in lower case; empty for other files."""
        return find_root(self.raw)

    @cached_property
    def content(self) -> str | None:
        """The kind of a text by its content alone; None if it is none of the kinds."""
        return find_kind_of_text(self.text)

    @cached_property
    def kind(self) -> str | None:
        """The kind of the file, by its ending or its content; None if it is none of the kinds."""
        ending = find_plain_suffix(self.name)
        if ending == ".xml":
            return "feed" if self.root in _FEED_ROOTS else None
        if ending not in (*PLAIN, ".csv"):
            return _KIND_BY_ENDING.get(ending)
        return self.content if self.content == "wordcounts" or ending != ".csv" else None


@packing.cache_until_changed
def look_at(path: Path) -> Beginning:
    """Return the beginning of a file; it is read once, as long as the file does not change."""
    return Beginning(path, packing.read_start(path, _READ))


def _is_hidden(name: str) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in Path(name).parts) or bool(ABOUT.match(Path(name).name))


def sample_files(folder: Path) -> Iterator[Path]:
    """Yield the first files of a folder at any depth, without hidden files and read-me files."""
    n_files = 0
    for directory, subfolders, names in os.walk(folder):
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        for name in sorted(names):
            path = Path(directory, name)
            if not name.startswith(".") and not ABOUT.match(name) and path.is_file():
                yield path
                n_files += 1
                if n_files == _MOST_SAMPLED:
                    return


def _is_visible(file: Path, folder: Path) -> bool:
    return file.is_file() and not any(part.startswith(".") for part in file.relative_to(folder).parts)


_ENCODING_NAME = re.compile(rb"""<\?xml[^<>]{0,200}?encoding\s*=\s*["']([A-Za-z][A-Za-z0-9._-]{0,40})["']""")
_XML_START = re.compile(r"\s*<[?!A-Za-z_:]")


def is_xml(start: bytes) -> bool:
    """Return whether a file with this beginning may be XML."""
    return bool(_XML_START.match(start.decode(find_xml_encoding(start), "replace").lstrip("\ufeff")))


def find_root(start: bytes) -> str:
    """Return the name of the root element, in lower case, from the beginning of a file; empty if it is not XML."""
    text = start.decode(find_xml_encoding(start), "replace").lstrip("\ufeff")
    match = re.search(r"<(?:[A-Za-z_][\w.-]{0,60}:)?([A-Za-z_][\w.-]{0,60})(?=[\s/>])", _drop_prolog(text))
    return match[1].lower() if match and is_xml(start) else ""


def _drop_prolog(text: str) -> str:
    """Return the text without declarations, comments and a document type."""
    text = re.sub(r"<\?.{0,2000}?\?>|<!--.{0,4000}?-->", "", text, flags=re.DOTALL)
    return re.sub(r"<!DOCTYPE[^<>\[]{0,500}(?:\[.{0,4000}?\]\s*)?>", "", text, flags=re.DOTALL)


def find_xml_encoding(start: bytes) -> str:
    """Return the encoding that a file declares or that its first bytes show; UTF-8 by default."""
    marked = encodings.recognise_text(start, "")
    if marked:
        return marked
    declared = _ENCODING_NAME.match(start.lstrip())
    name = declared[1].decode("ascii") if declared else "utf-8"
    try:
        canonical = codecs.lookup(name).name
        "<".encode(name)
    except (LookupError, ValueError):
        return "utf-8"
    return "utf-8" if canonical.startswith(("utf-16", "utf-32")) else name  # its bytes show that it is not


Quoting: TypeAlias = Literal[0, 3]  # csv.QUOTE_MINIMAL, csv.QUOTE_NONE

_QUOTES = {'"': "double quotation mark", "'": "single quotation mark"}
ADVICE = "correct it, or say with --separator and --quote how cells are written"
_SAMPLE_LINES = 1_000  # lines from which the dialect is detected
_SAMPLE_SIZE = 1 << 18  # characters of these lines, approximately
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)  # a first line that tells Excel the separator
_QUOTED_BY_BLANKS = re.compile(r'"[^"]*"(?: (?:"[^"]*"|[\w.+-]+))+\s*')  # cells as R's write.table writes them
_QUOTED_CELL = re.compile(r'"(?:[^"]|"")*"\s*')
_FEWEST_BODY_ROWS = 3  # rows of equal width needed below narrower ones to take those for titles or notes
_PROSE_MARGIN = 0.3  # difference in the share of prose-like marks (see `_rate_prose`) that rules out a separator


class Writing(NamedTuple):
    """The dialect in which the cells of a table are written.

    Attributes
    ----------
    doubt : str
        Other separators that fit equally well; empty if the choice is clear.
    skip : int
        Number of lines to skip at the top: titles, notes, or a line that names the separator.
    left_out : str
        Text of the skipped lines if they were detected, not set by the options.
    row_names : bool
        Whether the first row has one cell fewer than the others, as in tables that R writes with row names.
    """

    delimiter: str
    quoting: Quoting
    quote: str = '"'
    escape: str | None = None
    doubt: str = ""
    skip: int = 0
    left_out: str = ""
    row_names: bool = False

    @property
    def separator(self) -> str:
        """The name of the separator."""
        return describe_separator(self.delimiter)

    def describe(self) -> dict[str, str]:
        """Return the names of the separator and the quotation mark, for the import report."""
        quote = _QUOTES[self.quote] + (" (behind a backslash within cells)" if self.escape else "")
        return {"separator": self.separator, "quote": "none" if self.quoting == csv.QUOTE_NONE else quote}


class Marks(NamedTuple):
    """The separator and quotation mark (empty: none) that the user chose; None for one to be detected."""

    delimiter: str | None = None
    quote: str | None = None


def find_marks(options: ImportOptions) -> Marks:
    """Return the separator and quotation mark that the options set."""
    delimiter = None if options.separator is None else find_separator(options.separator)
    return Marks(delimiter, None if options.quote is None else QUOTES[options.quote])


class _Fit(NamedTuple):
    """A dialect under which all rows have the same width, with these rows."""

    how: Writing
    rows: list[list[str]]


def find_writing(path: Path, options: ImportOptions, is_name: Callable[[str], bool] = lambda _: False) -> Writing:
    """Return the dialect of a file: that of the options, or else one that makes its first rows equally wide.

    Parameters
    ----------
    options : ImportOptions
        Encoding, separator, quotation mark and lines to skip are read.
    is_name : callable
        Tells whether a cell looks like a column name, which decides if several dialects fit.

    Raises
    ------
    IngestError
        When all lines are blank.
    """
    lines, size = [], 0
    texts = (text for _, text in packing.read_lines(path, options.encoding, keep_ends=True))
    for text in texts:
        lines.append(text)
        size += len(text)
        if len(lines) >= _SAMPLE_LINES or size >= _SAMPLE_SIZE:
            break
    if not any(text.strip() for text in lines):
        raise IngestError(path, "is empty")
    how = find_writing_in(
        lines,
        path,
        whole=next(texts, None) is None,
        is_name=is_name,
        marks=find_marks(options),
        skip=options.skip_lines,
    )
    if how.skip and not any(text.strip() for text in lines[how.skip :]):
        raise IngestError(path, f"has nothing below its first {how.skip} lines; lower --skip-lines")
    return how


def find_writing_in(
    lines: Sequence[str],
    path: Path,
    *,
    whole: bool,
    is_name: Callable[[str], bool] = lambda _: False,
    marks: Marks = Marks(),  # noqa: B008 - a tuple
    skip: int | None = None,
) -> Writing:
    """Return the dialect of some lines; ``whole`` means that they are the whole file.

    Parameters
    ----------
    skip : int or None
        Lines to skip at the top; None: detect those that are not rows.
    """
    if skip is None and lines and (named := _SEPARATOR_LINE.fullmatch(lines[0])):
        marks = marks if marks.delimiter is not None else marks._replace(delimiter=named[1])
        skip = 1
    how, fits = _find_writing(lines[skip or 0 :], path, marks, is_name, whole=whole)
    if fits or skip is not None:
        return how._replace(skip=skip or 0)
    return _find_below_titles(lines, path, marks, whole=whole) or how


def _find_writing(
    lines: Sequence[str], path: Path, marks: Marks, is_name: Callable[[str], bool], *, whole: bool
) -> tuple[Writing, bool]:
    """Return the dialect, and whether all rows are equally wide under it."""
    first = next((text for text in lines if text.strip()), "")
    fits = [
        fit
        for delimiter in _list_separators(first, path, marks)
        if (fit := _choose_quoting(lines, delimiter, marks.quote, whole=whole))
    ]
    if not fits:
        return _guess_writing(first, path, marks), False
    if len(fits) == 1:
        return fits[0].how, True
    name_counts = [sum(map(is_name, fit.rows[0])) for fit in fits]
    best = [fit for fit, count in zip(fits, name_counts, strict=True) if count == max(name_counts)]
    if len(best) == 1:
        return best[0].how, True
    prose_shares = [_rate_prose(lines, fit.how.delimiter) for fit in best]
    best = [fit for fit, share in zip(best, prose_shares, strict=True) if share <= min(prose_shares) + _PROSE_MARGIN]
    chosen = max(best, key=lambda fit: len(fit.rows[0]))
    others = " or ".join(fit.how.separator for fit in fits if fit is not chosen)
    return chosen.how._replace(doubt=others), True


def _find_below_titles(lines: Sequence[str], path: Path, marks: Marks, *, whole: bool) -> Writing | None:
    """Return the dialect if the first rows are narrower (a header above R's row names, or titles), else None."""
    below: list[_Fit] = []
    for delimiter in _list_separators(lines[-1], path, marks):
        dialects = [Writing(delimiter, csv.QUOTE_MINIMAL), Writing(delimiter, csv.QUOTE_NONE)]
        if marks.quote is not None:
            dialects = [Writing(delimiter, csv.QUOTE_MINIMAL, marks.quote) if marks.quote else dialects[1]]
        fits = (fit for dialect in dialects if (fit := _try_writing(lines, dialect, whole=whole, uneven=True)))
        below += [fit for fit in fits if _is_below_names(fit) or fit.how.skip][:1]
    if not below:
        return None
    best = max(below, key=lambda fit: len(fit.rows[-1]))
    if not best.how.skip:
        return best.how._replace(row_names=True)
    return best.how._replace(left_out=" / ".join(" ".join(line.split()) for line in lines[: best.how.skip]))


def _is_below_names(fit: _Fit) -> bool:
    """Return whether the first row names all columns except the first, whose cells are unique row names."""
    first, *body = fit.rows
    if len(first) != len(body[-1]) - 1 or len(first[0].split()) > 10:
        return False
    names = [row[0].strip() for row in body]
    if len(body) < 2 or has_header(first, [row[1:] for row in body]) is False:
        return False
    if len(first) == 1 and not all(map(str.isdecimal, names)):
        return False
    prose = sum(row[1].startswith(" ") for row in body)
    return len(set(names)) == len(names) and max(map(len, names)) <= 80 and 2 * prose < len(body)


def _list_separators(first: str, path: Path, marks: Marks) -> Sequence[str]:
    """Return the candidate separators of a file."""
    if marks.delimiter is not None:
        return (marks.delimiter,)
    if packing.find_suffix(path) == ".tsv" and "\t" in first:
        return ("\t",)
    return (*USUAL, " ") if _QUOTED_BY_BLANKS.fullmatch(first) else USUAL


def _choose_quoting(lines: Sequence[str], delimiter: str, quote: str | None, *, whole: bool) -> _Fit | None:
    """Return the quoting that makes rows with this separator equally wide, with these rows; None if none does."""
    if not any(delimiter in line for line in lines):
        return None
    if quote is not None:
        how = Writing(delimiter, csv.QUOTE_MINIMAL, quote) if quote else Writing(delimiter, csv.QUOTE_NONE)
        fit = _try_writing(lines, how, whole=whole)
        return fit or (_try_escaped(lines, delimiter, quote, whole=whole) if quote else None)
    double, none = (_try_writing(lines, Writing(delimiter, quoting), whole=whole) for quoting in _QUOTINGS)
    if delimiter in "\t|" and none and not (double and (_is_quoted(none.rows, '"') or _is_quoted_where_needed(none))):
        return none  # such files rarely quote, and a lone " would swallow lines
    used = any(line.startswith("'") or f"{delimiter}'" in line for line in lines)
    single = _try_writing(lines, Writing(delimiter, csv.QUOTE_MINIMAL, "'"), whole=whole) if used else None
    if single and (double is None or _is_quoted(double.rows, "'")):
        return single
    return double or _try_escaped(lines, delimiter, '"', whole=whole)


def _try_escaped(lines: Sequence[str], delimiter: str, quote: str, *, whole: bool) -> _Fit | None:
    """Return the rows if a backslash escapes quotation marks within cells; None if they are not equally wide."""
    if delimiter == "\\":
        return None
    return _try_writing(lines, Writing(delimiter, csv.QUOTE_MINIMAL, quote, escape="\\"), whole=whole)


_QUOTINGS: tuple[Quoting, Quoting] = (csv.QUOTE_MINIMAL, csv.QUOTE_NONE)


def _try_writing(lines: Sequence[str], how: Writing, *, whole: bool, uneven: bool = False) -> _Fit | None:
    """Return the rows under a dialect; None if they are not equally wide, or if one row takes most of the lines.

    Parameters
    ----------
    uneven : bool
        Whether rows at the top may be narrower than all others: the first one by one cell, or titles and notes.
    """
    rows: list[list[str]] = []
    first_lines: list[int] = []
    reader = make_csv_reader(iter(lines), how)
    line_end = 0
    try:
        for row in reader:
            if row:
                rows.append(row)
                first_lines.append(line_end)
            line_end, line_start = reader.line_num, line_end
    except csv.Error:
        if whole or 2 * line_end < len(lines):
            return None
    else:
        if not whole and len(rows) > 1:  # the last row may go on beyond the sample
            rows.pop()
            if 2 * line_start < len(lines):
                return None
    if not rows:
        return None
    if uneven:
        return _drop_titles(rows, first_lines, how)
    widths = set(map(len, rows))
    return _Fit(how, rows) if len(widths) == 1 and widths != {1} else None


def _drop_titles(rows: list[list[str]], first_lines: Sequence[int], how: Writing) -> _Fit | None:
    """Return the rows below titles and notes, or all rows if only the first lacks one cell; None otherwise."""
    width = len(rows[-1])
    n_above = max((number for number, row in enumerate(rows, 1) if len(row) != width), default=0)
    if width < 2 or not 0 < n_above <= MOST_TITLES or any(len(row) > width for row in rows[:n_above]):
        return None
    if n_above == 1 and len(rows[0]) == width - 1 and not _are_notes(rows[:1]):
        return _Fit(how, rows)
    names, body = rows[n_above], rows[n_above + 1 :]
    if (
        len(body) + 1 < _FEWEST_BODY_ROWS
        or not has_header(names, body)
        or any(knows_names(row, ()) for row in rows[:n_above])
    ):
        return None
    wide = any(2 * len(row) > width and len(row) > 1 for row in rows[:n_above])
    if wide and not (_are_notes(rows[:n_above]) or knows_names(names, body)):
        return None
    return _Fit(how._replace(skip=first_lines[n_above]), rows[n_above:])


def _are_notes(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether all rows begin with a comment sign."""
    return all(row[0].startswith(("#", "%", "//")) for row in rows)


def _is_quoted(rows: Sequence[Sequence[str]], quote: str) -> bool:
    """Return whether all cells of some column, except its name, are enclosed in this quotation mark."""
    for column in zip(*rows[1:] or rows, strict=True):
        filled = [cell for cell in column if cell]
        if filled and all(len(cell) > 1 and cell[0] == cell[-1] == quote for cell in filled):
            return True
    return False


def _is_quoted_where_needed(fit: _Fit) -> bool:
    """Return whether cells that begin with a quotation mark also end with one, and double all others."""
    quoted = [cell for row in fit.rows for cell in row if cell.startswith('"')]
    return bool(quoted) and all(map(_QUOTED_CELL.fullmatch, quoted))


def _rate_prose(lines: Sequence[str], delimiter: str) -> float:
    """Return the share of separators that look like prose: followed by a blank, or a comma between two digits."""
    total = sum(line.count(delimiter) for line in lines)
    decimal = r"|(?<=\d),(?=\d)" if delimiter == "," else ""
    prose_like = re.compile(f"{re.escape(delimiter)} {decimal}")
    return sum(len(prose_like.findall(line)) for line in lines) / max(total, 1)


def _guess_writing(first: str, path: Path, marks: Marks) -> Writing:
    """Guess the dialect from the first line."""
    delimiter = marks.delimiter or ("\t" if packing.find_suffix(path) == ".tsv" else max(USUAL, key=first.count))
    if marks.quote:
        return Writing(delimiter, csv.QUOTE_MINIMAL, marks.quote)
    if marks.quote is not None or (delimiter == "\t" and not first.startswith('"')):
        return Writing(delimiter, csv.QUOTE_NONE)
    return Writing(delimiter, csv.QUOTE_MINIMAL)


def read_cells(path: Path, how: Writing, encoding: str) -> Iterator[tuple[int, list[str]]]:
    """Yield ``(number of the line on which the row begins, cells)`` of every row that is not empty."""
    texts = (text for _, text in packing.read_lines(path, encoding, keep_ends=True))
    reader = make_csv_reader(islice(texts, how.skip, None) if how.skip else texts, how)
    line = 1 + how.skip
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            cause = f"the row that begins here cannot be read ({error}), separated by {how.separator}; {ADVICE}"
            raise IngestError(path, cause, line) from None
        if row is None:
            return
        if row:
            yield line, row
        line = reader.line_num + how.skip + 1


def make_csv_reader(lines: Iterator[str], how: Writing) -> Any:
    """Return a CSV reader of the lines in this dialect."""
    csv.field_size_limit(packing.LARGEST_TEXT)
    return csv.reader(
        lines,
        delimiter=how.delimiter,
        quoting=how.quoting,
        quotechar=how.quote,
        escapechar=how.escape,
        doublequote=how.escape is None,
        strict=True,
    )


FIRST_ROWS = 200  # rows from which names and roles are found
ENDINGS = (".csv", ".tsv", ".tab")
_SAMPLED_LINES = 60  # first lines by which a table is recognised
_SAMPLED_BYTES = 1 << 20  # bytes in which these lines are read
_ENOUGH_CELLS, _FEWEST_WIDE_ROWS = 100_000, 20  # to find names: enough cells, and the fewest rows of wide tables
_FEWEST_ROWS = 3  # rows from which a table without column names is distinguished from lines of text
_TEXT_ENDING = ".txt"


class Layout(NamedTuple):
    """The format in which the cells of a table are written, and the names of its columns."""

    writing: Writing
    names: Names

    def describe(self) -> dict[str, str]:
        """Describe the layout, for the report."""
        return self.writing.describe() | {"header": self.names.understood}

    def list_notes(self) -> list[str]:
        """Return notes about lines left out above the names, and about a separator chosen among several."""
        notes = list(self.names.notes)
        if self.writing.left_out:
            notes.insert(0, f"left out above the column names: {self.writing.left_out[:80]!r}")
        if self.writing.doubt:
            chosen, others = self.writing.separator, self.writing.doubt
            choice = f"cells are taken to be separated by {chosen}, though {others} would fit too"
            notes.append(f"{choice} (change it with --separator)")
        return notes

    def list_doubts(self) -> list[str]:
        """Return sentences about what is a guess, apart from the names."""
        doubts = []
        if self.writing.left_out:
            above = plural(self.writing.skip, "line above the column names is", "lines above the column names are")
            doubts.append(f"{above} left out (change it with --skip-lines)")
        if self.writing.doubt:
            chosen, others = self.writing.separator, self.writing.doubt
            doubts.append(f"cells are separated by {chosen}, or by {others} (change it with --separator)")
        return doubts


class TableStart(NamedTuple):
    """The layout of a table and its first rows below the names, by which it is recognised."""

    layout: Layout
    rows: tuple[tuple[str, ...], ...]


def find_layout(path: Path, options: ImportOptions) -> Layout:
    """Return the format of the cells in a file and the names of its columns.

    Raises
    ------
    IngestError
        If the file is empty, or its first rows differ in width.
    """
    writing = find_writing(path, options, is_known)
    sample = [row for _, row in islice(read_cells(path, writing, options.encoding), FIRST_ROWS + 1)]
    sample = sample[: max(_FEWEST_WIDE_ROWS, _ENOUGH_CELLS // len(sample[0]))]
    return Layout(writing, read_names(sample, options, row_names=writing.row_names))


def read_rows(path: Path, layout: Layout, options: ImportOptions) -> Iterator[tuple[int, list[str]]]:
    """Yield the line and cells of every row below the names, without empty lines.

    Raises
    ------
    IngestError
        If a row has another width, or the names differ from those of the layout.
    """
    names = layout.names
    rows = read_cells(path, layout.writing, options.encoding)
    for number in range(names.body):
        _, row = next(rows, (1, []))
        if number == names.above:
            _check_names(path, row, names)
    width = len(names.names)
    for line, row in rows:
        if len(row) != width:
            description = plural(len(row), "column")
            first = 1 + layout.writing.skip
            cause = (
                f"has {description}, but line {first} has {width}, separated by {layout.writing.separator}; {ADVICE}"
            )
            raise IngestError(path, cause, line)
        yield line, row


def _check_names(path: Path, row: Sequence[str], names: Names) -> None:
    """Refuse another file whose columns have other names than those of the first one."""
    if [cell.strip() for cell in row] != [cell.strip() for cell in names.line]:
        own, expected = (", ".join(" ".join(cell.split()) for cell in each)[:80] for each in (row, names.line))
        cause = f"has the columns {own!r}, but the file before it {expected!r}"
        raise IngestError(path, f"{cause}; import them one by one, or give all the same columns", 1)


def is_separated(path: Path) -> bool:
    """Return whether a file is a table of separated cells, by its name or, for a .txt, its first lines."""
    kind = packing.find_suffix(path)
    if kind in ENDINGS:
        return not path.name.startswith("titles.")
    return kind == _TEXT_ENDING and look_at_rows(path) is not None


def look_at_rows(path: Path) -> TableStart | None:
    """Return the first rows of a file; None if their widths differ, or a .txt does not look like a table."""
    try:
        return _look_at_file(path)
    except OSError:
        return None


@packing.cache_until_changed
def _look_at_file(path: Path) -> TableStart | None:
    """Return the first rows of a file; None as in `look_at_rows`."""
    lines, is_complete = _read_first_lines(path, _SAMPLED_BYTES)
    if len(lines) < 4 and not is_complete:  # very long lines, as in a document-term matrix
        lines, is_complete = _read_first_lines(path, _SAMPLED_BYTES << 4)
    if not any(line.strip() for line in lines):
        return None
    try:
        writing = find_writing_in(lines, path, whole=is_complete, is_name=is_known)
        rows = [row for row in make_csv_reader(iter(lines[writing.skip :]), writing) if row]
    except csv.Error:
        return None
    if not is_complete and len(rows) > 2:  # the last row may be cut
        rows.pop()
    if len(rows) < 2 or len({len(row) for row in rows[writing.row_names :]}) > 1:
        return None
    layout = Layout(writing, read_names(rows, ImportOptions(), row_names=writing.row_names))
    if packing.find_suffix(path) == _TEXT_ENDING and not _is_plain_table(layout, rows):
        return None
    return TableStart(layout, tuple(map(tuple, rows[layout.names.body :])))


def _read_first_lines(path: Path, size: int) -> tuple[list[str], bool]:
    """Return the first lines of a file, and whether these are all lines."""
    raw = packing.read_start(path, size)
    text = raw.decode(encodings.recognise_text(raw, "utf-8"), "replace").removeprefix("\ufeff")
    lines = StringIO(text, newline="").readlines()
    if len(raw) == size:
        lines.pop()
    return lines[:_SAMPLED_LINES], len(raw) < size and len(lines) <= _SAMPLED_LINES


def _is_plain_table(layout: Layout, rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a .txt is a table: it has known names, or tabs but not just name, label and text, or counts."""
    if len(layout.names.names) < 2:
        return False
    if layout.names.header:
        return layout.writing.delimiter in "\t " or layout.names.sure
    return layout.writing.delimiter == "\t" and len(rows) >= _FEWEST_ROWS and not (_is_named(rows) or _is_counted(rows))


def _is_named(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether each row is a name, a label and a text."""
    if len(rows[0]) != len(("name", "label", "text")):
        return False
    _, labels, texts = ([row[place] for row in rows] for place in range(3))
    return len(set(labels)) <= max(2, len(labels) // 2) and sum(map(len, texts)) > sum(map(len, labels))


def _is_counted(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether each row is a word and its count in a single document."""
    return all(len(row) == len(("word", "count")) and " " not in row[0].strip() and is_number(row[1]) for row in rows)


_CSV, _XLSX, _DOCX = "save it as .csv", "save it as .xlsx or .csv", "save it as .docx"
_SHEET, _IN_R = f"is a spreadsheet: open it and {_XLSX}", 'in R, write.csv(data, "data.csv") saves it'
_R = f"is a file of R: {_IN_R}"
_DATABASE = "is a database: export the table or query with the texts as .csv"
_PICTURE = "is a picture: recognise its text (OCR) and save that as .txt"
_SOUND = "is a recording: transcribe it and save the text as .txt or .srt"
_OUTLOOK = "is mail of Outlook: save the messages as .eml or .mbox"
# fmt: off
_ADVICE: dict[str, str] = {
    ".xls": f"is an old Excel workbook: open it and {_XLSX}",
    ".xlsb": f"is a binary Excel workbook: open it and {_XLSX}",
    **dict.fromkeys((".ods", ".fods", ".numbers", ".wks", ".wk1", ".gnumeric", ".sxc"), _SHEET),
    ".doc": f"is an old Word document: open it and {_DOCX}",
    **dict.fromkeys((".pages", ".wpd", ".wps", ".sxw", ".fodt", ".hwp", ".abw"),
                    f"is a document of a word processor that is not read: open it and {_DOCX}"),
    **dict.fromkeys((".ppt", ".pptx", ".odp"), "has slides: save them as .pdf, or their text as .txt"),
    **dict.fromkeys((".sav", ".zsav", ".por", ".spv"), f"is a file of SPSS: {_CSV} there, with value labels"),
    ".dta": 'is a file of Stata: export delimited using "data.csv" saves it as .csv',
    **dict.fromkeys((".sas7bdat", ".xpt", ".sas7bcat"), f"is a file of SAS: {_CSV} there (PROC EXPORT)"),
    **dict.fromkeys((".rds", ".rda", ".rdata"), _R), ".qs": _R,
    **dict.fromkeys((".db", ".sqlite", ".sqlite3", ".db3", ".mdb", ".accdb", ".dbf", ".duckdb"), _DATABASE),
    **dict.fromkeys((".sql", ".dump"), "is a dump of a database: export the table with the texts as .csv"),
    **dict.fromkeys((".pkl", ".pickle", ".joblib"),
                    "is a pickle, which could run programs, so it is not opened: save the texts as .csv or .jsonl"),
    **dict.fromkeys((".msg", ".pst", ".ost", ".oft"), _OUTLOOK),
    **dict.fromkeys((".mobi", ".azw", ".azw3", ".fb2", ".lit"), "is an e-book: convert it to .epub"),
    **dict.fromkeys((".djvu", ".ps", ".xps"), "is a document in print form: save it as .pdf or .txt"),
    **dict.fromkeys((".nvpx", ".nvp", ".qdpx", ".mx20", ".mx22", ".atlproj"),
                    "is a project of a program for qualitative analysis: export its documents as .docx or .txt"),
    **dict.fromkeys((".jpg", ".jpeg", ".png", ".tif", ".tiff", ".gif", ".bmp", ".webp", ".heic"), _PICTURE),
    **dict.fromkeys((".mp3", ".mp4", ".wav", ".m4a", ".mov", ".avi", ".mkv", ".ogg", ".flac", ".webm"), _SOUND),
    **dict.fromkeys((".rar", ".7z", ".sit"), "is an archive that is not read: unpack it, and import the folder"),
}
# The first bytes of files, whatever they are called.
_SIGNATURES = (
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
     "is a file of an old version of Office, or one with a password: open it and save it as .xlsx, .docx or .csv"),
    (b"SQLite format 3\0", _DATABASE), (b"$FL2", _ADVICE[".sav"]), (b"$FL3", _ADVICE[".sav"]),
    (b"<stata_dta>", _ADVICE[".dta"]), (b"RDX2\n", _R), (b"RDX3\n", _R), (b"RDA3\n", _R),
    (b"Rar!", _ADVICE[".rar"]), (b"7z\xbc\xaf", _ADVICE[".7z"]), (b"\x89PNG", _PICTURE), (b"\xff\xd8\xff", _PICTURE),
    (b"!BDN", _OUTLOOK),
)
# fmt: on


def advise_export(path: Path) -> str:
    """Return what a file is and how to save it in a format that is read; empty if that is not known."""
    ending = packing.find_suffix(path)
    start = look_at(path).raw
    if ending == ".xls" and start.startswith(b"PK"):
        return "is a new Excel workbook under an old name: rename it to .xlsx"
    if ending == ".doc" and start.startswith((b"PK", b"{\\rtf")):
        return f"is a new document under an old name: rename it to {'.docx' if start[:2] == b'PK' else '.rtf'}"
    if ending == ".xls" and start.lstrip(b"\xef\xbb\xbf\r\n\t ")[:1] == b"<":
        return f"is a page or XML that Excel opens: open it there and {_XLSX}"
    if ending == ".xls" and start and b"\0" not in start and not start.startswith(_SIGNATURES[0][0]):
        return "is a text under the name of an Excel workbook: rename it to .csv or .tsv"
    return _ADVICE.get(ending) or next((advice for mark, advice in _SIGNATURES if start.startswith(mark)), "")


def advise_exports(names: Iterable[PurePath]) -> str:
    """Return how to save the most frequent kind of file among some names; empty if that is not known."""
    kinds = Counter(name.suffix.lower() for name in names)
    kind = next((kind for kind, _ in kinds.most_common() if kind in _ADVICE), None)
    return f"each {kind} {_ADVICE[kind]}" if kind else ""
