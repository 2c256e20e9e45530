"""Readers of counts in matrices and arrays: MatrixMarket, NumPy and SciPy, MATLAB, and images in idx files.

A damaged file of MATLAB can crash the library or fill the memory.  Therefore
``python -P -m topiary.app.ingest.readers.counts_arrays FILE FOLDER`` reads it and saves its arrays by name in the
folder; a refusal goes to standard output, as JSON.
"""

import json
import math
import os
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from scipy import sparse as scipy_sparse

from topiary.app.ingest import packing
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.readers import matrices
from topiary.app.ingest.source import BLOCK, Array, CountSource, Reader, Rows, make_untitled
from topiary.app.ingest.tables import joining, sniff
from topiary.app.machine import build_python_path
from topiary.engine.contract import TEST, TRAIN, Counts

_SHORTEST_ENTRY = len(b"1 1\n")  # bytes of the shortest entry


class MtxHeader(NamedTuple):
    """The facts in the banner and the line of sizes of a MatrixMarket file."""

    pattern: bool
    whole: bool
    rows: int
    columns: int
    cells: int
    line: int  # number of the line of sizes


_is_mtx = packing.match_endings(".mtx", ".mm")


def read_mtx(path: Path, options: ImportOptions) -> CountSource:
    """Read all documents into memory; a matrix of words x documents is transposed."""
    return _read_matrices(path, packing.find_parts(path, _is_mtx, "MatrixMarket"), options, _load_mtx)


def _read_matrices(
    path: Path, parts: list[packing.Part], options: ImportOptions, load: Callable[..., scipy_sparse.csr_matrix]
) -> CountSource:
    """Return the documents of all parts, each read by ``load(path, vocabulary_path, words)``."""
    vocabulary_path, words = joining.find_vocabulary(parts[0].path, options)
    loaded = [load(part.path, vocabulary_path, words) for part in parts]
    whole = all(matrices.is_whole(matrix.data) for matrix in loaded)
    joined = scipy_sparse.vstack(loaded, format="csr") if len(loaded) > 1 else loaded[0]
    sizes = [matrix.shape[0] for matrix in loaded]
    loaded.clear()
    counts = matrices.tidy_matrix(joined, path, whole=whole)
    labels = joining.read_labels(parts, sizes, joining.read_class_names(vocabulary_path), options.encoding)
    part, titles = packing.number_documents(parts, sizes)
    understood = {"vocabulary": vocabulary_path.name}
    return matrices.make_count_source(path, words, counts, titles, labels, part=part, understood=understood)


def _load_mtx(path: Path, vocabulary_path: Path, words: tuple[str, ...]) -> scipy_sparse.csr_matrix:
    """Return the matrix of a MatrixMarket file as documents x words."""
    with packing.open_file(path) as stream:
        header = _read_mtx_header(stream, path)
        rows, columns, values = _read_entries(stream, header, path)
    shape, positions = (header.rows, header.columns), (rows, columns)
    if header.rows == len(words) != header.columns:
        shape, positions = shape[::-1], positions[::-1]
    joining.check_size(vocabulary_path, words, path, shape[1])
    matrices.check_declared_sizes(shape[0], header.cells, path, header.line)
    matrix = scipy_sparse.csr_matrix((values, positions), shape=shape)  # adds up repeated entries, which may overflow
    if header.whole and matrix.data.sum(dtype=np.int64) != values.sum(dtype=np.int64):
        raise IngestError(path, matrices.COUNT_TOO_LARGE)
    return matrix


def _read_mtx_header(stream: BinaryIO, path: Path) -> MtxHeader:
    """Read the banner, comments and line of sizes; raise an error for matrices that are not counts."""
    banner = stream.readline().decode("latin-1").lower().split()
    if banner[:2] != ["%%matrixmarket", "matrix"] or len(banner) != 5:
        raise IngestError(path, "does not begin with '%%MatrixMarket matrix coordinate ... general'", 1)
    layout, field, symmetry = banner[2:]
    if layout != "coordinate" or symmetry != "general" or field not in ("integer", "real", "pattern"):
        cause = f"is a {layout} {field} {symmetry} matrix; counts are 'coordinate' and 'integer', 'real' or 'pattern'"
        raise IngestError(path, f"{cause}, 'general'", 1)
    line, text = 2, stream.readline()
    while text.startswith(b"%") or text.isspace():
        line, text = line + 1, stream.readline()
    fields = text.decode("latin-1").split()
    sizes = [size for each in fields if (size := matrices.parse_size(each)) is not None]
    if len(fields) != 3 or len(sizes) != 3:
        cause = f"should be the line of sizes: documents, words, entries, each up to {matrices.LARGEST:,}"
        raise IngestError(path, cause, line)
    rows, columns, cells = sizes
    return MtxHeader(field == "pattern", field != "real", rows, columns, cells, line)


