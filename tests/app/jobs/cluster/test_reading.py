"""Imports whose texts are cut into words by other processes: the same store to the last bit, and the same refusals."""

import gzip
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ingest_samples import everything, text_folder, uci, write

from topiary.app.ingest import vectorise
from topiary.app.ingest.appending import append_path
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.importing import import_path, index_corpus
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.source import ignore_progress
from topiary.app.jobs.cluster import reading
from topiary.app.jobs.cluster.place import PlaceError
from topiary.store import full_text
from topiary.store.database import Database, open_database

distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("default")  # Dask leaves sockets to the garbage collector

FRUITS = ("apple", "pear", "plum", "fig", "grape", "quince", "new york")


@pytest.fixture(scope="module")
def workers() -> Iterator[reading.WorkerMap]:
    """Two processes of this machine."""
    with closing(reading.WorkerMap("local:2")) as made:
        yield made


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of seven documents, so that a few dozen of them are many batches."""
    monkeypatch.setattr(vectorise, "DOCUMENTS", 7)
    monkeypatch.setattr(full_text, "_AT_ONCE", 10)


@contextmanager
def store(folder: Path, name: str) -> Iterator[Database]:
    db = open_database(str(folder / f"{name}.db"))
    yield db
    db.close()


def stored(db: Database) -> dict[str, list[Any]]:
    """The whole store but the times at which it was written."""
    found: dict[str, list[Any]] = everything(db)
    times = {"created", "touched"}
    with db.read() as connection:
        names = connection.exec_driver_sql("SELECT * FROM corpora").keys()
        found["corpora"] = [
            [value for name, value in zip(names, row, strict=True) if name not in times] for row in found["corpora"]
        ]
        index = "SELECT * FROM search_words_1_data ORDER BY id"
        found["index"] = [tuple(row) for row in connection.exec_driver_sql(index)]
    del found["store_version"]
    return found


def imported(
    folder: Path, name: str, path: Any, options: ImportOptions, map_batches: Any = map
) -> dict[str, list[Any]]:
    with store(folder, name) as db:
        made = import_path(db, path, options, map_batches=map_batches)
        index_corpus(db, made.number, ignore_progress, map_batches)
        return stored(db)


def text(n: int) -> str:
    return " ".join(FRUITS[(n * k + k * k) % 7] for k in range(1, 4 + n % 9)) + (
        " the and of" if n % 3 else f" only{n}"
    )


def table(path: Path, documents: range) -> Path:
    rows = [f'title {n},"{text(n)}\nand more",class {n % 3},{"test" if n % 5 == 0 else "train"}' for n in documents]
    return write(path, "\n".join(["title,text,label,split", *rows]))


def packed(path: Path) -> Path:
    path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    return path.with_name(f"{path.name}.gz")


def several(folder: Path) -> list[Path]:
    return [table(folder / f"{k}.csv", range(20 * k, 20 * k + 20)) for k in range(3)]


def many_texts(folder: Path) -> Path:
    path = text_folder(folder / "texts")
    for n in range(30):
        write(path / ("fruit" if n % 2 else "metal") / f"more{n}.txt", text(n))
    write(path / "fruit" / "z.txt", "apple\npêche\n".encode("latin-1"))
    return path


def lines(folder: Path) -> Path:
    found = "\n".join(f'{{"title": "t{n}", "text": "<p>{text(n)}, New York.", "more": {n}}}' for n in range(50))
    return write(folder / "a.jsonl", found)


ANY = {"min_df": 1, "max_df": 1.0}
CASES: dict[str, tuple[Callable[[Path], Any], dict[str, Any]]] = {
    "table": (lambda folder: table(folder / "a.csv", range(50)), {}),
    "compressed table": (lambda folder: packed(table(folder / "a.csv", range(50))), {"min_df": 3, "max_words": 5}),
    "several tables": (several, ANY),
    "folder of texts": (many_texts, ANY),
    "phrases of JSON lines": (lines, ANY | {"phrases": True, "phrase_count": 3, "phrase_npmi": 0.1, "binary": True}),
    "one document": (lambda folder: write(folder / "a.txt", "apple pear\n"), ANY | {"test_share": 0}),
}


@pytest.mark.parametrize("case", CASES)
def test_other_processes_make_the_same_store_to_the_last_bit(case: str, tmp_path: Path, workers: Any) -> None:
    make, options = CASES[case]
    path, how = make(tmp_path), ImportOptions(name="x", **options)
    alone = imported(tmp_path, "alone", path, how)
    assert len(alone["corpus_words"]) > 1
    assert alone["index"]
    assert imported(tmp_path, "together", path, how, workers) == alone


APPENDED: dict[str, tuple[Callable[[Path], Any], dict[str, Any]]] = {
    "table": (lambda folder: table(folder / "more.csv", range(30, 95)), {}),
    "table read otherwise": (lambda folder: table(folder / "more.csv", range(30, 80)), {"label_column": "split"}),
    "several tables": (several, {}),
    "folder of texts": (many_texts, {}),
    "JSON lines": (lines, {}),
}


def grown(folder: Path, name: str, path: Any, options: dict[str, Any], map_batches: Any = map) -> dict[str, list[Any]]:
    with store(folder, name) as db:
        made = ImportOptions(name="x", phrases=True, phrase_count=3, phrase_npmi=0.1, max_df=1.0)
        import_path(db, table(folder / "first.csv", range(30)), made)
        added = append_path(db, "x", path, ImportOptions(**options), map_batches=map_batches)
        assert added.documents > 30
        index_corpus(db, added.corpus.number, ignore_progress, map_batches)
        return stored(db)


@pytest.mark.parametrize("case", APPENDED)
def test_documents_that_other_processes_cut_are_appended_to_the_last_bit(
    case: str, tmp_path: Path, workers: Any
) -> None:
    make, options = APPENDED[case]
    path = make(tmp_path)
    assert grown(tmp_path, "together", path, options, workers) == grown(tmp_path, "alone", path, options)


def test_a_worker_that_dies_repeats_its_documents_to_the_same_bits(tmp_path: Path, workers: Any) -> None:
    path, how, mark = table(tmp_path / "a.csv", range(120)), ImportOptions(name="x"), tmp_path / "died"

    def dying(function: Any, item: Any) -> Any:
        if isinstance(item, list) and item[0].title == "title 49" and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return function(item)

    def map_batches(function: Any, items: Iterable[Any]) -> Iterator[Any]:
        return workers(partial(dying, function), items)

    together = imported(tmp_path, "together", path, how, map_batches)
    assert mark.exists()
    assert together == imported(tmp_path, "alone", path, how)


def cut_short(folder: Path) -> Path:
    return write(folder / "a.csv.gz", packed(table(folder / "a.csv", range(400))).read_bytes()[:-40])


def too_narrow(folder: Path) -> Path:
    return write(folder / "a.csv", table(folder / "b.csv", range(40)).read_text() + "\nx,y")


SPLITS = "text,split\n" + "pear,train\n" * 250 + "fig,trial\n"
BROKEN: dict[str, Callable[[Path], Path]] = {
    "a row of another width": too_narrow,
    "a split that is none": lambda folder: write(folder / "a.csv", SPLITS),
    "no words": lambda folder: write(folder / "a.csv", "text,label\nthe,a\nand,b\n"),
    "a file cut short": cut_short,
}


@pytest.mark.parametrize("broken", BROKEN)
def test_what_cannot_be_read_is_refused_in_the_same_sentence_and_nothing_is_stored(
    broken: str, tmp_path: Path, workers: Any
) -> None:
    path, said = BROKEN[broken](tmp_path), []
    with store(tmp_path, "store") as db:
        before = everything(db)
        for map_batches in (map, workers):
            with pytest.raises(IngestError) as refused:
                import_path(db, path, ImportOptions(name="x"), map_batches=map_batches)
            said.append(str(refused.value))
        assert everything(db) == before
    assert said[0] == said[1]


def test_counts_need_no_other_processes_and_none_is_started(tmp_path: Path) -> None:
    with store(tmp_path, "store") as db, closing(reading.WorkerMap("local:2")) as unused:
        with pytest.raises(IngestError, match="holds counts, which need not be cut into words; import it without --on"):
            import_path(db, uci(tmp_path), ImportOptions(name="x"), map_batches=unused)
        import_path(db, uci(tmp_path), ImportOptions(name="x"))
        with pytest.raises(IngestError, match="holds counts, which need not be cut into words; append it without --on"):
            append_path(db, "x", uci(tmp_path), map_batches=unused)
        assert unused._client is None


def test_processes_of_this_machine_leave_an_interrupt_to_whoever_started_them(workers: Any) -> None:
    def handler(_: int) -> bool:
        return signal.getsignal(signal.SIGINT) is signal.SIG_IGN

    assert list(workers(handler, [1, 2])) == [True, True]


def test_a_function_is_loaded_once_for_all_items_of_a_worker(workers: Any) -> None:
    seen: list[int] = []

    def counted(_: int) -> int:
        seen.append(1)
        return len(seen)

    assert max(workers(counted, range(8))) >= 4


@contextmanager
def in_process(n: int) -> Iterator[Any]:
    """So many workers, all in this process."""
    about = {"processes": False, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(n_workers=n, **about) as cluster, distributed.Client(cluster) as made:
        yield made


def test_results_come_in_order_and_few_items_are_on_their_way() -> None:
    made = []

    def items() -> Iterator[int]:
        for n in range(40):
            made.append(n)
            yield n

    def slower_at_first(n: int) -> int:
        time.sleep(0.02 if n % 5 == 0 else 0)
        return n * n

    ahead, found = [], []
    with in_process(2) as client:
        for square in reading.map_in_order(client, slower_at_first, items()):
            found.append(square)
            ahead.append(len(made) - len(found))
    assert found == [n * n for n in range(40)]
    assert max(ahead) <= 3 * 2


def test_what_goes_wrong_is_raised_whole_and_in_the_order_of_the_items(workers: Any) -> None:
    def items() -> Iterator[int]:
        yield from range(4)
        raise IngestError("a.csv", "is broken", 5)

    def refuse_two(n: int) -> int:
        if n == 2:
            raise IngestError("a.csv", "is odd", 3)
        return n

    def whole(n: int) -> int:
        return n

    for function, says, done in ((refuse_two, "a.csv, line 3: is odd", 2), (whole, "a.csv, line 5: is broken", 4)):
        found: list[int] = []
        with pytest.raises(IngestError) as refused:
            found.extend(workers(function, items()))
        assert (str(refused.value), refused.value.line) == (says, 3 if done == 2 else 5)
        assert found == list(range(done))


class NeverAnswers:
    """What Dask gives where no worker is left."""

    def result(self, timeout: float) -> None:
        raise TimeoutError


def test_nobody_waits_forever_for_workers_that_are_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "NOBODY", 20.0)
    asked: list[int] = []
    gone = SimpleNamespace(scheduler_info=lambda n_workers: asked.append(1) or {"workers": {}})
    with pytest.raises(PlaceError, match="all workers are gone; start some and try again"):
        reading._wait_for_result(gone, NeverAnswers())  # type: ignore[arg-type]
    assert len(asked) == 4


def test_workers_with_other_sources_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert reading.list_versions()["topiary.app.ingest"] == reading.list_versions()["topiary.app.ingest"] != ""
    own = reading.list_versions
    monkeypatch.setattr(reading, "list_versions", lambda: own() | {"scikit-learn": f"{os.getpid()}"})
    with (
        closing(reading.WorkerMap("local:1")) as other,
        pytest.raises(PlaceError, match=r"scikit-learn .* install the same"),
    ):
        other(abs, [1])


def test_a_place_that_is_none_is_refused_before_anything_is_read() -> None:
    with pytest.raises(PlaceError, match="takes local:N"), reading.open_map("nowhere"):
        raise AssertionError("it was entered")
    with reading.open_map("") as map_batches:
        assert map_batches is map
