"""Records of reference managers and publishers: known by their content, an abstract a text, what is missing said."""

# ruff: noqa: E501 - records as they are exported

import gzip
import zipfile
from pathlib import Path

import pytest
from ingest_samples import SAMPLES, write
from record_samples import ris_of
from slow_inputs import grows_slowly

from topiary.app.ingest import registry
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.importing import inspect_path, read_source
from topiary.app.ingest.new_documents import Rules, read_new_documents
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.readers.publications import decode_value
from topiary.app.ingest.report import list_lines
from topiary.app.ingest.source import TextDocument, TextSource
from topiary.app.ingest.tables import sniff
from topiary.app.ingest.text.cleaning import make_word_pattern
from topiary.app.ingest.text.words import Wording


def documents(path: Path, **options: str) -> tuple[TextSource, list[TextDocument]]:
    source = read_source(path, ImportOptions(**options))  # type: ignore[arg-type]
    assert isinstance(source, TextSource)
    return source, list(source.documents())


RIS = (
    "\ufeffProvider: A Press\r\nContent:text/plain; charset=\"UTF-8\"\r\n\r\n\r\nTY  - JOUR\r\nA1  - Miller, Ann\r\nAU  - Brown, Bo\r\n"
    "T1  - A title that\r\n goes on\r\nJO  - J Sea\r\nY1  - 1990/05/12/\r\nN2  - The ferry was late.\r\nAB  - The ferry was late. And full.\r\n\r\n"
    "A second paragraph.\r\nKW  - sea\r\nKW  - ship\r\nDO  - 10.1/x\r\nER  - \r\n\r\nTY  - BOOK\r\nTI  - No abstract\r\nPY  - 1991\r\nER  -\r\n"
)  # fmt: skip


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_ris_of_publishers_is_read_with_values_that_repeat_and_go_on(encoding: str, tmp_path: Path) -> None:
    source, (one, other) = documents(write(tmp_path / "scopus.txt", RIS.removeprefix("\ufeff").encode(encoding)))
    assert one.title == "A title that goes on"
    assert one.text == "The ferry was late. And full. A second paragraph."
    assert one.columns["authors"] == "Miller, Ann; Brown, Bo"
    assert one.columns["keywords"] == "sea; ship"
    assert (one.columns["date" if "date" in one.columns else "year"], other.columns["year"]) == ("1990", "1991")
    assert (other.title, other.text) == ("No abstract", "")
    assert "1 record has no abstract, of 2; only the words of the title are counted there" in source.notes
    assert "no abstract" in source.counted(other)


def test_endnote_tags_are_records_too(tmp_path: Path) -> None:
    text = "%0 Journal Article\n%T Storm\n%A Ann\n%A Bo\n%D 1990\n%X The ferry\nwas late.\n\n%0 Book\n%T Law\n%X A court.\n"
    _, (one, other) = documents(write(tmp_path / "export.enw", text))
    assert (one.title, one.text, one.columns["authors"]) == ("Storm", "The ferry was late.", "Ann; Bo")
    assert (other.title, other.text) == ("Law", "A court.")


WOS = (
    "\ufeffFN Clarivate Analytics Web of Science\r\nVR 1.0\r\nPT J\r\nAU Miller, A\r\n   Brown, B\r\nTI A title that\r\n   goes on\r\n"
    "SO J SEA\r\nDT Article\r\nAB The ferry\r\n   was late.\r\nCR Gone, 1990\r\n   Gone, 1991\r\nPY 1990\r\nUT WOS:1\r\nER\r\n\r\n"
    "PT J\r\nAU Miller, A\r\nTI Law\r\nSO J LAW\r\nDT Review\r\nAB A court.\r\nPY 1991\r\nER\r\n\r\nEF\r\n"
)  # fmt: skip


