"""Faults put into real training processes, and what is lost by them: ``python -m tests.faults --help``."""
