"""Readers of folders in known layouts: OCTIS, TopMost, WikiExtractor, and lists of words and counts."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import unescape
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from topiary.app.ingest import files, packing
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.readers import arrays, matrices, text_kinds
from topiary.app.ingest.readers.text_kinds import read_entry
from topiary.app.ingest.source import BLOCK, LEFT_OUT, Array, CountSource, Reader, Rows, TextDocument, TextSource
from topiary.app.ingest.tables import joining
from topiary.app.ingest.tables.roles import PARTS
from topiary.app.ingest.text import languages
from topiary.app.ingest.text.cleaning import clean_text
from topiary.app.ingest.vectorise import CountFile
from topiary.engine.contract import TEST, TRAIN, Counts


def count_tokens(texts: Sequence[str], vocabulary: Sequence[str]) -> tuple[Counts, int]:
    """Count the vocabulary's words in texts split at blanks; return the counts and the number of other words.

    >>> counts, others = count_tokens(["tea and tea", ""], ["tea"])
    >>> counts.values.tolist(), others
    ([2], 1)
    """
    numbers = {word: number for number, word in enumerate(vocabulary)}
    lengths, words, values = [], [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    others = 0
    for text in texts:
        tokens = text.split()
        numbers_found = [number for token in tokens if (number := numbers.get(token)) is not None]
        others += len(tokens) - len(numbers_found)
        unique, frequencies = np.unique(np.array(numbers_found, np.int64), return_counts=True)
        lengths.append(len(unique))
        words.append(unique)
        values.append(frequencies)
    counts = Counts.of(np.array(lengths, np.int64), np.concatenate(words), np.concatenate(values))
    return matrices.tidy_counts(counts, len(vocabulary), ""), others


def make_counted_source(
    path: Path,
    vocabulary: tuple[str, ...],
    counts: Counts,
    texts: Sequence[str],
    labels: Sequence[str | None],
    part: Array | None,
    notes: list[str],
) -> CountSource:
    """Return a source of documents whose counts and texts are both known; ``path`` is their folder.

    Raises
    ------
    IngestError
        If there are not as many texts and labels as documents of counts.
    """
    if not counts.n_documents == len(texts) == len(labels):
        cause = f"has {counts.n_documents:,} documents of counts, {len(texts):,} texts and {len(labels):,} labels"
        raise IngestError(path, f"{cause}, which do not belong together")
    encoded = joining.encode_labels(labels, {})
    titles = [_make_title(text) or f"document {number}" for number, text in enumerate(texts, 1)]
    return matrices.make_count_source(
        path, vocabulary, counts, titles, encoded, texts=texts, part=part, notes=notes, kind="counts"
    )


def _make_title(text: str) -> str:
    """Return the first words of a text."""
    words = text.split()
    return " ".join(words[:_TITLE_WORDS]) + (" …" if len(words) > _TITLE_WORDS else "")


_TITLE_WORDS = 8  # words of a text that make its title


_CORPUS = "corpus.tsv"
_TEXT_CELL, _PART_CELL, _LABEL_CELL = range(3)  # positions in a line of corpus.tsv


def recognise_octis(path: Path) -> bool:
    """Recognise a folder with corpus.tsv and vocabulary.txt."""
    return path.is_dir() and _has_file(path, _CORPUS) and _has_file(path, "vocabulary.txt")


def read_octis(path: Path, options: ImportOptions) -> CountSource:
    """Read the texts, split at blanks, and count the words of the vocabulary."""
    file = joining.find_beside(path, [_CORPUS]) if path.is_dir() else None
    if file is None:
        raise IngestError(path, f"is no folder with {_CORPUS} in it; give the folder of the corpus")
    _, words = joining.find_vocabulary(file, options, ["vocabulary.txt"])
    texts: list[str] = []
    labels: list[str | None] = []
    parts: list[int | None] = []
    for line, text in files.read_lines(file, options.encoding):
        if not text.strip():
            continue
        cells = [*text.split("\t"), "", ""]
        text_part = _read_part(cells[_PART_CELL], file, line)
        if text_part != LEFT_OUT:
            texts.append(cells[_TEXT_CELL])
            parts.append(text_part)
            labels.append(cells[_LABEL_CELL].strip() or None)
    counts, others = count_tokens(texts, words)
    notes = [f"{others:,} words of {file.name} are not in the vocabulary and left out"] if others else []
    has_split = TRAIN in parts and TEST in parts
    part = np.array([TRAIN if each is None else each for each in parts], np.int8) if has_split else None
    return make_counted_source(path, words, counts, texts, labels, part, notes)


def _read_part(cell: str, path: Path, line: int) -> int | None:
    name = cell.strip().lower()
    if not name:
        return None
    if name not in PARTS:
        raise IngestError(path, f"the part {cell.strip()[:40]!r} is none of train, val and test", line)
    return PARTS[name]


_TOPMOST_PARTS = {"train": TRAIN, "test": TEST}  # parts by the first word of their file names


def recognise_topmost(path: Path) -> bool:
    """Recognise a folder with a vocabulary and texts or counts of training documents."""
    if not path.is_dir() or not _has_file(path, "vocab.txt"):
        return False
    return _has_file(path, "train_texts.txt") or _has_file(path, "train_bow.npz")


def _has_file(folder: Path, name: str) -> bool:
    return joining.find_beside(folder, [name]) is not None


def read_topmost(path: Path, options: ImportOptions) -> CountSource:
    """Read the counts if the folder has them, else count its texts; the texts are shown with the documents."""
    if not path.is_dir():
        raise IngestError(path, "is a file; give the folder of the corpus, with its vocab.txt")
    vocabulary_path = (
        joining.find_beside(path, ["vocab.txt"]) if options.vocabulary is None else Path(options.vocabulary)
    )
    if vocabulary_path is None:
        raise IngestError(path, "has no vocab.txt in it; put it there, or name one with --vocabulary")
    words = joining.read_words(vocabulary_path, options.encoding)
    notes: list[str] = []
    counts: list[Counts] = []
    texts: list[str] = []
    labels: list[str | None] = []
    sizes: list[int] = []
    for name in _TOPMOST_PARTS:
        if name == "test" and not (_has_file(path, "test_bow.npz") or _has_file(path, "test_texts.txt")):
            continue
        lines = _read_lines(path, f"{name}_texts.txt", options.encoding)
        part_counts = _read_topmost_counts(path, name, vocabulary_path, words, lines, notes)
        size = part_counts.n_documents
        counts.append(part_counts)
        sizes.append(size)
        texts += _check_length(path, f"{name}_texts.txt", lines, size) or [""] * size
        label_lines = _read_lines(path, f"{name}_labels.txt", options.encoding)
        labels += [
            label or None for label in _check_length(path, f"{name}_labels.txt", label_lines, size) or [""] * size
        ]
    part = np.repeat(np.array(list(_TOPMOST_PARTS.values()), np.int8)[: len(sizes)], sizes) if len(sizes) > 1 else None
    return make_counted_source(path, words, matrices.join_counts(counts), texts, labels, part, notes)


def _read_topmost_counts(
    folder: Path, name: str, vocabulary_path: Path, words: tuple[str, ...], lines: list[str] | None, notes: list[str]
) -> Counts:
    """Return the counts of one part, from its matrix if there is one, else from its texts."""
    file = joining.find_beside(folder, [f"{name}_bow.npz"])
    if file is not None:
        matrix = arrays.load_npz(file, vocabulary_path, words)
        return matrices.tidy_matrix(matrix, file, whole=matrices.is_whole(matrix.data))
    if lines is None:
        raise IngestError(folder, f"has neither {name}_bow.npz nor {name}_texts.txt")
    counts, others = count_tokens(lines, words)
    if others:
        notes.append(f"{others:,} words of {name}_texts.txt are not in the vocabulary and left out")
    return counts


def _read_lines(folder: Path, name: str, encoding: str) -> list[str] | None:
    """Return the lines of a file; None if it does not exist."""
    file = joining.find_beside(folder, [name])
    if file is None:
        return None
    return [line.strip() for _, line in files.read_lines(file, encoding)]


def _check_length(folder: Path, name: str, lines: list[str] | None, size: int) -> list[str] | None:
    """Return the lines; refuse them if there is not one for each document."""
    if lines is not None and len(lines) != size:
        raise IngestError(folder / name, f"has {len(lines):,} lines, but there are {size:,} documents")
    return lines


_WIKI_FILE = re.compile(r"wiki_\d+(?:\.json)?")
_DOC_TAG = re.compile(r"<doc\s[^<>]*>")
_ATTRIBUTE = re.compile(r'([a-z]+)="([^"]*)"')
_KEPT_ATTRIBUTES = ("id", "url")  # attributes of an article that become columns


def recognise_wiki(path: Path) -> bool:
    """Recognise a file ``wiki_00`` that begins with an article, and a folder with such files at any depth."""
    if path.is_dir():
        return next(_find_wiki_files(path), None) is not None
    named = _WIKI_FILE.fullmatch(packing.strip_packing(path.name)) is not None
    return named and files.read_start(path).lstrip()[:1] in (b"<", b"{")


def _find_wiki_files(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder, at any depth, that WikiExtractor has written."""
    for file in folder.rglob("wiki_*"):
        if file.is_file() and recognise_wiki(file):
            yield file


