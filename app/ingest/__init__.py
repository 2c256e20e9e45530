"""One reader per file format, each giving documents to the store."""
