"""Runs and imports on many processes and machines, to the last bit the same: documents are spread."""
