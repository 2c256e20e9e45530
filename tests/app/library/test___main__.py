"""A server that is asked to end does so at once, whatever its threads are at."""

import os
import signal
import subprocess
import sys
import time
import urllib.request

import pytest
from store_samples import REPOSITORY

BUSY = """
import sys, time
from topiary.app.live.feed import Feed

start = Feed.start

def busy(self):
    start(self)
    for submit in (self.submit, self.submit_aside, self.submit_in_turn):
        submit(lambda: time.sleep(60))

Feed.start = busy
from topiary.__main__ import main
sys.exit(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows ends processes without asking them")
def test_a_server_asked_to_end_waits_for_no_thread_that_computes(tmp_path):
    command = [sys.executable, "-c", BUSY, "serve", "--store", str(tmp_path / "store.db"), "--port", "0"]
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY), "TMPDIR": str(tmp_path)}
    server = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        said = server.stdout.readline()
        assert said.startswith("Topiary is at http://127.0.0.1:")
        urllib.request.urlopen(said.split()[3], timeout=60).close()  # from now on it hears signals
        began = time.monotonic()
        server.send_signal(signal.SIGTERM)
        out, err = server.communicate(timeout=50)
    finally:
        server.kill()
        server.wait()
    assert time.monotonic() - began < 10
    assert server.returncode == 0
    assert "Traceback" not in out + err
