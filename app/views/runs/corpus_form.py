"""Corpora: the form that imports one, the import report, imports on their way, and the list."""

from collections.abc import Sequence
from typing import NamedTuple

from app.ingest.report.report import Report, list_columns, list_cuts, list_lines, list_summary
from app.views.markup import draw_delete_button, draw_delete_dialog, draw_icon, write_attributes, write_element
from app.views.runs.new_run_form import (
    FormField,
    draw_error,
    draw_fields,
    draw_form,
    draw_sheet,
    fold_fields,
    name_fields,
)
from app.views.text import end_sentence, escape

_OF_NEW = ("parts", "kept", "chosen")  # lines about a corpus that is new


def draw_report(report: Report, labels: dict[str, str] | None = None, *, vocabulary: bool = True) -> str:
    """Return the whole report of an import.

    Parameters
    ----------
    report : Report
    labels : dict of str, optional
        The labels of options in the form; without them options are named as on the command line.
    vocabulary : bool
        Whether a new vocabulary is made; documents that are appended are counted with the existing one.
    """
    facts = "".join(
        f"<div><dt>{escape(line.name)}</dt><dd>{escape(name_fields(line.text, labels or {}))}</dd></div>"
        for line in list_lines(report)
        if vocabulary or line.name not in _OF_NEW
    )
    columns = _draw_table("Columns", ("column", "role", "values"), list_columns(report))
    rows = [(_shorten_name(row, labels), row[2], row[3]) for row in list_cuts(report)]
    cuts = _draw_table("What is left out of the vocabulary", ("what", "how much", "for example"), rows * vocabulary)
    return f'<div class="tp-report">{list_warnings(report, labels)}<dl>{facts}</dl>{columns}{cuts}</div>'


def list_warnings(report: Report, labels: dict[str, str] | None = None) -> str:
    """Return the warnings as a list, or nothing; options are named as in ``labels``, if there are some."""
    named = [name_fields(warning, labels or {}) for warning in report.warnings]
    items = "".join(f"<li>{escape(end_sentence(said[:1].upper() + said[1:]))}</li>" for said in named)
    return f'<ul class="tp-warnings" aria-label="Warnings">{items}</ul>' if items else ""


def summarise_report(report: Report) -> str:
    """Return the report in five lines, the warnings first."""
    items = "".join(f"<li>{escape(end_sentence(line[:1].upper() + line[1:]))}</li>" for line in list_summary(report))
    return f'{list_warnings(report)}<ul class="tp-notes">{items}</ul>'


def fold_report(report: Report, number: int, added: Sequence[str] = ()) -> str:
    """Return the folded record of corpus ``number``; ``added`` lists what was appended since."""
    more = "".join(f"<li>{escape(line)}</li>" for line in added)
    appended = f'<ul class="tp-notes" aria-label="Appended">{more}</ul>' if more else ""
    about = write_attributes(data_key=f"record{number}")
    return f"<details{about}><summary>How it was read</summary>{draw_report(report)}{appended}</details>"


def _shorten_name(row: tuple[str, str, str, str], labels: dict[str, str] | None) -> str:
    what, option, _, _ = row
    setting = option.partition(" ")
    named = name_fields(setting[0], labels) if labels else setting[0]
    return f"{what} ({named.strip('“”')} {setting[2]})"


