"""What an import recognises and chooses, what it says of it, and what it refuses."""

import gc
import json
import pickle
import random
import weakref
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ingest_samples import text_folder, text_zip, write, zipped_as
from language_samples import TEXTS
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from topiary.app.ingest import vectorise
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.importing import import_path, inspect_path
from topiary.app.ingest.memory import import_texts
from topiary.app.ingest.new_documents import find_rules
from topiary.app.ingest.options import ImportOptions, OptionError
from topiary.app.ingest.report import Report
from topiary.app.ingest.source import TextDocument, ignore_progress
from topiary.app.ingest.text import cleaning, languages
from topiary.app.ingest.text.cleaning import clean_text, make_word_pattern
from topiary.app.ingest.text.words import Wording
from topiary.app.ingest.vectorise import CountFile, measure_counts
from topiary.engine.contract import Counts
from topiary.store import corpora, corpus_rows
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database

KEPT = {"min_df": 1, "max_df": 1.0, "test_share": 0.0}


def imported(db: Database, *texts: str, **options: object) -> corpus_rows.CorpusRow:
    return import_texts(db, texts, options=ImportOptions(**(KEPT | options)))  # type: ignore[arg-type]


def notes(row: corpus_rows.CorpusRow) -> str:
    return "; ".join(row.meta["notes"])


def vocabulary(db: Database, row: corpus_rows.CorpusRow) -> set[str]:
    return set(corpora.read_vocabulary(db, row.number))


@pytest.mark.parametrize(
    ("code", "stop", "kept"),
    [("en", "the", "library"), ("de", "der", "bibliothek"), ("ru", "они", "библиотека"), ("fr", "la", "bibliothèque"),
     ("el", "στη", "βιβλιοθήκη"), ("zh", "他们", "图书馆"), ("ja", "それ", "図書館"), ("th", "และ", "ทะเล"),
     ("hi", "था", "समुद्र"), ("ar", "هذه", "المكتبة")],
)  # fmt: skip
def test_stop_words_are_those_of_the_language_recognised_which_is_said(db, code, stop, kept):
    row = imported(db, TEXTS[code])
    assert stop not in vocabulary(db, row)
    assert kept in vocabulary(db, row)
    assert "its stop words are left out (change it with --stop-words)" in notes(row)
    assert row.meta["wording"]["stop_words"] == [code]


def test_stop_words_of_all_main_languages_are_left_out(db):
    row = imported(db, TEXTS["en"], TEXTS["de"])
    assert not vocabulary(db, row) & {"the", "der"}
    assert "the texts are in several languages, German (5" in notes(row)
    assert "their stop words are left out" in notes(row)


def test_a_language_can_be_named_and_stop_words_can_be_kept(db):
    assert "der" in vocabulary(db, imported(db, TEXTS["de"], name="kept", stop_words="none"))
    named = imported(db, TEXTS["de"], name="named", stop_words="English")
    assert "der" in vocabulary(db, named)
    assert notes(named) == "the texts are in German"
    assert imported(db, TEXTS["de"], name="auto", stop_words="auto").meta["options"].keys() == {
        "min_df", "max_df", "test_share", "name",
    }  # fmt: skip
    with pytest.raises(OptionError, match="must be auto, none, a language such as german or a file"):
        ImportOptions(stop_words="klingon")


def test_where_no_language_is_recognised_english_stop_words_are_left_out(db):
    draw = random.Random(1)
    row = imported(db, *(" ".join(draw.choices(["plum", "pear", "rose", "hedge", "lawn"], k=40)) for _ in range(20)))
    assert vocabulary(db, row) == {"plum", "pear", "rose", "hedge", "lawn"}
    assert "was not recognised, so English stop words are left out" in notes(row)
    assert notes(imported(db, "plum pear", name="short")) == ""


def test_texts_in_other_letters_whose_language_is_not_recognised_keep_all_their_words(db):
    kazakh = "Көшенің соңындағы ескі кітапхананы адамдар салған. Олар теңізшілер туралы the хаттарды үлкен залға қойды."
    row = imported(db, kazakh, kazakh + " Біз үйге қайтып келдік.")
    assert "the" in corpora.read_vocabulary(db, row.number)
    (note,) = (note for note in row.meta["notes"] if "language" in note)
    assert note.startswith("the language of the texts, in Cyrillic letters, was not recognised, so no stop words")


