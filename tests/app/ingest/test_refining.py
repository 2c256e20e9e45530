"""A corpus of some documents of another: what it keeps, what it leaves out, and where it comes from."""

import pytest
from databases import open_filled
from process_samples import small_corpus

from topiary.app.ingest.column_kinds import list_columns
from topiary.app.ingest.refining import ORIGIN, RefineError, refine_corpus
from topiary.store import corpora
from topiary.store.errors import Conflict


@pytest.fixture
def db(tmp_path):
    opened = open_filled(tmp_path / "store.db")
    yield opened
    opened.close()


def test_counts_parts_labels_and_texts_of_the_documents_are_kept(db):
    source = small_corpus(db, labelled=True)
    numbers = [number for number in range(source.documents) if number % 4 == 0]
    made = refine_corpus(db, source, numbers, "part", {"run": 3, "topic": "L2:1"})
    assert made.documents == len(numbers)
    assert made.meta[ORIGIN] == {
        "corpus": source.number, "name": "small", "documents": len(numbers), "run": 3, "topic": "L2:1",
    }  # fmt: skip
    old_words, new_words = (corpora.read_vocabulary(db, row.number) for row in (source, made))
    before, after = corpora.load_corpus(db, source.number), corpora.load_corpus(db, made.number)
    assert after.part.tolist() == before.part[numbers].tolist()
    assert after.labels.tolist() == before.labels[numbers].tolist()
    uses = dict.fromkeys(old_words, 0)
    for number in numbers:
        cells = slice(*before.counts.starts[number : number + 2])
        for word in before.counts.words[cells].tolist():
            uses[old_words[word]] += before.part[number] == 0
    assert set(new_words) == {word for word, n in uses.items() if n >= 2}
    for place, number in enumerate(numbers):
        old, new = (
            {
                words[word]: value
                for word, value in zip(
                    counts.words[counts.starts[at] : counts.starts[at + 1]].tolist(),
                    counts.values[counts.starts[at] : counts.starts[at + 1]].tolist(),
                    strict=True,
                )
            }
            for words, counts, at in ((old_words, before.counts, number), (new_words, after.counts, place))
        )
        assert new == {word: value for word, value in old.items() if word in set(new_words)}
    texts = [each.text for each in corpora.read_documents(db, made.number, range(made.documents))]
    assert texts == [each.text for each in corpora.read_documents(db, source.number, numbers)]
    assert [each.name for each in list_columns(db, made)] == [each.name for each in list_columns(db, source)]


def test_too_few_documents_and_names_that_are_taken_are_refused(db):
    source = small_corpus(db)
    with pytest.raises(RefineError, match="5 of the 5 documents selected are for training, and a corpus needs 20"):
        refine_corpus(db, source, [0, 1, 2, 4, 5], "part", {})
    with pytest.raises(Conflict, match="already a corpus called 'small'"):
        refine_corpus(db, source, range(source.documents), "small", {})
    assert [row.name for row in corpora.list_corpora(db)] == ["small"]
