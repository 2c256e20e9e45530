"""What WikiExtractor has written: blocks or objects, alone or in folders."""

import json
from pathlib import Path

import pytest
from format_samples import extracted
from ingest_samples import write

from app.ingest.importing import read_source
from app.ingest.source import TextSource

OBJECT = {"id": "7", "url": "https://example.org/7", "title": "Pear", "text": "Pear\n\nA fruit."}


def test_articles_have_their_titles_once_and_their_address(tmp_path: Path) -> None:
    source = read_source(extracted(tmp_path / "text"))
    assert isinstance(source, TextSource)
    found = list(source.documents())
    assert (found[1].title, found[1].text) == ("A & green", "apple green")
    assert dict(found[1].columns) == {"id": "1", "url": "https://example.org/1"}
    assert len(found) == 4
    assert source.understood["files"] == "2"


@pytest.mark.parametrize("name", ["wiki_00", "wiki_00.gz", "AA/wiki_00"])
def test_a_json_object_a_line_is_read_too_and_one_file_alone(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / "in" / name, json.dumps(OBJECT) + "\n")
    source = read_source(path if "/" not in name else tmp_path / "in")
    assert isinstance(source, TextSource)
    assert [(each.title, each.text) for each in source.documents()] == [("Pear", "A fruit.")]
