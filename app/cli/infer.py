"""``topiary infer`` and ``topiary interpolate``: documents placed in the topics of a run."""

import argparse
import math
from typing import Any

import numpy as np

from app.analysis.hierarchy import Hierarchy, identity
from app.analysis.inference import DocumentInference, DocumentTopics, Neighbourhood, must_compile, open_inference
from app.analysis.interpolation import Step, round_percent
from app.analysis.read_hierarchy import find_snapshot_at, read_hierarchy
from app.cli.console import Mistake, find_run, notify, print_json, say, translate_refusals
from app.export.texts import flatten_text, format_share
from app.facts.documents import interpolate_documents
from app.ingest.new_documents import NewDocument, Recount, are_known, explain_unknown_words, read_new_documents
from app.ingest.options import NEW_DOCUMENT_OPTIONS, ImportOptions, parse_count
from app.jobs.progress import Progress
from engine.hierarchy import paths
from engine.hierarchy.tree import Node
from store import corpora
from store.corpora import Document
from store.database import Database, open_existing

TOPICS, UNKNOWN = 5, 10  # topics printed for every layer; unknown words printed for a document


def infer(arguments: argparse.Namespace) -> int:
    """Place the documents of a file in the topics of a run and print their topics."""
    db = open_existing(arguments.store)
    inference, hierarchy = _open_inference(db, arguments)
    with translate_refusals(NEW_DOCUMENT_OPTIONS):
        options = ImportOptions(
            **{name: value for name in NEW_DOCUMENT_OPTIONS if (value := getattr(arguments, name)) is not None}
        )
        documents = read_new_documents(arguments.file, inference.rules, options)
    placed = inference.place_texts([document.counted for document in documents])
    has_words = any(not document.counted.blank for document in documents)
    neighbourhood = _build_neighbourhood(db, inference) if arguments.nearest > 0 and has_words else None
    facts = [
        _list_facts(db, hierarchy, inference, *pair, neighbourhood, arguments)
        for pair in zip(documents, placed, strict=True)
    ]
    if arguments.json:
        print_json({**_list_snapshot_facts(hierarchy), "documents": facts})
        return 0
    say(f"run {hierarchy.run}, mini-batch {hierarchy.minibatch:,}")
    for document, fact in zip(documents, facts, strict=True):
        _print_document(document.counted, fact)
    return 0


def interpolate(arguments: argparse.Namespace) -> int:
    """Print the steps of the line between two documents of the corpus of a run."""
    db = open_existing(arguments.store)
    inference, hierarchy = _open_inference(db, arguments)
    ends = [_find_document(db, inference, text) for text in (arguments.one, arguments.other)]
    pair = ends[0].number, ends[1].number
    try:
        layer, steps = interpolate_documents(
            db, inference, pair, layer=arguments.layer, steps=arguments.steps, words=arguments.words
        )
    except ValueError as error:
        raise Mistake(str(error)) from error
    if arguments.json:
        facts = [_list_step_facts(hierarchy, step) for step in steps]
        end_facts = [{"document": document.number, "title": document.title} for document in ends]
        print_json({**_list_snapshot_facts(hierarchy), "layer": layer, "ends": end_facts, "steps": facts})
        return 0
    say(
        f"{flatten_text(ends[0].title)}  ->  {flatten_text(ends[1].title)}   "
        f"(layer {layer} of run {hierarchy.run}; + has come in)"
    )
    for step in steps:
        words = (
            f"{'+' if new else ''}{hierarchy.vocabulary[word]}" for word, new in zip(step.words, step.new, strict=True)
        )
        say(f"{round_percent(step.weight):3} %  {flatten_text(' '.join(words))}")
    return 0


def _open_inference(db: Database, arguments: argparse.Namespace) -> tuple[DocumentInference, Hierarchy]:
    """Prepare the snapshot that the arguments name, and read its hierarchy."""
    run = find_run(db, arguments.run)
    chosen = find_snapshot_at(db, run, arguments.minibatch)
    if must_compile(run, corpora.get_run_corpus(db, run)):
        notify("compiling kernels, about 20 s, once on this machine")
    inference = open_inference(db, run, chosen)
    return inference, read_hierarchy(db, run, chosen)


def _find_document(db: Database, inference: DocumentInference, text: str) -> Document:
    """Return the document of a number, or the first one that contains every word of a text."""
    number = parse_count(text)
    if number is not None:
        return corpora.read_documents(db, inference.corpus.number, [number])[0]
    matches = corpora.search_documents(db, inference.corpus.number, text, 0, 1)[1]
    if not matches:
        raise Mistake(f"corpus {inference.corpus.name!r} has no document with {text!r} in it")
    return matches[0]


def _build_neighbourhood(db: Database, inference: DocumentInference) -> Neighbourhood:
    """Place documents of the corpus, with progress on the terminal, to find neighbours among them."""
    neighbourhood, progress = Neighbourhood(db, inference), Progress()
    while not neighbourhood.ready:
        neighbourhood.advance()
        progress.show("placing documents of the corpus", neighbourhood.done / len(neighbourhood.numbers))
    progress.end()
    return neighbourhood


def _list_snapshot_facts(hierarchy: Hierarchy) -> dict[str, Any]:
    """Return the run and snapshot as facts for JSON."""
    return {"run": hierarchy.run, "snapshot": hierarchy.snapshot, "minibatch": hierarchy.minibatch}


