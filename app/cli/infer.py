"""``topiary infer`` and ``topiary interpolate``: the topics of new documents, and steps between two documents."""

import argparse
import math
from typing import Any

import numpy as np

from topiary.app.analysis.hierarchy import Hierarchy, Neighbour, format_identity
from topiary.app.analysis.inference import (
    DocumentInference,
    DocumentTopics,
    Step,
    must_compile,
    open_inference,
    round_percent,
)
from topiary.app.analysis.read_hierarchy import find_snapshot_at
from topiary.app.analysis.reader import StoreReader
from topiary.app.analysis.shares import LayerUse, complete_shares, fetch_use, find_nearest_to
from topiary.app.cli.console import UserError, find_run, notify, print_json, say, translate_errors
from topiary.app.export.class_facts import interpolate_documents
from topiary.app.export.texts import flatten_text
from topiary.app.ingest.new_documents import (
    NewDocument,
    WordCounts,
    describe_known_words,
    explain_unknown_words,
    read_new_documents,
)
from topiary.app.ingest.options import NEW_DOCUMENT_OPTIONS, ImportOptions
from topiary.app.jobs.progress import Progress
from topiary.app.names import name_step, parse_count
from topiary.app.views.text import format_percent
from topiary.engine.contract import Array
from topiary.engine.hierarchy.tree import Node
from topiary.store import corpora
from topiary.store.corpora import Document
from topiary.store.database import Database, open_existing

N_TOPICS, N_UNKNOWN_WORDS = 5, 10  # number of topics listed per layer, and of unknown words listed per document


def infer(arguments: argparse.Namespace) -> int:
    """Infer the topics of the documents in a file and print them."""
    db = open_existing(arguments.store)
    inference, hierarchy = _open_inference(db, arguments)
    with translate_errors(NEW_DOCUMENT_OPTIONS):
        options = ImportOptions(
            **{name: value for name in NEW_DOCUMENT_OPTIONS if (value := getattr(arguments, name)) is not None}
        )
        documents = read_new_documents(arguments.file, inference.rules, options)
    document_topics = inference.place_texts([document.word_counts for document in documents])
    has_words = any(not document.word_counts.blank for document in documents)
    use = _read_all_shares(db, inference) if arguments.nearest > 0 and has_words else None
    facts = [
        _list_document_facts(db, hierarchy, inference, document, topics, use, arguments)
        for document, topics in zip(documents, document_topics, strict=True)
    ]
    if arguments.json:
        print_json({**_list_snapshot_facts(hierarchy), "documents": facts})
        return 0
    say(f"run {hierarchy.run}, {hierarchy.moment}")
    for document, document_facts in zip(documents, facts, strict=True):
        _print_document(document.word_counts, document_facts)
    return 0


def interpolate(arguments: argparse.Namespace) -> int:
    """Print the words at steps on the line between two documents of a run's corpus."""
    db = open_existing(arguments.store)
    inference, hierarchy = _open_inference(db, arguments)
    ends = [_find_document(db, inference, text) for text in (arguments.one, arguments.other)]
    pair = ends[0].number, ends[1].number
    try:
        layer, steps = interpolate_documents(
            db, inference, pair, layer=arguments.layer, steps=arguments.steps, words=arguments.words
        )
    except ValueError as error:
        raise UserError(str(error)) from error
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
        say(f"{round_percent(step.weight):3}%  {flatten_text(' '.join(words))}")
    return 0


def place(arguments: argparse.Namespace) -> int:
    """Place the documents of the corpus that have no stored shares yet in the topics of a run, and store them."""
    db = open_existing(arguments.store)
    run = find_run(db, arguments.run)
    snapshot = find_snapshot_at(db, run, arguments.minibatch)
    progress = Progress()
    try:
        found = complete_shares(db, run, snapshot, progress.show_placing)
    finally:
        progress.end()
    moment = f"{name_step(run)} {snapshot.minibatch:,}"
    say(f"run {run.number}, {moment}: {found.documents:,} documents are placed in its topics")
    return 0


def _open_inference(db: Database, arguments: argparse.Namespace) -> tuple[DocumentInference, Hierarchy]:
    """Open the snapshot that the arguments name for inference, and read its hierarchy."""
    run = find_run(db, arguments.run)
    chosen = find_snapshot_at(db, run, arguments.minibatch)
    if must_compile(run, corpora.get_run_corpus(db, run)):
        notify("compiling kernels, about 20 s, once on this machine")
    inference = open_inference(db, run, chosen)
    return inference, StoreReader(db).hierarchy(run, chosen)


def _find_document(db: Database, inference: DocumentInference, text: str) -> Document:
    """Return the document with a number, or the first one that contains every word of a text."""
    number = parse_count(text)
    if number is not None:
        return corpora.read_documents(db, inference.corpus.number, [number])[0]
    _, matches = corpora.search_documents(db, inference.corpus.number, text, 0, 1)
    if not matches:
        raise UserError(f"corpus {inference.corpus.name!r} has no document with {text!r} in it")
    return matches[0]


def _read_all_shares(db: Database, inference: DocumentInference) -> LayerUse:
    """Return the shares of layer 1 in all documents of the corpus; place those that are not placed yet."""
    progress = Progress()
    try:
        return fetch_use(db, inference.run, inference.snapshot, 1, progress.show_placing, inference)
    finally:
        progress.end()


