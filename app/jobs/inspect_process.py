"""What was sent is looked at in a process of its own, before anything is stored.

``python -P -m app.jobs.inspect_process`` reads one request, as JSON, from standard input, reports progress line by line
and ends with the report.  Unlike an import it is of no use once nobody waits for it, and then it is ended.
"""

import json
import subprocess
import sys
import time
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Condition, Thread
from typing import Any

from app.ingest.errors import IngestError
from app.ingest.importing import inspect_path
from app.ingest.options import ImportOptions, OptionError
from app.ingest.registry import list_uploaded
from app.ingest.report.report import Report
from app.jobs import launcher, temporary
from app.jobs.progress import Notifier

_END = "end"  # first word of the last line


@dataclass(frozen=True)
class Look:
    """How far the look at what was sent is.

    Attributes
    ----------
    words, share : str, float or None
        What is being done and how much of it is done, 0 to 1.
    report : Report or None
        What was seen, at the end.
    error : str
        Why it cannot become a corpus, or empty.
    """

    words: str = "Looking at it"
    share: float | None = None
    report: Report | None = None
    error: str = ""

    @property
    def over(self) -> bool:
        """Whether it has ended, well or not."""
        return self.report is not None or bool(self.error)


class Inspection:
    """A look at files on its way.

    Parameters
    ----------
    path : Path
        The file or folder.
    options : ImportOptions
    """

    def __init__(self, path: Path, options: ImportOptions) -> None:
        self._news = Condition()
        self._look = Look()
        log = launcher.log_folder() / "imports.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as errors:
            self._child = subprocess.Popen(
                [sys.executable, "-P", "-m", "app.jobs.inspect_process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=launcher.environment("") | temporary.environment(temporary.around(path)),
                cwd=path.parent,  # so that sentences name the file as it was sent
                text=True,
                encoding="utf-8",
                **launcher.apart(),
            )
        order = json.dumps({"path": path.name, "options": options.report()})
        self._failed = f"It could not be looked at; {log} says why"
        Thread(target=self._follow, args=(order,), daemon=True).start()

    def look(self, seen: Look | None = None, patience: float = 0.5) -> Look:
        """How far it is; waits up to ``patience`` seconds for something else than ``seen``."""
        until = time.monotonic() + patience
        with self._news:
            while self._look == seen and not self._look.over and (left := until - time.monotonic()) > 0:
                self._news.wait(left)
            return self._look

    def cancel(self) -> None:
        """End it; nobody waits for its report."""
        with suppress(OSError):
            self._child.kill()

    def _follow(self, order: str) -> None:
        last = Look(error=self._failed)
        with self._child as child:
            if child.stdin is None or child.stdout is None:
                raise AssertionError("the child was started with pipes")
            with suppress(OSError), child.stdin:  # one that died at once takes no order
                child.stdin.write(order)
            for line in child.stdout:
                words, about = json.loads(line)
                if words == _END:
                    report = about.get("report")
                    last = Look(
                        report=None if report is None else Report.from_json(report), error=about.get("error", "")
                    )
                elif not words.startswith("Note: "):
                    self._notify(Look(words, about))
        self._notify(last)

    def _notify(self, look: Look) -> None:
        with self._news:
            self._look = look
            self._news.notify_all()


def main() -> int:
    """Say what an import of the path in the order on standard input would make of it."""
    order, notify = json.load(sys.stdin), Notifier(sys.stdout)
    about: dict[str, Any]
    try:
        with redirect_stdout(sys.stderr):  # what a library prints is no news of the look
            report = inspect_path(list_uploaded(Path(order["path"])), ImportOptions(**order["options"]), notify)
        about = {"report": report.to_json()}
    except (IngestError, OptionError) as error:
        about = {"error": str(error)}
    sys.stdout.write(json.dumps([_END, about]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