def _draw_table(name: str, heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    if not rows:
        return ""
    top = "".join(write_element("th", escape(head), scope="col") for head in heads)
    lines = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    table = f"<table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table>"
    about = write_attributes(class_="tp-report-scroll", tabindex="0", role="region", aria_label=name)
    return f"<h4>{escape(name)}</h4><div{about}>{table}</div>"


FORMATS = (
    (
        "a folder or .zip of .txt, .pdf, .docx, .html, .md, .odt",
        "sub-folders become labels; a table among them describes them",
    ),
    (".csv, .tsv, .jsonl, .json, .xlsx, .parquet", "one document a row"),
    (".csv, .tsv of user, item, count", "also document, word, count; for models of tables"),
    (".csv, .xlsx of a word a column", "document-term matrices"),
    ("UCI bag-of-words", "docword.*.txt with its vocabulary"),
    ("LDA-C, svmlight, MatrixMarket, gensim, .npz", "counts"),
    (".mat, idx images", "with their own test split, or pixels"),
    (".mbox, .eml, MALLET", "one document a message or line"),
    ("Hugging Face, TopMost, OCTIS, WikiExtractor", "their folders"),
    (".gz, .bz2, .xz, .zst, .zip, .tar", "any of these, packed"),
)


class UploadState(NamedTuple):
    """The progress of an upload: ``sent`` files have arrived, ``of`` are being sent; an error."""

    sent: int = 0
    of: int = 0
    error: str = ""

    @property
    def busy(self) -> bool:
        """True while files are being sent."""
        return self.of > 0


class InspectionState(NamedTuple):
    """The inspection of the files: its words and share, the report once it is there, or why they cannot be read."""

    words: str = ""
    share: float | None = None
    report: Report | None = None
    error: str = ""


class ImportState(NamedTuple):
    """The latest state of an import: words, share and notes, its error, and the corpus, empty until it is made.

    Then ``report`` is the record that the corpus keeps, or ``appended`` says what was appended to it.
    """

    words: str
    share: float | None
    notes: Sequence[str]
    error: str
    corpus: str
    report: Report | None = None
    appended: str = ""


def draw_corpus_form(
    address: str,
    sending: UploadState,
    inspection: InspectionState,
    first: Sequence[FormField],
    more: Sequence[FormField],
    error: str,
    *,
    ready: bool,
    labels: dict[str, str],
    into: str = "",
) -> str:
    """Return the form before the import.

    Parameters
    ----------
    address : str
        Where the browser puts the files.
    sending : UploadState
    inspection : InspectionState
        The result of inspecting the files; nothing is shown before files have arrived.
    first, more : sequences of FormField
        The options of reading; those of ``more`` are folded.
    error : str
        A sentence, or empty.
    ready : bool
        Whether it may be sent.
    labels : dict of str
        The labels of the fields, by option.
    into : str
        Name of the corpus that the documents are appended to, or empty.
    """
    read = draw_fields(first) + fold_fields("How files are read", "the defaults are good ones", more)
    parts = [("The documents", _draw_drop_zone(address, sending)), ("The corpus", read)]
    if sending.sent and not sending.busy:
        parts.insert(1, ("What came in", _draw_inspection(inspection, labels, vocabulary=not into)))
    word = f"Append to {escape(into)}" if into else "Make a corpus"
    return draw_form("make", parts, error, word, ready=ready)


def draw_import(state: ImportState) -> str:
    """Return the running import, or its result."""
    notes = "".join(f"<li>Note: {escape(end_sentence(note))}</li>" for note in state.notes)
    note_list = f'<ul class="tp-notes">{notes}</ul>' if notes else ""
    again = '<button class="tp-button" data-do="again">Add other documents</button>'
    if state.error:
        inside = f"<h3>Nothing was stored</h3>{draw_error(state.error)}{note_list}"
        acts = '<button class="tp-button tp-strong" data-do="again">Choose the files again</button>'
    elif state.corpus:
        record = "" if state.report is None else summarise_report(state.report)
        if state.appended:
            record = f"<p>{escape(end_sentence(state.appended[:1].upper() + state.appended[1:]))}</p>"
        inside = f"<h3>{escape(state.corpus)}</h3>{record}{note_list or '<p>Ready to be read by a model.</p>'}"
        acts = f'{again}<button class="tp-button tp-strong" data-do="new">{draw_icon("plus")}New run on it</button>'
    else:
        inside = f'<p class="tp-lead" role="status">{escape(state.words)} …</p>{draw_meter(state.share)}{note_list}'
        inside += '<p class="tp-dim">It continues when this page is closed; the Runs page shows the progress.</p>'
        acts = ""
    back = '<button class="tp-button" data-do="cancel">Back to the runs</button>'
    return f'<div class="tp-form"><fieldset>{inside}</fieldset><div class="tp-form-acts">{back}{acts}</div></div>'


def _draw_inspection(inspection: InspectionState, labels: dict[str, str], *, vocabulary: bool) -> str:
    """Return the report, or the progress of the inspection; the last report stays while a new one is made."""
    if inspection.error:
        return draw_error(inspection.error)
    meter = draw_meter(inspection.share, "Progress of the inspection")
    progress = f'<p class="tp-dim" role="status">{escape(inspection.words)} …</p>{meter}'
    if inspection.report is None:
        return progress
    named = (name_fields(note, labels) for note in inspection.report.notes)
    notes = "".join(f"<li>Note: {escape(end_sentence(note))}</li>" for note in named)
    report = draw_report(inspection.report, labels, vocabulary=vocabulary)
    return (progress if inspection.words else "") + report + (f'<ul class="tp-notes">{notes}</ul>' if notes else "")


def list_formats() -> str:
    """Return the list of formats that can be read."""
    items = "".join(f"<li><b>{escape(name)}</b> {escape(note)}</li>" for name, note in FORMATS)
    return f'<h2 class="tp-h">What can be read</h2><ul>{items}</ul>'


def wrap_page(*parts: str) -> str:
    """Return the page around these parts."""
    return draw_sheet(("Add documents", "They stay on this machine."), *parts)


def _draw_drop_zone(address: str, sending: UploadState) -> str:
    if sending.busy:
        sentence = f"{sending.sent:,} of {sending.of:,} files …"
    elif sending.sent:
        sentence = f"{sending.sent:,} {'file is' if sending.sent == 1 else 'files are'} here."
    else:
        sentence = "Drop files or a folder here, or"
    away = '<button type="button" class="tp-button" data-do="again">Start over</button>'
    return (
        f'<div class="tp-zone{" tp-full" if sending.sent else ""}"{write_attributes(data_upload=address)}>'
        f'<p role="status">{sentence}</p><div class="tp-zone-acts">'
        f"{_draw_file_button('Choose files', 'multiple')}{_draw_file_button('Choose a folder', 'webkitdirectory')}"
        f"{away if sending.sent and not sending.busy else ''}</div>{draw_error(sending.error)}"
        f'<aside class="tp-zone-kinds">{list_formats()}</aside></div>'
    )


def _draw_file_button(word: str, kind: str) -> str:
    hint = write_attributes(aria_label=word)
    return f'<label class="tp-button tp-file">{word}<input type="file" {kind}{hint}></label>'


def draw_meter(share: float | None, label: str = "Progress of the import") -> str:
    """Return how much is done, 0 to 1, as a bar; empty if it is not known."""
    if share is None:
        return ""
    now = {"aria_valuenow": round(100 * share), "aria_valuemin": 0, "aria_valuemax": 100}
    inside = f'<i style="width:{100 * share:.1f}%"></i>'
    return write_element("div", inside, class_="tp-meter tp-running", role="progressbar", aria_label=label, **now)


class CorpusFacts(NamedTuple):
    """A corpus: its number, name, sizes, the notes of its reader, its record and what was appended to it."""

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
    items = "".join(map(_draw_corpus, sorted(rows, key=lambda row: -row.number)))
    return f'<section class="tp-corpora"><h2>In this store</h2><ul aria-label="Corpora">{items}</ul></section>'


def _draw_corpus(row: CorpusFacts) -> str:
    classes = f", {row.classes:,} classes" if row.classes else ""
    notes = "".join(f'<div class="tp-dim">Note: {escape(end_sentence(note))}</div>' for note in row.notes)
    record = "" if row.record is None else fold_report(row.record, row.number, row.added)
    return (
        f"<li{write_attributes(data_key=row.number)}><div><b>"
        f'{escape(row.name)}</b> <span class="tp-dim">{row.documents:,} '
        f"documents, {row.words:,} words{classes}</span>{notes}{record}</div>"
        f"{draw_delete_button('corpus', row.number)}"
        f"{draw_delete_dialog('corpus', row.number, row.name, 'The files it was made of stay where they are.')}</li>"
    )


class ImportFacts(NamedTuple):
    """An import: its number, what is added, its progress or why nothing was stored, and the share done."""

    number: int
    name: str
    sentence: str
    share: float | None
    failed: bool


def draw_imports(imports: Sequence[ImportFacts]) -> str:
    """Return a row for every import; empty if there is none."""
    rows = "".join(_draw_failed_import(each) if each.failed else _draw_running_import(each) for each in imports)
    return f'<ul class="tp-adding" aria-label="Imports">{rows}</ul>' if rows else ""


def _draw_running_import(each: ImportFacts) -> str:
    bar = draw_meter(each.share, f"Progress of adding {each.name}")
    sentence = f"Adding “{escape(each.name)}”: {escape(each.sentence)} …"
    return f'<li{write_attributes(data_key=f"import{each.number}")}><p role="status">{sentence}</p>{bar}</li>'


def _draw_failed_import(each: ImportFacts) -> str:
    acts = "".join(
        f'<button class="tp-button"{write_attributes(data_do=do, data_import=each.number)}>{word}</button>'
        for do, word in (("add-again", "Choose the files again"), ("dismiss", "Dismiss"))
    )
    why = f'<p class="tp-error" role="alert">“{escape(each.name)}” was not added. {escape(each.sentence)}</p>'
    return f'<li{write_attributes(data_key=f"import{each.number}")}>{why}<div class="tp-title-acts">{acts}</div></li>'