def _list_snapshot_facts(hierarchy: Hierarchy) -> dict[str, Any]:
    return {"run": hierarchy.run, "snapshot": hierarchy.snapshot, "minibatch": hierarchy.minibatch}


def _list_document_facts(
    db: Database,
    hierarchy: Hierarchy,
    inference: DocumentInference,
    document: NewDocument,
    topics: DocumentTopics,
    use: LayerUse | None,
    arguments: argparse.Namespace,
) -> dict[str, Any]:
    """Return the facts about a document and its topics for JSON; the printed text is made of the same facts."""
    word_counts = document.word_counts
    facts: dict[str, Any] = {
        "title": document.title,
        "tokens": word_counts.tokens,
        "known": word_counts.known,
        "unknown": list(word_counts.unknown[:N_UNKNOWN_WORDS]),
        "placed": not word_counts.blank,
    }
    if word_counts.blank:
        return facts
    heaviest_paths = inference.find_paths(topics, arguments.paths)
    facts |= {
        "theta": [[float(value) for value in layer] for layer in topics.theta],
        "from_above": list(topics.above),  # share of each posterior's shape that the layer above contributes
        "topics": [_list_topics(hierarchy, layer, shares) for layer, shares in enumerate(topics.shares, start=1)],
        "paths": [
            {
                "share": path.share,
                "topics": [_list_topic_facts(hierarchy, hierarchy.node(*node)) for node in path.nodes],
            }
            for path in heaviest_paths
        ],
    }
    if topics.probabilities is not None:
        order = np.argsort(-topics.probabilities, kind="stable").tolist()
        facts["labels"] = [
            {"label": inference.corpus.label_names[number], "probability": float(topics.probabilities[number])}
            for number in order
        ]
    if use is not None:
        facts["nearest"] = _list_nearest(db, inference, find_nearest_to(use, topics, arguments.nearest))
    return facts


def _list_nearest(db: Database, inference: DocumentInference, neighbours: list[Neighbour]) -> list[dict[str, Any]]:
    documents = corpora.read_documents(db, inference.corpus.number, [each.document for each in neighbours])
    return [
        {"document": each.document, "title": document.title, "label": document.label, "distance": each.distance}
        for each, document in zip(neighbours, documents, strict=True)
    ]


def _list_topics(hierarchy: Hierarchy, layer: int, shares: Array) -> list[dict[str, Any]]:
    """Return facts about the topics of a layer that have the largest shares of a document."""
    columns = np.argsort(-shares, kind="stable")[:N_TOPICS].tolist()
    return [
        {**_list_topic_facts(hierarchy, hierarchy.node(layer, column)), "share": float(shares[column])}
        for column in columns
    ]


def _list_topic_facts(hierarchy: Hierarchy, node: Node) -> dict[str, Any]:
    return {
        "topic": format_identity(node),
        "layer": node.layer,
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


def _describe_word_counts(word_counts: WordCounts) -> str:
    """Return a sentence on how many words of a text are in the vocabulary; the page Documents has the same sentence."""
    unknown_words = word_counts.unknown
    listed = " ".join(unknown_words[:N_UNKNOWN_WORDS]) + (" …" if len(unknown_words) > N_UNKNOWN_WORDS else "")
    unknown = f"; not known: {flatten_text(listed)}" if listed else ""
    known = describe_known_words(word_counts.tokens, word_counts.stopped)
    return f"{word_counts.known:,} of {word_counts.tokens:,} {known}{unknown}"


def _print_document(word_counts: WordCounts, facts: dict[str, Any]) -> None:
    """Print the labels, topics, paths and neighbours of a document."""
    if not facts["placed"]:
        say(f"\n{flatten_text(facts['title'])}\n  {flatten_text(explain_unknown_words(facts['unknown']))}")
        return
    say(f"\n{flatten_text(facts['title'])}\n  {_describe_word_counts(word_counts)}")
    for label in facts.get("labels", [])[:3]:
        say(f"  label {_format_share(label['probability'])}  {flatten_text(label['label'])}")
    listed = [topic for layer in reversed(facts["topics"]) for topic in layer]
    width, name_width = (max(len(flatten_text(topic[name])) for topic in listed) for name in ("title", "topic"))
    for topic in listed:
        text = f"{flatten_text(topic['title']):<{width}}  {flatten_text(' '.join(topic['words']))}"
        say(f"  {topic['topic']:<{name_width}}  {topic['rank']:>4}  {_format_share(topic['share'])}  {text}")
    for path in facts["paths"]:
        trail = "  >  ".join(f"{topic['topic']} {flatten_text(topic['title'])}" for topic in path["topics"])
        say(f"  path {_format_share(path['share'])}  {trail}")
    for near in facts.get("nearest", []):
        label = f"  [{flatten_text(near['label'])}]" if near["label"] else ""
        say(f"  near  {near['distance']:.3f}  {near['document']}  {flatten_text(near['title'])}{label}")


def _format_share(share: float) -> str:
    return f"{format_percent(share, 1):>6}" if math.isfinite(share) else "   –  "
