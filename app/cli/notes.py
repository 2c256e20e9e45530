"""The commands about notes and names: ``topiary notes``, ``topiary names``, and ``topiary carry`` for another run."""

import argparse
from collections.abc import Sequence
from typing import Any

from topiary.app.analysis.errors import ReadError
from topiary.app.analysis.hierarchy import Hierarchy, format_identity
from topiary.app.analysis.name_server import ask_names, find_server, write_request
from topiary.app.analysis.reader import StoreReader
from topiary.app.cli.console import UserError, find_run, name_topics, notify, print_json, print_table, say
from topiary.app.export.topics import list_topics
from topiary.app.jobs import logs
from topiary.app.machine import find_user
from topiary.engine.hierarchy.tree import Node
from topiary.store import notes as notes_of
from topiary.store.database import Database, open_existing
from topiary.store.run_rows import RunRow


def notes(arguments: argparse.Namespace) -> int:
    """Print the notes and tags of a run, or change them."""
    db = open_existing(arguments.store)
    row = find_run(db, arguments.run)
    if arguments.tag and arguments.add is None:
        raise UserError("--tag says that the text of --add is a tag; give --add TEXT too, or --tags to count tags")
    if arguments.add is not None:
        return _add_note(db, row, arguments)
    if arguments.delete is not None:
        note = notes_of.delete_note(db, arguments.delete)
        logs.record_action(db.place, f"deleted the {note.kind} {note.number}")
        say(f"deleted the {note.kind} {note.number}")
        return 0
    if arguments.change is not None:
        return _change_note(db, *arguments.change)
    if arguments.tags:
        return _print_tags(db, row, as_json=arguments.json)
    return _print_notes(db, row, arguments)


def _add_note(db: Database, row: RunRow, arguments: argparse.Namespace) -> int:
    from topiary.app.export.topics import add_run_note

    try:
        note = add_run_note(
            db, row, arguments.add, topic=arguments.topic, document=arguments.document, tag=arguments.tag,
            author=arguments.author,
        )  # fmt: skip
    except (LookupError, ValueError) as error:
        raise UserError(str(error.args[0])) from error
    subject = f"topic {note['topic']}" if note["topic"] else f"document {note['document']}"
    named = f"topic {note['topic']} {note['title']}" if note["topic"] else subject
    notify(f"added a {note['kind']} to {named}")
    logs.record_action(db.place, f"added a {note['kind']} to {subject} of run {row.number}")
    say(note["number"])
    return 0


def _change_note(db: Database, number: str, text: str) -> int:
    if not number.isdecimal() or len(number) > len(str(1 << 60)):
        raise UserError(f"--change wants the number of a note and its new text; got {number!r}")
    note = notes_of.change_note(db, int(number), text, find_user())
    logs.record_action(db.place, f"changed the note {note.number}")
    say(f"changed the note {note.number}")
    return 0


def _print_tags(db: Database, row: RunRow, *, as_json: bool) -> int:
    """Print how often each tag is used on topics and documents of a corpus."""
    counts = notes_of.count_tags(db, row.corpus)
    if as_json:
        print_json([{"tag": tag, "uses": count} for tag, count in counts.items()])
        return 0
    print_table(("tag", "uses"), list(counts.items()), f"nothing has a tag in the corpus {row.corpus_name}")
    return 0


def _print_notes(db: Database, row: RunRow, arguments: argparse.Namespace) -> int:
    from topiary.app.export.topics import list_run_notes

    try:
        facts = list_run_notes(db, row, topic=arguments.topic, document=arguments.document)
    except LookupError as error:
        raise UserError(str(error.args[0])) from error
    if arguments.json:
        print_json([each | {"created": each["created"].isoformat()} for each in facts])
        return 0
    print_table(
        ("number", "on", "kind", "author", "time", "text"),
        [(each["number"], _name_subject(each), each["kind"], each["author"], _format_time(each), each["text"])
         for each in facts],
        f"there is no note yet; write one with topiary notes {row.number} --add TEXT --topic L1:1",
    )  # fmt: skip
    return 0


def _name_subject(note: dict[str, Any]) -> str:
    return f"{note['topic']} {note['title']}".rstrip() if note["topic"] else f"document {note['document']}"


def _format_time(note: dict[str, Any]) -> str:
    return f"{note['created'].astimezone():%Y-%m-%d %H:%M}"


