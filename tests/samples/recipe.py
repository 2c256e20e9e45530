"""The parts of ``assets/cluster/compose.yaml`` as processes of this machine, with their commands and variables."""

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from databases import _not_root, programs
from sources import ROOT

FOLDER = ROOT / "assets" / "cluster"
GUIDE = ROOT / "assets" / "guide" / "cluster-recipe.md"
_PORTS = re.compile(r"\b(5432|8786|8787|8790|5006|9000|9099|9100|9199)\b")
_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*)|:\?[^}]*)?\}")


def compose(variables: Mapping[str, str], ports: Mapping[str, str]) -> dict[str, Any]:
    """The compose file with these variables, and with other ports."""
    text = (FOLDER / "compose.yaml").read_text(encoding="utf-8")
    text = _PORTS.sub(lambda found: ports[found[1]], text)
    given = {name: variables.get(name, default) for name, default in _VARIABLE.findall(text)}
    return yaml.safe_load(_VARIABLE.sub(lambda found: given[found[1]], text))


def variables() -> set[str]:
    """Everything that the compose file wants to be told."""
    return {found[1] for found in _VARIABLE.finditer((FOLDER / "compose.yaml").read_text(encoding="utf-8"))}


def guide_blocks(language: str) -> list[str]:
    """The blocks of the chapter in a language."""
    return re.findall(rf"```{language}\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)


def free_ports() -> dict[str, str]:
    """A free port for every one of the recipe; those of a range are neighbours."""
    found = {}
    for port in ("5432", "8786", "8787", "8790", "5006", "9000", "9100"):
        with socket.socket() as made:
            made.bind(("127.0.0.1", 0))
            found[port] = str(made.getsockname()[1])
    return found | {"9099": str(int(found["9000"]) + 99), "9199": str(int(found["9100"]) + 99)}


class Recipe:
    """All parts of the compose file, begun one after the other as soon as the health check of the last is passed."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self.ports = free_ports()
        self.folder = Path(tempfile.mkdtemp(prefix="topiary-recipe-"))
        self.services = compose(variables, self.ports)["services"]
        self._processes: list[subprocess.Popen[bytes]] = []
        self._env = {key: value for key, value in os.environ.items() if not key.startswith(("DASK", "TOPIARY", "PG"))}
        self._env["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), str(programs()), os.environ["PATH"]])

    def __enter__(self) -> "Recipe":
        (commands,) = (block for block in guide_blocks("sh") if block.startswith("mkdir"))
        subprocess.run(["sh", "-e", "-c", commands], cwd=self.folder, check=True, capture_output=True)
        self._start_postgres()
        for name in ("scheduler", "worker", "topiary"):
            self._start(name, self.command(name))
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._processes):
            process.terminate()
        for process in reversed(self._processes):
            process.wait(timeout=60)
        shutil.rmtree(self.folder, ignore_errors=True)

    def environment(self, name: str) -> dict[str, str]:
        """The variables of a part, with the certificates where they are here."""
        own = {key: str(value) for key, value in self.services[name].get("environment", {}).items()}
        home = {"HOME": str(self.folder), "XDG_DATA_HOME": str(self.folder), "PYTHONPATH": str(ROOT)}
        cache = {"XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))}  # compiled kernels
        here = str(self.folder / "certificates")
        return self._env | home | cache | {key: value.replace("/certificates", here) for key, value in own.items()}

    def command(self, name: str) -> list[str]:
        """What a part runs."""
        return shlex.split(self.services[name]["command"])

    def log(self, name: str) -> str:
        """What a part has said."""
        return (self.folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")

    def healthy(self, name: str) -> bool:
        """Whether a part passes its health check."""
        kind, *check = self.services[name]["healthcheck"]["test"]
        assert kind == "CMD"
        return not subprocess.run(check, env=self.environment(name), check=False, capture_output=True).returncode

    def _start(self, name: str, command: list[str], **more: Any) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            streams = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            about = {"cwd": self.folder, "env": self.environment(name)} | more
            self._processes.append(subprocess.Popen(command, **about, **streams))
        end = time.monotonic() + 90
        while not self.healthy(name):
            assert self._processes[-1].poll() is None, self.log(name)[-3000:]
            assert time.monotonic() < end, f"{name} is not healthy: {self.log(name)[-3000:]}"
            time.sleep(0.2)

    def _start_postgres(self) -> None:
        """Do what the image does before its command: make the database, and let in who has the password."""
        own = self.environment("postgres")
        home = Path(tempfile.mkdtemp(prefix="postgres-", dir=self.folder))
        self.folder.chmod(0o755)
        somebody = _not_root(home)
        word = home / "password"
        word.write_text(own["POSTGRES_PASSWORD"], encoding="utf-8")
        word.chmod(0o644)
        initdb = ["initdb", "-D", str(home / "data"), "-U", own["POSTGRES_USER"], "--pwfile", str(word), "--no-sync"]
        initdb += shlex.split(own["POSTGRES_INITDB_ARGS"])
        subprocess.run(initdb, check=True, capture_output=True, env=own, cwd=home, **somebody)
        here = [f"port={self.ports['5432']}", "listen_addresses=127.0.0.1", "unix_socket_directories="]
        settings = [part for each in here for part in ("-c", each)]
        command = [*self.command("postgres"), "-D", str(home / "data"), *settings]
        self._start("postgres", command, cwd=home, **somebody)
        address = ["--host", "127.0.0.1", "--port", self.ports["5432"], "--username", own["POSTGRES_USER"]]
        made = ["createdb", *address, own["POSTGRES_DB"]]
        subprocess.run(made, check=True, capture_output=True, env=own | {"PGPASSWORD": own["POSTGRES_PASSWORD"]})
