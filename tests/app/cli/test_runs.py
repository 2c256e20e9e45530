"""The commands queue and log, and runs that are ordered together."""

import json

import pytest
from process_samples import NOBODY
from store_samples import claimed_run, new_run, write_corpus

from topiary.app.cli import main
from topiary.app.jobs import launcher, logs
from topiary.app.jobs.cluster import place
from topiary.store import runs
from topiary.store.database import open_database


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A store with a corpus and three queued runs that nobody starts; logs in the test's own folder."""
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "data"))
    monkeypatch.setattr(launcher, "start_worker", lambda url, run: NOBODY)
    db = open_database(tmp_path / "store.db")
    for name in ("a", "b", "c"):
        new_run(db, name=name)
    db.close()
    return str(tmp_path / "store.db")


def call(capsys, path, *words):
    status = main.main([*words, "--store", path])
    out, err = capsys.readouterr()
    return status, out, err


def order(capsys, path, *words):
    status, out, _ = call(capsys, path, "queue", *words, "--json")
    assert status == 0
    return [row["run"] for row in json.loads(out)]


def test_the_queue_is_listed_and_put_in_another_order(capsys, path):
    status, out, _ = call(capsys, path, "queue")
    assert status == 0
    assert [line.split()[:3] for line in out.splitlines()[1:]] == [["1", "1", "a"], ["2", "2", "b"], ["3", "3", "c"]]
    assert order(capsys, path, "3", "--first") == [3, 1, 2]
    assert order(capsys, path, "3", "--last") == [1, 2, 3]
    assert order(capsys, path, "last", "--before", "2") == [1, 3, 2]
    assert order(capsys, path) == [1, 3, 2]
    db = open_database(path)
    assert launcher.start_queued_runs(db)[0] == 1
    db.close()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("queue", "--first"), "say which run is to start first"),
        (("queue", "1"), "say where the run is to go"),
        (("queue", "9", "--last"), "there is no run number 9"),
        (("queue", "1", "--before", "1"), "cannot start before itself"),
        (("train", "food", "--seed", "1", "--seeds", "1-2"), "--seed and --seeds say the same twice"),
        (("train", "food", "--grid", "eta=1", "--grid", "eta=2"), "--grid names eta twice"),
        (("train", "food", "--grid", "eta=0.1,0.2", "--set", "eta=1"), "eta is given by itself and in the grid"),
        (("train", "food", "--grid", "layers=4,6", "--layers", "4"), "layers is given by itself and in the grid"),
        (("train", "food", "--seeds", "1-2", "--on", "cloud"), "--on takes local:N"),
        (
            ("train", "food", "--until", "good", "--set", "averaged=true"),
            "the averaged protocol has a length of its own",
        ),
    ],
)
def test_mistakes_are_one_sentence_and_nothing_is_ordered(capsys, path, words, sentence):
    status, out, err = call(capsys, path, *words)
    assert (status, out) == (2, "")
    assert sentence in err
    assert order(capsys, path) == [1, 2, 3]


def test_seeds_start_a_group_of_runs_named_alike(capsys, path):
    status, out, err = call(capsys, path, "train", "food", "--seeds", "1-3", "--name", "trial", "--minibatches", "3")
    assert (status, out.split()) == (0, ["4", "5", "6"])
    db = open_database(path)
    rows = [runs.get_run(db, int(number)) for number in out.split()]
    db.close()
    assert [(row.name, row.seed, row.run_group) for row in rows] == [(f"trial, seed {s}", s, 4) for s in (1, 2, 3)]
    assert len({json.dumps([row.settings, row.options]) for row in rows}) == 1
    _, out, _ = call(capsys, path, "train", "food", "--seeds", "7,9", "--minibatches", "3")
    assert "topiary queue shows their order" in err
    assert "what comes back in all of them: topiary seeds 4, or ?page=seeds&run=4 in the app" in err
    _, listed, _ = call(capsys, path, "runs")
    assert listed.splitlines()[0].split()[:3] == ["run", "group", "seed"]
    assert [line.split()[:3] for line in listed.splitlines()[-2:]] == [["7", "7", "7"], ["8", "7", "9"]]
    _, listed, _ = call(capsys, path, "runs", "--json")
    assert [row["group"] for row in json.loads(listed)] == [None, None, None, 4, 4, 4, 7, 7]


