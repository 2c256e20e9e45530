"""Feeds and lists in XML: which elements are records, what their values are called, and what cannot be read."""

# ruff: noqa: E501 - samples as they are written elsewhere

from pathlib import Path

import pytest
from ingest_samples import write

from topiary.app.ingest import registry
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.importing import read_source
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.readers.xml import find_records
from topiary.app.ingest.source import TextDocument, TextSource


def documents(path: Path, **options: str) -> tuple[TextSource, list[TextDocument]]:
    source = read_source(path, ImportOptions(**options))  # type: ignore[arg-type]
    assert isinstance(source, TextSource)
    return source, list(source.documents())


def test_rss_gives_the_whole_text_without_marks_and_its_author_date_and_category(tmp_path: Path) -> None:
    items = (
        "<item><title><![CDATA[Storm & co]]></title><description>Teaser&hellip;</description><content:encoded><![CDATA[<p>The "
        '<a href="x">ferry</a>&nbsp;was late.</p><script>x</script>]]></content:encoded><dc:creator>Ann</dc:creator>'
        '<pubDate>Mon, 02 Feb 1990 10:00:00 GMT</pubDate><category>sea</category><media:content url="http://gone"/></item>'
        "<item><title>Law</title><description>plain &amp; simple</description><category>law</category></item>"
    )
    start = '<rss xmlns:content="c" xmlns:dc="d" xmlns:media="m"><channel><title>News</title>'
    source, (one, other) = documents(write(tmp_path / "a.xml", f"{start}{items}</channel></rss>"))
    assert (one.title, one.text, one.label) == ("Storm & co", "The ferry was late.", "sea")
    assert one.columns == {"date": "Mon, 02 Feb 1990 10:00:00 GMT", "author": "Ann"}
    assert (other.title, other.text) == ("Law", "plain & simple")
    assert source.understood["guess"] == "the label is 'category' (--label-column names another)"


def test_atom_gives_its_content_of_any_type_and_several_feeds_are_labels(tmp_path: Path) -> None:
    entry = (
        '<entry><title type="html">A &amp;amp; B</title><link href="http://x/1"/><id>1</id><updated>2020-01-02</updated>'
        '<author><name>Ann</name><email>gone</email></author><category term="sea"/><category term="ship"/><summary>gone</summary>'
        '<content type="xhtml"><div xmlns="h"><p>The <b>ferry</b></p><p>was late.</p></div></content></entry>'
    )
    for name in ("one", "two", "three"):
        write(
            tmp_path / f"{name}.atom",
            f'<feed xmlns="http://www.w3.org/2005/Atom"><title>Blog</title>{entry * 4}</feed>',
        )
    _, found = documents(tmp_path)
    assert (found[0].title, " ".join(found[0].text.split())) == ("A & B", "The ferry was late.")
    assert {document.label for document in found} == {"one", "two", "three"}
    assert found[0].columns == {
        "date": "2020-01-02", "author": "Ann", "category": "sea; ship", "id": "1", "link": "http://x/1",
    }  # fmt: skip


ROWS = '<posts>{}</posts>'.format("".join(
    f'<row Id="{n}" Date="2010-01-0{n}" Title="How to moor boat {n}" Body="&lt;p&gt;With a rope {n}.&lt;/p&gt;"/>' for n in range(1, 5)
))  # fmt: skip


def test_records_may_be_attributes_and_are_found_and_said(tmp_path: Path) -> None:
    source, found = documents(write(tmp_path / "Posts.xml", ROWS))
    assert (found[0].title, found[0].text) == ("How to moor boat 1", "<p>With a rope 1.</p>")
    assert found[0].columns["Date"] == "2010-01-01"
    assert source.understood["records"] == "<row>, found at posts/row"
    assert "every <row> is a document (--records names another element)" in source.understood["guess"]


@pytest.mark.parametrize("asked", ["entry", "list/entry", "data.list.entry", "ENTRY"])
def test_records_can_be_named_and_values_are_called_by_as_many_names_as_tell_them_apart(
    asked: str, tmp_path: Path
) -> None:
    entry = (
        '<entry id="7"><about><title>On <i>mice</i> and men</title></about><book><title>A longer title of a book</title></book>'
        "<body><p>The first paragraph of it all, which is long enough to be the text of it.</p><p>The second.</p></body></entry>"
    )
    other = "".join(f"<page n='{n}'/>" for n in range(9))
    text = f"<data>{other}<list>{entry}{entry.replace('mice', 'rats')}{entry.replace('mice', 'cats')}</list></data>"
    source, found = documents(write(tmp_path / "a.xml", text), records=asked)
    assert len(found) == 3
    assert found[0].text.endswith("to be the text of it.\n\nThe second.")
    assert found[0].title == "On mice and men"
    assert found[0].columns == {"id": "7", "book/title": "A longer title of a book"}
    assert "guess" not in source.understood or "--records" not in source.understood["guess"]