def test_a_language_without_a_list_keeps_all_its_words(db):
    row = imported(db, TEXTS["km"])
    assert "សមុទ្រ" in vocabulary(db, row)
    assert "the texts are in Khmer, and there is no list of stop words for Khmer" in notes(row)
    assert "Khmer has no spaces between words, so they were set apart" in notes(row)


def test_words_that_somebody_set_apart_stay_as_they_are(db):
    apart = "我们的 去 大图书馆 学习 他们 喜欢 大海"
    row = imported(db, *[apart] * 3, stop_words="none")
    assert vocabulary(db, row) == {"我们的", "大图书馆", "学习", "他们", "喜欢", "大海"}
    together = imported(db, TEXTS["zh"], name="pattern", token_pattern=r"\w+", stop_words="none")
    assert "街道尽头的旧图书馆是由从未见过大海的人们建造的" in vocabulary(db, together)


def test_words_without_spaces_are_set_apart_in_texts_that_are_mostly_in_another_language(db):
    row = imported(db, f"{TEXTS['en']} {TEXTS['th']}", f"{TEXTS['en']} {TEXTS['zh']}")
    assert {"ทะเล", "图书馆", "library"} <= vocabulary(db, row)
    assert "the texts are in English; its stop words are left out" in notes(row)


@pytest.mark.parametrize("code", ["zh", "ja", "th", "lo", "km"])
def test_without_the_library_a_text_without_spaces_is_refused_and_nothing_is_stored(db, code, monkeypatch):
    monkeypatch.setattr(languages, "find_spec", lambda name: None)
    with pytest.raises(IngestError, match=r"written without spaces between them: pip install rjieba icu4py"):
        imported(db, TEXTS[code])
    assert corpora.list_corpora(db) == []
    mixed = imported(db, *[TEXTS["en"]] * 9, TEXTS[code][:60])
    assert "of the text is in" in notes(mixed)
    assert "pip install rjieba icu4py" in notes(mixed)


def test_dictionary_forms_are_those_of_the_language(db, monkeypatch):
    row = imported(db, TEXTS["de"], lemmas=True)
    assert vocabulary(db, row) >= {"brief", "schiff", "bauen", "schreiben"}
    assert "words are counted in their dictionary form in German" in notes(row)
    with pytest.raises(IngestError, match="is in Thai, whose dictionary forms are not known; leave --lemmas out"):
        imported(db, TEXTS["th"], name="thai", lemmas=True)
    monkeypatch.setattr("topiary.app.ingest.text.languages.find_spec", lambda name: None)
    with pytest.raises(IngestError, match="pip install simplemma"):
        imported(db, TEXTS["de"], name="missing", lemmas=True)


def test_phrases_are_found_named_and_counted_as_one_word(db):
    draw = random.Random(1)
    others = ["plum", "pear", "rose", "hedge", "lawn", "soil", "seed", "flower"]
    texts = [" ".join([*draw.choices(others, k=6), "new york", *draw.choices(others, k=6)]) for _ in range(30)]
    row = imported(db, *texts, phrases=True)
    assert {"new", "york"}.isdisjoint(vocabulary(db, row))
    assert "new_york" in vocabulary(db, row)
    assert "1 phrase is counted as one word: new_york" in notes(row)
    rare = imported(db, *texts, name="rare", phrases=True, phrase_count=31)
    assert "new_york" not in vocabulary(db, rare)
    assert "no two words belong together closely enough" in notes(rare)
    assert imported(db, *texts, name="loose", phrases=True, phrase_npmi=0.01, phrase_count=2).words > row.words
    for wrong in ({"phrase_npmi": 0.5}, {"phrases": True, "phrase_npmi": 2.0}, {"phrases": True, "phrase_count": 1}):
        with pytest.raises(OptionError, match="phrase"):
            ImportOptions(**wrong)


