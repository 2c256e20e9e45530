"""The form that adds documents: the browser uploads files, and another process makes a corpus from them."""

from dataclasses import replace
from functools import partial
from pathlib import Path, PurePath
from time import sleep
from typing import Any

from topiary.app.analysis.refinements import describe_conditions, read_origin
from topiary.app.ingest import options, packing
from topiary.app.ingest.options import ImportOptions, OptionError
from topiary.app.ingest.report import (
    LEAVE_OUT_COMMON,
    STRIP_MAIL,
    Report,
    describe_addition,
    describe_parts,
    load_report,
)
from topiary.app.ingest.source import COLUMNS
from topiary.app.ingest.text.cleaning import make_storable
from topiary.app.jobs import progress
from topiary.app.jobs.ingest_process import ImportStatus, InspectionStatus, RunningImport, RunningInspection
from topiary.app.jobs.uploads import ADDRESS, SEVERAL
from topiary.app.pages.components import Board
from topiary.app.pages.form_fields import LABELS, make_option_field, reword_options
from topiary.app.pages.messages import MessagePart, on
from topiary.app.pages.session import Context
from topiary.app.views.runs.corpus_form import (
    CorpusFacts,
    UploadState,
    draw_corpora,
    draw_corpus_form,
    draw_import,
    wrap_page,
)
from topiary.app.views.runs.new_run_form import FormField, name_labels
from topiary.store import corpora, corpus_rows, corpus_writer

# Options that are never folded away; for files with columns, neither are COLUMNS.
FIRST = ("name", "stop_words", "max_words")
CELLS = ("separator", "quote")  # not folded away for files with separated cells
RECOMMENDABLE = (STRIP_MAIL, LEAVE_OUT_COMMON)
PROPOSED = ("name_fields", "split")  # not folded away if a value is proposed or set
PAUSE = 0.4  # seconds without a change before the files are inspected again
_ENDINGS = frozenset(  # besides those of documents
    (
        ".zip", ".csv", ".tsv", ".tab", ".jsonl", ".ndjson", ".mallet", ".bow", ".dat", ".ldac", ".lda-c",
        ".mtx",
        ".mat", ".svmlight", ".libsvm", ".svm", ".feat", ".json", ".parquet", ".arrow", ".feather", ".xlsx", ".xlsm",
        ".npz", ".npy", ".mm", ".mbox", ".mbx", ".eml", ".tar", ".tgz", ".tbz2", ".txz", ".tzst", ".bib", ".bibtex",
        ".ris", ".enw", ".ciw", ".nbib", ".medline", ".rss", ".atom",
    )
)  # fmt: skip


