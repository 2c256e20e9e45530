"""JSON arrays: object by object, whatever the sizes of the pieces that are read."""

import json
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ingest_samples import write

from app.ingest import read_json, registry
from app.ingest.importing import read
from app.ingest.options import ImportOptions
from app.ingest.source import TextSource

steady = settings(derandomize=True, database=None)


def texts(path: Path) -> list[str]:
    source = read(path)
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
    assert registry.choose(path, ImportOptions()).NAME == "json"
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
        patch.setattr(read_json, "_PIECE", piece)
        found = list(read_json.values(StringIO(text), Path("a.json")))
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
