import os
import sqlite3
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import event, insert, select, text, update
from store_samples import new_run, python, write_corpus

from topiary.store import corpora, database, runs, tables
from topiary.store.check import check_store
from topiary.store.database import find_default_path, now, open_database, open_existing
from topiary.store.errors import NotFound, ReplacedStore, SchemaMismatch, StoreError


def test_a_store_reopened_by_its_url_has_what_was_written(db):
    number = write_corpus(db).number
    again = open_database(db.url)
    assert corpora.list_corpora(again)[0].number == number
    again.close()


def test_a_transaction_that_fails_leaves_no_trace(db):
    def fail():
        with db.write() as connection:
            connection.execute(insert(tables.corpora).values(state="ready", kind="counts", created=0, touched=0))
            raise KeyError

    with pytest.raises(Exception, match=r"."):
        fail()
    assert corpora.list_corpora(db) == []


def test_the_database_tells_the_time_within_a_minute_of_this_machine(db):
    with db.read() as connection:
        report = connection.execute(select(now())).scalar_one()
    assert abs(report - time.time()) < 60
    assert report % 1 != 0


def test_a_read_only_store_sees_changes_but_makes_none(db):
    looking = open_database(db.url, readonly=True)
    write_corpus(db)
    assert [row.name for row in corpora.list_corpora(looking)] == ["food"]
    with pytest.raises(StoreError, match="reading only"):
        write_corpus(looking, "other")
    with pytest.raises(Exception, match=r"read-only|may not be written"), looking.read() as connection:
        connection.execute(text("DELETE FROM corpus_words"))
    looking.close()


def test_one_read_sees_one_state_whatever_is_written_meanwhile(db):
    write_corpus(db, "first")
    with db.read() as connection:
        before = connection.execute(select(tables.corpora.c.name)).scalars().all()
        write_corpus(db, "second")
        assert connection.execute(select(tables.corpora.c.name)).scalars().all() == before == ["first"]
    assert len(corpora.list_corpora(db)) == 2


def test_opening_a_store_that_is_not_there_for_reading_is_refused(tmp_path):
    with pytest.raises(NotFound, match="there is no store at"):
        open_database(tmp_path / "none.db", readonly=True)
    assert list(tmp_path.iterdir()) == []


def test_opening_an_empty_database_for_reading_is_refused(database_url, tmp_path):
    (tmp_path / "store.db").touch()
    with pytest.raises(NotFound, match="there is no store in"):
        open_database(database_url, readonly=True)


def test_a_database_with_somebody_elses_tables_of_the_same_name_is_refused(db, monkeypatch):
    with db.write() as connection:
        connection.execute(text("DROP TABLE store_version"))
    with pytest.raises(SchemaMismatch, match="not Topiary's"):
        open_database(db.url)


def test_a_file_of_another_program_is_refused_and_left_as_it_is(tmp_path):
    path = tmp_path / "letters.db"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE letters (number INTEGER)")
    other.commit()
    other.close()
    before = path.read_bytes()
    for opener in (open_existing, lambda place: open_database(place, readonly=True)):
        with pytest.raises(SchemaMismatch, match="has a table letters that is not Topiary's; give the store another"):
            opener(path)
        assert path.read_bytes() == before
    with pytest.raises(SchemaMismatch, match="letters"):
        open_database(path)
    assert sqlite3.connect(path).execute("SELECT name FROM sqlite_master").fetchall() == [("letters",)]


def test_who_wants_a_store_that_is_there_makes_none(tmp_path):
    path = tmp_path / "folder" / "store.db"
    with pytest.raises(NotFound, match=r"there is no store at .*store\.db yet"):
        open_existing(path)
    assert not path.parent.exists()


def test_several_programs_may_make_the_same_store_at_once(database_url):
    several = 4
    script = (
        "import sys; from topiary.store.database import open_database; open_database(sys.argv[1]).close(); "
        "print('made')"
    )
    processes = [python(script, database_url) for _ in range(several)]
    outputs = [process.communicate() for process in processes]
    assert [output for output, _ in outputs] == ["made\n"] * several, outputs
    open_database(database_url, readonly=True).close()


