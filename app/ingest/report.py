"""The report of an import: how files were read and what each option did, as a record and in lines to show."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, Self

from topiary.app.ingest.errors import plural
from topiary.app.ingest.source import GUESS
from topiary.app.ingest.tables.values import Column
from topiary.store.corpus_rows import KINDS

STRIP_MAIL, LEAVE_OUT_COMMON = "strip_mail", "leave_out_common"  # the options that can be recommended
LABELS = 6  # classes in a line
MOST_NAMES = 8  # columns of a kind in a line
CUTS = {  # names of the words left out by an option, singular and plural
    "stop_words": ("stop word", "stop words"),
    "leave_out_common": ("word that is everywhere", "words that are everywhere"),
    "min_df": ("rare word", "rare words"),
    "max_df": ("common word", "common words"),
    "max_words": ("word over the size of the vocabulary", "words over the size of the vocabulary"),
}
_LEAST_SHARE = 0.0005  # share from which a script or language is listed
_NAMED_COMMON = 8  # common words named in a sentence


class Cut(NamedTuple):
    """A cut of a vocabulary, which leaves some words out.

    Attributes
    ----------
    option : str
        The import option that causes it, such as ``"min_df"``.
    setting : str
        Value of the option, as typed.
    words, tokens : int
        Number of words left out, and of their occurrences.
    examples : tuple of str
        The most frequent of these words.
    """

    option: str
    setting: str
    words: int
    tokens: int
    examples: tuple[str, ...]


class Recommendation(NamedTuple):
    """An option of an import that leaves out what says nothing about the subjects of texts, with its effect.

    Attributes
    ----------
    option : str
        ``"strip_mail"`` or ``"leave_out_common"``.
    documents : int
        Number of documents that begin as messages do; of all documents for common words.
    of : int
        Number of documents.
    words : tuple of str
        Common words that are left out, those in most documents first; empty for messages.
    before, after : tuple of str
        Of the words that are kept without the option, and with it, those in most documents.
    """

    option: str
    documents: int
    of: int
    words: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]


def describe_recommendation(recommendation: Recommendation) -> str:
    """Return a recommendation in one sentence, with the option of the command line."""
    effect = f"words in most documents now: {' '.join(recommendation.before)}; then: {' '.join(recommendation.after)}"
    if recommendation.option == STRIP_MAIL:
        begin = f"these look like messages: {recommendation.documents:,} of {recommendation.of:,} documents begin with"
        return f"{begin} From: and Subject:; --strip-mail leaves out headers, quoted lines and signatures ({effect})"
    words = recommendation.words
    are = plural(len(words), "word is", "words are")
    named = f"{', '.join(words[:_NAMED_COMMON])}{', …' if len(words) > _NAMED_COMMON else ''}"
    where = f"{are} everywhere in this corpus and may say little ({named})"
    return f"{where}; --leave-out-common leaves them out ({effect})"


class Share(NamedTuple):
    """The name of a script or language, and its share."""

    name: str
    share: float


@dataclass(frozen=True, kw_only=True)
class Report:
    """A report about an imported file or folder: how it was read, and the effect of each option.

    Attributes
    ----------
    path : str
        Name of the file or folder.
    format, why : str
        Name of the reader, and why it was chosen.
    understood : dict of str to str
        How the file was read: "encoding", "separator", "quote", "header" and so on.
    columns : tuple of Column
        Columns of a table; empty for other files.
    kinds : dict of str to str
        The kind of every column that documents keep: "date", "number", "category", "text" or "id".
    kind : str
        "counts", "binary" or "real".
    documents, train, validation : int
        Number of documents that are stored, and of those for training and for validation.
    read : int
        Number of documents in the file, without those of no part.
    empty, duplicates : int
        Number of documents without a text or a count, and of those with the content of an earlier one.
    wordless : int
        Number of documents without a word that is kept, empty ones included.
    tokens, tokens_kept : int
        Number of words in all documents before and after the cuts; of real values, of cells.
    words, words_kept : int
        Number of different words before and after the cuts.
    cuts : tuple of Cut
    scripts : tuple of Share
        Scripts of the letters, the most frequent first.
    languages : tuple of Share
        Languages recognised in the texts.
    classes : int
        Number of different labels.
    labels : tuple of (str, int)
        The largest classes and the number of documents in each.
    warnings : tuple of str
        Sentences about probable mistakes.
    notes : tuple of str
        Sentences of the reader.
    options : dict
        Options that differ from their defaults.
    proposed : dict of str to str
        Options that may improve the result, each with a value.
    recommended : tuple of Recommendation
        Options that leave out what says nothing about the subjects of texts, with their effect, given or not.
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
    recommended: tuple[Recommendation, ...] = ()
    kinds: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain JSON values."""
        named = {name: [each._asdict() for each in getattr(self, name)] for name in _PARTS}
        return asdict(self) | named | {"labels": dict(self.labels)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Return the report that :meth:`to_json` wrote."""
        named: dict[str, Any] = {
            name: tuple(kind(**_make_tuples(each)) for each in values.get(name, ())) for name, kind in _PARTS.items()
        }
        named |= {name: tuple(values[name]) for name in ("warnings", "notes")}
        return cls(**dict(values) | named | {"labels": tuple(values["labels"].items())})


