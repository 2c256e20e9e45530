"""The options of an import: one frozen record, checked when it is made."""

import codecs
import csv
import dataclasses
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from topiary.app.ingest.tables.names import Pattern, PatternError
from topiary.app.ingest.text import languages
from topiary.app.ingest.text.encodings import WIDE

NONE, PARAGRAPHS, CHAPTERS = "none", "paragraphs", "chapters"
FEWEST_WORDS = 10  # the shortest passage that a user can ask for
_PASSAGE_SIZE = re.compile(r"(\d{1,7})\s*(?:words?)?")
VALIDATION_SHARE = 0.05  # of the training documents, for corpora whose test documents are given
LARGEST_SEED = 2**63 - 1  # the largest number that the store's column holds


class OptionError(ValueError):
    """An option has a value it cannot take; the message is one sentence for the user."""


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    r"""How a user wants files to be imported; what is not given is found by looking at the files.

    Attributes
    ----------
    name : str or None
        Name of the corpus; by default that of the file or folder.
    format : str or None
        ``NAME`` of the reader; by default the one that recognises the file.
    text_column, title_column, label_column, split_column : str or None
        Columns (or JSON fields) by name; columns of a file without a header by number, from 1.
        ``text_column`` may name several, separated by commas, or be a list of names; a name with a comma in it
        is quoted, as in a row of a CSV file.
    header : str
        ``"auto"``, ``"yes"`` or ``"no"``: whether the table has a line of column names.
    skip_lines : int or None
        Lines above the column names that are left out, such as a title.  Default: found by looking at the first rows.
    records : str or None
        Where in JSON or XML the records are: names from the outside in, with dots between them.  Default: found by
        looking.
    separator : str or None
        What separates the cells of a table: ``"comma"``, ``"semicolon"``, ``"tab"``, ``"pipe"``, ``"space"`` or any one
        character; a character with a name is stored by its name.  Default, also ``"auto"``: found by looking at the
        first rows.
    quote : str or None
        Quotation mark around cells of a table: ``"double"`` or ``"single"``, also given as the mark itself, or
        ``"none"``.  Default, also ``"auto"``: found by looking at the first rows.
    vocabulary : str or None
        Vocabulary file of a count format, if it does not lie next to the counts under a usual name.
    encoding : str
        Encoding of text files without a byte-order mark; ``utf-8-sig`` becomes ``utf-8``, with which a byte-order
        mark is dropped as well.
    test_share : float
        Part of the documents held out, half for validation and half for the test, when the file has no split of its
        own; 0 <= share < 1.
    validation_share : float
        Part of the training documents drawn for validation, when the file has a split without a validation part; at
        most as many as there are test documents.  Without a split of the file half of the documents that are held out
        are for validation.  0: no document is for validation, whatever the file says; 0 <= share < 1.
    seed : int
        Seed of that draw, and of the later split of test documents into observed and scored tokens.
    stop_words : str or None
        A language by name or code, such as ``"german"``, ``"none"`` or a file with one word a line.  Default, also
        ``"auto"``: for texts those of the languages that are recognised, English where none is; none for counts.
    min_df : int or None
        Leave out words that occur in fewer documents.  Default: 2 for texts, 1 for counts.
    max_df : float or None
        Leave out words that occur in more than this share of the documents.  Default: 0.7 for texts, 1 for counts.
    leave_out_common : bool
        Leave out words that occur all over the corpus whatever the subject, such as those of mail headers
        (`engine.quality.background.list_common_words`).
    max_words : int or None
        Keep only that many words, the most frequent.  Default: 10,000 for texts, all for counts.
    token_pattern : str or None
        Regular expression of a word in a text: by default two or more letters of any alphabet, where words of Chinese,
        Japanese, Thai and the like are separated first.  If the pattern has a group, the group matches the word.
    html : str
        ``"auto"``, ``"yes"`` or ``"no"``: whether texts are HTML, whose tags, scripts and styles are not counted.
    strip_mail : bool
        Leave out mail headers (except for the subject), quoted lines and signatures.
    hyphens : str
        Words hyphenated at the end of a line: ``"auto"`` joins those that occur elsewhere as one word,
        ``"join"`` joins all, ``"keep"`` none.
    lemmas : bool
        Count words by their dictionary form, if it is known for the language of the texts.
    phrases : bool
        Count two words that occur together far more often than by chance as one, such as ``new_york``.
    phrase_npmi : float or None
        Least normalised pointwise mutual information of a phrase, above 0 and up to 1.  Default: 0.5.
    phrase_count : int or None
        Least number of occurrences of a phrase.  Default: 10.
    binary : bool
        Keep only whether a word occurs in a document (for a pixel: whether it is at least half bright).
    levels : int or None
        Grey values of images as counts from 0 to this many, 1 to 255, rounded.  Default: real numbers 0 to 255.
    metadata : str or None
        Table that describes each text by the name of its file, or ``"none"``.  Default: a table found among the texts.
    name_fields : str or None
        Pattern of the names of files, such as ``{year}_{label}_{author}``, whose fields are kept with the documents, or
        ``"none"``.
    split : str or None
        What documents are divided into: ``"paragraphs"``, ``"chapters"``, ``"500 words"`` with any number, ``"none"``.
        Default: ``"none"``; documents appended to a corpus are divided as those of the corpus were.
    """

    name: str | None = None
    format: str | None = None
    text_column: str | None = None
    title_column: str | None = None
    label_column: str | None = None
    split_column: str | None = None
    header: str = "auto"
    skip_lines: int | None = None
    records: str | None = None
    separator: str | None = None
    quote: str | None = None
    vocabulary: str | None = None
    encoding: str = "utf-8"
    test_share: float = 0.1
    validation_share: float = VALIDATION_SHARE
    seed: int = 0
    stop_words: str | None = None
    min_df: int | None = None
    max_df: float | None = None
    leave_out_common: bool = False
    max_words: int | None = None
    token_pattern: str | None = None
    html: str = "auto"
    strip_mail: bool = False
    hyphens: str = "auto"
    lemmas: bool = False
    phrases: bool = False
    phrase_npmi: float | None = None
    phrase_count: int | None = None
    binary: bool = False
    levels: int | None = None
    metadata: str | None = None
    name_fields: str | None = None
    split: str | None = None

    def __post_init__(self) -> None:
        for name, fits, demand in _RULES:
            value = getattr(self, name)
            if value is not None and not fits(value):
                raise OptionError(f"{name} must be {demand}; got {value!r}")
        if self.levels is not None and self.binary:
            raise OptionError("levels and --binary exclude each other; give one of them")
        object.__setattr__(self, "text_column", _join_columns(self.text_column))
        object.__setattr__(self, "encoding", _check_encoding(self.encoding))
        object.__setattr__(self, "separator", _check_separator(self.separator))
        object.__setattr__(self, "quote", _check_quote(self.quote))
        _check_word_options(self)
        _check_file_options(self)

    @property
    def divides(self) -> bool:
        """Return whether documents are divided into passages."""
        return self.split not in (None, NONE)

    def report(self) -> dict[str, Any]:
        """Return the options that differ from the defaults, for the record kept with the corpus."""
        return {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != field.default
        }


