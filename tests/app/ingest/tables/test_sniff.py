"""Inputs of people that were read wrongly once: texts that were none, and documents of other programs."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ingest_samples import write

from topiary.app.ingest import packing, registry
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.importing import inspect_path, read_source
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.source import CountSource, TextDocument, TextSource
from topiary.app.ingest.tables import sniff

REPOSITORY = Path(__file__).resolve().parents[4]
CASES = Path(os.environ.get("TOPIARY_SHARED_CASES", REPOSITORY.parent / "shared" / "cases"))

pytestmark = [pytest.mark.data, pytest.mark.skipif(not CASES.is_dir(), reason=f"needs the shared cases at {CASES}")]


def documents(case: str) -> dict[str, TextDocument]:
    """The documents of a case by their titles."""
    source = read_source(CASES / case)
    assert isinstance(source, TextSource)
    return {document.title: document for document in source.documents()}


@pytest.mark.parametrize(
    ("case", "form", "label", "column"),
    [
        ("bibtex/library.bib", "bibtex", None, ("year", "1990")), ("ris/export.ris", "ris", "sea", ("year", "1990")),
        ("ris_txt/export.txt", "ris", "sea", ("year", "1990")),
        ("wos_export/savedrecs.txt", "wos", "JOURNAL OF SEA", ("year", "1990")),
        ("rss/feed.xml", "feed", "sea", ("date", "Mon, 02 Feb 1990 10:00:00 GMT")),
    ],
)  # fmt: skip
def test_records_are_documents_with_their_title_date_and_label(
    case: str, form: str, label: str | None, column: tuple[str, str]
) -> None:
    found = documents(case)
    assert len(found) == 60
    first = found["Storm notes 0"]
    assert first.text.startswith("The wharf ferry and anchor")
    assert first.text.endswith("lighthouse harbour.")
    assert (first.label, first.columns[column[0]]) == (label, column[1])
    assert inspect_path(CASES / case).format == form


@pytest.mark.parametrize(
    ("case", "title", "columns"),
    [
        ("epub", "Storm notes 0", {}), ("frontmatter_md", "Storm notes 0", {"date": "1990-01-01", "tags": "sea"}),
        ("ipynb", "Storm notes 0", {}), ("rtf", "", {}), ("srt", "sea0", {}),
        ("tei", "Storm notes 0", {"author": "A. Miller", "date": "1990"}),
    ],
)  # fmt: skip
def test_documents_of_other_programs_have_their_words_alone(case: str, title: str, columns: dict[str, str]) -> None:
    found = documents(case)
    one = next(
        each for each in found.values() if "The wharf ferry and" in each.text and (not title or each.title == title)
    )
    assert "wharf" in one.text
    assert columns.items() <= dict(one.columns).items()
    words = {word for each in found.values() for word in each.text.split()} if case != "frontmatter_md" else set()
    assert not words & {"import", "-->", "permalink:", "{\\rtf1"}


def test_words_cut_at_line_ends_are_whole_and_ligatures_letters() -> None:
    report = inspect_path(CASES / "ocr_hyphens")
    common = next(cut for cut in report.cuts if cut.option == "max_df")
    assert {"communist", "economic", "office", "field"} <= set(common.examples)
    assert "80 words cut at the end of a line joined" in " ".join(report.notes)


def test_dates_above_texts_are_a_column_and_no_titles() -> None:
    found = documents("title_is_a_date")
    assert {"Some Body 25, Sea Worker"} < set(found)
    assert found["Some Body 25, Sea Worker"].columns["date"] == "September 26, 1975"


def test_the_archive_of_a_list_is_mail_and_lists_of_words_and_counts_are_counts() -> None:
    assert inspect_path(CASES / "pipermail" / "2010-May.txt").format == "mail"
    assert len(documents("pipermail/2010-May.txt")) > 5
    source = read_source(CASES / "word_count_files" / "jstor")
    assert isinstance(source, CountSource)
    assert source.n_documents == 60
    assert sum(int(rows.counts.values.sum()) for rows in source.blocks()) == 1_080


steady = settings(derandomize=True, database=None)


def documents_writing(path: Path, **options: str) -> tuple[TextSource, list[tuple[str, str | None]]]:
    source = read_source(path, ImportOptions(**options))  # type: ignore[arg-type]
    assert isinstance(source, TextSource)
    return source, [(document.text, document.label) for document in source.documents()]


FRUIT = [("pear, fig; plum", "a"), ("apple's | skin", "b"), ('a "fig"', "a")]


@pytest.mark.parametrize(
    ("text", "separator", "quote"),
    [
        ('text,label\n"pear, fig; plum",a\napple\'s | skin,b\n"a ""fig""",a\n', "comma", "double quotation mark"),
        ("text;label\n'pear, fig; plum';a\n'apple''s | skin';b\n'a \"fig\"';a\n", "semicolon", "single quotation mark"),
        ('text;label\n"pear, fig; plum";a\n"apple\'s | skin";b\n"a ""fig""";a\n', "semicolon", "double quotation mark"),
        ("text\tlabel\npear, fig; plum\ta\napple's | skin\tb\na \"fig\"\ta\n", "tab", "none"),
        ('"text"|"label"\n"pear, fig; plum"|"a"\n"apple\'s | skin"|"b"\n"a ""fig"""|"a"\n', "pipe",
         "double quotation mark"),
        ('text,label\n"pear, fig; plum",a\n"apple\'s | skin",b\n"a \\"fig\\"",a\n', "comma",
         "double quotation mark (behind a backslash within cells)"),
    ],
)  # fmt: skip
def test_separator_and_quotes_are_found_and_said(text: str, separator: str, quote: str, tmp_path: Path) -> None:
    source, found = documents_writing(write(tmp_path / "a.csv", text))
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
    source, _ = documents_writing(write(tmp_path / "a.csv", text))
    assert source.understood["separator"] == separator
    assert f"separated by {separator}, though {doubt} would fit too" in source.notes[-1]


