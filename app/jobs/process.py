"""Who is a process: enough to tell, later and from another process, whether it still lives.

A process number alone is not an identity (numbers are used again), and a dead child of a living
parent still has one (a zombie). Nor is the name of a host: two machines, or two containers of one,
may have the same.
"""

import platform
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import psutil

CLOCK_STEP = 2.0  # seconds; the creation time of one process may be told this differently
BOOT_STEP = 0.05  # seconds; the same, since the machine began


def identity(pid: int | None = None) -> dict[str, Any]:
    """Return who a process of this machine is, by default the one calling this, as JSON for the row of a run.

    Raises
    ------
    psutil.NoSuchProcess
        When there is none of that number.
    """
    about = psutil.Process(pid)
    return {"pid": about.pid, **_born(about), "host": platform.node(), "boot": _boot()}


def life(who: dict[str, Any]) -> Literal["alive", "dead", "elsewhere", "unknown"]:
    """Whether the process that :func:`identity` described still runs; "elsewhere" is another host or boot."""
    if not {"pid", "created", "host"} <= who.keys():
        return "unknown"
    if who["host"] != platform.node() or who.get("boot", "") not in ("", _boot()):
        return "elsewhere"
    try:
        process = psutil.Process(int(who["pid"]))
        return "alive" if _same(_born(process), who) and process.status() != psutil.STATUS_ZOMBIE else "dead"
    except (psutil.NoSuchProcess, OverflowError):
        return "dead"
    except psutil.AccessDenied:
        return "unknown"


def _boot() -> str:
    """Which machine since when, and which numbering of its processes; "" where the system does not tell."""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    return ""


def _born(process: psutil.Process) -> dict[str, float]:
    """When a process began, by the clock and in seconds since the machine did: a clock that is set moves the first."""
    created = process.create_time()
    return {"created": created, "since_boot": created - psutil.boot_time()}


def _same(born: dict[str, float], who: dict[str, Any]) -> bool:
    if abs(born["created"] - float(who["created"])) <= CLOCK_STEP:
        return True
    return abs(born["since_boot"] - float(who.get("since_boot", -1.0))) <= BOOT_STEP