def test_a_writer_waits_for_another_that_holds_the_lock(db):
    number = new_run(db).number
    other = open_database(db.url)
    renamed = threading.Thread(target=runs.rename_run, args=(other, number, "second"))
    with db.write() as connection:
        connection.execute(update(tables.runs).where(tables.runs.c.number == number).values(name="first"))
        renamed.start()
        renamed.join(0.3)
        assert renamed.is_alive()
    renamed.join(30)
    assert runs.get_run(db, number).name == "second"
    other.close()


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_writer_that_first_reads_is_not_overtaken(db):
    number = new_run(db).number
    other = open_database(db.url)
    renamed = threading.Thread(target=runs.rename_run, args=(other, number, "second"))
    with db.write() as connection:
        assert connection.execute(select(tables.runs.c.name)).scalar() == ""
        renamed.start()
        renamed.join(0.3)
        connection.execute(update(tables.runs).values(name="first"))
    renamed.join(30)
    assert runs.get_run(db, number).name == "second"
    other.close()


def test_work_undone_by_the_database_is_done_again(db):
    number = new_run(db).number
    tries = []

    def work(connection):
        connection.execute(update(tables.runs).values(name=f"try {len(tries)}"))
        tries.append(1)
        if len(tries) < 3:
            raise locked(db)
        return "done"

    assert db.transact(work) == "done"
    assert runs.get_run(db, number).name == "try 2"


def test_a_lock_that_is_never_given_up_ends_in_a_sentence(db):
    db.patience = 0.0

    def work(_):
        raise locked(db)

    with pytest.raises(StoreError, match="kept locked by another program"):
        db.transact(work)


def locked(db):
    """What the driver raises when the transaction meets a lock."""
    import psycopg.errors
    from sqlalchemy.exc import OperationalError

    if db.url.startswith("postgresql"):
        return OperationalError("UPDATE", {}, psycopg.errors.DeadlockDetected("deadlock"))
    origin = sqlite3.OperationalError("database is locked")
    origin.sqlite_errorcode = sqlite3.SQLITE_BUSY
    return OperationalError("UPDATE", {}, origin)


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_work_whose_connection_was_cut_is_done_again(db):
    number = new_run(db).number
    tries = []

    def work(connection):
        connection.execute(update(tables.runs).values(name=f"try {len(tries)}"))
        tries.append(1)
        if len(tries) < 3:
            connection.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))

    db.transact(work)
    assert runs.get_run(db, number).name == "try 2"


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_server_that_restarts_is_waited_for_but_an_unknown_one_is_not(db):
    import psycopg

    refusals = []

    def refuse(*_):
        if len(refusals) < 3:
            refusals.append(1)
            raise psycopg.OperationalError("connection refused")

    new_run(db)
    db.close()
    event.listen(db._engine, "do_connect", refuse)
    assert len(runs.list_runs(db)) == 1
    assert len(refusals) == 3


def test_errors_that_are_no_locks_are_not_tried_again(db):
    tries = []

    def work(connection):
        tries.append(1)
        connection.execute(text("SELECT nonsense"))

    with pytest.raises(Exception, match="nonsense"):
        db.transact(work)
    assert tries == [1]


def test_deleting_a_row_in_use_is_refused_by_both_databases(db):
    new_run(db)
    with pytest.raises(Exception, match=r"(?i)foreign key"), db.write() as connection:
        connection.execute(tables.corpora.delete())


def test_passwords_are_in_the_url_but_not_in_the_place():
    with pytest.raises(StoreError, match="cannot be reached") as raised:
        open_database("postgresql://ann:secret@127.0.0.1:9/nowhere")
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("mysql://localhost/x", "SQLite or PostgreSQL"),
        ("sqlite://", "in memory"),
        ("sqlite:///:memory:", "in memory"),
        ("postgresql://host:port:port/x", "cannot be read"),
    ],
)
def test_addresses_that_cannot_be_a_store_are_refused(address, sentence):
    with pytest.raises(StoreError, match=sentence):
        open_database(address)


def test_a_file_that_is_no_database_and_a_folder_are_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("not a database, but long enough to look at" * 100)
    for readonly in (True, False):
        with pytest.raises(StoreError, match=r"the file .*notes\.txt is not a store; give another file"):
            open_database(tmp_path / "notes.txt", readonly=readonly)
        assert (tmp_path / "notes.txt").read_text().startswith("not a database")
    with pytest.raises(StoreError, match="is a folder"):
        open_database(tmp_path)


@pytest.mark.parametrize("readonly", [True, False])
def test_a_damaged_store_is_told_alike_whether_it_is_read_or_written(tmp_path, readonly):
    path = tmp_path / "store.db"
    open_database(path).close()
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + b"\xff" * 3996 + whole[4096:])
    with pytest.raises(StoreError, match=r"store\.db is damaged \(.*malformed\); restore it from a copy"):
        open_database(path, readonly=readonly)