def test_known_names_settle_which_separator_is_meant(tmp_path: Path) -> None:
    source, found = documents_writing(write(tmp_path / "a.csv", "a,text;label\nx,pear;1\ny,fig;2\n" * 1))
    assert source.understood["separator"] in ("comma", "semicolon")
    source, found = documents_writing(write(tmp_path / "b.csv", "n,o;text;label\n1,2;pear;x\n3,4;fig;y\n5,6;fig;x\n"))
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
        documents_writing(write(tmp_path / "a.csv", text))


def test_a_tsv_that_is_ragged_is_not_cut_at_its_commas(tmp_path: Path) -> None:
    with pytest.raises(IngestError, match="line 2: has 3 columns, but line 1 has 2, separated by tab"):
        documents_writing(write(tmp_path / "a.tsv", "red, pear\ta\nfig, nut\tb\tc\n"))
    assert documents_writing(write(tmp_path / "b.tsv", "text,label\npear,a\nfig,b\n"))[1] == [
        ("pear", "a"),
        ("fig", "b"),
    ]


def test_what_differs_beyond_the_sample_is_refused_too(tmp_path: Path) -> None:
    text = "text;label\n" + "pear, fig;a\n" * 3_000 + "pear;a;b\n"
    with pytest.raises(IngestError, match="line 3,002: has 3 columns, but line 1 has 2, separated by semicolon"):
        documents_writing(write(tmp_path / "a.csv", text))


def test_a_quotation_mark_that_never_closes_does_not_swallow_a_sample(tmp_path: Path) -> None:
    text = "text,label\n" + '"pear, fig\n' + "apple,b\n" * 3_000
    with pytest.raises(IngestError, match="line 2: the row that begins here cannot be read"):
        documents_writing(write(tmp_path / "a.csv", text))
    text = "text\tlabel\n" + '"pear, fig\ta\n' + "apple\tb\n" * 3_000
    _, found = documents_writing(write(tmp_path / "b.csv", text))
    assert found[0] == ('"pear, fig', "a")
    assert len(found) == 3_001


def test_a_cell_of_several_lines_at_the_end_of_the_sample_is_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sniff, "_SAMPLE_LINES", 5)
    text = 'text,label\npear,a\nfig,b\nrye,a\n"one\ntwo, three\nfour",b\nnut,a\n'
    _, found = documents_writing(write(tmp_path / "a.csv", text))
    assert found[3] == ("one\ntwo, three\nfour", "b")


def test_the_column_that_pandas_leaves_without_a_name_has_its_number(tmp_path: Path) -> None:
    source, found = documents_writing(
        write(tmp_path / "a.csv", ",text,label\n0,red pear,a\n1,green fig,b\n2,an apple,a\n")
    )
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
    found = sniff.find_writing_in("".join(lines).splitlines(keepends=True), Path("a.csv"), whole=True)
    assert (found.delimiter, found.quote) == (delimiter, '"') or found.doubt


DOUBTED = "a,b;red pear\nc,d;green apple\n"


