"""Start and identify processes, tell which runs have lost theirs, and manage the temporary folders that they own.

The identity of a process lets others find out later whether it is still alive.  Its number alone does not (numbers are
reused, and zombies keep theirs), nor does the name of its host (two machines or containers may have the same name).
"""

import json
import logging
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import psutil

from topiary.app.machine import build_python_path

if TYPE_CHECKING:
    from topiary.store.run_rows import RunRow

log = logging.getLogger("topiary.jobs")
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
CLOCK_STEP = 2.0  # seconds by which two readings of the creation time of one process may differ
SILENT_HERE = 120.0  # seconds without a beat; a living process may be compiling or in one long sweep
SILENT_ELSEWHERE = 60.0  # seconds without a sign of a process that cannot be checked from here
BOOT_STEP = 0.05  # seconds by which two readings of its time since boot may differ


def identify_process(pid: int | None = None) -> dict[str, Any]:
    """Return the identity of a process of this machine, by default this one, as JSON for the row of a run.

    Raises
    ------
    psutil.NoSuchProcess
        When there is no process with this number.
    """
    process = psutil.Process(pid)
    return {"pid": process.pid, **_read_birth(process), "host": platform.node(), "boot": _read_boot()}


def check_life(identity: dict[str, Any]) -> Literal["alive", "dead", "elsewhere", "unknown"]:
    """Return whether an identified process is alive; "elsewhere" means another host, boot or container."""
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


def find_state(row: "RunRow") -> str:
    """Return the state to show: that of the row, or "silent" without a living worker.

    On this host a run is silent if its process is gone, is a zombie, or has not sent a heartbeat for two
    minutes; on another host, if it has not sent one for a minute.
    """
    if row.state != "running":
        return row.state
    age = row.heartbeat_age if row.heartbeat_age is not None else 0.0
    match check_life(row.process):
        case "dead":
            return "silent"
        case "alive":
            return "silent" if age > SILENT_HERE else "running"
        case _:
            return "silent" if age > SILENT_ELSEWHERE else "running"


def _read_boot() -> str:
    """Return identifiers of the boot of this machine and of its process namespace; "" if they cannot be read."""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    return ""


def _read_birth(process: psutil.Process) -> dict[str, float]:
    """Return the start of a process: by the clock, which may be set, and in seconds since the boot."""
    created = process.create_time()
    return {"created": created, "since_boot": created - psutil.boot_time()}


def _is_same(birth: dict[str, float], identity: dict[str, Any]) -> bool:
    """Return whether the start of a process agrees with an identity, by either of its times."""
    if abs(birth["created"] - float(identity["created"])) <= CLOCK_STEP:
        return True
    return abs(birth["since_boot"] - float(identity.get("since_boot", -1.0))) <= BOOT_STEP


OWNER_NOTE = "owner.json"  # file in an owned folder with the identity of its owner
_FILE_NOTE = "file.txt"  # file in an owned folder with the path of an unfinished file of the owner
_PREFIX = "topiary-owned-"


def make_folder() -> Path:
    """Create an empty folder, owned by this process, in the system's folder for temporary files."""
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    own_folder(folder)
    return folder


def own_folder(folder: Path, pid: int | None = None) -> None:
    """Make a process, by default this one, the owner of a folder.

    Nothing happens if the folder or the process is gone.
    """
    with suppress(OSError, psutil.Error):
        note = folder / f"{OWNER_NOTE}.new"
        note.write_text(json.dumps(identify_process(pid)), encoding="utf-8")
        note.replace(folder / OWNER_NOTE)


def find_folder(path: Path) -> Path | None:
    """Return the owned folder that contains a path; None if there is none."""
    return next((folder for folder in (path, *path.parents) if (folder / OWNER_NOTE).is_file()), None)


@contextmanager
def own_file(path: Path) -> Iterator[None]:
    """Make this process the owner of a file that it writes; if it is killed, :func:`sweep_folders` removes the file."""
    folder = make_folder()
    try:
        (folder / _FILE_NOTE).write_text(str(path.absolute()), encoding="utf-8")
        yield
    finally:
        remove_folder(folder)


def use_folder(folder: Path | None) -> dict[str, str]:
    """Return the environment variables that let a child create its temporary files in an owned folder."""
    return {} if folder is None else {"TMPDIR": str(folder)}


