"""Training whose work on documents is done by the workers of a Dask cluster.

A step sends the topics out once, every worker sweeps the documents that it holds, their statistics come back and
are added in the order of the documents, and the topics move once, here.  Sums of whole numbers do not depend on order;
where statistics are real sums, the documents are cut into the same pieces as in a run on one machine, and added by the
same tree.  Workers read their documents themselves and keep their local variables, which pass through here in blocks
of rows when a checkpoint is written: no process holds all of them.
"""

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from topiary.app.jobs import gpu
from topiary.app.jobs import training as mathematics
from topiary.app.jobs.cluster import place, workers
from topiary.app.jobs.cluster.holder import AssignedCard, DocumentHolder, HeldPart, LocalShare, RunSetup, assign_cards
from topiary.app.jobs.cluster.place import PlaceError, RemoteActor, WorkerPresence
from topiary.app.jobs.cluster.workers import WorkerLostError, WorkerReport
from topiary.app.jobs.plan import Plan
from topiary.app.jobs.training import Position, Training
from topiary.app.names import plural
from topiary.engine.contract import Array, Batch, Counts, Info, flatten, unflatten
from topiary.engine.corpus import Corpus, draw_minibatch, slice_documents, take_documents
from topiary.engine.gpu.memory import DeviceError
from topiary.engine.pool import BlockSums, cut_pieces
from topiary.store.arrays import ArrayLayout, StreamedArray
from topiary.store.errors import DamagedArrays, StoreError

if TYPE_CHECKING:
    from distributed import Client

    from topiary.app.jobs.claim import Claim
    from topiary.engine.contract import Kernel

RUN_BYTES = 8 << 20  # of the rows requested at a time while a checkpoint is written
REPORT_SECONDS = 2.0  # between two reports of the workers
WITHOUT_CARD = "mend this and resume the run, or go on by processors with topiary resume RUN --on here"
ANSWER_PATIENCE = 2.0  # seconds of waiting for an answer between two checks of the worker