def test_a_grid_of_settings_times_the_seeds_is_a_group_whose_names_say_the_settings(capsys, path):
    words = ("--grid", "eta=0.01,0.05", "--grid", "layers=4-2,3", "--seeds", "1-2", "--minibatches", "3")
    status, out, err = call(capsys, path, "train", "food", *words)
    assert (status, out.split()) == (0, [str(number) for number in range(4, 12)])
    assert "proposed" not in err
    db = open_database(path)
    rows = [runs.get_run(db, number) for number in range(4, 12)]
    db.close()
    assert [row.name for row in rows[:3]] == [
        "food dlda, eta 0.01, layers 4-2, seed 1",
        "food dlda, eta 0.01, layers 4-2, seed 2",
        "food dlda, eta 0.01, layers 3, seed 1",
    ]
    assert {row.run_group for row in rows} == {4}
    status, out, _ = call(capsys, path, "train", "food", "--grid", "eta=0.2", "--seed", "9", "--minibatches", "3")
    db = open_database(path)
    row = runs.get_run(db, int(out))
    db.close()
    assert (row.name, row.seed, row.options["whole"]) == ("food dlda, eta 0.2", 9, False)


@pytest.mark.parametrize("grid", ["eta", "=1", "eta=", "eta=1,,2"])
def test_a_grid_that_is_none_is_refused(capsys, path, grid):
    with pytest.raises(SystemExit) as left:
        main.main(["train", "food", "--grid", grid, "--store", path])
    assert left.value.code == 2
    assert "must be NAME=VALUE,VALUE, as in eta=0.01,0.05" in capsys.readouterr().err


def test_runs_for_a_cluster_that_does_not_answer_are_ordered_and_the_command_says_why_they_wait(
    capsys, path, monkeypatch
):
    def connect(on, *, patience):
        raise place.PlaceError(f"no scheduler with workers answers at {on}; start them")

    monkeypatch.setattr(place, "connect_client", connect)
    monkeypatch.setattr(place, "is_dask_installed", lambda: True)
    words = ("--seeds", "1-2", "--minibatches", "3", "--on", "tcp://127.0.0.1:9")
    status, out, err = call(capsys, path, "train", "food", *words)
    assert (status, out.split()) == (0, ["4", "5"])
    assert "runs 4 to 5 are waiting: no scheduler with workers answers at tcp://127.0.0.1:9; start them" in err


@pytest.mark.parametrize("seeds", ["5-1", "a", "1,1", "1-200", "", "1;2"])
def test_seeds_that_are_none_are_refused(capsys, path, seeds):
    with pytest.raises(SystemExit) as left:
        main.main(["train", "food", f"--seeds={seeds}", "--store", path])
    assert left.value.code == 2
    assert "seeds" in capsys.readouterr().err
    assert order(capsys, path) == [1, 2, 3]


def test_a_log_is_shown_with_its_path_and_what_happened(capsys, path):
    db = open_database(path)
    run = claimed_run(db).number
    runs.finish_run(db, run, 1, "failed", "out of memory: use fewer topics")
    log = logs.find_log(db.url, run)
    db.close()
    log.parent.mkdir(parents=True)
    log.write_text("".join(f"line {n}\n" for n in range(50)))
    status, out, err = call(capsys, path, "log", str(run), "--lines", "2")
    assert status == 0
    assert [line.partition("  mini-batch")[2].split(maxsplit=1)[1] for line in out.splitlines()[:2]] == [
        "started: by process 1 on here",
        "failed: out of memory: use fewer topics",
    ]
    assert out.splitlines()[2:] == ["line 48", "line 49"]
    assert err == f"the end of {log}:\n"
    _, out, _ = call(capsys, path, "log", "last", "--json")
    assert json.loads(out)["log"] == str(log)
    _, _, err = call(capsys, path, "log", "1")
    assert "no worker on this machine wrote anything" in err


def test_until_its_plateau_a_run_may_be_four_times_as_long_as_usual(capsys, path):
    db = open_database(path)
    write_corpus(db, "large", blocks=4)
    db.close()
    words = ("train", "large", "--inference", "tlasgr", "--layers", "4-2", "--set", "batch_size=2")
    facts = []
    for more in ((), ("--until", "good"), ("--until", "good", "--minibatches", "50")):
        _, out, _ = call(capsys, path, *words, *more)
        _, shown, _ = call(capsys, path, "show", out.strip(), "--json")
        facts.append(json.loads(shown))
    usual, longer, given = ((each["minibatches"], each["plan"]["until_plateau"]) for each in facts)
    assert (usual, longer, given) == ((300, False), (1200, True), (50, True))
    assert facts[1]["plan"]["plateau_from"] == 10  # two passes over ten training documents by twos
