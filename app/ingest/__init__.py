"""From files to corpora: readers of formats, tables, texts, and the report of an import."""