_RULES: tuple[tuple[str, Callable[[Any], bool], str], ...] = (  # name of an option, test of its value, what it must be
    ("header", lambda value: value in ("auto", "yes", "no"), "auto, yes or no"),
    ("skip_lines", lambda value: value >= 0, "a number of lines, 0 or more"),
    ("test_share", lambda value: 0 <= value < 1, "at least 0 and below 1"),
    ("validation_share", lambda value: 0 <= value < 1, "at least 0 and below 1"),
    ("seed", lambda value: 0 <= value <= LARGEST_SEED, f"from 0 to {LARGEST_SEED}"),
    ("min_df", lambda value: value >= 1, "a number of documents, 1 or more"),
    ("max_df", lambda value: 0 < value <= 1, "a share of the documents above 0 and up to 1"),
    ("max_words", lambda value: value >= 1, "1 or more"),
    ("levels", lambda value: 1 <= value <= 255, "from 1 to 255"),
    ("html", lambda value: value in ("auto", "yes", "no"), "auto, yes or no"),
    ("hyphens", lambda value: value in ("auto", "join", "keep"), "auto, join or keep"),
    ("phrase_npmi", lambda value: 0 < value <= 1, "above 0 and up to 1"),
    ("phrase_count", lambda value: value >= 2, "2 or more"),
)
HELP = {
    "name": "name of the corpus (default: that of the file)",
    "format": "format, when it is not to be recognised from the file",
    "text_column": "column or field with the text; for several, give it again or put commas between them",
    "title_column": "column or field with the title",
    "label_column": "column or field with the label",
    "split_column": "column or field that says train or test",
    "header": "auto, yes or no: has the table a line of column names",
    "skip_lines": "lines above the column names that are left out (default: titles and notes are found)",
    "records": "JSON or XML: where the records are, names with dots between them, such as response.items",
    "separator": "what separates the cells of a table: comma, semicolon, tab, pipe, space or any one character",
    "quote": "what cells of a table are quoted by: double (\"), single (') or none",
    "vocabulary": "vocabulary file of a count format",
    "encoding": "encoding of text files without a byte-order mark (default utf-8)",
    "test_share": "share of the documents held out for validation and test, half each, where the file has no split "
    f"(default {ImportOptions.test_share})",
    "validation_share": "share of the training documents drawn for validation, where the file has a split "
    f"(default {ImportOptions.validation_share}); 0: no validation documents at all",
    "seed": "seed of that draw and of the held-out tokens (default 0)",
    "stop_words": "auto (default: of the language recognised), a language such as german, none, or a file of words",
    "min_df": "leave out words in fewer documents than this",
    "max_df": "leave out words in more than this share of the documents",
    "leave_out_common": "leave out the words that the corpus puts everywhere, such as those of mail headers",
    "max_words": "keep only this many words, the most frequent",
    "token_pattern": "regular expression of a word in a text",
    "html": "auto, yes or no: are texts pages in HTML, whose tags and scripts are not counted",
    "strip_mail": "count no mail headers, quoted lines and signatures",
    "hyphens": "auto, join or keep: words that the end of a line has cut in two",
    "lemmas": "count words in their dictionary form (needs topiary-explorer[lemmas])",
    "phrases": "count two words that belong together as one, new_york",
    "phrase_npmi": "how far the words of a phrase belong together at least, up to 1 (default 0.5)",
    "phrase_count": "how often a phrase occurs at least (default 10)",
    "binary": "keep only whether a word occurs",
    "levels": "idx images: grey values as counts from 0 to this, for models of counts (datm)",
    "metadata": "table that describes texts by the names of their files, or none (default: one that lies among them)",
    "name_fields": "fields in the names of files, as in {year}_{label}_{author}",
    "split": "divide documents into paragraphs, chapters, or passages of so many words, as in '500 words'",
}
KINDS: dict[str, type] = {
    "skip_lines": int, "test_share": float, "validation_share": float, "seed": int, "min_df": int, "max_df": float,
    "leave_out_common": bool, "max_words": int, "binary": bool, "levels": int, "strip_mail": bool, "lemmas": bool,
    "phrases": bool, "phrase_npmi": float, "phrase_count": int,
}  # fmt: skip


