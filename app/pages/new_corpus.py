"""The form that adds documents: files come from the browser, and another process makes a corpus of them."""

from dataclasses import replace
from functools import partial
from pathlib import Path, PurePath
from time import sleep
from typing import Any

from app.ingest import files, options, registry
from app.ingest.options import ImportOptions, OptionError
from app.ingest.readers.documents import KINDS
from app.ingest.report.report import Report, describe_addition, describe_parts, load_report
from app.ingest.text.cleaning import make_storable
from app.jobs import progress
from app.jobs.ingest_process import ImportStatus, InspectionStatus, RunningImport, RunningInspection
from app.jobs.uploads import ADDRESS, SEVERAL
from app.pages.components import Board, Message
from app.pages.form_fields import LABELS, ROLES, make_option_field, reword_options
from app.pages.session import Context
from app.views.runs.corpus_form import (
    CorpusFacts,
    ImportState,
    InspectionState,
    UploadState,
    draw_corpora,
    draw_corpus_form,
    draw_import,
    wrap_page,
)
from app.views.runs.new_run_form import FormField, name_labels
from store import corpora, corpus_rows, corpus_writer

FIRST = ("name", "stop_words", "max_words")  # options that are always unfolded; so are ROLES for files with columns,
CELLS = ("separator", "quote")  # these for files with separated cells,
PROPOSED = ("name_fields", "split")  # and these if they are proposed or used
PAUSE = 0.4  # seconds without a change before the files are inspected again
_ENDINGS = frozenset(
    (
        *KINDS, ".zip", ".csv", ".tsv", ".tab", ".jsonl", ".ndjson", ".mallet", ".bow", ".dat", ".ldac", ".lda-c",
        ".mtx",
        ".mat", ".svmlight", ".libsvm", ".svm", ".feat", ".json", ".parquet", ".arrow", ".feather", ".xlsx", ".xlsm",
        ".npz", ".npy", ".mm", ".mbox", ".mbx", ".eml", ".tar", ".tgz", ".tbz2", ".txz", ".tzst", ".bib", ".bibtex",
        ".ris", ".enw", ".ciw", ".nbib", ".medline", ".rss", ".atom",
    )
)  # fmt: skip


