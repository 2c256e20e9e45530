"""Places that cannot be used are refused with a sentence, and within the time there is for it."""

import gc
import os
import socket
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from app.jobs.cluster import place
from app.jobs.cluster.place import PlaceError
from app.machine import ROOT

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("default")  # Dask leaves sockets to the garbage collector

OTHER = "from app.jobs.cluster import place\nplace.versions = lambda: {'engine': 'e', 'numpy': '1.0', 'numba': '0.1'}\n"


@pytest.fixture
def scheduler():
    """A scheduler without workers."""
    about = {"processes": False, "dashboard_address": "127.0.0.1:0", "protocol": "tcp://", "host": "127.0.0.1"}
    with distributed.LocalCluster(n_workers=0, **about) as made:
        yield made.scheduler_address


@pytest.mark.slow
def test_a_worker_of_another_version_is_refused_at_once(scheduler, tmp_path):
    other = tmp_path / "other.py"
    other.write_text(OTHER, encoding="utf-8")
    command = [sys.executable, "-m", "distributed.cli.dask_worker", scheduler, "--no-nanny", "--no-dashboard"]
    command += ["--nthreads", "1", "--local-directory", str(tmp_path), "--preload", str(other)]
    nowhere = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, **nowhere)
    try:
        with pytest.raises(
            PlaceError, match=r"has engine e instead of \w+, numpy 1\.0 instead of .*; install the same"
        ):
            place.connect(scheduler)
    finally:
        process.kill()
        process.wait()


def test_a_worker_without_topiary_is_refused(monkeypatch):
    found = {"tcp://10.0.0.2:9000": ModuleNotFoundError("No module named 'app'")}
    monkeypatch.setattr(place.presence, "workers", lambda client: dict.fromkeys(found))
    with pytest.raises(PlaceError, match=r"tcp://10\.0\.0\.2:9000 of tls://10\.0\.0\.1:8786 cannot load Topiary \(No"):
        place._same_versions(SimpleNamespace(run=lambda *_, **__: found), "tls://10.0.0.1:8786", place.versions, 5)


def test_workers_that_hang_are_not_waited_for_without_end(monkeypatch):
    monkeypatch.setattr(place.presence, "workers", lambda client: {"tcp://10.0.0.2:9000": {}})

    def hangs(*_, **__):
        raise TimeoutError

    with pytest.raises(TimeoutError, match="do not answer"):
        place._same_versions(SimpleNamespace(run=hangs), "tcp://10.0.0.1:8786", place.versions, 1)


@pytest.mark.timeout(60)
def test_a_program_that_accepts_and_says_nothing_is_no_scheduler():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        began = time.monotonic()
        with pytest.raises(PlaceError, match="no scheduler with workers answers at tcp"):
            place.connect(f"tcp://127.0.0.1:{silent.getsockname()[1]}", patience=1)
    assert time.monotonic() - began < 20


def test_clients_that_met_nobody_are_gone_before_another_begins(monkeypatch):
    import distributed

    gone, seen = [], []

    class Cycle:
        def __init__(self):
            self.own = self

        def __del__(self):
            gone.append(True)

    def nobody(*_args, **_options):
        seen.extend(gone)
        raise OSError("refused")

    monkeypatch.setattr(distributed, "Client", nobody)
    gc.disable()
    try:
        Cycle()
        with pytest.raises(PlaceError, match="no scheduler with workers answers"):
            place.connect("tcp://127.0.0.1:1")
    finally:
        gc.enable()
    assert seen == [True]


def test_an_address_with_tls_says_that_certificates_are_needed():
    with pytest.raises(PlaceError, match="give them and Topiary the same certificates"):
        place.connect("tls://127.0.0.1:1", patience=1)
