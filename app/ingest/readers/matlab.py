"""Reader of MATLAB files of the deep topic model papers, in a process of its own.

A damaged file can crash the library or fill the memory.  Therefore
``python -P -m app.ingest.readers.matlab FILE FOLDER`` reads the file and saves its arrays by name in the folder; a
refusal goes to standard output, as JSON.
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

from topiary.app.ingest import files
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.files import open_seekable, read_start
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.readers import matrices
from topiary.app.ingest.readers.matrices import LARGEST, MOST_WORDLESS, is_valid_compressed
from topiary.app.ingest.source import Array, CountSource, Reader
from topiary.app.ingest.tables import joining
from topiary.app.machine import build_python_path
from topiary.engine.contract import TEST, TRAIN

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
LABELS = ("labelsTrain", "labelsTest")
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
    arrays |= {name: _read_label_array(loaded, name, path) for name in LABELS if name in loaded}
    if NAMES in loaded:
        arrays[NAMES] = pack_texts(_read_strings(loaded, NAMES, path))
    return arrays


def _load_matlab(path: Path) -> dict[str, Any]:
    """Return the variables of a MATLAB file; refuse a file that cannot be read or is not a corpus."""
    if read_start(path, 6) != b"MATLAB":
        raise IngestError(path, "is not a MATLAB file of version 5 or later")
    try:
        with open_seekable(path) as stream:
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
    if not np.all((data >= 0) & (data == np.floor(data)) & (data <= LARGEST)):
        cause = f"{name} has a value that is negative, not whole or above {LARGEST:,}"
        raise IngestError(path, f"{cause}, so it is not a matrix of counts")
    return turned.astype(np.int32)


def _turn_matrix(matrix: Any, name: str, path: Path) -> scipy_sparse.csr_matrix:
    """Return the matrix as documents x words; check its indices, as SciPy would write outside of its memory."""
    documents, cells = matrix.shape[1], matrix.nnz if scipy_sparse.issparse(matrix) else matrix.size
    if documents > cells + MOST_WORDLESS:
        raise IngestError(path, f"{name} has {documents:,} documents, but only {cells:,} counts; is it damaged?")
    if scipy_sparse.issparse(matrix):
        matrix = matrix if matrix.format in ("csc", "csr") else matrix.tocsc()
        shape = matrix.shape if matrix.format == "csr" else matrix.shape[::-1]
        if not is_valid_compressed(matrix.indptr, matrix.indices, matrix.data, shape):
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


_is_matlab = files.match_endings(".mat")


def read_mat(path: Path, options: ImportOptions) -> CountSource:  # noqa: ARG001 - the signature of every reader
    """Read the training documents, then the test documents with their observed and scored tokens.

    In these files ``wordsHeldout`` are the *observed* tokens of test documents and ``wordsTest`` the *scored* ones;
    the corpus gets their sum, and the scored tokens separately.
    """
    (path, _), *_ = files.find_parts(path, _is_matlab, "MATLAB")
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
    raw = [arrays[name] for name in LABELS if name in arrays]
    if not raw:
        return np.full(n_documents, -1, np.int32), ()
    if [len(each) for each in raw] != [n_train, n_documents - n_train][: len(raw)] or sum(map(len, raw)) != n_documents:
        raise IngestError(path, "labelsTrain and labelsTest do not have one label for each document")
    names = unpack_texts(arrays[NAMES]) if NAMES in arrays else []
    numbered = {str(number): name for number, name in enumerate(names, 1)}
    return joining.encode_labels((joining.write_label(label) for each in raw for label in each.tolist()), numbered)


_MAT_FILES = "MATLAB: NAME.mat with wordsTrain, vocabulary and, for test documents, wordsHeldout and wordsTest"
READERS = (Reader("mat", _MAT_FILES, (), files.make_recogniser(_is_matlab, single=True), read_mat),)


if __name__ == "__main__":
    sys.exit(run_command())
