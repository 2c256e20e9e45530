"""Readers of counts in text files: LDA-C, UCI, DEF, svmlight, Mallet, OCTIS, TopMost, and lists of words and counts."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from topiary.app.ingest import packing
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.readers import counts_arrays, matrices
from topiary.app.ingest.source import (
    BLOCK,
    LEFT_OUT,
    Array,
    CountSource,
    Reader,
    Rows,
    TextDocument,
    TextSource,
    make_untitled,
)
from topiary.app.ingest.tables import joining, sniff
from topiary.app.ingest.tables.roles import PARTS
from topiary.app.ingest.tables.sniff import read_entry
from topiary.app.ingest.text import languages
from topiary.app.ingest.vectorise import CountFile
from topiary.engine.contract import TEST, TRAIN, Counts


def _is_ldac(path: Path) -> bool:
    """Return whether a file ends in ``.ldac`` or ``.lda-c``, or is a ``.dat`` that begins with ``n word:count ...``."""
    if packing.find_suffix(path) in (".ldac", ".lda-c"):
        return True
    first = sniff.look_at(path).raw.split(b"\n", 1)[0].split()
    return packing.find_suffix(path) == ".dat" and len(first) > 1 and first[0].isdigit() and b":" in first[1]


def read_ldac(path: Path, options: ImportOptions) -> CountSource:
    """Return a source that reads the counts in chunks, each time it is iterated."""
    (file, _), *_ = packing.find_parts(path, _is_ldac, "LDA-C")
    vocabulary = joining.find_vocabulary(file, options)
    documents = packing.count_lines(file)
    base = packing.strip_endings(file)
    titles = joining.read_column(file, (f"{base}.titles", f"{base}.titles.txt"), documents, options.encoding)
    titles = _strip_numbers(titles)
    return _make_source(file, vocabulary, documents, lambda: _read_ldac_blocks(file, len(vocabulary[1]), titles))


def _make_source(
    file: Path, vocabulary: tuple[Path, tuple[str, ...]], documents: int, blocks: Callable[[], Iterator[Rows]]
) -> CountSource:
    """Return a source of a file that is read in chunks, with the vocabulary of another file."""
    path, words = vocabulary
    return CountSource(
        where=str(file), vocabulary=words, blocks=blocks, n_documents=documents, understood={"vocabulary": path.name}
    )


def _strip_numbers(titles: list[str] | None) -> list[str] | None:
    """Return titles without the number of their document, if all titles begin with it."""
    if titles is None or not all(title.startswith(f"{n} ") for n, title in enumerate(titles)):
        return titles
    return [title.partition(" ")[2].strip() for title in titles]


def _read_ldac_blocks(path: Path, n_words: int, titles: list[str] | None) -> Iterator[Rows]:
    """Yield the documents of an LDA-C file in chunks."""
    with packing.open_file(path) as stream:
        for line, chunk in packing.read_chunks(stream, path):
            if not chunk.strip():
                continue
            cells = matrices.parse_pairs(chunk, path, line)
            _check_ldac(cells, n_words, path, line)
            counts = Counts.of(cells.lengths, cells.indices, cells.values)
            rows = make_untitled(matrices.tidy_counts(counts, n_words, path), line)
            yield rows if titles is None else rows._replace(titles=titles[line - 1 : line - 1 + len(cells.heads)])


def _check_ldac(cells: matrices.PairCells, n_words: int, path: Path, line: int) -> None:
    """Raise an error if the number of words at the head of a line is wrong, or a word number or count is not valid."""
    wrong = cells.heads != cells.lengths
    if wrong.any():
        index = int(np.argmax(wrong))
        cause = f"says that it has {cells.heads[index]} words, but has {cells.lengths[index]}"
        raise IngestError(path, cause, line + index)
    matrices.check_cells(cells, (0, n_words - 1), path, line)


_UCI_SIZES = 3  # lines with sizes at the beginning of a UCI file


class UciHeader(NamedTuple):
    """The sizes in the first three lines of a UCI file."""

    documents: int
    words: int
    cells: int


def _is_uci(path: Path) -> bool:
    """Return whether the first three lines of a file have one number each, and the fourth has three."""
    if packing.find_suffix(path) not in (".txt", ".dat", ".bow", ""):
        return False
    first = [line.split() for line in sniff.look_at(path).raw[:200].splitlines()[: _UCI_SIZES + 1]]
    return [len(line) for line in first] == [1, 1, 1, 3] and all(each.isdigit() for line in first for each in line)


def read_uci(path: Path, options: ImportOptions) -> CountSource:
    """Return a source that reads the counts in chunks, each time it is iterated."""
    (file, _), *_ = packing.find_parts(path, _is_uci, "UCI bag-of-words")
    header = _read_uci_header(file)
    matrices.check_declared_sizes(header.documents, header.cells, file, 1)
    base = packing.strip_endings(file)
    own_vocabulary = (base.replace("docword", "vocab") + ".txt",) if "docword" in base else ()
    vocabulary = joining.find_vocabulary(file, options, own_vocabulary)
    joining.check_size(*vocabulary, file, header.words)
    titles = _read_uci_titles(file, header.documents)
    return _make_source(file, vocabulary, header.documents, lambda: _read_uci_blocks(file, header, titles))


def _read_uci_header(path: Path) -> UciHeader:
    """Return the sizes in the first three lines of a file."""
    sizes = []
    with packing.open_file(path) as stream:  # read as bytes, like the counts that follow
        for number, raw in enumerate(islice(stream, _UCI_SIZES), 1):
            line = raw.decode("latin-1").strip()
            size = matrices.parse_size(line)
            if size is None:
                cause = f"{line[:40]!r} is not the number of documents, words or entries, up to {matrices.LARGEST:,}"
                raise IngestError(path, cause, number)
            sizes.append(size)
    if len(sizes) < _UCI_SIZES:
        raise IngestError(path, "ends before its three lines of sizes", len(sizes) + 1)
    return UciHeader(*sizes)


def _read_uci_titles(path: Path, documents: int) -> list[str] | None:
    """Return the titles in the last column of a file next to ``docword.NAME``; None without such a file."""
    base = packing.strip_endings(path).replace("docword", "titles")
    lines = joining.read_column(path, (f"{base}.tsv", f"{base}.txt"), documents) if "titles" in base else None
    return None if lines is None else [line.rpartition("\t")[2] for line in lines]


def _read_uci_blocks(path: Path, header: UciHeader, titles: list[str] | None) -> Iterator[Rows]:
    """Yield documents as soon as they are complete; the lines of the file must be in the order of documents."""
    done, n_cells = 0, 0
    pending = np.empty((0, 3), np.int64)
    with packing.open_file(path) as stream:
        for _ in range(_UCI_SIZES):
            stream.readline()
        for line, chunk in packing.read_chunks(stream, path, _UCI_SIZES + 1):
            table = matrices.parse_table(chunk, 3, path, line)
            matrices.check_table(table, (header.documents, header.words), path, line)
            _check_order(table, pending, path, line)
            n_cells += len(table)
            pending = np.concatenate([pending, table])
            last = int(pending[-1, 0]) - 1 if len(pending) else done
            split = int(np.searchsorted(pending[:, 0], last, side="right"))
            yield _make_uci_rows(path, pending[:split], done, last, header.words, titles)
            pending, done = pending[split:], last
    if n_cells != header.cells:
        raise IngestError(path, f"has {n_cells:,} entries, but its third line promises {header.cells:,}", _UCI_SIZES)
    yield _make_uci_rows(path, pending, done, header.documents, header.words, titles)


def _check_order(table: Array, previous: Array, path: Path, line: int) -> None:
    """Raise an error if the numbers of documents decrease from line to line."""
    steps = np.diff(table[:, 0], prepend=previous[-1:, 0] if len(previous) else table[:1, 0])
    if (steps < 0).any():
        index = int(np.argmax(steps < 0))
        cause = f"document {table[index, 0]} comes after a later one; sort the file by document"
        raise IngestError(path, cause, line + index)


def _make_uci_rows(path: Path, table: Array, start: int, stop: int, n_words: int, titles: list[str] | None) -> Rows:
    """Return documents ``start:stop`` (from 0), given the table of their lines."""
    lengths = np.bincount(table[:, 0] - 1 - start, minlength=stop - start)
    counts = Counts.of(lengths, table[:, 1] - 1, table[:, 2])
    rows = make_untitled(matrices.tidy_counts(counts, n_words, path), start + 1)
    return rows if titles is None else rows._replace(titles=titles[start:stop])


def _is_def(path: Path) -> bool:
    """Return whether a file is a ``.dat`` whose first two lines have two numbers each."""
    if packing.find_suffix(path) != ".dat":
        return False
    first = [line.split() for line in sniff.look_at(path).raw.split(b"\n", 3)[:3]]
    return [len(line) for line in first[:2]] == [2, 2] and all(word.isdigit() for line in first[:2] for word in line)


def read_def(path: Path, options: ImportOptions) -> CountSource:
    """Return a source that reads the counts in chunks; words are numbered from 0, and the vocabulary may be longer."""
    (file, _), *_ = packing.find_parts(path, _is_def, "DEF")
    documents, n_words = _parse_two(next(packing.read_lines(file), (1, ""))[1], file, 1)
    vocabulary = joining.find_vocabulary(file, options)
    if len(vocabulary[1]) < n_words:
        joining.check_size(*vocabulary, file, n_words)
    return _make_source(file, vocabulary, documents, lambda: _read_def_blocks(file, documents, len(vocabulary[1])))


def _parse_two(text: str, path: Path, line: int) -> tuple[int, int]:
    """Return the two whole numbers of a line."""
    fields = text.split()
    sizes = [size for field in fields if (size := matrices.parse_size(field)) is not None]
    if len(fields) != 2 or len(sizes) != 2:
        raise IngestError(path, f"{text[:40]!r} should be two whole numbers up to {matrices.LARGEST:,}", line)
    return sizes[0], sizes[1]


def _read_def_blocks(path: Path, documents: int, n_words: int) -> Iterator[Rows]:
    """Yield the documents of a DEF file in blocks; each has a line with its length and one with its words."""
    lengths: list[int] = []
    bodies: list[Array] = []
    done = 0
    lines = packing.read_lines(path)
    next(lines)
    for line, text in lines:
        if not text.strip() and done + len(lengths) == documents:
            continue
        _, length = _parse_two(text, path, line)
        lengths.append(length)
        bodies.append(_parse_body(next(lines, (line + 1, ""))[1], length, path, line + 1, n_words))
        if len(lengths) == BLOCK:
            yield _make_def_rows(path, lengths, bodies, n_words, done)
            done += len(lengths)
            lengths, bodies = [], []
    yield _make_def_rows(path, lengths, bodies, n_words, done)
    if done + len(lengths) != documents:
        raise IngestError(path, f"promises {documents:,} documents, but has {done + len(lengths):,}", 1)


def _parse_body(text: str, length: int, path: Path, line: int, n_words: int) -> Array:
    """Return the pairs of word number and count, (length, 2), in the second line of a document."""
    numbers = matrices.parse_numbers(text.encode("latin-1", "replace"), whole=True)
    if numbers is None or len(numbers) != 2 * length:
        raise IngestError(path, f"should be {length:,} pairs 'word count' of whole numbers", line)
    cells = matrices.PairCells(numbers[:1], np.array([length]), numbers[0::2], numbers[1::2])
    matrices.check_cells(cells, (0, n_words - 1), path, line)
    return numbers.reshape(-1, 2)


def _make_def_rows(path: Path, lengths: list[int], bodies: list[Array], n_words: int, done: int) -> Rows:
    """Return a block of documents, given the pairs of each; ``done`` is the number of documents before them."""
    cells = np.concatenate([np.empty((0, 2), np.int64), *bodies])
    counts = Counts.of(np.array(lengths, np.int64), cells[:, 0], cells[:, 1])
    return make_untitled(matrices.tidy_counts(counts, n_words, path), done + 1)


_is_svmlight = packing.match_endings(".svmlight", ".libsvm", ".svm", ".feat")


def read_svmlight(path: Path, options: ImportOptions) -> CountSource:
    """Read all documents into memory; word numbers start from 1, or from 0 if a 0 occurs, and may be in any order."""
    parts = packing.find_parts(path, _is_svmlight, "svmlight")
    loaded = [_load_svmlight(part.path) for part in parts]
    vocabulary_path, words = joining.find_vocabulary(parts[0].path, options)
    base = 0 if any((cells.indices == 0).any() for cells in loaded) else 1
    for file, cells in zip(parts, loaded, strict=True):
        matrices.check_cells(cells, (base, len(words) - 1 + base), file.path, 1)
    whole = all(matrices.is_whole(cells.values) for cells in loaded)
    lengths = np.concatenate([cells.lengths for cells in loaded])
    indices = np.concatenate([cells.indices for cells in loaded]).astype(np.int32) - base
    values = np.concatenate([cells.values for cells in loaded])
    counts = matrices.tidy_counts(Counts.of(lengths, indices, values), len(words), path, whole=whole)
    heads = chain.from_iterable(cells.heads.tolist() for cells in loaded)
    label_texts = (None if math.isnan(head) else joining.write_label(head) for head in heads)
    labels = joining.encode_labels(label_texts, joining.read_class_names(vocabulary_path))
    part, titles = packing.number_documents(parts, [len(cells.heads) for cells in loaded])
    understood = {"vocabulary": vocabulary_path.name}
    return matrices.make_count_source(path, words, counts, titles, labels, part=part, understood=understood)


def _load_svmlight(path: Path) -> matrices.PairCells:
    """Return the cells of all documents of a file."""
    pieces = []
    with packing.open_file(path) as stream:
        for line, chunk in packing.read_chunks(stream, path):
            if chunk.strip():
                pieces.append(_parse_svmlight(chunk, path, line))
    if not pieces:
        raise IngestError(path, "is empty")
    return matrices.PairCells(*(np.concatenate(arrays) for arrays in zip(*pieces, strict=True)))


def _parse_svmlight(chunk: bytes, path: Path, line: int) -> matrices.PairCells:
    """Return the cells of some lines, parsed as whole numbers if possible (ten times as fast), else as real ones."""
    whole = b"." not in chunk and b"e" not in chunk
    return matrices.parse_pairs(chunk, path, line, whole=whole, headless=True)


_MALLET_LINE = re.compile(r"(\S*)[\s,]*(\S*)[\s,]*(.*)", re.DOTALL)  # MALLET's default
_SERIALISED = b"\xac\xed\x00\x05"  # first bytes of objects that Java has saved
_SAMPLE = 200  # lines from which the separator is recognised


_is_mallet = packing.match_endings(".mallet")


def read_mallet(path: Path, options: ImportOptions) -> TextSource:
    """Return a source whose documents are the lines of MALLET files."""
    parts = packing.find_parts(path, _is_mallet, "MALLET", several=True)
    first = parts[0].path
    if sniff.look_at(first).raw.startswith(_SERIALISED):
        cause = "holds instances that MALLET has saved, which only MALLET reads"
        raise IngestError(first, f"{cause}; give the file of lines that they were made of")
    sample = [text for _, text in islice(packing.read_lines(first, options.encoding), _SAMPLE) if text.strip()]
    if not sample:
        raise IngestError(first, "has no documents; give a file with 'name label text' on each line")
    tabs = all(text.count("\t") >= 2 for text in sample)
    paths = [part.path for part in parts]
    return TextSource(
        where=str(path),
        documents=lambda: _read_mallet_documents(parts, options.encoding, tabs=tabs),
        classes=joining.read_class_names(first, options.encoding),
        notes=packing.note_guesses(paths, options.encoding),
        understood=packing.describe_encoding(first, options.encoding) | {"separator": "tab" if tabs else "blank"},
    )


def _read_mallet_documents(parts: list[packing.Part], encoding: str, *, tabs: bool) -> Iterator[TextDocument]:
    """Yield a document for each line that is not blank; with ``tabs``, they separate name, label and text."""
    for path, part in parts:
        for line, text in packing.read_lines(path, encoding):
            if not text.strip():
                continue
            cells = text.split("\t", 2) if tabs else _split_mallet_line(text)
            if len(cells) != 3:
                raise IngestError(path, "is not 'name <tab> label <tab> text' like the lines before it", line)
            name, label, body = (cell.strip() for cell in cells)
            if not label:
                raise IngestError(path, "has a name, but no label and no text after it", line)
            yield TextDocument(body, name or f"document {line}", label, part)


def _split_mallet_line(text: str) -> list[str]:
    """Return the name, label and text in a line; an empty list if it has another form."""
    match = _MALLET_LINE.fullmatch(text.strip())
    return list(match.groups()) if match else []


_LDAC_FILES = "LDA-C: NAME.ldac or NAME.dat (.gz) with NAME.vocab, NAME.tokens or vocab.txt next to it"
_UCI_FILES = "UCI bag of words: docword.NAME.txt (.gz) with vocab.NAME.txt next to it"
_DEF_FILES = (
    "DEF: NAME.dat (.gz), a line 'documents words', then for each document 'number n' and 'word count word count ...'"
)
_SVMLIGHT_FILES = (
    "svmlight: NAME.svmlight, .libsvm, .svm or .feat (.gz), or a folder with one for training and one for test"
)
_MALLET_FILES = "MALLET: NAME.mallet, one document a line, its name, label and text separated by blanks or tabs"


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
    for line, text in packing.read_lines(file, options.encoding):
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
        matrix = counts_arrays.load_npz(file, vocabulary_path, words)
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
    return [line.strip() for _, line in packing.read_lines(file, encoding)]


def _check_length(folder: Path, name: str, lines: list[str] | None, size: int) -> list[str] | None:
    """Return the lines; refuse them if there is not one for each document."""
    if lines is not None and len(lines) != size:
        raise IngestError(folder / name, f"has {len(lines):,} lines, but there are {size:,} documents")
    return lines


_NGRAM_ENDING = re.compile(r"[-_.]ngrams?([1-9])$", re.IGNORECASE)
_COUNTS_PREFIX = re.compile(r"^(?:wordcounts?|ngrams?[1-9]?)[-_]", re.IGNORECASE)
_LARGEST_COUNT = 2**31 - 1


def read_wordcounts(path: Path, options: ImportOptions) -> CountSource:
    """Read the counts of every file, except for files of pairs or triples of words next to those of single words."""
    if not path.is_dir():
        cause = "is a list of words and counts, which is one document; import the folder of all such files"
        raise IngestError(path, f"{cause}, or name another format with --format")
    notes: list[str] = []
    paths = _list_single_words(sniff.list_files(path, ("wordcounts",)), notes)
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
    notes.extend(packing.note_guesses(paths[:_GUESSED], options.encoding))
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
    sizes = {path: match[1] for path in paths if (match := _NGRAM_ENDING.search(packing.strip_endings(path)))}
    if set(sizes.values()) <= {"1"} or "1" not in sizes.values():
        return paths
    single = [path for path in paths if sizes.get(path, "1") == "1"]
    notes.append(f"{len(paths) - len(single):,} files with counts of several words in a row are left out")
    return single


def _read_bag(path: Path, encoding: str) -> dict[str, int]:
    """Return the words of a file with their counts; repeated words are added."""
    bag: Counter[str] = Counter()
    for line, text in packing.read_lines(path, encoding):
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
            [_COUNTS_PREFIX.sub("", _NGRAM_ENDING.sub("", packing.strip_endings(name))) for name in block_names],
            [""] * len(block_names),
            columns,
        )


_OCTIS_FILES = "OCTIS: a folder with corpus.tsv (text, part and label of a document on each line) and vocabulary.txt"
_TOPMOST_FILES = (
    "TopMost: a folder with vocab.txt and train_bow.npz or train_texts.txt, also test_..., train_labels.txt"
)
_WORDCOUNTS_FILES = "words and counts: a folder of .txt or .csv with 'word <tab> count' on each line, a file a document"
READERS = (
    Reader("ldac", _LDAC_FILES, ("vocabulary",), packing.make_recogniser(_is_ldac, single=True), read_ldac),
    Reader("uci", _UCI_FILES, ("vocabulary",), packing.make_recogniser(_is_uci, single=True), read_uci),
    Reader("def", _DEF_FILES, ("vocabulary",), packing.make_recogniser(_is_def, single=True), read_def),
    Reader("svmlight", _SVMLIGHT_FILES, ("vocabulary",), packing.make_recogniser(_is_svmlight), read_svmlight),
    Reader("mallet", _MALLET_FILES, ("token_pattern",), packing.make_recogniser(_is_mallet), read_mallet),
    Reader("octis", _OCTIS_FILES, ("vocabulary",), recognise_octis, read_octis),
    Reader("topmost", _TOPMOST_FILES, ("vocabulary",), recognise_topmost, read_topmost),
    Reader("wordcounts", _WORDCOUNTS_FILES, (), sniff.recognise_kinds("wordcounts"), read_wordcounts),
)
