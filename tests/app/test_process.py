"""Who is a process, and does it live."""

import subprocess
import sys

from app import process


def test_this_process_is_alive():
    assert process.life(process.identity()) == "alive"


def test_a_process_that_has_ended_is_dead():
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert process.life(process.identity() | {"pid": child.pid}) == "dead"


def test_another_process_with_the_same_number_is_not_the_same_process():
    me = process.identity()
    assert process.life(me | {"created": me["created"] - 100}) == "dead"


def test_nothing_is_known_of_other_hosts_and_of_nobody():
    assert process.life(process.identity() | {"host": "another one"}) == "elsewhere"
    assert process.life({}) == "unknown"
