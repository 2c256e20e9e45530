"""Stores are kept from version 0.1.0 on: steps bring their tables up to date, and older ones are not touched."""

import sqlite3
from contextlib import closing

import pytest
from sqlalchemy import inspect, text, update
from store_samples import new_run, write_corpus

from topiary.store import corpora, edits, migrations, tables
from topiary.store.check import check_store
from topiary.store.database import open_database, open_existing
from topiary.store.edits import NewEdit
from topiary.store.errors import DamagedStore, FormerStore, SchemaMismatch, StoreError

LATER = tables.VERSION + 1


def describe(db, table):
    """The columns and keys of a table as the database has them."""
    with db.read() as connection:
        looked = inspect(connection)
        columns = {
            (each["name"], str(each["type"].as_generic()), each["nullable"]) for each in looked.get_columns(table)
        }
        keys = looked.get_pk_constraint(table)["constrained_columns"], looked.get_foreign_keys(table)
        return columns, keys[0], [(each["referred_table"], each["options"]) for each in keys[1]]


ADDED = {1: ("edits",)}  # the tables that the step from each version adds


@pytest.mark.parametrize("version", ADDED)
def test_a_store_of_an_earlier_version_gets_the_tables_that_were_added_since(db, version):
    added = [name for step in range(version, tables.VERSION) for name in ADDED.get(step, ())]
    made = [describe(db, name) for name in added]
    with db.write() as connection:
        for name in added:
            connection.execute(text(f"DROP TABLE {name}"))
        connection.execute(update(tables.store_version).values(version=version))
    open_database(db.url).close()
    assert [describe(db, name) for name in added] == made
    run = new_run(db, corpus=write_corpus(db).number).number
    assert edits.add_edits(db, run, [NewEdit("ban", words=(1,))]) == edits.list_edits(db, run)
    assert check_store(db).damages == ()


def add_column(connection):
    """A step as a later version has it: a new cell of every run, also in the copies of the rows."""
    connection.execute(text("ALTER TABLE corpora ADD COLUMN proof BIGINT"))
    if connection.dialect.name == "sqlite":
        cells = ", ".join([*tables.corpora.columns.keys(), "proof"])
        connection.execute(text("DROP INDEX corpora_copy"))
        connection.execute(text(f"CREATE INDEX corpora_copy ON corpora ({cells})"))


def test_a_store_is_brought_up_to_date_by_its_steps_and_keeps_what_it_holds(db, monkeypatch):
    number = write_corpus(db).number
    monkeypatch.setattr(tables, "VERSION", LATER)
    monkeypatch.setattr(migrations, "STEPS", {LATER - 1: add_column})
    with pytest.raises(SchemaMismatch, match="a command that writes"):
        open_database(db.url, readonly=True)
    open_existing(db.url).close()
    with db.read() as connection:
        assert connection.execute(text("SELECT count(*) FROM corpora WHERE proof IS NULL")).scalar() == 1
        assert connection.execute(text("SELECT version FROM store_version")).scalar() == LATER
    assert [row.number for row in corpora.list_corpora(db)] == [number]
    assert check_store(db).damages == ()


def test_a_step_that_fails_leaves_the_older_store_as_it_was(db, monkeypatch):
    def step(connection):
        add_column(connection)
        raise StoreError("the step failed")

    monkeypatch.setattr(tables, "VERSION", LATER)
    monkeypatch.setattr(migrations, "STEPS", {LATER - 1: step})
    with pytest.raises(StoreError, match="the step failed"):
        open_database(db.url)
    monkeypatch.undo()
    open_database(db.url).close()
    with pytest.raises(Exception, match="proof"), db.read() as connection:
        connection.execute(text("SELECT proof FROM corpora"))


@pytest.mark.parametrize(("version", "sentence"), [(tables.VERSION + 1, "newer Topiary"), (0, "older Topiary")])
def test_a_store_of_a_version_without_a_step_is_refused(db, version, sentence):
    with db.write() as connection:
        connection.execute(update(tables.store_version).values(version=version))
    with pytest.raises(SchemaMismatch, match=sentence):
        open_database(db.url)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_store_from_before_the_first_version_is_refused_and_not_touched(database_url, tmp_path):
    path = tmp_path / "store.db"
    with closing(sqlite3.connect(path)) as former:
        former.executescript(
            "CREATE TABLE schema_version (version INTEGER, identity TEXT); CREATE TABLE runs (number INTEGER);"
            "INSERT INTO schema_version VALUES (13, 'drawn');"
        )
    before = path.read_bytes()
    for opener in (open_database, open_existing, lambda url: open_database(url, readonly=True)):
        with pytest.raises(FormerStore, match=r"store\.db was made by a Topiary before version 0.1.0.*topiary export"):
            opener(database_url)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["store.db"]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_definitions_that_are_not_those_that_were_made_are_damage(db):
    with db.write() as connection:
        connection.execute(text("PRAGMA writable_schema = ON"))
        connection.execute(text("UPDATE sqlite_schema SET sql = replace(sql, 'BIGINT', 'BIGJNT') WHERE name = 'runs'"))
    db.close()
    with pytest.raises(DamagedStore, match="the definitions of its tables are not those that Topiary made"):
        open_database(db.url)
