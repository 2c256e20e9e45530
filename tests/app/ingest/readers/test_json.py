"""JSON arrays: object by object, whatever the sizes of the pieces that are read."""

import json
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ingest_samples import write, zipped_as

from topiary.app.ingest import registry
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.importing import read_source
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.readers import json as json_reader
from topiary.app.ingest.readers.json import read_values
from topiary.app.ingest.source import TextSource

steady = settings(derandomize=True, database=None)


def texts(path: Path) -> list[str]:
    source = read_source(path)
    assert isinstance(source, TextSource)
    return [document.text for document in source.documents()]


@pytest.mark.parametrize(
    "text",
    [
        '[{"text": "red pear"}, {"text": "green fig"}]',
        '{"data": [{"text": "red pear"}, {"text": "green fig"}], "version": "1"}',
        '{"text": "red pear"}\n{"text": "green fig"}\n',
        '\ufeff [\n{"text": "red pear"}\n,\n{"text": "green fig"}\n]\n',
    ],
)
def test_arrays_objects_with_an_array_and_objects_in_a_row_are_read(text: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", text)
    assert registry.choose_reader(path, ImportOptions()).name == "json"
    assert texts(path) == ["red pear", "green fig"]


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=6,
)


@steady
@given(
    st.lists(st.dictionaries(st.text(max_size=5), _VALUES, max_size=3), min_size=1, max_size=6),
    st.integers(1, 20),
    st.sampled_from([None, 1]),
)
def test_objects_come_out_as_they_are_whatever_the_pieces(records: list[dict], piece: int, indent: int | None) -> None:
    text = json.dumps(records, indent=indent)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_reader, "_PIECE", piece)
        found = list(read_values(StringIO(text), Path("a.json")))
    assert [record for _, record in found] == records
    lines = [text.count("\n", 0, place) + 1 for place in _begins(text, records)]
    assert [line for line, _ in found] == lines


def _begins(text: str, records: list[dict]) -> list[int]:
    """Where each record begins in the text of them all."""
    decoder, places, place = json.JSONDecoder(), [], 1
    for _ in records:
        while text[place] in " \n,":
            place += 1
        places.append(place)
        place = decoder.raw_decode(text, place)[1]
    return places


PROSE = ("the ferry was late again today", "rain fell all day and all night")
ROWS = [{"text": text, "label": label} for text, label in zip(PROSE, "ab", strict=True)]
NESTED = [{"id": n, "fields": {"body": row["text"]}, "section": row["label"]} for n, row in enumerate(ROWS)]
COMMENTS = [{"id": 1, "body": "a few words on it"}]


@pytest.mark.parametrize(
    "value",
    [
        {"text": dict(enumerate(PROSE)), "label": {"0": "a", "1": "b"}},
        {"0": ROWS[0], "1": ROWS[1]},
        {"-Kx1": ROWS[0], "-Kx2": ROWS[1]},
        {"columns": ["text", "label"], "index": [0, 1], "data": [list(row.values()) for row in ROWS]},
        {"schema": {"fields": [{"name": "text", "type": "string"}], "pandas_version": "1.4"}, "data": ROWS},
        {"text": list(PROSE), "label": ["a", "b"]},
        {"columns": [{"name": "text", "values": list(PROSE)}, {"name": "label", "values": ["a", "b"]}]},
        {"response": {"status": "ok", "results": {"items": NESTED}}},
        {"hits": {"total": {"value": 2}, "hits": [{"_id": "1", "_source": row} for row in ROWS]}},
        {"posts": {"-Kx1": ROWS[0], "-Kx2": ROWS[1]}, "version": {"number": 1}},
        {"kind": "Listing", "data": {"children": [{"kind": "t3", "data": row} for row in ROWS]}},
        {"data": ROWS, "includes": {"users": [{"id": "1", "name": "Ann"}]}, "meta": {"result_count": 2}},
        [{"page": 1, "items": [ROWS[0]]}, {"page": 2, "items": [ROWS[1]]}],
    ],
    ids=lambda value: json.dumps(value)[:40],
)
def test_records_are_found_in_the_shapes_in_which_programs_write_them(value: object, tmp_path: Path) -> None:
    assert texts(write(tmp_path / "a.json", json.dumps(value))) == [*PROSE]


def test_texts_alone_are_documents_and_one_object_with_lists_next_to_its_text_is_one(tmp_path: Path) -> None:
    assert texts(write(tmp_path / "a.json", json.dumps(PROSE))) == [*PROSE]
    one = {"title": "Ferries", "text": PROSE[0], "authors": [{"name": "Ann B"}, {"name": "Bob C"}]}
    assert texts(write(tmp_path / "c.json", json.dumps(one))) == [PROSE[0]]


