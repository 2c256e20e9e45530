"""What programs hold as texts, labels and titles is taken as it is meant, or refused in one sentence that says how."""

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from store_samples import REPOSITORY

import topiary
from topiary.corpora import find_index, list_column, list_texts, refuse_other_order

CASE = REPOSITORY.parent / "shared" / "cases" / "dataframe_as_documents" / "run.py"
TEXTS = ["a rose and a lawn", "a rocket", "the moon"]
FRAME = pd.DataFrame({"date": ["2020-01-01", "2020-01-02", "2020-01-03"], "comment": TEXTS, "id": [1, 2, 3]})


@pytest.mark.parametrize(
    "source",
    [
        TEXTS,
        tuple(TEXTS),
        (text for text in TEXTS),
        np.array(TEXTS),
        np.array(TEXTS, dtype=object),
        FRAME["comment"],
        pd.array(TEXTS, dtype="string"),
        pd.Categorical(TEXTS),
        pa.array(TEXTS),
        pa.chunked_array([TEXTS[:1], TEXTS[1:]]),
        dict(enumerate(TEXTS)).values(),
    ],
    ids=lambda source: type(source).__name__,
)
def test_lists_arrays_and_columns_of_every_kind_hold_texts(source):
    assert list_texts(source) == TEXTS
    assert all(isinstance(text, str) for text in list_texts(TEXTS))


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (FRAME, r"a DataFrame is no list of texts: give one of its columns, such as df\['comment'\] \(it has 'date', "),
        (FRAME[["id"]], r"such as df\['id'\]"),
        (pa.table({"id": [1], "body": ["a rose"]}), r"a Table is no list of texts: .* such as df\['body'\]"),
        (FRAME.to_dict("list"), r"a dict is no list of texts: give one of its columns, such as df\['comment'\]"),
        (dict(zip("abc", TEXTS, strict=True)), r"a dict is no list of texts: give its values, list\(d.values\(\)\)"),
        (FRAME.to_numpy(), r"an array of 2 dimensions is no list of texts: give a column of it, array\[:, 0\]"),
        (b"a rose", "bytes are no text: decode them"),
        (set(TEXTS), "a set has no order"),
        (io.StringIO("a rose\na lawn\n"), "an open file is no list of texts"),
        (np.array("a rose"), "texts are a list of strings, a column or an array of one dimension; got array"),
        (None, "texts are a list of strings, a column or an array of one dimension; got None"),
        (5, "got 5"),
        ([__file__], "is the name of a file: to read files give their paths"),
    ],
)
def test_what_would_be_misunderstood_is_refused_with_the_way_out(source, sentence):
    with pytest.raises(TypeError, match=sentence):
        list_texts(source)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ("abc", "labels are a list with one for each document; got the single text 'abc'"),
        (FRAME, r"a DataFrame is no list of labels: give one of its columns, such as df\['date'\]"),
        ({1: "a"}, r"a dict is no list of labels: give its values, list\(d.values\(\)\), in the order of the texts"),
        (np.ones((3, 1)), "an array of 2 dimensions is no list of labels"),
        ({"a", "b"}, "labels are a list"),
        (5, "labels are a list"),
    ],
)
def test_labels_that_are_no_list_are_refused(values, sentence):
    with pytest.raises(TypeError, match=sentence):
        list_column("labels", values)
    assert list_column("labels", None) is None
    assert list_column("labels", FRAME["id"]) == [1, 2, 3]


def test_columns_in_another_order_are_not_put_together():
    texts, labels = FRAME["comment"], FRAME["id"]
    refuse_other_order(texts, labels, "labels")
    refuse_other_order(texts, labels.set_axis(list("abc")), "labels")  # another index says nothing
    refuse_other_order(texts, [3, 2, 1], "labels")
    with pytest.raises(TypeError, match=r"labels have the index of the texts in another order: give labels.loc\["):
        refuse_other_order(texts, labels.iloc[::-1], "labels")
    assert find_index(texts) is texts.index
    assert find_index(TEXTS) is None


@pytest.mark.parametrize(
    ("source", "given", "kind", "sentence"),
    [
        (FRAME, {}, TypeError, r"df\['comment'\]"),
        (
            FRAME["comment"],
            {"labels": [["a", "b"]] * 3},
            topiary.IngestError,
            r"the label of document 1 is \['a', 'b'\]",
        ),
        (TEXTS, {"labels": [b"a"] * 3}, topiary.IngestError, "the label of document 1 is b'a'; decode it as UTF-8"),
        (TEXTS, {"stop_words": ["a", "the"]}, topiary.OptionError, "stop_words takes the name of a file with a word"),
        ([], {}, topiary.IngestError, "texts: there are none; give a list with a string for each document"),
        (["a rose", None], {}, topiary.IngestError, "document 2 is no text but None; leave it out, or give an empty"),
        (["a rose", float("nan")], {}, topiary.IngestError, "document 2 is no text but nan; leave it out"),
        ([b"a rose"], {}, topiary.IngestError, "document 1 is no text but b'a rose'; decode it"),
        ([["a", "rose"]], {}, topiary.IngestError, "put its words together, as in ' '.join"),
        ("a rose and a lawn", {}, TypeError, "a string is the path of a file, and there is none .* as a list"),
    ],
)
def test_an_import_refuses_them_in_one_sentence(tmp_path, source, given, kind, sentence):
    with topiary.open(tmp_path / "store.db") as store:
        with pytest.raises(kind, match=sentence):
            store.import_corpus(source, **given)
        assert len(store.corpora) == 0


@pytest.mark.skipif(not CASE.exists(), reason="the shared cases are not there")
def test_the_case_of_a_table_given_as_documents(tmp_path):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (REPOSITORY, *sys.path)))}
    found = subprocess.run(
        [sys.executable, str(CASE)], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert found.returncode == 1
    assert "such as df['comment text']" in found.stderr.splitlines()[-1]
    assert Path(tmp_path / "df.db").exists()