@pytest.mark.parametrize("chosen", [";", "semicolon", "Semicolon"])
def test_a_separator_that_is_chosen_is_taken_though_another_fits(chosen: str, tmp_path: Path) -> None:
    source, found = documents_writing(write(tmp_path / "a.csv", DOUBTED), separator=chosen)
    assert source.understood["separator"] == "semicolon"
    assert [text for text, _ in found] == ["red pear", "green apple"]
    assert not any("would fit too" in note for note in source.notes)


@pytest.mark.parametrize(
    ("chosen", "mark", "said"),
    [
        (",", ",", "comma"), ("tab", "\t", "tab"), (r"\t", "\t", "tab"), ("\t", "\t", "tab"), ("|", "|", "pipe"),
        ("space", " ", "space"), ("~", "~", "~"), ("^", "^", "^"), ("\\", "\\", "\\"), ("x", "x", "x"),
        ("\x01", "\x01", "U+0001"), ("\x1f", "\x1f", "U+001F"), ("\u00a0", "\u00a0", "U+00A0"), ("文", "文", "文"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_any_one_character_separates_cells(chosen: str, mark: str, said: str, ending: str, tmp_path: Path) -> None:
    lines = [("text", "label"), ('"pear; fig"', "a"), ("apple", "b"), ('"a ""plum"""', "a")]
    path = write(
        tmp_path / f"a{ending}", "\n".join(map(mark.join, lines)).replace("text", "body" if mark == "x" else "text")
    )
    source, found = documents_writing(path, separator=chosen, quote="double")
    assert source.understood["separator"] == said
    assert found == [("pear; fig", "a"), ("apple", "b"), ('a "plum"', "a")]


QUOTED = {
    "'": ("text,label\n'pear, \"fig\"',a\n'it''s',b\n", [('pear, "fig"', "a"), ("it's", "b")]),
    '"': ("text,label\n\"pear, fig\",a\n'plum',b\n", [("pear, fig", "a"), ("'plum'", "b")]),
    "none": ("text,label\n\"pear\",a\n'plum',b\n", [('"pear"', "a"), ("'plum'", "b")]),
}


@pytest.mark.parametrize("quote", QUOTED)
@pytest.mark.parametrize("separator", [None, "comma"])
def test_a_quotation_mark_that_is_chosen_is_taken(quote: str, separator: str | None, tmp_path: Path) -> None:
    text, expected = QUOTED[quote]
    chosen = {"quote": quote} if separator is None else {"quote": quote, "separator": separator}
    source, found = documents_writing(write(tmp_path / "a.csv", text), **chosen)
    assert found == expected
    named = {"'": "single quotation mark", '"': "double quotation mark", "none": "none"}
    assert source.understood["quote"] == named[quote]


def test_a_mark_that_is_chosen_may_stand_behind_a_backslash_within_cells(tmp_path: Path) -> None:
    source, found = documents_writing(
        write(tmp_path / "a.csv", "text;label\n'it\\'s; so';a\n'fig';b\n"), quote="single"
    )
    assert found == [("it's; so", "a"), ("fig", "b")]
    assert source.understood["quote"] == "single quotation mark (behind a backslash within cells)"


def test_quotes_that_are_chosen_are_taken_where_rows_are_of_one_cell(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "text\n'pear, fig'\n'plum'\n")
    assert [text for text, _ in documents_writing(path, separator="tab", quote="single")[1]] == ["pear, fig", "plum"]
    assert [text for text, _ in documents_writing(path, separator="tab", quote="none")[1]] == ["'pear, fig'", "'plum'"]


def test_rows_that_a_chosen_separator_cuts_unequally_are_refused_with_what_to_do(tmp_path: Path) -> None:
    says = "line 2: has 2 columns, but line 1 has 1, separated by tab; correct it, or say with --separator and --quote"
    with pytest.raises(IngestError, match=says):
        documents_writing(write(tmp_path / "a.csv", "text;label\npear\tfig;a\n"), separator="tab")


def test_a_table_of_counts_is_cut_where_it_is_said_too(tmp_path: Path) -> None:
    source = read_source(write(tmp_path / "a.csv", "user~item~count\nann~pear~2\nbob~fig~1\n"),
                  ImportOptions(format="triples", separator="~"))  # fmt: skip
    assert isinstance(source, CountSource)
    assert (source.vocabulary, source.understood["separator"]) == (("pear", "fig"), "~")


@steady
@given(
    rows=st.lists(st.lists(_CELL, min_size=3, max_size=3), min_size=1, max_size=6),
    delimiter=st.sampled_from(",;|\t~^ a\x01"),
    quote=st.sampled_from(["double", "single"]),
)
def test_what_is_written_so_and_said_to_be_so_is_read_back(
    rows: list[list[str]], delimiter: str, quote: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    mark = {"double": '"', "single": "'"}[quote]
    lines = [delimiter.join(mark + cell.replace(mark, 2 * mark) + mark for cell in row) + "\n" for row in rows]
    path = tmp_path_factory.mktemp("cells") / "a.csv"
    path.write_text("".join(lines), encoding="utf-8")
    options = ImportOptions(separator=delimiter, quote=quote)
    found = sniff.read_cells(path, sniff.find_writing(path, options), options.encoding)
    assert [row for _, row in found] == rows


ROWS = [("text", "label"), ("red pear", "a"), ("green; fig", "b"), ("an apple", "a"), ("a plum", "b")]
FOUND = [("red pear", "a"), ("green; fig", "b"), ("an apple", "a"), ("a plum", "b")]


def quoted(rows: list[tuple[str, ...]], sign: str = ",", end: str = "\n") -> str:
    return "".join(sign.join(f'"{cell}"' for cell in row) + end for row in rows)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cr.csv", quoted(ROWS, end="\r")), ("mixed.csv", quoted(ROWS[:2], end="\r\n") + quoted(ROWS[2:], end="\r")),
        ("bom.csv", "\ufeff" + quoted(ROWS, end="\r")), ("wide.csv", quoted(ROWS, end="\r").encode("utf-16")),
        ("sep.csv", "sep=;\r\n" + quoted(ROWS, ";", "\r\n")), ("tab.csv", "sep=\t\n" + quoted(ROWS, "\t")),
        ("note.csv", "Export of 2020, by Ann\nAll of it\n\n" + quoted(ROWS)), ("mark.csv", "# a, b\n" + quoted(ROWS)),
        ("r.csv", quoted([ROWS[0], *((f"{n}", *row) for n, row in enumerate(FOUND))])),
        ("r.tsv", "text\tlabel\n" + "".join(f"{n}\t{text}\t{label}\n" for n, (text, label) in enumerate(FOUND))),
        ("r.txt", quoted([ROWS[0], *((f"{n}", *row) for n, row in enumerate(FOUND))], " ")),
        ("names.txt", "".join("\t".join(row) + "\n" for row in ROWS)), ("bare.txt", quoted(FOUND, "\t")),
        ("excel.txt", quoted(ROWS, "\t", "\r\n").encode("utf-16")), ("comma.txt", quoted(ROWS)),
    ],
)  # fmt: skip
def test_the_shapes_in_which_programs_write_tables_are_read(name: str, text: str | bytes, tmp_path: Path) -> None:
    path = write(tmp_path / name, text)
    assert registry.choose_reader(path, ImportOptions()).name == "csv"
    assert documents_writing(path)[1] == FOUND


def test_cells_with_lines_in_a_file_whose_lines_end_in_carriage_returns_stay_whole(tmp_path: Path) -> None:
    text = 'text,label\r"red\npear",a\r"green\rfig",b\r'
    assert documents_writing(write(tmp_path / "a.csv", text))[1] == [("red\npear", "a"), ("green\rfig", "b")]


@pytest.mark.parametrize("size", [1, 2, 7, 1 << 18])
def test_lines_end_in_carriage_returns_whatever_the_pieces_in_which_they_are_read(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "_PIECE", size)
    path = write(tmp_path / "a.txt", "red\r\ngreen\r\rblue\nlast")
    assert list(packing.read_lines(path)) == [(1, "red"), (2, "green"), (3, ""), (4, "blue"), (5, "last")]


def test_what_looks_like_row_names_or_titles_but_is_a_ragged_table_is_refused(tmp_path: Path) -> None:
    for text in ("text\npear, fig\nplum, nut\n", "id,text\n1,pear\n2,apple,a\n3,fig,b\n4,rye,a\n"):
        with pytest.raises(IngestError, match="separated by comma; correct it"):
            documents_writing(write(tmp_path / "a.csv", text))


def test_lines_of_texts_and_words_with_counts_are_no_tables(tmp_path: Path) -> None:
    for text, reader in (
        ("n1\ta\tred pear\nn2\tb\tgreen fig\nn3\ta\tan apple\n", "lines"),
        ("red pear, a\nfig, b\nplum, a\n", "lines"),
        ("pear\t3\nfig\t2\nnut\t1\n", "wordcounts"),
    ):
        chosen = registry.choose_reader(write(tmp_path / "a.txt", text), ImportOptions())
        assert reader == chosen.name
