"""What stands beside a file of counts: its vocabulary, the names of its classes, labels and titles."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from app.ingest import files, packed
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.source import Array
from app.ingest.words import storable

_OF_GENSIM = re.compile(r"\d+\t[^\t]+\t\d+")
_PICKLE = "is a pickle, which could run programs, so it is not opened; save it with gensim's dictionary.save_as_text"
_WORD_AND_COUNT = re.compile(r"\S+[ \t]+\d+")
_NAME_THEN_NUMBER = re.compile(r"(.*\S)\s+(-?\d+)")
_NUMBER_THEN_NAME = re.compile(r"(-?\d+)\s+(\S.*)")
_VOCABULARIES = ("vocabulary.txt", "vocab.txt", "vocabulary", "vocab", "vocab.new", "words.txt", "dictionary.txt",
                 "wordids.txt")  # fmt: skip
_CLASSES = ("labels.map", "labels.txt", "classes.txt", "label_names.txt", "labels.names")


def find(folder: Path, names: Iterable[str]) -> Path | None:
    """The first of some files that a folder has, plain or compressed."""
    for name in names:
        for path in (folder / f"{name}{ending}" for ending in ("", *packed.ENDINGS)):
            if path.is_file():
                return path
    return None


def vocabulary(path: Path, options: ImportOptions, own_names: Sequence[str] = ()) -> tuple[Path, tuple[str, ...]]:
    """The vocabulary of the counts at ``path``: which file, and its words, one a line.

    Words are taken as they stand: ``None``, ``nan``, ``inf``, ``true`` and ``1992`` are words.
    Lines that are all ``word count`` give the word.

    Parameters
    ----------
    own_names : sequence of str
        Names to look for before the usual ones, such as ``vocab.kos.txt`` for ``docword.kos.txt``.

    Raises
    ------
    IngestError
        When there is none, or a line of it is empty.
    """
    if options.vocabulary is not None:
        return Path(options.vocabulary), read_words(Path(options.vocabulary), options.encoding)
    base = files.stem(path)
    own = (f"{base}.vocab", f"{base}.tokens", f"{base}.vocab.txt", f"{base}.dict.txt", f"{base}_wordids.txt")
    names = (*own_names, *own, *_dictionaries(base), *_VOCABULARIES)
    found = find(path.parent, names)
    if found is None:
        _refuse_pickle(path.parent, base)
        usual = ", ".join(dict.fromkeys((*own_names, f"{base}.vocab", "vocabulary.txt", "vocab.txt")))
        cause = f"has no vocabulary beside it (looked for {usual}, ...)"
        raise IngestError(path, f"{cause}; put it there, or name one with --vocabulary")
    return found, read_words(found, options.encoding)


def _dictionaries(base: str) -> tuple[str, ...]:
    """What the dictionary of ``wiki_bow.mm`` or ``news.mm`` is called when gensim saves it as text."""
    short = base.rpartition("_")[0] if base.endswith(("_bow", "_tfidf")) else base
    return (f"{short}_wordids.txt", f"{short}.dict.txt", f"{short}.dict", f"{base}.dict", "dictionary.dict")


def _refuse_pickle(folder: Path, base: str) -> None:
    """Say that the dictionary there is a pickle, which is a program rather than data."""
    names = (f"{base}.dict", f"{base}.mm.dict", f"{base}.id2word", "dictionary.gensim", f"{base}.pkl", "dictionary.pkl")
    found = find(folder, names)
    if found is not None:
        raise IngestError(found, _PICKLE)


def read_words(path: Path, encoding: str) -> tuple[str, ...]:
    """One word a line, exactly as written."""
    if files.start(path, 2)[:1] == b"\x80":  # how every pickle since Python 3 begins
        raise IngestError(path, _PICKLE)
    words = [line.strip() for _, line in files.lines(path, encoding)]
    while words and not words[-1]:
        words.pop()
    if not words:
        raise IngestError(path, "the vocabulary is empty")
    for line, word in enumerate(words, 1):
        if not word or "\0" in word:
            cause = "has a zero byte in it; is it text?" if word else "the line is empty where a word should be"
            raise IngestError(path, cause, line)
    if all(_WORD_AND_COUNT.fullmatch(word) for word in words):
        words = [word.split()[0] for word in words]
    if len(words) > 1 and words[0].isdecimal() and all(map(_OF_GENSIM.fullmatch, words[1:])):
        return _words_of_gensim(words[1:], path)
    return tuple(words)


def _words_of_gensim(lines: Sequence[str], path: Path) -> tuple[str, ...]:
    """The words of a gensim ``Dictionary.save_as_text``: a line is ``number<tab>word<tab>documents``, in any order."""
    by_number = {int(number): word for number, word, _ in (line.split("\t") for line in lines)}
    if sorted(by_number) != list(range(len(lines))):
        cause = f"is a gensim dictionary whose {len(lines):,} words are not numbered from 0 to {len(lines) - 1:,}"
        raise IngestError(path, f"{cause}; call its compactify() before it and the counts are saved")
    return tuple(by_number[number] for number in range(len(lines)))


def check_size(vocabulary_path: Path, words: Sequence[str], path: Path, request: int) -> None:
    """Refuse a vocabulary that is not the one the counts were made with."""
    if len(words) != request:
        cause = f"has {len(words):,} words, but {path.name} counts {request:,}; they do not belong together"
        raise IngestError(vocabulary_path, cause)


def class_names(path: Path, encoding: str = "utf-8") -> dict[str, str]:
    """Names of numbered classes, from a file beside ``path``; none when there is no such file.

    Lines are ``name number``, ``number name``, or names alone (numbered from 1).
    """
    found = find(path if path.is_dir() else path.parent, _CLASSES)
    if found is None:
        return {}
    names = [line.strip() for _, line in files.lines(found, encoding) if line.strip()]
    for pattern, number, name in ((_NUMBER_THEN_NAME, 1, 2), (_NAME_THEN_NUMBER, 2, 1)):
        matches = [pattern.fullmatch(line) for line in names]
        if all(matches):
            return {match[number]: match[name] for match in matches if match}
    return {str(number): name for number, name in enumerate(names, 1)}


def column(path: Path, names: Iterable[str], documents: int, encoding: str = "utf-8") -> list[str] | None:
    """One line for each document (labels, titles), from the first of the named files beside ``path``."""
    found = find(path.parent, names)
    if found is None:
        return None
    values = [line.strip() for _, line in files.lines(found, encoding)]
    while len(values) > documents and not values[-1]:
        values.pop()
    if len(values) != documents:
        raise IngestError(found, f"has {len(values):,} lines, but {path.name} has {documents:,} documents")
    return values


def labels(
    parts: list[files.Part], sizes: list[int], names: dict[str, str], encoding: str
) -> tuple[Array, tuple[str, ...]]:
    """Class numbers and names of the documents of a file, or a pair, from ``NAME.label`` beside each.

    Parameters
    ----------
    sizes : list of int
        Documents of each file.
    names : dict
        Names of numbered classes.
    """
    raw: list[str | None] = []
    for part, size in zip(parts, sizes, strict=True):
        base = files.stem(part.path)
        beside_it = (f"{base}.label", f"{base}.labels", f"{base}.labels.txt")
        found = column(part.path, beside_it, size, encoding) or [""] * size
        raw += [value or None for value in found]  # an empty line is no label
    return encode(raw, names)


def encode(labels: Iterable[str | None], names: dict[str, str]) -> tuple[Array, tuple[str, ...]]:
    """Class numbers (documents,) int32, -1 for none, and the name of each class.

    >>> encode(["2", None, "10", "2"], {})
    (array([ 0, -1,  1,  0], dtype=int32), ('2', '10'))
    """
    raw = list(labels)
    present = {label for label in raw if label is not None}
    if "0" in present and list(names) == [str(n) for n in range(1, len(names) + 1)] and str(len(names)) not in present:
        names = {str(int(number) - 1): name for number, name in names.items()}  # the labels count from 0
    order = [number for number in names if number in present] + sorted(present - set(names), key=_numbers_first)
    numbers = {label: number for number, label in enumerate(order)}
    coded = np.fromiter((-1 if label is None else numbers[label] for label in raw), np.int32, len(raw))
    return coded, tuple(storable(names.get(label, label)) for label in order)


def number_label(value: float) -> str:
    """A numeric label as text: ``3.0`` -> ``"3"``."""
    return str(int(value)) if float(value).is_integer() else f"{value:g}"


def _numbers_first(label: str) -> tuple[bool, int, str]:
    whole = label.removeprefix("-").isdecimal()
    return (not whole, int(label) if whole else 0, label)
