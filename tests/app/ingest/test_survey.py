"""What an import recognises and chooses, what it says of it, and what it refuses."""

import json
import pickle
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from language_samples import TEXTS
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from topiary.app.ingest import vectorise
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.importing import ignore_progress, import_path, inspect_path
from topiary.app.ingest.memory import import_texts
from topiary.app.ingest.new_documents import find_rules
from topiary.app.ingest.options import ImportOptions, OptionError
from topiary.app.ingest.report import Report
from topiary.app.ingest.source import TextDocument
from topiary.app.ingest.text import languages
from topiary.app.ingest.text.cleaning import clean_text, make_word_pattern
from topiary.app.ingest.text.words import Wording
from topiary.store import corpora, corpus_rows
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
