"""The store remembers: corpora, runs, points, snapshots and labels, on SQLite or PostgreSQL."""
