"""The report of an import, as the command, the library and the pages show it and the corpus keeps it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, Self

from app.ingest.report.observing import Cut
from app.ingest.source import GUESS
from app.ingest.tables.values import Column


class Share(NamedTuple):
    """Something that was found, such as a script, and its share."""

    name: str
    share: float


@dataclass(frozen=True, kw_only=True)
class Report:
    """The report of a file or folder: how it was understood, and what each choice makes of it.

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
    documents, train, validation : int
        Documents that are stored, and those of them to train on and for validation.
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
    validation: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain JSON values."""
        named = {name: [each._asdict() for each in getattr(self, name)] for name in _PARTS}
        return asdict(self) | named | {"labels": dict(self.labels)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Return the report that :meth:`to_json` wrote."""
        named: dict[str, Any] = {
            name: tuple(kind(**_make_tuples(each)) for each in values[name]) for name, kind in _PARTS.items()
        }
        named |= {name: tuple(values[name]) for name in ("warnings", "notes")}
        return cls(**dict(values) | named | {"labels": tuple(values["labels"].items())})


_PARTS: dict[str, Callable[..., Any]] = {"columns": Column, "cuts": Cut, "scripts": Share, "languages": Share}


def load_report(meta: Mapping[str, Any]) -> Report | None:
    """Load the report that a corpus keeps of its import; None where it has none, or a damaged one."""
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


def _make_tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
            for name, value in values.items()}  # fmt: skip


LABELS = 6  # classes named
CUTS = {  # what takes words away, by its option, one and several
    "stop_words": ("stop word", "stop words"),
    "leave_out_common": ("word that is everywhere", "words that are everywhere"),
    "min_df": ("rare word", "rare words"),
    "max_df": ("common word", "common words"),
    "max_words": ("word beyond the most that are kept", "words beyond the most that are kept"),
}
_LEAST_SHARE = 0.0005  # of a script that is named


class ReportLine(NamedTuple):
    """A row of the report: its name and its text."""

    name: str
    text: str


def list_lines(report: Report) -> tuple[ReportLine, ...]:
    """Return the whole report but its columns and cuts, which are tables (`columns`, `cuts`), and its warnings."""
    return tuple(ReportLine(name, text) for name, text in _write_lines(report) if text)


def list_summary(report: Report) -> tuple[str, ...]:
    """Return the report in five lines, as they are printed after an import, before the warnings."""
    guess = {GUESS: report.understood[GUESS]} if GUESS in report.understood else {}
    read = "; ".join(f"{name} {text}" for name, text in (guess | report.understood).items())
    roles = ", ".join(f"{each.role} is {each.name!r}" for each in report.columns if each.role not in ("other", "date"))
    taken = ", ".join(_count_things(cut.words, *CUTS[cut.option]) for cut in report.cuts if cut.words)
    return (
        f"read as {_describe_format(report)}" + (f"; {read}" if read else ""),
        roles or _describe_kind(report),
        f"{_describe_documents(report)}; {_describe_labels(report) or 'no labels'}",
        f"{_count_things(report.words, 'different word')} met, {report.words_kept:,} kept"
        + (f"; left out {taken}" if taken else ""),
        f"{report.tokens_kept:,} of {_count_things(report.tokens, 'word')} counted"
        + (f"; {spoken}" if (spoken := _describe_shares(report.languages) or _describe_shares(report.scripts)) else ""),
    )


def list_columns(report: Report) -> tuple[tuple[str, str, str], ...]:
    """Return the name, the role and some values of every column."""
    return tuple((each.name, each.role, " | ".join(each.samples)) for each in report.columns)


def list_cuts(report: Report) -> tuple[tuple[str, str, str, str], ...]:
    """Return for every cut what falls, the option, how much falls, and examples."""
    return tuple(
        (
            CUTS[cut.option][1],
            f"--{cut.option.replace('_', '-')} {cut.setting}",
            f"{_count_things(cut.words, 'word')}, {cut.tokens:,} times" if cut.words else "none",
            " ".join(cut.examples),
        )
        for cut in report.cuts
    )


def describe_parts(documents: int, train: int, validation: int) -> str:
    """Say how many documents of a corpus each part has: ``90 training, 5 validation, 5 test``."""
    parts = [f"{train:,} training", f"{validation:,} validation", f"{documents - train - validation:,} test"]
    return ", ".join(parts if validation else parts[::2])


def describe_addition(added: Mapping[str, Any]) -> str:
    """Describe documents that were appended, in a line."""
    if not {"added", "file", "outside", "tokens_read"} <= added.keys():
        return f"more documents after the first {added['documents']:,}; what is kept of them is damaged"
    outside = f"; {added['outside']:,} of {added['tokens_read']:,} words outside the vocabulary"
    return f"{added['added']:,} documents of {added['file']}, after the first {added['documents']:,}{outside}"


def _write_lines(report: Report) -> Iterator[tuple[str, str]]:
    yield "file", report.path
    yield "format", _describe_format(report)
    yield GUESS, report.understood.get(GUESS, "")
    yield from ((name, text) for name, text in report.understood.items() if name != GUESS)
    yield "counts", "" if report.kind == "counts" else _describe_kind(report)
    yield "documents", _describe_documents(report)
    yield "parts", describe_parts(report.documents, report.train, report.validation)
    yield "labels", _describe_labels(report)
    yield "scripts", _describe_shares(report.scripts)
    yield "languages", _describe_shares(report.languages)
    yield "words", f"{_count_things(report.tokens, 'word')}, {report.words:,} different"
    share = f" ({100 * report.tokens_kept / report.tokens:.0f} %)" if report.tokens else ""
    yield "kept", f"{_count_things(report.tokens_kept, 'word')}{share}, {report.words_kept:,} different"
    yield "chosen", ", ".join(f"--{name.replace('_', '-')} {value}" for name, value in report.options.items())


def _describe_format(report: Report) -> str:
    return f"{report.format} ({report.why})" if report.why else report.format


def _describe_documents(report: Report) -> str:
    counts = (
        (report.empty, f"with nothing in {'it' if report.empty == 1 else 'them'}"),
        (report.duplicates, "with the content of one before"),
        (report.wordless - report.empty, "more without a word that is kept"),
        (report.read - report.documents, "left out"),
    )
    return ", ".join([_count_things(report.read, "document"), *(f"{n:,} {what}" for n, what in counts if n > 0)])


def _describe_labels(report: Report) -> str:
    if not report.labels:
        return ""
    named = ", ".join(f"{name} {times:,}" for name, times in report.labels[:LABELS])
    more = f" and {report.classes - LABELS:,} more" if report.classes > LABELS else ""
    return f"{_count_things(report.classes, 'class', 'classes')}: {named}{more}"


def _describe_shares(shares: Sequence[Share]) -> str:
    large = [each for each in shares if each.share >= _LEAST_SHARE]
    return ", ".join(f"{each.name} {100 * each.share:.{0 if each.share > 0.1 else 1}f} %" for each in large)


def _describe_kind(report: Report) -> str:
    return {"counts": "counts of words", "binary": "only whether a word occurs", "real": "real numbers"}[report.kind]


def _count_things(n: int, what: str, several: str = "") -> str:
    return f"{n:,} {what if n == 1 else several or what + 's'}"
