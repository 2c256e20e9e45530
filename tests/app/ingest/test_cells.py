"""How tables are cut into cells: where all rows are equally wide, and said where that is not certain."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ingest_samples import write

from app.ingest import cells
from app.ingest.errors import IngestError
from app.ingest.importing import read
from app.ingest.options import ImportOptions
from app.ingest.source import TextSource

steady = settings(derandomize=True, database=None)


def documents(path: Path, **options: str) -> tuple[TextSource, list[tuple[str, str | None]]]:
    source = read(path, ImportOptions(**options))  # type: ignore[arg-type]
    assert isinstance(source, TextSource)
    return source, [(document.text, document.label) for document in source.documents()]


FRUIT = [("pear, fig; plum", "a"), ("apple's | skin", "b"), ('a "fig"', "a")]


@pytest.mark.parametrize(
    ("text", "separator", "quote"),
    [
        ('text,label\n"pear, fig; plum",a\napple\'s | skin,b\n"a ""fig""",a\n', "comma", "double quotation mark"),
        ("text;label\n'pear, fig; plum';a\n'apple''s | skin';b\n'a \"fig\"';a\n", "semicolon", "apostrophe"),
        ('text;label\n"pear, fig; plum";a\n"apple\'s | skin";b\n"a ""fig""";a\n', "semicolon", "double quotation mark"),
        ("text\tlabel\npear, fig; plum\ta\napple's | skin\tb\na \"fig\"\ta\n", "tab", "none"),
        ('"text"|"label"\n"pear, fig; plum"|"a"\n"apple\'s | skin"|"b"\n"a ""fig"""|"a"\n', "bar",
         "double quotation mark"),
        ('text,label\n"pear, fig; plum",a\n"apple\'s | skin",b\n"a \\"fig\\"",a\n', "comma",
         "double quotation mark (behind a backslash within cells)"),
    ],
)  # fmt: skip
def test_separator_and_quotes_are_found_and_said(text: str, separator: str, quote: str, tmp_path: Path) -> None:
    source, found = documents(write(tmp_path / "a.csv", text))
    assert found == FRUIT
    assert source.understood["separator"] == separator
    assert source.understood["quote"] == quote
    assert source.understood["header"] == "the first line"
    assert not any("would fit too" in note for note in source.notes)


@pytest.mark.parametrize(
    ("text", "separator", "doubt"),
    [
        ("red pear, fig, plum;a\ngreen apple, nut, rye;b\n", "semicolon", "comma"),
        ("1,5;2,5;red pear\n1,7;2,9;green apple\n", "semicolon", "comma"),
        ("a,b;red pear\nc,d;green apple\n", "comma", "semicolon"),
    ],
)
def test_where_several_separators_fit_the_choice_is_said(text: str, separator: str, doubt: str, tmp_path: Path) -> None:
    source, _ = documents(write(tmp_path / "a.csv", text))
    assert source.understood["separator"] == separator
    assert f"separated by {separator}, though {doubt} would fit too" in source.notes[-1]


def test_known_names_settle_which_separator_is_meant(tmp_path: Path) -> None:
    source, found = documents(write(tmp_path / "a.csv", "a,text;label\nx,pear;1\ny,fig;2\n" * 1))
    assert source.understood["separator"] in ("comma", "semicolon")
    source, found = documents(write(tmp_path / "b.csv", "n,o;text;label\n1,2;pear;x\n3,4;fig;y\n5,6;fig;x\n"))
    assert [text for text, _ in found] == ["pear", "fig", "fig"]
    assert len(source.notes) == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("id,text\n1,pear\n2,apple,fig\n", "line 3: has 3 columns, but line 1 has 2, separated by comma"),
        ('id;text\n1;pear\n2;"apple\n3;fig\n', "line 3: the row that begins here cannot be read .*by semicolon"),
        ("text\npear, fig\napple\n", "line 2: has 2 columns, but line 1 has 1"),
    ],
)
def test_a_table_that_is_equally_wide_under_no_separator_is_refused(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(IngestError, match=says):
        documents(write(tmp_path / "a.csv", text))


def test_what_differs_beyond_the_sample_is_refused_too(tmp_path: Path) -> None:
    text = "text;label\n" + "pear, fig;a\n" * 3_000 + "pear;a;b\n"
    with pytest.raises(IngestError, match="line 3,002: has 3 columns, but line 1 has 2, separated by semicolon"):
        documents(write(tmp_path / "a.csv", text))


def test_a_quotation_mark_that_never_closes_does_not_swallow_a_sample(tmp_path: Path) -> None:
    text = "text,label\n" + '"pear, fig\n' + "apple,b\n" * 3_000
    with pytest.raises(IngestError, match="line 2: the row that begins here cannot be read"):
        documents(write(tmp_path / "a.csv", text))
    text = "text\tlabel\n" + '"pear, fig\ta\n' + "apple\tb\n" * 3_000
    _, found = documents(write(tmp_path / "b.csv", text))
    assert found[0] == ('"pear, fig', "a")
    assert len(found) == 3_001


def test_a_cell_of_several_lines_at_the_end_of_the_sample_is_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cells, "_SAMPLE", 5)
    text = 'text,label\npear,a\nfig,b\nrye,a\n"one\ntwo, three\nfour",b\nnut,a\n'
    _, found = documents(write(tmp_path / "a.csv", text))
    assert found[3] == ("one\ntwo, three\nfour", "b")


def test_the_column_that_pandas_leaves_without_a_name_has_its_number(tmp_path: Path) -> None:
    source, found = documents(write(tmp_path / "a.csv", ",text,label\n0,red pear,a\n1,green fig,b\n2,an apple,a\n"))
    assert source.understood["header"] == "the first line"
    assert found[0] == ("red pear", "a")
    assert len(found) == 3


_CELL = st.text(st.sampled_from("ab ,;|'\"\t\n"), max_size=6)


@steady
@given(st.lists(st.lists(_CELL, min_size=3, max_size=3), min_size=1, max_size=6), st.sampled_from(",;|\t"))
def test_what_is_written_with_all_cells_quoted_is_read_back_or_doubted(rows: list[list[str]], delimiter: str) -> None:
    lines = [
        delimiter.join('"' + cell.replace('"', '""') + '"' for cell in row) + "\n" for row in [["x", "y", "z"], *rows]
    ]
    found = cells.of_lines("".join(lines).splitlines(keepends=True), Path("a.csv"), whole=True)
    assert (found.delimiter, found.quote) == (delimiter, '"') or found.doubt