def read_wiki(path: Path, options: ImportOptions) -> TextSource:
    """Read the articles; the line of the text that repeats the title is left out."""
    paths = sorted(_find_wiki_files(path)) if path.is_dir() else [path]
    if not paths:
        raise IngestError(path, "has no files wiki_00, wiki_01, ... in it")
    return TextSource(
        where=str(path),
        counted=lambda document: clean_text(f"{document.title}\n{document.text}"),
        documents=lambda: (article for file in paths for article in _read_articles(file, options.encoding)),
        notes=files.note_guesses(paths, options.encoding),
        understood=files.describe_encoding(paths[0], options.encoding) | {"files": f"{len(paths):,}"},
    )


def _read_articles(path: Path, encoding: str) -> Iterator[TextDocument]:
    """Yield the articles of a file, from blocks ``<doc ...>`` or JSON lines."""
    if files.read_start(path).lstrip()[:1] == b"{":
        yield from _read_objects(path, encoding)
        return
    attributes: dict[str, str] | None = None
    lines: list[str] = []
    size = first_line = 0
    for line, text in files.read_lines(path, encoding):
        if attributes is None:
            if text.strip() and not _DOC_TAG.fullmatch(text.strip()):
                raise IngestError(path, "is neither <doc ...> nor within such a block", line)
            if text.strip():
                attributes = {name: unescape(value) for name, value in _ATTRIBUTE.findall(text)}
                lines, size, first_line = [], 0, line
        elif text.strip() == "</doc>":
            yield _make_article(attributes, lines)
            attributes = None
        else:
            lines.append(text)
            size += len(text)
            files.check_length(size, path, first_line)
    if attributes is not None:
        raise IngestError(path, "the block <doc ...> that begins here never ends; copy the file again", first_line)


