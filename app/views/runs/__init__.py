"""Lists, forms and curves of runs and corpora."""
