"""The usual names of columns: which say that a column is the text, the title, the label, a date and so on."""

import re
from collections.abc import Collection, Sequence
from functools import lru_cache

# fmt: off
# Names that keep their column the text unless it is nearly empty, and names that need a fair share of the letters.
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
SUBJECTS = ("subject", "betreff", "heading")  # of a message, or what many documents are about
LABELS = (
    "label", "labels", "class", "category", "topic", "topics", "group", "target", "section", "sentiment", "kategorie",
    "categorie", "catégorie", "categoría", "categoria", "kategoria", "klasse", "clase", "classe", "thema", "rubrik",
    "ressort", "rubrique", "etiqueta", "newsgroup", "folder", "channel",
)
# Names of columns of classes that do not settle it, but are taken before others of their kind.
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
SURE_DATES = frozenset(  # whose values are dates in whatever form
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
_LATER = frozenset((
    "updated", "update", "modified", "edited", "changed", "deleted", "retrieved", "scraped", "crawled", "accessed",
    "collected", "downloaded", "end", "enddate", "last",
))
_OTHERS = frozenset((
    "author", "authors", "user", "username", "user_name", "user_id", "screen_name", "source", "lang", "language",
    "country", "city", "location", "gender", "sex", "age", "email", "likes", "retweets", "replies", "views", "upvotes",
    "downvotes", "verified", "hashtags", "mentions", "permalink", "link", "publisher", "journal", "doi", "isbn",
    "keywords", "notes", "autor", "auteur", "nummer", "note", "quelle", "sprache", "land", "stadt", "alter", "count",
    "length", "price", "product", "weight", "word_count", "retweet_count", "num_comments", "index", "nr", "no",
))
_WITH = frozenset((
    "full", "clean", "cleaned", "raw", "original", "main", "user", "my", "new", "processed", "short", "long", "all",
    "in", "of", "the", "no", "reply", "article", "news", "product", "post", "tweet", "start", "end", "number", "de",
))
# fmt: on
_WORD = re.compile(r"[^\W\d_]+|\d+")
_HUMP = re.compile(r"(?<=[a-zß-öø-ÿ])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@lru_cache(maxsize=4096)
def split_words(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case.

    >>> split_words("createdAt"), split_words("Article Body"), split_words("Q3_TEXT")
    (('created', 'at'), ('article', 'body'), ('q', '3', 'text'))
    """
    return tuple(_WORD.findall(_HUMP.sub(" ", name[:200]).lower()))


def plain_name(name: str) -> str:
    """Return a name in the one way in which usual names are written here; of a field within others the last name.

    >>> plain_name(" Created At"), plain_name("createdAt"), plain_name("fields.body"), plain_name("content.rendered")
    ('created_at', 'created_at', 'body', 'content')
    """
    if find_parent(name):
        parts = [part for part in name.split(".") if part.strip()]
        while len(parts) > 1 and parts[-1].lower() in _NO_NAMES:
            parts.pop()
        name = parts[-1] if parts else name
    return "_".join(split_words(name))


def find_parent(name: str) -> str:
    """Return the names of the fields that a field is in; empty for a field or column of its own."""
    return "" if " " in name else name.rpartition(".")[0]


_NO_NAMES = frozenset(("rendered", "value", "raw", "plain", "html", "$t", "#text", "_text", "en", "utf8", "string"))


def is_known(name: str) -> bool:
    """Return whether a cell looks like the name of a column: a usual one, or usual words together."""
    if len(name) > 40:
        return False
    words = split_words(name)
    if "_".join(words) in _USUAL:
        return True
    return 1 < len(words) <= 3 and words[-1] in _USUAL and all(word in _USUAL or word in _WITH for word in words)


_USUAL = frozenset((*TEXTS, *TITLES, *LABELS, *LIKELY_LABELS, *SPLITS, *IDS, *CREATED)) | _OTHERS


def is_sure(name: str) -> bool:
    """Return whether a cell is a name that hardly ever stands in a table as a value."""
    return plain_name(name) in _SURE


_SURE = frozenset((*TEXTS, *TITLES, *SPLITS, "label", "labels", "category", "kategorie", "created_at", "timestamp"))


def find_named(request: Sequence[str], names: Collection[str], *, whole: bool = False) -> str | None:
    """Return the column with the first of some usual names, else, unless ``whole``, whose name ends with one."""
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
    """Return whether a name has a word in it that dates and times are called by."""
    return any(word in _DATE_WORDS for word in split_words(name))


def rank_date(name: str) -> tuple[int, int]:
    """Return how early a column of dates is taken for the date of a document: when it was made before all others."""
    later = any(word in _LATER for word in split_words(name))
    plain = plain_name(name)
    return (2 if later else 0, CREATED.index(plain)) if plain in CREATED else (2 if later else 1, 0)


def names_an_id(name: str) -> bool:
    """Return whether a column is one of identifiers by its name."""
    words = split_words(name)
    return bool(words) and (
        words[-1] in ("id", "ids", "uuid", "guid", "key", "hash", "url", "link") or words == ("id",)
    )