_PARTS: dict[str, Callable[..., Any]] = {
    "columns": Column, "cuts": Cut, "scripts": Share, "languages": Share, "recommended": Recommendation,
}  # fmt: skip


def load_report(meta: Mapping[str, Any]) -> Report | None:
    """Load the report stored with a corpus; None if it is missing or damaged."""
    record = meta.get("record")
    try:
        report = None if record is None else Report.from_json(record)
    except (TypeError, KeyError, ValueError, AttributeError):
        return None
    return report if report is None or _is_sound(report) else None


def _is_sound(report: Report) -> bool:
    """Return whether every field of a report has its type, which loading it from JSON does not check."""
    plain = {name: hint for name, hint in Report.__annotations__.items() if hint in (str, int)}
    plain_match = all(type(getattr(report, name)) is hint for name, hint in plain.items())
    texts = [*report.understood.items(), *report.labels]
    return (
        plain_match
        and isinstance(report.options, dict)
        and all(isinstance(each, str) for each in (*report.warnings, *report.notes, *(name for name, _ in texts)))
        and all(isinstance(value, str) for value in report.understood.values())
        and isinstance(report.kinds, dict)
        and all(isinstance(value, str) for value in report.kinds.values())
        and all(isinstance(count, int) for _, count in report.labels)
        and all(isinstance(share.share, int | float) for share in (*report.scripts, *report.languages))
    )


