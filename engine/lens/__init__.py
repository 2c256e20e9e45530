"""Topic shares by group and time with intervals, what is typical of a selection, and badly explained documents."""
