"""Why a vocabulary is empty: each cause has a sentence of its own, and says what to do."""

from pathlib import Path

import pytest

from app.ingest.errors import IngestError
from app.ingest.importing import inspect_path
from app.ingest.options import ImportOptions


@pytest.mark.parametrize(
    ("name", "content", "options", "said"),
    [
        ("a.jsonl", '{"text": "apple bread"}', {}, "is read as a single document, and topics are learnt"),
        ("a.csv", "text,n\napple pear,1\n,2\n,3\n", {}, "has 3 documents, but words in only 1 of"),
        ("a.csv", "text,n\n,1\n,2\n,3\n", {"text_column": "text"}, "all of its 3 documents are empty; name the"),
        ("a.csv", "text\n12.5\n8\n17\n", {"header": "yes", "text_column": "text"}, "has numbers where texts should be"),
        ("a.txt", "the and of\nof the\n", {"stop_words": "english"}, r"no words but stop words \(of the and\)"),
        ("a.txt", "a b c\n? !\nx y\n", {}, "has no words of two letters or more; is it text"),
        ("a.txt", "apple pear\nfig\n", {"token_pattern": "[0-9]+"}, "--token-pattern '.*' finds no words in it; g"),
        ("a.txt", "apple pear\n" * 9, {}, "tells its documents apart: all 9 have the same text"),
        ("a.txt", "apple pear\npear apple\n" * 4, {}, "tells its documents apart: all 8 have the same words"),
        ("a.txt", "apple pear\napple fig\n", {}, "only 2 documents, and no word can pass --min-df 2 "),
        ("a.txt", "apple\nfig\npear\nplum\n", {}, "no word that two of its 4 documents share; are they"),
        ("a.csv", "code,n\nab,1\nbc,2\ncd,3\n", {}, "'code' was taken for the text and has few words"),
        ("a.csv", "a~b\nred apple~fine\nblue sky~well\ngreen pear~good\nold oak~hm\n", {"separator": "pipe"},
         r"the table has one column \('a~b'\), so say with --separator what stands between its cells"),
        ("a.txt", "apple pear\napple fig\npear fig\n" * 4, {"max_df": 0.5},
         "has 3 different words, and none is left: --max-df 0.5 takes 3; cut less"),
    ],
)  # fmt: skip
def test_each_cause_of_an_empty_vocabulary_is_named(
    tmp_path: Path, name: str, content: str, options: dict[str, object], said: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(IngestError, match=said) as refused:
        inspect_path(tmp_path / name, ImportOptions(**options))  # type: ignore[arg-type]
    assert "\n" not in str(refused.value)


def test_counts_whose_words_are_all_cut_say_by_what(tmp_path: Path) -> None:
    (tmp_path / "docword.txt").write_text("3\n2\n3\n1 1 1\n2 1 1\n3 2 1\n")
    (tmp_path / "vocab.txt").write_text("the\nfig\n")
    with pytest.raises(
        IngestError, match=r"2 different words, and none is left: --stop-words english takes 1, --min-df 2"
    ):
        inspect_path(tmp_path / "docword.txt", ImportOptions(stop_words="english", min_df=2))


@pytest.mark.parametrize("split", ["500 words", "paragraphs"])
def test_a_single_passage_is_said_to_be_one(tmp_path: Path, split: str) -> None:
    (tmp_path / "a.txt").write_text("apple pear " * 20)
    with pytest.raises(IngestError, match="is a single passage of 40 words; divide it more finely with --split"):
        inspect_path(tmp_path / "a.txt", ImportOptions(split=split))
