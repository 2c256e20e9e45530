"""``topiary infer`` and ``topiary interpolate``: documents placed in the topics of a run."""

import argparse
import math
from typing import Any

import numpy as np

from app.analysis.hierarchy import Frame, identity
from app.analysis.inference import Placed, Placer, must_compile, open_placer
from app.analysis.interpolation import Step, mix, percent_of_way, telling_layer
from app.analysis.neighbours import Neighbourhood
from app.analysis.read_hierarchy import read_frame, snapshot_at
from app.cli.console import Mistake, as_typed, find_run, flat, percent, print_json, say, tell
from app.ingest.errors import IngestError
from app.ingest.new_documents import Given, are_known, from_path, untold
from app.ingest.options import ImportOptions, OptionError, counted
from app.ingest.recount import Recount
from app.jobs.progress import Progress
from engine.hierarchy import paths
from engine.hierarchy.tree import Node
from store import corpora
from store.corpora import Document
from store.database import Database, open_existing

TOPICS, UNKNOWN = 5, 10  # printed for every layer; words named
OPTIONS = ("format", "text_column", "title_column", "header", "encoding")


def infer(wanted: argparse.Namespace) -> int:
    """Place the documents of a file in the topics of a run."""
    db = open_existing(wanted.store)
    placer, frame = _open(db, wanted)
    try:
        options = ImportOptions(**{name: value for name in OPTIONS if (value := getattr(wanted, name)) is not None})
        documents = from_path(wanted.file, placer.rules, options)
    except IngestError as error:
        raise Mistake(str(error)) from error
    except OptionError as error:
        raise Mistake(as_typed(str(error), OPTIONS)) from error
    placed = placer.texts([document.counted for document in documents])
    told = any(not document.counted.blank for document in documents)
    near = _neighbourhood(db, placer) if wanted.nearest > 0 and told else None
    facts = [_facts(db, frame, placer, *pair, near, wanted) for pair in zip(documents, placed, strict=True)]
    if wanted.json:
        print_json({**_where(frame), "documents": facts})
        return 0
    say(f"run {frame.run}, mini-batch {frame.minibatch:,}")
    for document, fact in zip(documents, facts, strict=True):
        _print(document.counted, fact)
    return 0


def interpolate(wanted: argparse.Namespace) -> int:
    """Show what lies between two documents of the corpus of a run."""
    db = open_existing(wanted.store)
    placer, frame = _open(db, wanted)
    ends = [_document(db, placer, text) for text in (wanted.one, wanted.other)]
    pair = ends[0].number, ends[1].number
    try:
        layer, steps = line_between(db, placer, pair, layer=wanted.layer, steps=wanted.steps, words=wanted.words)
    except ValueError as error:
        raise Mistake(str(error)) from error
    if wanted.json:
        told = [_step_facts(frame, step) for step in steps]
        both = [{"document": document.number, "title": document.title} for document in ends]
        print_json({**_where(frame), "layer": layer, "ends": both, "steps": told})
        return 0
    say(f"{flat(ends[0].title)}  ->  {flat(ends[1].title)}   (layer {layer} of run {frame.run}; + has come in)")
    for step in steps:
        words = (
            f"{'+' if new else ''}{frame.vocabulary[word]}" for word, new in zip(step.words, step.new, strict=True)
        )
        say(f"{percent_of_way(step.weight):3} %  {flat(' '.join(words))}")
    return 0


def line_between(
    db: Database, placer: Placer, pair: tuple[int, int], *, layer: int | None, steps: int, words: int
) -> tuple[int, list[Step]]:
    """Decode the line between two documents of the corpus.

    Parameters
    ----------
    db : Database
    placer : Placer
    pair : (int, int)
        Numbers of the documents.
    layer : int, optional
        The layer whose activations are mixed; the highest that tells the two apart when None.
    steps, words : int
        Points of the line, and words of each.

    Returns
    -------
    layer : int
    steps : list of Step

    Raises
    ------
    ValueError
        When there is no such layer, or steps are too few or too many.
    store.errors.NotFound
        When there is no such document.
    """
    n_layers = len(placer.topics.phi)
    if layer is not None and not 1 <= layer <= n_layers:
        raise ValueError(f"run {placer.run.number} has layers 1 to {n_layers}; got {layer}")
    if not 2 <= steps <= 100:
        raise ValueError(f"steps must be from 2 to 100; got {steps}")
    one, other = placer.documents(corpora.counts(db, placer.corpus.number, pair), pair)
    mixed = layer or telling_layer(placer.topics.phi, (one.theta, other.theta))
    return mixed, mix(placer.topics.phi, (one.theta, other.theta), mixed, steps, words)


def _open(db: Database, wanted: argparse.Namespace) -> tuple[Placer, Frame]:
    run = find_run(db, wanted.run)
    chosen = snapshot_at(db, run, wanted.minibatch)
    about = corpora.get(db, run.corpus)
    if must_compile(run, about):
        tell("compiling kernels, about 20 s, once on this machine")
    placer = open_placer(db, run, chosen)
    return placer, read_frame(db, run, chosen)


