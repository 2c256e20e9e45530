"""Two runs side by side: pairs of topics, tables, pictures."""
