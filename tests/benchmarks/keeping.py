"""The file of a table that goes on where it was interrupted: finished rows as JSON, the unfinished one beside it."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks import fidelity_trials
from tests.benchmarks.fidelity_trials import Row
from tests.benchmarks.files import TableError, replace_file
from topiary.engine.contract import Array
from topiary.engine.corpus import Corpus
from topiary.store.arrays import pack_arrays, unpack_arrays
from topiary.store.errors import DamagedArrays


class Table:
    """Rows of one table, on one corpus, of one length.

    Parameters
    ----------
    path : Path or None
        The JSON file; None keeps nothing.
    corpus : Corpus
    minibatches : int
    scored : int
        Documents that DATM's table scores; 0: all.

    Raises
    ------
    TableError
        When the file holds something else.
    """

    def __init__(self, path: Path | None, corpus: Corpus, minibatches: int, scored: int = 0) -> None:
        self._path = path
        self._head = {"corpus": content_hash(corpus), "minibatches": minibatches} | (
            {"scored": scored} if scored else {}
        )
        self.rows: list[Row] = []
        if path is not None and path.exists():
            self._read(path)

    def find(self, trial: str, seed: int) -> Row | None:
        """The finished row of a trial and seed."""
        return next((row for row in self.rows if (row.trial, row.seed) == (trial, seed)), None)

    def add(self, row: Row) -> None:
        """Keep a finished row; what was kept of it while it ran goes."""
        self.rows.append(row)
        if self._path is None:
            return
        content = self._head | {"rows": [self._report(row) for row in self.rows]}
        replace_file(self._path, json.dumps(content, indent=1).encode())
        self._unfinished.unlink(missing_ok=True)

    def _report(self, row: Row) -> dict[str, Any]:
        """A row as it is written: with its difference to the paper, or (DATM) both distances to DLDA-TLASGR."""
        if not row.trial.startswith("datm "):
            return row._asdict() | {"difference": row.difference}
        own, theirs = fidelity_trials.distance(row, self.rows), fidelity_trials.published_distance(row)
        return row._asdict() | {"distance": own, "published_distance": theirs}

    def save(self, key: dict[str, Any], arrays: dict[str, Array]) -> None:
        """Keep an unfinished row; ``key`` says which one it is."""
        if self._path is not None:
            named = np.frombuffer(json.dumps(self._head | key, sort_keys=True).encode(), dtype=np.uint8)
            replace_file(self._unfinished, pack_arrays(arrays | {"key": named}))

    def load(self, key: dict[str, Any]) -> dict[str, Array]:
        """What was kept of an unfinished row with exactly this key; nothing where there is none, or it is damaged."""
        if self._path is None or not self._unfinished.exists():
            return {}
        try:
            arrays = unpack_arrays(self._unfinished.read_bytes())
            named = arrays.pop("key").tobytes().decode()
        except (DamagedArrays, KeyError, UnicodeDecodeError):
            return {}  # the row begins anew, and takes its place
        return arrays if named == json.dumps(self._head | key, sort_keys=True) else {}

    @property
    def keeps(self) -> bool:
        """Whether there is a file."""
        return self._path is not None

    @property
    def _unfinished(self) -> Path:
        if self._path is None:
            raise TableError("a table without a file keeps no unfinished row")
        return self._path.with_name(self._path.name + ".unfinished")

    def _read(self, path: Path) -> None:
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            head = {name: found[name] for name in ("corpus", "minibatches")}
            head |= {"scored": found["scored"]} if "scored" in found else {}
            rows = [Row(**{name: row[name] for name in Row._fields}) for row in found["rows"]]
        except (ValueError, KeyError, TypeError):
            raise TableError(f"{path} is not the table of a benchmark; name another file with --json") from None
        if head != self._head:
            other = "another corpus or length, or with other documents scored"
            raise TableError(f"{path} holds a table of {other}; name another file with --json")
        self.rows = rows


def content_hash(corpus: Corpus) -> str:
    """A short name for exactly these counts and this split."""
    return digest_of((*corpus.counts, corpus.part, *(corpus.scored or ())))


def digest_of(arrays: Iterable[Array]) -> str:
    """A short name for exactly these arrays."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]
