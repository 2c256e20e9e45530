"""Pure functions from arrays to figures."""