class NewCorpusForm:
    """The form of one session.

    Parameters
    ----------
    context : Context
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self.board = Board("", self._on_board)
        self._formats: tuple[tuple[str, str], ...] = ()
        self._corpora: list[CorpusFacts] = []
        self._token = ""
        self._sending = UploadState()
        self._n_before = 0  # files that arrived before those that are being sent
        self._texts: dict[str, str] = {}
        self._into = ""  # number of the corpus that is appended to, as text
        self._unreadable: list[str] = []  # single files of unknown kinds
        self._makeshift_name = ""  # the name of such a file, until the corpus gets a better name
        self._import: RunningImport | None = None
        self._status = ImportStatus()
        self._corpus = ""
        self._record: Report | None = None
        self._progress = InspectionStatus(words="")
        self._report: Report | None = None  # the last one, shown until the next is ready
        self._inspection: RunningInspection | None = None
        self._turn = 0  # number of the latest inspection, by which outdated ones are recognised
        self._inspected_options: dict[str, Any] | None = None  # the options of the last inspection
        context.on_close(self._close)

    def _close(self) -> None:
        self._stop_inspection()
        self._context.actions.uploads.forget(self._token)

    def refresh(self) -> None:
        """Draw the form with an address for uploads, and read the corpora of the store again."""
        if not self._token and self._import is None:
            self._token = self._context.actions.uploads.begin()
        self._draw()
        self._context.later(self._read, self._take)

    def _read(self) -> tuple[tuple[tuple[str, str], ...], list[CorpusFacts]]:
        """Return the formats, each with its description, and the corpora of the store."""
        formats = tuple((reader.name, reader.description.partition(":")[0]) for reader in registry.list_readers())
        return formats, [_list_facts(row) for row in corpora.list_corpora(self._context.db)]

    def _take(self, read: tuple[tuple[tuple[str, str], ...], list[CorpusFacts]]) -> None:
        self._formats, self._corpora = read
        self._draw()

    def _on_board(self, message: Message) -> None:
        match message:
            case {"do": "cancel"}:
                self._context.view.tab = ""
            case {"do": "new"}:
                self._start_over()
                self._context.view.tab = "new"
            case {"do": "again"}:
                self._start_over()
                self.refresh()
            case {"do": "sending", "sent": int(sent), "of": int(of), "form": dict(texts)}:
                self._remember(texts)
                self._sending = UploadState(sent, of)
                self._draw()
            case {"do": "sent", "of": int(of), "name": str(name)}:
                self._n_before += of
                self._name_corpus(name, of)
                self._sending = UploadState(self._n_before, error=_explain_left_out(self._unreadable))
                self._inspected_options = None
                self._inspect()
                self._draw()
            case {"do": "not-sent", "value": str(reason)}:
                self._sending = UploadState(self._n_before, error=reason[:300])
                self._draw()
            case {"do": "typed", "form": dict(texts)}:
                self._remember(texts)
                self._inspect()
                self._draw()
            case {"do": "delete", "corpus": str(text), "form": {"typed": str(typed)}} if text.isdecimal():
                self._delete(int(text), typed)
            case {"do": "make", "form": dict(texts)}:
                self._remember(texts)
                self._make()

    def _name_corpus(self, top: str, sent: int) -> None:
        """Name the corpus after the files, unless it has a name already, typed or from an earlier readable file."""
        readable = not top or sent > 1 or _can_be_read(top)  # no name: several; one name and several files: a folder
        if not readable:
            self._unreadable.append(top[:100])
        before = self._texts.get("name", "")
        if not before or (readable and before == self._makeshift_name):
            self._texts["name"] = files.strip_endings(PurePath(top or SEVERAL))[:200]
            self._makeshift_name = "" if readable else self._texts["name"]

    def _delete(self, number: int, typed: str) -> None:
        if (number, typed) in ((row.number, row.name) for row in self._corpora):
            self._context.later(partial(self._context.actions.delete_corpus, number), lambda _: self.refresh())

    def _start_over(self) -> None:
        if self._import is not None:
            progress.forget_import(self._import.number)  # the visitor has seen how it ended
        self._stop_inspection()
        self._context.actions.uploads.forget(self._token)
        self._token = ""
        self._sending, self._n_before, self._import = UploadState(), 0, None
        self._status, self._corpus = ImportStatus(), ""
        self._texts.pop("name", None)
        self._unreadable, self._makeshift_name = [], ""
        self._progress, self._report, self._inspected_options = InspectionStatus(words=""), None, None

    def _remember(self, texts: dict[object, object]) -> None:
        into = str(texts.get("into", ""))
        self._into = into if self._find_corpus(into) else ""
        typed = {str(name): str(text)[:1000] for name, text in texts.items() if name in LABELS}
        self._texts = self._texts | typed if self._into else typed  # keep texts of fields that are not shown now

    def _find_corpus(self, text: str) -> CorpusFacts | None:
        """Return the corpus with that number, where there is one."""
        return next((row for row in self._corpora if str(row.number) == text), None)

    # ---------------------------------------------------------- inspecting

    def _inspect(self) -> None:
        """Inspect the files in another process, if they or the options of reading them have changed."""
        choices, _ = self._read_options(named=False)  # files can be inspected whatever the name
        if choices is None or not self._sending.sent or self._sending.busy:
            return
        if (into := self._find_corpus(self._into)) is not None:  # no word is left out, and texts are divided as before
            split = choices.split if into.record is None else choices.split or into.record.options.get("split")
            choices = replace(choices, min_df=1, max_df=1.0, split=split)
        read_as = {name: value for name, value in choices.report().items() if name != "name"}
        if read_as == self._inspected_options:
            return
        self._stop_inspection()
        self._inspected_options = read_as
        self._progress = InspectionStatus()
        self._draw()
        self._context.later(partial(self._begin_inspection, self._token, choices, self._turn), self._receive_inspection)

    def _begin_inspection(self, token: str, request: ImportOptions, turn: int) -> "RunningInspection | None":
        """Wait in case more is typed, then begin an inspection."""
        sleep(PAUSE)
        path = self._context.actions.uploads.look(token) if turn == self._turn else None
        return None if path is None else RunningInspection(path, request)

    def _receive_inspection(self, inspection: "RunningInspection | None") -> None:
        if inspection is None:
            return
        if self._inspection is not None or self._import is not None:
            inspection.cancel()
            return
        self._inspection = inspection
        self._follow_inspection(inspection, InspectionStatus())

    def _follow_inspection(self, inspection: RunningInspection, look: InspectionStatus) -> None:
        """Show how far it is, again and again until it is over."""
        if inspection is not self._inspection:
            return
        self._progress, self._report = look, look.report or self._report
        self._draw()
        if look.over:
            self._inspection = None
        else:
            self._context.later(partial(inspection.read_status, look), partial(self._follow_inspection, inspection))

    def _stop_inspection(self) -> None:
        self._turn += 1
        inspection, self._inspection = self._inspection, None
        if inspection is not None:
            inspection.cancel()

    # -------------------------------------------------------------- making

    def _make(self) -> None:
        if self._progress.error:
            self._inspect()  # corrected options are inspected before anything is made
        choices, _ = self._read_options()
        if choices is None or not self._is_ready():
            self._draw()
            return
        token, self._token = self._token, ""  # a second click finds none
        self._stop_inspection()
        self._draw()
        self._context.later(
            partial(self._context.actions.add_corpus, token, choices, int(self._into or 0)), self._receive_import
        )

    def _receive_import(self, begun: RunningImport) -> None:
        self._import = begun
        self._follow(begun, ImportStatus())

    def _follow(self, begun: RunningImport, standing: ImportStatus) -> None:
        """Show how far it is, again and again until it is over."""
        if begun is not self._import:
            return
        self._status = standing
        self._draw()
        if standing.corpus:
            self._context.later(partial(corpora.get_corpus, self._context.db, standing.corpus), self._show_corpus)
        elif not standing.error:
            self._context.later(partial(begun.read_status, standing), partial(self._follow, begun))

    def _show_corpus(self, row: corpus_rows.CorpusRow) -> None:
        parts = describe_parts(row.documents, row.train_documents, row.validation_documents)
        self._corpus = f"{row.name}: {row.documents:,} documents ({parts}), {row.words:,} words"
        self._record = None if self._status.appended else load_report(row.meta)
        self._draw()

    def _is_ready(self) -> bool:
        """Return whether a corpus can be made: the files are here, inspected with these options, and readable."""
        is_sent = self._token and self._sending.sent and not self._sending.busy
        is_inspected = self._inspected_options is not None and self._progress.over and not self._progress.error
        return bool(is_sent and is_inspected and not self._read_options()[1])

    def _read_options(self, *, named: bool = True) -> tuple[ImportOptions | None, dict[str, str]]:
        """Return the current options, or errors by field; errors of the name only if ``named``."""
        errors = {}
        read = {name: text for name, text in self._texts.items() if not self._into or name in options.APPENDED}
        for name, text in read.items():
            try:
                options.parse_options({name: text})
            except OptionError as error:
                errors[name] = name_labels(str(error), LABELS)
        if named and (sentence := self._check_name()):
            errors["name"] = sentence
        if errors:
            return None, errors
        try:
            return options.parse_options(read), {}
        except OptionError as error:
            return None, {"": reword_options(name_labels(str(error), LABELS))}

    def _check_name(self) -> str:
        """Return why no corpus can have the name in the form; an empty name is fine."""
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
        if self._import is not None:
            now = self._status
            self.board.html = wrap_page(
                draw_import(
                    ImportState(
                        now.words,
                        now.share,
                        tuple(map(reword_options, now.notes)),
                        reword_options(now.error),
                        self._corpus,
                        self._record,
                        now.appended,
                    )
                )
            )
            return
        _, errors = self._read_options()
        into = self._find_corpus(self._into)
        names = [name for name in LABELS if into is None or name in options.APPENDED]
        fields = [*self._list_targets(), *(self._make_field(name, errors.get(name, "")) for name in names)]
        first = ("into", *FIRST, *self._list_roles(), *(CELLS if self._has_cells() else ()), *self._list_proposed())
        form = draw_corpus_form(
            f"{ADDRESS}/{self._token}",
            self._sending,
            self._describe_inspection(),
            [field for field in fields if field.name in first],
            [field for field in fields if field.name not in first],
            errors.get("", ""),
            ready=self._is_ready(),
            labels=LABELS,
            into="" if into is None else into.name,
        )
        self.board.html = wrap_page(form, draw_corpora(self._corpora))

    def _describe_inspection(self) -> InspectionState:
        look = self._progress
        words = "" if look.over else look.words
        return InspectionState(words, look.share, self._report, reword_options(look.error))

    def _list_targets(self) -> list[FormField]:
        """Return the field that says where the documents go, where there is a corpus that they could be appended to."""
        if not self._corpora:
            return []
        about = (
            "A corpus that is there keeps its words and classes, and its runs keep to the documents they began with."
        )
        choices = (("", "a new corpus"), *((str(row.number), row.name) for row in self._corpora))
        return [FormField("into", "Add to", about, "choice", self._into, choices)]

    def _list_columns(self) -> list[str]:
        """Return the names of the columns of a table."""
        return [] if self._report is None else [column.name for column in self._report.columns]

    def _list_roles(self) -> tuple[str, ...]:
        """Return the options that choose a column, where the files are a table, or are described by one."""
        if self._report is None or not self._report.columns:
            return ()
        if any(column.role == "text" for column in self._report.columns):
            return ROLES
        described = "metadata" in self._report.understood
        return tuple(role for role in ROLES if role != "text_column") if described else ()

    def _list_proposed(self) -> tuple[str, ...]:
        """Return the proposed options, and those of the same kind that are used."""
        proposed = {} if self._report is None else self._report.proposed
        return tuple(name for name in PROPOSED if name in proposed or self._texts.get(name))

    def _has_cells(self) -> bool:
        """Return whether the files are a table of separated cells, or are refused for their separator."""
        understood = {} if self._report is None else self._report.understood
        return "separator" in understood or "--separator" in self._progress.error

    def _make_field(self, name: str, error: str) -> FormField:
        proposed = "" if self._report is None else self._report.proposed.get(name, "")
        return make_option_field(name, self._texts.get(name), error, self._list_columns(), self._formats, proposed)


def _can_be_read(name: str) -> bool:
    """Return whether a name has the ending of a format, or none: that is a folder, or images."""
    kind = files.find_suffix(Path(name))
    return not kind or kind in _ENDINGS or kind.startswith(".idx")


def _explain_left_out(names: list[str]) -> str:
    """Return a sentence about files that cannot be used, or an empty text."""
    if not names:
        return ""
    which = f"{names[-1]} is" if len(names) == 1 else f"{len(names)} files ({names[-1]} the last) are"
    return f"{which} of none of the kinds listed here, and will be left out; add the documents, or start over"


def _list_facts(row: corpus_rows.CorpusRow) -> CorpusFacts:
    notes = [reword_options(str(note)) for note in row.meta.get("notes", ())]
    if row.damage:
        notes.insert(0, f"damaged: {row.damage}; restore the store from a backup, or import it again")
    added = [describe_addition(each) for each in row.meta.get("additions", ())]
    sizes = (row.documents, row.words, len(row.label_names))
    return CorpusFacts(row.number, row.name, *sizes, notes, load_report(row.meta), added)
