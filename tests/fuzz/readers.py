"""Thousands of damaged files for each reader: each must be read or refused in one sentence, in bounded memory.

``python -m tests.fuzz.readers --inputs 20000 --reader mat`` (no ``--reader``: all of them).  Every fiftieth input is
imported as a whole, and the store compared with what it was when the file is refused.
"""

import argparse
import faulthandler
import os
import resource
import select
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "samples"))
import office_samples
from ingest_samples import SAMPLES, everything

from topiary.app.ingest import registry
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.importing import import_path, read_source
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.readers import counts_arrays
from topiary.app.ingest.source import TextSource
from topiary.store.database import Database, open_database
from topiary.store.errors import StoreError

from .mutations import damaged, files_of

WHOLE = 50  # one input in so many is imported into a store
SECONDS = 60  # after which one is said to hang
ROOM = 4 << 30  # bytes of memory of this process; a healthy one needs a tenth
_MOST_SHOWN = 3


class Outcome(NamedTuple):
    """What became of the inputs of one reader."""

    counts: Counter[str]
    failures: list[str]


class Hung(Exception):  # noqa: N818 - said of an input
    """An input takes longer than it may."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each reader; the exit status is 1 where one failed."""
    names = [reader.name for reader in registry.list_readers()]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--reader", choices=names, action="append")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--file", type=Path, help="damage this file or folder in place of a tiny sample")
    chosen = parser.parse_args(arguments)
    resource.setrlimit(resource.RLIMIT_AS, (ROOM, resource.getrlimit(resource.RLIMIT_AS)[1]))
    failed = False
    for name in chosen.reader or names:
        begun = time.monotonic()
        outcome = run(name, chosen.inputs, chosen.seed, chosen.file)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        said = ", ".join(f"{count:,} {what}" for what, count in sorted(outcome.counts.items()))
        say(f"{name}: {said}; {time.monotonic() - begun:.0f} s, peak {peak:.0f} MB")
        for failure in outcome.failures[:_MOST_SHOWN]:
            say(failure)
        failed |= bool(outcome.failures)
    return int(failed)


def say(text: str) -> None:
    """Print lines at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def run(name: str, inputs: int, seed: int, given: Path | None = None) -> Outcome:
    """Give one reader so many damaged files, of a sample or a file that is given; the same ones for the same seed."""
    counts: Counter[str] = Counter()
    failures: list[str] = []
    with tempfile.TemporaryDirectory(dir=_fast()) as folder, _forking(), warnings.catch_warnings():
        warnings.simplefilter("error")
        root = Path(folder)
        whole = given or (documents if name == "text" else SAMPLES[name].make)(root / "whole")
        files, single = files_of(whole), None if whole.is_dir() else whole.name
        beside = files_of(whole.parent) if single else files
        db = open_database(f"sqlite:///{root / 'store.db'}")
        try:
            for number in range(inputs):
                rng = np.random.default_rng((seed, number))
                target = root / "input"
                _write(target, beside | damaged(files if rng.random() < 0.7 else beside, rng))
                path = target / single if single else target
                said = _told(db, path, name, whole=number % WHOLE == 0)
                counts[said.partition(":")[0]] += 1
                if ":" in said:
                    failures.append(f"  input {number}, {said}")
        finally:
            db.close()
    return Outcome(counts, failures)


def documents(folder: Path) -> Path:
    """Texts of every kind of document."""
    page = "<title>Rain</title><p>It <b>fell</b> all day.</p><!-- no --><script>x = 1</script><table><td>red"
    book = office_samples.epub({"b.xhtml": "<p>two</p>", "a.xhtml": "1"}, "<dc:title>A</dc:title>", ["b.xhtml"])
    made = {
        "a/a.txt": b"apple pear\n", "a/b.html": page.encode(), "a/c.pdf": office_samples.pdf(["red apple"], "Apples"),
        "b/d.docx": office_samples.docx([["red ", "apple"], ["fig"]], "Figs"),
        "b/e.odt": office_samples.odt("Apples", "red apple", "Apples"), "b/f.txt": "pêche\n".encode("latin-1"),
        "c/g.rtf": rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0\fcharset0 A;}}{\info{\title A}}\f0 caf\'e9 \u233?\par}",
        "c/h.epub": book,
        "c/i.srt": b"1\n00:00:01,000 --> 00:00:02,000\n<i>red</i>\n\n2\n00:00:02,000 --> 00:00:03,000\nred\napple\n",
        "c/j.ipynb": office_samples.notebook(("markdown", "# Apples\nred"), ("code", "x = 1")),
        "c/k.tex": b"\\title{A}\\begin{document}$x$ caf\\'e \\cite{a} \\input{l} % no\n\\end{document}",
        "c/l.tex": b"\\section{Red} apples \\begin{equation}a\\end{equation}",
        "d/m.xml": office_samples.tei("<p>red</p>"),
        "d/n.md": b"---\ntitle: Apples\ndate: 2020-01-01\ntags: [a, b]\n---\nred\n", "d/o.md": b"+++\na = 1\n+++\nred",
    }  # fmt: skip
    _write(folder, made)
    return folder


def _told(db: Database, path: Path, name: str, *, whole: bool) -> str:
    """``read`` or ``refused``, or else what went wrong, after a colon."""
    signal.signal(signal.SIGALRM, _ring)
    signal.alarm(SECONDS)
    before = everything(db) if whole else None
    try:
        if whole:
            import_path(db, path, ImportOptions(format=name, name=f"corpus {time.monotonic_ns()}", min_df=1))
        else:
            source = read_source(path, ImportOptions(format=name))
            for _ in source.documents() if isinstance(source, TextSource) else source.blocks():
                pass
    except (IngestError, StoreError) as error:
        if before is not None and everything(db) != before:
            return f"half a corpus: {error}"
        if "\n" in str(error):
            return f"refused in several lines: {error!r}"
        return "refused (its process crashed)" if "ends the program" in str(error) else "refused"
    except Hung:
        return "hung: see the seed"
    except BaseException:  # noqa: BLE001 - whatever it is, it is to be counted
        return f"traceback: {traceback.format_exc()}"
    finally:
        signal.alarm(0)
    return "read"


def _ring(*_: object) -> None:
    raise Hung


def _fast() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def _write(folder: Path, files: dict[str, bytes]) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
    for name, raw in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)


@contextmanager
def _forking() -> Iterator[None]:
    """Read apart in a fork of this process, within the same bounds: starting Python anew takes half a second."""
    usual: Callable[..., tuple[int, str]] = counts_arrays.launch_child
    counts_arrays.launch_child = _forked
    try:
        yield
    finally:
        counts_arrays.launch_child = usual


def _forked(path: Path, folder: str, patience: float) -> tuple[int, str]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.alarm(0)
            faulthandler.disable()  # a crash of the child is expected here: no stacks of it in the report of the tests
            counts_arrays.limit_process(path)
            status, said = counts_arrays.run_child(path, folder)
            os.write(writing, said.encode()[:60_000])
        finally:
            os._exit(status)
    os.close(writing)
    said = b""
    until = time.monotonic() + patience
    while select.select([reading], [], [], max(until - time.monotonic(), 0))[0]:
        more = os.read(reading, 1 << 16)
        if not more:
            break
        said += more
    else:
        os.kill(child, signal.SIGKILL)
    os.close(reading)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status, said.decode()


if __name__ == "__main__":
    sys.exit(main())
