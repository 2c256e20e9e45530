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
from topiary.app.names import plural
from topiary.app.views.markup import draw_delete_button, draw_delete_dialog, draw_icon, write_attributes, write_element
from topiary.app.views.runs.new_run_form import (
    FormField,
    draw_error,
    draw_fields,
    draw_form,
    draw_sheet,
    fold_fields,
    name_fields,
)
from topiary.app.views.text import end_sentence, escape

_NEW_CORPUS_LINES = ("parts", "kept", "chosen")  # lines of a report that only concern a new corpus


def draw_report(report: Report, labels: dict[str, str] | None = None, *, vocabulary: bool = True) -> str:
    """Return the whole report of an import.

    Parameters
    ----------
    report : Report
    labels : dict of str, optional
        The labels of options in the form; without them options are named as on the command line.
    vocabulary : bool
        Whether a new vocabulary is made; appended documents are counted with the existing one.
    """
    facts = "".join(
        f"<div><dt>{escape(line.name)}</dt><dd>{escape(name_fields(line.text, labels or {}))}</dd></div>"
        for line in list_lines(report)
        if vocabulary or line.name not in _NEW_CORPUS_LINES
    )
    columns = _draw_table("Columns", ("column", "role or kind", "values"), list_columns(report))
    rows = [(_shorten_name(row, labels), row[2], row[3]) for row in list_cuts(report)]
    cuts = _draw_table("What is left out of the vocabulary", ("what", "how much", "for example"), rows * vocabulary)
    return f'<div class="tp-report">{list_warnings(report, labels)}<dl>{facts}</dl>{columns}{cuts}</div>'


def list_warnings(report: Report, labels: dict[str, str] | None = None) -> str:
    """Return the warnings as a list, or an empty text; ``labels`` are the labels of options in the form, if any."""
    sentences = [name_fields(warning, labels or {}) for warning in report.warnings]
    items = "".join(f"<li>{escape(end_sentence(sentence[:1].upper() + sentence[1:]))}</li>" for sentence in sentences)
    return f'<ul class="tp-warnings" aria-label="Warnings">{items}</ul>' if items else ""


def summarise_report(report: Report) -> str:
    """Return a summary of the report, with the warnings first."""
    items = "".join(f"<li>{escape(end_sentence(line[:1].upper() + line[1:]))}</li>" for line in list_summary(report))
    return f'{list_warnings(report)}<ul class="tp-notes">{items}</ul>'


def fold_report(report: Report, number: int, added: Sequence[str] = ()) -> str:
    """Return the folded record of corpus ``number``; ``added`` lists what was appended since."""
    items = "".join(f"<li>{escape(line)}</li>" for line in added)
    appended = f'<ul class="tp-notes" aria-label="Appended">{items}</ul>' if items else ""
    attributes = write_attributes(data_key=f"record{number}")
    return f"<details{attributes}><summary>How it was read</summary>{draw_report(report)}{appended}</details>"


def _shorten_name(row: tuple[str, str, str, str], labels: dict[str, str] | None) -> str:
    what, option, _, _ = row
    setting = option.partition(" ")
    label = name_fields(setting[0], labels) if labels else setting[0]
    return f"{what} ({label.strip('“”')} {setting[2]})"


