"""Files that belong to the same work: metadata next to each text, and one text saved in several formats."""

import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from app.ingest import files
from app.ingest.errors import IngestError
from app.ingest.options import ImportOptions
from app.ingest.readers import markup
from app.ingest.readers.json_shapes import flatten
from app.ingest.readers.texts import TextMembers
from app.ingest.source import Reader
from app.ingest.tables import joining
from app.ingest.tables.joining import Join

_SIDECARS = (".json", ".yaml", ".yml", ".meta")
_META = re.compile(r"[._ -](?:meta(?:data)?|info)$", re.IGNORECASE)
_LONGEST = 2_000  # characters of a field; a longer one is a text
_LARGEST = 1 << 22  # bytes of a file of metadata
_FEWEST = 2  # texts with such a file
_FILE = "file"


def find_sidecars(members: TextMembers) -> dict[str, PurePosixPath]:
    """Return the file of metadata of each text, by the text's name in the column ``file``; none if most have none."""
    texts: dict[tuple[PurePosixPath | None, str], str] = {}
    for name, shown in zip(members.texts, members.list_names(), strict=True):
        for stem in (name.name, files.strip_endings(name)):
            texts[name.parent, stem] = shown
            texts[None, stem] = "" if (None, stem) in texts and texts[None, stem] != shown else shown
    folders = {name.parent for name in members.texts}
    candidates = [name for name in members.others if name.suffix.lower() in _SIDECARS]
    found: dict[str, PurePosixPath] = {}
    for name in candidates:
        folder = name.parent if name.parent in folders else None
        for stem in (name.stem, _META.sub("", name.stem)):
            if shown := texts.get((folder, stem)):
                found.setdefault(shown, name)
    enough = len(found) >= _FEWEST and 2 * len(found) >= max(len(members.texts), len(candidates))
    return found if enough else {}


def join_sidecars(path: Path, sidecars: Mapping[str, PurePosixPath], reader: Reader, options: ImportOptions) -> Join:
    """Join the fields of the metadata with the texts; ``reader`` is that of JSON lines.

    Raises
    ------
    IngestError
        If a file is damaged, or none has a field.
    """
    rows = [{**_read_fields(path / name), _FILE: shown} for shown, name in sidecars.items()]
    endings = " and ".join(sorted({name.suffix for name in sidecars.values()}))
    with _write_rows(rows) as table:
        join = joining.join_table(table, reader, list(sidecars), options)
    if join is None:
        first = next(iter(sidecars.values()))
        raise IngestError(path / first, "has no fields that describe its text; correct it, or move it elsewhere")
    return replace(join, table=f"the {endings} files next to them", beside=True)


@contextmanager
def _write_rows(rows: Sequence[Mapping[str, Any]]) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="topiary-") as folder:
        table = Path(folder, "rows.jsonl")
        table.write_text("\n".join(json.dumps(row, default=str) for row in rows), encoding="utf-8")
        yield table


def _read_fields(path: Path) -> dict[str, Any]:
    """Return the fields of a file of metadata, without whole texts."""
    with files.open_file(path) as stream:
        raw = files.read_up_to(stream, _LARGEST)
    if path.suffix.lower() != ".json":
        block = raw.decode("utf-8", "replace").strip("-\ufeff\r\n ")
        return dict(markup.split_front_matter(f"---\n{block}\n---\n").fields)
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        raise IngestError(path, "is no sound JSON; correct it, or move it out of the folder") from None
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    fields = flatten(value) if isinstance(value, dict) else {}
    return {name: field for name, field in fields.items() if _is_fact(field)}


def _is_fact(value: Any) -> bool:
    """Return whether a field describes a text, and is neither a text itself nor a list of records."""
    if isinstance(value, list):
        return all(isinstance(each, str | int | float) for each in value) and len(str(value)) <= _LONGEST
    return not isinstance(value, dict) and len(str(value)) <= _LONGEST
