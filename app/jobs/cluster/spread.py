"""Training whose work on documents is done by the workers of a Dask cluster.

A step sends the topics out once, every worker sweeps the documents that live with it, their statistics come back and
are added in the order of the documents, and the topics move once, here.  Whole numbers are the same in any order;
where statistics are real sums the documents are cut into the same pieces as in a run on one machine.
"""

import functools
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from app.jobs.cluster.holder import Holder, Setup
from app.jobs.cluster.lost import WorkerLostError
from app.jobs.cluster.place import PlaceError
from app.jobs.cluster.presence import Presence, Remote
from app.jobs.plan import Plan
from app.jobs.training import Position, Training
from engine.contract import Array, Info, added, pieces
from engine.corpus import Corpus, rows
from store.errors import StoreError

if TYPE_CHECKING:
    from distributed import Client

    from engine.contract import Kernel

PATIENCE = 2.0  # seconds of waiting for an answer, after which the worker is looked for


class Spread(Training):
    """As :class:`app.jobs.training.Training`, with the documents spread over the workers of a cluster.

    The state of a position holds no local variables: these live with the documents.
    """

    def __init__(self, corpus: Corpus, kernel: "Kernel", state_type: type[Any], setup: Setup, client: "Client") -> None:
        super().__init__(corpus, kernel, state_type, setup.seed)
        self._setup = setup
        self._client = client
        self._presence = Presence(client)
        self._none = kernel.local(kernel.init(setup.seed))  # local variables of no document
        self._holders: list[Any] = []
        self._workers: list[str] = []
        self._shares: list[list[slice]] = []

    def start(self, state: Any, plan: Plan) -> Position:
        """The position before the first step; the documents are with the workers then."""
        position = super().start(state, plan)
        return position._replace(state=self._adopt(state))

    def step(self, position: Position) -> tuple[Position, Info]:
        """One step: swept by all workers, moved here."""
        t, state = position.minibatch + 1, position.state
        if self.kernel.sweeps(state):
            statistics, n_documents = self._gather_all(state), len(self.train)
        else:
            statistics, n_documents = self._visit(t, state)
        state, info = self.kernel.move(self.seed, state, statistics)
        return self.moved(position, state, info, n_documents), info

    def pack(self, position: Position) -> dict[str, Array]:
        """A position as named arrays, with the local variables of all documents."""
        local = [each for held in self._ask("local", position.state) for each in held]
        whole = self.kernel.with_local(position.state, joined(local))
        return super().pack(position._replace(state=whole))

    def unpack(self, minibatches: int, arrays: dict[str, Array]) -> Position:
        """The position of a checkpoint; local variables go where their documents are."""
        position = super().unpack(minibatches, arrays)
        return position._replace(state=self._adopt(position.state))

    def memory(self) -> dict[str, int]:
        """Bytes of the process of every worker that holds documents, by its address."""
        return dict(zip(self._workers, self._ask("memory"), strict=True))

    def _adopt(self, state: Any) -> Any:
        """Give every worker its documents and their local variables; the state is left without them."""
        local = self.kernel.local(state)
        if not self._holders:
            self._spread()
        parts = [split(local, self.train, self._tokens, share) for share in self._shares]
        self._results([holder.put(part) for holder, part in zip(self._holders, parts, strict=True)])
        return state if local is None else self.kernel.with_local(state, self._none)

    def _spread(self) -> None:
        """Documents to workers: neighbours to one worker, about as many tokens to each."""
        counts = self.corpus.counts
        lengths = _tokens_of(counts, self.train)
        self._tokens = np.concatenate([[0], np.cumsum(lengths)])
        known = self._presence.begin()
        workers = sorted(known)
        self._shares = shares(self._tokens, len(workers), real=self.kernel.real)
        made = [
            self._client.submit(
                Holder, self._setup, [self.train[piece] for piece in share], known[worker]["nthreads"], actor=True,
                workers=[worker], allow_other_workers=False, pure=False,
            )
            for worker, share in zip(workers, self._shares, strict=False)
        ]  # fmt: skip
        self._workers = workers[: len(made)]
        self._holders = [Remote(each) for each in self._results(made)]

    def _gather_all(self, state: Any) -> Any:
        found = self._ask("gather", state)
        return functools.reduce(added, (each for held in found for each in held))

    def _visit(self, t: int, state: Any) -> tuple[Any, int]:
        """The statistics of a mini-batch, whose documents are sent along."""
        batch = self.batch(t, state)
        n = len(batch.documents)
        cut = pieces(n) if self.kernel.real else evenly(n, len(self._holders))
        docs = [rows(batch, piece.start, piece.stop) for piece in cut]
        turns = evenly(len(docs), min(len(self._holders), len(docs)))
        asked = [holder.visit(state, docs[turn]) for holder, turn in zip(self._holders, turns, strict=False)]
        return functools.reduce(added, (each for answer in self._results(asked) for each in answer)), n

    def _ask(self, method: str, *arguments: Any) -> list[Any]:
        """Call a method of every worker at once; their answers in the order of the documents."""
        return self._results([getattr(holder, method)(*arguments) for holder in self._holders])

    def _results(self, asked: Sequence[Any]) -> list[Any]:
        """What the first of the workers answer, each asked for one thing."""
        return [self._result(future, worker) for future, worker in zip(asked, self._workers, strict=False)]

    def _result(self, future: Any, worker: str) -> Any:
        """The answer of a worker; while it is waited for, the scheduler is asked whether the worker is still there.

        An actor whose worker has gone may never answer, nor fail.
        """
        from distributed import CancelledError
        from distributed.scheduler import KilledWorker

        while True:
            try:
                return future.result(timeout=PATIENCE)
            except TimeoutError:
                self._presence.check(worker)
            except (CancelledError, KilledWorker, OSError) as error:
                raise WorkerLostError(f"the worker {worker} was lost ({error})") from error
            except StoreError as error:
                raise PlaceError(f"the worker {worker} cannot read the documents: {error}") from error


