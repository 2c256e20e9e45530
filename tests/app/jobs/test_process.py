"""Who is a process, and does it live."""

import json
import os
import signal
import subprocess
import sys

import psutil
import pytest

from topiary.app.jobs import process


def test_this_process_is_alive():
    assert process.check_life(process.identify_process()) == "alive"


def test_a_process_that_has_ended_is_dead():
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert process.check_life(process.identify_process() | {"pid": child.pid}) == "dead"


def test_another_process_with_the_same_number_is_not_the_same_process():
    me = process.identify_process()
    other = {"created": me["created"] - 100, "since_boot": me["since_boot"] - 100}
    assert process.check_life(me | other) == "dead"
    assert (
        process.check_life({"created": other["created"], "pid": me["pid"], "host": me["host"]}) == "dead"
    )  # of an older one


def test_a_clock_that_is_set_kills_nobody(monkeypatch):
    me, created, boot = process.identify_process(), psutil.Process.create_time, psutil.boot_time
    monkeypatch.setattr(psutil.Process, "create_time", lambda self: created(self) + 3600)
    monkeypatch.setattr(psutil, "boot_time", lambda: boot() + 3600)
    assert process.check_life(me) == "alive"


def test_nothing_is_known_of_other_hosts_and_of_nobody():
    assert process.check_life(process.identify_process() | {"host": "another one"}) == "elsewhere"
    assert process.check_life({}) == "unknown"


def test_a_machine_or_container_of_the_same_name_is_another_one(monkeypatch):
    me = process.identify_process()
    other = me | {"pid": me["pid"] + 1, "created": 1.0, "since_boot": 1.0, "boot": "another boot pid:[1]"}
    assert process.check_life(other) == "elsewhere"
    assert process.check_life(other | {"boot": me["boot"]}) == "dead"
    assert process.check_life(me | {"boot": ""}) == "alive"  # of a system that does not tell, or of an older version
    monkeypatch.setattr(process, "_read_boot", lambda: "")
    assert process.check_life(other) == "elsewhere"


KILLED = """
import os, signal
from topiary.app.jobs.uploads import Uploads
uploads = Uploads()
token = uploads.begin()
coming = uploads.place(token, "a.txt")
coming.half.write_text("a letter")
uploads.keep(token, coming)
print(uploads.look(token).parents[1], flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The system's folder for temporary files, empty."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_what_a_killed_server_left_is_removed_by_the_next(folder):
    command, environment = [sys.executable, "-c", KILLED], process.build_environment("") | {"TMPDIR": str(folder)}
    killed = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = folder.iterdir()
    assert str(left) == killed.stdout.strip()
    mine = process.make_folder()
    assert process.sweep_folders() == [left]
    assert list(folder.iterdir()) == [mine]


def owned_by(**about):
    made = process.make_folder()
    owner = json.loads((made / process.OWNER_NOTE).read_text()) | about
    (made / process.OWNER_NOTE).write_text(json.dumps(owner))
    return made


def test_folders_of_others_stay_and_those_from_before_a_restart_go(folder):
    dead = {"pid": 999_999_999, "created": 1.0, "since_boot": 1.0}
    owned_by(host="elsewhere", **dead)
    kept = {*folder.iterdir()}
    machine, _, numbering = process.identify_process()["boot"].partition(" ")
    if machine:
        kept.add(owned_by(boot=f"{machine} pid:[1]"))  # another container
        restarted = owned_by(boot=f"00000000-0000-0000-0000-000000000000 {numbering}")
    for content in ("", "no JSON", "[]", '{"pid": "x"}'):
        odd = process.make_folder()
        (odd / process.OWNER_NOTE).write_text(content)
        kept.add(odd)
    other = folder / "topiary-owned-by-nobody"
    other.mkdir()
    link = folder / "topiary-owned-link"
    link.symlink_to(owned_by(**dead), target_is_directory=True)
    gone = set(process.sweep_folders())
    assert gone == {link.readlink(), *([restarted] if machine else [])}
    assert {*folder.iterdir()} == kept | {other, link}


def test_a_folder_given_to_another_process_is_that_ones(folder):
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    made = process.make_folder()
    process.own_folder(made, child.pid)
    assert process.sweep_folders() == []
    child.kill()
    child.wait()
    child.stdin.close()
    assert process.sweep_folders() == [made]
    process.own_folder(made)  # it is gone
    assert not made.exists()


def test_a_child_makes_its_own_files_inside_the_folder_around_a_path(folder):
    made = process.make_folder()
    inside = made / "documents" / "a.txt"
    assert process.use_folder(process.find_folder(inside)) == {"TMPDIR": str(made)}
    assert process.use_folder(process.find_folder(folder / "other" / "a.txt")) == {}
    found = subprocess.run(
        [sys.executable, "-c", "import tempfile; print(tempfile.gettempdir())"],
        env=os.environ | process.use_folder(made), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert found.stdout.strip() == str(made)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_the_unfinished_file_of_a_killed_program_is_removed_and_named(folder, caplog):
    part = folder / "backup.db.part"
    part.write_bytes(b"half")
    script = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom topiary.app.jobs import process\n"
        "with process.own_file(Path(sys.argv[1])):\n    os.kill(os.getpid(), signal.SIGKILL)"
    )
    environment = process.build_environment("") | {"TMPDIR": str(folder)}
    subprocess.run([sys.executable, "-c", script, str(part)], env=environment, check=False)
    with process.own_file(folder / "of_a_living_one.part"):
        assert len(process.sweep_folders()) == 1
    assert not list(folder.iterdir())
    assert f"removed {part}, which a program that was killed had left unfinished" in caplog.text
