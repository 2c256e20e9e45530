"""Edits of a living chain: what an analyst knows, told to the sampler between two steps."""
