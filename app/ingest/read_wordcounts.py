"""Lists of words and counts, a file a document, as JSTOR's Data for Research gives them."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

import numpy as np

from app.ingest import beside, files, languages, text_kinds
from app.ingest.count_file import CountFile, lengths_of
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.source import BLOCK, Array, CountSource, Rows
from app.ingest.text_kinds import read_entry
from engine.contract import Counts

NAME = "wordcounts"
DESCRIPTION = "words and counts: a folder of .txt or .csv with 'word <tab> count' on each line, a file a document"
ACCEPTS: tuple[str, ...] = ()

_GRAMS = re.compile(r"[-_.]ngrams?([1-9])$", re.IGNORECASE)
_BEFORE = re.compile(r"^(?:wordcounts?|ngrams?[1-9]?)[-_]", re.IGNORECASE)
_LARGEST = 2**31 - 1


def recognises(path: Path) -> bool:
    """Recognise a file by the lines of a text, and a folder by most of its files."""
    return text_kinds.find_kind(path) == NAME


def read(path: Path, options: ImportOptions) -> CountSource:
    """Return the counts of every file; of files for single words, pairs and triples those for single words."""
    if not path.is_dir():
        cause = "is a list of words and counts, which is one document; import the folder of all such files"
        raise IngestError(path, f"{cause}, or name another format with --format")
    notes: list[str] = []
    paths = _single_words(text_kinds.list_files(path, (NAME,)), notes)
    words: dict[str, int] = {}
    totals: Counter[int] = Counter()
    found = CountFile(str(path))
    for file in paths:
        bag = _bag(file, options.encoding)
        numbers = [words.setdefault(word, len(words)) for word in bag]
        totals.update(dict(zip(numbers, bag.values(), strict=True)))
        order = np.argsort(np.array(numbers, np.int64))
        values = np.array(list(bag.values()), np.int32)
        found.add(Counts.of(np.array([len(bag)]), np.array(numbers, np.int32)[order], values[order]))
    if not words:
        raise IngestError(path, "has no words in its files")
    names = [PurePosixPath(file.relative_to(path).as_posix()) for file in paths]
    folders = [_label(name) for name in names]
    labels, label_names = beside.encode(folders if len(set(folders)) > 1 else [None] * len(names), {})
    notes.extend(files.guesses(paths[:_GUESSED], options.encoding))
    if options.stop_words is None:
        notes.extend(_about_stop_words(words, totals))
    return CountSource(
        where=str(path),
        vocabulary=tuple(words),
        blocks=lambda: _blocks(found, names, labels),
        n_documents=len(paths),
        label_names=label_names,
        lengths=lengths_of(found),
        notes=notes,
        understood={"files": f"{len(paths):,}"},
    )


_GUESSED = 3  # files whose encoding is named


def _single_words(paths: list[Path], notes: list[str]) -> list[Path]:
    """Return the files for single words, where there are others for pairs and triples."""
    grams = {path: found[1] for path in paths if (found := _GRAMS.search(files.stem(path)))}
    if set(grams.values()) <= {"1"} or "1" not in grams.values():
        return paths
    kept = [path for path in paths if grams.get(path, "1") == "1"]
    notes.append(f"{len(paths) - len(kept):,} files with counts of several words in a row are left out")
    return kept


def _bag(path: Path, encoding: str) -> dict[str, int]:
    bag: Counter[str] = Counter()
    for line, text in files.lines(path, encoding):
        if not text.strip():
            continue
        entry = read_entry(text)
        if entry is None and line > 1:  # the first line may name the columns
            raise IngestError(path, "is not a word and how often it occurs, like the lines before it", line)
        if entry is not None and entry[1] > 0:
            bag[entry[0]] += entry[1]
            if bag[entry[0]] > _LARGEST:
                raise IngestError(
                    path, f"counts {entry[0][:40]!r} more than {_LARGEST:,} times; correct its counts", line
                )
    return bag


def _about_stop_words(words: Mapping[str, int], totals: Counter[int]) -> Iterator[str]:
    """Say that there are stop words among the most frequent words, where there are."""
    most = {number for number, _ in totals.most_common(_LOOKED_AT)}
    stops = [word for word in words if words[word] in most and word.lower() in languages.stop_words("en")]
    if len(stops) >= _FEWEST_STOPS:
        named = ", ".join(stops[:_GUESSED])
        yield f"there are stop words among the counts ({named}); --stop-words english leaves them out"


_LOOKED_AT, _FEWEST_STOPS = 50, 5  # words that are looked at, and stop words among them that are worth a sentence


def _label(name: PurePosixPath) -> str | None:
    """Return the folders of a file, but for that of single words."""
    return "/".join(part for part in name.parts[:-1] if not re.fullmatch(r"ngrams?[1-9]?", part, re.IGNORECASE)) or None


def _title(name: PurePosixPath) -> str:
    return _BEFORE.sub("", _GRAMS.sub("", files.stem(name)))


def _blocks(found: CountFile, names: list[PurePosixPath], labels: Array) -> Iterator[Rows]:
    read = found.reader()
    for begin in range(0, len(names), BLOCK):
        here = names[begin : begin + BLOCK]
        end = begin + len(here)
        columns = [{"file": str(name)} for name in here]
        yield Rows(read(begin, end), labels[begin:end], [_title(name) for name in here], [""] * len(here), columns)
