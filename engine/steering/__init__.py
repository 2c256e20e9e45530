"""Edits of the topics of a run between two of its steps, and what later steps keep of them."""
