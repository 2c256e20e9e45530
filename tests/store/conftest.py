"""Every test of the store runs on both databases."""

from databases import database_url, db, parametrize_databases, postgresql_server

__all__ = ["database_url", "db", "postgresql_server"]


def pytest_generate_tests(metafunc):
    """Run every test of the store on both databases."""
    parametrize_databases(metafunc, both=True)
