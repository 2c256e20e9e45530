"""Texts: columns found by name or look, cleaning, vocabulary, split."""

import gc
import weakref
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ingest_samples import text_folder, text_zip, write, zipped_as

from topiary.app.ingest import vectorise
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.importing import import_path
from topiary.app.ingest.options import ImportOptions, OptionError
from topiary.app.ingest.text import cleaning
from topiary.app.ingest.vectorise import CountFile, measure_counts
from topiary.engine.contract import Counts
from topiary.store import corpora
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database

ALL = {"min_df": 1, "max_df": 1.0}
OLD_WORD = "each .doc is an old Word document: open it and save it as .docx"


def bags(db: Database, row: CorpusRow) -> list[dict[str, int]]:
    """Each document as word -> count."""
    words_of = corpora.read_vocabulary(db, row.number)
    whole = corpora.load_corpus(db, row.number).counts
    return [
        {words_of[w]: int(n) for w, n in zip(whole.words[a:b], whole.values[a:b], strict=True)}
        for a, b in zip(whole.starts[:-1], whole.starts[1:], strict=True)
    ]


def test_text_is_counted_in_lower_case_by_runs_of_letters_without_stop_words_tags_and_addresses() -> None:
    text = "The <b>Cat's</b> naïve CAT3 &amp; dog<br />see https://a.example/x?y or www.b.example: it isn't null"
    assert cleaning.clean_text(text).split() == [
        "the", "cat's", "naïve", "cat3", "dog", "see", "or", "it", "isn't", "null",
    ]  # fmt: skip


def test_words_that_table_readers_take_for_missing_values_survive_in_texts(tmp_path: Path, db: Database) -> None:
    rows = ["text,label", "null nan inf,NA", "true none null,None", "na false,fine", '"",nan']
    path = write(tmp_path / "odd.csv", "\n".join(rows))
    row = import_path(db, path, ImportOptions(stop_words="none", test_share=0, **ALL))
    assert set(corpora.read_vocabulary(db, row.number)) == {"null", "nan", "inf", "true", "none", "na", "false"}
    assert row.label_names == ("fine",)
    assert "3 labels say nothing but 'NA', 'None', 'nan', which counts as missing" in row.meta["notes"]
    labels = [document.label for document in corpora.read_documents(db, row.number, range(row.documents))]
    assert labels == [None, None, "fine"]


def test_a_column_of_the_split_gives_the_parts_and_unused_documents_stay_out(tmp_path: Path, db: Database) -> None:
    rows = [f"apple {'pear' * (n % 2)},{part}" for n, part in enumerate(["train", "test", "unused", "Train", "valid"])]
    path = write(tmp_path / "parts.csv", "\n".join(["text,split", *rows]))
    row = import_path(db, path, ImportOptions(**ALL))
    assert corpora.load_corpus(db, row.number).part.tolist() == [0, 1, 0, 2]
    assert "1 document is in neither" in row.meta["notes"][1]


def test_a_file_of_one_part_only_is_split_by_seed(tmp_path: Path, db: Database) -> None:
    path = write(tmp_path / "one.csv", "text,split\n" + "".join(f"apple{' pear' * n},train\n" for n in range(40)))
    row = import_path(db, path, ImportOptions(test_share=0.25, **ALL))
    assert (row.train_documents, row.validation_documents) == (30, 5)
    assert "drawn by seed" in row.meta["notes"][1]


def test_a_table_without_column_names_is_seen_through(tmp_path: Path, db: Database) -> None:
    rows = [f'"{n % 2 + 1}","Title number {n}","A much longer description about apple and pear, {n}"' for n in range(9)]
    path = write(tmp_path / "news.csv.gz", "\n".join(rows))
    write(tmp_path / "classes.txt", "World\nSport\n\n")
    row = import_path(db, path, ImportOptions(test_share=0, **ALL))
    assert row.label_names == ("World", "Sport")
    document = corpora.read_documents(db, row.number, [1])[0]
    assert document.title == "Title number 1"
    assert document.text == "A much longer description about apple and pear, 1"
    assert document.label == "Sport"
    assert bags(db, row)[1] == {"title": 1, "number": 1, "longer": 1, "description": 1, "apple": 1, "pear": 1}


