"""An import in a process of its own, so that pages stay quick; and, in the server, how far it is.

``python -P -m app.jobs.import_process`` reads one request, as JSON, from standard input, reports progress line by
line, and goes on when nobody listens any more: a server that ends does not cut an import short.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from threading import Condition, Thread
from typing import Any, TextIO

from app.ingest.appending import append_path
from app.ingest.errors import IngestError
from app.ingest.importing import import_path
from app.ingest.options import ImportOptions, OptionError
from app.ingest.registry import NO_MEMORY, list_uploaded
from app.jobs import launcher, notices, temporary
from app.jobs.progress import Notifier
from app.jobs.uploads import Sent
from store.database import open_database
from store.errors import StoreError

_numbers = count(1)
_END = "end"  # first word of the last line


@dataclass(frozen=True)
class Standing:
    """How far an import is.

    Attributes
    ----------
    words, share : str, float or None
        What is being done and how much of it is done, 0 to 1.
    corpus : int
        Number of the corpus that was made; 0 until then.
    error : str
        The sentence that ended it, or empty.
    notes : tuple of str
        What the reader had to say.
    appended : str
        What was appended to a corpus that was there, in a sentence.
    """

    words: str = "Starting"
    share: float | None = None
    corpus: int = 0
    error: str = ""
    notes: tuple[str, ...] = ()
    appended: str = ""

    @property
    def over(self) -> bool:
        """Whether it has ended, well or not."""
        return bool(self.corpus or self.error)

    @property
    def report(self) -> notices.Notice:
        """What everybody on the site is told; nothing of one that ended well, for its corpus is there."""
        if self.over:
            return notices.Notice(self.error, failed=bool(self.error))
        return notices.Notice(self.words, self.share)


class Import:
    """One import on its way.

    Parameters
    ----------
    url : str
        The store.
    sent : Sent
        Its folder is removed at the end.
    options : ImportOptions
    then : () -> None
        Called when it has ended.
    into : int
        Number of the corpus that the documents are appended to; 0 makes a new one.

    Attributes
    ----------
    number : int
        Of its notice to the site.
    """

    def __init__(self, url: str, sent: Sent, options: ImportOptions, then: Callable[[], None], into: int = 0) -> None:
        self._news = Condition()
        self._standing = Standing()
        self._then = then
        self.number = next(_numbers)
        self._name = options.name or sent.path.name
        self._log = launcher.made_log_folder() / "imports.log"
        with self._log.open("ab") as log:
            self._child = subprocess.Popen(
                [sys.executable, "-P", "-m", "app.jobs.import_process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=launcher.environment(url) | temporary.environment(sent.folder),
                cwd=sent.path.parent,  # so that sentences name the file as it was sent
                text=True,
                encoding="utf-8",
                **launcher.apart(),
            )
        temporary.own(sent.folder, self._child.pid)  # which outlives this process
        self._folder = sent.folder
        self._notify(self._standing)
        order = {"path": sent.path.name, "folder": str(sent.folder), "options": options.report(), "into": into}
        Thread(target=self._follow, args=(json.dumps(order),), daemon=True).start()

    def standing(self, seen: Standing | None = None, patience: float = 0.5) -> Standing:
        """How far it is; waits up to ``patience`` seconds for something else than ``seen``."""
        until = time.monotonic() + patience
        with self._news:
            while self._standing == seen and not self._standing.over and (left := until - time.monotonic()) > 0:
                self._news.wait(left)
            return self._standing

    def _follow(self, order: str) -> None:
        notes: list[str] = []
        last = Standing(error=f"The import ended unexpectedly and stored nothing; {self._log} says why")
        with self._child as child:
            if child.stdin is None or child.stdout is None:
                raise AssertionError("the child was started with pipes")
            with suppress(OSError), child.stdin:  # one that died at once takes no order
                child.stdin.write(order)
            for line in child.stdout:
                words, about = json.loads(line)
                if words == _END:
                    last = Standing(**(about | {"notes": tuple(notes)}))
                elif words.startswith("Note: "):
                    notes.append(words.removeprefix("Note: "))
                else:
                    self._notify(Standing(words, about))
        temporary.remove(self._folder)  # where the child was killed before it could
        self._then()
        self._notify(last)

    def _notify(self, standing: Standing) -> None:
        """Tell the form that waits, and the site: the form may be gone when the import ends."""
        notices.post_import(notices.Adding(self.number, self._name, standing.report))
        with self._news:
            self._standing = standing
            self._news.notify_all()


class _Listener:
    """Tells as long as somebody listens."""

    def __init__(self, out: TextIO) -> None:
        self._notify: Notifier | None = Notifier(out)

    def __call__(self, words: str, about: Any) -> None:
        try:
            if self._notify is not None:
                self._notify(words, about)
        except OSError:
            self._notify = None


def main() -> int:
    """Make the corpus that the order on standard input asks for, or append to one, in the store of TOPIARY_STORE."""
    order, notify = json.load(sys.stdin), _Listener(sys.stdout)
    try:
        with redirect_stdout(sys.stderr):  # what a library prints is no news of the import
            about = _done(order, notify)
    except (IngestError, OptionError, StoreError) as error:
        notify(_END, {"error": str(error)})
    except MemoryError:
        notify(_END, {"error": f"{order['path']}: {NO_MEMORY}"})
    else:
        notify(_END, about)
    finally:
        os.chdir(Path(order["folder"]).parent)  # Windows removes no folder that somebody works in
        temporary.remove(Path(order["folder"]))
    return 0


def _done(order: dict[str, Any], notify: Callable[[str, Any], None]) -> dict[str, Any]:
    """Make the corpus, or append to the one that is named; what the end says of it."""
    db, paths, options = open_database(), list_uploaded(Path(order["path"])), ImportOptions(**order["options"])
    if order.get("into"):
        added = append_path(db, int(order["into"]), paths, options, notify)
        return {"corpus": added.corpus.number, "appended": str(added)}
    return {"corpus": import_path(db, paths, options, notify).number}


if __name__ == "__main__":
    sys.exit(main())