def _draw_table(name: str, headings: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    if not rows:
        return ""
    header = "".join(write_element("th", escape(heading), scope="col") for heading in headings)
    lines = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    table = f"<table><thead><tr>{header}</tr></thead><tbody>{lines}</tbody></table>"
    about = write_attributes(class_="tp-report-scroll", tabindex="0", role="region", aria_label=name)
    return f"<h4>{escape(name)}</h4><div{about}>{table}</div>"


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


class UploadState(NamedTuple):
    """The progress of an upload: the files received so far, the files being sent (0 = none), and an error."""

    sent: int = 0
    of: int = 0
    error: str = ""

    @property
    def busy(self) -> bool:
        """True while files are being sent."""
        return self.of > 0


class InspectionState(NamedTuple):
    """The inspection of uploaded files: its progress in words and as a share, then the report or an error."""

    words: str = ""
    share: float | None = None
    report: Report | None = None
    error: str = ""


class ImportState(NamedTuple):
    """The latest state of an import: its progress in words and as a share, its notes, its error, and its corpus.

    ``corpus`` is empty until the import has succeeded.  Then ``report`` is the record stored with a new corpus, or
    ``appended`` says what was appended to an existing one.
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
    taken: Collection[str] = (),
    declined: Collection[str] = (),
) -> str:
    """Return the form in which files are uploaded and an import is set up.

    Parameters
    ----------
    address : str
        The address to which the browser uploads the files.
    sending : UploadState
    inspection : InspectionState
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
    options = draw_fields(first) + fold_fields("How files are read", "the defaults usually fit", more)
    parts = [("The documents", _draw_drop_zone(address, sending)), ("The corpus", options)]
    if sending.sent and not sending.busy:
        recommendations = "" if into else draw_recommendations(inspection.report, taken, declined)
        came_in = recommendations + _draw_inspection(inspection, labels, vocabulary=not into)
        parts.insert(1, ("What came in", came_in))
    button_text = f"Append to {escape(into)}" if into else "Make a corpus"
    return draw_form("make", parts, error, button_text, ready=ready)


def draw_import(state: ImportState) -> str:
    """Return the progress of an import, or its result."""
    notes = "".join(f"<li>Note: {escape(end_sentence(note))}</li>" for note in state.notes)
    note_list = f'<ul class="tp-notes">{notes}</ul>' if notes else ""
    again_button = '<button class="tp-button" data-do="again">Add other documents</button>'
    if state.error:
        inside = f"<h3>Nothing was stored</h3>{draw_error(state.error)}{note_list}"
        acts = '<button class="tp-button tp-strong" data-do="again">Choose the files again</button>'
    elif state.corpus:
        record = "" if state.report is None else summarise_report(state.report)
        if state.appended:
            record = f"<p>{escape(end_sentence(state.appended[:1].upper() + state.appended[1:]))}</p>"
        inside = f"<h3>{escape(state.corpus)}</h3>{record}{note_list or '<p>Ready to be read by a model.</p>'}"
        acts = (
            f'{again_button}<button class="tp-button tp-strong" data-do="new">{draw_icon("plus")}New run on it</button>'
        )
    else:
        inside = f'<p class="tp-lead" role="status">{escape(state.words)} …</p>{draw_meter(state.share)}{note_list}'
        inside += '<p class="tp-dim">It continues when this page is closed; the Runs page shows the progress.</p>'
        acts = ""
    back = '<button class="tp-button" data-do="cancel">Back to the runs</button>'
    return f'<div class="tp-form"><fieldset>{inside}</fieldset><div class="tp-form-acts">{back}{acts}</div></div>'


MOST_COMMON = 24  # common words listed


def draw_recommendations(report: Report | None, taken: Collection[str], declined: Collection[str]) -> str:
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
    lines = (("Words in most documents", advice.before), ("without them", advice.after))
    effect = "".join(f"<div><dt>{name}</dt><dd>{escape(' '.join(words))}</dd></div>" for name, words in lines)
    take = write_element(
        "button",
        f"Leave out {what}",
        type="button",
        class_="tp-button tp-strong",
        data_do="take",
        data_option=advice.option,
        aria_label=f"Leave out {what} (recommended)",
    )
    decline = write_element(
        "button", f"Keep {what}", type="button", class_="tp-button", data_do="decline", data_option=advice.option
    )
    buttons = decline if taken else f'{take}<span class="tp-dim">recommended</span>{decline}'
    about = write_attributes(data_key=f"advice {advice.option}", aria_label=f"Leave out {what}")
    return (
        f'<section class="tp-advice{" tp-taken" if taken else ""}"{about}><p><b>{escape(reason)}</b></p>'
        f'<dl>{effect}</dl><div class="tp-zone-acts">{buttons}</div></section>'
    )


def _draw_inspection(inspection: InspectionState, labels: dict[str, str], *, vocabulary: bool) -> str:
    """Return the report, or the progress of the inspection; the last report stays until the next is ready."""
    if inspection.error:
        return draw_error(inspection.error)
    meter = draw_meter(inspection.share, "Progress of the inspection")
    progress = f'<p class="tp-dim" role="status">{escape(inspection.words)} …</p>{meter}'
    if inspection.report is None:
        return progress
    drawn = set(map(describe_recommendation, inspection.report.recommended))  # shown as boxes with buttons
    named = (name_fields(note, labels) for note in inspection.report.notes if note not in drawn)
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
        sentence = f"{plural(sending.sent, 'file is', 'files are')} here."
    else:
        sentence = "Drop files or a folder here, or"
    restart_button = '<button type="button" class="tp-button" data-do="again">Start over</button>'
    return (
        f'<div class="tp-zone{" tp-full" if sending.sent else ""}"{write_attributes(data_upload=address)}>'
        f'<p role="status">{sentence}</p><div class="tp-zone-acts">'
        f"{_draw_file_button('Choose files', 'multiple')}{_draw_file_button('Choose a folder', 'webkitdirectory')}"
        f"{restart_button if sending.sent and not sending.busy else ''}</div>{draw_error(sending.error)}"
        f'<aside class="tp-zone-kinds">{list_formats()}</aside></div>'
    )


def _draw_file_button(word: str, kind: str) -> str:
    hint = write_attributes(aria_label=word)
    return f'<label class="tp-button tp-file">{word}<input type="file" {kind}{hint}></label>'


def draw_meter(share: float | None, label: str = "Progress of the import") -> str:
    """Return a progress bar for the share done, 0 to 1; empty if it is not known."""
    if share is None:
        return ""
    now = {"aria_valuenow": round(100 * share), "aria_valuemin": 0, "aria_valuemax": 100}
    inside = f'<i style="width:{100 * share:.1f}%"></i>'
    return write_element("div", inside, class_="tp-meter tp-running", role="progressbar", aria_label=label, **now)


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
    """An import: its number, what is added, its progress or the reason why it failed, and the share done."""

    number: int
    name: str
    sentence: str
    share: float | None
    failed: bool


def draw_imports(imports: Sequence[ImportFacts]) -> str:
    """Return a row for every import; empty if there is none."""
    rows = "".join(_draw_failed_import(facts) if facts.failed else _draw_running_import(facts) for facts in imports)
    return f'<ul class="tp-adding" aria-label="Imports">{rows}</ul>' if rows else ""


def _draw_running_import(facts: ImportFacts) -> str:
    bar = draw_meter(facts.share, f"Progress of adding {facts.name}")
    sentence = f"Adding “{escape(facts.name)}”: {escape(facts.sentence)} …"
    return f'<li{write_attributes(data_key=f"import{facts.number}")}><p role="status">{sentence}</p>{bar}</li>'


def _draw_failed_import(each: ImportFacts) -> str:
    acts = "".join(
        f'<button class="tp-button"{write_attributes(data_do=do, data_import=each.number)}>{word}</button>'
        for do, word in (("add-again", "Choose the files again"), ("dismiss", "Dismiss"))
    )
    message = f'<p class="tp-error" role="alert">“{escape(each.name)}” was not added. {escape(each.sentence)}</p>'
    return (
        f'<li{write_attributes(data_key=f"import{each.number}")}>{message}<div class="tp-title-acts">{acts}</div></li>'
    )