def remove_folder(folder: Path) -> None:
    """Remove a folder with its contents, as far as possible."""
    shutil.rmtree(folder, ignore_errors=True)


def sweep_folders() -> list[Path]:
    """Remove the folders of this user whose owners are gone, with the files they own, and return the folders."""
    candidates = Path(tempfile.gettempdir()).glob(f"{_PREFIX}*")
    abandoned = [folder for folder in candidates if _is_mine(folder) and _is_abandoned(folder)]
    for folder in abandoned:
        if (file := _find_owned_file(folder)) is not None:
            from topiary.store.upkeep import remove_part  # slow to load, and only for a backup that was killed

            remove_part(file)
            log.warning("removed %s, which a program that was killed had left unfinished", file)
        remove_folder(folder)
    return abandoned


def _find_owned_file(folder: Path) -> Path | None:
    """Return the file that belongs to the owner of a folder; None if there is none."""
    with suppress(OSError, ValueError):
        file = Path((folder / _FILE_NOTE).read_text(encoding="utf-8"))
        return file if file.is_file() else None
    return None


def _is_mine(folder: Path) -> bool:
    """Return whether this is a folder of this user, not one, or a link, that another user has put there."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    is_owner = not hasattr(os, "getuid") or status.st_uid == os.getuid()
    return is_owner and folder.is_dir() and not folder.is_symlink()


def _is_abandoned(folder: Path) -> bool:
    """Return whether the owner of a folder is gone: its process has ended, or this machine was restarted."""
    try:
        owner: dict[str, Any] = json.loads((folder / OWNER_NOTE).read_text(encoding="utf-8"))
        life = check_life(owner)
        restarted = owner["host"] == platform.node() and _read_machine(owner["boot"]) != _read_machine(
            identify_process()["boot"]
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError):  # it is being created, or of another program
        return False
    return life == "dead" or restarted


def _read_machine(boot: str) -> str:
    """Return the identifier of the boot without that of the process namespace, which differs between containers."""
    return boot.partition(" ")[0]


def start_module(
    module: str,
    *arguments: str,
    store: str,
    apart: bool = False,
    variables: Mapping[str, str] | None = None,
    **options: Any,
) -> "subprocess.Popen[Any]":
    """Start a module of this program in a separate process.

    Parameters
    ----------
    module : str
        Dotted name.
    arguments : str
        Arguments of its command line.
    store : str
        URL of the store, passed in the environment because all users can read command lines, and a URL may contain
        a password.
    apart : bool
        Whether it may outlive this process and ignores Ctrl-C in our terminal.
    variables : mapping of str to str, optional
        Further variables of its environment.
    options : dict
        Options of ``subprocess.Popen``; standard input is empty by default.
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
    """Return the environment of a child process, with our packages on its path and matrix products on one thread.

    With one thread the exact result of a product does not depend on the number of processors; the kernels have
    threads of their own.
    """
    variables = {"PYTHONPATH": build_python_path(), "TOPIARY_STORE": store}
    return os.environ | variables | dict.fromkeys(_ONE_THREAD, "1")


_ahead: list["subprocess.Popen[bytes]"] = []  # a worker that waits for a run


def start_worker_ahead(kernels: Mapping[str, Any] | None = None, store: str | None = None) -> None:
    """Start a worker that loads its modules, and some kernels, while this process prepares the run that it will train.

    It ends with this process if there is none.

    Parameters
    ----------
    kernels : mapping, optional
        The fields of an :class:`app.jobs.compile_kernels.KernelRequest`.
    store : str, optional
        URL of the store that the run will be in, as far as it is known.
    """
    child = start_module(
        "topiary.app.jobs.worker",
        "--ahead",
        json.dumps(kernels),
        store=os.environ.get("TOPIARY_STORE", "") if store is None else store,
        apart=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _ahead.append(child)


def give_run(store: str, run: int) -> "subprocess.Popen[bytes] | None":
    """Give a run to the worker that waits for one, and return it; None if there is none, or if it has failed."""
    child = _ahead.pop() if _ahead else None
    if child is None or child.stdin is None:
        return None
    try:
        with child.stdin as pipe:
            pipe.write(json.dumps([store, run]).encode())
    except OSError:
        return None
    return child


def dismiss_worker() -> None:
    """Let a worker that still waits for a run end."""
    while _ahead:
        if (pipe := _ahead.pop().stdin) is not None:
            pipe.close()