@pytest.mark.skipif(os.name == "nt", reason="only POSIX limits the size of files")
def test_a_disk_that_fails_or_a_quota_is_a_sentence(tmp_path):
    open_database(tmp_path / "store.db").close()
    script = """
import resource, sys
from sqlalchemy import text
from topiary.store.database import open_database
from topiary.store.errors import StoreError
database = open_database(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))
try:
    with database.write() as connection:
        connection.execute(text("CREATE TABLE large AS SELECT hex(randomblob(500000)) AS x"))
except StoreError as error:
    print(error)
"""
    out, _ = python(script, str(tmp_path / "store.db")).communicate(timeout=60)
    assert "store.db fails (disk I/O error); look at its quota" in out


@pytest.mark.skipif(os.name == "nt", reason="Windows says that there is no such file")
@pytest.mark.parametrize("readonly", [True, False])
def test_a_name_longer_than_the_system_allows_is_refused_in_a_sentence(tmp_path, readonly):
    with pytest.raises(StoreError, match=r"x cannot be opened \(.+\); check the path and your rights"):
        open_database(tmp_path / ("x" * 300), readonly=readonly)


@pytest.mark.skipif(os.name == "nt", reason="a home of somebody else, and links without leave, are of POSIX")
@pytest.mark.parametrize("readonly", [True, False])
def test_a_home_of_nobody_and_links_that_lead_to_each_other_are_refused_in_a_sentence(tmp_path, readonly):
    (tmp_path / "one.db").symlink_to(tmp_path / "two.db")
    (tmp_path / "two.db").symlink_to(tmp_path / "one.db")
    for place in ("~there-is-no-such-user/x.db", str(tmp_path / "one.db")):
        with pytest.raises(StoreError, match=r"x\.db|one\.db"):
            open_database(place, readonly=readonly)


def test_a_path_with_spaces_and_signs_is_taken_as_it_is(tmp_path):
    folder = "Ännas store #1 100%" + ("" if os.name == "nt" else "?")
    path = tmp_path / folder / "my store.db"
    database = open_database(path)
    write_corpus(database)
    database.close()
    assert path.is_file()
    looking = open_database(database.url, readonly=True)
    assert len(corpora.list_corpora(looking)) == 1
    looking.close()


def test_sqlite_writes_ahead_checks_foreign_keys_and_waits(tmp_path):
    database = open_database(tmp_path / "store.db")
    with database.read() as connection:
        found = {
            name: connection.execute(text(f"PRAGMA {name}")).scalar()
            for name in ("journal_mode", "foreign_keys", "synchronous", "busy_timeout")
        }
    assert found == {"journal_mode": "wal", "foreign_keys": 1, "synchronous": 1, "busy_timeout": 10_000}
    database.close()


def test_a_read_only_store_opens_after_the_last_writer_has_left_and_taken_its_log_away(tmp_path):
    database = open_database(tmp_path / "store.db")
    write_corpus(database)
    database.close()
    assert [path.name for path in tmp_path.iterdir()] == ["store.db"]
    looking = open_database(tmp_path / "store.db", readonly=True)
    assert len(corpora.list_corpora(looking)) == 1
    looking.close()


def test_the_default_store_is_where_each_system_keeps_data_of_programs(monkeypatch, tmp_path):
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    found = {}
    for platform in ("linux", "darwin", "win32"):
        monkeypatch.setattr(sys, "platform", platform)
        found[platform] = find_default_path().relative_to(tmp_path).as_posix()
    assert found == {
        "linux": ".local/share/topiary/store.db",
        "darwin": "Library/Application Support/Topiary/store.db",
        "win32": "AppData/Local/Topiary/store.db",
    }


def test_the_environment_names_the_store_when_nothing_else_does(monkeypatch, tmp_path):
    monkeypatch.setenv("TOPIARY_STORE", str(tmp_path / "named.db"))
    database = open_database()
    assert database.place == str(tmp_path / "named.db")
    assert os.path.exists(database.place)  # noqa: PTH110
    database.close()


@pytest.mark.skipif(os.name != "posix", reason="rights of this kind are those of POSIX")
def test_only_its_owner_reads_a_new_store_and_the_files_beside_it(tmp_path):
    before = os.umask(0)  # the system would give everybody everything
    try:
        made = open_database(tmp_path / "folder" / "store.db")
        write_corpus(made)
        rights = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "folder").iterdir()}
        made.close()
    finally:
        os.umask(before)
    assert rights == dict.fromkeys(("store.db", "store.db-wal", "store.db-shm"), 0o600)
    assert (tmp_path / "folder").stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.name != "posix", reason="rights of this kind are those of POSIX")
