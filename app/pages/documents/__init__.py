"""The page of documents: search, inference for new documents, interpolation between two."""