def _make_tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with lists turned into tuples."""
    return {name: tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
            for name, value in values.items()}  # fmt: skip


class ReportLine(NamedTuple):
    """A line of the report: its name and its text."""

    name: str
    text: str


def list_lines(report: Report) -> tuple[ReportLine, ...]:
    """Return the lines of the report, without its warnings and the tables of columns and cuts."""
    return tuple(ReportLine(name, text) for name, text in _write_lines(report) if text)


def list_summary(report: Report) -> tuple[str, ...]:
    """Return the five lines that are printed after an import, before the warnings."""
    guess = {GUESS: report.understood[GUESS]} if GUESS in report.understood else {}
    read = "; ".join(f"{name} {text}" for name, text in (guess | report.understood).items())
    roles = ", ".join(f"{each.role} is {each.name!r}" for each in report.columns if each.role not in ("other", "date"))
    kinds = f"; other columns: {listed}" if (listed := describe_kinds(report.kinds)) else ""
    left_out = ", ".join(plural(cut.words, *CUTS[cut.option]) for cut in report.cuts if cut.words)
    return (
        f"read as {_describe_format(report)}" + (f"; {read}" if read else ""),
        (roles or _describe_kind(report)) + kinds,
        f"{_describe_documents(report)}; {_describe_labels(report) or 'no labels'}",
        f"{plural(report.words, 'different word')} met, {report.words_kept:,} kept"
        + (f"; left out {left_out}" if left_out else ""),
        f"{report.tokens_kept:,} of {plural(report.tokens, 'word')} counted"
        + (f"; {shares}" if (shares := _describe_shares(report.languages) or _describe_shares(report.scripts)) else ""),
    )


def list_columns(report: Report) -> tuple[tuple[str, str, str], ...]:
    """Return the name, the role (or the kind, where the column is kept) and some values of every column."""
    roles = {each.name: each.role for each in report.columns}
    kept = {name: kind for name, kind in report.kinds.items() if roles.get(name) in ("date", "id", "other")}
    return tuple((each.name, kept.get(each.name, each.role), " | ".join(each.samples)) for each in report.columns)


def describe_kinds(kinds: Mapping[str, str]) -> str:
    """Return the names of columns by their kinds: ``posted (date), score, age (number)``."""
    by_kind: dict[str, list[str]] = {}
    for name, kind in kinds.items():
        by_kind.setdefault(kind, []).append(name)
    return ", ".join(f"{_list_names(by_kind[kind])} ({kind})" for kind in KINDS if kind in by_kind)


def _list_names(names: Sequence[str]) -> str:
    """Return the first of some names, separated by commas, and the number of others."""
    others = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {others:,} more" if others > 0 else "")


def list_cuts(report: Report) -> tuple[tuple[str, str, str, str], ...]:
    """Return for every cut its name, the option, the number of words left out, and examples."""
    return tuple(
        (
            CUTS[cut.option][1],
            f"--{cut.option.replace('_', '-')} {cut.setting}",
            f"{plural(cut.words, 'word')}, {cut.tokens:,} times" if cut.words else "none",
            " ".join(cut.examples),
        )
        for cut in report.cuts
    )


def describe_parts(documents: int, train: int, validation: int) -> str:
    """Return the number of documents in each part: ``90 training, 5 validation, 5 test``."""
    parts = [f"{train:,} training", f"{validation:,} validation", f"{documents - train - validation:,} test"]
    return ", ".join(parts if validation else parts[::2])


def describe_addition(added: Mapping[str, Any]) -> str:
    """Describe appended documents in one line."""
    if not {"added", "file", "outside", "tokens_read"} <= added.keys():
        return f"more documents after the first {added['documents']:,}; what is kept of them is damaged"
    outside = f"; {added['outside']:,} of {added['tokens_read']:,} words outside the vocabulary"
    return f"{added['added']:,} documents of {added['file']}, after the first {added['documents']:,}{outside}"


def _write_lines(report: Report) -> Iterator[tuple[str, str]]:
    """Yield the names and texts of all lines, including empty texts."""
    yield "file", report.path
    yield "format", _describe_format(report)
    yield GUESS, report.understood.get(GUESS, "")
    yield from ((name, text) for name, text in report.understood.items() if name != GUESS)
    yield "counts", "" if report.kind == "counts" else _describe_kind(report)
    yield "documents", _describe_documents(report)
    yield "parts", describe_parts(report.documents, report.train, report.validation)
    yield "labels", _describe_labels(report)
    yield "kinds", describe_kinds(report.kinds)
    yield "scripts", _describe_shares(report.scripts)
    yield "languages", _describe_shares(report.languages)
    yield "words", f"{plural(report.tokens, 'word')}, {report.words:,} different"
    share = f" ({100 * report.tokens_kept / report.tokens:.0f}%)" if report.tokens else ""
    yield "kept", f"{plural(report.tokens_kept, 'word')}{share}, {report.words_kept:,} different"
    yield "chosen", ", ".join(f"--{name.replace('_', '-')} {value}" for name, value in report.options.items())


def _describe_format(report: Report) -> str:
    return f"{report.format} ({report.why})" if report.why else report.format


def _describe_documents(report: Report) -> str:
    """Return the number of documents, and of those that are empty, repeated, without words or left out."""
    counts = (
        (report.empty, f"with nothing in {'it' if report.empty == 1 else 'them'}"),
        (report.duplicates, "duplicate" if report.duplicates == 1 else "duplicates"),
        (report.wordless - report.empty, "more without a word that is kept"),
        (report.read - report.documents, "left out"),
    )
    return ", ".join(
        [plural(report.read, "document"), *(f"{count:,} {description}" for count, description in counts if count > 0)]
    )


def _describe_labels(report: Report) -> str:
    if not report.labels:
        return ""
    largest = ", ".join(f"{name} {times:,}" for name, times in report.labels[:LABELS])
    rest = f" and {report.classes - LABELS:,} more" if report.classes > LABELS else ""
    return f"{plural(report.classes, 'class', 'classes')}: {largest}{rest}"


def _describe_shares(shares: Sequence[Share]) -> str:
    large = [each for each in shares if each.share >= _LEAST_SHARE]
    return ", ".join(f"{each.name} {100 * each.share:.{0 if each.share > 0.1 else 1}f}%" for each in large)


def _describe_kind(report: Report) -> str:
    return {"counts": "counts of words", "binary": "only whether a word occurs", "real": "real numbers"}[report.kind]
