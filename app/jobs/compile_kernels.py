"""Compile the kernels of a model ahead of time, in separate processes.

Compiling takes a hundred megabytes and half a minute, once for every version.  In separate processes it neither
stops the heartbeat of a worker nor adds to its memory, and two of them halve the time.  The kernels are cached on disk
(:mod:`engine.jit`), and an empty file next to them marks them as complete.
"""

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple, Self

from filelock import FileLock, Timeout

from topiary.app.jobs import process

PARTS = ("step", "rest")  # each is compiled by a process of its own


class KernelRequest(NamedTuple):
    """The choices of a run that decide which kernels it needs.

    Attributes
    ----------
    settings : dict
        JSON of its Config.
    real : bool
        Whether the corpus holds real numbers instead of counts.
    scored : bool
        Whether the corpus defines its own held-out tokens.
    averaged : bool
        Whether the averaged protocol runs.
    """

    model: str
    settings: dict[str, Any]
    real: bool
    scored: bool
    averaged: bool

    @classmethod
    def of(cls, model: str, settings: dict[str, Any], corpus: Any, *, averaged: bool) -> Self:
        """Return the request for the kernels of a run on a corpus (a row of the store)."""
        return cls(model, settings, corpus.kind == "real", corpus.has_scored, averaged)

    @property
    def digest(self) -> str:
        """A hash of the choices and shapes that decide what is compiled; it ignores the values of numbers."""
        choices = {name: value for name, value in self.settings.items() if isinstance(value, str | bool)}
        lengths = {name: len(value) for name, value in self.settings.items() if isinstance(value, list)}
        text = json.dumps([self.model, choices, lengths, self.real, self.scored, self.averaged], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def list_missing(request: KernelRequest) -> list[str]:
    """Return the parts that are not compiled yet; none if compiled kernels cannot be cached."""
    from topiary.engine.jit import find_cache_folder, is_private

    folder = find_cache_folder()
    if not is_private(folder):
        return []
    return [part for part in PARTS if not _find_marker(folder, request, part).exists()]


def start_compilers(request: KernelRequest, store: str) -> list["subprocess.Popen[bytes]"]:
    """Start a process for every missing part; the caller waits for them, or ends them."""
    text = json.dumps(request._asdict())
    return [
        process.start_module("topiary.app.jobs.compile_kernels", part, text, store=store)
        for part in list_missing(request)
    ]


def is_awaited(request: KernelRequest) -> bool:
    """Return whether another process is now compiling kernels of this model, which ours would wait for."""
    from topiary.engine.jit import find_cache_folder

    return any(_is_locked(_find_lock(find_cache_folder(), request, part)) for part in PARTS)


def compile_part(request: KernelRequest, part: str) -> None:
    """Compile one of PARTS in this process, or wait until another process has compiled it."""
    from topiary.engine.jit import find_cache_folder

    folder = find_cache_folder()
    with FileLock(_find_lock(folder, request, part), poll_interval=0.1):
        if not _find_marker(folder, request, part).exists():
            compile_here(request, part)


def _is_locked(lock: Path) -> bool:
    """Return whether another process holds a file lock now."""
    if not lock.exists():
        return False
    try:
        with FileLock(lock, blocking=False):
            return False
    except Timeout:
        return True


def compile_here(request: KernelRequest, part: str) -> None:
    """Compile one of PARTS in this process, on made-up documents."""
    from topiary.app.jobs.training import Training, collect_facts
    from topiary.engine import models, settings
    from topiary.engine.jit import find_cache_folder

    module = models.load(request.model)
    config = settings.from_json(module.Config, request.settings)
    corpus = _make_corpus(request)
    training = Training(corpus, module.build(config, collect_facts(corpus), n_threads=1), module.State, seed=1)
    if part == "step":
        training.warm_step()
    else:
        training.warm_rest(averaged=request.averaged)
    _find_marker(find_cache_folder(), request, part).touch()


def main(arguments: list[str]) -> int:
    """Compile one part: ``python -P -m app.jobs.compile_kernels PART JSON``."""
    part, text = arguments
    compile_part(KernelRequest(**json.loads(text)), part)
    return 0


def _make_corpus(request: KernelRequest) -> Any:
    """Return a corpus of four documents of three words each, two of them for testing, with the types of the store.

    The words are pixels, because the setting ``moved`` needs pictures and, as a number, is not part of the digest.
    """
    import numpy as np

    from topiary.engine.contract import TEST, TRAIN, Counts
    from topiary.engine.corpus import Corpus

    words, starts = np.arange(12, dtype=np.int32), np.arange(0, 13, 3)
    kind = np.float32 if request.real else np.int32
    scored = Counts(starts, words, np.full(12, 1, dtype=kind))
    return Corpus(
        counts=Counts(starts, words, np.full(12, 2, dtype=kind)),
        vocabulary=tuple(map(str, words)),
        part=np.array([TRAIN, TRAIN, TEST, TEST], dtype=np.int8),
        labels=np.full(4, -1, dtype=np.int32),
        scored=scored if request.scored else None,
        image_shape=(3, 4),
    )


def _find_marker(folder: Path, request: KernelRequest, part: str) -> Path:
    """Return the path of the empty file that marks a part as compiled."""
    from topiary.engine.jit import compute_engine_digest

    return folder / f"{request.digest}.{compute_engine_digest()}.{part}.ready"


def _find_lock(folder: Path, request: KernelRequest, part: str) -> Path:
    """Return the path of the lock of a model, shared by all its requests because they share most kernels."""
    return folder / f"{request.model}.{part}.lock"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