def _read_entries(stream: BinaryIO, header: MtxHeader, path: Path) -> tuple[Array, Array, Array]:
    """Return the rows, columns (from 0) and values of all entries."""
    capacity = min(header.cells, _limit_entries(path))
    rows, columns = np.empty(capacity, np.int32), np.empty(capacity, np.int32)
    values = np.ones(capacity, np.int32 if header.whole else np.float32)
    filled = 0
    for line, chunk in packing.read_chunks(stream, path, header.line + 1):
        table = matrices.parse_table(chunk, 2 if header.pattern else 3, path, line, whole=header.whole)
        matrices.check_table(table, (header.rows, header.columns), path, line)
        span = slice(filled, filled + len(table))
        filled += len(table)
        if filled > capacity:
            break
        rows[span], columns[span] = table[:, 0] - 1, table[:, 1] - 1
        if not header.pattern:
            values[span] = table[:, 2]
    if filled != header.cells:
        actual = "more" if filled > header.cells else f"{filled:,}"
        raise IngestError(path, f"promises {header.cells:,} entries, but the file has {actual}", header.line)
    return rows, columns, values


def _limit_entries(path: Path) -> int:
    """Return the largest number of entries that a file of this size can have, whatever its header declares."""
    size = path.stat().st_size
    return (packing.limit_unpacked(size) if packing.is_packed(path) else size) // _SHORTEST_ENTRY + 1


# Names of the arrays of a sparse matrix that was saved without SciPy's name of its form.
_COMPRESSED = ("data", "indices", "indptr", "shape")
_PAIRS = ("data", "row", "col", "shape")
_MOST_EMPTY = 10_000_000  # rows or columns without a count that a matrix may have
_EXTRA = ("embedding", "vectors")  # words in the names of files that do not contain counts


def _is_numpy(path: Path) -> bool:
    return packing.find_suffix(path) in (".npz", ".npy") and not any(word in path.name.lower() for word in _EXTRA)


def read_npz(path: Path, options: ImportOptions) -> CountSource:
    """Read all documents into memory; a matrix of words x documents is transposed."""
    return _read_matrices(path, packing.find_parts(path, _is_numpy, "npz or npy"), options, load_npz)


def load_npz(path: Path, vocabulary_path: Path, words: tuple[str, ...]) -> scipy_sparse.csr_matrix:
    """Return the matrix of a file of NumPy or SciPy as documents x words, after checking its positions and values.

    Raises
    ------
    IngestError
        When the file is damaged, contains Python objects, or has no matrix of counts.
    """
    with packing.open_seekable(path) as stream, packing.refuse_damage(path, "file of NumPy", "save or copy it again"):
        try:
            matrix = _check_matrix(_load_arrays(path, stream), path)
        except ValueError as error:
            if "allow_pickle" not in str(error):
                raise
            cause = "has Python objects in it, which could run programs; save numbers only"
            raise IngestError(path, f"{cause}, as scipy.sparse.save_npz and numpy.save do") from None
    matrices.check_values(matrix.data, path, lambda _: None)
    return _turn_to_documents(matrix, path, vocabulary_path, words)


def _turn_to_documents(
    matrix: scipy_sparse.csr_matrix, path: Path, vocabulary_path: Path, words: tuple[str, ...]
) -> scipy_sparse.csr_matrix:
    """Return a matrix as documents x words; the dimension with the vocabulary's length is the words."""
    if matrix.shape[0] == len(words) != matrix.shape[1]:
        matrix = matrix.T.tocsr()
    joining.check_size(vocabulary_path, words, path, matrix.shape[1])
    matrices.check_declared_sizes(matrix.shape[0], matrix.nnz, path, None)
    return matrix


