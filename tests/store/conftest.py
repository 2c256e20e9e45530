"""Every test of the store runs on both databases."""

from databases import database_url, db, postgresql_server

__all__ = ["database_url", "db", "postgresql_server"]
