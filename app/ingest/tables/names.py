"""The usual names of columns, and patterns of fields in file names."""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from functools import lru_cache
from pathlib import PurePosixPath

# fmt: off
# Names of columns of texts.  The first ones (SURE_TEXTS) are the text unless nearly empty; others need a third of the
# letters in the longest column.
TEXTS = (
    "text", "full_text", "body", "content", "contents", "document", "texte", "texto", "testo", "tekst", "volltext",
    "selftext", "abstract", "ab", "description", "review", "message", "comment", "article", "post", "tweet", "sentence",
    "tokens", "words", "lemmas", "transcript", "transcription", "answer", "response", "feedback", "question", "speech",
    "caption", "passage", "paragraph", "narrative", "story", "lyrics", "kommentar", "inhalt", "beschreibung",
    "nachricht", "beitrag", "artikel", "bewertung", "antwort", "commentaire", "contenu", "avis", "comentario",
    "contenido", "mensaje", "commento", "contenuto", "opmerking", "summary",
)
SURE_TEXTS = TEXTS[: TEXTS.index("abstract")]
TITLES = (
    "title", "headline", "subject", "heading", "titel", "überschrift", "titre", "título", "titulo", "titolo", "tytuł",
    "betreff", "schlagzeile", "ti", "summary",
)
SUBJECTS = ("subject", "betreff", "heading")  # the subject of a message, or else a class of documents
LABELS = (
    "label", "labels", "class", "category", "topic", "topics", "group", "target", "section", "sentiment", "kategorie",
    "categorie", "catégorie", "categoría", "categoria", "kategoria", "klasse", "clase", "classe", "thema", "rubrik",
    "ressort", "rubrique", "etiqueta", "newsgroup", "folder", "channel",
)
# Names that do not suffice for a column to be the label, but are preferred among similar columns.
LIKELY_LABELS = (
    "department", "division", "type", "genre", "kind", "party", "faculty", "team", "subreddit", "stance", "emotion",
    "polarity", "intent", "rating", "stars", "score", "flair", "tag", "tags", "partei", "abteilung", "gruppe", "art",
    "department_name", "theme", "field", "domain", "discipline", "publication", "newspaper", "outlet",
)
UNLIKELY_LABELS = (
    "lang", "language", "source", "country", "location", "verified", "currency", "device", "client", "status", "state",
    "user", "username", "author", "sprache", "quelle", "gender", "sex", "age", "city", "place", "geo", "license",
)
SPLITS = ("split", "part", "partition", "subset")
IDS = (
    "id", "name", "filename", "file", "path", "url", "key", "doc_id", "document_id", "docid", "uuid", "guid", "id_str",
    "tweet_id", "status_id", "response_id", "respondent_id", "doc", "row_name", "docname",
)
CREATED = (
    "date", "created_at", "created", "created_utc", "published_at", "published", "publication_date", "pub_date",
    "pubdate", "publish_date", "publish_time", "post_date", "posted_at", "date_created", "date_published", "datetime",
    "timestamp", "time", "ts", "datum", "fecha", "data", "zeit", "zeitstempel", "submitted_at", "submitdate",
    "start_date", "startdate", "end_date", "year", "jahr", "année", "annee", "año", "ano", "anno",
)
SURE_DATES = frozenset(  # columns whose values are dates in any form
    ("date", "created_at", "published_at", "publication_date", "pub_date", "pubdate", "publish_date", "post_date",
     "posted_at", "date_created", "date_published", "datetime", "timestamp", "datum", "fecha")
)
_DATE_WORDS = frozenset((
    "date", "datum", "fecha", "data", "dato", "datetime", "time", "timestamp", "ts", "zeit", "zeitstempel", "uhrzeit",
    "year", "jahr", "année", "annee", "an", "año", "ano", "anno", "month", "monat", "mois", "mes", "day", "tag",
    "jour", "día", "dia", "created", "updated", "modified", "edited", "published", "posted", "submitted", "utc",
    "epoch", "hour", "erstellt", "veröffentlicht", "startdate", "enddate", "pubdate", "submitdate", "startzeit",
    "endzeit", "datestamp", "recordeddate", "decade", "ms", "at",
))
_LATER_WORDS = frozenset((
    "updated", "update", "modified", "edited", "changed", "deleted", "retrieved", "scraped", "crawled", "accessed",
    "collected", "downloaded", "end", "enddate", "last",
))
_OTHER_NAMES = frozenset((
    "author", "authors", "user", "username", "user_name", "user_id", "screen_name", "source", "lang", "language",
    "country", "city", "location", "gender", "sex", "age", "email", "likes", "retweets", "replies", "views", "upvotes",
    "downvotes", "verified", "hashtags", "mentions", "permalink", "link", "publisher", "journal", "doi", "isbn",
    "keywords", "notes", "autor", "auteur", "nummer", "note", "quelle", "sprache", "land", "stadt", "alter", "count",
    "length", "price", "product", "weight", "word_count", "retweet_count", "num_comments", "index", "nr", "no",
))
_QUALIFIERS = frozenset((
    "full", "clean", "cleaned", "raw", "original", "main", "user", "my", "new", "processed", "short", "long", "all",
    "in", "of", "the", "no", "reply", "article", "news", "product", "post", "tweet", "start", "end", "number", "de",
))
# fmt: on
_WORD = re.compile(r"[^\W\d_]+|\d+")
_CAMEL_CASE = re.compile(r"(?<=[a-zß-öø-ÿ])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@lru_cache(maxsize=4096)
def split_words(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case.

    >>> split_words("createdAt"), split_words("Article Body"), split_words("Q3_TEXT")
    (('created', 'at'), ('article', 'body'), ('q', '3', 'text'))
    """
    return tuple(_WORD.findall(_CAMEL_CASE.sub(" ", name[:200]).lower()))


def plain_name(name: str) -> str:
    """Return a name in the form of the usual names here; for a nested field, only its last name.

    >>> plain_name(" Created At"), plain_name("createdAt"), plain_name("fields.body"), plain_name("content.rendered")
    ('created_at', 'created_at', 'body', 'content')
    """
    if find_parent(name):
        parts = [part for part in name.split(".") if part.strip()]
        while len(parts) > 1 and parts[-1].lower() in _WRAPPERS:
            parts.pop()
        name = parts[-1] if parts else name
    return "_".join(split_words(name))


def find_parent(name: str) -> str:
    """Return the path of the object that contains a field; empty for a field or column that is not nested."""
    return "" if " " in name else name.rpartition(".")[0]


_WRAPPERS = frozenset(("rendered", "value", "raw", "plain", "html", "$t", "#text", "_text", "en", "utf8", "string"))


def is_known(name: str) -> bool:
    """Return whether a cell looks like the name of a column: a usual one, or several usual words."""
    if len(name) > 40:
        return False
    words = split_words(name)
    if "_".join(words) in _USUAL:
        return True
    return 1 < len(words) <= 3 and words[-1] in _USUAL and all(word in _USUAL or word in _QUALIFIERS for word in words)


_USUAL = frozenset((*TEXTS, *TITLES, *LABELS, *LIKELY_LABELS, *SPLITS, *IDS, *CREATED)) | _OTHER_NAMES


def is_sure(name: str) -> bool:
    """Return whether a cell is a name that hardly ever appears as a value in a table."""
    return plain_name(name) in _SURE


_SURE = frozenset((*TEXTS, *TITLES, *SPLITS, "label", "labels", "category", "kategorie", "created_at", "timestamp"))


def find_named(request: Sequence[str], names: Collection[str], *, whole: bool = False) -> str | None:
    """Return the column with the first of some usual names or, unless ``whole``, a name that ends with one."""
    by_name = {plain_name(name): name for name in reversed(list(names))}
    exact = next((by_name[name] for name in request if name in by_name), None)
    if exact is not None or whole:
        return exact
    by_end: dict[str, str] = {}
    for name in names:
        words = split_words(name)
        if 1 < len(words) <= 4:
            by_end.setdefault(words[-1], name)
    return next((by_end[name] for name in request if name in by_end), None)


def names_a_date(name: str) -> bool:
    """Return whether a name contains a usual word for dates and times."""
    return any(word in _DATE_WORDS for word in split_words(name))


def rank_date(name: str) -> tuple[int, int]:
    """Return the rank of a column as the date of a document; smaller is better, and dates of creation come first."""
    later = any(word in _LATER_WORDS for word in split_words(name))
    plain = plain_name(name)
    return (2 if later else 0, CREATED.index(plain)) if plain in CREATED else (2 if later else 1, 0)


def names_an_id(name: str) -> bool:
    """Return whether a column contains identifiers, by its name."""
    words = split_words(name)
    return bool(words) and (
        words[-1] in ("id", "ids", "uuid", "guid", "key", "hash", "url", "link") or words == ("id",)
    )


NAME_ROLES = LABEL_FIELD, TITLE_FIELD, SPLIT_FIELD = "label", "title", "split"  # fields with a role of their own
_FIELD = re.compile(r"\{([^{}]*)\}")
_FIELD_NAME = re.compile(r"[^\W_][\w -]{0,39}")
_STAR = "*"  # ends the name of a field that may contain the separators
_MARKS = (" - ", "__", "_", "-", " ", ".")  # separators of fields, the clearest first
_MOST_FIELDS = 8  # fields in a proposed pattern
_FEWEST_NAMES = 5  # files from which a pattern is proposed
_FITTING_SHARE = 0.9  # share of the names that must have the same number of parts
_YEAR = re.compile(r"1[0-9]{3}|20[0-9]{2}")
_DATE = re.compile(r"(\d{4})[-_.]?(\d{2})[-_.]?(\d{2})")


class PatternError(ValueError):
    """An error for an invalid pattern of file names; the message gives the reason."""


class Pattern:
    """A pattern of file names.

    Parameters
    ----------
    text : str
        Fields in braces, with separators between them.  A field cannot contain the separators next to it, unless it has
        a star, ``{title*}``; ``{}`` matches a part to leave out.  A pattern with slashes matches folders, too.

    Attributes
    ----------
    text : str
    fields : tuple of str
        Names of the fields.

    Raises
    ------
    PatternError
        If the pattern is invalid.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        literals, names = _FIELD.split(text)[::2], _FIELD.findall(text)
        if not names or any("{" in each or "}" in each for each in literals):
            raise PatternError(f"must have fields in braces, as in {{year}}_{{label}}_{{author}}; got {text!r}")
        if not all(literals[1:-1]):
            raise PatternError(f"must have something between two fields, as in {{year}}_{{label}}; got {text!r}")
        self.fields = tuple(name.removesuffix(_STAR) for name in names if name.removesuffix(_STAR))
        for name in self.fields:
            if not _FIELD_NAME.fullmatch(name):
                raise PatternError(f"must name its fields by letters, as in {{year}}; got {{{name}}}")
        repeated = [name for name, times in Counter(self.fields).items() if times > 1]
        if repeated or not self.fields:
            problem = f"names {repeated[0]!r} twice" if repeated else "names no field"
            raise PatternError(f"{problem}; give each field a name of its own, as in {{year}}_{{label}}; got {text!r}")
        self._folders = text.count("/")
        self._expression = re.compile(_write_expression(literals, names), re.IGNORECASE)

    def match_name(self, name: str) -> dict[str, str] | None:
        """Return the fields of a file name without its ending, or of a path; None if it does not fit the pattern.

        >>> Pattern("{year}_{label}").match_name("letters/1990_sea")
        {'year': '1990', 'label': 'sea'}
        >>> Pattern("{year}_{label}").match_name("1990_deep_sea") is None
        True
        """
        parts = unicodedata.normalize("NFC", name).split("/")
        match = self._expression.fullmatch("/".join(parts[-1 - self._folders :]))
        return None if match is None else dict(zip(self.fields, map(str.strip, match.groups()), strict=True))


def strip_kind(file: str, kinds: Sequence[str]) -> str:
    """Return the name of a file without its ending, if this is one of ``kinds``.

    >>> strip_kind("a/Miller. Ann", (".txt",)), strip_kind("a/1990.TXT", (".txt",))
    ('a/Miller. Ann', 'a/1990')
    """
    ending = PurePosixPath(file).suffix
    return file[: -len(ending)] if ending.lower() in kinds else file


def propose_pattern(names: Sequence[str]) -> str:
    """Return a pattern with useful fields that more than nine in ten names fit; empty if there is none.

    Parameters
    ----------
    names : sequence of str
        Names of files, without folders and endings.
    """
    if len(names) < _FEWEST_NAMES:
        return ""
    if sum(_is_date(name) for name in names) > _FITTING_SHARE * len(names):
        return "{date}"
    for separator in _MARKS:
        parts = [name.split(separator) for name in names]
        size, times = Counter(map(len, parts)).most_common(1)[0]
        if 2 <= size <= _MOST_FIELDS and times > _FITTING_SHARE * len(names):
            proposed = _propose_fields(
                list(zip(*(each for each in parts if len(each) == size), strict=True)), separator
            )
            if proposed:
                return proposed
    return ""


def show_example(pattern: str, names: Sequence[str], most: int) -> Sequence[Mapping[str, str]]:
    """Return the fields of the first names that fit a pattern, at most ``most``."""
    parsed = Pattern(pattern)
    matches = (parsed.match_name(name) for name in names)
    return [fields for fields in matches if fields is not None][:most]


def _write_expression(literals: Sequence[str], names: Sequence[str]) -> str:
    """Return the regular expression of a pattern, given the texts between its fields and their names."""
    pieces = [re.escape(literals[0])]
    for index, name in enumerate(names):
        before, after = literals[index], literals[index + 1]
        excluded = [re.escape(mark) for mark in (before, after) if mark and "/" not in mark]
        inside = "[^/]+" if name.endswith(_STAR) else f"(?:(?!{'|'.join(excluded)})[^/])+" if excluded else "[^/]+"
        pieces.append((f"({inside})" if name.removesuffix(_STAR) else f"(?:{inside})") + re.escape(after))
    return "".join(pieces)


def _propose_fields(columns: Sequence[Sequence[str]], separator: str) -> str:
    """Return a pattern that names each part by its apparent meaning; empty if no part has one."""
    names: list[str] = []
    for place, values in enumerate(columns, 1):
        if len(set(values)) == 1:
            names.append(values[0])  # the same in all names, so not a field
        elif all(map(_YEAR.fullmatch, values)) and "{year}" not in names:
            names.append("{year}")
        elif all(map(_is_date, values)) and "{date}" not in names:
            names.append("{date}")
        else:
            names.append(f"{{part{place}}}")
    label = _find_label_part(columns, names)
    if label is not None:
        names[label] = "{label}"
    if not {"{year}", "{date}", "{label}"}.intersection(names) or any("{" in name and name[0] != "{" for name in names):
        return ""
    return separator.join(names)


def _find_label_part(columns: Sequence[Sequence[str]], names: Sequence[str]) -> int | None:
    """Return the index of the part that may be a label, with the fewest different words; None if there is none."""
    candidates = []
    for place, values in enumerate(columns):
        unique = set(values)
        repeats = 1 < len(unique) <= max(2, len(values) // 3)
        if names[place].startswith("{part") and repeats and not any(value.isdecimal() for value in unique):
            candidates.append((len(unique), place))
    return min(candidates)[1] if candidates else None


def _is_date(text: str) -> bool:
    match = _DATE.fullmatch(text)
    if match is None:
        return False
    try:
        date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return False
    return 1000 <= int(match[1]) < 2100
