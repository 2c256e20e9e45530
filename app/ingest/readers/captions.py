"""Reader of captions and transcripts in JSON, as YouTube, Whisper and others save them: a recording is a document."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from topiary.app.ingest import files
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.readers import markup, text_kinds
from topiary.app.ingest.readers.documents import KINDS
from topiary.app.ingest.source import GUESS, Reader, TextDocument, TextSource
from topiary.app.ingest.tables.column_names import plain_name
from topiary.app.ingest.tables.values import as_text
from topiary.app.ingest.text.cleaning import clean_text
from topiary.app.ingest.text.passages import advise_size, count_words

_ENDINGS = (".json", ".json3")
_TEXTS = ("text", "utf8", "content", "body", "line", "caption", "transcript", "sentence")
_STARTS = frozenset(("start", "begin", "from", "start_time", "t_start_ms", "offset", "start_ms", "starttime"))
_ENDS = frozenset(("end", "to", "end_time", "duration", "dur", "d_duration_ms", "duration_ms", "end_ms", "endtime"))
_SPANS = ("timestamp", "timestamps", "time", "offsets")  # of both
_NO_CUE = frozenset(("title", "name", "url", "label", "class", "category", "entity", "date", "author"))
_CLOCK = re.compile(r"\d+(?:\.\d+)?s?|(?:\d+:)?\d{1,2}:\d{2}(?:[.,]\d+)?")
_TIME_FIELD = re.compile(
    rb'"(?:t?_?start(?:_?time|_?ms)?|begin|from|offsets?|timestamps?|time)"\s*:\s*["\[{]?\s*"?[\d\[{"]', re.IGNORECASE
)
_START = 1 << 16  # bytes of a file in which the field of a time is searched
_SAMPLE = 40  # cues and files that are examined
_DEEPEST = 3  # levels of objects in which cues are searched
_LARGEST = 1 << 25  # bytes of a file
_LONGEST_COLUMN = 200  # characters of a field of a recording that becomes a column


class _Recording(NamedTuple):
    """The captions of a recording: its name (empty for that of the file), its lines and its other fields."""

    name: str
    cues: Sequence[Mapping[str, Any]]
    columns: Mapping[str, str] = {}


def recognise_captions(path: Path) -> bool:
    """Recognise a file of captions, and a folder in which most files of JSON are captions and none is a text."""
    if not path.is_dir():
        return _has_captions(path)
    sample = list(text_kinds.sample_files(path))
    if any(files.find_suffix(file) in KINDS for file in sample):
        return False
    candidates = [file for file in sample if files.find_suffix(file) in _ENDINGS]
    return bool(candidates) and 2 * sum(map(_has_captions, candidates)) > len(candidates)


def _has_captions(path: Path) -> bool:
    try:
        return _is_timed(path) and bool(_read_recordings(path))
    except IngestError:
        return False


def _is_timed(path: Path) -> bool:
    """Return whether the beginning of a file has the field of a time."""
    return files.find_suffix(path) in _ENDINGS and _TIME_FIELD.search(files.read_start(path, _START)) is not None


def read_captions(path: Path, options: ImportOptions) -> TextSource:
    """Read the recordings as documents, titled by the name of their file, labelled by its folder."""
    in_folder = path.is_dir()
    all_files = sorted(file for file in path.rglob("*") if file.is_file()) if in_folder else [path]
    found = [file for file in all_files if not file.name.startswith(".")]
    captions = [file for file in found if _is_timed(file) and _read_recordings(file)] if in_folder else found
    if not captions:
        raise IngestError(path, "has no captions in JSON in it; leave --format out, or give another folder")
    if not in_folder and options.format is None and not options.divides and len(_read_recordings(path)) < _FEWEST:
        cause = "has the captions of one recording, which is one document, and a corpus has many"
        split = advise_size(sum(count_words(document.text) for document in _read_documents(path, captions)))
        divided = f"divide it with {split}, " if split else ""
        advice = f"import the folder it is in, {divided}or take every caption as a document with --format json"
        raise IngestError(path, f"{cause}: {advice}")
    others = [file for file in found if file not in set(captions)]
    notes = [f"left out what has no captions: {files.describe_kinds(others)}"] if others else []
    return TextSource(
        where=str(path),
        documents=lambda: _read_documents(path, captions),
        counted=lambda document: clean_text(document.text),
        notes=notes,
        understood={GUESS: "every recording is a document; --format json takes every caption as one"},
    )


_FEWEST = 2  # recordings of a file that is a corpus


def _read_documents(path: Path, captions: Sequence[Path]) -> Iterator[TextDocument]:
    for file in captions:
        relative = PurePosixPath(file.relative_to(path).as_posix() if file != path else file.name)
        recordings = _read_recordings(file)
        if not recordings:
            raise IngestError(file, "has no captions: a list of objects with a text, its start and its end")
        for recording in recordings:
            title = recording.name or files.strip_endings(relative)
            text = markup.join_cues([_find_text(cue).splitlines() for cue in recording.cues])
            columns = {"file": str(relative), **recording.columns}
            yield TextDocument(text, title, "/".join(relative.parts[:-1]) or None, None, columns)


def _read_recordings(path: Path) -> list[_Recording]:
    """Return the recordings of a file; none if it has no captions."""
    with files.open_file(path) as stream:
        raw = files.read_up_to(stream, _LARGEST + 1)
    if len(raw) > _LARGEST:
        raise IngestError(path, f"is larger than {_LARGEST >> 20} MB, the most of one file of captions; split it")
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        raise IngestError(path, "is not JSON all through; copy or download it again") from None
    if isinstance(value, dict) and len(value) > 1 and all(map(_are_cues, value.values())):
        return [_Recording(str(name), cues) for name, cues in value.items()]
    cues = _find_cues(value, 0)
    if not cues:
        return []
    fields = value if isinstance(value, dict) else {}
    plain = {name: as_text(field) for name, field in fields.items() if isinstance(field, str | int | float)}
    columns = {name: text for name, text in plain.items() if 0 < len(text) <= _LONGEST_COLUMN}
    return [_Recording(columns.pop("title", ""), cues, columns)]


def _find_cues(value: Any, depth: int) -> Sequence[Mapping[str, Any]]:
    """Return the first list of cues in a value; an empty one if there is none."""
    if isinstance(value, list):
        return value if _are_cues(value) else ()
    if not isinstance(value, dict) or depth > _DEEPEST:
        return ()
    return next((cues for inner in value.values() if (cues := _find_cues(inner, depth + 1))), ())


def _are_cues(value: Any) -> bool:
    """Return whether a value is a list of texts with their times, which ascend."""
    if not isinstance(value, list) or not value or not all(isinstance(cue, dict) for cue in value[:_SAMPLE]):
        return False
    sample = [cue for cue in islice(value, _SAMPLE) if _find_text(cue).strip()]
    if not sample or not all(map(_is_cue, sample)):
        return False
    starts = [start for cue in sample if (start := _find_start(cue)) is not None]
    return all(before <= after for before, after in pairwise(starts))


def _is_cue(cue: Mapping[str, Any]) -> bool:
    names = {plain_name(name): value for name, value in cue.items()}
    if not _NO_CUE.isdisjoint(names):
        return False
    if any(isinstance(names.get(name), list | dict) for name in _SPANS):
        return True
    times = [[value for name, value in names.items() if name in usual] for usual in (_STARTS, _ENDS)]
    return all(times) and all(_CLOCK.fullmatch(as_text(each[0]).strip()) for each in times)


def _find_start(cue: Mapping[str, Any]) -> float | None:
    """Return the start of a cue if it is a number."""
    start = next((value for name, value in cue.items() if plain_name(name) in _STARTS), None)
    return float(start) if isinstance(start, int | float) else None


def _find_text(cue: Mapping[str, Any]) -> str:
    """Return the text of a cue; YouTube writes it in pieces."""
    pieces = cue.get("segs")
    if isinstance(pieces, list):
        return "".join(as_text(piece.get("utf8")) for piece in pieces if isinstance(piece, dict))
    return next((cue[name] for name in _TEXTS if isinstance(cue.get(name), str)), "")


_CAPTIONS_FILES = (
    "captions in JSON: a folder of NAME.json with texts and their times, of YouTube, Whisper and the like, "
    "one document a recording"
)
READERS = (Reader("captions", _CAPTIONS_FILES, ("token_pattern",), recognise_captions, read_captions),)
