"""A hierarchy snapshot from the store: the topics of a run at one moment."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from app.analysis.hierarchy import LEAST_RELATION, Hierarchy, WordBounds, select_words
from app.jobs import launcher
from engine.contract import SIGNED, Topics
from engine.hierarchy import effects, topics, tree
from engine.hierarchy.class_scores import centre_weights
from engine.hierarchy.tree import Node
from engine.quality.background import find_background
from store import annotations, corpora, snapshots
from store.database import Database
from store.errors import NotFound
from store.run_rows import RunRow
from store.snapshots import SnapshotRow


class HierarchyRun(Protocol):
    """The facts about a run that a hierarchy needs; a row of the store has them."""

    @property
    def number(self) -> int: ...  # noqa: D102
    @property
    def seed(self) -> int: ...  # noqa: D102
    @property
    def corpus_name(self) -> str: ...  # noqa: D102
    @property
    def family(self) -> int: ...  # noqa: D102


class HierarchySnapshot(Protocol):
    """The facts about a snapshot that a hierarchy needs; a row of the store has them."""

    @property
    def number(self) -> int: ...  # noqa: D102
    @property
    def minibatch(self) -> int: ...  # noqa: D102


def build_hierarchy(
    arrays: Mapping[str, NDArray[Any]],
    vocabulary: Sequence[str],
    labels: Mapping[tuple[int, int], str],
    run: HierarchyRun,
    snapshot: HierarchySnapshot,
    *,
    image_shape: tuple[int, int] | None = None,
    classes: Sequence[str] = (),
) -> Hierarchy:
    """Compute everything a view needs of one snapshot.

    Parameters
    ----------
    arrays : mapping
        As the store keeps them: ``phi.0`` .. and ``r``, perhaps ``mean.{l}``, ``step.{l}``, ``alive.{l}``,
        ``names.{l}``, ``top_documents.{l}``, ``top_weights.{l}``, ``npmi.{l}``, ``spread.{l}`` and what
        :func:`app.jobs.records.measure_certainty` names, all counted from 0, and ``everywhere``.
    vocabulary : sequence of str
    labels : mapping
        Names given by people, by (layer from 1, identity number from 1).
    run, snapshot : rows of the store
    image_shape : (rows, columns) or None
        When the words are pixels.
    classes : sequence of str
        Names of the corpus's classes.
    """
    found = topics.unpack_topics(arrays, shown=True)
    shown = effects.present_hierarchy(found)
    projected, weights = shown.words, shown.popularity
    parts = [topics.compute_shares(layer) for layer in weights]
    words, word_weights = select_words(projected, parts)
    spread, npmi = _of_all(arrays, "spread", parts), _of_all(arrays, "npmi", parts)
    everywhere = tuple(arrays["everywhere"].tolist()) if "everywhere" in arrays else ()
    alive = topics.collect_arrays(arrays, "alive")
    speaking = tuple(
        centre_weights(layer)
        for layer in topics.collect_arrays(arrays, "model.class_weights")
        if len(layer) == len(classes)
    )
    return Hierarchy(
        run=run.number,
        seed=run.seed,
        corpus=run.corpus_name,
        snapshot=snapshot.number,
        minibatch=snapshot.minibatch,
        vocabulary=tuple(vocabulary),
        phi=shown.weights,
        r=found.r,
        projections=projected,
        popularity=weights,
        shares=tuple(parts),
        order=tuple(topics.order_topics(layer) for layer in weights),
        ranks=tuple(topics.rank_topics(layer) for layer in weights),
        words=words,
        word_weights=word_weights,
        titles=_titles(() if found.links else found.phi, projected, parts, _background(spread, npmi), everywhere),
        step_sizes=topics.collect_arrays(arrays, "step"),
        documents=topics.collect_arrays(arrays, "top_documents"),
        document_weights=topics.collect_arrays(arrays, "top_weights"),
        alive=tuple(layer.astype(bool) for layer in alive) or tuple(layer > 0 for layer in weights),
        labels={Node(layer, topic - 1): text for (layer, topic), text in labels.items() if text},
        image_shape=image_shape,
        names=topics.collect_arrays(arrays, "names"),
        classes=tuple(classes) if speaking else (),
        class_weights=speaking,
        family=run.family,
        npmi=npmi,
        spread=spread,
        everywhere=everywhere,
        steadiness=topics.collect_arrays(arrays, "steady"),
        word_bounds=tuple(
            WordBounds(*bounds)
            for bounds in zip(
                *(topics.collect_arrays(arrays, name) for name in ("sure_words", "words_low", "words_high")),
                strict=True,
            )
        ),
        edge_variances=topics.collect_arrays(arrays, "edge_variance"),
        lowers=shown.lowers,
        linear=not found.links,
        directed=found.directed,
        relations=_relations(found),
        columns=None if found.columns is None else effects.present_hierarchy(found.columns),
    )


def _of_all(arrays: Mapping[str, NDArray[Any]], name: str, parts: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], ...]:
    """Return the arrays of that name by layer, if a snapshot has one for every layer."""
    layers = topics.collect_arrays(arrays, name)
    return layers if len(layers) == len(parts) else ()


def _background(spread: Sequence[NDArray[Any]], npmi: Sequence[NDArray[Any]]) -> tuple[NDArray[np.bool_], ...]:
    """Return for every topic whether it is background, by layer, where that is known."""
    return tuple(find_background(each, npmi[layer] if npmi else None) for layer, each in enumerate(spread))


def _titles(
    phi: Sequence[NDArray[Any]],
    projected: Sequence[NDArray[Any]],
    parts: Sequence[NDArray[Any]],
    wide: Sequence[NDArray[np.bool_]],
    everywhere: tuple[int, ...],
) -> tuple[NDArray[Any], ...]:
    """Return the words of every title, by layer; ``wide`` marks the topics that are background."""
    named = topics.remove_background(phi, wide) if phi and any(each.any() for each in wide) else projected
    return tuple(
        topics.choose_titles(projection, part, without=everywhere, first=topics.order_topics(part))
        for projection, part in zip(named, parts, strict=True)
    )


def _relations(found: Topics) -> tuple[tuple[int, int, float], ...]:
    """Return the topic graph of a model with signed weights, down to the least correlation that can be chosen."""
    if not any(link.kind == SIGNED for link in found.links):
        return ()
    one, other, correlation = tree.find_relations(found.phi[1:], LEAST_RELATION)
    return tuple(zip(one.tolist(), other.tolist(), correlation.tolist(), strict=True))


def find_snapshot_at(db: Database, row: RunRow, minibatch: int | None) -> SnapshotRow:
    """Return the snapshot of a run at or before a mini-batch, the newest one for None, leaving out damaged ones.

    Raises
    ------
    NotFound
        When it has none yet, or none so early.
    """
    if snapshots.find_latest(db, row.number) is None:
        why = f"{launcher.find_state(row)}: {row.message}" if row.message else launcher.find_state(row)
        raise NotFound(f"run {row.number} has no topics yet ({why})")
    snapshot = snapshots.find_sound(db, row.number, minibatch)
    if snapshot is None:
        when = "that is whole" if minibatch is None else f"at or before mini-batch {minibatch:,}"
        raise NotFound(f"run {row.number} has no snapshot {when}")
    return snapshot


def read_hierarchy(
    db: Database, row: RunRow, snapshot: SnapshotRow, vocabulary: tuple[str, ...] | None = None
) -> Hierarchy:
    """Read a snapshot of a run with its words, its names and its classes; a known ``vocabulary`` is not read again."""
    about = corpora.get_corpus(db, row.corpus)
    words = corpora.read_vocabulary(db, row.corpus) if vocabulary is None else vocabulary
    arrays, names = snapshots.load_snapshot(db, snapshot.number), annotations.list_labels(db, row.number)
    return build_hierarchy(
        arrays, words, names, row, snapshot, image_shape=about.image_shape, classes=about.label_names
    )
