"""A report in words, as the command, the library and the pages show it: rows of a name and what is said of it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from app.ingest.column_samples import Column
from app.ingest.cuts import Cut
from app.ingest.report import Report, Share
from app.ingest.source import GUESS

LABELS = 6  # classes named
CUTS = {  # what takes words away, by its option, one and several
    "stop_words": ("stop word", "stop words"),
    "leave_out_common": ("word that is everywhere", "words that are everywhere"),
    "min_df": ("rare word", "rare words"),
    "max_df": ("common word", "common words"),
    "max_words": ("word beyond the most that are kept", "words beyond the most that are kept"),
}
_LEAST_SHARE = 0.0005  # of a script that is named


class Line(NamedTuple):
    """A row of the report: its name and what is said."""

    name: str
    said: str


def lines(report: Report) -> tuple[Line, ...]:
    """The whole report but its columns and cuts, which are tables (`columns`, `cuts`), and its warnings."""
    return tuple(Line(name, said) for name, said in _lines(report) if said)


def summary(report: Report) -> tuple[str, ...]:
    """The report in five lines, as they stand after an import; warnings come after them."""
    guess = {GUESS: report.understood[GUESS]} if GUESS in report.understood else {}
    read = "; ".join(f"{name} {said}" for name, said in (guess | report.understood).items())
    roles = ", ".join(f"{each.role} is {each.name!r}" for each in report.columns if each.role not in ("other", "date"))
    taken = ", ".join(_number(cut.words, *CUTS[cut.option]) for cut in report.cuts if cut.words)
    return (
        f"read as {_format(report)}" + (f"; {read}" if read else ""),
        roles or _kind(report),
        f"{_documents(report)}; {_labels(report) or 'no labels'}",
        f"{_number(report.words, 'different word')} met, {report.words_kept:,} kept"
        + (f"; left out {taken}" if taken else ""),
        f"{report.tokens_kept:,} of {_number(report.tokens, 'word')} counted"
        + (f"; {spoken}" if (spoken := _shares(report.languages) or _shares(report.scripts)) else ""),
    )


def columns(report: Report) -> tuple[tuple[str, str, str], ...]:
    """Of every column its name, its role and some values."""
    return tuple((each.name, each.role, _samples(each)) for each in report.columns)


def cuts(report: Report) -> tuple[tuple[str, str, str, str], ...]:
    """Of every cut what falls, the option that says so, how much falls, and examples."""
    return tuple(
        (CUTS[cut.option][1], f"--{cut.option.replace('_', '-')} {cut.setting}", _fallen(cut), " ".join(cut.examples))
        for cut in report.cuts
    )


def appended(added: Mapping[str, Any]) -> str:
    """What a corpus keeps of documents that were appended, as a line."""
    if not {"added", "file", "outside", "tokens_read"} <= added.keys():
        return f"more documents after the first {added['documents']:,}; what is kept of them is damaged"
    outside = f"; {added['outside']:,} of {added['tokens_read']:,} words outside the vocabulary"
    return f"{added['added']:,} documents of {added['file']}, after the first {added['documents']:,}{outside}"


def _lines(report: Report) -> Iterator[tuple[str, str]]:
    yield "file", report.path
    yield "format", _format(report)
    yield GUESS, report.understood.get(GUESS, "")
    yield from ((name, said) for name, said in report.understood.items() if name != GUESS)
    yield "counts", "" if report.kind == "counts" else _kind(report)
    yield "documents", _documents(report)
    yield "parts", f"{report.train:,} to train on, {report.documents - report.train:,} for the test"
    yield "labels", _labels(report)
    yield "scripts", _shares(report.scripts)
    yield "languages", _shares(report.languages)
    yield "words", f"{_number(report.tokens, 'word')}, {report.words:,} different"
    share = f" ({100 * report.tokens_kept / report.tokens:.0f} %)" if report.tokens else ""
    yield "kept", f"{_number(report.tokens_kept, 'word')}{share}, {report.words_kept:,} different"
    yield "chosen", ", ".join(f"--{name.replace('_', '-')} {value}" for name, value in report.options.items())


def _format(report: Report) -> str:
    return f"{report.format} ({report.why})" if report.why else report.format


def _documents(report: Report) -> str:
    said = [_number(report.read, "document")]
    said += (
        [f"{report.empty:,} with nothing in it" if report.empty == 1 else f"{report.empty:,} with nothing in them"]
        if report.empty
        else []
    )
    same = f"{report.duplicates:,} with the content of one before"
    said += [same] if report.duplicates else []
    without = report.wordless - report.empty
    said += [f"{without:,} more without a word that is kept"] if without > 0 else []
    said += [f"{report.read - report.documents:,} left out"] if report.read > report.documents else []
    return ", ".join(said)


def _labels(report: Report) -> str:
    if not report.labels:
        return ""
    named = ", ".join(f"{name} {times:,}" for name, times in report.labels[:LABELS])
    more = f" and {report.classes - LABELS:,} more" if report.classes > LABELS else ""
    return f"{_number(report.classes, 'class', 'classes')}: {named}{more}"


def _shares(shares: Sequence[Share]) -> str:
    seen = [each for each in shares if each.share >= _LEAST_SHARE]
    return ", ".join(f"{each.name} {100 * each.share:.{0 if each.share > 0.1 else 1}f} %" for each in seen)


def _kind(report: Report) -> str:
    return {"counts": "counts of words", "binary": "only whether a word occurs", "real": "real numbers"}[report.kind]


def _samples(column: Column) -> str:
    return " | ".join(column.samples)


def _fallen(cut: Cut) -> str:
    return f"{_number(cut.words, 'word')}, {cut.tokens:,} times" if cut.words else "none"


def _number(n: int, what: str, several: str = "") -> str:
    return f"{n:,} {what if n == 1 else several or what + 's'}"
