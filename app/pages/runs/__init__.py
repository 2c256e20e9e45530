"""The page of all runs, with the forms of a new run and a new corpus."""