def test_columns_without_names_can_be_given_by_number(tmp_path: Path, db: Database) -> None:
    path = write(tmp_path / "n.tsv", "".join(f"x{n}\tapple {n}\tpear\tk{n % 2}\n" for n in range(4)))
    options = ImportOptions(text_column="2,3", label_column="4", title_column="1", header="no", test_share=0, **ALL)
    row = import_path(db, path, options)
    document = corpora.read_documents(db, row.number, [2])[0]
    assert (document.title, document.text, document.label) == ("x2", "apple 2\n\npear", "k0")
    with pytest.raises(IngestError, match="has no column '9'; its columns are 1, 2, 3, 4"):
        import_path(db, path, ImportOptions(text_column="9", header="no", name="other"))


def test_tab_separated_text_may_have_lone_quotes(tmp_path: Path, db: Database) -> None:
    path = write(tmp_path / "n.tsv", 'text\tlabel\n12" apple\ta\n"pear\tb\n')
    row = import_path(db, path, ImportOptions(test_share=0, **ALL))
    assert [document.text for document in corpora.read_documents(db, row.number, [0, 1])] == ['12" apple', '"pear']


def test_quoted_cells_may_have_line_ends_and_the_error_after_them_names_the_right_line(
    tmp_path: Path, db: Database
) -> None:
    path = write(tmp_path / "n.csv", 'text;label\r\n"one\r\ntwo; ""three""";a\r\npear;b;c\r\n')
    with pytest.raises(IngestError, match="line 4: has 3 columns, but line 1 has 2"):
        import_path(db, path)
    path = write(tmp_path / "m.csv", 'text;label\r\n"one\r\ntwo; ""three""";a\r\n')
    row = import_path(db, path, ImportOptions(stop_words="none", test_share=0, **ALL))
    assert corpora.read_documents(db, row.number, [0])[0].text == 'one\r\ntwo; "three"'


def test_a_list_of_labels_gives_the_first_and_stays_a_column(tmp_path: Path, db: Database) -> None:
    lines = ['{"text": "apple", "label": ["fruit", "red"], "year": 1987, "more": {"a": null}, "none": null}',
             '{"text": "iron", "label": []}']  # fmt: skip
    path = write(tmp_path / "a.jsonl", "\n".join(lines))
    row = import_path(db, path, ImportOptions(test_share=0, **ALL))
    first, second = corpora.read_documents(db, row.number, [0, 1])
    assert first.label == "fruit"
    assert first.columns == {"label": "fruit, red", "year": "1987", "more": '{"a": null}', "none": ""}
    assert second.label is None


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_what_stands_in_place_of_a_title_is_no_words_of_the_text(tmp_path: Path, db: Database, form: str) -> None:
    rows = [("Rivers", "apple"), ("", "iron")]
    if form == "csv":
        text = "id,title,text\n" + "".join(f"shop-{n},{title},{text}\n" for n, (title, text) in enumerate(rows))
    else:
        text = "\n".join(f'{{"id": "shop-{n}", "title": "{t}", "text": "{text}"}}' for n, (t, text) in enumerate(rows))
    row = import_path(db, write(tmp_path / f"a.{form}", text), ImportOptions(test_share=0, **ALL))
    assert sorted(map(sorted, bags(db, row))) == [["apple", "rivers"], ["iron"]]
    assert {document.title for document in corpora.read_documents(db, row.number, [0, 1])} == {"Rivers", "shop-1"}


@pytest.mark.parametrize(
    ("form", "text"), [("csv", "title,body\nred apples,pears\n"), ("jsonl", '{"title": "red apples", "body": "pears"}')]
)
def test_a_title_that_is_part_of_the_text_is_counted_once(tmp_path: Path, db: Database, form: str, text: str) -> None:
    path = write(tmp_path / f"a.{form}", text)
    row = import_path(db, path, ImportOptions(text_column="title,body", test_share=0, **ALL))
    assert bags(db, row) == [{"red": 1, "apples": 1, "pears": 1}]
    assert corpora.read_documents(db, row.number, [0])[0].title == "red apples"


def test_a_label_that_pandas_lacked_is_none(tmp_path: Path, db: Database) -> None:
    lines = ['{"text": "apple", "label": 1.0}', '{"text": "iron", "label": NaN}', '{"text": "rose", "label": 2.0}']
    row = import_path(db, write(tmp_path / "a.jsonl", "\n".join(lines)), ImportOptions(test_share=0, **ALL))
    assert row.label_names == ("1.0", "2.0")