def names(arguments: argparse.Namespace) -> int:
    """Print names that are proposed for topics, ask a language model for some, or name a topic."""
    try:
        return _propose_names(arguments)
    except (LookupError, ReadError) as error:
        raise UserError(str(error.args[0])) from error


def _propose_names(arguments: argparse.Namespace) -> int:
    db = open_existing(arguments.store)
    row, reader = find_run(db, arguments.run), StoreReader(db)
    hierarchy = reader.hierarchy_at(row)
    every = list_topics(hierarchy, arguments.layer, 1)
    nodes = hierarchy.find_topics(arguments.topics or [each["topic"] for each in every if not each["light"]])
    if arguments.topics:
        name_topics(hierarchy, nodes)
    if arguments.give is not None:
        return _name_topic(db, row, arguments.topics and nodes, arguments.give)
    server = find_server(arguments.url, arguments.model) if arguments.url or arguments.model else None
    if server is None and (arguments.passages or arguments.send):
        raise UserError("--passages and --send are about a server; give its address with --url")
    if server is None:
        proposed = _find_phrases(reader, hierarchy, nodes)
    else:
        requests = [write_request(server, reader, hierarchy, node, passages=arguments.passages) for node in nodes]
        if not arguments.send:
            say("\n".join(f"POST {each.address}\n{each.body}" for each in requests))
            notify("nothing was sent; add --send to send this")
            return 0
        proposed = [[{"name": name} for name in ask_names(request)] for request in requests]
    found = [(format_identity(node), hierarchy.title(node), each) for node, each in zip(nodes, proposed, strict=True)]
    if arguments.json:
        print_json([dict(zip(("topic", "title", "names"), each, strict=True)) for each in found])
        return 0
    heads = ("topic", "title", "proposed names, and the part of its documents that have them")
    print_table(heads, [(*each[:2], "; ".join(map(_write_name, each[2]))) for each in found], "there are no topics")
    notify(f"name a topic with topiary names {row.number} --topic ID --give NAME")
    return 0


def _write_name(facts: dict[str, Any]) -> str:
    return f"{facts['name']} ({facts['part']:.0%})" if "part" in facts else facts["name"]


def _find_phrases(reader: StoreReader, hierarchy: Hierarchy, nodes: Sequence[Node]) -> list[list[dict[str, Any]]]:
    from topiary.app.analysis.topic_names import propose_names  # loads SciPy

    found = {layer: propose_names(reader, hierarchy, layer) for layer in dict.fromkeys(node.layer for node in nodes)}
    return [[each._asdict() for each in found[node.layer].get(node, ())] for node in nodes]


def _name_topic(db: Database, row: RunRow, nodes: Sequence[Node], name: str) -> int:
    if len(nodes) != 1:
        raise UserError("--give names one topic; give --topic with its number, such as --topic L1:4")
    topic, given = f"topic {format_identity(nodes[0])}", " ".join(name.split())
    notes_of.set_label(db, row.number, nodes[0].layer, nodes[0].column + 1, given)
    logs.record_action(db.place, f"named {topic} of run {row.number} {given}")
    say(f"named {topic} {given}" if given else f"{topic} has no name now")
    return 0


def carry(arguments: argparse.Namespace) -> int:
    """Copy names, notes and tags of the topics of a run to the same topics of another one."""
    from topiary.app.analysis.carry import carry_annotations, describe_carried, summarize_carrying

    db = open_existing(arguments.store)
    rows = find_run(db, arguments.run_from), find_run(db, arguments.run_to)
    reader = StoreReader(db)
    first, second = (reader.hierarchy_at(row) for row in rows)
    try:
        comparison = reader.compare(first, second)
    except ValueError as error:
        raise UserError(str(error)) from error
    carried = carry_annotations(db, comparison)
    logs.record_action(db.place, f"carried names and notes of run {rows[0].number} to run {rows[1].number}")
    if arguments.json:
        print_json(
            [
                each._asdict()
                | {"source": format_identity(each.source), "target": each.target and format_identity(each.target)}
                | {"source_title": first.title(each.source), "target_title": each.target and second.title(each.target)}
                for each in carried
            ]
        )
        return 0
    for each in carried:
        say(describe_carried(comparison, each))
    notify(summarize_carrying(carried, rows[1].number))
    return 0
