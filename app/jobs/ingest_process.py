"""A process of its own that inspects or imports files, so that pages stay quick.

``python -P -m app.jobs.ingest_process import`` (or ``inspect``) reads one request, as JSON, from standard input,
reports progress line by line, and ends with its result.  An import goes on when nobody reads its lines any more: a
server that ends does not cut it short.  An inspection is of no use then, and ends.
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

from app.ingest.appending import append_path
from app.ingest.errors import IngestError
from app.ingest.importing import import_path, inspect_path
from app.ingest.options import ImportOptions, OptionError
from app.ingest.registry import NO_MEMORY, list_uploaded
from app.ingest.report.report import Report
from app.jobs import logs, process, progress
from app.jobs.progress import Notifier
from app.jobs.uploads import SentFiles
from store.database import open_database
from store.errors import StoreError

_numbers = count(1)
_END = "end"  # first word of the last line
_NOTE = "Note: "  # first word of a note of the reader


@dataclass(frozen=True)
class ImportStatus:
    """Progress or result of an import.

    Attributes
    ----------
    words, share : str, float or None
        What is being done and how much of it is done, 0 to 1.
    corpus : int
        Number of the corpus that was made; 0 until then.
    error : str
        The sentence that ended it, or empty.
    notes : tuple of str
        Notes of the reader.
    appended : str
        What was appended to an existing corpus, in a sentence.
    """

    words: str = "Starting"
    share: float | None = None
    corpus: int = 0
    error: str = ""
    notes: tuple[str, ...] = ()
    appended: str = ""

    @property
    def over(self) -> bool:
        """True once it has ended, well or not."""
        return bool(self.corpus or self.error)

    @property
    def notice(self) -> progress.Notice:
        """The notice on every page; empty after a success, when the corpus is listed instead."""
        if self.over:
            return progress.Notice(self.error, failed=bool(self.error))
        return progress.Notice(self.words, self.share)

    @classmethod
    def read_end(cls, result: dict[str, Any], notes: tuple[str, ...]) -> Self:
        """Return the last status, from the result of the process and its notes."""
        return cls(**result, notes=notes)


@dataclass(frozen=True)
class InspectionStatus:
    """Progress or result of an inspection of files.

    Attributes
    ----------
    words, share : str, float or None
        What is being done and how much of it is done, 0 to 1.
    report : Report or None
        The result, at the end.
    error : str
        Why it cannot become a corpus, or empty.
    """

    words: str = "Looking at it"
    share: float | None = None
    report: Report | None = None
    error: str = ""

    @property
    def over(self) -> bool:
        """True once it has ended, well or not."""
        return self.report is not None or bool(self.error)

    @classmethod
    def read_end(cls, result: dict[str, Any], _notes: tuple[str, ...]) -> Self:
        """Return the last status, from the result of the process; the report has the notes."""
        report = result.get("report")
        return cls(report=None if report is None else Report.from_json(report), error=result.get("error", ""))


Status = TypeVar("Status", ImportStatus, InspectionStatus)


class IngestProcess(Generic[Status]):
    """A process that reads files, and its status.

    Parameters
    ----------
    task : {"import", "inspect"}
    path : Path
        The file or folder; sentences name it as it was sent, without its folder.
    request : dict
        The rest of the request to the process, as JSON.
    store : str
        URL of the store, where one is needed.
    first : ImportStatus or InspectionStatus
        The status at the beginning.
    failure : str
        Beginning of the sentence for a process that dies; the rest names the log.
    """

    def __init__(self, task: str, path: Path, request: dict[str, Any], store: str, first: Status, failure: str) -> None:
        self._news = Condition()
        self._status: Status = first
        log = logs.make_log_folder() / "imports.log"
        with log.open("ab") as errors:
            self._child = process.start_module(
                "app.jobs.ingest_process",
                task,
                store=store,
                apart=True,
                variables=process.use_folder(process.find_folder(path)),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=path.parent,
                text=True,
                encoding="utf-8",
            )
        self._last: Status = replace(first, error=f"{failure}; {log} says why")
        self._notify(first)
        Thread(target=self._follow, args=(json.dumps({"path": path.name} | request),), daemon=True).start()

    def read_status(self, last: Status | None = None, patience: float = 0.5) -> Status:
        """Return the status; wait up to ``patience`` seconds for another one than ``last``."""
        until = time.monotonic() + patience
        with self._news:
            while self._status == last and not self._status.over and (left := until - time.monotonic()) > 0:
                self._news.wait(left)
            return self._status

    def _follow(self, request: str) -> None:
        notes: list[str] = []
        with self._child as child:
            if child.stdin is None or child.stdout is None:
                raise AssertionError("the child was started with pipes")
            with suppress(OSError), child.stdin:  # a process that died at once takes no request
                child.stdin.write(request)
            for line in child.stdout:
                words, value = json.loads(line)
                if words == _END:
                    self._last = self._last.read_end(value, tuple(notes))
                elif words.startswith(_NOTE):
                    notes.append(words.removeprefix(_NOTE))
                else:
                    self._notify(replace(self._last, words=words, share=value, error=""))
        self._finish()

    def _finish(self) -> None:
        """Pass on the last status."""
        self._notify(self._last)

    def _notify(self, status: Status) -> None:
        """Pass a status on to the threads that wait for it."""
        with self._news:
            self._status = status
            self._news.notify_all()


class RunningImport(IngestProcess[ImportStatus]):
    """An import in progress.

    Parameters
    ----------
    url : str
        The store.
    sent : SentFiles
        Its folder is removed at the end.
    options : ImportOptions
    then : () -> None
        Called when it has ended.
    into : int
        Number of the corpus that the documents are appended to; 0 makes a new one.

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
        super().__init__("import", sent.path, request, url, ImportStatus(), failure)
        process.own_folder(sent.folder, self._child.pid)  # which outlives this process

    def _finish(self) -> None:
        process.remove_folder(self._folder)  # where the child was killed before it could
        self._then()
        super()._finish()

    def _notify(self, status: ImportStatus) -> None:
        """Pass a status on to the waiting form and to every page: the form may be gone when the import ends."""
        progress.post_import(progress.ImportNotice(self.number, self._name, status.notice))
        super()._notify(status)


