"""Processes and what they do: new runs, the launcher, the worker, training, imports."""
