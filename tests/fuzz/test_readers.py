"""A sample of the damaged files of ``python -m tests.fuzz.readers``."""

import os
from dataclasses import replace

import pytest

from topiary.app.ingest import registry

from . import readers

FEW, MANY = 6, 60  # inputs; many of them at night
SEED = 26

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs fork and alarms")


@pytest.mark.parametrize("inputs", [FEW, pytest.param(MANY, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", [reader.name for reader in registry.list_readers()])
def test_damaged_files_are_read_or_refused_in_one_sentence_and_leave_no_half_corpus(name: str, inputs: int) -> None:
    outcome = readers.run(name, inputs, SEED)
    assert outcome.failures == []
    assert sum(outcome.counts.values()) == inputs
    assert set(outcome.counts) <= {"read", "refused", "refused (its process crashed)"}


def test_a_reader_that_fails_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    found = registry.list_readers()

    def fail(*_: object) -> None:
        raise KeyError("planted")

    failing = tuple(replace(reader, read=fail) if reader.name == "csv" else reader for reader in found)
    monkeypatch.setattr(registry, "list_readers", lambda: failing)
    assert len(readers.run("csv", 3, SEED).failures) == 3
