"""The page that sets two runs side by side."""
