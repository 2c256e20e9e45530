"""Pure functions from data to HTML and pictures."""
