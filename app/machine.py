"""The machine Topiary runs on."""

import os


def processors() -> int:
    """How many processors there are, or as many as ``TOPIARY_CPUS`` says."""
    request = os.environ.get("TOPIARY_CPUS", "")
    return int(request) if request.isdecimal() and int(request) > 0 else os.cpu_count() or 1
