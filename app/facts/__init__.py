"""Facts that both the command line and the library report: of runs, corpora, classes and comparisons."""
