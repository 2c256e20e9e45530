"""Tables of texts: how cells are written, what columns are called and what they are."""