def _document(db: Database, placer: Placer, text: str) -> Document:
    """A document by its number, or the first with every word of a text."""
    number = counted(text)
    if number is not None:
        return corpora.documents(db, placer.corpus.number, [number])[0]
    found = corpora.search(db, placer.corpus.number, text, 0, 1)[1]
    if not found:
        raise Mistake(f"corpus {placer.corpus.name!r} has no document with {text!r} in it")
    return found[0]


def _neighbourhood(db: Database, placer: Placer) -> Neighbourhood:
    near, progress = Neighbourhood(db, placer), Progress()
    while not near.ready:
        near.advance()
        progress.show("placing documents of the corpus", near.done / len(near.numbers))
    progress.end()
    return near


def _where(frame: Frame) -> dict[str, Any]:
    return {"run": frame.run, "snapshot": frame.snapshot, "minibatch": frame.minibatch}


def _facts(
    db: Database,
    frame: Frame,
    placer: Placer,
    given: Given,
    placed: Placed,
    near: Neighbourhood | None,
    wanted: argparse.Namespace,
) -> dict[str, Any]:
    counted = given.counted
    told: dict[str, Any] = {
        "title": given.title,
        "tokens": counted.tokens,
        "known": counted.known,
        "unknown": list(counted.unknown[:UNKNOWN]),
        "placed": not counted.blank,
    }
    if counted.blank:
        return told
    found = paths.best_paths(placer.topics.phi, placed.theta, wanted.paths)
    told |= {
        "theta": [[float(value) for value in layer] for layer in placed.theta],
        "from_above": list(placed.above),
        "topics": [_topics(frame, layer, theta) for layer, theta in enumerate(placed.theta, start=1)],
        "paths": [
            {"share": path.share, "topics": [_topic(frame, frame.node(*node)) for node in path.nodes]} for path in found
        ],
    }
    if placed.probabilities is not None:
        order = np.argsort(-placed.probabilities, kind="stable").tolist()
        told["labels"] = [
            {"label": placer.corpus.label_names[place], "probability": float(placed.probabilities[place])}
            for place in order
        ]
    if near is not None:
        told["nearest"] = _nearest(db, placer, near, placed, wanted.nearest)
    return told


def _nearest(db: Database, placer: Placer, near: Neighbourhood, placed: Placed, n: int) -> list[dict[str, Any]]:
    found = near.nearest(placed.theta[0], n)
    documents = corpora.documents(db, placer.corpus.number, [each.document for each in found])
    return [
        {"document": each.document, "title": document.title, "label": document.label, "distance": each.distance}
        for each, document in zip(found, documents, strict=True)
    ]


def _topics(frame: Frame, layer: int, theta: Any) -> list[dict[str, Any]]:
    part = paths.shares(theta)
    heavy = np.argsort(-part, kind="stable")[:TOPICS].tolist()
    return [{**_topic(frame, frame.node(layer, column)), "share": float(part[column])} for column in heavy]


def _topic(frame: Frame, node: Node) -> dict[str, Any]:
    return {
        "id": identity(node),
        "layer": node.layer,
        "topic": node.column + 1,
        "rank": frame.rank(node),
        "name": frame.name(node),
        "title": frame.title(node),
        "words": [word.text for word in frame.top_words(node, 8)],
    }


def _step_facts(frame: Frame, step: Step) -> dict[str, Any]:
    return {
        "weight": step.weight,
        "words": [frame.vocabulary[word] for word in step.words],
        "shares": list(step.shares),
        "new": [frame.vocabulary[word] for word, new in zip(step.words, step.new, strict=True) if new],
    }


def _read(counted: Recount) -> str:
    """How much of a text the corpus knows, in the words of the page Documents."""
    listed = " ".join(counted.unknown[:UNKNOWN]) + (" …" if len(counted.unknown) > UNKNOWN else "")
    unknown = f"; not known: {flat(listed)}" if listed else ""
    return f"{counted.known:,} of {counted.tokens:,} {are_known(counted.tokens, counted.stopped)}{unknown}"


def _print(counted: Recount, fact: dict[str, Any]) -> None:
    if not fact["placed"]:
        say(f"\n{flat(fact['title'])}\n  {flat(untold(fact['unknown']))}")
        return
    say(f"\n{flat(fact['title'])}\n  {_read(counted)}")
    for label in fact.get("labels", [])[:3]:
        say(f"  label {_percent(label['probability'])}  {flat(label['label'])}")
    listed = [topic for layer in reversed(fact["topics"]) for topic in layer]
    width = max(len(flat(topic["title"])) for topic in listed)
    for topic in listed:
        told = f"{flat(topic['title']):<{width}}  {flat(' '.join(topic['words']))}"
        say(f"  L{topic['layer']}  {topic['rank']:>4}  {_percent(topic['share'])}  {told}")
    for path in fact["paths"]:
        trail = "  >  ".join(f"{topic['id']} {flat(topic['title'])}" for topic in path["topics"])
        say(f"  path {_percent(path['share'])}  {trail}")
    for near in fact.get("nearest", []):
        label = f"  [{flat(near['label'])}]" if near["label"] else ""
        say(f"  near  {near['distance']:.3f}  {near['document']}  {flat(near['title'])}{label}")


def _percent(share: float) -> str:
    return f"{percent(share, 1):>7}" if math.isfinite(share) else "    –  "
