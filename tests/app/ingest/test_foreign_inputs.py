"""Inputs as other programs write them are read as what they are."""

from pathlib import Path

import pytest
from foreign_samples import CASES, COUNTS, Files, Foreign, write_files

from app.ingest.importing import read_source
from app.ingest.source import CountSource, TextSource


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_foreign_texts_have_their_documents_labels_and_columns(case: Foreign, tmp_path: Path) -> None:
    source = read_source(write_files(tmp_path, case.files))
    assert isinstance(source, TextSource)
    documents = sorted(source.documents(), key=lambda document: document.title)
    assert len(documents) == case.documents
    assert {document.label.replace(" ", "_") for document in documents if document.label} == set(case.labels)
    names = {name for document in documents for name in document.columns} | set(
        source.columns.roles if source.columns else ()
    )
    assert case.columns <= names
    assert any(
        case.text in " ".join(document.text.split()).replace(" ", "_" if "_" in case.text else " ")
        for document in documents
    )
    assert not case.title or documents[0].title == case.title


@pytest.mark.parametrize("files", COUNTS.values(), ids=list(COUNTS))
def test_foreign_counts_are_counts(files: Files, tmp_path: Path) -> None:
    source = read_source(write_files(tmp_path, files))
    assert isinstance(source, CountSource)
    assert (source.n_documents, len(source.vocabulary)) == (4, 24)
    assert sum(int(rows.counts.values.sum()) for rows in source.blocks()) == 4 * 21
