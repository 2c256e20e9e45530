"""A separate process that inspects or imports files, so that pages stay responsive.

``python -P -m app.jobs.ingest_process import`` (or ``inspect``) reads one request, as JSON, from standard input,
reports progress line by line, and ends with its result; after an import it prepares the search in the corpus, while a
run on it may train already.  An import goes on if its lines are no longer read, so that the end of the server does not
interrupt it.  An inspection is useless then, and ends.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from threading import Condition, Thread
from typing import Any, Generic, Self, TextIO, TypeVar

from topiary.app.ingest.errors import NO_MEMORY, IngestError
from topiary.app.ingest.options import ImportOptions, OptionError
from topiary.app.ingest.report import Report
from topiary.app.ingest.source import ignore_progress
from topiary.app.jobs import logs, process, progress
from topiary.app.jobs.progress import Notifier
from topiary.app.jobs.uploads import SentFiles
from topiary.app.machine import explain_full_disk, lower_priority
from topiary.store.database import open_database
from topiary.store.errors import StoreError

_numbers = count(1)
_END = "end"  # marks the last line of the process, which holds the result
_NICENESS = 10  # while the search is prepared, as a run may train already
_NOTE = "Note: "  # prefix of a note of the reader


@dataclass(frozen=True)
class ImportStatus:
    """The progress or result of an import.

    Attributes
    ----------
    words, share : str, float or None
        Current activity, and the share of it that is done, 0 to 1; None if unknown.
    corpus : int
        Number of the new corpus; 0 until it exists.
    error : str
        Sentence that says why it failed, or empty.
    notes : tuple of str
        Notes of the reader.
    appended : str
        Sentence that says what was appended to an existing corpus, or empty.
    """

    words: str = "Starting"
    share: float | None = None
    corpus: int = 0
    error: str = ""
    notes: tuple[str, ...] = ()
    appended: str = ""

    @property
    def over(self) -> bool:
        """Whether it has ended, successfully or not."""
        return bool(self.corpus or self.error)

    @property
    def notice(self) -> progress.Notice:
        """The notice on every page; empty after a success, because the corpus is listed then."""
        if self.over:
            return progress.Notice(self.error, failed=bool(self.error))
        return progress.Notice(self.words, self.share)

    @classmethod
    def read_end(cls, result: dict[str, Any], notes: tuple[str, ...]) -> Self:
        """Return the last status, made of the result of the process and its notes."""
        return cls(**result, notes=notes)


@dataclass(frozen=True)
class InspectionStatus:
    """The progress or result of an inspection of files.

    Attributes
    ----------
    words, share : str, float or None
        Current activity, and the share of it that is done, 0 to 1; None if unknown.
    report : Report or None
        The result, at the end.
    error : str
        Sentence that says why the files cannot become a corpus, or empty.
    """

    words: str = "Looking at it"
    share: float | None = None
    report: Report | None = None
    error: str = ""

    @property
    def over(self) -> bool:
        """Whether it has ended, successfully or not."""
        return self.report is not None or bool(self.error)

    @classmethod
    def read_end(cls, result: dict[str, Any], _notes: tuple[str, ...]) -> Self:
        """Return the last status, made of the result of the process; its report includes the notes."""
        report = result.get("report")
        return cls(report=None if report is None else Report.from_json(report), error=result.get("error", ""))


Status = TypeVar("Status", ImportStatus, InspectionStatus)


class IngestProcess(Generic[Status]):
    """A process that reads files, and its status.

    Parameters
    ----------
    task : {"import", "inspect"}
    path : Path
        The file or folder; messages name it without its parent folder.
    request : dict
        The rest of the request to the process, as JSON.
    store : str
        URL of the store; may be empty for an inspection.
    first : ImportStatus or InspectionStatus
        The status at the beginning.
    failure : str
        First part of the sentence for a process that dies; the second part names the log.
    folder : Path, optional
        Folder that belongs to the process, which may outlive this one.
    """

    def __init__(
        self, task: str, path: Path, request: dict[str, Any], store: str, first: Status, failure: str,
        folder: Path | None = None,
    ) -> None:  # fmt: skip
        self._changed = Condition()
        self._status: Status = first
        log = logs.make_log_folder() / "imports.log"
        with logs.open_private(log) as log_file:
            self._child = process.start_module(
                "topiary.app.jobs.ingest_process",
                task,
                store=store,
                apart=True,
                variables=process.use_folder(process.find_folder(path)),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log_file,
                cwd=path.parent,
                text=True,
                encoding="utf-8",
            )
        if folder is not None:  # before the thread, which removes the folder of a process that dies at once
            process.own_folder(folder, self._child.pid)
        self._last: Status = replace(first, error=f"{failure}; {log} says why")
        self._notify(first)
        Thread(target=self._follow, args=(json.dumps({"path": path.name} | request),), daemon=True).start()

    def read_status(self, last: Status | None = None, patience: float = 0.5) -> Status:
        """Return the status, after waiting up to ``patience`` seconds for one that differs from ``last``."""
        until = time.monotonic() + patience
        with self._changed:
            while self._status == last and not self._status.over and (left := until - time.monotonic()) > 0:
                self._changed.wait(left)
            return self._status

    def _follow(self, request: str) -> None:
        """Send the request to the process, and pass on its messages until it ends."""
        notes: list[str] = []
        with self._child as child:
            if child.stdin is None or child.stdout is None:
                raise AssertionError("the child was started with pipes")
            with suppress(OSError), child.stdin:  # the process may have died already
                child.stdin.write(request)
            for line in child.stdout:
                words, value = json.loads(line)
                if words == _END:  # it goes on to index a corpus
                    self._last = self._last.read_end(value, tuple(notes))
                    self._finish()
                elif words.startswith(_NOTE):
                    notes.append(words.removeprefix(_NOTE))
                else:
                    self._notify(replace(self._last, words=words, share=value, error=""))
        if self._status is not self._last:
            self._finish()

    def _finish(self) -> None:
        """Pass on the last status."""
        self._notify(self._last)

    def _notify(self, status: Status) -> None:
        """Set the status and wake the threads that wait for it."""
        with self._changed:
            self._status = status
            self._changed.notify_all()


class RunningImport(IngestProcess[ImportStatus]):
    """An import in progress.

    Parameters
    ----------
    url : str
        URL of the store.
    sent : SentFiles
        The files to import; their folder is removed at the end.
    then : () -> None
        Called when the import has ended.
    into : int
        Number of the corpus to which the documents are appended; 0 for a new corpus.

    Attributes
    ----------
    number : int
        The number of its notice on the pages.
    """

    def __init__(
        self, url: str, sent: SentFiles, options: ImportOptions, then: Callable[[], None], into: int = 0
    ) -> None:
        self._then = then
        self.number = next(_numbers)
        self._name = options.name or sent.path.name
        self._folder = sent.folder
        request = {"folder": str(sent.folder), "options": options.report(), "into": into}
        failure = "The import ended unexpectedly and stored nothing"
        super().__init__("import", sent.path, request, url, ImportStatus(), failure, sent.folder)

    def _finish(self) -> None:
        process.remove_folder(self._folder)  # in case the child was killed before it could
        self._then()
        super()._finish()

    def _notify(self, status: ImportStatus) -> None:
        """Pass a status on to every page, too, because the waiting form may be gone when the import ends."""
        progress.post_import(progress.ImportNotice(self.number, self._name, status.notice))
        super()._notify(status)


class RunningInspection(IngestProcess[InspectionStatus]):
    """An inspection of files in progress.

    Parameters
    ----------
    path : Path
        The file or folder.
    """

    def __init__(self, path: Path, options: ImportOptions) -> None:
        failure = "It could not be looked at"
        super().__init__("inspect", path, {"options": options.report()}, "", InspectionStatus(), failure)

    def cancel(self) -> None:
        """Kill the process, because its report is no longer wanted."""
        with suppress(OSError):
            self._child.kill()


class _Listener:
    """A notifier that stops writing when its lines are no longer read."""

    def __init__(self, out: TextIO) -> None:
        self._notify: Notifier | None = Notifier(out)

    def __call__(self, words: str, value: Any) -> None:
        try:
            if self._notify is not None:
                self._notify(words, value)
        except OSError:
            self._notify = None


def main(arguments: list[str]) -> int:
    """Serve the request on standard input: ``import`` into the store of TOPIARY_STORE, or ``inspect``."""
    request = json.load(sys.stdin)
    importing = arguments == ["import"]
    notify = _Listener(sys.stdout) if importing else Notifier(sys.stdout)
    try:
        with redirect_stdout(sys.stderr):  # keeps output of libraries out of the protocol
            result = (_add_documents if importing else _inspect_documents)(request, notify)
    except (IngestError, OptionError, StoreError) as error:
        result = {"error": str(error)}
    except OSError as error:
        if not (sentence := explain_full_disk(error)):
            raise
        result = {"error": sentence}
    except MemoryError:
        result = {"error": f"{request['path']}: {NO_MEMORY}"}
    finally:
        if "folder" in request:
            os.chdir(Path(request["folder"]).parent)  # Windows removes no folder that a process works in
            process.remove_folder(Path(request["folder"]))
    notify(_END, result)
    if "corpus" in result:
        from topiary.app.ingest.importing import index_corpus

        lower_priority(_NICENESS)
        index_corpus(open_database(), result["corpus"], ignore_progress)
    return 0


def _add_documents(request: dict[str, Any], notify: Callable[[str, Any], None]) -> dict[str, Any]:
    """Import the files as a new corpus, or append them to an existing one; return the result as JSON."""
    from topiary.app.ingest.appending import (
        append_path,  # only this process, and not the server, loads readers of files
    )
    from topiary.app.ingest.importing import import_path
    from topiary.app.ingest.registry import list_uploaded

    db, paths, options = open_database(), list_uploaded(Path(request["path"])), ImportOptions(**request["options"])
    if request.get("into"):
        added = append_path(db, int(request["into"]), paths, options, notify)
        return {"corpus": added.corpus.number, "appended": str(added)}
    return {"corpus": import_path(db, paths, options, notify).number}


def _inspect_documents(request: dict[str, Any], notify: Callable[[str, Any], None]) -> dict[str, Any]:
    """Return the report of an inspection of the files, as JSON."""
    from topiary.app.ingest.importing import inspect_path
    from topiary.app.ingest.registry import list_uploaded

    report = inspect_path(list_uploaded(Path(request["path"])), ImportOptions(**request["options"]), notify)
    return {"report": report.to_json()}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