def test_pages_and_mail_are_read_for_what_people_wrote(db):
    page = "<html><style>plum{}</style><p>Caf&eacute; rose</p></html>"
    mail = "From: ann@b.c\nSubject: hedge\nDate: Monday\n\n> quoted words\nPruning.\n--\nSigned"
    row = imported(db, page, mail, stop_words="none", strip_mail=True)
    assert vocabulary(db, row) == {"café", "rose", "hedge", "pruning"}
    assert "1 document is a page in HTML, read without tags, scripts and styles" in notes(row)
    assert "mail headers, quoted lines and signatures were left out of 1 document" in row.meta["notes"]
    whole = imported(db, page, mail, name="whole", stop_words="none", html="no")
    assert vocabulary(db, whole) >= {"plum", "monday", "quoted", "signed"}
    assert [document.text for document in corpora.read_documents(db, row.number, [0, 1])] == [page, mail]


def test_words_that_are_everywhere_are_proposed_and_left_out_where_that_is_asked_for(db):
    draw = random.Random(1)
    words = [f"{a}{b}" for a in "bcdfg" for b in ("ana", "onu", "ilo", "ero")]
    texts = [" ".join(["organization", *draw.choices(words, k=3)]) for _ in range(250)]
    row = imported(db, *texts)
    assert "1 word is everywhere in this corpus and may say little (organization); --leave-out-common" in notes(row)
    less = imported(db, *texts, name="less", leave_out_common=True)
    assert "may say little" not in notes(less)
    assert "; then: " in notes(row)
    assert "organization" not in vocabulary(db, less)
    assert "may say little" not in notes(imported(db, *texts[:199], name="few"))


def test_messages_are_recognised_and_the_option_for_them_is_recommended_with_its_effect(tmp_path):
    draw = random.Random(2)
    subjects = ["rose", "hedge", "pond", "fence", "lawn", "shed"]
    header = "From: {}@b.c\nSubject: {}\nNntp-Posting-Host: b.c\n\n> quoted\n{} grows.\n--\nAnn, Inc."
    mails = [header.format(n, *draw.choices(subjects, k=2)) for n in range(40)]
    path = tmp_path / "mails.jsonl"

    def inspected(texts, **options):
        path.write_text("\n".join(json.dumps({"text": text}) for text in texts), encoding="utf-8")
        return inspect_path(path, ImportOptions(stop_words="none", max_df=1.0, **options))

    report = inspected([*mails, *subjects])
    (advice,) = report.recommended
    assert advice[:4] == ("strip_mail", 40, 46, ())
    assert {"quoted", "nntp", "inc"} <= set(advice.before)
    assert not {"quoted", "nntp", "inc"} & set(advice.after)
    assert "hedge" in advice.after
    assert any(note.startswith("these look like messages: 40 of 46 documents") for note in report.notes)
    assert Report.from_json(json.loads(json.dumps(report.to_json()))).recommended == report.recommended
    taken = inspected([*mails, *subjects], strip_mail=True)
    assert taken.recommended == report.recommended
    assert not any("these look like messages" in note for note in taken.notes)
    assert inspected([*mails[:9], *subjects * 2]).recommended == ()  # messages are not the rule


@pytest.mark.parametrize("option", [{"phrases": True}, {"lemmas": True}, {"strip_mail": True}, {"html": "yes"}])
def test_counts_have_no_words_to_find_in_texts(option, tmp_path: Path, db):
    path = tmp_path / "a.svmlight"
    path.write_text("1 1:2 2:1\n0 1:1\n")
    (tmp_path / "vocabulary.txt").write_text("rose\nhedge\n")
    name = next(iter(option)).replace("_", "-")
    with pytest.raises(IngestError, match=f"holds counts, .*leave --{name} out"):
        import_path(db, path, ImportOptions(**option))