def _load_arrays(path: Path, stream: BinaryIO) -> Any:
    """Return the sparse matrix or the only two-dimensional array of a file."""
    if packing.find_suffix(path) == ".npy":
        return np.load(stream, allow_pickle=False)
    with zipfile.ZipFile(stream) as archive:
        total = sum(info.file_size for info in archive.infolist())
    if total > packing.limit_unpacked(path.stat().st_size):
        raise IngestError(path, "unpacks to far more than a file of its size should; save it again uncompressed")
    stream.seek(0)
    with np.load(stream, allow_pickle=False) as arrays:
        names = set(arrays.files)
        if {"format", "shape"} <= names:
            stream.seek(0)
            return scipy_sparse.load_npz(stream)
        if names.issuperset(_COMPRESSED):
            return scipy_sparse.csr_matrix(tuple(arrays[name] for name in _COMPRESSED[:3]), shape=arrays["shape"])
        if names.issuperset(_PAIRS):
            return scipy_sparse.coo_matrix((arrays["data"], (arrays["row"], arrays["col"])), shape=arrays["shape"])
        tables = [name for name in arrays.files if arrays[name].ndim == 2 and "shape" not in names]
        if len(tables) != 1:
            listed = ", ".join(arrays.files)[:80] or "nothing"
            raise IngestError(path, f"has no sparse matrix and not exactly one table of numbers; it has {listed}")
        return arrays[tables[0]]


def _check_matrix(matrix: Any, path: Path) -> scipy_sparse.csr_matrix:
    """Return a matrix of whole numbers or of real ones, after checking all positions in it."""
    if matrix.ndim != 2:
        raise IngestError(path, f"has an array of {matrix.ndim} dimensions where documents x words should be")
    if matrix.dtype.kind not in "biuf":
        raise IngestError(path, f"has values of the kind {matrix.dtype}, which are no counts; save numbers")
    if scipy_sparse.issparse(matrix):
        if max(matrix.shape) > matrix.nnz + _MOST_EMPTY:  # checked before memory is allocated for each row
            promised = " x ".join(f"{size:,}" for size in matrix.shape)
            raise IngestError(path, f"promises {promised}, but has only {matrix.nnz:,} counts; is it damaged?")
        if not _has_valid_positions(matrix):
            raise IngestError(path, "is a sparse matrix with a place outside of it; save it again")
    return scipy_sparse.csr_matrix(matrix).astype(np.float64 if matrix.dtype.kind == "f" else np.int64)


def _has_valid_positions(matrix: Any) -> bool:
    """Return whether all positions are in the matrix; SciPy checks less, and may write out of bounds for others."""
    if matrix.format == "dia":
        return bool(matrix.data.shape[1] <= matrix.shape[1])
    if matrix.format == "coo":
        return True  # checked when it was made
    rows, columns = matrix.shape if matrix.format != "csc" else matrix.shape[::-1]
    data = matrix.data
    if matrix.format == "bsr":
        rows, columns, data = rows // data.shape[1], columns // data.shape[2], matrix.indices
    return matrices.is_valid_compressed(matrix.indptr, matrix.indices, data, (rows, columns))


IMAGES, LABELS = 0x803, 0x801  # magic numbers: unsigned bytes, three dimensions and one
HALF_BRIGHT = 128  # the least grey value of a bright pixel


def is_idx(path: Path) -> bool:
    """Return whether a file begins with the magic number of idx images."""
    return sniff.look_at(path).raw[:4] == IMAGES.to_bytes(4, "big")


recognise_idx = packing.make_recogniser(is_idx, lambda file: "idx3" in file.name and is_idx(file))


def read_idx(path: Path, options: ImportOptions) -> CountSource:
    """Read images: grey values 0..255 as real numbers, with ``levels`` as counts, with ``binary`` as bright pixels."""
    parts = packing.find_parts(path, is_idx, "idx image")
    images = [_load_idx(part.path, IMAGES) for part in parts]
    shapes = {each.shape[1:] for each in images}
    if len(shapes) > 1:
        raise IngestError(path, f"has images of different sizes: {' and '.join(map(str, sorted(shapes)))}")
    height, width = shapes.pop()
    names = joining.read_class_names(path, options.encoding)
    labels, label_names = joining.encode_labels(_read_image_labels(parts, images), names)
    part, titles = packing.number_documents(parts, [len(each) for each in images])
    return CountSource(
        where=str(path),
        vocabulary=tuple(f"r{row}c{column}" for row in range(1, height + 1) for column in range(1, width + 1)),
        blocks=lambda: _read_image_blocks(images, labels, titles, options),
        n_documents=len(titles),
        label_names=label_names,
        kind="binary" if options.binary else "counts" if options.levels else "real",
        image_shape=(height, width),
        part=part,
    )


