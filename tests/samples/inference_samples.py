"""A small store with texts, labels and a run, and a model in plain NumPy, for tests of placing documents.

The model's topics are four planted subjects of six words; a document's layer-1 activations are its counts of each
subject's words, so every placement is known by heart.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from topiary.app.analysis import inference
from topiary.app.jobs import process
from topiary.app.views.runs import new_run_form
from topiary.engine import models
from topiary.engine.contract import Batch, Facts, Kernel, Local, PredictingKernel, Topics
from topiary.engine.hierarchy import topics
from topiary.engine.settings import setting
from topiary.store import corpus_rows, corpus_writer, runs, snapshots
from topiary.store.blocks import DocumentBlock, StoredCounts
from topiary.store.database import Database
from topiary.store.run_rows import RunRow

SUBJECTS = (
    "garden rose hedge prune lawn tulip",
    "orbit rocket launch moon probe lunar",
    "goal league coach season score hockey",
    "doctor patient clinic drug dose blood",
)
NAMES = ("gardens", "space", "sport", "medicine")
NASTY = "<script>alert(1)</script>"
WORDS = (*(word for subject in SUBJECTS for word in subject.split()), NASTY)
LAYERS = (4, 2)  # gardens and space under the first topic of layer 2, sport and medicine under the second
DOCUMENTS = 24


@dataclass(frozen=True, kw_only=True)
class Config:
    """Settings of the model."""

    layers: tuple[int, ...] = setting((4, 2), "", "Topics per layer", "Widths.", low=1)
    classes: bool = setting(False, "", "Classes", "Whether it predicts labels.")


class State(NamedTuple):
    """The topics."""

    phi: tuple[Any, ...]
    r: Any


class CountingKernel(Kernel):
    """A kernel that places documents, and is never trained."""

    batch_size = 1

    def infer(self, seed: int, state: State, docs: Batch, sweeps: Any = None) -> Local:
        first = np.zeros((len(docs.documents), len(state.phi[0].T)))
        rows = np.repeat(np.arange(len(docs.documents)), np.diff(docs.starts))
        np.add.at(first, rows, docs.counts[:, None] * (state.phi[0][docs.words] > 0.1))
        theta = [first]
        for layer in state.phi[1:]:
            theta.append(theta[-1] @ layer)
        return Local(tuple(theta), tokens=first)

    def topics(self, state: State) -> Topics:
        return Topics(state.phi, state.r)

    def keep(self, state: State) -> dict[str, Any]:
        return {}

    def restore(self, seed: int, arrays: dict[str, Any]) -> State:
        return State(*topics.unpack_topics(arrays)[:2])

    def _refuse(self, *_: Any) -> Any:
        raise AssertionError("documents are placed without training")

    init = gather = move = start_chain = advance_chain = prepare = _refuse  # type: ignore[assignment]


class ClassKernel(CountingKernel, PredictingKernel):
    """A kernel that predicts labels too."""

    def predict(self, seed: int, state: State, docs: Batch, draws: Any = None) -> Any:
        first = self.infer(seed, state, docs).theta[0] + 0.5
        return first / first.sum(axis=1, keepdims=True)

    def read_features(self, state: State, docs: Batch) -> Any:
        return [np.log1p(layer) for layer in self.infer(0, state, docs).theta]


def build(config: Config, facts: Facts, n_threads: int = 1) -> Kernel:
    """A kernel that counts."""
    return ClassKernel() if config.classes else CountingKernel()


def replace_methods(kernel: Kernel, **methods: Any) -> Any:
    """Return a copy of a kernel with these methods instead of its own."""
    changed = copy.copy(kernel)
    vars(changed).update(methods)
    return changed


@pytest.fixture
def plain_model(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let every run have the model of this file, and nothing be compiled."""
    module = SimpleNamespace(Config=Config, State=State, build=build, CHILD="")
    monkeypatch.setattr(models, "load", lambda name: module)
    monkeypatch.setattr(inference.compile_kernels, "list_missing", lambda request: [])
    yield
    new_run_form._read_settings.cache_clear()  # of the model of this file, under the names of others


def arrays() -> dict[str, Any]:
    """A snapshot with the planted subjects as topics of layer 1."""
    first = np.full((len(WORDS), 4), 1e-3)
    for k in range(4):
        first[6 * k : 6 * k + 6, k] = np.arange(12, 6, -1) / 50
    second = np.array([[0.5, 0.05], [0.4, 0.05], [0.05, 0.3], [0.05, 0.6]])
    made = {"phi.0": first / first.sum(axis=0), "phi.1": second / second.sum(axis=0), "r": np.array([2.0, 1.0])}
    for layer, width in enumerate(LAYERS):
        made[f"top_documents.{layer}"] = np.tile(np.arange(20), (width, 1))
        made[f"top_weights.{layer}"] = np.tile(np.linspace(1, 0.1, 20), (width, 1))
    return made


def corpus(
    db: Database, name: str = "leaflets", columns: list[dict[str, str]] | None = None, odd: int = -1, **options: Any
) -> corpus_rows.CorpusRow:
    """Documents of five words about one of four subjects, in turn; every fourth belongs to the test part.

    Document ``odd`` has the label of the next subject.
    """
    rng = np.random.default_rng(3)
    each = [np.sort(rng.choice(6, 5, replace=False)) + 6 * (j % 4) for j in range(DOCUMENTS)]
    words = np.concatenate(each).astype(np.int32)
    block = DocumentBlock(
        first=0,
        counts=StoredCounts(np.arange(0, 5 * DOCUMENTS + 1, 5), words, np.ones(len(words), dtype=np.int32)),
        part=np.array([j % 4 == 3 for j in range(DOCUMENTS)], dtype=np.int8),
        labels=np.array([(j + (j == odd)) % 4 for j in range(DOCUMENTS)], dtype=np.int32),
        titles=[f"leaflet {j} <i>" for j in range(DOCUMENTS)],
        texts=["The " + " and ".join(WORDS[v] for v in row) + f". {NASTY}" for row in each],
        columns=columns or [{} for _ in range(DOCUMENTS)],
    )
    facts = {"meta": {"format": "text", "options": {}}, "label_names": NAMES} | options
    with corpus_writer.write_corpus(db, name, WORDS, **facts) as writer:
        writer.add(block)
    return writer.row


PRUNED = {"names.0": np.array([0, 2, 3, 5]), "names.1": np.array([0, 1])}  # topics 2 and 5 are gone


def plant(
    db: Database, *, classes: bool = False, finished: bool = True, pruned: bool = False, **options: Any
) -> RunRow:
    """A corpus, a run (finished unless told otherwise) and one snapshot of it."""
    settings = {"layers": list(LAYERS), "classes": classes}
    row = runs.create_run(
        db,
        corpus=corpus(db, **options).number,
        model="dlda",
        inference="tlasgr",
        layers=LAYERS,
        settings=settings,
        options={"minibatches": 9},
        seed=1,
    )
    row = runs.claim_run(db, row.number, process.identify_process())
    runs.record_progress(db, row.number, row.attempt, minibatch=9, seconds=0.5)
    snapshots.append_snapshot(db, row.number, row.attempt, 9, 0.5, arrays() | (PRUNED if pruned else {}))
    if not finished:
        return row
    return runs.finish_run(db, row.number, row.attempt, "finished")
