"""A look at what was sent, in a process of its own: a report, or why not, and nothing left of it."""

import time

import pytest

from app.ingest.importing import inspect_path
from app.ingest.options import ImportOptions
from app.jobs.inspect_process import Inspection, Look

PATIENCE = 60.0


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A table of two columns."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    path = tmp_path / "notes.csv"
    path.write_text("title,text\n" + "\n".join(f"Note {n},apple pear fig{'abc'[n % 3]}" for n in range(30)))
    return path


def end_of(inspection):
    until, look = time.monotonic() + PATIENCE, Look()
    while not look.over and time.monotonic() < until:
        look = inspection.look(look)
    return look


def test_the_report_is_that_of_this_process_and_the_file_stays(table):
    options = ImportOptions(min_df=1, max_df=1.0)
    look = end_of(Inspection(table, options))
    assert look.report == inspect_path(table, options)
    assert table.exists()


def test_what_cannot_be_read_is_one_sentence_that_names_the_file_as_it_was_sent(table):
    look = end_of(Inspection(table, ImportOptions(text_column="body")))
    assert look.report is None
    assert look.error == "notes.csv: has no column 'body'; its columns are title, text"


def test_one_that_nobody_waits_for_ends_without_a_report(table):
    inspection = Inspection(table, ImportOptions())
    inspection.cancel()
    look = end_of(inspection)
    assert look.report is None
    assert look.error.startswith("It could not be looked at; ")
