"""The built-in corpus: what the Python packages on this machine say about themselves."""

import re
from collections.abc import Iterator
from itertools import chain, islice

import numpy as np

from app.ingest import docstrings
from app.ingest.docstrings import STANDARD_LIBRARY, Docstring, Package
from app.ingest.errors import IngestError
from app.ingest.importing import import_source, quiet
from app.ingest.options import ImportOptions
from app.ingest.source import Progress, TextDocument, TextSource
from app.ingest.words import clean
from store.corpus_rows import CorpusRow
from store.database import Database

NAME = "python-docs"
MOST = 9_000  # documents in all
MOST_OF_ONE = 1_500  # of one package, so that no package is the whole corpus
MOST_OF_STANDARD = 4_000
_SHUFFLE = 1  # seed
STANDARD_FILES = 3  # of the standard library in a turn: it is many packages in one
FEWEST_WORDS = 25
_SHORTEST_WORD = 4  # letters with a blank: spares a closer look at what is too short in any case

_FENCED = re.compile(r"^[ \t]*```.*?^[ \t]*```[^\n]*$|^[ \t]*~~~.*?^[ \t]*~~~[^\n]*$", re.MULTILINE | re.DOTALL)
_DOCTEST = re.compile(r"^[ \t]*>>>[^\n]*(?:\n[ \t]*\S[^\n]*)*", re.MULTILINE)
_LITERAL = re.compile(r"::[ \t]*\n(?:[ \t]*\n)*(?P<indent>[ \t]+)\S[^\n]*(?:\n(?:(?P=indent)[^\n]*|[ \t]*))*")
_CODE = re.compile(
    r"^[ \t]*\.\. (?:code|code-block|sourcecode|ipython|plot|math|jupyter-execute|testcode)::[^\n]*$", re.MULTILINE
)
_DIRECTIVE = re.compile(r"^[ \t]*\.\. [^\n]*$", re.MULTILINE)
_HEADING = re.compile(r"^[^\n]{1,60}\n[ \t]*(?:-{3,}|={3,}|~{3,})[ \t]*$", re.MULTILINE)
_FIELD = re.compile(r":(?:param|type|arg|keyword|raises|return|returns|rtype)\b[^:\n]*:")
_ROLE = re.compile(r":[a-z:]+:`")
_WORD = re.compile(r"[^\W\d_]{2,}")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

# Words that every docstring uses, whatever it is about.
_NOISE = """
actual added additional allow allowed allows api appropriate arg args argument arguments array arrays attr attribute
attributes automatically available base based best better bit bool boolean bytes call callable called calling calls
case cases certain change changed class classes code common consider considered contain containing contains controls
corresponding create created creates creating current currently custom default defaults define defined defines
depending deprecated described description details dict dictionary different directly doc docs documentation does
doing dtype ensure equivalent error errors etc example examples exception exceptions exist existing exists expected
false field fields float follow following func function functions future general generally getter given gives handle
handled handles handling helper however ignored implement implementation implementations implemented implementing
implements import include included includes including indicate indicates indicating info information init initialize
input inputs instance instances instead int integer integers intended internal internally item items iterable iterator
just keyword kind kwarg kwargs kwds like list lists main make makes mapping may means meth method methods module
modules multiple must na name named names necessary need needed needs new non none note notes nothing np number obj
object objects old ones option optional options order otherwise output outputs overridden override pair pairs param
parameter parameters params particular pass passed passing pd performs possible present previous private probably
properties property provide provided provides public purpose py python raise raised raises raising rather receive ref
refer reference references related represent representation represented representing represents require required
requires result results return returned returning returns rtype same section see self sequence set sets setter setting
should shown similar simple simply single specific specified specifies specify specifying str string strings subclass
subclasses support supported supports sure takes target things true tuple tuples type types typically ug union unless
usage use used useful user uses using usually valid value values various versa version versionadded versionchanged
vice want way ways whether will within wrapper ws xs ys
"""


