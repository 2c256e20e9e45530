"""One run on many processes and machines, to the last bit the same: documents are spread, topics move once."""