REPEATABLE_OPTIONS = ("text_column",)  # options that may be given several times

# The options of ``topiary append``: how files are read.  Which words are counted was settled by the import.
APPENDED = (
    "format", "text_column", "title_column", "label_column", "split_column", "header", "skip_lines", "records",
    "separator", "quote", "encoding", "vocabulary", "metadata", "name_fields", "split",
)  # fmt: skip

NEW_DOCUMENT_OPTIONS = (  # how files are read whose documents are inferred with a trained model
    "format", "text_column", "title_column", "header", "skip_lines", "records", "separator", "quote", "encoding",
)  # fmt: skip


def parse_options(texts: Mapping[str, str]) -> ImportOptions:
    """Parse options as they are typed; empty texts keep their defaults.

    Raises
    ------
    OptionError
        When a text cannot be read, or its value is not allowed.
    """
    values: dict[str, Any] = {}
    for name, text in texts.items():
        typed = text.strip(" ") if name == "separator" else text.strip()  # a tab can be a separator
        if typed:
            values[name] = _parse_value(name, typed)
    return ImportOptions(**values)


def _parse_value(name: str, text: str) -> Any:
    kind = KINDS.get(name, str)
    if kind is bool:
        return text == "true"
    try:
        return kind(text)
    except ValueError:
        request = "a whole number" if kind is int else "a number"
        raise OptionError(f"{name} must be {request}; got {text!r}") from None


def _check_encoding(name: str) -> str:
    """Return the encoding to read lines with, checked.

    Raises
    ------
    OptionError
        If it does not encode text, or if files in it cannot be split into lines.
    """
    try:
        known = codecs.lookup(name).name
        lines = "a\n".encode(name)
    except (LookupError, ValueError):  # "base64" is no text encoding, "undefined" always fails
        raise OptionError(f"there is no text encoding {name!r}; usual ones are utf-8, latin-1, cp1252") from None
    if known == "utf-8-sig":
        return "utf-8"
    if known.startswith(WIDE):
        cause = f"files in {name} are read by the byte-order mark that they begin with, so leave the encoding out"
        raise OptionError(f"{cause}; convert them to UTF-8 where they have none")
    if lines != b"a\n" or known == "idna":  # an encoding of host names
        raise OptionError(f"files in the encoding {name} cannot be read line by line; convert them to UTF-8")
    return name


def _join_columns(columns: str | Sequence[str] | None) -> str | None:
    """Join column names into one text, as a row of a CSV file, so that names may contain commas."""
    if columns is None or isinstance(columns, str):
        return columns
    if len(columns) < 2:
        return next(iter(columns), None)
    row = StringIO()
    csv.writer(row, lineterminator="").writerow(columns)
    return row.getvalue()


def _check_separator(text: str | None) -> str | None:
    """Return the name of a separator; None if it is to be found in the file."""
    if text in (None, "auto"):
        return None
    name = name_separator(text)
    if name is None:
        known = ", ".join(SEPARATORS)
        raise OptionError(f"separator must be {known} or one character that is no quotation mark; got {text!r}")
    return name