def test_a_stop_word_list_that_cannot_be_read_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stops = write(tmp_path / "stops.txt", "the")

    def refuse(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(IngestError, match=r"stops\.txt.*cannot be read \(Permission denied\)"):
        cleaning.read_stop_words(str(stops))


def test_a_folder_gives_labels_by_sub_folder_titles_by_first_line_and_is_shuffled_by_seed(
    tmp_path: Path, db: Database
) -> None:
    path = text_folder(tmp_path / "texts")
    one, two = (import_path(db, path, ImportOptions(name=str(seed), seed=seed, **ALL)) for seed in (1, 2))
    documents = [corpora.read_documents(db, row.number, range(6)) for row in (one, two)]
    files = [[document.columns["file"] for document in each] for each in documents]
    assert set(files[0]) == {f"{label}/{n}.txt" for label in ("fruit", "metal") for n in range(3)}
    assert sorted(files[0]) == sorted(files[1])
    assert files[0] != files[1]
    assert all(document.label == document.columns["file"].split("/")[0] for document in documents[0])
    assert documents[0][0].title in ("apple pear apple number", "iron tin iron number")


def test_a_zip_reads_as_the_folder_in_it(tmp_path: Path, db: Database) -> None:
    folder = import_path(db, text_folder(tmp_path / "texts"), ImportOptions(**ALL))
    zipped = import_path(db, text_zip(tmp_path / "packed"), ImportOptions(name="packed", **ALL))
    assert folder.content_hash == zipped.content_hash


def test_members_of_a_zip_are_found_whatever_way_their_paths_are_written(tmp_path: Path, db: Database) -> None:
    path = tmp_path / "texts.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("./fruit/0.txt", "fruit//1.txt", "metal/./2.txt", "metal/3.txt"):
            archive.writestr(name, "apple pear iron")
    row = import_path(db, path, ImportOptions(test_share=0, **ALL))
    assert (row.documents, row.label_names) == (4, ("fruit", "metal"))
    files = {document.columns["file"] for document in corpora.read_documents(db, row.number, range(4))}
    assert files == {"fruit/0.txt", "fruit/1.txt", "metal/2.txt", "metal/3.txt"}


def test_a_folder_of_train_and_test_gives_the_split(tmp_path: Path, db: Database) -> None:
    for part in ("train", "test"):
        text_folder(tmp_path / "texts" / part)
    row = import_path(db, tmp_path / "texts", ImportOptions(**ALL))
    assert (row.documents, row.train_documents) == (12, 6)
    assert row.label_names == ("fruit", "metal")


def test_a_text_that_is_not_utf8_is_read_as_latin1_with_a_note(tmp_path: Path, db: Database) -> None:
    path = text_folder(tmp_path / "texts")
    write(path / "fruit" / "9.txt", "apple\npêche\n".encode("latin-1"))
    row = import_path(db, path, ImportOptions(test_share=0, **ALL))
    assert "pêche" in corpora.read_vocabulary(db, row.number)
    assert row.meta["notes"] == ["fruit/9.txt is not UTF-8 (line 2, byte 8): read as Latin-1"]


def test_texts_of_all_kinds_are_read_and_the_others_are_told(tmp_path: Path, db: Database) -> None:
    folder = tmp_path / "texts"
    for name in ("a.TXT", "b.md", "c.html", ".hidden/d.txt", "old/e.doc", "old/f.DOC", "LICENSE"):
        write(folder / name, "apple pear")
    for path in (folder, zipped_as(folder, tmp_path / "packed.zip")):
        row = import_path(db, path, ImportOptions(test_share=0, **ALL))
        assert row.documents == 3
        notes = [f"left out what is not read as text: 2 .doc, 1 without ending; {OLD_WORD}"]
        assert row.meta["notes"] == notes


def test_a_folder_of_files_without_endings_is_read_as_texts(tmp_path: Path, db: Database) -> None:
    """As the 20 Newsgroups are handed out."""
    for name in ("sci.space/59848", "sci.space/59849", "rec.autos/101551"):
        write(tmp_path / "news" / name, "apple pear")
    row = import_path(db, tmp_path / "news", ImportOptions(test_share=0, **ALL))
    assert (row.documents, row.label_names, row.meta["notes"]) == (3, ("rec.autos", "sci.space"), [])


def test_of_a_page_the_title_and_what_one_reads_is_kept(tmp_path: Path, db: Database) -> None:
    page = "<html><head><title>Two\n fruits</title><style>p {plum}</style></head><body><h1>Day</h1><p>An <b>app</b>le"
    write(tmp_path / "pages" / "a.html", page + " &amp; fig</p><script>var lead</script><ul><li>pear</li></ul></body>")
    write(tmp_path / "pages" / "b.htm", "fig pear <br>cut off</p>")
    row = import_path(db, tmp_path / "pages", ImportOptions(test_share=0, **ALL))
    read = {document.title: document.text for document in corpora.read_documents(db, row.number, [0, 1])}
    assert read == {"Two fruits": "Day\nAn apple & fig\npear", "fig pear": "fig pear\ncut off"}
    assert corpora.read_vocabulary(db, row.number) == ("fig", "pear", "apple", "cut", "day")


def test_a_folder_that_no_reader_knows_is_refused_with_what_it_holds(tmp_path: Path, db: Database) -> None:
    for name in ("a.doc", "b.doc", "c.xls"):
        write(tmp_path / "office" / name, "?")
    with pytest.raises(IngestError, match=rf"\(it holds 2 \.doc, 1 \.xls\): {OLD_WORD}"):
        import_path(db, tmp_path / "office")


def test_of_a_folder_with_a_zip_in_it_the_zip_is_advised(tmp_path: Path, db: Database) -> None:
    write(tmp_path / "got" / "inside" / "texts.zip", "?")
    with pytest.raises(IngestError, match=r"\(it holds 1 \.zip\): import inside/texts\.zip itself"):
        import_path(db, tmp_path / "got")


def test_the_vocabulary_is_cut_by_document_frequency_and_size_most_frequent_first(tmp_path: Path, db: Database) -> None:
    texts = ["apple apple pear fig", "apple pear", "apple fig plum plum plum", "apple"]
    path = write(tmp_path / "a.jsonl", "\n".join(f'{{"text": "{text}"}}' for text in texts))

    def vocabulary(**options: Any) -> tuple[str, ...]:
        row = import_path(db, path, ImportOptions(name=str(options), test_share=0, **options))
        return corpora.read_vocabulary(db, row.number)

    assert vocabulary() == ("fig", "pear")  # plum is in one document only, apple in all
    assert vocabulary(**ALL) == ("apple", "plum", "fig", "pear")
    assert vocabulary(min_df=1, max_df=0.9) == ("plum", "fig", "pear")
    assert vocabulary(max_words=2, **ALL) == ("apple", "plum")
    stop = write(tmp_path / "stop.txt", "Apple\nfig\n")
    assert vocabulary(stop_words=str(stop), **ALL) == ("plum", "pear")
    with pytest.raises(IngestError, match="has only 4 documents, and no word can pass --min-df 9 "):
        vocabulary(min_df=9)


def test_words_that_are_everywhere_are_left_out_where_that_is_asked_for_and_a_note_names_them(
    tmp_path: Path, db: Database
) -> None:
    fruits = ("apple", "pear", "plum", "fig", "grape")
    rows = [f'{{"text": "{fruits[j % 5]} {fruits[j % 5]} {"organization" if j % 5 < 2 else ""}"}}' for j in range(40)]
    path = write(tmp_path / "a.jsonl", "\n".join(rows))
    usual = import_path(db, path, ImportOptions(name="usual", test_share=0, **ALL))
    row = import_path(db, path, ImportOptions(name="fewer", test_share=0, leave_out_common=True, **ALL))
    assert set(corpora.read_vocabulary(db, usual.number)) == {"organization", *fruits}
    assert set(corpora.read_vocabulary(db, row.number)) == set(fruits)
    assert "1 word that is everywhere left out: organization" in row.meta["notes"]
    assert row.meta["options"]["leave_out_common"] is True


def test_binary_keeps_only_whether_a_word_occurs(tmp_path: Path, db: Database) -> None:
    path = write(tmp_path / "a.jsonl", '{"text": "apple apple pear"}\n{"text": "pear"}')
    row = import_path(db, path, ImportOptions(binary=True, test_share=0, **ALL))
    assert row.kind == "binary"
    assert bags(db, row) == [{"apple": 1, "pear": 1}, {"pear": 1}]


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path: Path, db: Database) -> None:
    path = write(tmp_path / "a.csv", b"\xef\xbb\xbftext,label\npear fig,a\npear,b\n")
    row = import_path(db, path, ImportOptions(test_share=0, **ALL))
    assert row.label_names == ("a", "b")