def test_several_exports_of_web_of_science_are_one_corpus(tmp_path: Path) -> None:
    write(tmp_path / "in" / "savedrecs.txt", WOS)
    write(tmp_path / "in" / "savedrecs(1).txt", WOS.removeprefix("\ufeff"))
    write(tmp_path / "in" / "README.txt", "what is in here")
    source, found = documents(tmp_path / "in")
    assert len(found) == 4
    assert found[0].title == "A title that goes on"
    assert found[0].text == "The ferry was late."
    assert found[0].columns == {
        "authors": "Miller, A; Brown, B", "journal": "J SEA", "year": "1990", "id": "WOS:1",
    }  # fmt: skip
    assert [document.label for document in found] == ["Article", "Review"] * 2
    assert source.understood["guess"] == "the label is 'type' (--label-column names another)"
    assert "left out what is of another format: 1 .txt" in source.notes
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a/savedrecs.txt", WOS)
    assert registry.choose_reader(tmp_path / "a.zip", ImportOptions()).name == "wos"


def test_pubmed_gives_authors_dates_and_abstracts_of_several_lines(tmp_path: Path) -> None:
    text = (
        "PMID- 7\nOWN - NLM\nDP  - 2019 Mar 4\nTI  - A title that\n      goes on\nLID - 10.1/x [doi]\nAB  - AIM: To see.\n"
        "      RESULT: It was seen.\nFAU - Miller, Ann\nAU  - Miller A\nAU  - Brown B\nPT  - Journal Article\n"
        "PT  - Review\nMH  - Ships\nMH  - Sea\n\nPMID- 8\nTI  - Law\nAB  - A court.\n"
    )
    _, (one, other) = documents(write(tmp_path / "pubmed-set.txt", text))
    assert (one.title, one.text) == ("A title that goes on", "AIM: To see. RESULT: It was seen.")
    assert one.columns == {
        "id": "7", "date": "2019 Mar 4", "doi": "10.1/x", "authors": "Miller A; Brown B", "type": "Journal Article",
        "subjects": "Ships; Sea", "year": "2019",
    }  # fmt: skip
    assert other.title == "Law"


def test_bibtex_is_read_as_people_read_it_and_a_broken_entry_takes_no_others_along(tmp_path: Path) -> None:
    text = r"""
% a remark
@comment{jabref-meta: x}
@string(acta = "Acta")
@Article{one,
  author = "Erd{\H o}s, Paul and {Bj{\"o}rk}, A.",  title = {{The {DNA}} of "quotes"},
  abstract = "He said {"}so{"} and left
     50\% of it.", journal = acta, date = 1999-05, keywords = {sea, ship; sail},
}
@book{broken, title = {Never closed, abstract = {lost
}
@misc{two, title={Fine}, abstract={An end}, year=2001}
@inproceedings(three, title = {No abstract})"""
    source, found = documents(write(tmp_path / "library.txt", text))
    assert [document.title for document in found] == ["The DNA of “quotes”"[:11] + '"quotes"', "Fine", "No abstract"]
    one = found[0]
    assert one.text == 'He said "so" and left 50% of it.'
    assert one.columns == {
        "type": "article", "authors": "Erdős, Paul; Björk, A.", "year": "1999", "date": "1999-05", "journal": "Acta",
        "keywords": "sea; ship; sail", "id": "one",
    }  # fmt: skip
    assert any("1 entry is damaged, as by a brace that never closes, and left out (line 10)" in n for n in source.notes)
    assert "1 record has no abstract, of 3; only the words of the title are counted there" in source.notes