def _check_quote(text: str | None) -> str | None:
    """Return the name of a quotation mark; None if it is to be found in the file."""
    if text in (None, "auto"):
        return None
    name = name_quote(text)
    if name is None:
        raise OptionError(f"quote must be double (\"), single (') or none; got {text!r}")
    return name


def _check_word_options(options: ImportOptions) -> None:
    """Refuse invalid options about words; ``stop_words="auto"`` is stored as None, the default."""
    if options.token_pattern is not None:
        _check_pattern(options.token_pattern)
    if not options.phrases and (options.phrase_npmi is not None or options.phrase_count is not None):
        raise OptionError("phrase_npmi and --phrase-count say what a phrase is; give --phrases too")
    if options.stop_words == "auto":
        object.__setattr__(options, "stop_words", None)
    choice = options.stop_words
    if choice not in (None, "none") and languages.find_language_code(str(choice)) is None and not is_file(str(choice)):
        known = "must be auto, none, a language such as german or a file with one word a line"
        raise OptionError(f"stop_words {known}; there is no file {choice!r}")


def _check_pattern(pattern: str) -> None:
    try:
        groups = re.compile(pattern).groups
    except (re.error, OverflowError, RecursionError) as error:
        raise OptionError(f"token_pattern must be a regular expression; got {pattern!r} ({error})") from None
    if groups > 1:
        cause = f"got {pattern!r} with {groups}; write (?:...) for a group that only holds together"
        raise OptionError(f"token_pattern must have one group at most, which is the word; {cause}")


def _check_file_options(options: ImportOptions) -> None:
    """Refuse invalid patterns of file names and ways to divide documents; ``split`` is stored normalised."""
    if options.name_fields not in (None, NONE):
        try:
            Pattern(str(options.name_fields))
        except PatternError as error:
            raise OptionError(f"name_fields {error}") from None
    if options.split is not None:
        split = read_split(options.split)
        if split is None:
            known = f"paragraphs, chapters, none, or a number of words from {FEWEST_WORDS}, as in '500 words'"
            raise OptionError(f"split must be {known}; got {options.split!r}")
        object.__setattr__(options, "split", split)


def read_split(text: str) -> str | None:
    """Return the normalised form of a way to divide documents; None if the text is not one.

    >>> read_split("Chapters"), read_split("500words"), read_split("verses")
    ('chapters', '500 words', None)
    """
    how = text.strip().lower()
    if how in (NONE, PARAGRAPHS, CHAPTERS):
        return how
    size = _PASSAGE_SIZE.fullmatch(how)
    return f"{int(size[1])} words" if size and int(size[1]) >= FEWEST_WORDS else None


def is_file(name: str | Path) -> bool:
    """Return whether there is such a file."""
    try:
        return Path(name).is_file()
    except OSError:  # a name longer than the system allows
        return False


SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "space": " "}
QUOTES = {"double": '"', "single": "'", "none": ""}
USUAL = (",", ";", "\t", "|")  # separators that are tried if the user chooses none
_SEPARATOR_ALIASES = {r"\t": "tab", "bar": "pipe"}
_NEVER_SEPARATORS = "\r\n\0\"'"  # ends of lines, NUL, which readers of tables refuse, and quotation marks


def name_separator(text: str) -> str | None:
    """Return the name of a separator, or the character itself if it has none; None for an invalid separator.

    >>> [name_separator(text) for text in (";", "Tab", "~", "::")]
    ['semicolon', 'tab', '~', None]
    """
    name = _SEPARATOR_ALIASES.get(text.lower(), text.lower())
    if name in SEPARATORS:
        return name
    if (
        len(text) != 1 or text in _NEVER_SEPARATORS or unicodedata.category(text) == "Cs"
    ):  # a surrogate, half a character
        return None
    return _look_up_name(text)


def find_separator(name: str) -> str:
    """Return the character of a separator given by name, or as itself if it has none."""
    return SEPARATORS.get(name, name)


def describe_separator(separator: str) -> str:
    """Describe a separator by its name, else as itself, or by code point if it is invisible."""
    name = _look_up_name(separator)
    return name if name.isprintable() and not name.isspace() else f"U+{ord(separator):04X}"


def name_quote(text: str) -> str | None:
    """Return the name of a quotation mark given as itself or by name; None for anything else.

    >>> [name_quote(text) for text in ("'", "double", "none", "<")]
    ['single', 'double', 'none', None]
    """
    named = {mark: name for name, mark in QUOTES.items() if mark} | {name: name for name in QUOTES}
    return named.get(text.lower())


def _look_up_name(separator: str) -> str:
    return next((name for name, mark in SEPARATORS.items() if mark == separator), separator)
