"""A PostgreSQL server that goes away at the worst moment: every transaction arrives once, and only once."""

import gc
import logging
import threading
import time
import uuid
from contextlib import closing

import psycopg
import pytest
from databases import HOW, Server, programs, schema
from sqlalchemy import event, func, make_url, select, text, update
from sqlalchemy.exc import DBAPIError
from store_samples import new_run

from topiary.store import runs, tables, upkeep
from topiary.store.check import check_store
from topiary.store.database import open_database
from topiary.store.errors import StoreError
from topiary.store.transactions import translate_errors

pytestmark = [pytest.mark.database]
on_postgresql = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)


def count_up(connection):
    """One more mini-batch: repeated or lost, it would be seen."""
    connection.execute(update(tables.runs).values(minibatch=tables.runs.c.minibatch + 1))


def lose_the_answer(db, times):
    """Commit so many times without hearing of it."""
    dialect, left = db._engine.dialect, list(range(times))
    real = dialect.do_commit

    def commit(connection):
        real(connection)
        if left:
            left.pop()
            connection.dbapi_connection.close()
            raise psycopg.OperationalError("server closed the connection unexpectedly")

    dialect.do_commit = commit


def _end_session(db, connection):
    """End the session of a connection by another one."""
    number = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
    other = open_database(db.url)
    with other.write() as second:
        # The server only sends the signal without a time to wait, and a commit could be quicker.
        second.execute(text("SELECT pg_terminate_backend(:number, 30000)"), {"number": number})
    other.close()


def cut_before_commit(db, times):
    """End the session in the server just before it is to commit."""
    left = list(range(times))

    def cut(connection):
        if left:
            left.pop()
            _end_session(db, connection)

    event.listen(db._engine, "commit", cut)


@pytest.fixture
def warnings():
    """The warnings of the store; the handler of caplog leaves out repeated ones if the app has filtered its log."""
    records = []
    handler, logger = logging.Handler(logging.WARNING), logging.getLogger("topiary.store")
    handler.emit = lambda record: records.append(record.getMessage())
    logger.addHandler(handler)
    yield records
    logger.removeHandler(handler)


@on_postgresql
@pytest.mark.parametrize(("fault", "times"), [(lose_the_answer, 1), (lose_the_answer, 3), (cut_before_commit, 2)])
def test_a_transaction_hit_at_its_commit_arrives_once(db, warnings, fault, times):
    run = new_run(db).number
    db.transact(count_up)
    fault(db, times)
    db.transact(count_up)
    assert runs.get_run(db, run).minibatch == 2
    assert any("was lost (" in warning for warning in warnings)
    db.transact(count_up)
    assert runs.get_run(db, run).minibatch == 3


@on_postgresql
def test_the_first_transaction_of_a_writer_is_asked_for_too(db):
    run = new_run(db).number
    again = open_database(db.url)
    lose_the_answer(again, 1)
    again.transact(count_up)
    again.close()
    assert runs.get_run(db, run).minibatch == 1


