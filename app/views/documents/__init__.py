"""Documents: their place among the topics, and the documents near them."""