WIDE = ("utf-16", "utf-16-le", "utf-16-be", "utf-32")


@pytest.mark.parametrize("encoding", WIDE)
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", 'title,text\r\nöde,"naïve\r\npear"\r\nfig,plum\r\n'),
        ("a.csv.gz", "title,text\nöde,naïve pear\nfig,plum\n"),
        ("a.jsonl", '{"title": "öde", "text": "naïve pear"}\n{"title": "fig", "text": "plum"}\n'),
        ("a.txt", "öde naïve pear\r\nfig plum"),
        ("a.mallet", "n1\tx\töde naïve pear\nn2\ty\tfig plum\n"),
    ],
)
def test_a_table_or_list_is_read_by_its_byte_order_mark(
    tmp_path: Path, db: Database, name: str, text: str, encoding: str
) -> None:
    path = write(tmp_path / name, marked(text, encoding))
    row = import_path(db, path, ImportOptions(test_share=0, encoding="latin-1", **ALL))
    assert set(corpora.read_vocabulary(db, row.number)) == {"öde", "naïve", "pear", "fig", "plum"}
    about_columns = [note for note in row.meta["notes"] if note.startswith(("text is", "the first line"))]
    assert (row.documents, row.meta["notes"]) == (2, about_columns)


@pytest.mark.parametrize("encoding", ["utf-8", *WIDE])
def test_texts_of_a_folder_and_of_a_zip_are_read_by_their_byte_order_marks(
    tmp_path: Path, db: Database, encoding: str
) -> None:
    folder = tmp_path / "texts"
    write(folder / "a.txt", marked("naïve\r\npear", encoding))
    write(folder / "b.html", marked("<title>Öde</title><p>fig", encoding))
    write(folder / "c.txt", "plum")
    for path in (folder, zipped_as(folder, tmp_path / "packed.zip")):
        row = import_path(db, path, ImportOptions(test_share=0, **ALL))
        read = {document.title: document.text for document in corpora.read_documents(db, row.number, range(3))}
        assert read == {"naïve": "naïve\r\npear", "Öde": "fig", "plum": "plum"}
        assert row.meta["notes"] == []


