"""The store, as workers of a cluster open it."""

import pytest

from topiary.app.jobs.cluster import holder
from topiary.store.errors import NotFound, SchemaMismatch, StoreError


def answered(monkeypatch, *answers):
    """Let the store be opened with these answers, one after the other; the times that it was asked."""
    left = list(answers)

    def opened(store, *, readonly):
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(holder, "open_database", opened)
    monkeypatch.setattr(holder.time, "sleep", lambda seconds: None)
    return left


def test_a_server_that_restarts_is_waited_for(monkeypatch):
    left = answered(monkeypatch, StoreError("cannot be reached"), StoreError("cannot be reached"), "open")
    assert (holder.open_patiently("postgresql://somewhere"), left) == ("open", [])


@pytest.mark.parametrize("error", [NotFound("none"), SchemaMismatch("other")])
def test_a_store_that_is_not_there_or_another_is_not_waited_for(monkeypatch, error):
    left = answered(monkeypatch, error, "open")
    with pytest.raises(type(error)):
        holder.open_patiently("postgresql://somewhere")
    assert left == ["open"]


def test_waiting_for_a_server_has_an_end(monkeypatch):
    monkeypatch.setattr(holder, "OPENING_PATIENCE", -1.0)
    answered(monkeypatch, StoreError("cannot be reached"))
    with pytest.raises(StoreError, match="cannot be reached"):
        holder.open_patiently("postgresql://somewhere")
