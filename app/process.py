"""Who is a process: enough to tell, later and from another process, whether it still lives.

A process number alone is not an identity (numbers are used again), and a dead child of a living
parent still has one (a zombie).
"""

import os
import platform
from typing import Any, Literal

import psutil

CLOCK_STEP = 2.0  # seconds; the creation time of one process may be told this differently


def identity() -> dict[str, Any]:
    """Who the process calling this is, as JSON for the row of a run."""
    return {"pid": os.getpid(), "created": psutil.Process().create_time(), "host": platform.node()}


def life(who: dict[str, Any]) -> Literal["alive", "dead", "elsewhere", "unknown"]:
    """Whether the process that :func:`identity` described still runs; "elsewhere" is another host."""
    if not {"pid", "created", "host"} <= who.keys():
        return "unknown"
    if who["host"] != platform.node():
        return "elsewhere"
    try:
        process = psutil.Process(int(who["pid"]))
        same = abs(process.create_time() - float(who["created"])) <= CLOCK_STEP
        return "alive" if same and process.status() != psutil.STATUS_ZOMBIE else "dead"
    except psutil.NoSuchProcess:
        return "dead"
    except psutil.AccessDenied:
        return "unknown"
