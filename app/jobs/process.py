"""Processes: how they are started and identified, and the temporary folders that they own.

The identity of a process tells other processes later whether it still lives.  Its number alone does not (numbers are
used again, and zombies keep theirs), nor does the name of its host (two machines or containers may share one).
"""

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import psutil

from app.machine import ROOT

_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
CLOCK_STEP = 2.0  # seconds; the creation time of one process may be read with this difference
BOOT_STEP = 0.05  # seconds; the same, since the boot


def identify_process(pid: int | None = None) -> dict[str, Any]:
    """Return the identity of a process of this machine, by default this one, as JSON for the row of a run.

    Raises
    ------
    psutil.NoSuchProcess
        When there is none of that number.
    """
    process = psutil.Process(pid)
    return {"pid": process.pid, **_read_birth(process), "host": platform.node(), "boot": _read_boot()}


def check_life(identity: dict[str, Any]) -> Literal["alive", "dead", "elsewhere", "unknown"]:
    """Return whether an identified process still runs; "elsewhere" is another host or boot."""
    if not {"pid", "created", "host"} <= identity.keys():
        return "unknown"
    if identity["host"] != platform.node() or identity.get("boot", "") not in ("", _read_boot()):
        return "elsewhere"
    try:
        process = psutil.Process(int(identity["pid"]))
        return (
            "alive" if _is_same(_read_birth(process), identity) and process.status() != psutil.STATUS_ZOMBIE else "dead"
        )
    except (psutil.NoSuchProcess, OverflowError):
        return "dead"
    except psutil.AccessDenied:
        return "unknown"


def _read_boot() -> str:
    """Return the boot of this machine and the namespace of its process numbers; "" where they cannot be read."""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    return ""


def _read_birth(process: psutil.Process) -> dict[str, float]:
    """Return when a process began: by the clock, which may be set, and in seconds since the boot."""
    created = process.create_time()
    return {"created": created, "since_boot": created - psutil.boot_time()}


def _is_same(born: dict[str, float], identity: dict[str, Any]) -> bool:
    if abs(born["created"] - float(identity["created"])) <= CLOCK_STEP:
        return True
    return abs(born["since_boot"] - float(identity.get("since_boot", -1.0))) <= BOOT_STEP


OWNER_NOTE = "owner.json"  # in the folder
_PREFIX = "topiary-owned-"


def make_folder() -> Path:
    """Make an empty folder in the system's folder for temporary files; this process owns it."""
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    own_folder(folder)
    return folder


def own_folder(folder: Path, pid: int | None = None) -> None:
    """Give a folder to a process, by default to this one.

    Nothing happens where the folder, or the process, is gone.
    """
    with suppress(OSError, psutil.Error):
        note = folder / f"{OWNER_NOTE}.new"
        note.write_text(json.dumps(identify_process(pid)), encoding="utf-8")
        note.replace(folder / OWNER_NOTE)


def find_folder(path: Path) -> Path | None:
    """Return the owned folder that a path lies in; None where it lies in none."""
    return next((folder for folder in (path, *path.parents) if (folder / OWNER_NOTE).is_file()), None)


def use_folder(folder: Path | None) -> dict[str, str]:
    """Return the variables by which a child makes its temporary files inside an owned folder."""
    return {} if folder is None else {"TMPDIR": str(folder)}


def remove_folder(folder: Path) -> None:
    """Remove a folder with all that is in it, as far as that is possible."""
    shutil.rmtree(folder, ignore_errors=True)


def sweep_folders() -> list[Path]:
    """Remove the folders of this user whose owners are gone; return them."""
    found = Path(tempfile.gettempdir()).glob(f"{_PREFIX}*")
    gone = [folder for folder in found if _is_mine(folder) and _is_abandoned(folder)]
    for folder in gone:
        remove_folder(folder)
    return gone


def _is_mine(folder: Path) -> bool:
    """Return whether it is a folder of this user: others may put anything into a shared folder, links among them."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    own = not hasattr(os, "getuid") or status.st_uid == os.getuid()
    return own and folder.is_dir() and not folder.is_symlink()


def _is_abandoned(folder: Path) -> bool:
    """Return whether the owner of a folder is gone: its process has ended, or this machine was restarted since."""
    try:
        owner: dict[str, Any] = json.loads((folder / OWNER_NOTE).read_text(encoding="utf-8"))
        life = check_life(owner)
        restarted = owner["host"] == platform.node() and _read_machine(owner["boot"]) != _read_machine(
            identify_process()["boot"]
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError):  # it is being made, or another program's
        return False
    return life == "dead" or restarted


def _read_machine(boot: str) -> str:
    """Return the boot of the machine without the namespace of process numbers, which each container has for itself."""
    return boot.partition(" ")[0]


def start_module(
    module: str,
    *arguments: str,
    store: str,
    apart: bool = False,
    variables: Mapping[str, str] | None = None,
    **options: Any,
) -> "subprocess.Popen[Any]":
    """Start a module of this program as a process of its own.

    Parameters
    ----------
    module : str
        Dotted name.
    arguments : str
        Its command line.
    store : str
        URL of the store; handed over in the environment, because everybody can read command lines and a URL may hold
        a password.
    apart : bool
        Let it outlive this process, and keep Ctrl-C on our terminal from it.
    variables : mapping of str to str, optional
        Further variables of its environment.
    options : dict
        For ``subprocess.Popen``; standard input is empty unless they say otherwise.
    """
    if apart and sys.platform == "win32":
        options["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
    elif apart:
        options["start_new_session"] = True
    return subprocess.Popen(  # noqa: S603 - our own interpreter and module
        [sys.executable, "-P", "-m", module, *arguments],
        env=build_environment(store) | dict(variables or {}),
        **{"stdin": subprocess.DEVNULL} | options,
    )


def build_environment(store: str) -> dict[str, str]:
    """Return the environment of a process: our packages findable, matrix products on one thread.

    One thread keeps the bits of a product the same whatever a machine's number of processors; the kernels have threads
    of their own.
    """
    old = os.environ.get("PYTHONPATH")
    paths = [str(ROOT), *(old.split(os.pathsep) if old else [])]
    ours = {"PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)), "TOPIARY_STORE": store}
    return os.environ | ours | dict.fromkeys(_ONE_THREAD, "1")