def test_a_text_that_does_not_keep_what_its_byte_order_mark_says_is_left_out_with_a_note(
    tmp_path: Path, db: Database
) -> None:
    """As Latin-1 it would be words of single letters."""
    path = text_folder(tmp_path / "texts")
    write(path / "fruit" / "9.txt", marked("apple", "utf-16")[:-1])
    row = import_path(db, path, ImportOptions(test_share=0, **ALL))
    assert (row.documents, row.meta["notes"]) == (6, ["fruit/9.txt is damaged UTF-16: left out"])


def test_a_list_of_stop_words_is_read_by_its_byte_order_mark(tmp_path: Path, db: Database) -> None:
    path = write(tmp_path / "a.csv", "text\nöde pear fig\n")
    for encoding in ("utf-8", *WIDE):
        stop = write(tmp_path / "stop.txt", marked("öde\r\nfig\r\n", encoding))
        row = import_path(db, path, ImportOptions(name=encoding, stop_words=str(stop), test_share=0, **ALL))
        assert corpora.read_vocabulary(db, row.number) == ("pear",)


def marked(text: str, encoding: str) -> bytes:
    """A text with a byte-order mark."""
    raw = text.encode(encoding)
    return raw if encoding in ("utf-16", "utf-32") else "\ufeff".encode(encoding) + raw


def test_utf_8_with_a_signature_is_utf_8(tmp_path: Path, db: Database) -> None:
    path = write(tmp_path / "a.csv", b"\xef\xbb\xbftext,label\npear fig,a\npear,b\n")
    row = import_path(db, path, ImportOptions(encoding="UTF-8-sig", test_share=0, **ALL))
    assert row.label_names == ("a", "b")


def test_a_group_in_the_token_pattern_is_the_word(tmp_path: Path, db: Database) -> None:
    path = write(tmp_path / "a.csv", "text\n#pear fig\n#pear #plum\n")
    row = import_path(db, path, ImportOptions(token_pattern=r"#(\w+)", test_share=0, **ALL))
    assert corpora.read_vocabulary(db, row.number) == ("pear", "plum")


