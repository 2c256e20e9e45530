"""What of a text is counted: encodings, languages, cleaning, words and passages."""
