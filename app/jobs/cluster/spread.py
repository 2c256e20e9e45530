"""Training whose work on documents is done by the workers of a Dask cluster.

A step sends the topics out once, every worker sweeps the documents that live with it, their statistics come back and
are added in the order of the documents, and the topics move once, here.  Whole numbers are the same in any order;
where statistics are real sums the documents are cut into the same pieces as in a run on one machine, and added by the
same tree.  Documents are read by the workers, their local variables stay there, and go through here in runs of rows
when a checkpoint is written: no process holds all of them.
"""

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from app.jobs import training as mathematics
from app.jobs.cluster import place, workers
from app.jobs.cluster.holder import DocumentHolder, HeldPart, LocalShare, RunSetup
from app.jobs.cluster.place import PlaceError, RemoteActor, WorkerPresence
from app.jobs.cluster.workers import WorkerLostError, WorkerReport
from app.jobs.plan import Plan
from app.jobs.training import Position, Training
from engine.contract import Array, Batch, Counts, Info, flatten, unflatten
from engine.corpus import Corpus, draw_minibatch, slice_documents, take_documents
from engine.pool import BlockSums, cut_pieces
from store.arrays import ArrayLayout, StreamedArray
from store.errors import DamagedArrays, StoreError

if TYPE_CHECKING:
    from distributed import Client

    from app.jobs.claim import Claim
    from engine.contract import Kernel

RUN_BYTES = 8 << 20  # of rows that come at a time while a checkpoint is written
REPORT_SECONDS = 2.0  # between two questions to the workers how they are; a plan's reports may be minutes apart
ANSWER_PATIENCE = 2.0  # seconds of waiting for an answer, after which the worker is looked for


class WorkerAnswers:
    """What workers give that are asked.

    Attributes
    ----------
    workers : list of str
        Their addresses, in the order in which they are asked.

    Raises
    ------
    WorkerLostError
        Where the worker that is asked is gone.
    PlaceError
        Where it cannot read the store.
    """

    def __init__(self, presence: WorkerPresence, workers: list[str]) -> None:
        self._presence = presence
        self.workers = workers

    def of(self, asked: Sequence[Any]) -> Iterator[Any]:
        """Return the answers in their order; the n-th worker is asked for the n-th, or for nothing (None)."""
        for worker, future in enumerate(asked):
            if future is not None:
                yield self.one(future, worker)

    def one(self, future: Any, worker: int) -> Any:
        """Return the answer of a worker; meanwhile the scheduler is asked whether the worker is still there.

        An actor whose worker has gone may never answer, nor fail.
        """
        from distributed import CancelledError
        from distributed.scheduler import KilledWorker

        address = self.workers[worker]
        while True:
            try:
                return future.result(timeout=ANSWER_PATIENCE)
            except TimeoutError:
                self._presence.check(address)
            except (CancelledError, KilledWorker, OSError) as error:
                raise WorkerLostError(f"the worker {address} was lost ({error})") from error
            except DamagedArrays:  # of a checkpoint: the one before it is good
                raise
            except StoreError as error:
                raise PlaceError(f"the worker {address} cannot read the documents: {error}") from error


