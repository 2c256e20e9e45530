"""Vocabularies beside the counts: those of gensim, and pickles, which are never opened."""

import bz2
from pathlib import Path

import pytest
from format_samples import of_gensim
from ingest_samples import write

from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.importing import import_path, read_source
from topiary.app.ingest.options import ImportOptions
from topiary.store import corpora
from topiary.store.database import Database


def test_a_corpus_of_gensim_has_the_words_of_its_dictionary(tmp_path: Path, db: Database) -> None:
    row = import_path(db, of_gensim(tmp_path), ImportOptions(test_share=0))
    assert corpora.read_vocabulary(db, row.number) == ("None", "nan", "1992")
    assert (row.documents, row.tokens, row.kind) == (4, 15, "counts")


def test_the_files_of_its_wikipedia_script_belong_together(tmp_path: Path, db: Database) -> None:
    mm = of_gensim(tmp_path).read_bytes()
    words = (tmp_path / "news.dict.txt").read_bytes()
    write(tmp_path / "in" / "wiki_bow.mm", mm)
    write(tmp_path / "in" / "wiki_wordids.txt.bz2", bz2.compress(words))
    assert import_path(db, tmp_path / "in" / "wiki_bow.mm", ImportOptions(test_share=0)).words == 3


def test_a_pickle_is_refused_by_name_and_by_its_bytes(tmp_path: Path) -> None:
    path = of_gensim(tmp_path)
    write(tmp_path / "words.txt", b"\x80\x04\x95.")
    with pytest.raises(IngestError, match=r"words\.txt: is a pickle, which could run programs"):
        read_source(path, ImportOptions(vocabulary=str(tmp_path / "words.txt")))
