"""Damaged and hostile files for every reader, thousands of them; run by hand, a sample of them by the suite."""
