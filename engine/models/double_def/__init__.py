"""The model double-def: the double deep exponential family."""
