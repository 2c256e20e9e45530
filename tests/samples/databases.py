"""Databases for tests: every test that asks for ``database_url`` runs on SQLite and on PostgreSQL.

The PostgreSQL server is the one that TOPIARY_TEST_POSTGRES points to (a URL that may create schemas), else a
private one, started for the session from the PostgreSQL programs of this machine and removed afterwards.

A folder of tests imports ``database_url``, ``db`` and ``postgresql_server`` in its conftest, and says there, with
:func:`parametrize_databases`, which tests run on which database.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url

from topiary.store.database import Database, open_database

HOW = (
    "no PostgreSQL server: install PostgreSQL (Debian: apt-get install postgresql) "
    "or set TOPIARY_TEST_POSTGRES to the URL of a server"
)
SUFFIX = ".exe" if os.name == "nt" else ""


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """URL of a server where schemas may be made."""
    given = os.environ.get("TOPIARY_TEST_POSTGRES")
    if given:
        yield given
        return
    found = programs()
    if found is None:
        if os.environ.get("TOPIARY_REQUIRE_ALL") == "1":
            pytest.fail(HOW)
        pytest.skip(HOW)
    with Server(found) as server:
        yield server.url


def parametrize_databases(
    metafunc: pytest.Metafunc, *, both: bool, marks: tuple[pytest.MarkDecorator, ...] = ()
) -> None:
    """Run a test that uses a database on SQLite, and on PostgreSQL as well if ``both``, unless it says on which.

    ``marks`` are those of the test on PostgreSQL.
    """
    named = any("database_url" in str(mark.args[0]) for mark in metafunc.definition.iter_markers("parametrize"))
    if "database_url" in metafunc.fixturenames and not named:
        urls = ["sqlite", pytest.param("postgresql", marks=(pytest.mark.database, *marks))]
        metafunc.parametrize("database_url", urls if both else urls[:1], indirect=True)


@pytest.fixture
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Address of a new, empty database."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'store.db'}"
        return
    with schema(request.getfixturevalue("postgresql_server")) as url:
        yield url


def open_filled(path: Path | str, fill: Callable[..., object] | None = None, **options: object) -> Database:
    """Open a new store in a file: a copy of one that is made, and filled by a function, once a process."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(_fill(fill, **options))
    return open_database(path)


@cache
def _fill(fill: Callable[..., object] | None, **options: object) -> bytes:
    with tempfile.TemporaryDirectory(prefix="topiary-filled-") as folder:
        path = Path(folder, "store.db")
        with contextlib.closing(open_database(path)) as database:
            if fill is not None:
                fill(database, **options)
        return path.read_bytes()


@contextlib.contextmanager
def schema(server: str) -> Iterator[str]:
    """Address of a new schema, which is as empty as a database of its own, and quickly made."""
    name = f"topiary_test_{uuid.uuid4().hex}"
    _execute(server, f"CREATE SCHEMA {name}")
    url = make_url(server).set(drivername="postgresql").update_query_dict({"options": f"-csearch_path={name}"})
    yield url.render_as_string(hide_password=False)
    _execute(server, f"DROP SCHEMA {name} CASCADE")


@pytest.fixture
def db(database_url: str) -> Iterator[Database]:
    """An open, empty store."""
    is_file = database_url.startswith("sqlite:///")
    database = open_filled(Path(database_url.removeprefix("sqlite:///"))) if is_file else open_database(database_url)
    yield database
    database.close()


def programs() -> Path | None:
    """The folder that has initdb and postgres."""
    on_path = shutil.which("initdb")
    folders = [Path(on_path).parent] if on_path else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    folders += [Path("/usr/local/bin"), Path("/opt/homebrew/bin"), Path("/usr/local/pgsql/bin")]
    for folder in folders:
        if all((folder / f"{name}{SUFFIX}").exists() for name in ("initdb", "postgres")):
            return folder
    return None


class Server:
    """A private server in a temporary folder on a free port of this machine, which can be restarted; a context.

    Attributes
    ----------
    url : str
        Of its database, where schemas may be made.
    """

    def __init__(self, programs: Path) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="topiary-postgresql-"))
        self._somebody = _not_root(self._folder)
        self._log = self._folder / "log"
        data, port = self._folder / "data", _free_port()
        self.url = f"postgresql://topiary@127.0.0.1:{port}/postgres"
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(port),
            "unix_socket_directories": "",
            "fsync": "off",
            "shared_buffers": "32MB",
            "max_connections": "60",
        }
        self._command = [programs / "postgres", "-D", data]
        self._command += [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        initdb = [programs / "initdb", "-D", data, "-U", "topiary", "-A", "trust", "-E", "UTF8", "--no-sync"]
        quiet = {"stdout": subprocess.DEVNULL, "cwd": self._folder}
        subprocess.run([*initdb, "--locale=C"], check=True, **quiet, **self._somebody)

    def __enter__(self) -> "Server":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with self._log.open("ab") as output:
            streams = {"stdout": output, "stderr": output}
            self._process = subprocess.Popen(self._command, cwd=self._folder, **streams, **self._somebody)
        _wait(self.url, self._process, self._log)

    def stop(self, *, crash: bool = False) -> None:
        """Stop it at once, or as after a crash; its connections are cut off."""
        number = signal.SIGTERM if os.name == "nt" else signal.SIGQUIT if crash else signal.SIGINT
        self._process.send_signal(number)
        self._process.wait(timeout=60)


def _not_root(folder: Path) -> dict[str, str | int]:
    """Whom to start the server as: PostgreSQL refuses root."""
    if os.name == "nt" or os.geteuid() != 0:
        return {}
    import pwd

    names = {entry.pw_name for entry in pwd.getpwall()}
    somebody = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
    os.chown(folder, somebody.pw_uid, somebody.pw_gid)
    return {"user": somebody.pw_uid, "group": somebody.pw_gid, "extra_groups": []}


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def _wait(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        with contextlib.suppress(psycopg.OperationalError):
            psycopg.connect(url).close()
            return
        if server.poll() is not None:
            break
        time.sleep(0.1)
    pytest.fail(f"the PostgreSQL server did not start: {log.read_text(errors='replace')[-2000:]}")


def _execute(url: str, statement: str) -> None:
    plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain, autocommit=True) as connection:
        connection.execute(statement)