def test_the_place_of_the_records_is_said_and_can_be_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", json.dumps({"a": {"posts": ROWS, "comments": COMMENTS * 2}}))
    source = read_source(path)
    assert source.understood["records"] == "a.posts"
    assert "though a.comments has texts too" in source.understood["guess"]
    for named in ("a.comments", "$.a.comments[]", "a/comments"):
        source = read_source(path, ImportOptions(records=named))
        assert isinstance(source, TextSource)
        assert [document.text for document in source.documents()] == ["a few words on it"] * 2
        assert "guess" not in source.understood
    with pytest.raises(IngestError, match=r"has no records at 'a\.news'; it has a\.posts, a\.comments"):
        read_source(path, ImportOptions(records="a.news"))
    with pytest.raises(IngestError, match=r"no field of text; .* with --records \(a\)"):
        read_source(write(tmp_path / "b.json", '{"a": [1, 2], "b": {"c": 3}}'))


def test_arrays_in_groups_are_named_and_rows_of_cells_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", json.dumps({"sea": [ROWS[0]] * 2, "garden": [ROWS[1]]}))
    source = read_source(path)
    assert "records are those of sea, though garden has texts too" in source.understood["guess"]
    assert isinstance(source := read_source(path, ImportOptions(records="garden")), TextSource)
    assert [document.text for document in source.documents()] == [PROSE[1]]
    with pytest.raises(IngestError, match="not an object"):
        texts(write(tmp_path / "b.json", json.dumps([list(row.values()) for row in ROWS])))


def test_json_lines_have_records_within_them_too(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl", "".join(json.dumps({"page": n, "items": [row]}) + "\n" for n, row in enumerate(ROWS))
    )
    assert texts(path) == [*PROSE]
    path = write(tmp_path / "b.jsonl", "".join(json.dumps({"doc": row}) + "\n" for row in ROWS))
    assert texts(path) == [*PROSE]


PART = {"type": "link", "text": "this"}
BLOCKS = [
    {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": PROSE[1]}]}]}
]


def test_messages_are_read_whose_texts_are_lists_of_parts(tmp_path: Path) -> None:
    service = {"id": 0, "type": "service", "date": "2020-01-01T10:00:00", "text": "", "title": "Group"}
    said = [
        {"id": n, "type": "message", "date": "2020-01-01T10:00:00", "text": text}
        for n, text in enumerate([PROSE[0], ["see ", PART, "!"]])
    ]
    chat = {"name": "Group", "type": "private_group", "messages": [service, *said]}
    assert texts(write(tmp_path / "a.json", json.dumps(chat))) == ["", PROSE[0], "see this!"]
    every = {"about": "All the data that you asked for.", "chats": {"list": [chat, chat]}}
    assert texts(write(tmp_path / "b.json", json.dumps(every))) == ["", PROSE[0], "see this!"] * 2
    sent = {
        "participants": [{"name": "Ann"}],
        "messages": [{"sender_name": "Ann", "timestamp_ms": 1577872800000, "content": text} for text in PROSE],
    }
    sent["messages"].append({"sender_name": "Ann", "timestamp_ms": 1577872800000, "photos": [{"uri": "x"}]})
    assert texts(write(tmp_path / "c.json", json.dumps(sent))) == [*PROSE, ""]


@pytest.mark.parametrize("packed", [False, True])
def test_an_export_of_slack_is_read_with_its_channels_as_labels(packed: bool, tmp_path: Path) -> None:
    folder = tmp_path / "slack"
    write(folder / "users.json", json.dumps([{"id": "U1", "profile": {"title": "the boss of all of them"}}]))
    for channel in ("general", "random"):
        for day in (1, 2):
            messages = [
                {"type": "message", "user": "U1", "text": PROSE[0], "ts": "1577872800.000200"},
                {"type": "message", "user": "U1", "text": "", "ts": "1577872801.000200", "blocks": BLOCKS},
            ]
            write(folder / channel / f"2020-01-0{day}.json", json.dumps(messages))
    path = zipped_as(folder, tmp_path / "slack.zip") if packed else folder
    source = registry.choose_reader(path, ImportOptions()).read(path, ImportOptions())
    assert isinstance(source, TextSource)
    documents = list(source.documents())
    assert [document.text for document in documents] == [*PROSE] * 4
    assert [document.label for document in documents] == ["general"] * 4 + ["random"] * 4
    assert source.columns is not None
    assert source.columns.roles["ts"] == "date"
