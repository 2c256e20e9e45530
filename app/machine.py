"""The machine Topiary runs on."""

import os


def processors() -> int:
    """How many processors there are, or as many as ``TOPIARY_CPUS`` says."""
    wanted = os.environ.get("TOPIARY_CPUS", "")
    return int(wanted) if wanted.isdecimal() and int(wanted) > 0 else os.cpu_count() or 1
