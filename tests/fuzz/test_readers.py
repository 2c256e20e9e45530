"""A sample of the damaged files of ``python -m tests.fuzz.readers``."""

import os

import pytest

from app.ingest import registry

from . import readers

INPUTS = 60
SEED = 26

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs fork and alarms")


@pytest.mark.parametrize("name", [reader.NAME for reader in registry.readers()])
def test_damaged_files_are_read_or_refused_in_one_sentence_and_leave_no_half_corpus(name: str) -> None:
    outcome = readers.run(name, INPUTS, SEED)
    assert outcome.failures == []
    assert sum(outcome.counts.values()) == INPUTS
    assert set(outcome.counts) <= {"read", "refused", "refused (its process crashed)"}


def test_a_reader_that_fails_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = next(reader for reader in registry.readers() if reader.NAME == "csv")

    def fail(*_: object) -> None:
        raise KeyError("planted")

    monkeypatch.setattr(reader, "read", fail)
    assert len(readers.run("csv", 3, SEED).failures) == 3
