"""Folders for a while: those of a program that was killed are removed by the next, and no others."""

import json
import os
import signal
import subprocess
import sys

import pytest

from app.jobs import launcher, process, temporary

KILLED = """
import os, signal
from app.jobs.uploads import Uploads
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
    command, environment = [sys.executable, "-c", KILLED], launcher.environment("") | {"TMPDIR": str(folder)}
    killed = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = folder.iterdir()
    assert str(left) == killed.stdout.strip()
    mine = temporary.make()
    assert temporary.sweep() == [left]
    assert list(folder.iterdir()) == [mine]


def owned_by(**about):
    made = temporary.make()
    owner = json.loads((made / temporary.OWNER).read_text()) | about
    (made / temporary.OWNER).write_text(json.dumps(owner))
    return made


def test_folders_of_others_stay_and_those_from_before_a_restart_go(folder):
    dead = {"pid": 999_999_999, "created": 1.0, "since_boot": 1.0}
    owned_by(host="elsewhere", **dead)
    kept = {*folder.iterdir()}
    machine, _, numbering = process.identity()["boot"].partition(" ")
    if machine:
        kept.add(owned_by(boot=f"{machine} pid:[1]"))  # another container
        restarted = owned_by(boot=f"00000000-0000-0000-0000-000000000000 {numbering}")
    for content in ("", "no JSON", "[]", '{"pid": "x"}'):
        odd = temporary.make()
        (odd / temporary.OWNER).write_text(content)
        kept.add(odd)
    other = folder / "topiary-owned-by-nobody"
    other.mkdir()
    link = folder / "topiary-owned-link"
    link.symlink_to(owned_by(**dead), target_is_directory=True)
    gone = set(temporary.sweep())
    assert gone == {link.readlink(), *([restarted] if machine else [])}
    assert {*folder.iterdir()} == kept | {other, link}


def test_a_folder_given_to_another_process_is_that_ones(folder):
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    made = temporary.make()
    temporary.own(made, child.pid)
    assert temporary.sweep() == []
    child.kill()
    child.wait()
    child.stdin.close()
    assert temporary.sweep() == [made]
    temporary.own(made)  # it is gone
    assert not made.exists()


def test_a_child_makes_its_own_files_inside_the_folder_around_a_path(folder):
    made = temporary.make()
    inside = made / "documents" / "a.txt"
    assert temporary.environment(temporary.around(inside)) == {"TMPDIR": str(made)}
    assert temporary.environment(temporary.around(folder / "other" / "a.txt")) == {}
    found = subprocess.run(
        [sys.executable, "-c", "import tempfile; print(tempfile.gettempdir())"],
        env=os.environ | temporary.environment(made), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert found.stdout.strip() == str(made)