def _read_image_blocks(images: list[Array], labels: Array, titles: list[str], options: ImportOptions) -> Iterator[Rows]:
    """Yield blocks of images as documents whose words are pixels."""
    first = 0
    for stack in images:
        for start in range(0, len(stack), BLOCK):
            flat = stack[start : start + BLOCK].reshape(-1, stack[0].size)
            scaled = _scale_pixels(flat, options)
            rows, pixels = np.nonzero(scaled)
            lengths = np.bincount(rows, minlength=len(flat))
            span = slice(first + start, first + start + len(flat))
            counts = Counts.of(lengths, pixels.astype(np.int32), scaled[rows, pixels])
            yield make_untitled(counts, span.start)._replace(labels=labels[span], titles=titles[span])
        first += len(stack)


def _scale_pixels(grey: Array, options: ImportOptions) -> Array:
    """Return the values of pixels that are stored: whole numbers with ``binary`` or ``levels``, else real ones."""
    if options.binary:
        return (grey >= HALF_BRIGHT).astype(np.int32)
    if options.levels:
        return np.rint(grey * (options.levels / 255.0)).astype(np.int32)
    return grey.astype(np.float32)


def _read_image_labels(parts: list[packing.Part], images: list[Array]) -> list[str | None]:
    """Return the label of each image, None for those of files without a file of labels."""
    raw: list[str | None] = []
    for part, stack in zip(parts, images, strict=True):
        name = part.path.name.replace("images", "labels").replace("idx3", "idx1")
        label_file = (
            joining.find_beside(part.path.parent, [packing.strip_packing(name)]) if name != part.path.name else None
        )
        if label_file is None:
            raw += [None] * len(stack)
            continue
        labels = _load_idx(label_file, LABELS)
        if len(labels) != len(stack):
            raise IngestError(label_file, f"has {len(labels):,} labels, but {part.path.name} has {len(stack):,} images")
        raw += [str(label) for label in labels.tolist()]
    return raw


def _load_idx(path: Path, magic: int) -> Array:
    """Return the array of an idx file of unsigned bytes."""
    dimensions = magic & 0xFF
    with packing.open_file(path) as stream:
        header = stream.read(4 * (1 + dimensions))
        if len(header) < 4 * (1 + dimensions) or int.from_bytes(header[:4], "big") != magic:
            raise IngestError(path, f"does not begin with the number {magic} of an idx file of bytes")
        shape = np.frombuffer(header, ">u4", dimensions, 4).tolist()
        if 0 in shape[1:]:
            raise IngestError(path, f"has images of {' x '.join(map(str, shape[1:]))} pixels; is it damaged?")
        n_bytes = math.prod(shape)
        raw = packing.read_up_to(stream, n_bytes)
        extra = stream.read(1)
    if len(raw) != n_bytes or extra:
        actual = "more bytes" if extra else f"{len(raw):,} bytes"
        cause = f"has {actual}, but its head promises {' x '.join(map(str, shape))}"
        raise IngestError(path, f"{cause}; copy or download it again")
    return np.frombuffer(raw, np.uint8).reshape(shape)


_MTX_FILES = "MatrixMarket: NAME.mtx or gensim's NAME.mm with its vocabulary or dictionary, or train.mtx and test.mtx"
_NPZ_FILES = "NumPy: NAME.npz of scipy.sparse.save_npz, or NAME.npy, documents x words, with vocab.txt next to it"
_IDX_FILES = "idx images (MNIST): a folder with *-images-idx3-ubyte and *-labels-idx1-ubyte files (.gz)"

ROOM = 1 << 31  # bytes of memory for any file
ROOM_FOR_EACH = 32  # more bytes of memory for each byte of the file
PATIENCE = 60.0  # seconds for any file
PATIENCE_FOR_EACH = 1e-5  # more seconds for each byte of the file

_OUTPUT = "arrays.npz"
_REFUSED, _NO_MEMORY = 3, 4  # exit statuses


