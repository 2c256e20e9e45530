"""Standard input is told by its content, and called so in every sentence."""

import gzip
import io
from pathlib import Path

import pytest

from app.ingest.archives import STDIN_NAME, name_input, spool_input
from app.ingest.errors import IngestError
from app.ingest.importing import import_path
from app.ingest.options import ImportOptions
from store.database import Database

WHOLE = {"min_df": 1, "max_df": 1.0, "test_share": 0}
PACKED = gzip.compress(b"apple", mtime=0)  # no time: it is in the name of a test


@pytest.mark.parametrize(
    ("sent", "form", "read_as"),
    [
        (b"text,label\napple pear,x\napple fig,y\n", None, "csv"),
        (b'\xef\xbb\xbf{"text": "apple pear"}\n{"text": "apple fig"}\n', None, "jsonl"),
        (b"apple pear\napple fig\n", None, "lines"),
        (b"apple, pear\napple fig and more\n", None, "lines"),
        (b"apple pear\napple fig\n", "lines", "lines"),
        (gzip.compress(b"text,label\napple pear,x\napple fig,y\n", mtime=0), "csv", "csv"),
    ],
)
def test_what_comes_is_told_by_its_content(sent: bytes, form: str | None, read_as: str, db: Database) -> None:
    with spool_input(["-"], form, io.BytesIO(sent)) as paths:
        row = import_path(db, paths, ImportOptions(format=form, **WHOLE), called=name_input(["-"]))  # type: ignore[arg-type]
    assert (row.name, row.source, row.documents) == (STDIN_NAME, STDIN_NAME, 2)
    assert (row.meta["format"], row.meta["file"]) == (read_as, STDIN_NAME)
    assert not paths[0].exists()


@pytest.mark.parametrize(
    ("names", "form", "sent", "said"),
    [
        (["-"], None, b" \n", "standard input: is empty"),
        (["-", "a.csv"], None, b"", "standard input: cannot be read together with files; give either"),
        (["-"], None, PACKED, "standard input: is compressed; say what is in it with --format"),
        (["-"], "csv", b"text,label\napple\n", "standard input, line 2: has 1 column, but line 1 has 2"),
    ],
)
def test_what_is_wrong_names_standard_input(
    names: list[str], form: str | None, sent: bytes, said: str, db: Database
) -> None:
    with pytest.raises(IngestError) as refused, spool_input(names, form, io.BytesIO(sent)) as paths:
        import_path(db, paths, ImportOptions())
    assert str(refused.value).startswith(said)


def test_files_are_left_where_they_are(tmp_path: Path) -> None:
    with spool_input([str(tmp_path / "a.csv")]) as paths:
        assert paths == [tmp_path / "a.csv"]
    assert name_input(["a.csv"]) == ""
