"""Reading a hierarchy, the topics of a run at one moment, from a snapshot in the store."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from numpy.typing import NDArray

from topiary.app.analysis.hierarchy import LEAST_RELATION, Hierarchy, WordBounds, select_words
from topiary.app.analysis.notes import group_by_topic
from topiary.app.jobs.process import find_state
from topiary.app.names import name_step
from topiary.engine.contract import SIGNED, Topics
from topiary.engine.hierarchy import effects, titles, topics, tree
from topiary.engine.hierarchy.class_scores import centre_weights
from topiary.engine.hierarchy.tree import Node
from topiary.engine.quality.background import mark_background
from topiary.store import corpora, edits, notes, snapshots
from topiary.store.database import Database
from topiary.store.edits import EditRow
from topiary.store.errors import NotFound
from topiary.store.run_rows import RunRow
from topiary.store.snapshots import SnapshotRow


def build_hierarchy(
    arrays: Mapping[str, NDArray[Any]],
    vocabulary: Sequence[str],
    labels: Mapping[tuple[int, int], str],
    run: RunRow,
    snapshot: SnapshotRow,
    *,
    image_shape: tuple[int, int] | None = None,
    classes: Sequence[str] = (),
) -> Hierarchy:
    """Return the hierarchy of one snapshot, computing everything that views need.

    Parameters
    ----------
    arrays : mapping
        Arrays of the snapshot by their names in the store: ``phi.{l}`` and ``r``; optionally ``everywhere``,
        ``mean.{l}``, ``step.{l}``, ``alive.{l}``, ``names.{l}``, ``top_documents.{l}``, ``top_weights.{l}``,
        ``npmi.{l}``, ``spread.{l}``, ``title.{l}`` and the arrays of :func:`app.jobs.records.measure_certainty`.
        Layers are counted from 0.
    labels : mapping
        Names given by users, by (layer, identity number), both from 1.
    image_shape : (rows, columns) or None
        Size of the images when words are pixels, else None.
    classes : sequence of str
        Names of the corpus's classes.
    """
    snapshot_topics = topics.unpack_topics(arrays, shown=True)
    presentation = effects.present_hierarchy(snapshot_topics)
    projected, popularity = presentation.words, presentation.popularity
    shares = [topics.compute_shares(layer) for layer in popularity]
    words, word_weights = select_words(projected, shares)
    spread, npmi = _collect_complete(arrays, "spread", shares), _collect_complete(arrays, "npmi", shares)
    everywhere = tuple(arrays["everywhere"].tolist()) if "everywhere" in arrays else ()
    class_weights = tuple(
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
        phi=presentation.weights,
        r=snapshot_topics.r,
        projections=projected,
        popularity=popularity,
        shares=tuple(shares),
        order=tuple(topics.order_topics(layer) for layer in popularity),
        ranks=tuple(topics.rank_topics(layer) for layer in popularity),
        words=words,
        word_weights=word_weights,
        titles=_read_titles(arrays, snapshot_topics, presentation, vocabulary, spread, npmi),
        step_sizes=topics.collect_arrays(arrays, "step"),
        documents=topics.collect_arrays(arrays, "top_documents"),
        document_weights=topics.collect_arrays(arrays, "top_weights"),
        alive=tuple(layer > 0 for layer in topics.collect_arrays(arrays, "alive") or popularity),
        labels={Node(layer, topic - 1): text for (layer, topic), text in labels.items() if text},
        image_shape=image_shape,
        names=topics.collect_arrays(arrays, "names"),
        classes=tuple(classes) if class_weights else (),
        class_weights=class_weights,
        family=run.family,
        npmi=npmi,
        spread=spread,
        common_words=everywhere,
        steadiness=topics.collect_arrays(arrays, "steady"),
        word_bounds=_collect_bounds(arrays),
        edge_variances=topics.collect_arrays(arrays, "edge_variance"),
        lowers=presentation.lowers,
        linear=not snapshot_topics.links,
        directed=snapshot_topics.directed,
        relations=_list_relations(snapshot_topics) if snapshot_topics.links else (),
        columns=None if snapshot_topics.columns is None else effects.present_hierarchy(snapshot_topics.columns),
    )


def _collect_bounds(arrays: Mapping[str, NDArray[Any]]) -> tuple[WordBounds, ...]:
    """Return the intervals of the words that are shown, by layer; none for a snapshot without them."""
    parts = [topics.collect_arrays(arrays, name) for name in ("sure_words", "words_low", "words_high")]
    return tuple(WordBounds(*layer) for layer in zip(*parts, strict=True))


def _collect_complete(
    arrays: Mapping[str, NDArray[Any]], name: str, parts: Sequence[NDArray[Any]]
) -> tuple[NDArray[Any], ...]:
    """Return the arrays of a name by layer; none unless the snapshot has one for every layer."""
    layers = topics.collect_arrays(arrays, name)
    return layers if len(layers) == len(parts) else ()


def _read_titles(
    arrays: Mapping[str, NDArray[Any]],
    found: Topics,
    presentation: effects.Presentation,
    vocabulary: Sequence[str],
    spread: Sequence[NDArray[Any]],
    npmi: Sequence[NDArray[Any]],
) -> tuple[NDArray[Any], ...]:
    """Return the numbers of the words of every title, by layer, which snapshots on images do not have."""
    kept = _collect_complete(arrays, "title", presentation.popularity)
    if kept:
        return kept
    chosen = titles.choose_titles(
        presentation,
        background=() if found.links else mark_background(spread, npmi),
        everywhere=arrays["everywhere"].tolist() if "everywhere" in arrays else (),
        vocabulary=vocabulary,
    )
    return tuple(chosen)


def _list_relations(snapshot_topics: Topics) -> tuple[tuple[int, int, float], ...]:
    """Return pairs of related topics of layer 1 and their correlations; none for models without signed weights."""
    if not any(link.kind == SIGNED for link in snapshot_topics.links):
        return ()
    first, second, correlation = tree.find_relations(snapshot_topics.phi[1:], LEAST_RELATION)
    return tuple(zip(first.tolist(), second.tolist(), correlation.tolist(), strict=True))


def find_snapshot_at(db: Database, row: RunRow, minibatch: int | None) -> SnapshotRow:
    """Return the newest undamaged snapshot of a run, or the newest one at or before a mini-batch.

    Raises
    ------
    NotFound
        When the run has no such snapshot.
    """
    snapshot = snapshots.find_sound(db, row.number, minibatch)
    if snapshot is not None:
        return snapshot
    if sentence := snapshots.explain_absence(db, row.number):
        raise NotFound(sentence)
    if snapshots.find_latest(db, row.number) is None:
        reason = f"{find_state(row)}: {row.message}" if row.message else find_state(row)
        raise NotFound(f"run {row.number} has no topics yet ({reason})")
    when = "that is whole" if minibatch is None else f"at or before mini-batch {minibatch:,}"
    raise NotFound(f"run {row.number} has no snapshot {when}")


def find_snapshot(db: Database, run: int, number: int = 0) -> SnapshotRow:
    """Return a snapshot of a run by its number, 0 = the newest.

    Raises
    ------
    NotFound
        When the run has none, or none of that number.
    """
    rows = snapshots.list_snapshots(db, run)
    if not rows:
        absence = f"run {run} has no snapshot yet, so no document can be placed in its topics"
        raise NotFound(snapshots.explain_absence(db, run) or absence)
    if not number:
        return max(rows, key=lambda row: row.minibatch)
    for row in rows:
        if row.number == number:
            return row
    raise NotFound(f"run {run} has no snapshot {number}; the newest is {max(row.number for row in rows)}")


class CorpusWords(NamedTuple):
    """What the topics of a corpus are made of, which no addition changes: words, the size of images, and classes."""

    vocabulary: tuple[str, ...]
    image_shape: tuple[int, int] | None
    classes: tuple[str, ...]


def read_words(db: Database, corpus: int) -> CorpusWords:
    """Read what the topics of a corpus are made of."""
    row = corpora.get_corpus(db, corpus)
    return CorpusWords(corpora.read_vocabulary(db, corpus), row.image_shape, row.label_names)


def read_hierarchy(db: Database, row: RunRow, snapshot: SnapshotRow, words: CorpusWords | None = None) -> Hierarchy:
    """Read the hierarchy of a snapshot from the store; ``words`` that are given are not read again."""
    vocabulary, image_shape, classes = read_words(db, row.corpus) if words is None else words
    arrays, said = snapshots.load_snapshot(db, snapshot.number), notes.read_remarks(db, row.number)
    hierarchy = build_hierarchy(arrays, vocabulary, said.names, row, snapshot, image_shape=image_shape, classes=classes)
    made = [edit for edit in said.edits if edit.state == edits.APPLIED and edit.step < snapshot.minibatch]
    edited = _list_edited(made, vocabulary) if made else {}
    return replace(hierarchy, notes=group_by_topic(said.notes), edited=edited, step=name_step(row))


def _list_edited(made: Sequence[EditRow], words: Sequence[str]) -> dict[Node, str]:
    """Return what edits have asked of topics: ``keep gold, silver; pin``."""
    new = {-row.edit: row.topic or 0 for row in made}  # as other edits name their topics
    asked: dict[Node, list[str]] = {}
    for row in made:
        what = f"{row.kind} {', '.join(words[word] for word in row.words)}".strip()
        about = row.topics[:-1] if row.kind == "place" else (row.topic or 0, *row.topics)
        for topic in dict.fromkeys(new.get(topic, topic) for topic in about):
            if topic:
                asked.setdefault(Node(row.layer, topic - 1), []).append(what)
    return {node: "; ".join(phrases) for node, phrases in asked.items()}