def read_apart(path: Path) -> dict[str, Array]:
    """Return the arrays of `read_arrays`, read in another process.

    Raises
    ------
    IngestError
        If the process refuses the file, crashes, takes too long or needs too much memory.
    """
    with tempfile.TemporaryDirectory(prefix="topiary-apart-") as folder:
        patience = PATIENCE + PATIENCE_FOR_EACH * path.stat().st_size
        try:
            status, refusal = launch_child(path, folder, patience)
        except subprocess.TimeoutExpired:
            cause = f"could not be read within {patience:.0f} seconds, which no sound file of its size takes"
            raise IngestError(path, f"{cause}; save it again") from None
        if status == _REFUSED:
            raise IngestError(path, json.loads(refusal))
        if status == _NO_MEMORY:
            cause = f"needs more than {_limit_memory(path) >> 20:,} MB of memory, which no sound file of its size does"
            raise IngestError(path, f"{cause}; save it again, or a part of it")
        if status != 0:
            raise IngestError(path, "is damaged so badly that reading it ends the program that tries; save it again")
        with np.load(Path(folder, _OUTPUT), allow_pickle=False) as saved:
            return dict(saved)


def pack_texts(strings: Iterable[str]) -> Array:
    """Pack texts into an array of bytes; an array of strings would take the length of the longest for each."""
    return np.frombuffer(json.dumps(list(strings)).encode(), np.uint8)


def unpack_texts(array: Array) -> list[str]:
    """Return the texts packed by `pack_texts`."""
    return list(map(str, json.loads(array.tobytes())))


def launch_child(path: Path, folder: str, patience: float) -> tuple[int, str]:
    """Run the other process; return its exit status and its refusal as JSON, "" if there is none."""
    one_thread = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")  # less memory
    process = subprocess.run(  # noqa: S603 - our own module
        [sys.executable, "-P", "-m", __name__, os.path.abspath(path), folder],  # noqa: PTH100 - keeps links
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": build_python_path()} | one_thread,
        timeout=patience,
        check=False,
        text=True,
        encoding="utf-8",
    )
    return process.returncode, process.stdout


def run_child(path: Path, folder: str) -> tuple[int, str]:
    """Read a file and save its arrays, in the other process; return the exit status and the refusal as JSON."""
    try:
        arrays: dict[str, Any] = read_arrays(path)
        np.savez(Path(folder, _OUTPUT), **arrays)
    except IngestError as error:
        return _REFUSED, json.dumps(error.cause)
    except MemoryError:
        return _NO_MEMORY, ""
    return 0, ""


def limit_process(path: Path) -> None:
    """Limit this process's memory and the size of files it writes by the size of ``path``; disable core dumps."""
    if sys.platform == "win32":  # has no such limits
        return
    import resource

    for kind in (resource.RLIMIT_AS, resource.RLIMIT_FSIZE, resource.RLIMIT_CORE):
        most = 0 if kind == resource.RLIMIT_CORE else _limit_memory(path)
        hard = resource.getrlimit(kind)[1]
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (allowed, hard))


def _limit_memory(path: Path) -> int:
    return ROOM + ROOM_FOR_EACH * path.stat().st_size


def run_command() -> int:
    """Read the file and write to the folder of the command line; return the exit status."""
    path, folder = sys.argv[1:]
    limit_process(Path(path))
    status, refusal = run_child(Path(path), folder)
    sys.stdout.write(refusal)
    return status


TRAINING, OBSERVED, SCORED = "wordsTrain", "wordsHeldout", "wordsTest"
VOCABULARY, NAMES = "vocabulary", "labelsToGroup"
LABEL_ARRAYS = ("labelsTrain", "labelsTest")
PARTS = ("data", "indices", "indptr", "shape")  # attributes of a sparse matrix of documents x words


def read_arrays(path: Path) -> dict[str, Array]:
    """Return the variables of a corpus: matrices in `PARTS` such as ``wordsTrain.data``, packed strings, and labels.

    Raises
    ------
    IngestError
        If the file cannot be read, or a variable is of the wrong kind.
    """
    loaded = _load_matlab(path)
    words = _read_strings(loaded, VOCABULARY, path)
    arrays: dict[str, Array] = {VOCABULARY: pack_texts(words)}
    matrices = [TRAINING, *((OBSERVED, SCORED) if OBSERVED in loaded and SCORED in loaded else ())]
    for name in matrices:
        matrix = _read_matrix(loaded, name, path, len(words))
        arrays |= {f"{name}.{part}": np.asarray(getattr(matrix, part)) for part in PARTS}
    arrays |= {name: _read_label_array(loaded, name, path) for name in LABEL_ARRAYS if name in loaded}
    if NAMES in loaded:
        arrays[NAMES] = pack_texts(_read_strings(loaded, NAMES, path))
    return arrays