def _make_article(attributes: dict[str, Any], lines: list[str]) -> TextDocument:
    title = " ".join(str(attributes.get("title") or attributes.get("id") or "article").split())
    body = lines[1:] if lines and lines[0].strip() == title else lines
    columns = {name: str(attributes[name]) for name in _KEPT_ATTRIBUTES if attributes.get(name)}
    return TextDocument(unescape("\n".join(body)).strip(), title, None, None, columns)


def _read_objects(path: Path, encoding: str) -> Iterator[TextDocument]:
    """Yield the articles of a file with a JSON object on each line."""
    for line, text in files.read_lines(path, encoding):
        if not text.strip():
            continue
        try:
            article = json.loads(text)
        except (ValueError, RecursionError):
            raise IngestError(path, "is no JSON object with the title and text of an article", line) from None
        if not isinstance(article, dict) or not isinstance(article.get("text"), str):
            raise IngestError(path, "is no JSON object with the title and text of an article", line)
        yield _make_article(article, article["text"].split("\n"))


_NGRAM_ENDING = re.compile(r"[-_.]ngrams?([1-9])$", re.IGNORECASE)
_COUNTS_PREFIX = re.compile(r"^(?:wordcounts?|ngrams?[1-9]?)[-_]", re.IGNORECASE)
_LARGEST_COUNT = 2**31 - 1


def read_wordcounts(path: Path, options: ImportOptions) -> CountSource:
    """Read the counts of every file, except for files of pairs or triples of words next to those of single words."""
    if not path.is_dir():
        cause = "is a list of words and counts, which is one document; import the folder of all such files"
        raise IngestError(path, f"{cause}, or name another format with --format")
    notes: list[str] = []
    paths = _list_single_words(text_kinds.list_files(path, ("wordcounts",)), notes)
    words: dict[str, int] = {}
    totals: Counter[int] = Counter()
    count_file = CountFile(str(path))
    n_without_letters = 0
    for file in paths:
        read = _read_bag(file, options.encoding)
        bag = {word: count for word, count in read.items() if any(map(str.isalpha, word))}
        n_without_letters += len(read) - len(bag)
        numbers = [words.setdefault(word, len(words)) for word in bag]
        totals.update(dict(zip(numbers, bag.values(), strict=True)))
        order = np.argsort(np.array(numbers, np.int64))
        values = np.array(list(bag.values()), np.int32)
        count_file.add(Counts.of(np.array([len(bag)]), np.array(numbers, np.int32)[order], values[order]))
    if not words:
        raise IngestError(path, "has no words in its files")
    names = [PurePosixPath(file.relative_to(path).as_posix()) for file in paths]
    folders = [_label_file(name) for name in names]
    labels, label_names = joining.encode_labels(folders if len(set(folders)) > 1 else [None] * len(names), {})
    notes.extend(files.note_guesses(paths[:_GUESSED], options.encoding))
    if n_without_letters:
        notes.append(f"{n_without_letters:,} entries without a letter, such as numbers, are left out")
    if options.stop_words is None:
        notes.extend(_note_stop_words(words, totals))
    return CountSource(
        where=str(path),
        vocabulary=tuple(words),
        blocks=lambda: _read_wordcount_blocks(count_file, names, labels),
        n_documents=len(paths),
        label_names=label_names,
        notes=notes,
        understood={"files": f"{len(paths):,}"},
    )


