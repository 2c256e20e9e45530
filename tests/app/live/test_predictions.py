"""Maps that a server has made by processes: one at a time, once each, with their progress and their failures."""

import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from topiary.app.jobs import logs, process, progress
from topiary.app.jobs.map_work import LEFT
from topiary.app.jobs.progress import Notice
from topiary.app.live.predictions import MapJobs

RUN = SimpleNamespace(number=3, name="autumn", state="finished", process={}, heartbeat_age=0.0)


@pytest.fixture
def jobs(tmp_path, monkeypatch):
    """What has a small program of a test run in place of the process that makes a map."""
    monkeypatch.setattr(logs, "log_folder", lambda: tmp_path)
    made = MapJobs()
    made.children, made.program = [], ""

    def start(module, *arguments, store, **options):
        assert (module, arguments, store) == ("topiary.app.analysis.document_map", ("3", "8"), "sqlite:///x")
        options = {name: value for name, value in options.items() if name != "apart"}
        child = subprocess.Popen([sys.executable, "-c", made.program], stdin=subprocess.PIPE, **options)
        made.children.append(child)
        return child

    monkeypatch.setattr(process, "start_module", start)
    yield made
    made.close()
    for child in made.children:
        child.stdin.close()
        child.wait()


def wait_for(holds):
    until = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.01)


def begin(jobs, program, documents=40):
    jobs.program, looks = program, []
    jobs.start("sqlite:///x", RUN, 8, documents, lambda: looks.append(jobs.read_notice(RUN)))
    return looks


def test_progress_is_shown_and_a_map_is_begun_once(jobs):
    assert jobs.read_notice(RUN) == Notice()
    looks = begin(jobs, 'import json; print(json.dumps(["Arranging", 0.5]), flush=True); input()')
    wait_for(lambda: jobs.read_notice(RUN) == Notice("Arranging", 0.5))
    assert [each.name for each in progress.list_imports() if each.notice.sentence == "Arranging"] == ["autumn"]
    assert begin(jobs, "") == []
    jobs.forget(3)  # changes nothing while the map is being made
    assert begin(jobs, "") == []
    jobs.children[0].stdin.write("\n")
    jobs.children[0].stdin.flush()
    wait_for(lambda: len(looks) == 2)
    assert looks[-1] == Notice()
    assert not [each for each in progress.list_imports() if each.name == "autumn"]
    assert len(jobs.children) == 1


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        ('import json; print(json.dumps(["failed", "the snapshot is gone"])); raise SystemExit(1)', "snapshot is gone"),
        ("raise SystemExit(7)", "maps.log says why"),
    ],
)
def test_a_failure_is_said_and_the_map_can_be_asked_for_again(jobs, program, sentence):
    looks = begin(jobs, program)
    wait_for(lambda: len(looks) == 2)
    assert looks[-1].failed
    assert sentence in looks[-1].sentence
    assert begin(jobs, "") == []
    jobs.forget(3)
    assert jobs.read_notice(RUN) == Notice()
    looks = begin(jobs, "")
    wait_for(lambda: len(looks) == 2)
    assert looks[-1] == Notice()


def test_a_map_that_the_worker_has_made_is_left_to_its_process_and_asked_for_again_when_that_is_gone(jobs):
    looks = begin(jobs, f"raise SystemExit({LEFT})")  # the row did not say it yet
    wait_for(lambda: len(looks) == 2)
    assert looks[-1] == Notice()
    record = process.identify_process() | {"snapshot": 8, "words": "Arranging", "share": 0.5}
    row = SimpleNamespace(**{**vars(RUN), "process": {"map": record}})
    jobs.start("sqlite:///x", row, 8, 40, lambda: None)
    assert len(jobs.children) == 1
    assert jobs.read_notice(row) == Notice("Arranging", 0.5)
    looks = begin(jobs, "")
    wait_for(lambda: len(looks) == 2)
    assert len(jobs.children) == 2


def test_the_process_at_work_ends_with_the_server(jobs):
    begin(jobs, "input()")
    wait_for(lambda: jobs._child is not None)
    jobs.close()
    assert jobs.children[0].wait(20) != 0
    assert begin(jobs, "") == []
