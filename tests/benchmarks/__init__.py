"""Speed, memory and responsiveness, measured side by side: ``python -m tests.benchmarks.NAME --help``."""
