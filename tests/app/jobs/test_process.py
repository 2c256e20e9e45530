"""Who is a process, and does it live."""

import subprocess
import sys

import psutil

from app.jobs import process


def test_this_process_is_alive():
    assert process.life(process.identity()) == "alive"


def test_a_process_that_has_ended_is_dead():
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert process.life(process.identity() | {"pid": child.pid}) == "dead"


def test_another_process_with_the_same_number_is_not_the_same_process():
    me = process.identity()
    other = {"created": me["created"] - 100, "since_boot": me["since_boot"] - 100}
    assert process.life(me | other) == "dead"
    assert (
        process.life({"created": other["created"], "pid": me["pid"], "host": me["host"]}) == "dead"
    )  # of an older one


def test_a_clock_that_is_set_kills_nobody(monkeypatch):
    me, created, boot = process.identity(), psutil.Process.create_time, psutil.boot_time
    monkeypatch.setattr(psutil.Process, "create_time", lambda self: created(self) + 3600)
    monkeypatch.setattr(psutil, "boot_time", lambda: boot() + 3600)
    assert process.life(me) == "alive"


def test_nothing_is_known_of_other_hosts_and_of_nobody():
    assert process.life(process.identity() | {"host": "another one"}) == "elsewhere"
    assert process.life({}) == "unknown"


def test_a_machine_or_container_of_the_same_name_is_another_one(monkeypatch):
    me = process.identity()
    other = me | {"pid": me["pid"] + 1, "created": 1.0, "since_boot": 1.0, "boot": "another boot pid:[1]"}
    assert process.life(other) == "elsewhere"
    assert process.life(other | {"boot": me["boot"]}) == "dead"
    assert process.life(me | {"boot": ""}) == "alive"  # of a system that does not tell, or of an older version
    monkeypatch.setattr(process, "_boot", lambda: "")
    assert process.life(other) == "elsewhere"
