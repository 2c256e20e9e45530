"""Tests of the store run on SQLite; those of modules with statements for one database, on PostgreSQL as well."""

import pytest
from databases import database_url, db, parametrize_databases, postgresql_server

__all__ = ["database_url", "db", "postgresql_server"]

WITH_DIALECTS = ("database", "transactions", "full_text", "check", "upkeep", "migrations")


def pytest_generate_tests(metafunc):
    """Run every test on both databases: nightly where its module has no statements for one of them."""
    has_dialect = metafunc.module.__name__.rpartition("test_")[2] in WITH_DIALECTS
    parametrize_databases(metafunc, both=True, marks=() if has_dialect else (pytest.mark.nightly,))
