"""The store keeps corpora, runs, points, snapshots and labels, on SQLite or PostgreSQL."""
