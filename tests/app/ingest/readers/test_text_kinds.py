"""Inputs of people that were read wrongly once: texts that were none, and documents of other programs."""

import os
from pathlib import Path

import pytest

from topiary.app.ingest.importing import inspect_path, read_source
from topiary.app.ingest.source import CountSource, TextDocument, TextSource

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
