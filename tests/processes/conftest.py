"""Real workers on small corpora, on both databases."""

import pytest
from databases import database_url, db, postgresql_server

__all__ = ["database_url", "db", "postgresql_server"]


@pytest.fixture(autouse=True)
def apart(tmp_path, monkeypatch):
    """Logs go to the test's own folder, and as many workers may run as a test starts."""
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "data"))
    monkeypatch.setenv("TOPIARY_WORKERS", "4")
    monkeypatch.delenv("TOPIARY_STORE", raising=False)
