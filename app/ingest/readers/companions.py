"""Files that belong to the same work: metadata next to each text, and one text saved in several formats."""

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import combinations
from pathlib import Path, PurePosixPath
from typing import Any

from topiary.app.ingest import files
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.readers import markup
from topiary.app.ingest.readers.documents import read_contents
from topiary.app.ingest.readers.json_shapes import flatten
from topiary.app.ingest.readers.texts import TextMembers, read_raw
from topiary.app.ingest.source import Reader, Unreadable
from topiary.app.ingest.tables import joining
from topiary.app.ingest.tables.joining import Join
from topiary.app.ingest.text import encodings

_SIDECARS = (".json", ".yaml", ".yml", ".meta")
# The formats of a text, from the one that is read, where a text lies in several; TEI has metadata, a PDF loses most.
_PREFERRED = (
    ".xml", ".tei", ".nxml", ".txt", ".text", ".md", ".markdown", ".rst", ".docx", ".odt", ".rtf", ".epub", ".tex",
    ".ipynb", ".html", ".htm", ".xhtml", ".vtt", ".srt", ".sbv", ".log", ".pdf",
)  # fmt: skip
_TRIED = 3  # pairs of files that are compared
_COMPARED = 20_000  # characters of each
_SAME_WORDS = 0.6  # share of the words of the one that the other has, at least, in copies
_FEWEST_APART, _SHARE_APART = 3, 0.8  # copies in folders of their own, and their share of the files
_WORD = re.compile(r"[^\W\d_]{3,}")
_META = re.compile(r"[._ -](?:meta(?:data)?|info)$", re.IGNORECASE)
_LONGEST = 2_000  # characters of a field; a longer one is a text
_LARGEST = 1 << 22  # bytes of a file of metadata
_FEWEST = 2  # texts with such a file
_FILE = "file"


def leave_out_copies(path: Path, members: TextMembers, encoding: str) -> tuple[TextMembers, list[str]]:
    """Return the files without those that are copies of others in another format, and notes about them."""
    notes = []
    by_kind: dict[str, dict[str, list[PurePosixPath]]] = {}
    for name in members.texts:
        by_kind.setdefault(name.suffix.lower(), {}).setdefault(files.strip_endings(name).casefold(), []).append(name)
    kinds = [kind for kind in _PREFERRED if kind in by_kind]
    for kind, other in combinations(kinds, 2):
        pairs = _pair_names(by_kind[kind], by_kind[other])
        if not pairs or not _are_copies(path, pairs[:: max(1, len(pairs) // _TRIED)][:_TRIED], encoding):
            continue
        copies = frozenset(copy for _, copy in pairs)
        notes.append(
            f"{len(pairs):,} texts are there as {kind} and as {other}; each is read once, from its {kind} "
            f"(to read the {other}, move the {kind} elsewhere)"
        )
        members = TextMembers([name for name in members.texts if name not in copies], members.others)
        by_kind[other] = {stem: names for stem, names in by_kind[other].items() if not copies.intersection(names)}
    return members, notes


def _pair_names(
    ones: Mapping[str, Sequence[PurePosixPath]], others: Mapping[str, Sequence[PurePosixPath]]
) -> list[tuple[PurePosixPath, PurePosixPath]]:
    """Return the files of two formats that may be copies, because they have the same names.

    They lie next to each other, or nearly all files of the formats do so in folders of their own.
    """
    pairs = [(one, other) for stem in ones if stem in others for one in ones[stem] for other in others[stem]]
    adjacent = [(one, other) for one, other in pairs if one.parent == other.parent]
    if adjacent:
        return adjacent
    fewest = min(sum(map(len, ones.values())), sum(map(len, others.values())))
    enough = len(pairs) >= max(_FEWEST_APART, _SHARE_APART * fewest) and len({one for one, _ in pairs}) == len(pairs)
    return pairs if enough else []


def _are_copies(path: Path, pairs: Sequence[tuple[PurePosixPath, PurePosixPath]], encoding: str) -> bool:
    """Return whether the texts in pairs of files have nearly the same words."""
    for pair in pairs:
        words = [_list_words(name, raw, encoding) for name, raw in read_raw(path, list(pair))]
        if len(words[0] & words[1]) < _SAME_WORDS * max(1, min(map(len, words))):
            return False
    return True


def _list_words(name: PurePosixPath, raw: bytes, encoding: str) -> set[str]:
    try:
        text = read_contents(name, raw, encodings.recognise_text(raw, encoding)).text
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    except Unreadable:
        text = ""
    return set(_WORD.findall(text[:_COMPARED].lower()))


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
            if text := texts.get((folder, stem)):
                found.setdefault(text, name)
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
    return replace(join, table=f"the {endings} files next to them", separate=True)


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
    last = Counter(name.rpartition(".")[2] for name in fields)
    short = {name: end if last[end := name.rpartition(".")[2]] == 1 else name for name in fields}
    return {short[name]: field for name, field in fields.items() if _is_fact(field)}


def _is_fact(value: Any) -> bool:
    """Return whether a field describes a text, and is neither a text itself nor a list of records."""
    if isinstance(value, list):
        return all(isinstance(each, str | int | float) for each in value) and len(str(value)) <= _LONGEST
    return not isinstance(value, dict) and len(str(value)) <= _LONGEST
