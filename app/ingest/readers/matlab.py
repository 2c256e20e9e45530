"""MATLAB files of the deep topic model papers, read in a process of their own.

A damaged file can crash the library, or fill the memory, so that ``python -P -m app.ingest.readers.matlab FILE FOLDER``
reads it and saves its arrays, by name, in the folder; a refusal goes to standard output, as JSON.
"""

import json
import os
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import io
from scipy import sparse as scipy_sparse
from scipy.io.matlab import MatReadError

from app.ingest import files
from app.ingest.errors import IngestError
from app.ingest.files import open_seekable, read_start
from app.ingest.options import ImportOptions
from app.ingest.readers import matrices
from app.ingest.readers.matrices import LARGEST, MOST_WORDLESS, is_valid_compressed
from app.ingest.source import Array, CountSource, Reader
from app.ingest.tables import joining
from engine.contract import TEST, TRAIN

ROOM = 1 << 31  # bytes of memory for any file,
ROOM_FOR_EACH = 32  # and for each byte of it
PATIENCE = 60.0  # seconds for any file,
PATIENCE_FOR_EACH = 1e-5  # and for each byte of it

_ROOT = Path(__file__).parents[3]
_OUT = "arrays.npz"
_REFUSED, _NO_MEMORY = 3, 4


def read_apart(path: Path) -> dict[str, Array]:
    """Return the arrays that another process reads from a file, as `read_arrays`.

    Raises
    ------
    IngestError
        What it refuses, and when it crashes, takes too long or needs too much memory.
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
        with np.load(Path(folder, _OUT), allow_pickle=False) as saved:
            return dict(saved)


def pack_texts(strings: Iterable[str]) -> Array:
    """Pack texts in an array of bytes: one of strings would give every text as much room as the longest."""
    return np.frombuffer(json.dumps(list(strings)).encode(), np.uint8)


def unpack_texts(array: Array) -> list[str]:
    """Return the texts of `pack_texts`."""
    return list(map(str, json.loads(array.tobytes())))


def launch_child(path: Path, folder: str, patience: float) -> tuple[int, str]:
    """Run the other process; its exit status, and what it refused."""
    paths = [str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    one_thread = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")  # less room
    done = subprocess.run(  # noqa: S603 - our own module
        [sys.executable, "-P", "-m", __name__, os.path.abspath(path), folder],  # noqa: PTH100 - keeps links
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)} | one_thread,
        timeout=patience,
        check=False,
        text=True,
        encoding="utf-8",
    )
    return done.returncode, done.stdout


def run_child(path: Path, folder: str) -> tuple[int, str]:
    """Read and save in the other process; return its exit status, and what it refused."""
    try:
        found: dict[str, Any] = read_arrays(path)
        np.savez(Path(folder, _OUT), **found)
    except IngestError as error:
        return _REFUSED, json.dumps(error.cause)
    except MemoryError:
        return _NO_MEMORY, ""
    return 0, ""


def limit_process(path: Path) -> None:
    """Bound the memory of this process, and what it writes, by the size of a file; leave no image of a crash."""
    if sys.platform == "win32":  # has no such bounds
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
    """Do what the command line says."""
    path, folder = sys.argv[1:]
    limit_process(Path(path))
    status, refusal = run_child(Path(path), folder)
    sys.stdout.write(refusal)
    return status


TRAINING, OBSERVED, SCORED = "wordsTrain", "wordsHeldout", "wordsTest"
VOCABULARY, NAMES = "vocabulary", "labelsToGroup"
LABELS = ("labelsTrain", "labelsTest")
PARTS = ("data", "indices", "indptr", "shape")  # of a matrix, as documents x words


def read_arrays(path: Path) -> dict[str, Array]:
    """Return the variables of a corpus: matrices in their `PARTS`, ``wordsTrain.data``, and lists of strings, labels.

    Raises
    ------
    IngestError
        When the file cannot be read, or one of its variables is of the wrong kind.
    """
    loaded = _load_matlab(path)
    words = _read_strings(loaded, VOCABULARY, path)
    found: dict[str, Array] = {VOCABULARY: pack_texts(words)}
    matrices = [TRAINING, *((OBSERVED, SCORED) if OBSERVED in loaded and SCORED in loaded else ())]
    for name in matrices:
        matrix = _read_matrix(loaded, name, path, len(words))
        found |= {f"{name}.{part}": np.asarray(getattr(matrix, part)) for part in PARTS}
    found |= {name: _read_label_array(loaded, name, path) for name in LABELS if name in loaded}
    if NAMES in loaded:
        found[NAMES] = pack_texts(_read_strings(loaded, NAMES, path))
    return found


def _load_matlab(path: Path) -> dict[str, Any]:
    if read_start(path, 6) != b"MATLAB":
        raise IngestError(path, "is not a MATLAB file of version 5 or later")
    try:
        with open_seekable(path) as stream:
            found: dict[str, Any] = io.loadmat(stream, chars_as_strings=True)
    except NotImplementedError:  # how scipy says that the file is of 7.3, which is HDF5 inside
        raise IngestError(path, "is a MATLAB 7.3 file; save it in MATLAB with -v7 and import that") from None
    except (IngestError, MemoryError):
        raise
    except (MatReadError, OSError, ValueError, TypeError, LookupError, EOFError, zlib.error) as error:
        raise IngestError(path, f"is a MATLAB file that cannot be read ({error})") from None
    except Exception as error:  # noqa: BLE001 - a damaged file can raise anything
        raise IngestError(path, f"is a MATLAB file that cannot be read ({type(error).__name__})") from None
    missing = [name for name in (TRAINING, VOCABULARY) if name not in found]
    if missing:
        present = ", ".join(name for name in found if not name.startswith("__")) or "nothing"
        raise IngestError(path, f"has no variable {' and no '.join(missing)}; it has {present}")
    return found


def _read_matrix(found: dict[str, Any], name: str, path: Path, n_words: int) -> scipy_sparse.csr_matrix:
    """Return one matrix of words x documents, turned to documents x words."""
    matrix = _check_numeric(found, name, path)
    if matrix.ndim != 2 or matrix.shape[0] != n_words:
        size = " x ".join(map(str, matrix.shape))
        cause = f"{name} is {size}, but should have one row for each of the {n_words:,} words of vocabulary"
        raise IngestError(path, cause)
    turned = _turn_matrix(matrix, name, path)
    data = turned.data
    if not np.all((data >= 0) & (data == np.floor(data)) & (data <= LARGEST)):
        cause = f"{name} has a value that is negative, not whole or above {LARGEST:,}"
        raise IngestError(path, f"{cause}, so it is not a matrix of counts")
    return turned.astype(np.int32)


def _turn_matrix(matrix: Any, name: str, path: Path) -> scipy_sparse.csr_matrix:
    """Return the matrix as documents x words, its places checked: SciPy would write beyond its memory otherwise."""
    documents, cells = matrix.shape[1], matrix.nnz if scipy_sparse.issparse(matrix) else matrix.size
    if documents > cells + MOST_WORDLESS:
        raise IngestError(path, f"{name} has {documents:,} documents, but only {cells:,} counts; is it damaged?")
    if scipy_sparse.issparse(matrix):
        matrix = matrix if matrix.format in ("csc", "csr") else matrix.tocsc()
        shape = matrix.shape if matrix.format == "csr" else matrix.shape[::-1]
        if not is_valid_compressed(matrix.indptr, matrix.indices, matrix.data, shape):
            raise IngestError(path, f"{name} is a sparse matrix with a place outside of it; save the file again")
    return scipy_sparse.csr_matrix(matrix.T)


def _check_numeric(found: dict[str, Any], name: str, path: Path) -> Any:
    """Return a matrix, dense or sparse, checked to hold numbers and not characters, cells or structures."""
    matrix = found[name]
    if getattr(getattr(matrix, "dtype", None), "kind", "") not in set("biuf"):
        raise IngestError(path, f"{name} is not a matrix of numbers; save it as one")
    return matrix


def _read_strings(found: dict[str, Any], name: str, path: Path) -> tuple[str, ...]:
    """Return a cell array of strings, or a matrix of characters."""
    texts = []
    for item in np.asarray(found[name]).ravel():
        value = item.ravel() if isinstance(item, np.ndarray) else [item]
        if len(value) != 1 or not isinstance(value[0], str):
            raise IngestError(path, f"{name} has an item that is not a string")
        texts.append(value[0].strip())
    return tuple(texts)


def _read_label_array(found: dict[str, Any], name: str, path: Path) -> Array:
    labels = _check_numeric(found, name, path)
    dense: Array = labels.toarray() if scipy_sparse.issparse(labels) else labels
    return dense.ravel()


_is_matlab = files.match_endings(".mat")


def read_mat(path: Path, options: ImportOptions) -> CountSource:  # noqa: ARG001 - the signature of every reader
    """Read the training documents, then the test documents with their observed and scored tokens.

    In these files ``wordsHeldout`` is what is *observed* of a test document and ``wordsTest`` what is
    *scored*; the corpus gets their sum, and the scored part separately.
    """
    (path, _), *_ = files.find_parts(path, _is_matlab, "MATLAB")
    found = read_apart(path)
    words = tuple(unpack_texts(found[VOCABULARY]))
    train = _make_csr(found, TRAINING)
    has_test = f"{SCORED}.data" in found
    part = np.full(train.shape[0], TRAIN, np.int8)
    whole, scored = train, None
    if has_test:
        held_out, observed = _make_csr(found, SCORED), _make_csr(found, OBSERVED)
        if observed.shape != held_out.shape:
            cause = f"{OBSERVED} has {observed.shape[0]:,} documents, but {SCORED} has {held_out.shape[0]:,}"
            raise IngestError(path, f"{cause}; they must be two parts of the same documents")
        part = np.concatenate([part, np.full(held_out.shape[0], TEST, np.int8)])
        both = observed.astype(np.int64) + held_out
        matrices.check_counts(both.data, path)
        whole = scipy_sparse.vstack([train, both.astype(np.int32)], format="csr")
        nothing = scipy_sparse.csr_matrix(train.shape, dtype=held_out.dtype)
        scored = matrices.tidy_matrix(scipy_sparse.vstack([nothing, held_out], format="csr"), path)
    counts = matrices.tidy_matrix(whole, path)
    encoded = _join_labels(found, path, len(part), train.shape[0])
    titles = [f"train {n + 1}" if n < train.shape[0] else f"test {n - train.shape[0] + 1}" for n in range(len(part))]
    return matrices.make_count_source(
        path, words, counts, titles, encoded, scored=scored, part=part if has_test else None, kind="counts"
    )


def _make_csr(found: dict[str, Array], name: str) -> scipy_sparse.csr_matrix:
    data, indices, indptr, shape = (found[f"{name}.{part}"] for part in PARTS)
    return scipy_sparse.csr_matrix((data, indices, indptr), shape=tuple(shape.tolist()))


def _join_labels(found: dict[str, Array], path: Path, documents: int, n_train: int) -> tuple[Array, tuple[str, ...]]:
    raw = [found[name] for name in LABELS if name in found]
    if not raw:
        return np.full(documents, -1, np.int32), ()
    if [len(each) for each in raw] != [n_train, documents - n_train][: len(raw)] or sum(map(len, raw)) != documents:
        raise IngestError(path, "labelsTrain and labelsTest do not have one label for each document")
    names = unpack_texts(found[NAMES]) if NAMES in found else []
    numbered = {str(number): name for number, name in enumerate(names, 1)}
    return joining.encode_labels((joining.write_label(label) for each in raw for label in each.tolist()), numbered)


_MAT_FILES = "MATLAB: NAME.mat with wordsTrain, vocabulary and, for test documents, wordsHeldout and wordsTest"
READERS = (Reader("mat", _MAT_FILES, (), files.make_recogniser(_is_matlab, single=True), read_mat),)


if __name__ == "__main__":
    sys.exit(run_command())