def test_pubmed_and_endnote_in_xml_are_records_of_publications(tmp_path: Path) -> None:
    article = (
        "<PubmedArticle><MedlineCitation><PMID>{0}</PMID><Article><Journal><Title>J Sea</Title><JournalIssue><PubDate><Year>2001"
        "</Year></PubDate></JournalIssue></Journal><ArticleTitle>On <i>mice</i> {0}</ArticleTitle><Abstract><AbstractText "
        'Label="AIM">To see.</AbstractText><AbstractText Label="END">Seen.</AbstractText></Abstract></Article></MedlineCitation>'
        "</PubmedArticle>"
    )
    text = "".join(article.format(n) for n in range(3))
    pubmed = write(
        tmp_path / "pubmed.xml", f'<!DOCTYPE PubmedArticleSet SYSTEM "x"><PubmedArticleSet>{text}</PubmedArticleSet>'
    )
    _, found = documents(pubmed)
    assert (found[1].title, found[1].text) == ("On mice 1", "To see.\n\nSeen.")
    assert found[1].columns == {"id": "1", "journal": "J Sea", "year": "2001"}
    record = (
        "<record><titles><title><style face='normal'>Storm</style></title><secondary-title><style>J Sea</style></secondary-title>"
        "</titles><abstract><style>The ferry </style><style>was late.</style></abstract><contributors><authors><author>Ann</author>"
        "<author>Bo</author></authors></contributors></record>"
    )
    _, found = documents(write(tmp_path / "endnote.xml", f"<xml><records>{record * 3}</records></xml>"))
    assert (found[0].title, found[0].text, found[0].columns["authors"]) == ("Storm", "The ferry was late.", "Ann; Bo")


def test_a_corpus_in_tei_gives_its_documents_and_one_document_is_none(tmp_path: Path) -> None:
    one = "<TEI><teiHeader><fileDesc><titleStmt><title>T{0}</title></titleStmt></fileDesc></teiHeader><text><p>Text {0}</p></text></TEI>"
    text = f"<teiCorpus><teiHeader><title>All</title></teiHeader>{one.format(1)}{one.format(2)}</teiCorpus>"
    _, found = documents(write(tmp_path / "corpus.xml", text))
    assert [(document.title, document.text) for document in found] == [("T1", "Text 1"), ("T2", "Text 2")]
    alone = write(tmp_path / "alone.xml", one.format(1))
    with pytest.raises(IngestError, match="is one document, and a corpus has many"):
        read_source(alone)


def test_documents_in_xml_with_headings_and_references_are_no_lists(tmp_path: Path) -> None:
    refs = "".join(f"<ref id='{n}'><year>1990</year><source>a</source></ref>" for n in range(30))
    for n in range(3):
        article = f"<article><body><sec><title>Aim</title><p>To see {n}.</p></sec></body><back>{refs}</back></article>"
        write(tmp_path / f"{n}.xml", article)
        parts = "<part n='1'><by>Ann</by><said>No.</said></part>" * 9
        write(tmp_path / "more" / f"{n}.xml", f"<speech>{parts}</speech>")
    assert registry.choose_reader(tmp_path, ImportOptions()).name == "text"
    with pytest.raises(IngestError, match="leave --records out"):
        read_source(tmp_path, ImportOptions(records="part"))
    assert len(documents(tmp_path, format="xml", records="part")[1]) == 27


@pytest.mark.timeout(60)
def test_xml_made_to_be_slow_or_large_is_refused_in_a_sentence(tmp_path: Path) -> None:
    bomb = "<!DOCTYPE a [<!ENTITY a 'aaaaaaaaaa'>" + "".join(
        f"<!ENTITY {chr(98 + n)} '{f'&{chr(97 + n)};' * 10}'>" for n in range(12)
    )
    broken = {
        f"{bomb}]><rows><row><t>&m;</t></row><row><t>b</t></row></rows>": "expand beyond all bounds",
        "<rows><row><t>a</t></row><row><t>b</t></row><row>" + "<t>" * 500: "within each other",
        "<rows><row><t>a</t></row><row><t>b</t></row><row><t>" + "c" * (1 << 25): "record of more than 32 MB",
        "<rows><row><t>a</t></row><row><t>b</t></row><row>" + "<t a='b'/>" * 100_000: "no sound XML",
    }
    for number, (text, why) in enumerate(broken.items()):
        with pytest.raises(IngestError, match=why):
            documents(write(tmp_path / f"{number}.xml", text), records="row", format="xml")


def test_records_are_the_elements_nearest_to_the_root_that_repeat() -> None:
    text = b"<a><about><n>1</n></about><b><c x='1'/><c x='2'/><c x='3'/></b><b><c x='1'/></b><b><c/></b><p y='1'/><p y='2'/><p y='3'/>"
    assert find_records([text], 2) == ("a", "b")
    assert find_records([b"<a><b>one</b>"], 2) is None