def test_bibtex_made_to_be_slow_is_not(tmp_path: Path) -> None:
    def read(text: str) -> None:
        path = write(tmp_path / "a.bib", "@a{b, title={pear}}\n" + text)
        assert list(read_source(path).documents())  # type: ignore[union-attr]

    for begin, piece in (("\n@a{b,", ""), ("@a{b, c = ", "{"), ("@a{", " "), ("@a{b,c=", "")):
        assert grows_slowly(read, begin, piece)
    assert decode_value(r"{\'E}tude~of $x$") == "Étude of"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (ris_of(1, "pear"), "ris"), ("TY - JOUR\nAU - A\nTI - B\nER -\n", "ris"), (WOS, "wos"), ("PT J\nAU A\nTI B\nER\n", "wos"),
        ("PMID- 1\nOWN - NLM\nTI  - a\n", "medline"), ("OWN - ERIC\nTI  - a\nAU  - b\n", "medline"),
        ("@article{a,\n title={b}}", "bibtex"), ("% no\n\n@inproceedings{a, x", "bibtex"), ("%0 Book\n%T a\n", "endnote"),
        ("From ann at example.org  Sat May  1 10:00:00 2010\nFrom: a\n\nb", "mail"), ("a\t3\nb\t2\nc\t2\n", "wordcounts"),
        ("word,count\nthe,30\nof,20\na,3\n", "wordcounts"), ("  30 the\n  20 of\n   3 a\n", "wordcounts"),
        ("Chapter 1\nChapter 2\nChapter 3\n", None), ("rose 1\npear 2\nfig 3\n", None), ("TY is a word\nAB too\n", None),
        ("@ann so late\n@bo yes\n", None), ("From here on\nNote: it rains\n", None), ("From x 1990\nso it went\n", None),
        ("1999 2000\n2001 2002\n3 4\n", None), ("", None),
    ],
)  # fmt: skip
def test_a_text_is_known_by_its_content_alone(text: str, kind: str | None) -> None:
    assert sniff.find_kind_of_text(text.removeprefix("\ufeff")) == kind


@pytest.mark.parametrize("name", ["ris", "wos", "medline", "bibtex"])
def test_records_called_txt_and_packed_are_read_as_what_they_are(name: str, tmp_path: Path) -> None:
    raw = SAMPLES[name].make(tmp_path / "sample").read_bytes()
    (tmp_path / "export.txt.gz").write_bytes(gzip.compress(raw))
    assert name == registry.choose_reader(tmp_path / "export.txt.gz", ImportOptions()).name


def test_some_records_among_many_texts_are_left_out(tmp_path: Path) -> None:
    for n in range(4):
        write(tmp_path / f"{n}.txt", f"text {n}")
    write(tmp_path / "library.bib", "@article{a, title={b}}")
    assert registry.choose_reader(tmp_path, ImportOptions()).name == "text"


def test_the_label_is_a_field_of_few_values_or_the_one_that_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.ris", "".join(ris_of(n, "pear", JO="AB"[n % 2], LA="en") for n in range(8)))
    source, found = documents(path)
    assert [document.label for document in found] == list("ABABABAB")
    assert documents(path, label_column="year")[1][3].label == "1993"
    assert source.columns is not None
    assert {column.name: column.role for column in source.columns.list_all()}["year"] == "date"
    with pytest.raises(IngestError, match="has no column 'genre'; it has type, "):
        read_source(path, ImportOptions(label_column="genre"))


def test_a_text_that_is_a_list_of_records_is_placed_record_by_record(tmp_path: Path) -> None:
    rules = Rules(vocabulary=("apple", "red", "pear"), wording=Wording(pattern=make_word_pattern()))
    path = write(tmp_path / "export.txt", ris_of(1, "red") + ris_of(2, "pear"))
    assert [document.title for document in read_new_documents(str(path), rules, ImportOptions())] == [
        "Notes 1",
        "Notes 2",
    ]
    book = write(tmp_path / "book.md", "---\ntitle: Storm\n---\nred apple\n")
    (found,) = read_new_documents(str(book), rules, ImportOptions())
    assert found.text.strip() == "red apple"


@pytest.mark.parametrize("name", ["ris", "wos", "medline", "bibtex", "feed", "xml", "whatsapp"])
def test_what_is_guessed_stands_in_the_first_five_lines(name: str, tmp_path: Path) -> None:
    report = inspect_path(SAMPLES[name].make(tmp_path), ImportOptions(min_df=1, max_df=1))
    said = [line.name for line in list_lines(report)]
    assert "guess" not in said or said.index("guess") < 5
    assert ("guess" in said) == (name in ("wos", "xml", "whatsapp"))