@pytest.mark.parametrize(
    "options",
    [{}, {"phrases": True, "phrase_count": 2, "phrase_npmi": 0.1}, {"lemmas": True}, {"strip_mail": True},
     {"phrases": True, "phrase_count": 2, "lemmas": True, "strip_mail": True}, {"html": "yes"}],
)  # fmt: skip
def test_texts_that_come_later_are_counted_as_the_corpus_counted_its_own(db, options):
    page = "<html><p>The rose gardens of <i>New</i> York</p><p>New York &amp; roses</p></html>"
    mail = "From: ann@b.c\nSubject: The New York garden\n\n> quoted\nIn New York the roses grow.\n--\nSigned"
    accents = "Cafe\u0301 in New York, com\u00adputer İstanbul"
    texts = [TEXTS[code] for code in ("en", "de", "zh", "ja", "th", "ar", "hi")] + [page, mail, accents] * 3
    if options.get("lemmas"):
        texts = texts[:2] + texts[7:]
    row = imported(db, *texts, **options)
    rules = find_rules(row.meta, row.kind, corpora.read_vocabulary(db, row.number))
    stored = corpora.load_corpus(db, row.number).counts
    for document in corpora.read_documents(db, row.number, range(row.documents)):
        cells = slice(*stored.starts[document.number : document.number + 2])
        text = rules.wording.prepare_text(document.text)
        again = rules.count(text)
        assert again.words.tolist() == stored.words[cells].tolist()
        assert again.counts.tolist() == stored.values[cells].tolist()
        assert again.known == again.tokens
        assert sum(again.counts) == len(again.spans)
        for begin, end, word in again.spans:
            assert text[begin].lower()[0] == rules.vocabulary[word][0] or options.get("lemmas")
            assert 0 <= begin < end <= len(text)


def test_a_survey_of_many_documents_says_how_far_it_is(db):
    said = []
    import_texts(db, ["rose hedge"] * 2_000, options=ImportOptions(**KEPT, phrases=True),
                 progress=lambda words, share: said.append(words))  # fmt: skip
    assert "Recognising the language: 2,000 documents" in said
    assert "Looking for phrases: 2,000 documents" in said
    ignore_progress("", None)


FRUIT_TEXTS = ["Apple pear, the APPLE", "", "the and", "fig pear fig fig", "naïve quince"]


def documents(texts: list[str]) -> Iterator[TextDocument]:
    return (TextDocument(text, f"title {n}", "label", 0, {"more": "x"}) for n, text in enumerate(texts))


def counted(document: TextDocument) -> str:
    return clean_text(document.text)


def test_bags_have_the_counts_of_scikit_learn() -> None:
    wording = Wording(pattern=make_word_pattern(), stop_words=("en",))
    found = vectorise.count_bags(list(documents(FRUIT_TEXTS)), counted, wording)
    vectoriser = CountVectorizer(analyzer=lambda text: wording.tokens(clean_text(text)))
    expected = vectoriser.fit_transform(FRUIT_TEXTS)
    shape = (found.counts.n_documents, len(found.words))
    matrix = sparse.csr_matrix((found.counts.values, found.counts.words, found.counts.starts), shape)
    order = np.argsort(found.words)
    assert np.array(found.words)[order].tolist() == vectoriser.get_feature_names_out().tolist()
    np.testing.assert_array_equal(matrix[:, order].toarray(), expected.toarray())
    assert found.stopped == {"the": 2, "and": 1}


def test_a_batch_is_bounded_in_documents_and_letters_and_has_only_what_words_are_found_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(vectorise, "DOCUMENTS", 3)
    monkeypatch.setattr(vectorise, "LETTERS", 10)
    found = list(vectorise.batch_documents(documents(["a"] * 4 + ["b" * 9] * 3 + ["c" * 50, "d"])))
    assert [[each.text[0] for each in batch] for batch in found] == [["a"] * 3, ["a", "b"], ["b", "b"], ["c"], ["d"]]
    assert found[0][0] == TextDocument("a", "title 0")


def test_runs_are_those_of_the_wording_and_a_word_travels_once() -> None:
    wording = Wording(pattern=make_word_pattern(), stop_words=("en",))
    texts = ["new york, the new york times"] * 50
    found = vectorise.find_runs(list(documents(texts)), counted, wording)
    assert found == [[["new", "york"], ["new", "york", "times"]]] * 50
    assert pickle.dumps(found).count(b"york") == 1


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