class SpreadTraining(Training):
    """As :class:`app.jobs.training.Training`, with the documents spread over the workers of a cluster.

    The state of a position holds no local variables: these live with the documents.
    """

    holder: type[DocumentHolder] = DocumentHolder

    def __init__(
        self, corpus: Corpus, kernel: "Kernel", state_type: type[Any], setup: RunSetup, client: "Client"
    ) -> None:
        super().__init__(corpus, kernel, state_type, setup.seed)
        self._setup = setup
        self._client = client
        self._tokens = np.concatenate([[0], np.cumsum(corpus.list_lengths()[self.train])])
        self._holders: list[Any] = []
        self._presence = WorkerPresence(client)
        self._answers = WorkerAnswers(self._presence, [])
        self._shares: list[list[slice]] = []
        self._local: list[LocalShare | None] = []
        self._left: Mapping[str, ArrayLayout] = {}

    def prepared(self, state: Any) -> Any:
        """Return a state whose first step reads all training documents; their workers make their local variables."""
        self._spread()
        self._local = self._ask("prepare", state)
        return state

    def kept(self, state: Any) -> int:
        """How many numbers a checkpoint of a state has, with those that the workers hold."""
        return super().kept(state) + sum(each.numbers for each in self._local if each is not None)

    def start(self, state: Any, plan: Plan) -> Position:
        """Return the position before the first step; the documents are with the workers then."""
        if not self._holders:
            self._spread()
            self._ask("begin")
        return super().start(state, plan)

    def step(self, position: Position) -> tuple[Position, Info]:
        """One step: swept by all workers, moved here."""
        t, state = position.minibatch + 1, position.state
        sums = BlockSums()
        if self.kernel.is_sweeping(state):
            n_documents, asked = len(self.train), self._call("gather", state)
        else:
            batch = self._minibatch(t)
            n_documents, asked = len(batch.documents), self._visits(state, batch)
        for found in self._answers.of(asked):
            for part in found:
                sums.add(part)
        state, info = self.kernel.move(self.seed, state, sums.total())
        return self.moved(position, state, info, n_documents), info

    def pack(self, position: Position) -> dict[str, Any]:
        """Return a position as named arrays; the local variables of the documents come from the workers, run by run."""
        arrays = super().pack(position)
        found = [share for share in self._ask("share", position.state) if share is not None]
        if not found:
            return arrays
        blank = found[0].blank
        named = flatten(self.kernel.with_local(position.state, blank))
        for name, array in named.items():
            for field, own in enumerate(blank):
                if array is own:
                    n = [share.rows[field] for share in found]
                    layout = ArrayLayout(own.dtype.str, (sum(n), *own.shape[1:]))
                    arrays[f"state.{name}"] = StreamedArray(layout, self._runs(field, n, own))
        return arrays

    def elsewhere(self, layouts: Mapping[str, ArrayLayout]) -> set[str]:
        """Return the local variables among the arrays of a checkpoint: the workers read these."""
        marks = {
            name.removeprefix("state."): np.broadcast_to(np.zeros((), dtype=layout.dtype), layout.shape)
            for name, layout in layouts.items()
            if name.startswith("state.")
        }
        local = self.kernel.local(unflatten(self._state_type, marks))
        mine = [] if local is None else [f"state.{n}" for n, mark in marks.items() if any(mark is own for own in local)]
        self._left = {name: layouts[name] for name in mine if layouts[name].shape[0]}
        return set(self._left)

    def unpack(self, minibatches: int, arrays: dict[str, Array]) -> Position:
        """Return the position of a checkpoint; the workers read the local variables of their documents themselves."""
        left = self._left
        blank = {name: np.empty((0, *layout.shape[1:]), dtype=layout.dtype) for name, layout in left.items()}
        position = super().unpack(minibatches, arrays | blank)
        self._spread()
        if not left:
            self._ask("begin")
            return position
        by_token = {name for name, layout in left.items() if layout.shape[0] != len(self.train)}
        asked = []
        for holder, share in zip(self._holders, self._shares, strict=True):
            begin, end = share[0].start, share[-1].stop
            of_tokens = slice(int(self._tokens[begin]), int(self._tokens[end]))
            wanted = {name: of_tokens if name in by_token else slice(begin, end) for name in left}
            asked.append(holder.load(position.state, minibatches, wanted, by_token))
        list(self._answers.of(asked))
        return position

    def about(self) -> dict[str, WorkerReport]:
        """Return what every worker that holds documents says of itself, by its address."""
        return dict(zip(self._answers.workers, self._ask("about"), strict=True))

    def _spread(self) -> None:
        """Documents to workers: neighbours to one worker, about as many tokens to each."""
        known = self._presence.begin()
        workers = sorted(known)
        self._shares = share_documents(self._tokens, len(workers), real=self.kernel.real)
        firsts = itertools.accumulate((len(share) for share in self._shares), initial=0)
        parts = [
            HeldPart([self.train[piece] for piece in share], first)
            for share, first in zip(self._shares, firsts, strict=False)
        ]
        made = [
            self._client.submit(
                self.holder, self._setup, part, known[worker]["nthreads"],
                actor=True, workers=[worker], allow_other_workers=False, pure=False,
            )
            for worker, part in zip(workers, parts, strict=False)
        ]  # fmt: skip
        self._answers = WorkerAnswers(self._presence, workers[: len(made)])
        self._holders = [RemoteActor(each) for each in self._answers.of(made)]

    def _minibatch(self, t: int) -> Batch:
        """Return the documents of mini-batch ``t``, from the workers that hold them."""
        numbers = draw_minibatch(self.seed, t, self.train, self.kernel.batch_size, filed=self._filed)
        places = np.searchsorted(self.train, numbers)
        begins = np.array([share[0].start for share in self._shares])
        owner = np.searchsorted(begins, places, side="right") - 1
        asked: list[Any] = [None] * len(self._holders)
        for number in np.unique(owner).tolist():
            asked[number] = self._holders[number].take(places[owner == number] - begins[number])
        found: list[Counts] = list(self._answers.of(asked))
        lengths = np.concatenate([np.diff(counts.starts) for counts in found])
        words = np.concatenate([counts.words for counts in found])
        together = Counts.of(lengths, words, np.concatenate([counts.values for counts in found]))
        order = np.argsort(np.argsort(owner, kind="stable"), kind="stable")
        ordered = take_documents(together, order, np.zeros(len(order), np.int32)).cells
        return ordered.batch(numbers, self.corpus.labels[numbers])

    def _visits(self, state: Any, batch: Batch) -> list[Any]:
        """Ask the workers to sweep the pieces of a mini-batch, which are sent along."""
        n, most = len(batch.documents), len(self._holders)
        cut = cut_pieces(n) if self.kernel.real else cut_evenly(n, min(n, most))
        docs = [slice_documents(batch, piece.start, piece.stop) for piece in cut]
        turns = cut_evenly(len(docs), min(most, len(docs)))
        return [holder.visit(state, docs[turn], turn.start) for holder, turn in zip(self._holders, turns, strict=False)]

    def _runs(self, field: int, n_rows: Sequence[int], blank: Array) -> Iterator[Array]:
        """Yield the rows of a local variable in the order of documents; the next run comes while one is written."""
        size = max(1, RUN_BYTES // max(1, blank.itemsize * int(np.prod(blank.shape[1:]))))
        turns = [
            (worker, begin, min(begin + size, n))
            for worker, n in enumerate(n_rows)
            for begin in range(0, n, size)
        ]  # fmt: skip

        def asked(turn: tuple[int, int, int]) -> tuple[Any, int]:
            worker, begin, end = turn
            return self._holders[worker].rows(field, begin, end), worker

        waiting = asked(turns[0]) if turns else None
        for after in [*turns[1:], None]:
            if waiting is None:
                return
            following = asked(after) if after is not None else None
            yield self._answers.one(*waiting)
            waiting = following

    def _call(self, method: str, *arguments: Any) -> list[Any]:
        return [getattr(holder, method)(*arguments) for holder in self._holders]

    def _ask(self, method: str, *arguments: Any) -> list[Any]:
        """Call a method of every worker at once; their answers in the order of the documents."""
        return list(self._answers.of(self._call(method, *arguments)))


def share_documents(tokens: Array, n_workers: int, *, real: bool) -> list[list[slice]]:
    """Which documents every worker has, each a list of pieces; ``tokens`` (documents + 1,) are running sums.

    Whole numbers add up the same in one piece a worker; real sums in the pieces of a run on one machine.
    """
    n = len(tokens) - 1
    if real:
        cut = cut_pieces(n)
        turns = cut_evenly(len(cut), min(n_workers, len(cut)))
        return [cut[turn] for turn in turns]
    workers = min(n_workers, max(n, 1))
    ends = np.searchsorted(tokens, np.linspace(0, tokens[-1], workers + 1)[1:-1])
    edges = [0, *np.maximum.accumulate(ends).tolist(), n]
    return [[slice(begin, end)] for begin, end in itertools.pairwise(edges)]


def cut_evenly(n: int, parts: int) -> list[slice]:
    """``n`` things in so many runs of neighbours, of nearly the same length."""
    edges = np.linspace(0, n, parts + 1).astype(int).tolist()
    return [slice(begin, end) for begin, end in itertools.pairwise(edges)]


class RunCluster:
    """Workers of a place, joined for one run.

    Attributes
    ----------
    about : str
        How many workers there are and where Dask shows them, in a sentence.

    Raises
    ------
    PlaceError
        When nobody answers there.
    """

    def __init__(self, on: str, claim: "Claim") -> None:
        self._claim = claim
        self._client = place.connect_client(on)
        self._facts = workers.read_cluster(claim.row.process)
        self._spread: SpreadTraining | None = None
        self._reported = -REPORT_SECONDS
        n = len(place.list_workers(self._client))
        swept = f"documents are swept by {n:,} worker{'' if n == 1 else 's'} of {on}"
        self.about = f"{swept}; Dask shows them at {self._client.dashboard_link}"

    def training(self, corpus: Corpus, kernel: "Kernel", state_type: type[Any]) -> SpreadTraining:
        """Training of the run, spread over the workers."""
        row, db = self._claim.row, self._claim.db
        setup = RunSetup(
            row.model, row.settings, mathematics.collect_facts(corpus), row.seed, db.url, row.corpus, row.number
        )
        self._spread = SpreadTraining(corpus, kernel, state_type, setup, self._client)
        return self._spread

    def report(self) -> None:
        """Ask the workers how they are, where the last answer is two seconds old; the next beat writes it."""
        if self._spread is None or time.monotonic() - self._reported < REPORT_SECONDS:
            return
        try:
            known = self._list_known()
        except OSError:  # the next step finds out
            return
        fresh = [workers.WorkerFacts.of(at, said, known.get(at, {})) for at, said in self._spread.about().items()]
        self._tell(self._facts.reported(self._client.dashboard_link, fresh))
        self._reported = time.monotonic()

    def miss(self, lost: WorkerLostError) -> None:
        """Write down which workers are gone, with what they last said."""
        try:
            present = set(self._list_known())
        except OSError:  # the scheduler is gone, too: only the error tells of anybody
            present = {each.address for each in self._facts.workers}
        self._tell(self._facts.without(present, str(lost), time.time()))
        self._claim.beat()

    def _list_known(self) -> dict[str, Any]:
        """Return what the scheduler knows of its workers, by address; nothing where it does not answer."""
        try:
            return place.list_workers(self._client)
        except OSError:
            return {}

    def _tell(self, facts: workers.ClusterFacts) -> None:
        self._facts = facts
        self._claim.process = self._claim.row.process | facts.to_json()

    def close(self) -> None:
        """Leave the workers; those of this machine end."""
        place.close_client(self._client)
