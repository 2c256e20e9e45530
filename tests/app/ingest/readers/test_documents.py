"""Single documents of many programs: their title, text and what else they say of themselves."""

import io
import zipfile
from pathlib import Path, PurePath
from zipfile import ZIP_LZMA

import office_samples as made
import pytest
from ingest_samples import write
from slow_inputs import grows_slowly

from topiary.app.ingest import packing
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.importing import import_path
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.readers import documents
from topiary.app.ingest.readers.documents import read_contents
from topiary.app.ingest.readers.markup import read_latex, read_subtitles, split_front_matter
from topiary.app.ingest.source import Contents, Unreadable
from topiary.store import corpora
from topiary.store.database import Database


def read(name: str, raw: bytes | str) -> Contents:
    return read_contents(PurePath(name), raw.encode() if isinstance(raw, str) else raw, "utf-8")


def test_every_suffix_of_documents_has_its_reader() -> None:
    plain = {".txt", ".text", ".md", ".markdown", ".rst", ".log"}
    assert {*packing.TEXTUAL} == plain | documents.BINARY.keys() | documents._TEXTS.keys()


@pytest.mark.parametrize(
    ("front", "title", "columns"),
    [
        ("---\ntitle: Storm\ndate: 1990-01-01\ntags: [sea, ship]\nlayout: post\n---\n", "Storm",
         {"date": "1990-01-01", "tags": "sea, ship", "layout": "post"}),
        ('+++\ntitle = "Storm"\ndate = 1990-01-01T10:00:00Z\ntags = ["sea"]\n[extra]\na = 1\n+++\n', "Storm",
         {"date": "1990-01-01 10:00:00+00:00", "tags": "sea"}),
        ("\ufeff---\r\ntitle: Storm: a study\r\nauthor: 'Ann'\r\n---\r\n", "Storm: a study", {"author": "Ann"}),
        ("---\na: &a [x]\nb: *a\ntitle: Storm\n---\n", "Storm", {"a": "&a [x]", "b": "*a"}),
        ("---\ncategories:\n  - sea\n  - ship\n...\n", "", {"categories": "sea, ship"}),
        ("", "", {}),
    ],
)  # fmt: skip
def test_front_matter_gives_title_and_columns_and_is_no_text(front: str, title: str, columns: dict[str, str]) -> None:
    assert read("a.md", f"{front}The ferry.\n\n---\n\nlate: yes\n") == Contents(
        title, "The ferry.\n\n---\n\nlate: yes\n", columns
    )


@pytest.mark.parametrize(
    "text", ["---\nno end\n", "---\n\nA rule, and\n\n---\nanother.", "--- a\nb: c\n---\n", "+++\nx\n+++\n"]
)
def test_rules_at_the_beginning_of_a_text_are_no_front_matter(text: str) -> None:
    assert split_front_matter(text) == ({}, text)


def test_notebooks_give_their_cells_of_text() -> None:
    raw = made.notebook(
        ("markdown", "# Storm notes\nThe *ferry*.\n![a](attachment:x.png)"), ("code", "import x"), ("raw", "Late.")
    )
    assert read("a.ipynb", raw) == Contents(
        "Storm notes", "# Storm notes\nThe *ferry*.\n\n\nLate.", {}, "cells of code"
    )
    old = b'{"worksheets": [{"cells": [{"cell_type": "heading", "source": "Storm"}, {"cell_type": "code"}]}]}'
    assert read("a.ipynb", old)[:2] == ("Storm", "# Storm")


