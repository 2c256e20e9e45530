"""What came in and what is made of it: the report before an import, and the record that the corpus keeps of it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, Self

from app.ingest.column_samples import Column
from app.ingest.cuts import Cut


class Share(NamedTuple):
    """Something that was found, such as a script, and its share."""

    name: str
    share: float


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a file or folder was understood as, and what each choice makes of it.

    Attributes
    ----------
    path : str
        Name of the file or folder.
    format, why : str
        Name of the reader, and why it was taken.
    understood : dict of str to str
        How the file was read: "encoding", "separator", "quote", "header" and the like.
    columns : tuple of Column
        Of a table; empty for other files.
    kind : str
        "counts", "binary" or "real".
    documents, train : int
        Documents that are stored, and those of them to train on.
    read : int
        Documents that the file has, without those of neither part.
    empty, duplicates : int
        Documents without a text or a count, and those whose text (or counts) came before.
    wordless : int
        Documents without a word that is kept, the empty ones among them.
    tokens, tokens_kept : int
        Words of all documents before and after the cuts; of real values, cells.
    words, words_kept : int
        Different words before and after the cuts.
    cuts : tuple of Cut
    scripts : tuple of Share
        Scripts of the letters, the most frequent first.
    languages : tuple of Share
        Languages that were recognised in the texts.
    classes : int
        How many different labels the documents have.
    labels : tuple of (str, int)
        The largest classes and how many documents have each.
    warnings : tuple of str
        Sentences about what is probably not as it was meant.
    notes : tuple of str
        What the reader had to say.
    options : dict
        What was chosen otherwise than usual.
    proposed : dict of str to str
        Options that could make more of the documents, each with a value.
    """

    path: str
    format: str
    why: str
    understood: dict[str, str]
    columns: tuple[Column, ...]
    kind: str
    documents: int
    train: int
    read: int
    empty: int
    duplicates: int
    wordless: int
    tokens: int
    tokens_kept: int
    words: int
    words_kept: int
    cuts: tuple[Cut, ...]
    scripts: tuple[Share, ...]
    languages: tuple[Share, ...]
    classes: int
    labels: tuple[tuple[str, int], ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    options: dict[str, Any]
    proposed: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The report as plain JSON values."""
        named = {
            "columns": [each._asdict() for each in self.columns],
            "cuts": [each._asdict() for each in self.cuts],
            "scripts": [each._asdict() for each in self.scripts],
            "languages": [each._asdict() for each in self.languages],
            "labels": dict(self.labels),
        }
        return asdict(self) | named

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The report that :meth:`to_json` wrote."""
        return cls(
            **dict(values)
            | {
                "columns": tuple(Column(**_tuples(each)) for each in values["columns"]),
                "cuts": tuple(Cut(**_tuples(each)) for each in values["cuts"]),
                "scripts": tuple(Share(**each) for each in values["scripts"]),
                "languages": tuple(Share(**each) for each in values["languages"]),
                "labels": tuple(values["labels"].items()),
                "warnings": tuple(values["warnings"]),
                "notes": tuple(values["notes"]),
            }
        )


def record_of(meta: Mapping[str, Any]) -> Report | None:
    """The record that a corpus keeps of its import; None of one imported by an earlier version, or a damaged one."""
    record = meta.get("record")
    try:
        found = None if record is None else Report.from_json(record)
    except (TypeError, KeyError, ValueError, AttributeError):
        return None
    return found if found is None or _is_sound(found) else None


def _is_sound(report: Report) -> bool:
    """Return whether every part of a report is of its type; reading it from JSON takes all that is there."""
    plain = {name: hint for name, hint in Report.__annotations__.items() if hint in (str, int)}
    alike = all(type(getattr(report, name)) is hint for name, hint in plain.items())
    texts = [*report.understood.items(), *report.labels]
    return (
        alike
        and isinstance(report.options, dict)
        and all(isinstance(each, str) for each in (*report.warnings, *report.notes, *(name for name, _ in texts)))
        and all(isinstance(value, str) for value in report.understood.values())
        and all(isinstance(count, int) for _, count in report.labels)
        and all(isinstance(share.share, int | float) for share in (*report.scripts, *report.languages))
    )


def _tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
            for name, value in values.items()}  # fmt: skip