class RunningInspection(IngestProcess[InspectionStatus]):
    """An inspection of files in progress.

    Parameters
    ----------
    path : Path
        The file or folder.
    options : ImportOptions
    """

    def __init__(self, path: Path, options: ImportOptions) -> None:
        failure = "It could not be looked at"
        super().__init__("inspect", path, {"options": options.report()}, "", InspectionStatus(), failure)

    def cancel(self) -> None:
        """End it, because its report is no longer wanted."""
        with suppress(OSError):
            self._child.kill()


class _Listener:
    """A notifier that falls silent when its lines are not read any more."""

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
        with redirect_stdout(sys.stderr):  # what a library prints is no line of the protocol
            result = (_add_documents if importing else _inspect_documents)(request, notify)
    except (IngestError, OptionError, StoreError) as error:
        result = {"error": str(error)}
    except MemoryError:
        result = {"error": f"{request['path']}: {NO_MEMORY}"}
    finally:
        if "folder" in request:
            os.chdir(Path(request["folder"]).parent)  # Windows removes no folder that a process works in
            process.remove_folder(Path(request["folder"]))
    notify(_END, result)
    return 0


def _add_documents(request: dict[str, Any], notify: Callable[[str, Any], None]) -> dict[str, Any]:
    """Make the corpus, or append to the one that is named; return the result."""
    db, paths, options = open_database(), list_uploaded(Path(request["path"])), ImportOptions(**request["options"])
    if request.get("into"):
        added = append_path(db, int(request["into"]), paths, options, notify)
        return {"corpus": added.corpus.number, "appended": str(added)}
    return {"corpus": import_path(db, paths, options, notify).number}


def _inspect_documents(request: dict[str, Any], notify: Callable[[str, Any], None]) -> dict[str, Any]:
    """Return the report of what an import would make of the files."""
    report = inspect_path(list_uploaded(Path(request["path"])), ImportOptions(**request["options"]), notify)
    return {"report": report.to_json()}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