class NewCorpusForm(MessagePart):
    """The form for a new corpus in one session."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.board = Board("", self.handle)
        self._formats: tuple[tuple[str, str], ...] = ()
        self._corpora: list[CorpusFacts] = []
        self._token = ""
        self._sending = UploadState()
        self._n_before = 0  # number of files received before the current upload
        self._texts: dict[str, str] = {}
        self._into = ""  # number of the corpus to append to, as text; empty for a new corpus
        self._unreadable: list[str] = []  # names of single files of unknown formats
        self._makeshift_name = ""  # the corpus's name while it is only taken from such a file
        self._import: RunningImport | None = None
        self._status = ImportStatus()
        self._corpus = ""
        self._record: Report | None = None
        self._progress = InspectionStatus(words="")
        self._report: Report | None = None  # the latest report, shown until the next one is ready
        self._inspection: RunningInspection | None = None
        self._turn = 0  # number of the latest inspection, to recognise outdated ones
        self._inspected_options: dict[str, Any] | None = None  # the options of the last inspection
        self._declined: set[str] = set()  # recommended options that the visitor does not want
        context.on_close(self._close)

    def _close(self) -> None:
        self._stop_inspection()
        self._context.actions.uploads.forget(self._token)

    def refresh(self) -> None:
        """Draw the form with a URL for uploads, and read the corpora of the store again."""
        if not self._token and self._import is None:
            self._token = self._context.actions.uploads.begin()
        self._draw()
        self._context.later(self._read, self._receive_corpora)

    def _read(self) -> tuple[tuple[tuple[str, str], ...], list[CorpusFacts]]:
        """Return the formats, each with its description, and the corpora of the store."""
        from topiary.app.ingest import registry  # loads readers of files, which no other page needs

        formats = tuple((reader.name, reader.description.partition(":")[0]) for reader in registry.list_readers())
        return formats, [_list_facts(row) for row in corpora.list_corpora(self._context.db)]

    def _receive_corpora(self, formats_and_corpora: tuple[tuple[tuple[str, str], ...], list[CorpusFacts]]) -> None:
        self._formats, self._corpora = formats_and_corpora
        self._draw()

    @on("cancel")
    def _leave(self) -> None:
        self._view.tab = ""

    @on("new", "again")
    def _leave_result(self, do: str) -> None:
        """Go on to a run on the new corpus, or begin with other documents."""
        self._start_over()
        if do == "again":
            self.refresh()
        else:
            self._view.tab = "new"

    @on("sending")
    def _show_upload(self, sent: int, of: int, form: dict[str, Any]) -> None:
        self._remember(form)
        self._sending = UploadState(sent, of)
        self._draw()

    @on("not-sent")
    def _show_refusal(self, value: str) -> None:
        self._sending = UploadState(self._n_before, error=value[:300])
        self._draw()

    @on("typed")
    def _take_texts(self, form: dict[str, Any]) -> None:
        self._remember(form)
        self._inspect()
        self._draw()

    @on("make")
    def _make(self, form: dict[str, Any]) -> None:
        self._remember(form)
        self._start_import()

    @on("sent")
    def _receive_files(self, name: str, of: int, failed: str = "") -> None:
        self._n_before += of
        self._name_corpus(name, of)
        self._take_stock(failed[:300])

    @on("remove")
    def _remove(self, value: str) -> None:
        """Remove a file or folder that was sent, and inspect the others."""
        self._n_before -= self._context.actions.uploads.remove(self._token, value)
        if self._n_before <= 0:
            self._start_over()
            self.refresh()
            return
        self._unreadable = [name for name in self._unreadable if name != value[:100]]
        self._take_stock()

    def _take_stock(self, failed: str = "") -> None:
        """Inspect what is here, and say what was not sent or cannot be read."""
        said = [f"{failed}." if failed else "", _explain_left_out(self._unreadable)]
        self._sending = UploadState(self._n_before, error=" ".join(filter(None, said)))
        self._inspected_options = None
        self._inspect()
        self._draw()

    @on("take", "decline")
    def _choose_recommended(self, do: str, option: str) -> None:
        """Take a recommended option, or decline it; a declined one is no longer shown."""
        if option not in RECOMMENDABLE:
            return
        taken = do == "take"
        self._texts[option] = str(taken).lower()
        self._declined = self._declined - {option} if taken else self._declined | {option}
        self._inspect()
        self._draw()

    def _name_corpus(self, file_name: str, n_files: int) -> None:
        """Name the corpus after the files, unless it has a name that was typed or taken from a readable file."""
        is_readable = (
            not file_name or n_files > 1 or _can_be_read(file_name)
        )  # an empty name: several files; a name with several files: a folder
        if not is_readable:
            self._unreadable.append(file_name[:100])
        previous_name = self._texts.get("name", "")
        if not previous_name or (is_readable and previous_name == self._makeshift_name):
            self._texts["name"] = packing.strip_endings(PurePath(file_name or SEVERAL))[:200]
            self._makeshift_name = "" if is_readable else self._texts["name"]

    @on("delete")
    def _delete(self, corpus: int, typed: str) -> None:
        if typed.strip() == str(corpus) and any(row.number == corpus for row in self._corpora):
            self._context.later(partial(self._context.actions.delete_corpus, corpus), lambda _: self.refresh())

    def _start_over(self) -> None:
        """Clear the form and drop its uploads."""
        if self._import is not None:
            progress.forget_import(self._import.number)  # the visitor has seen its result
        self._stop_inspection()
        self._context.actions.uploads.forget(self._token)
        self._token = ""
        self._sending, self._n_before, self._import = UploadState(), 0, None
        self._status, self._corpus = ImportStatus(), ""
        for name in ("name", *RECOMMENDABLE):  # those of other documents
            self._texts.pop(name, None)
        self._declined = set()
        self._unreadable, self._makeshift_name = [], ""
        self._progress, self._report, self._inspected_options = InspectionStatus(words=""), None, None

    def _remember(self, texts: dict[str, Any]) -> None:
        into = str(texts.get("into", ""))
        self._into = into if self._find_corpus(into) else ""
        typed = {str(name): str(text)[:1000] for name, text in texts.items() if name in LABELS}
        self._texts = (
            self._texts | typed if self._into else typed
        )  # appending shows fewer fields; keep the texts of the others

    def _find_corpus(self, text: str) -> CorpusFacts | None:
        """Return the corpus with a number; None if there is none."""
        return next((row for row in self._corpora if str(row.number) == text), None)

    # ---------------------------------------------------------- inspecting

    def _inspect(self) -> None:
        """Inspect the files in another process, if the files or the options for reading them have changed."""
        chosen, _ = self._read_options(named=False)  # an invalid name does not matter yet
        if chosen is None or not self._sending.sent or self._sending.busy:
            return
        if (target := self._find_corpus(self._into)) is not None:  # keep all words, and divide texts as before
            split = chosen.split if target.record is None else chosen.split or target.record.options.get("split")
            chosen = replace(chosen, min_df=1, max_df=1.0, split=split)
        reading_options = {name: value for name, value in chosen.report().items() if name != "name"}
        if reading_options == self._inspected_options:
            return
        self._stop_inspection()
        self._inspected_options = reading_options
        self._progress = InspectionStatus()
        self._draw()
        self._context.later(partial(self._begin_inspection, self._token, chosen, self._turn), self._receive_inspection)

    def _begin_inspection(self, token: str, chosen: ImportOptions, turn: int) -> "RunningInspection | None":
        """Wait in case the visitor goes on typing, then begin an inspection unless it is outdated."""
        sleep(PAUSE)
        path = self._context.actions.uploads.look(token) if turn == self._turn else None
        return None if path is None else RunningInspection(path, chosen)

    def _receive_inspection(self, inspection: "RunningInspection | None") -> None:
        if inspection is None:
            return
        if self._inspection is not None or self._import is not None:
            inspection.cancel()
            return
        self._inspection = inspection
        self._follow_inspection(inspection, InspectionStatus())

    def _follow_inspection(self, inspection: RunningInspection, status: InspectionStatus) -> None:
        """Show the progress of an inspection until it is over."""
        if inspection is not self._inspection:
            return
        self._progress, self._report = status, status.report or self._report
        self._draw()
        if status.over:
            self._inspection = None
        else:
            self._context.later(partial(inspection.read_status, status), partial(self._follow_inspection, inspection))

    def _stop_inspection(self) -> None:
        self._turn += 1
        inspection, self._inspection = self._inspection, None
        if inspection is not None:
            inspection.cancel()

    # -------------------------------------------------------------- making

    def _start_import(self) -> None:
        """Start the import if all options are valid and the files are ready."""
        if self._progress.error:
            self._inspect()  # corrected options need another inspection before the import
        chosen, _ = self._read_options()
        if chosen is None or not self._is_ready():
            self._draw()
            return
        token, self._token = self._token, ""  # so that a second click does nothing
        self._stop_inspection()
        self._draw()
        self._context.later(
            partial(self._context.actions.add_corpus, token, chosen, int(self._into or 0)), self._receive_import
        )

    def _receive_import(self, running: RunningImport) -> None:
        self._import = running
        self._follow_import(running, ImportStatus())

    def _follow_import(self, running: RunningImport, status: ImportStatus) -> None:
        """Show the progress of an import until it is over."""
        if running is not self._import:
            return
        self._status = status
        self._draw()
        if status.corpus:
            self._context.later(partial(corpora.get_corpus, self._context.db, status.corpus), self._show_corpus)
        elif not status.error:
            self._context.later(partial(running.read_status, status), partial(self._follow_import, running))

    def _show_corpus(self, row: corpus_rows.CorpusRow) -> None:
        parts = describe_parts(row.documents, row.train_documents, row.validation_documents)
        self._corpus = f"{row.name}: {row.documents:,} documents ({parts}), {row.words:,} words"
        self._record = None if self._status.appended else load_report(row.meta)
        self._draw()

    def _is_ready(self) -> bool:
        """Return whether a corpus can be made: the files have arrived, and were inspected with these options."""
        is_sent = self._token and self._sending.sent and not self._sending.busy
        is_inspected = self._inspected_options is not None and self._progress.over and not self._progress.error
        return bool(is_sent and is_inspected and not self._read_options()[1])

    def _read_options(self, *, named: bool = True) -> tuple[ImportOptions | None, dict[str, str]]:
        """Return the current options, or None and errors by field; the name is checked only if ``named``."""
        errors = {}
        texts = {name: text for name, text in self._texts.items() if not self._into or name in options.APPENDED}
        for name, text in texts.items():
            try:
                options.parse_options({name: text})
            except OptionError as error:
                errors[name] = name_labels(str(error), LABELS)
        if named and (sentence := self._check_name()):
            errors["name"] = sentence
        if errors:
            return None, errors
        try:
            return options.parse_options(texts), {}
        except OptionError as error:
            return None, {"": reword_options(name_labels(str(error), LABELS))}

    def _check_name(self) -> str:
        """Return why a corpus cannot have the name in the form; an empty text if it can, or the name is empty."""
        name = make_storable(self._texts.get("name", "").strip())
        if not name or self._into:
            return ""
        return (
            corpus_writer.describe_taken_name(name)
            if name in (row.name for row in self._corpora)
            else corpus_writer.describe_bad_name(name)
        )

    # ------------------------------------------------------------- drawing

    def _draw(self) -> None:
        """Draw the progress of the import if there is one, otherwise the form."""
        if self._import is not None:
            status = self._status
            notes = tuple(reword_options(note) for note in status.notes)
            status = replace(status, notes=notes, error=reword_options(status.error))
            self.board.html = wrap_page(draw_import(status, self._corpus, self._record))
            return
        _, errors = self._read_options()
        target = self._find_corpus(self._into)
        names = [name for name in LABELS if target is None or name in options.APPENDED]
        fields = [*self._list_targets(), *(self._make_field(name, errors.get(name, "")) for name in names)]
        first = ("into", *FIRST, *self._list_roles(), *(CELLS if self._has_cells() else ()), *self._list_proposed())
        form = draw_corpus_form(
            f"{ADDRESS}/{self._token}",
            self._sending._replace(names=self._context.actions.uploads.list_names(self._token)),
            self._describe_inspection(),
            [field for field in fields if field.name in first],
            [field for field in fields if field.name not in first],
            errors.get("", ""),
            ready=self._is_ready(),
            labels=LABELS,
            into="" if target is None else target.name,
            taken=[name for name in RECOMMENDABLE if self._texts.get(name) == "true"],
            declined=self._declined,
        )
        self.board.html = wrap_page(form, draw_corpora(self._corpora))

    def _describe_inspection(self) -> InspectionStatus:
        """Return the progress of the inspection; the last report stays until the next is ready."""
        status = self._progress
        words = "" if status.over else status.words
        return replace(status, words=words, report=self._report, error=reword_options(status.error))

    def _list_targets(self) -> list[FormField]:
        """Return the field that chooses between a new corpus and appending to one; empty if there is no corpus."""
        if not self._corpora:
            return []
        help_text = (
            "A corpus that is there keeps its words and classes, and its runs keep to the documents they began with."
        )
        choices = (("", "a new corpus"), *((str(row.number), row.name) for row in self._corpora))
        return [FormField("into", "Add to", help_text, "choice", self._into, choices)]

    def _list_columns(self) -> list[str]:
        """Return the names of the columns if the files are a table."""
        return [] if self._report is None else [column.name for column in self._report.columns]

    def _list_roles(self) -> tuple[str, ...]:
        """Return the options that choose a column, if the files are a table or are described by one."""
        if self._report is None or not self._report.columns:
            return ()
        if any(column.role == "text" for column in self._report.columns):
            return COLUMNS
        described = "metadata" in self._report.understood
        return tuple(role for role in COLUMNS if role != "text_column") if described else ()

    def _list_proposed(self) -> tuple[str, ...]:
        """Return the options of PROPOSED that are proposed or set."""
        proposed = {} if self._report is None else self._report.proposed
        return tuple(name for name in PROPOSED if name in proposed or self._texts.get(name))

    def _has_cells(self) -> bool:
        """Return whether the files are a table of separated cells, or were refused because of their separator."""
        understood = {} if self._report is None else self._report.understood
        return "separator" in understood or "--separator" in self._progress.error

    def _make_field(self, name: str, error: str) -> FormField:
        proposed = "" if self._report is None else self._report.proposed.get(name, "")
        return make_option_field(name, self._texts.get(name), error, self._list_columns(), self._formats, proposed)


def _can_be_read(name: str) -> bool:
    """Return whether a name has the suffix of a known format, or no suffix, like folders and some image files."""
    suffix = packing.find_suffix(Path(name))
    return not suffix or suffix in (*packing.TEXTUAL, *_ENDINGS) or suffix.startswith(".idx")


def _explain_left_out(names: list[str]) -> str:
    """Return a sentence about files that cannot be used; empty if there are none."""
    if not names:
        return ""
    subject = f"{names[-1]} is" if len(names) == 1 else f"{len(names)} files ({names[-1]} the last) are"
    return f"{subject} of none of the kinds listed here, and will be left out; add the documents, or start over"


def _list_facts(row: corpus_rows.CorpusRow) -> CorpusFacts:
    notes = [reword_options(str(note)) for note in row.meta.get("notes", ())]
    if (origin := read_origin(row)) is not None:
        common = " and ".join(describe_conditions(origin))
        topic = f", on the topic “{origin.title}”" if origin.topic is not None else ""
        notes.insert(0, f"documents of {origin.name} with {common}: a closer look from run {origin.run}{topic}")
    added = [describe_addition(addition) for addition in row.meta.get("additions", ())]
    sizes = (row.documents, row.words, len(row.label_names))
    return CorpusFacts(row.number, row.name, *sizes, notes, load_report(row.meta), added)
