"""Bags of words in text files: LDA-C, UCI, DEF, svmlight and Mallet."""

import math
import re
from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from topiary.app.ingest import files
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.readers import matrices
from topiary.app.ingest.source import BLOCK, Array, CountSource, Reader, Rows, TextDocument, TextSource, make_untitled
from topiary.app.ingest.tables import joining
from topiary.engine.contract import Counts


def _is_ldac(path: Path) -> bool:
    """Return whether a file ends in ``.ldac`` or ``.lda-c``, or is a ``.dat`` that begins with ``n word:count ...``."""
    if files.find_suffix(path) in (".ldac", ".lda-c"):
        return True
    first = files.read_start(path).split(b"\n")[0].split()
    return files.find_suffix(path) == ".dat" and len(first) > 1 and first[0].isdigit() and b":" in first[1]


def read_ldac(path: Path, options: ImportOptions) -> CountSource:
    """Return a source that reads the counts in chunks, each time it is iterated."""
    (file, _), *_ = files.find_parts(path, _is_ldac, "LDA-C")
    vocabulary = joining.find_vocabulary(file, options)
    documents = files.count_lines(file)
    base = files.strip_endings(file)
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
    with files.open_file(path) as stream:
        for line, chunk in files.read_chunks(stream, path):
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
    if files.find_suffix(path) not in (".txt", ".dat", ".bow", ""):
        return False
    first = [line.split() for line in files.read_start(path, 200).splitlines()[: _UCI_SIZES + 1]]
    return [len(line) for line in first] == [1, 1, 1, 3] and all(each.isdigit() for line in first for each in line)


def read_uci(path: Path, options: ImportOptions) -> CountSource:
    """Return a source that reads the counts in chunks, each time it is iterated."""
    (file, _), *_ = files.find_parts(path, _is_uci, "UCI bag-of-words")
    header = _read_uci_header(file)
    matrices.check_declared_sizes(header.documents, header.cells, file, 1)
    base = files.strip_endings(file)
    own_vocabulary = (base.replace("docword", "vocab") + ".txt",) if "docword" in base else ()
    vocabulary = joining.find_vocabulary(file, options, own_vocabulary)
    joining.check_size(*vocabulary, file, header.words)
    titles = _read_uci_titles(file, header.documents)
    return _make_source(file, vocabulary, header.documents, lambda: _read_uci_blocks(file, header, titles))


def _read_uci_header(path: Path) -> UciHeader:
    """Return the sizes in the first three lines of a file."""
    sizes = []
    with files.open_file(path) as stream:  # read as bytes, like the counts that follow
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
    base = files.strip_endings(path).replace("docword", "titles")
    lines = joining.read_column(path, (f"{base}.tsv", f"{base}.txt"), documents) if "titles" in base else None
    return None if lines is None else [line.rpartition("\t")[2] for line in lines]


def _read_uci_blocks(path: Path, header: UciHeader, titles: list[str] | None) -> Iterator[Rows]:
    """Yield documents as soon as they are complete; the lines of the file must be in the order of documents."""
    done, n_cells = 0, 0
    pending = np.empty((0, 3), np.int64)
    with files.open_file(path) as stream:
        for _ in range(_UCI_SIZES):
            stream.readline()
        for line, chunk in files.read_chunks(stream, path, _UCI_SIZES + 1):
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
    if files.find_suffix(path) != ".dat":
        return False
    first = [line.split() for line in files.read_start(path).split(b"\n")[:3]]
    return [len(line) for line in first[:2]] == [2, 2] and all(word.isdigit() for line in first[:2] for word in line)


def read_def(path: Path, options: ImportOptions) -> CountSource:
    """Return a source that reads the counts in chunks; words are numbered from 0, and the vocabulary may be longer."""
    (file, _), *_ = files.find_parts(path, _is_def, "DEF")
    documents, n_words = _parse_two(next(files.read_lines(file), (1, ""))[1], file, 1)
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
    lines = files.read_lines(path)
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


_is_svmlight = files.match_endings(".svmlight", ".libsvm", ".svm", ".feat")


def read_svmlight(path: Path, options: ImportOptions) -> CountSource:
    """Read all documents into memory; word numbers start from 1, or from 0 if a 0 occurs, and may be in any order."""
    parts = files.find_parts(path, _is_svmlight, "svmlight")
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
    part, titles = files.number_documents(parts, [len(cells.heads) for cells in loaded])
    understood = {"vocabulary": vocabulary_path.name}
    return matrices.make_count_source(path, words, counts, titles, labels, part=part, understood=understood)


def _load_svmlight(path: Path) -> matrices.PairCells:
    """Return the cells of all documents of a file."""
    pieces = []
    with files.open_file(path) as stream:
        for line, chunk in files.read_chunks(stream, path):
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


_is_mallet = files.match_endings(".mallet")


def read_mallet(path: Path, options: ImportOptions) -> TextSource:
    """Return a source whose documents are the lines of MALLET files."""
    parts = files.find_parts(path, _is_mallet, "MALLET", several=True)
    first = parts[0].path
    if files.read_start(first, 4) == _SERIALISED:
        cause = "holds instances that MALLET has saved, which only MALLET reads"
        raise IngestError(first, f"{cause}; give the file of lines that they were made of")
    sample = [text for _, text in islice(files.read_lines(first, options.encoding), _SAMPLE) if text.strip()]
    if not sample:
        raise IngestError(first, "has no documents; give a file with 'name label text' on each line")
    tabs = all(text.count("\t") >= 2 for text in sample)
    paths = [part.path for part in parts]
    return TextSource(
        where=str(path),
        documents=lambda: _read_mallet_documents(parts, options.encoding, tabs=tabs),
        classes=joining.read_class_names(first, options.encoding),
        notes=files.note_guesses(paths, options.encoding),
        understood=files.describe_encoding(first, options.encoding) | {"separator": "tab" if tabs else "blank"},
    )


def _read_mallet_documents(parts: list[files.Part], encoding: str, *, tabs: bool) -> Iterator[TextDocument]:
    """Yield a document for each line that is not blank; with ``tabs``, they separate name, label and text."""
    for path, part in parts:
        for line, text in files.read_lines(path, encoding):
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
READERS = (
    Reader("ldac", _LDAC_FILES, ("vocabulary",), files.make_recogniser(_is_ldac, single=True), read_ldac),
    Reader("uci", _UCI_FILES, ("vocabulary",), files.make_recogniser(_is_uci, single=True), read_uci),
    Reader("def", _DEF_FILES, ("vocabulary",), files.make_recogniser(_is_def, single=True), read_def),
    Reader("svmlight", _SVMLIGHT_FILES, ("vocabulary",), files.make_recogniser(_is_svmlight), read_svmlight),
    Reader("mallet", _MALLET_FILES, ("token_pattern",), files.make_recogniser(_is_mallet), read_mallet),
)