def _load_matlab(path: Path) -> dict[str, Any]:
    """Return the variables of a MATLAB file; refuse a file that cannot be read or is not a corpus."""
    from scipy import io  # slow to load
    from scipy.io.matlab import MatReadError

    try:
        with packing.open_seekable(path) as stream:
            variables: dict[str, Any] = io.loadmat(stream, chars_as_strings=True)
    except NotImplementedError:  # raised by scipy for version 7.3, which is HDF5 inside
        raise IngestError(path, "is a MATLAB 7.3 file; save it in MATLAB with -v7 and import that") from None
    except (IngestError, MemoryError):
        raise
    except (MatReadError, OSError, ValueError, TypeError, LookupError, EOFError, zlib.error) as error:
        raise IngestError(path, f"is a MATLAB file that cannot be read ({error})") from None
    except Exception as error:  # noqa: BLE001 - a damaged file can raise anything
        raise IngestError(path, f"is a MATLAB file that cannot be read ({type(error).__name__})") from None
    missing = [name for name in (TRAINING, VOCABULARY) if name not in variables]
    if missing:
        present = ", ".join(name for name in variables if not name.startswith("__")) or "nothing"
        raise IngestError(path, f"has no variable {' and no '.join(missing)}; it has {present}")
    return variables


def _read_matrix(variables: dict[str, Any], name: str, path: Path, n_words: int) -> scipy_sparse.csr_matrix:
    """Return one matrix of counts, transposed from words x documents to documents x words."""
    matrix = _check_numeric(variables, name, path)
    if matrix.ndim != 2 or matrix.shape[0] != n_words:
        size = " x ".join(map(str, matrix.shape))
        cause = f"{name} is {size}, but should have one row for each of the {n_words:,} words of vocabulary"
        raise IngestError(path, cause)
    turned = _turn_matrix(matrix, name, path)
    data = turned.data
    if not np.all((data >= 0) & (data == np.floor(data)) & (data <= matrices.LARGEST)):
        cause = f"{name} has a value that is negative, not whole or above {matrices.LARGEST:,}"
        raise IngestError(path, f"{cause}, so it is not a matrix of counts")
    return turned.astype(np.int32)


def _turn_matrix(matrix: Any, name: str, path: Path) -> scipy_sparse.csr_matrix:
    """Return the matrix as documents x words; check its indices, as SciPy would write outside of its memory."""
    documents, cells = matrix.shape[1], matrix.nnz if scipy_sparse.issparse(matrix) else matrix.size
    if documents > cells + matrices.MOST_WORDLESS:
        raise IngestError(path, f"{name} has {documents:,} documents, but only {cells:,} counts; is it damaged?")
    if scipy_sparse.issparse(matrix):
        matrix = matrix if matrix.format in ("csc", "csr") else matrix.tocsc()
        shape = matrix.shape if matrix.format == "csr" else matrix.shape[::-1]
        if not matrices.is_valid_compressed(matrix.indptr, matrix.indices, matrix.data, shape):
            raise IngestError(path, f"{name} is a sparse matrix with a place outside of it; save the file again")
    return scipy_sparse.csr_matrix(matrix.T)


def _check_numeric(variables: dict[str, Any], name: str, path: Path) -> Any:
    """Return a dense or sparse matrix; refuse one of characters, cells or structures."""
    matrix = variables[name]
    if getattr(getattr(matrix, "dtype", None), "kind", "") not in set("biuf"):
        raise IngestError(path, f"{name} is not a matrix of numbers; save it as one")
    return matrix


def _read_strings(variables: dict[str, Any], name: str, path: Path) -> tuple[str, ...]:
    """Return the strings of a cell array, or of a matrix of characters."""
    texts = []
    for item in np.asarray(variables[name]).ravel():
        value = item.ravel() if isinstance(item, np.ndarray) else [item]
        if len(value) != 1 or not isinstance(value[0], str):
            raise IngestError(path, f"{name} has an item that is not a string")
        texts.append(value[0].strip())
    return tuple(texts)