def shares(tokens: Array, n_workers: int, *, real: bool) -> list[list[slice]]:
    """Which documents every worker has, each a list of pieces; ``tokens`` (documents + 1,) are running sums.

    Whole numbers add up the same in one piece a worker; real sums in the pieces of a run on one machine.
    """
    n = len(tokens) - 1
    if real:
        cut = pieces(n)
        turns = evenly(len(cut), min(n_workers, len(cut)))
        return [cut[turn] for turn in turns]
    workers = min(n_workers, max(n, 1))
    ends = np.searchsorted(tokens, np.linspace(0, tokens[-1], workers + 1)[1:-1])
    edges = [0, *np.maximum.accumulate(ends).tolist(), n]
    return [[slice(begin, end)] for begin, end in itertools.pairwise(edges)]


def evenly(n: int, parts: int) -> list[slice]:
    """``n`` things in so many runs of neighbours, of nearly the same length."""
    edges = np.linspace(0, n, parts + 1).astype(int).tolist()
    return [slice(begin, end) for begin, end in itertools.pairwise(edges)]


def split(local: Any, documents: Array, tokens: Array, share: Sequence[slice]) -> list[Any]:
    """The local variables of the pieces of one worker; rows are documents, or tokens in their order."""
    if local is None:
        return [None] * len(share)
    n_documents, n_tokens = len(documents), int(tokens[-1])

    def part(values: Array, piece: slice) -> Array:
        if len(values) == n_documents:
            return values[piece]
        if len(values) == n_tokens:
            return values[int(tokens[piece.start]) : int(tokens[piece.stop])]
        return values  # of no document: nothing has been swept yet

    return [type(local)(*(part(values, piece) for values in local)) for piece in share]


def joined(parts: Sequence[Any]) -> Any:
    """The local variables of all documents, of those of their pieces."""
    if parts[0] is None:
        return None
    return type(parts[0])(*(np.concatenate(values) for values in zip(*parts, strict=True)))


def _tokens_of(counts: Any, documents: Array) -> Array:
    """Tokens of every document."""
    sums = np.concatenate([[0], np.cumsum(counts.values, dtype=np.int64)])
    return sums[counts.starts[documents + 1]] - sums[counts.starts[documents]]
