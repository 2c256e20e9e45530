"""A text file of lines: each a document, unless the lines are those of a page."""

# ruff: noqa: E501 - samples as they are written elsewhere

import textwrap
from pathlib import Path

import pytest
from ingest_samples import write

from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.importing import read_source
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.source import CountSource, TextSource

SENTENCE = "The old library at the end of the street was built by people who had never seen the sea, and they read it. "


def lines_read(path: Path, **options: str) -> tuple[list[str], str]:
    source = read_source(path, ImportOptions(**options))  # type: ignore[arg-type]
    assert isinstance(source, TextSource)
    return [document.text for document in source.documents()], source.understood.get("guess", "")


@pytest.mark.parametrize("width", [60, 72, 80])
def test_the_paragraphs_of_a_wrapped_book_are_documents_which_is_said(width: int, tmp_path: Path) -> None:
    paragraphs = [textwrap.fill(f"{SENTENCE * n}{n}.", width) for n in range(1, 12)]
    path = write(tmp_path / "book.txt", "\r\n\r\n".join(each.replace("\n", "\r\n") for each in paragraphs))
    found, guess = lines_read(path)
    assert found == paragraphs
    assert guess.startswith(
        "its lines are those of a page, so every paragraph between empty lines is a document (--split"
    )
    found, guess = lines_read(path, format="lines")
    assert len(found) == sum(each.count("\n") + 1 for each in paragraphs)
    assert guess == ""


def test_a_page_without_paragraphs_is_read_by_line_with_a_doubt(tmp_path: Path) -> None:
    found, guess = lines_read(write(tmp_path / "page.txt", textwrap.fill(SENTENCE * 20, 70)))
    assert len(found) > 20
    assert guess.startswith("its lines seem to be those of a page, and every line is a document (--split")


@pytest.mark.parametrize(
    ("text", "doubt"),
    [
        (f"{SENTENCE}\n" * 30, ""), (f"{SENTENCE}\n\n" * 30, ""), ("a short headline\nanother of them, longer\n" * 30, ""),
        ("Title: Storm\nAuthor: Ann\nAbstract: The ferry was late.\n\n" * 9, "such as 'Title:' and 'Author:'"),
        ("Ann: hello\nBo: good day, all of you\n" * 9, "such as 'Ann:' and 'Bo:'"),
        ("1. J Sea. 2020;1(2).\n\nTitle.\n\nAnn M(1).\n\nThe ferry was late.\n\nPMID: 123\n\n" * 3, "export it as RIS"),
        ("One Street\nTwo Town\nTel. 1234\n\n" * 9, "they stand in groups between empty lines"),
    ],
)  # fmt: skip
def test_lines_that_may_be_no_documents_are_doubted(text: str, doubt: str, tmp_path: Path) -> None:
    found, guess = lines_read(write(tmp_path / "a.txt", text))
    assert len(found) == sum(bool(line.strip()) for line in text.split("\n"))
    assert doubt in guess
    assert bool(doubt) == bool(guess)


def test_a_list_of_words_and_counts_is_no_corpus_of_words(tmp_path: Path) -> None:
    path = write(tmp_path / "article.txt", "the\t30\nof\t20\nferry\t3\nlate\t1\n")
    with pytest.raises(IngestError, match="is a list of words and counts, which is one document; import the folder"):
        read_source(path)
    assert len(lines_read(path, format="lines")[0]) == 4


def test_a_folder_of_words_and_counts_is_counts_of_single_words(tmp_path: Path) -> None:
    for n, label in enumerate(("law", "sea", "sea")):
        for size, text in ((1, "word,count\nferry,3\nlate,1\nthe,9\n"), (2, "the ferry,3\nferry was,2\nwas late,1\n")):
            write(tmp_path / label / f"wordcounts_10.2307_{n}-ngram{size}.CSV", text)
    source = read_source(tmp_path)
    assert isinstance(source, CountSource)
    (rows,) = source.blocks()
    assert source.vocabulary == ("ferry", "late", "the")
    assert rows.counts.values.tolist() == [3, 1, 9] * 3
    assert rows.titles == ["10.2307_0", "10.2307_1", "10.2307_2"]
    assert [source.label_names[label] for label in rows.labels] == ["law", "sea", "sea"]
    assert source.notes == ["3 files with counts of several words in a row are left out"]
