"""Texts: encodings, languages, cleaning, words and passages."""
