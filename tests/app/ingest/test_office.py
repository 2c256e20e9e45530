"""PDF, Word and OpenDocument files: their titles and texts, and why one cannot be read."""

from pathlib import Path
from zipfile import ZIP_LZMA

import office_samples as made
import pytest
from ingest_samples import write

from app.ingest import office
from app.ingest.errors import IngestError
from app.ingest.importing import import_path
from app.ingest.options import ImportOptions
from store import corpora
from store.database import Database


def test_a_pdf_gives_its_title_and_lines_and_whole_words() -> None:
    title, text = office.pdf(made.pdf(["Rain and infor-", "mation fell on", "the well-known town."], "Weather  report"))
    assert title == "Weather report"
    assert text.split() == ["Rain", "and", "information", "fell", "on", "the", "well-known", "town."]


@pytest.mark.parametrize(("title", "report"), [("Untitled", ""), ("", ""), ("Microsoft Word - rain.doc", "rain.doc")])
def test_a_title_that_a_program_made_up_is_none(title: str, report: str) -> None:
    assert office.pdf(made.pdf(["rain"], title))[0] == report


def test_a_word_document_gives_a_line_for_each_paragraph() -> None:
    raw = made.docx([["Rain ", "fell", "\t", "here."], [], ["All day &amp; night."]], "A  day")
    assert office.docx(raw) == ("A day", "Rain fell\there.\nAll day & night.")
    assert office.docx(made.docx([["rain"]])) == ("", "rain")


def test_a_text_box_of_word_is_read_once_and_moved_text_where_it_is_now() -> None:
    box = "<txbxContent><w:p><w:r><w:t>storm</w:t></w:r></w:p></txbxContent>"
    report = f"<AlternateContent><Choice>{box}</Choice><Fallback>{box}</Fallback></AlternateContent>"
    moved = "<moveFrom><w:t>gone</w:t></moveFrom><w:delText>deleted</w:delText>"
    raw = made.docx_of(f"<w:p><w:t>Rain</w:t>{report}<w:t>fell</w:t>{moved}</w:p>", "<w:p><w:t>a note</w:t></w:p>")
    assert office.docx(raw) == ("", "Rain\nstorm\nfell\na note")


def test_tabs_spaces_and_notes_part_words_in_an_open_document_and_what_was_deleted_is_left_out() -> None:
    deleted = "<tracked-changes><text:p>gone</text:p></tracked-changes>"
    note = "<note><text:p>a note</text:p></note>"
    body = f"It<text:tab/>fell<text:s/>on{note}<text:span>the</text:span><text:line-break/>town.{deleted}"
    assert office.odt(made.odt("Rain", body, ""))[1] == "Rain\nIt\tfell on\na note\nthe\ntown."


def test_an_open_document_gives_headings_and_paragraphs() -> None:
    assert office.odt(made.odt("Rain", "It <b>fell</b>.", "A day")) == ("A day", "Rain\nIt fell.")


@pytest.mark.parametrize(
    ("suffix", "raw", "why"),
    [
        (".pdf", made.locked_pdf(), "is encrypted"),
        (".pdf", made.pdf([]), "has no text, only pictures of it"),
        (".pdf", made.pdf(["rain"])[:200], "is no sound PDF"),
        (".pdf", b"", "is no sound PDF"),
        (".docx", made.spoilt(made.docx([["rain " * 99]])), "is damaged, or of another program"),
        (
            ".docx",
            made.spoilt(made.repacked(made.docx([["rain " * 99]]), ZIP_LZMA)),
            "is damaged, or of another program",
        ),
        (".docx", made.misnamed(), "is damaged, or of another"),
        (".docx", b"PK no zip", "is damaged, or of another program"),
        (".docx", made.odt("a", "b", "c"), "is damaged, or of another program"),
        (".docx", made.docx([["<b>"]]), "is damaged, or of another program"),
        (".odt", made.docx([["rain"]]), "is damaged, or of another program"),
    ],
)
def test_what_cannot_be_read_says_why(suffix: str, raw: bytes, why: str) -> None:
    with pytest.raises(office.Unreadable, match=why):
        office.READERS[suffix](raw)


def test_a_document_that_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(office, "_LARGEST", 1000)
    with pytest.raises(office.Unreadable, match="holds more than"):
        office.docx(made.docx([["rain " * 1000]]))


def test_a_folder_of_office_files_becomes_a_corpus_and_the_unreadable_are_told(tmp_path: Path, db: Database) -> None:
    folder = tmp_path / "reports"
    write(folder / "a.pdf", made.pdf(["rain storm"], "First"))
    write(folder / "b.DOCX", made.docx([["rain sun"]], "Second"))
    write(folder / "c.odt", made.odt("storm", "sun", "Third"))
    write(folder / "d.txt", "sun storm")
    write(folder / "e.pdf", made.locked_pdf())
    row = import_path(db, folder, ImportOptions(test_share=0, min_df=1, max_df=1.0))
    titles = {document.title for document in corpora.read_documents(db, row.number, range(4))}
    assert titles == {"First", "Second", "Third", "sun storm"}
    assert sorted(corpora.read_vocabulary(db, row.number)) == ["rain", "storm", "sun"]
    assert row.meta["notes"] == ["e.pdf is encrypted: left out"]


def test_one_document_alone_is_no_corpus(tmp_path: Path, db: Database) -> None:
    with pytest.raises(IngestError, match="is one document, and a corpus has many: import the folder it is in"):
        import_path(db, write(tmp_path / "a.pdf", made.pdf(["rain"])))
