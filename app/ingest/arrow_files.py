"""Tables of Parquet and Arrow: their rows, and how they begin."""

from collections.abc import Generator, Iterator
from contextlib import closing
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from app.ingest import files
from app.ingest.columns import number_names
from app.ingest.errors import IngestError

PARQUET, ARROW = (".parquet",), (".arrow", ".feather")
_SAMPLE = 60  # rows from which a table is recognised as one of counts
_ROWS = 1_000  # at a time


def records(path: Path) -> Generator[tuple[int, dict[str, Any]], None, None]:
    """Return the rows as mappings, each with its number from 1; columns of the same name get numbers.

    Raises
    ------
    IngestError
        When it is no sound table.
    """
    number = 0
    with files.seekable(path) as stream:
        try:
            for batch in _batches(path, stream):
                for record in batch.to_pylist():
                    number += 1
                    yield number, record
        except (IngestError, MemoryError, GeneratorExit):
            raise
        except Exception as error:  # noqa: BLE001 - a damaged file can raise anything
            said = " ".join(str(error).split())[:120] or type(error).__name__
            raise IngestError(path, f"is no sound table of its format ({said}); save or download it again") from None


def repeated_names(path: Path) -> tuple[str, ...]:
    """Return notes about columns of the same name."""
    if files.suffix(path) not in PARQUET:
        return ()
    from pyarrow import parquet

    with files.seekable(path) as stream:
        return number_names(parquet.ParquetFile(stream).schema_arrow.names)[1]


def look_at(path: Path) -> tuple[dict[str, Any], ...]:
    """Return the first rows.

    Raises
    ------
    IngestError
        As `records`.
    """
    about = path.stat()
    return _look_at(path, about.st_size, about.st_mtime_ns)


@lru_cache(maxsize=16)
def _look_at(path: Path, _size: int, _changed: int) -> tuple[dict[str, Any], ...]:
    with closing(records(path)) as rows:
        return tuple(record for _, record in islice(rows, _SAMPLE))


def _batches(path: Path, stream: Any) -> Iterator[Any]:
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ModuleNotFoundError:
        cause = "is a table that needs one more package to be read"
        raise IngestError(
            path, f"{cause}: pip install 'topiary-explorer[parquet]', or save it as .csv or .jsonl"
        ) from None
    if files.suffix(path) in PARQUET:
        found = parquet.ParquetFile(stream, memory_map=False).iter_batches(batch_size=_ROWS, use_threads=False)
        yield from map(_with_names_once, found)
        return
    start = stream.read(6)
    stream.seek(0)
    if start != b"ARROW1":  # as datasets are saved: a stream, without the list of its batches at the end
        for batch in arrow.ipc.open_stream(stream):
            yield from _pieces(batch)
        return
    reader = arrow.ipc.open_file(stream)
    for number in range(reader.num_record_batches):
        yield from _pieces(reader.get_batch(number))


def _pieces(batch: Any) -> Iterator[Any]:
    batch.validate(full=True)
    for begin in range(0, batch.num_rows, _ROWS):
        yield _with_names_once(batch.slice(begin, _ROWS))


def _with_names_once(batch: Any) -> Any:
    """Return a batch whose columns have different names, for rows as mappings keep only the last of the same one."""
    names = batch.schema.names
    if len(set(names)) == len(names):
        return batch
    return batch.rename_columns(number_names(names)[0])