@on_postgresql
def test_every_thread_has_a_receipt_of_its_own(db):
    new_run(db)
    threads = [threading.Thread(target=db.transact, args=(count_up,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with db.read() as connection:
        numbers = connection.execute(select(func.count()).select_from(tables.receipts)).scalar_one()
    assert numbers == 4


@on_postgresql
def test_rows_of_writers_of_long_ago_are_removed(db):
    new_run(db)
    with db.write() as connection:
        connection.execute(update(tables.receipts).values(written=tables.receipts.c.written - 8 * 86_400))
    again = open_database(db.url)
    again.transact(count_up)
    again.close()
    with db.read() as connection:
        assert connection.execute(select(func.count()).select_from(tables.receipts)).scalar_one() == 1


@on_postgresql
def test_reading_begins_again_when_the_server_is_lost_in_the_middle(db):
    run = new_run(db).number
    left = [1]

    def cut(connection, _cursor, statement, *_):
        if left and "FROM runs" in statement:
            left.pop()
            connection.exec_driver_sql("SELECT pg_terminate_backend(pg_backend_pid())")

    event.listen(db._engine, "before_cursor_execute", cut)
    assert runs.get_run(db, run).number == run
    assert left == []


@on_postgresql
def test_the_error_that_ends_the_waiting_is_the_first(db):
    new_run(db)
    db.patience = 0.3

    def refuse(*_):
        raise psycopg.OperationalError("connection refused")

    def work(connection):
        event.listen(db._engine, "do_connect", refuse)
        connection.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))

    with pytest.raises(StoreError, match="terminating connection"):
        db.transact(work)


@pytest.mark.slow
@pytest.mark.nightly
def test_writers_outlive_four_restarts_in_ten_seconds_and_write_everything_once():
    found = programs()
    if found is None:
        pytest.skip(HOW)
    done, stop = [0, 0], threading.Event()

    def write(which, url, run):
        db = open_database(url)
        while not stop.is_set():
            db.transact(lambda connection: count(connection, run))
            assert runs.get_run(db, run).minibatch == done[which] + 1
            done[which] += 1
        db.close()

    def count(connection, run):
        mine = tables.runs.c.number == run
        connection.execute(update(tables.runs).where(mine).values(minibatch=tables.runs.c.minibatch + 1))

    with Server(found) as server, schema(server.url) as url:
        db = open_database(url)
        numbers = [new_run(db).number for _ in done]
        threads = [threading.Thread(target=write, args=(i, url, run)) for i, run in enumerate(numbers)]
        for thread in threads:
            thread.start()
        for crash in (False, True, False, True):
            time.sleep(0.5)
            server.stop(crash=crash)
            server.start()
        time.sleep(0.5)
        stop.set()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
        assert min(done) > 20
        assert [runs.get_run(db, run).minibatch for run in numbers] == done
        db.close()


def test_every_error_that_postgresql_has_a_class_for_is_one_sentence_with_the_place():
    kinds = {
        kind for kind in vars(psycopg.errors).values() if isinstance(kind, type) and issubclass(kind, psycopg.Error)
    }
    assert len(kinds) > 200
    for kind in kinds:
        error = DBAPIError.instance("SELECT 1", {}, kind("what is wrong\nDETAIL: more"), psycopg.Error)
        with pytest.raises(StoreError, match="postgresql://here") as raised, translate_errors("postgresql://here"):
            raise error
        assert "\n" not in str(raised.value)


@on_postgresql
def test_a_role_without_rights_is_told_so_in_one_sentence(db):
    name = f"nobody_{uuid.uuid4().hex[:8]}"
    with db.write() as connection:
        schema_name = connection.execute(text("SELECT current_schema()")).scalar_one()
        connection.execute(text(f"CREATE ROLE {name} LOGIN"))
        connection.execute(text(f"GRANT USAGE ON SCHEMA {schema_name} TO {name}"))
    try:
        url = make_url(db.url).set(username=name).render_as_string(hide_password=False)
        with pytest.raises(StoreError, match=r"does not allow this user what is asked .*have its owner grant"):
            open_database(url)
        with db.write() as connection:
            connection.execute(text(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema_name} TO {name}"))
        looking = open_database(url)
        with pytest.raises(StoreError, match="does not allow this user what is asked"):
            new_run(looking)
        looking.close()
    finally:
        with db.write() as connection:
            connection.execute(text(f"DROP OWNED BY {name}"))
            connection.execute(text(f"DROP ROLE {name}"))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # cursors end with their server
@on_postgresql
def test_a_backup_a_check_and_a_list_of_what_can_go_begin_again_when_the_server_is_lost(db, tmp_path):
    new_run(db)
    for work, mark in (
        (lambda: upkeep.copy_store(db, tmp_path / "copy.db"), "FROM corpus_words"),
        (lambda: check_store(db), "FROM corpus_words"),
        (lambda: upkeep.find_removable(db, upkeep.PruneRule()), "FROM checkpoints"),
    ):
        left = [1]

        def cut(connection, _cursor, statement, *_, mark=mark, left=left):
            if left and mark in statement:
                left.pop()
                _end_session(db, connection)

        event.listen(db._engine, "before_cursor_execute", cut)
        work()
        event.remove(db._engine, "before_cursor_execute", cut)
        assert left == []
    with closing(open_database(tmp_path / "copy.db")) as copy:
        assert len(runs.list_runs(copy)) == 1
    gc.collect()  # drops the cursors here, where their warnings are expected
