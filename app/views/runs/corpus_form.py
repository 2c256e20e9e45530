"""The views of corpora: the import form, the import report, imports in progress, and the list of corpora."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from topiary.app.ingest.report import (
    STRIP_MAIL,
    Recommendation,
    Report,
    describe_recommendation,
    list_columns,
    list_cuts,
    list_lines,
    list_summary,
)
from topiary.app.jobs.ingest_process import ImportStatus, InspectionStatus
from topiary.app.names import plural
from topiary.app.views.html import render
from topiary.app.views.runs.new_run_form import FormField, draw_sheet, name_fields
from topiary.app.views.text import end_sentence

_NEW_CORPUS_LINES = ("parts", "kept", "chosen")  # lines of a report that only concern a new corpus


def _draw_report(report: Report, labels: dict[str, str] | None = None, *, vocabulary: bool = True) -> str:
    """Return the whole report of an import.

    Parameters
    ----------
    labels : dict of str, optional
        The labels of options in the form; without them options are named as on the command line.
    vocabulary : bool
        Whether a new vocabulary is made; appended documents are counted with the existing one.
    """
    lines = [
        (line.name, name_fields(line.text, labels or {}))
        for line in list_lines(report)
        if vocabulary or line.name not in _NEW_CORPUS_LINES
    ]
    cuts = [(_shorten_name(row, labels), row[2], row[3]) for row in list_cuts(report) if vocabulary]
    return render("forms.report", _list_warnings(report, labels or {}), lines, list_columns(report), cuts)


def _list_warnings(report: Report, labels: dict[str, str]) -> list[str]:
    return [_write_sentence(name_fields(warning, labels)) for warning in report.warnings]


def _write_sentence(text: str) -> str:
    return end_sentence(text[:1].upper() + text[1:])


def _shorten_name(row: tuple[str, str, str, str], labels: dict[str, str] | None) -> str:
    what, option, _, _ = row
    setting = option.partition(" ")
    label = name_fields(setting[0], labels) if labels else setting[0]
    return f"{what} ({label.strip('“”')} {setting[2]})"


FORMATS = (
    (
        "a folder or .zip of .txt, .pdf, .docx, .html, .md, .odt",
        "sub-folders become labels; a table among them, or a .json next to each, describes them",
    ),
    (".csv, .tsv, .jsonl, .json, .xlsx, .parquet", "one document a row"),
    (".csv, .tsv of user, item, count", "also document, word, count; for models of tables"),
    (".csv, .xlsx of a word a column", "document-term matrices"),
    ("UCI bag-of-words", "docword.*.txt with its vocabulary"),
    ("LDA-C, svmlight, MatrixMarket, gensim, .npz", "counts"),
    (".mat, idx images", "with their own test split, or pixels"),
    (".mbox, .eml, MALLET", "one document a message or line"),
    ("IRaMuTeQ, Orange .tab", "with their variables"),
    ("captions: .srt, .vtt, .json", "one document a recording"),
    ("Hugging Face, TopMost, OCTIS, WikiExtractor", "their folders"),
    (".gz, .bz2, .xz, .zst, .zip, .tar", "any of these, packed"),
)


_MOST_NAMED = 30  # files and folders that are listed


class UploadState(NamedTuple):
    """The progress of an upload.

    Attributes
    ----------
    sent, of : int
        Files received so far, and files being sent (0 = none).
    error : str
        A sentence on what went wrong.
    names : sequence of str
        Files and folders that are here, each of which can be removed.
    """

    sent: int = 0
    of: int = 0
    error: str = ""
    names: Sequence[str] = ()

    @property
    def busy(self) -> bool:
        """True while files are being sent."""
        return self.of > 0


def draw_corpus_form(
    address: str,
    sending: UploadState,
    inspection: InspectionStatus,
    first: Sequence[FormField],
    more: Sequence[FormField],
    error: str,
    *,
    ready: bool,
    labels: dict[str, str],
    into: str = "",
    taken: Collection[str] = (),
    declined: Collection[str] = (),
) -> str:
    """Return the form in which files are uploaded and an import is set up.

    Parameters
    ----------
    address : str
        The address to which the browser uploads the files.
    inspection : InspectionStatus
        The inspection of the files; it is not shown before files have arrived.
    first, more : sequences of FormField
        The options for reading files; those in ``more`` are folded.
    error : str
        A sentence, or empty.
    ready : bool
        Whether the form may be sent.
    labels : dict of str
        The labels of the fields, by option.
    into : str
        The name of the corpus to which the documents are appended, or empty.
    taken, declined : collections of str
        The recommended options that are chosen, and those that were declined.
    """
    came_in = None
    if sending.busy:
        sentence = f"{sending.sent:,} of {sending.of:,} files …"
    elif sending.sent:
        sentence = f"{plural(sending.sent, 'file is', 'files are')} here."
        recommendations = "" if into else _draw_recommendations(inspection.report, taken, declined)
        came_in = recommendations + _draw_inspection(inspection, labels, vocabulary=not into)
    else:
        sentence = "Drop files or a folder here, or"
    word = f"Append to {into}" if into else "Make a corpus"
    return render(
        "forms.new_corpus", address, sending, sentence, came_in, first, more, error, word, ready, FORMATS, _MOST_NAMED
    )


def draw_import(status: ImportStatus, corpus: str, report: Report | None) -> str:
    """Return the progress of an import, or its result.

    Parameters
    ----------
    corpus : str
        The name of the corpus; empty until the import has succeeded.
    report : Report or None
        The record that is stored with a new corpus.
    """
    notes = [f"Note: {end_sentence(note)}" for note in status.notes]
    record = ""
    if status.appended:
        record = render("forms.paragraph", _write_sentence(status.appended))
    elif report is not None:
        lines = [_write_sentence(line) for line in list_summary(report)]
        record = render("forms.summary", _list_warnings(report, {}), lines)
    return render("forms.result", status, corpus, record, notes)


MOST_COMMON = 24  # common words listed


def _draw_recommendations(report: Report | None, taken: Collection[str], declined: Collection[str]) -> str:
    """Return a box for every recommended option, with its effect and a button that takes or declines it.

    Parameters
    ----------
    report : Report or None
        The report of the files, if there is one.
    taken, declined : collections of str
        The options that are chosen, and those that were declined and have no box.
    """
    recommended = () if report is None else report.recommended
    return "".join(
        _draw_recommendation(each, taken=each.option in taken) for each in recommended if each.option not in declined
    )


def _draw_recommendation(advice: Recommendation, *, taken: bool) -> str:
    is_mail = advice.option == STRIP_MAIL
    what = "headers and quotes" if is_mail else "these words"
    if is_mail and taken:
        reason = f"Headers, quoted lines and signatures of {advice.documents:,} messages are left out."
    elif is_mail:
        reason = f"These look like messages: {advice.documents:,} begin with From: and Subject:."
    else:
        words = ", ".join(advice.words[:MOST_COMMON])
        rest = f" and {len(advice.words) - MOST_COMMON:,} more" if len(advice.words) > MOST_COMMON else ""
        are = plural(len(advice.words), "word is", "words are")
        where = "and left out" if taken else "and may say little about the subjects"
        reason = f"{are} in documents of every kind {where}: {words}{rest}."
    effects = (("Words in most documents", advice.before), ("without them", advice.after))
    return render("forms.advice", advice.option, what, reason, effects, taken)


def _draw_inspection(inspection: InspectionStatus, labels: dict[str, str], *, vocabulary: bool) -> str:
    """Return the report, or the progress of the inspection; the last report stays until the next is ready."""
    report = inspection.report
    if inspection.error:
        return render("macros.error", inspection.error)
    if report is None:
        return render("forms.inspection", inspection.words, inspection.share, "", ())
    shown = set(map(describe_recommendation, report.recommended))  # as boxes with buttons
    notes = [f"Note: {end_sentence(name_fields(note, labels))}" for note in report.notes if note not in shown]
    drawn = _draw_report(report, labels, vocabulary=vocabulary)
    return render("forms.inspection", inspection.words, inspection.share, drawn, notes)


def wrap_page(*parts: str) -> str:
    """Return the page around these parts."""
    return draw_sheet(("Add documents", "They stay on this machine."), *parts)


class CorpusFacts(NamedTuple):
    """A corpus: its number, name and sizes, the notes of its reader, its import report, and what was appended."""

    number: int
    name: str
    documents: int
    words: int
    classes: int
    notes: Sequence[str]
    record: Report | None = None
    added: Sequence[str] = ()


def draw_corpora(rows: Sequence[CorpusFacts]) -> str:
    """Return every corpus as a row, the newest first; empty if there is none."""
    if not rows:
        return ""
    newest = sorted(rows, key=lambda row: -row.number)
    return render("forms.corpora", [(row, row.record and _draw_report(row.record)) for row in newest])


class ImportFacts(NamedTuple):
    """An import: its number, what is added, its progress or the reason why it failed, and the share done."""

    number: int
    name: str
    sentence: str
    share: float | None
    failed: bool


def draw_imports(imports: Sequence[ImportFacts]) -> str:
    """Return a row for every import; empty if there is none."""
    return render("forms.imports", imports) if imports else ""