def import_builtin(db: Database, progress: Progress = quiet, name: str = NAME) -> CorpusRow:
    """Make the corpus of the docstrings of the standard library and of the installed packages.

    One document per module, class or function with a docstring of useful length, identifiers split into
    their words, examples and code removed; the label is the top-level package.  The same installation
    gives the same corpus.

    Raises
    ------
    IngestError
        When this Python has no sources to read.
    store.errors.Conflict
        When the name is taken.
    """
    progress("Reading the documentation of the Python packages on this machine", None)
    found, found_prose = collect(docstrings.packages(), progress)
    if not found:
        raise IngestError("Python", "its standard library and packages are installed without sources or docstrings")
    source = TextSource(
        where="docstrings of the installed Python packages",
        documents=lambda: map(_document, found),
        counted=lambda document: found_prose[document.text],
        stop_words=frozenset(_NOISE.split()),
    )
    options = ImportOptions(max_df=0.3, min_df=5, html="no", hyphens="keep")  # pages in it are examples of code
    return import_source(db, source, name, options, progress, {"format": "built-in"})


def collect(packages: list[Package], progress: Progress) -> tuple[list[Docstring], dict[str, str]]:
    """Docstrings of useful length, each once, about MOST of them, and what is counted of each by its text.

    Packages come in turn so that each gives its best documented files when there are more than enough.
    The result is shuffled, always in the same way: whoever looks at the first documents sees many packages.
    """
    taken: dict[str, list[Docstring]] = {package.label: [] for package in packages}
    prepared: dict[str, str] = {}
    turns = {package.label: _by_file(package) for package in packages}
    total = 0
    while turns and total < MOST:
        for label in list(turns):
            standard = label == STANDARD_LIBRARY
            batch = list(islice(turns[label], STANDARD_FILES if standard else 1))
            if not batch or len(taken[label]) >= (MOST_OF_STANDARD if standard else MOST_OF_ONE):
                del turns[label]
                continue
            fresh = [docstring for docstring in chain.from_iterable(batch) if _take(docstring, prepared)]
            taken[label] += fresh
            total += len(fresh)
        progress(f"Reading documentation: {total:,} docstrings", min(total / MOST, 1.0))
    found = list(chain.from_iterable(taken.values()))
    return [found[place] for place in np.random.default_rng(_SHUFFLE).permutation(len(found))], prepared


def _take(docstring: Docstring, prepared: dict[str, str]) -> bool:
    """Keep what is counted of a docstring that is new and long enough."""
    if docstring.text in prepared or len(docstring.text) < FEWEST_WORDS * _SHORTEST_WORD:
        return False
    words = counted(docstring)
    useful = len(_WORD.findall(words)) >= FEWEST_WORDS
    if useful:
        prepared[docstring.text] = words
    return useful


def _by_file(package: Package) -> Iterator[list[Docstring]]:
    for path in package.files:
        yield list(docstrings.docstrings(package._replace(files=(path,))))


def prose(text: str) -> str:
    r"""A docstring without examples, code, headings and markup; identifiers split into their words.

    >>> prose("Read a DataFrame.\n\n>>> read_csv()\nEmpty\n\nSee :class:`TextReader`.").split()
    ['Read', 'a', 'Data', 'Frame.', 'See', 'Text', 'Reader`.']
    """
    text = _CODE.sub("::", _FENCED.sub(" ", text))
    for pattern in (_DOCTEST, _DIRECTIVE, _LITERAL, _HEADING, _FIELD, _ROLE):
        text = pattern.sub(" ", text)
    return _HUMP.sub(" ", text)


def counted(docstring: Docstring) -> str:
    """The name and the prose of a docstring, in lower case."""
    return clean(f"{_HUMP.sub(' ', docstring.name)}\n{prose(docstring.text)}")


def _document(docstring: Docstring) -> TextDocument:
    name = f"{docstring.module}.{docstring.name}".rstrip(".")
    columns = {"name": docstring.name, "module": docstring.module, "kind": docstring.kind}
    return TextDocument(docstring.text, name, docstring.package, None, columns)
