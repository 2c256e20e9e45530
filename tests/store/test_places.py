"""A store that was deleted or replaced under an open database is noticed, and one that is put back is used again."""

import pytest
from sqlalchemy import text, update
from store_samples import write_corpus

from topiary.store import corpora, database, tables
from topiary.store.database import open_database
from topiary.store.errors import ReplacedStore


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """The identity is read before every transaction instead of every few seconds."""
    monkeypatch.setattr(database, "LOOK_SECONDS", 0.0)


def test_every_store_has_an_identity_of_its_own_and_keeps_it(db, tmp_path):
    again, other = open_database(db.url), open_database(tmp_path / "other.db")
    assert db.identity.drawn
    assert again.identity.drawn == db.identity.drawn != other.identity.drawn
    again.close()
    other.close()


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


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_tables_that_were_dropped_are_missed(db):
    other = open_database(db.url)
    other.identity.drawn = None
    with other.write() as connection:
        connection.execute(text("DROP TABLE store_version"))
    other.close()
    with pytest.raises(ReplacedStore, match=r"the tables of the store .* were deleted while it was open"):
        corpora.list_corpora(db)


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