def test_a_store_that_its_owner_opened_to_a_group_stays_so(tmp_path):
    path = tmp_path / "store.db"
    open_database(path).close()
    path.chmod(0o660)
    open_database(path).close()
    assert path.stat().st_mode & 0o777 == 0o660


def test_a_store_where_nothing_may_be_written_is_read_and_says_that_it_cannot_change(tmp_path, monkeypatch):
    path = tmp_path / "store.db"
    with closing(open_database(path)) as database:
        write_corpus(database)
    real = os.access
    monkeypatch.setattr(os, "access", lambda place, mode: mode != os.W_OK and real(place, mode))
    before = sorted(item.name for item in tmp_path.iterdir())
    for database in (open_database(path, readonly=True), open_existing(path), open_database(path)):
        assert len(corpora.list_corpora(database)) == 1
        with pytest.raises(StoreError, match="may not be written; check the rights of the file and its folder"):
            write_corpus(database, "more")
        assert sorted(item.name for item in tmp_path.iterdir()) == before  # SQLite has made no files of locks
        database.close()


def test_a_byte_changed_anywhere_in_the_file_is_at_most_a_sentence(tmp_path):
    path = tmp_path / "store.db"
    with closing(open_database(path)) as database:
        new_run(database)
    whole = path.read_bytes()
    with closing(sqlite3.connect(path)) as connection:
        starts = [whole.index(row[0].encode()) for row in connection.execute("SELECT sql FROM sqlite_schema") if row[0]]
    rng = np.random.default_rng(1)
    places = [start + int(rng.integers(-30, 300)) for start in starts] + rng.integers(0, len(whole), 10).tolist()
    sentences = []
    for place in places:
        path.write_bytes(whole[:place] + bytes([int(rng.integers(128, 256))]) + whole[place + 1 :])
        try:
            with closing(open_database(path)) as database:
                database.patience = 0.0
                check_store(database)
                runs.list_runs(database)
        except StoreError as error:
            sentences.append(str(error))
        for end in ("-wal", "-shm"):
            path.with_name(path.name + end).unlink(missing_ok=True)
    assert len(sentences) > 20
    assert all("store.db" in sentence for sentence in sentences)


@pytest.fixture
def impatient(monkeypatch):
    """The identity is read before every transaction instead of every few seconds."""
    monkeypatch.setattr(database, "LOOK_SECONDS", 0.0)


@pytest.mark.usefixtures("impatient")
def test_every_store_has_an_identity_of_its_own_and_keeps_it(db, tmp_path):
    again, other = open_database(db.url), open_database(tmp_path / "other.db")
    assert db.identity.drawn
    assert again.identity.drawn == db.identity.drawn != other.identity.drawn
    again.close()
    other.close()


@pytest.mark.usefixtures("impatient")
def test_tables_of_another_store_in_the_same_place_are_refused(db):
    write_corpus(db)
    other = open_database(db.url)
    with other.write() as connection:
        connection.execute(update(tables.store_version).values(identity="another"))
    other.close()
    for use in (lambda: corpora.list_corpora(db), lambda: write_corpus(db, "more")):
        with pytest.raises(ReplacedStore, match="another store has taken the place of"):
            use()
    other = open_database(db.url)
    with other.write() as connection:
        connection.execute(update(tables.store_version).values(identity=db.identity.drawn))
    other.close()
    assert [row.name for row in corpora.list_corpora(db)] == ["food"]


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_tables_that_were_dropped_are_missed(db):
    other = open_database(db.url)
    other.identity.drawn = None
    with other.write() as connection:
        connection.execute(text("DROP TABLE store_version"))
    other.close()
    with pytest.raises(ReplacedStore, match=r"the tables of the store .* were deleted while it was open"):
        corpora.list_corpora(db)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("readonly", [False, True])
def test_a_file_that_is_gone_or_another_one_is_refused_and_none_is_made(db, tmp_path, readonly):
    write_corpus(db)
    looking = open_database(db.url, readonly=readonly)
    assert len(corpora.list_corpora(looking)) == 1
    for each in (looking, db):
        each.close()  # what is in the log beside the file goes into it
    path = tmp_path / "store.db"
    path.rename(tmp_path / "away.db")
    with pytest.raises(ReplacedStore, match=r"store\.db was deleted or moved away while it was open; put it back"):
        corpora.list_corpora(looking)
    assert not path.exists()
    open_database(path).close()
    with pytest.raises(ReplacedStore, match="another store has taken the place"):
        corpora.list_corpora(looking)
    path.unlink()
    (tmp_path / "away.db").rename(path)
    assert len(corpora.list_corpora(looking)) == 1
    looking.close()