def _read_label_array(variables: dict[str, Any], name: str, path: Path) -> Array:
    labels = _check_numeric(variables, name, path)
    dense: Array = labels.toarray() if scipy_sparse.issparse(labels) else labels
    return dense.ravel()


_is_matlab = packing.match_endings(".mat")


def read_mat(path: Path, options: ImportOptions) -> CountSource:  # noqa: ARG001 - the signature of every reader
    """Read the training documents, then the test documents with their observed and scored tokens.

    In these files ``wordsHeldout`` are the *observed* tokens of test documents and ``wordsTest`` the *scored* ones;
    the corpus gets their sum, and the scored tokens separately.
    """
    (path, _), *_ = packing.find_parts(path, _is_matlab, "MATLAB")
    if not sniff.look_at(path).raw.startswith(b"MATLAB"):
        raise IngestError(path, "is not a MATLAB file of version 5 or later")
    arrays = read_apart(path)
    words = tuple(unpack_texts(arrays[VOCABULARY]))
    train = _make_csr(arrays, TRAINING)
    has_test = f"{SCORED}.data" in arrays
    part = np.full(train.shape[0], TRAIN, np.int8)
    whole, scored = train, None
    if has_test:
        held_out, observed = _make_csr(arrays, SCORED), _make_csr(arrays, OBSERVED)
        if observed.shape != held_out.shape:
            cause = f"{OBSERVED} has {observed.shape[0]:,} documents, but {SCORED} has {held_out.shape[0]:,}"
            raise IngestError(path, f"{cause}; they must be two parts of the same documents")
        part = np.concatenate([part, np.full(held_out.shape[0], TEST, np.int8)])
        both = observed.astype(np.int64) + held_out
        matrices.check_counts(both.data, path)
        whole = scipy_sparse.vstack([train, both.astype(np.int32)], format="csr")
        no_tokens = scipy_sparse.csr_matrix(train.shape, dtype=held_out.dtype)
        scored = matrices.tidy_matrix(scipy_sparse.vstack([no_tokens, held_out], format="csr"), path)
    counts = matrices.tidy_matrix(whole, path)
    encoded = _join_labels(arrays, path, len(part), train.shape[0])
    titles = [f"train {n + 1}" if n < train.shape[0] else f"test {n - train.shape[0] + 1}" for n in range(len(part))]
    return matrices.make_count_source(
        path, words, counts, titles, encoded, scored=scored, part=part if has_test else None, kind="counts"
    )


def _make_csr(arrays: dict[str, Array], name: str) -> scipy_sparse.csr_matrix:
    data, indices, indptr, shape = (arrays[f"{name}.{part}"] for part in PARTS)
    return scipy_sparse.csr_matrix((data, indices, indptr), shape=tuple(shape.tolist()))


def _join_labels(arrays: dict[str, Array], path: Path, n_documents: int, n_train: int) -> tuple[Array, tuple[str, ...]]:
    """Return the class of each document, training documents first, and the class names."""
    raw = [arrays[name] for name in LABEL_ARRAYS if name in arrays]
    if not raw:
        return np.full(n_documents, -1, np.int32), ()
    if [len(each) for each in raw] != [n_train, n_documents - n_train][: len(raw)] or sum(map(len, raw)) != n_documents:
        raise IngestError(path, "labelsTrain and labelsTest do not have one label for each document")
    names = unpack_texts(arrays[NAMES]) if NAMES in arrays else []
    numbered = {str(number): name for number, name in enumerate(names, 1)}
    return joining.encode_labels((joining.write_label(label) for each in raw for label in each.tolist()), numbered)


_MAT_FILES = "MATLAB: NAME.mat with wordsTrain, vocabulary and, for test documents, wordsHeldout and wordsTest"


READERS = (
    Reader("mtx", _MTX_FILES, ("vocabulary",), packing.make_recogniser(_is_mtx), read_mtx),
    Reader("npz", _NPZ_FILES, ("vocabulary",), packing.make_recogniser(_is_numpy), read_npz),
    Reader("idx", _IDX_FILES, ("levels",), recognise_idx, read_idx),
    Reader("mat", _MAT_FILES, (), packing.make_recogniser(_is_matlab, single=True), read_mat),
)


if __name__ == "__main__":
    sys.exit(run_command())
