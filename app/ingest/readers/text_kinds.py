"""Recognition of text files by their content: tagged records, mail, chat messages, lists of words and counts."""

import os
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from topiary.app.ingest import files, packing
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.readers.xml_parsing import find_root
from topiary.app.ingest.text import encodings

PLAIN = (".txt", ".text", "")  # endings that do not tell the kind
_NUMBERED = re.compile(r"\.(?:\d+|[0-9a-f]{16,}|[^.]*:2,[a-z]*)")  # as mail programs and collections end names
_KIND_BY_ENDING = {
    ".bib": "bibtex", ".bibtex": "bibtex", ".ris": "ris", ".enw": "endnote", ".ciw": "wos", ".nbib": "medline",
    ".medline": "medline", ".rss": "feed", ".atom": "feed",
}  # fmt: skip
ABOUT = re.compile(r"(?:read_?me|licen[cs]e|copying|change(?:s|log)|notice|citation)\b", re.IGNORECASE)
_START = 1 << 14  # bytes at the beginning of a file that are read
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
        return None if files.find_suffix(path) == ".csv" else _find_kind_of_file(path)
    return _choose_kind(Counter(_find_kind_of_file(file) for file in sample_files(path)))


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
                    kinds[_find_kind_of_start(Path(info.filename), stream.read(_START))] += 1
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


def read_start(path: Path) -> str:
    """Return the beginning of a file as text."""
    return _decode_start(files.read_start(path, _START))


def _decode_start(raw: bytes) -> str:
    return raw.decode(encodings.recognise_text(raw, "utf-8"), "replace").removeprefix("\ufeff")


def list_files(path: Path, kinds: Collection[str]) -> list[Path]:
    """Return the files of some kinds: the path itself, or those at any depth in a folder, sorted.

    Raises
    ------
    IngestError
        If a folder has none.
    """
    if not path.is_dir():
        return [path]
    matching = sorted(file for file in path.rglob("*") if _is_visible(file, path) and _find_kind_of_file(file) in kinds)
    if not matching:
        raise IngestError(path, f"has no files of the format {' or '.join(kinds)} in it")
    return matching


def find_plain_suffix(path: Path) -> str:
    """Return the suffix of a file, empty for a number or the like, which does not tell what is in it."""
    ending = files.find_suffix(path)
    return "" if _NUMBERED.fullmatch(ending) else ending


def _find_kind_of_file(path: Path) -> str | None:
    ending = find_plain_suffix(path)
    if ending in _KIND_BY_ENDING:
        return _KIND_BY_ENDING[ending]
    return _find_kind_of_start(path, files.read_start(path, _START)) if ending in (*PLAIN, ".csv", ".xml") else None


def _find_kind_of_start(path: Path, start: bytes) -> str | None:
    """Return the kind of a file by its name and beginning; None if it is none of the kinds."""
    ending = find_plain_suffix(path)
    if ending == ".xml":
        return "feed" if find_root(start) in _FEED_ROOTS else None
    if ending not in (*PLAIN, ".csv"):
        return _KIND_BY_ENDING.get(ending)
    kind = find_kind_of_text(_decode_start(start))
    return kind if kind == "wordcounts" or ending != ".csv" else None


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