SRT = (
    "\ufeff1\r\n00:00:00,000 --> 00:00:01,000\r\n{\\an8}<i>The ferry</i>\r\n\r\n"
    "2\r\n00:00:01,000 --> 00:00:02,500 X1:0\r\nwas late.\r\n1984"
)
VTT = """WEBVTT - a talk
Kind: captions

STYLE
::cue { color: red }

NOTE a remark
of two lines

intro
00:00.000 --> 00:02.000 align:start position:0%
<v.loud Ann Miller>The<00:00:00.500><c> ferry</c>

00:02.000 --> 00:02.010
Ann Miller: The ferry

00:02.010 --> 00:04.000
Ann Miller: The ferry
was late &amp; full
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [(SRT, "The ferry\nwas late.\n1984"), (VTT, "Ann Miller: The ferry\nwas late & full"),
     ("0:00:01.000,0:00:03.000\nThe ferry\n\n0:00:03.000,0:00:04.000\nwas late.\n", "The ferry\nwas late."),
     ("1\n00:01,000 --> 00:02,000\nAye\n2\n00:02,000 --> 00:03,000\nNo", "Aye\nNo"), ("no times\n", "no times")],
)  # fmt: skip
def test_subtitles_give_what_is_said_once_and_are_called_by_their_file(text: str, said: str) -> None:
    assert read_subtitles(text.removeprefix("\ufeff")) == said
    assert read("Pilot.S01.srt", text)[:2] == ("Pilot.S01", said)


ARTICLE = r"""\documentclass{article} % a comment
\newcommand{\foo}[1]{bar #1}
\title{On \emph{Boats}\thanks{Paid by X.}} \author{Ann \and Bo \"Ostman} \date{\today}
\begin{document}\maketitle
\section{Intro} Erd\H{o}s, na\"{\i}ve caf\'e and stra\ss e~\citep[see][p.~3]{a,b}: 50\% of $x^2$ % gone
cost \$5, \(y\) and \[ z \] \begin{equation*} a = b \end{equation*} but ``so'' --- \foo{it} is.
\begin{tabular}{l} cells \end{tabular} \footnote{A note.} } unbalanced {
\begin{thebibliography}{9}\bibitem{a} Gone\end{thebibliography}
\end{document} after
"""


def test_latex_gives_prose_without_comments_formulas_tables_references_and_commands() -> None:
    title, text, about, _ = read_latex(ARTICLE)
    assert (title, about) == ("On Boats", {"author": "Ann, Bo Östman"})
    assert " ".join(text.split()) == (
        "Intro Erdős, naïve café and straße : 50% of cost $5, and but “so” — it is. A note. unbalanced"
    )


def test_tei_gives_what_its_header_says_and_its_body_as_it_is_meant_to_be_read() -> None:
    header = (
        "<title>Caf&#233; <hi>S</hi>ociety</title><title type='sub'>A Novel</title><author>Ann</author>"
        "<author>Bo</author></titleStmt><publicationStmt><date>1999</date></publicationStmt><sourceDesc><bibl><title>Gone</title>"
        "<date when='1850-01-02'>2 January</date></bibl></sourceDesc><titleStmt>"
    )
    body = (
        '<head>I</head><p>The com<lb break="no"/>\n munist &amp; <choice><orig>olde</orig><reg>old</reg></choice>'
        "<fw>Page 3</fw> <persName>man</persName>.</p><l>one</l><l><w>two</w><w>three</w></l><note>A note.</note>"
    )
    found = read("a.xml", made.tei(body, header))
    assert found.title == "Café Society"
    assert found.columns == {"author": "Ann; Bo", "date": "1850-01-02"}
    assert found.text == "I\nThe communist & old man.\none\ntwo three\nA note."


def test_older_tei_and_other_xml_are_read_with_entities_of_html_and_in_their_encoding() -> None:
    p4 = (
        '<?xml version="1.0" encoding="ISO-8859-1"?><!DOCTYPE TEI.2 SYSTEM "a.dtd"><TEI.2><teiHeader><fileDesc>'
        "<titleStmt><title>Caf\xe9</title></titleStmt></fileDesc></teiHeader><text><body><p>A&mdash;b</p></body></text></TEI.2>"
    )
    assert read("a.xml", p4.encode("latin-1"))[:2] == ("Café", "A—b")
    jats = (
        '<article id="7"><front><journal-meta>Gone</journal-meta><article-title>On <i>mice</i></article-title>'
        "<pub-date><year>2001</year></pub-date></front><body><sec><title>Aim</title><p>To see.</p></sec></body>"
        "</article>"
    )
    assert read("a.nxml", jats) == Contents("On mice", "On mice\nAim\nTo see.", {"date": "2001", "id": "7"})
    assert read("a.xml", "<a>Съешь</a>".encode("utf-16")).text == "Съешь"


def test_a_book_is_read_in_the_order_of_its_spine_and_without_one_by_the_numbers_of_its_pages() -> None:
    authors = "<dc:creator>Ann</dc:creator><dc:creator>Bo</dc:creator>"
    about = f"<dc:title>Ann &amp; Bo</dc:title>{authors}<dc:date>1999</dc:date>"
    pages = {"ch10.xhtml": "<h1>Ten</h1>", "ch2.xhtml": "<p>Two</p><script>x</script>", "nav.xhtml": "Contents"}
    found = read("a.epub", made.epub(pages, about, ["ch10.xhtml", "ch2.xhtml"]))
    assert found == Contents("Ann & Bo", "Ten\n\nTwo", {"author": "Ann; Bo", "date": "1999"})
    assert read("a.epub", made.epub({"ch10.xhtml": "ten", "ch2.xhtml": "two"}))[:2] == ("", "two\n\nten")


def test_rtf_gives_its_title_and_text_in_its_code_page_without_pictures_and_addresses() -> None:
    raw = (
        rb"{\rtf1\ansi\ansicpg1251{\fonttbl{\f0\fcharset204 A;}}{\info{\title \'c4\'ee\'ec}}\f0 \'cc\'e8\'f0 "
        rb"\u1084?\u8211\'96 \u-10179?\u-8704? {\field{\*\fldinst{HYPERLINK "
        + b'"http://gone.org"'
        + rb"}}{\fldrslt a link}}\par "
        rb"\trowd A\cell B\cell\row {\pict\pngblip " + b"89504e47" * 40 + b"}}"
    )
    found = read("a.rtf", raw)
    assert found.title == "Дом"
    assert found.text.split() == ["Мир", "м–", "😀", "a", "link", "A|B|"]


ZIPPED = io.BytesIO()
with zipfile.ZipFile(ZIPPED, "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr("a.xhtml", b"pear " * (14 << 20), compresslevel=1)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("name", "raw", "why"),
    [
        ("a.rtf", b"plain text", "is no RTF"),
        ("a.rtf", b"{\\rtf1{\\fonttbl" + b"\\f1" * 100_000, "is damaged"),
        ("a.epub", b"PK\x03\x04", "is damaged, or no EPUB"),
        ("a.epub", made.epub({"a.xhtml": "<img/>"}), "has no text, only pictures"),
        ("a.epub", ZIPPED.getvalue(), "holds more than 64 MB of text"),
        ("a.ipynb", b"[1]", "is no notebook"),
        ("a.ipynb", made.notebook(("code", "x")), "has cells of code only"),
        ("a.xml", b"<a>pear", "is no sound XML"),
        ("a.xml", b"<alto><String CONTENT='pear'/></alto>", "has no text in it"),
        ("a.xml", b"<a>" * 100_000, "more than 1,000 elements within each other"),
        ("a.xml", b"<!DOCTYPE a [<!ENTITY b '" + b"c" * 100_000 + b"'>]><a>" + b"&b;" * 10_000, "beyond all bounds"),
        ("a.xml", b"<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>", "uses the entity &b;"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said_in_a_sentence(name: str, raw: bytes, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        read(name, raw)


@pytest.mark.parametrize(
    "piece",
    ["{", "\\begin{equation}", "$a ", "\\[", "\\cite[", "\\title[", "\\\"" + " " * 999,
     "\n%", "\\verb|", "\\\\", "\\foo[["],
)  # fmt: skip
def test_latex_made_to_be_slow_is_not(piece: str) -> None:
    assert grows_slowly(read_latex, piece)


def test_a_pdf_gives_its_title_and_lines_and_whole_words() -> None:
    title, text = documents.read_pdf(
        made.pdf(["Rain and infor-", "mation fell on", "the well-known town."], "Weather  report")
    )
    assert title == "Weather report"
    assert text.split() == ["Rain", "and", "information", "fell", "on", "the", "well-known", "town."]


@pytest.mark.parametrize(("title", "report"), [("Untitled", ""), ("", ""), ("Microsoft Word - rain.doc", "rain.doc")])
def test_a_title_that_a_program_made_up_is_none(title: str, report: str) -> None:
    assert documents.read_pdf(made.pdf(["rain"], title))[0] == report


def test_a_word_document_gives_a_line_for_each_paragraph() -> None:
    raw = made.docx([["Rain ", "fell", "\t", "here."], [], ["All day &amp; night."]], "A  day")
    assert documents.read_docx(raw) == ("A day", "Rain fell\there.\nAll day & night.")
    assert documents.read_docx(made.docx([["rain"]])) == ("", "rain")


def test_a_text_box_of_word_is_read_once_and_moved_text_where_it_is_now() -> None:
    box = "<txbxContent><w:p><w:r><w:t>storm</w:t></w:r></w:p></txbxContent>"
    report = f"<AlternateContent><Choice>{box}</Choice><Fallback>{box}</Fallback></AlternateContent>"
    moved = "<moveFrom><w:t>gone</w:t></moveFrom><w:delText>deleted</w:delText>"
    raw = made.docx_of(f"<w:p><w:t>Rain</w:t>{report}<w:t>fell</w:t>{moved}</w:p>", "<w:p><w:t>a note</w:t></w:p>")
    assert documents.read_docx(raw) == ("", "Rain\nstorm\nfell\na note")


def test_tabs_spaces_and_notes_part_words_in_an_open_document_and_what_was_deleted_is_left_out() -> None:
    deleted = "<tracked-changes><text:p>gone</text:p></tracked-changes>"
    note = "<note><text:p>a note</text:p></note>"
    body = f"It<text:tab/>fell<text:s/>on{note}<text:span>the</text:span><text:line-break/>town.{deleted}"
    assert documents.read_odt(made.odt("Rain", body, ""))[1] == "Rain\nIt\tfell on\na note\nthe\ntown."


def test_an_open_document_gives_headings_and_paragraphs() -> None:
    assert documents.read_odt(made.odt("Rain", "It <b>fell</b>.", "A day")) == ("A day", "Rain\nIt fell.")


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
    with pytest.raises(Unreadable, match=why):
        documents._OFFICE_READERS[suffix](raw)


def test_a_document_that_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_LARGEST_MEMBER", 1000)
    with pytest.raises(Unreadable, match="holds more than"):
        documents.read_docx(made.docx([["rain " * 1000]]))


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
