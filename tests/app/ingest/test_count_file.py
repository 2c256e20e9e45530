"""Counts in a temporary file come back as they were, however the documents are asked for."""

import gc
import weakref

import numpy as np
import pytest

from app.ingest import vectorise
from app.ingest.errors import IngestError
from app.ingest.vectorise import CountFile, measure_counts
from engine.contract import Counts


def some(n: int, seed: int) -> Counts:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 5, n)
    cells = int(lengths.sum())
    return Counts.of(lengths, rng.integers(0, 99, cells).astype(np.int32), rng.integers(1, 9, cells).astype(np.int32))


def dense(counts: Counts) -> list[list[tuple[int, int]]]:
    cells = list(zip(counts.words.tolist(), counts.values.tolist(), strict=True))
    return [cells[a:b] for a, b in zip(counts.starts[:-1], counts.starts[1:], strict=True)]


@pytest.mark.parametrize("in_memory", [1, 1 << 20], ids=["disk", "memory"])
def test_documents_come_back_in_runs_of_any_length_and_again(monkeypatch: pytest.MonkeyPatch, in_memory: int) -> None:
    monkeypatch.setattr(vectorise, "IN_MEMORY", in_memory)
    blocks = [some(n, n) for n in (4, 1, 7, 3)]
    file = CountFile("a.csv")
    for block in blocks:
        file.add(block)
    whole = [row for block in blocks for row in dense(block)]
    assert [row for block in file for row in dense(block)] == whole
    assert measure_counts(file).tolist() == [len(row) for row in whole]
    for step in (1, 2, 5, 15):
        rows = file.reader()
        found = [dense(rows(begin, min(begin + step, 15))) for begin in range(0, 15, step)]
        assert [row for run in found for row in run] == whole


def test_a_file_of_no_documents_has_none() -> None:
    assert measure_counts(CountFile("a.csv")).tolist() == []


def test_the_temporary_file_goes_with_the_counts() -> None:
    file = CountFile("a.csv")
    kept = file._file
    gone = weakref.ref(file)
    del file
    gc.collect()
    assert gone() is None
    assert kept.closed


def test_a_full_disk_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    file = CountFile("a.csv")

    class Full:
        def seek(self, place: int) -> None:
            raise OSError(28, "No space left on device")

        def close(self) -> None: ...

    monkeypatch.setattr(file, "_file", Full())
    with pytest.raises(IngestError, match=r"a\.csv: has counts that do not fit into .*No space left.*set TMPDIR"):
        file.add(some(3, 1))
