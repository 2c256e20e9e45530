"""The table of the workers of a run."""

import re
from datetime import UTC, datetime

from topiary.app.jobs.cluster.workers import ClusterFacts, WorkerFacts
from topiary.app.views.runs import kpis as view
from topiary.app.views.runs.kpis import draw_workers

ONE = WorkerFacts("tcp://10.0.0.1:4", "w<1>", 1200, 2.5e6, 412_000_000, 8_000_000_000)


def shown(*rows, state="running", dashboard="http://10.0.0.9:8787/status"):
    return draw_workers({"pid": 1} | ClusterFacts(dashboard, rows).to_json(), state)


def cells(html):
    found = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr.*?</tr>", html)]
    return [[re.sub(r"<[^>]+>", "", cell) for cell in row] for row in found]


def test_a_run_without_workers_has_no_table():
    assert draw_workers({"pid": 1, "host": "here"}, "running") == ""
    assert draw_workers({}, "queued") == ""


def test_a_worker_is_a_row_with_its_speed_its_memory_and_its_documents():
    html = shown(ONE, ONE._replace(address="tcp://h:5", name="tcp://h:5", tokens_per_second=None, limit=0))
    assert cells(html) == [
        ["Worker", "Tokens per second", "Memory", "Documents", "Lost"],
        ["w&lt;1&gt; tcp://10.0.0.1:4", "2.5 M", "412 MB of 8 GB", "1,200", ""],
        ["tcp://h:5", "–", "412 MB", "1,200", ""],
    ]


def test_workers_with_cards_have_a_column_for_them_which_a_worker_without_one_leaves_empty():
    card = {"name": "H<1>", "memory": 80_000_000_000, "used": 6_000_000_000}
    rows = cells(shown(ONE._replace(card=card), ONE._replace(address="tcp://h:5", name="")))
    assert rows[0] == ["Worker", "Tokens per second", "Memory", "Graphics processor", "Documents", "Lost"]
    assert rows[1][3:5] == ["H&lt;1&gt;, 6 GB of 80 GB in use", "1,200"]
    assert rows[2][3:5] == ["", "1,200"]


def test_a_lost_worker_comes_first_with_what_it_last_said_and_the_time():
    when = datetime(2026, 3, 4, 12, 30, 5, tzinfo=UTC)
    rows = cells(shown(ONE, ONE._replace(address="tcp://h:5", name="", lost=when.timestamp())))
    assert rows[1] == ["tcp://h:5", "2.5 M", "412 MB of 8 GB", "1,200", f"lost {when.astimezone():%d %b %H:%M:%S}"]
    assert rows[2][-1] == ""


def test_the_dashboard_of_dask_is_a_link_while_the_run_trains_and_never_a_script():
    link = 'href="http://10.0.0.9:8787/status" target="_blank" rel="noopener noreferrer"'
    assert link in shown(ONE)
    assert "href" not in shown(ONE, state="finished")
    assert "href" not in shown(ONE, dashboard="")
    assert "href" not in shown(ONE, dashboard="javascript:alert(1)")


def test_of_very_many_workers_the_rest_is_counted(monkeypatch):
    monkeypatch.setattr(view, "MOST_SHOWN", 3)
    html = shown(*[ONE._replace(address=f"tcp://h:{n}") for n in range(5)])
    assert len(cells(html)) == 4
    assert "and 2 more" in html