class WorkerAnswers:
    """The answers of workers to calls.

    Attributes
    ----------
    workers : list of str
        Their addresses, in the order of the calls.

    Raises
    ------
    WorkerLostError
        When a worker is gone.
    PlaceError
        When a worker cannot read the store.
    GpuError
        When the graphics processor of a worker is missing or fails.
    """

    def __init__(self, presence: WorkerPresence, workers: list[str]) -> None:
        self._presence = presence
        self.workers = workers

    def collect(self, futures: Sequence[Any]) -> Iterator[Any]:
        """Yield the answers in order; the n-th future belongs to the n-th worker, None if it was not called."""
        for worker, future in enumerate(futures):
            if future is not None:
                yield self.wait_for(future, worker)

    def wait_for(self, future: Any, worker: int) -> Any:
        """Return the answer of a worker, checking from time to time that it is alive.

        An actor whose worker is gone may neither answer nor fail.
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
            except DamagedArrays:  # of a checkpoint; the caller goes back to the one before
                raise
            except StoreError as error:
                raise PlaceError(f"the worker {address} cannot read the documents: {error}") from error
            except DeviceError as error:
                raise gpu.GpuError(f"the worker {address} cannot sweep documents: {error}") from error
            except gpu.GpuError as error:
                raise gpu.GpuError(f"the worker {address} cannot sweep documents ({error}); {WITHOUT_CARD}") from error


class SpreadTraining(Training):
    """A :class:`app.jobs.training.Training` whose documents are spread over the workers of a cluster.

    The state of a position holds no local variables: the workers keep these with the documents.  They sweep by graphics
    processors if there are ``cards``, which they use in turn; the topics move here in any case.
    """

    holder: type[DocumentHolder] = DocumentHolder

    def __init__(
        self,
        corpus: Corpus,
        kernel: "Kernel",
        state_type: type[Any],
        setup: RunSetup,
        client: "Client",
        cards: Sequence[AssignedCard] = (),
    ) -> None:
        super().__init__(corpus, kernel, state_type, setup.seed)
        self._setup = setup
        self._client = client
        self._cards = cards
        self._tokens = np.concatenate([[0], np.cumsum(corpus.list_lengths()[self.train])])
        self._holders: list[Any] = []
        self._presence = WorkerPresence(client)
        self._answers = WorkerAnswers(self._presence, [])
        self._shares: list[list[slice]] = []
        self._local: list[LocalShare | None] = []
        self._unread_layouts: Mapping[str, ArrayLayout] = {}

    def prepare_state(self, state: Any) -> Any:
        """Return a state whose first step reads all training documents; the workers create the local variables."""
        self._spread_documents()
        self._local = self._ask("prepare", state)
        return state

    def count_numbers(self, state: Any) -> int:
        """Return how many numbers a checkpoint of a state has, including those that the workers hold."""
        return super().count_numbers(state) + sum(each.numbers for each in self._local if each is not None)

    def holds_local(self, state: Any) -> bool:  # noqa: ARG002 - the state holds none
        """Return whether the workers hold local variables of the documents already."""
        return any(each is not None for each in self._local)

    def start(self, state: Any, plan: Plan) -> Position:
        """Return the position before the first step, once the workers hold the documents."""
        if not self._holders:
            self._spread_documents()
            self._ask("begin")
        return super().start(state, plan)

    def step(self, position: Position) -> tuple[Position, Info]:
        """Make one step: the workers sweep, and the topics move here."""
        t, state = position.minibatch + 1, position.state
        sums = BlockSums()
        if self.kernel.is_sweeping(state):
            n_documents, futures = len(self.train), self._call("gather", state)
        else:
            batch = self._read_minibatch(t)
            n_documents, futures = len(batch.documents), self._send_visits(state, batch)
        for parts in self._answers.collect(futures):
            for part in parts:
                sums.add(part)
        state, info = self.kernel.move(self.seed, state, sums.total())
        return self.advance(position, state, info, n_documents), info

    def pack(self, position: Position) -> dict[str, Any]:
        """Return a position as named arrays; the local variables are streamed from the workers in blocks of rows."""
        arrays = super().pack(position)
        shares = [share for share in self._ask("describe_local", position.state) if share is not None]
        if not shares:
            return arrays
        blank = shares[0].blank
        named = flatten(self.kernel.with_local(position.state, blank))
        for name, array in named.items():
            for field, column in enumerate(blank):
                if array is column:
                    n_rows = [share.rows[field] for share in shares]
                    layout = ArrayLayout(column.dtype.str, (sum(n_rows), *column.shape[1:]))
                    arrays[f"state.{name}"] = StreamedArray(layout, self._stream_rows(field, n_rows, column))
        return arrays

    def choose_unread(self, layouts: Mapping[str, ArrayLayout]) -> set[str]:
        """Return the names of the local variables among the arrays of a checkpoint, which the workers read."""
        marks = {
            name.removeprefix("state."): np.broadcast_to(np.zeros((), dtype=layout.dtype), layout.shape)
            for name, layout in layouts.items()
            if name.startswith("state.")
        }
        local = self.kernel.local(unflatten(self._state_type, marks))
        names = (
            []
            if local is None
            else [f"state.{n}" for n, mark in marks.items() if any(mark is field for field in local)]
        )
        self._unread_layouts = {name: layouts[name] for name in names if layouts[name].shape[0]}
        return set(self._unread_layouts)

    def unpack(self, minibatches: int, arrays: dict[str, Array]) -> Position:
        """Return the position of a checkpoint; the workers read the local variables of their documents themselves."""
        unread = self._unread_layouts
        blank = {name: np.empty((0, *layout.shape[1:]), dtype=layout.dtype) for name, layout in unread.items()}
        position = super().unpack(minibatches, arrays | blank)
        self._spread_documents()
        if not unread:
            self._ask("begin")
            return position
        by_token = {name for name, layout in unread.items() if layout.shape[0] != len(self.train)}
        futures = []
        for holder, share in zip(self._holders, self._shares, strict=True):
            begin, end = share[0].start, share[-1].stop
            of_tokens = slice(int(self._tokens[begin]), int(self._tokens[end]))
            rows = {name: of_tokens if name in by_token else slice(begin, end) for name in unread}
            futures.append(holder.load(position.state, minibatches, rows, by_token))
        list(self._answers.collect(futures))
        return position

    def collect_reports(self) -> dict[str, WorkerReport]:
        """Return the report of every worker that holds documents, by address."""
        return dict(zip(self._answers.workers, self._ask("make_report"), strict=True))

    def _spread_documents(self) -> None:
        """Give each worker neighbouring documents, with about equally many tokens."""
        facts = self._presence.begin()
        workers = sorted(facts)
        self._shares = share_documents(self._tokens, len(workers), real=self.kernel.real)
        firsts = itertools.accumulate((len(share) for share in self._shares), initial=0)
        cards = itertools.cycle(self._cards or (None,))
        parts = [
            HeldPart([self.train[piece] for piece in share], first, card)
            for share, first, card in zip(self._shares, firsts, cards, strict=False)
        ]
        futures = [
            self._client.submit(
                self.holder, self._setup, part, facts[worker]["nthreads"],
                actor=True, workers=[worker], allow_other_workers=False, pure=False,
            )
            for worker, part in zip(workers, parts, strict=False)
        ]  # fmt: skip
        self._answers = WorkerAnswers(self._presence, workers[: len(futures)])
        self._holders = [RemoteActor(actor) for actor in self._answers.collect(futures)]

    def _read_minibatch(self, t: int) -> Batch:
        """Return the documents of mini-batch ``t``, from the workers that hold them."""
        numbers = draw_minibatch(self.seed, t, self.train, self.kernel.batch_size, filed=self._filed)
        places = np.searchsorted(self.train, numbers)
        begins = np.array([share[0].start for share in self._shares])
        owner = np.searchsorted(begins, places, side="right") - 1
        futures: list[Any] = [None] * len(self._holders)
        for number in np.unique(owner).tolist():
            futures[number] = self._holders[number].read_counts(places[owner == number] - begins[number])
        parts: list[Counts] = list(self._answers.collect(futures))
        lengths = np.concatenate([np.diff(counts.starts) for counts in parts])
        words = np.concatenate([counts.words for counts in parts])
        joined = Counts.of(lengths, words, np.concatenate([counts.values for counts in parts]))
        order = np.argsort(np.argsort(owner, kind="stable"), kind="stable")
        ordered = take_documents(joined, order, np.zeros(len(order), np.int32)).cells
        return ordered.batch(numbers, self.corpus.labels[numbers])

    def _send_visits(self, state: Any, batch: Batch) -> list[Any]:
        """Send the pieces of a mini-batch to the workers to sweep; return the futures."""
        n_documents, n_workers = len(batch.documents), len(self._holders)
        pieces = cut_pieces(n_documents) if self.kernel.real else cut_evenly(n_documents, min(n_documents, n_workers))
        docs = [slice_documents(batch, piece.start, piece.stop) for piece in pieces]
        shares = cut_evenly(len(docs), min(n_workers, len(docs)))
        return [
            holder.visit(state, docs[share], share.start) for holder, share in zip(self._holders, shares, strict=False)
        ]

    def _stream_rows(self, field: int, n_rows: Sequence[int], blank: Array) -> Iterator[Array]:
        """Yield the rows of a local variable in the order of documents, requesting each block while one is written."""
        size = max(1, RUN_BYTES // max(1, blank.itemsize * int(np.prod(blank.shape[1:]))))
        blocks = [
            (worker, begin, min(begin + size, n))
            for worker, n in enumerate(n_rows)
            for begin in range(0, n, size)
        ]  # fmt: skip

        def request_rows(block: tuple[int, int, int]) -> tuple[Any, int]:
            worker, begin, end = block
            return self._holders[worker].read_rows(field, begin, end), worker

        current = request_rows(blocks[0]) if blocks else None
        for next_block in [*blocks[1:], None]:
            if current is None:
                return
            upcoming = request_rows(next_block) if next_block is not None else None
            yield self._answers.wait_for(*current)
            current = upcoming

    def _call(self, method: str, *arguments: Any) -> list[Any]:
        return [getattr(holder, method)(*arguments) for holder in self._holders]

    def _ask(self, method: str, *arguments: Any) -> list[Any]:
        """Call a method of every worker at once; return their answers in the order of the documents."""
        return list(self._answers.collect(self._call(method, *arguments)))


def share_documents(tokens: Array, n_workers: int, *, real: bool) -> list[list[slice]]:
    """Return the pieces of documents of every worker; ``tokens`` (documents + 1,) are running sums.

    One piece a worker suffices for whole numbers; real sums need the pieces of a run on one machine to be equal.
    """
    n_documents = len(tokens) - 1
    if real:
        pieces = cut_pieces(n_documents)
        shares = cut_evenly(len(pieces), min(n_workers, len(pieces)))
        return [pieces[share] for share in shares]
    workers = min(n_workers, max(n_documents, 1))
    ends = np.searchsorted(tokens, np.linspace(0, tokens[-1], workers + 1)[1:-1])
    edges = [0, *np.maximum.accumulate(ends).tolist(), n_documents]
    return [[slice(begin, end)] for begin, end in itertools.pairwise(edges)]


def cut_evenly(n: int, parts: int) -> list[slice]:
    """Return slices that cut ``n`` items into parts of nearly the same length."""
    edges = np.linspace(0, n, parts + 1).astype(int).tolist()
    return [slice(begin, end) for begin, end in itertools.pairwise(edges)]


class RunCluster:
    """The connection of a run to the workers of its place.

    Attributes
    ----------
    description : str
        Sentence with the number of workers and the address of Dask's dashboard.

    Raises
    ------
    PlaceError
        When no worker answers.
    GpuError
        When processes of this machine should sweep by its graphics processors, and it has none.
    """

    def __init__(self, on: str, claim: "Claim") -> None:
        self._claim = claim
        where = place.parse_place(on, takes_gpu=True)
        self._cards = assign_cards(where)
        if cause := place.find_refusal(where):
            claim.show(f"waiting a minute for the scheduler {where}, which does not answer ({cause})")
        self._client = place.connect_client(on)
        self._facts = workers.read_cluster(claim.row.process)
        self._spread: SpreadTraining | None = None
        self._reported = -REPORT_SECONDS
        n = len(place.list_workers(self._client))
        swept = f"documents are swept by {plural(n, 'worker')} of {where}"
        swept += ", each with a graphics processor" if where.has_cards else ""
        self.description = f"{swept}; Dask shows them at {self._client.dashboard_link}"

    def make_training(self, corpus: Corpus, kernel: "Kernel", state_type: type[Any]) -> SpreadTraining:
        """Return the training of the run, spread over the workers."""
        row, db = self._claim.row, self._claim.db
        setup = RunSetup(
            row.model, row.settings, mathematics.collect_facts(corpus), row.seed, db.url, row.corpus, row.number
        )
        self._spread = SpreadTraining(corpus, kernel, state_type, setup, self._client, self._cards)
        return self._spread

    def report(self) -> None:
        """Ask the workers for reports if the last ones are two seconds old; the next beat writes them."""
        if self._spread is None or time.monotonic() - self._reported < REPORT_SECONDS:
            return
        facts = self._list_known()
        reports = [
            workers.WorkerFacts.of(address, report, facts.get(address, {}))
            for address, report in self._spread.collect_reports().items()
        ]
        self._store_facts(self._facts.add_report(self._client.dashboard_link, reports))
        self._reported = time.monotonic()

    def record_loss(self, lost: WorkerLostError) -> None:
        """Record which workers are gone, keeping their last reports."""
        self._store_facts(self._facts.mark_lost(self._list_known(), str(lost), time.time()))
        self._claim.beat()

    def _list_known(self) -> dict[str, Any]:
        """Return the scheduler's facts about its workers, by address; empty if it does not answer."""
        try:
            return place.list_workers(self._client)
        except OSError:
            return {}

    def _store_facts(self, facts: workers.ClusterFacts) -> None:
        self._facts = facts
        self._claim.process = self._claim.row.process | facts.to_json()

    def close(self) -> None:
        """Disconnect from the workers; local ones end."""
        place.close_client(self._client)
