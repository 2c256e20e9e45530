"""The observation of documents while they are imported, and the report of it."""