def test_another_encoding_can_be_named(tmp_path: Path, db: Database) -> None:
    path = write(tmp_path / "a.csv", "text\npêche\npêche\n".encode("cp1252"))
    row = import_path(db, path, ImportOptions(encoding="cp1252", test_share=0, **ALL))
    assert corpora.read_vocabulary(db, row.number) == ("pêche",)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"header": "maybe"}, "auto, yes or no"),
        ({"test_share": 1.0}, "below 1"),
        ({"min_df": 0}, "1 or more"),
        ({"max_df": 1.5}, "share of the documents"),
        ({"max_words": 0}, "1 or more"),
        ({"seed": -1}, "from 0 to 9223372036854775807; got -1"),
        ({"seed": 2**63}, "from 0 to 9223372036854775807; got 9223372036854775808"),
        ({"encoding": "utf-9"}, "no text encoding 'utf-9'"),
        ({"encoding": "utf-16"}, "by the byte-order mark that they begin with, so leave the encoding out"),
        ({"encoding": "UTF-32-LE"}, "convert them to UTF-8 where they have none"),
        ({"encoding": "cp037"}, "cannot be read line by line; convert them to UTF-8"),
        ({"encoding": "idna"}, "convert them to UTF-8"),
        ({"encoding": "base64"}, "no text encoding 'base64'"),
        ({"encoding": "hex"}, "no text encoding 'hex'"),
        ({"encoding": "undefined"}, "no text encoding 'undefined'"),
        ({"encoding": "a\0b"}, "no text encoding"),
        ({"token_pattern": "("}, r"must be a regular expression; got '\(' \(missing \)"),
        ({"token_pattern": "a{99999999999}"}, "must be a regular expression"),
        ({"token_pattern": r"(\w)(\w)"}, "one group at most"),
        ({"stop_words": "x" * 300}, "there is no file"),
        ({"stop_words": "no such file"}, "there is no file"),
    ],
)
def test_an_option_that_cannot_be_says_so_on_birth(options: dict[str, object], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        ImportOptions(**options)  # type: ignore[arg-type]


def some(n: int, seed: int) -> Counts:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 5, n)
    cells = int(lengths.sum())
    return Counts.of(lengths, rng.integers(0, 99, cells).astype(np.int32), rng.integers(1, 9, cells).astype(np.int32))


def dense(counts: Counts) -> list[list[tuple[int, int]]]:
    cells = list(zip(counts.words.tolist(), counts.values.tolist(), strict=True))
    return [cells[a:b] for a, b in zip(counts.starts[:-1], counts.starts[1:], strict=True)]


@pytest.mark.parametrize("in_memory", [1, 1 << 20], ids=["disk", "memory"])
def test_documents_come_back_in_runs_of_any_length_and_again(monkeypatch: pytest.MonkeyPatch, in_memory: int) -> None:
    monkeypatch.setattr(vectorise, "IN_MEMORY", in_memory)
    blocks = [some(n, n) for n in (4, 1, 7, 3)]
    file = CountFile("a.csv")
    for block in blocks:
        file.add(block)
    whole = [row for block in blocks for row in dense(block)]
    assert [row for block in file for row in dense(block)] == whole
    assert measure_counts(file).tolist() == [len(row) for row in whole]
    for step in (1, 2, 5, 15):
        rows = file.reader()
        found = [dense(rows(begin, min(begin + step, 15))) for begin in range(0, 15, step)]
        assert [row for run in found for row in run] == whole


def test_a_file_of_no_documents_has_none() -> None:
    assert measure_counts(CountFile("a.csv")).tolist() == []


def test_the_temporary_file_goes_with_the_counts() -> None:
    file = CountFile("a.csv")
    kept = file._file
    gone = weakref.ref(file)
    del file
    gc.collect()
    assert gone() is None
    assert kept.closed


def test_a_full_disk_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    file = CountFile("a.csv")

    class Full:
        def seek(self, place: int) -> None:
            raise OSError(28, "No space left on device")

        def close(self) -> None: ...

    monkeypatch.setattr(file, "_file", Full())
    with pytest.raises(IngestError, match=r"a\.csv: has counts that do not fit into .*No space left.*set TMPDIR"):
        file.add(some(3, 1))