def _list_facts(
    db: Database,
    hierarchy: Hierarchy,
    inference: DocumentInference,
    document: NewDocument,
    placed: DocumentTopics,
    neighbourhood: Neighbourhood | None,
    arguments: argparse.Namespace,
) -> dict[str, Any]:
    """Return the facts about a placed document for JSON, which the printed text is made of."""
    counted = document.counted
    facts: dict[str, Any] = {
        "title": document.title,
        "tokens": counted.tokens,
        "known": counted.known,
        "unknown": list(counted.unknown[:UNKNOWN]),
        "placed": not counted.blank,
    }
    if counted.blank:
        return facts
    heaviest_paths = inference.find_paths(placed.theta, arguments.paths)
    facts |= {
        "theta": [[float(value) for value in layer] for layer in placed.theta],
        "from_above": list(placed.above),
        "topics": [_list_topics(hierarchy, layer, theta) for layer, theta in enumerate(placed.theta, start=1)],
        "paths": [
            {
                "share": path.share,
                "topics": [_list_topic_facts(hierarchy, hierarchy.node(*node)) for node in path.nodes],
            }
            for path in heaviest_paths
        ],
    }
    if placed.probabilities is not None:
        order = np.argsort(-placed.probabilities, kind="stable").tolist()
        facts["labels"] = [
            {"label": inference.corpus.label_names[number], "probability": float(placed.probabilities[number])}
            for number in order
        ]
    if neighbourhood is not None:
        facts["nearest"] = _list_nearest(db, inference, neighbourhood, placed, arguments.nearest)
    return facts


def _list_nearest(
    db: Database, inference: DocumentInference, neighbourhood: Neighbourhood, placed: DocumentTopics, n: int
) -> list[dict[str, Any]]:
    """Return facts about the ``n`` nearest documents of the corpus."""
    neighbours = neighbourhood.find_nearest(placed.theta[0], n)
    documents = corpora.read_documents(db, inference.corpus.number, [each.document for each in neighbours])
    return [
        {"document": each.document, "title": document.title, "label": document.label, "distance": each.distance}
        for each, document in zip(neighbours, documents, strict=True)
    ]


def _list_topics(hierarchy: Hierarchy, layer: int, theta: Any) -> list[dict[str, Any]]:
    """Return facts about the topics of a layer with the largest shares of a document."""
    shares = paths.normalise_shares(theta)
    columns = np.argsort(-shares, kind="stable")[:TOPICS].tolist()
    return [
        {**_list_topic_facts(hierarchy, hierarchy.node(layer, column)), "share": float(shares[column])}
        for column in columns
    ]


def _list_topic_facts(hierarchy: Hierarchy, node: Node) -> dict[str, Any]:
    """Return facts about a topic for JSON."""
    return {
        "id": identity(node),
        "layer": node.layer,
        "topic": node.column + 1,
        "rank": hierarchy.rank(node),
        "name": hierarchy.name(node),
        "title": hierarchy.title(node),
        "words": [word.text for word in hierarchy.top_words(node, 8)],
    }


def _list_step_facts(hierarchy: Hierarchy, step: Step) -> dict[str, Any]:
    """Return facts about a step between two documents for JSON."""
    return {
        "weight": step.weight,
        "words": [hierarchy.vocabulary[word] for word in step.words],
        "shares": list(step.shares),
        "new": [hierarchy.vocabulary[word] for word, new in zip(step.words, step.new, strict=True) if new],
    }


def _describe_reading(counted: Recount) -> str:
    """Return a sentence on how many words of a text the corpus knows, as on the page Documents."""
    listed = " ".join(counted.unknown[:UNKNOWN]) + (" …" if len(counted.unknown) > UNKNOWN else "")
    unknown = f"; not known: {flatten_text(listed)}" if listed else ""
    return f"{counted.known:,} of {counted.tokens:,} {are_known(counted.tokens, counted.stopped)}{unknown}"


def _print_document(counted: Recount, fact: dict[str, Any]) -> None:
    """Print the labels, topics, paths and neighbours of a document."""
    if not fact["placed"]:
        say(f"\n{flatten_text(fact['title'])}\n  {flatten_text(explain_unknown_words(fact['unknown']))}")
        return
    say(f"\n{flatten_text(fact['title'])}\n  {_describe_reading(counted)}")
    for label in fact.get("labels", [])[:3]:
        say(f"  label {_format_share(label['probability'])}  {flatten_text(label['label'])}")
    listed = [topic for layer in reversed(fact["topics"]) for topic in layer]
    width = max(len(flatten_text(topic["title"])) for topic in listed)
    for topic in listed:
        text = f"{flatten_text(topic['title']):<{width}}  {flatten_text(' '.join(topic['words']))}"
        say(f"  L{topic['layer']}  {topic['rank']:>4}  {_format_share(topic['share'])}  {text}")
    for path in fact["paths"]:
        trail = "  >  ".join(f"{topic['id']} {flatten_text(topic['title'])}" for topic in path["topics"])
        say(f"  path {_format_share(path['share'])}  {trail}")
    for near in fact.get("nearest", []):
        label = f"  [{flatten_text(near['label'])}]" if near["label"] else ""
        say(f"  near  {near['distance']:.3f}  {near['document']}  {flatten_text(near['title'])}{label}")


def _format_share(share: float) -> str:
    return f"{format_share(share, 1):>7}" if math.isfinite(share) else "    –  "