_GUESSED = 3  # files whose encoding is checked for a guess


def _list_single_words(paths: list[Path], notes: list[str]) -> list[Path]:
    """Return the files of single words if there are others for pairs and triples, else all files."""
    sizes = {path: match[1] for path in paths if (match := _NGRAM_ENDING.search(files.strip_endings(path)))}
    if set(sizes.values()) <= {"1"} or "1" not in sizes.values():
        return paths
    single = [path for path in paths if sizes.get(path, "1") == "1"]
    notes.append(f"{len(paths) - len(single):,} files with counts of several words in a row are left out")
    return single


def _read_bag(path: Path, encoding: str) -> dict[str, int]:
    """Return the words of a file with their counts; repeated words are added."""
    bag: Counter[str] = Counter()
    for line, text in files.read_lines(path, encoding):
        if not text.strip():
            continue
        entry = read_entry(text)
        if entry is None and line > 1:  # the first line may name the columns
            raise IngestError(path, "is not a word and how often it occurs, like the lines before it", line)
        if entry is not None and entry[1] > 0:
            bag[entry[0]] += entry[1]
            if bag[entry[0]] > _LARGEST_COUNT:
                cause = f"counts {entry[0][:40]!r} more than {_LARGEST_COUNT:,} times; correct its counts"
                raise IngestError(path, cause, line)
    return bag


def _note_stop_words(words: Mapping[str, int], totals: Counter[int]) -> Iterator[str]:
    """Yield a note if there are stop words among the most frequent words."""
    frequent = {number for number, _ in totals.most_common(_FREQUENT_WORDS)}
    stops = [word for word in words if words[word] in frequent and word.lower() in languages.list_stop_words("en")]
    if len(stops) >= _FEWEST_STOPS:
        examples = ", ".join(stops[:_GUESSED])
        yield f"there are stop words among the counts ({examples}); --stop-words english leaves them out"


_FREQUENT_WORDS, _FEWEST_STOPS = 50, 5  # most frequent words to search, and stop words among them that cause a note


def _label_file(name: PurePosixPath) -> str | None:
    """Return the folders of a file, without one for single words, as its label; None if there are none."""
    return "/".join(part for part in name.parts[:-1] if not re.fullmatch(r"ngrams?[1-9]?", part, re.IGNORECASE)) or None


def _title_file(name: PurePosixPath) -> str:
    """Return the name of a file without endings and without markers such as ``wordcounts-``."""
    return _COUNTS_PREFIX.sub("", _NGRAM_ENDING.sub("", files.strip_endings(name)))


def _read_wordcount_blocks(count_file: CountFile, names: list[PurePosixPath], labels: Array) -> Iterator[Rows]:
    """Yield the counted files in blocks."""
    read = count_file.reader()
    for start in range(0, len(names), BLOCK):
        block_names = names[start : start + BLOCK]
        end = start + len(block_names)
        columns = [{"file": str(name)} for name in block_names]
        yield Rows(
            read(start, end),
            labels[start:end],
            [_title_file(name) for name in block_names],
            [""] * len(block_names),
            columns,
        )


_OCTIS_FILES = "OCTIS: a folder with corpus.tsv (text, part and label of a document on each line) and vocabulary.txt"
_TOPMOST_FILES = (
    "TopMost: a folder with vocab.txt and train_bow.npz or train_texts.txt, also test_..., train_labels.txt"
)
_WIKI_FILES = "WikiExtractor: a folder of AA/wiki_00, AB/wiki_01, ..., with <doc> blocks or a JSON object a line"
_WORDCOUNTS_FILES = "words and counts: a folder of .txt or .csv with 'word <tab> count' on each line, a file a document"
READERS = (
    Reader("octis", _OCTIS_FILES, ("vocabulary",), recognise_octis, read_octis),
    Reader("topmost", _TOPMOST_FILES, ("vocabulary",), recognise_topmost, read_topmost),
    Reader("wiki", _WIKI_FILES, ("token_pattern",), recognise_wiki, read_wiki),
    Reader("wordcounts", _WORDCOUNTS_FILES, (), text_kinds.recognise_kinds("wordcounts"), read_wordcounts),
)
