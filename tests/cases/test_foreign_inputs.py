"""Inputs as other programs write them are read as what they are."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from foreign_samples import CASES, COUNTS, LOOKALIKES, SENTENCES, Files, Foreign, write_files
from office_samples import tei

from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.importing import inspect_path, read_source
from topiary.app.ingest.new_documents import clean_with_places
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.registry import choose_reader
from topiary.app.ingest.source import CountSource, TextDocument, TextSource
from topiary.app.ingest.tables.sniff import advise_export, advise_exports
from topiary.app.ingest.text.encodings import are_garbled
from topiary.app.ingest.text.words import Wording
from topiary.app.ingest.vectorise import find_wording

REPOSITORY = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("TOPIARY_SHARED_CASES", REPOSITORY.parent / "shared" / "cases"))


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_foreign_texts_have_their_documents_labels_and_columns(case: Foreign, tmp_path: Path) -> None:
    source = read_source(write_files(tmp_path, case.files))
    assert isinstance(source, TextSource)
    documents = sorted(source.documents(), key=lambda document: document.title)
    columns = {name for document in documents for name in document.columns} | set(
        source.columns.roles if source.columns else ()
    )
    assert len(documents) == case.documents
    assert {document.label for document in documents if document.label} >= case.labels
    assert case.columns <= columns
    assert any(case.text in " ".join(document.text.split()) for document in documents)
    assert not case.title or documents[0].title == case.title


@pytest.mark.parametrize("files", COUNTS.values(), ids=list(COUNTS))
def test_foreign_counts_are_counts(files: Files, tmp_path: Path) -> None:
    source = read_source(write_files(tmp_path, files))
    assert isinstance(source, CountSource)
    assert (source.n_documents, len(source.vocabulary)) == (4, 24)
    assert sum(int(rows.counts.values.sum()) for rows in source.blocks()) == 4 * 21


@pytest.mark.parametrize("name", LOOKALIKES)
def test_what_only_looks_like_such_an_input_is_read_as_before(name: str, tmp_path: Path) -> None:
    files, form, n_documents = LOOKALIKES[name]
    path = write_files(tmp_path, files)
    reader = choose_reader(path, ImportOptions())
    source = reader.read(path, ImportOptions())
    assert isinstance(source, TextSource)
    assert (reader.name, len(list(source.documents()))) == (form, n_documents)


def find_words(*texts: str) -> list[set[str]]:
    """The words of each text by the rules found for all of them."""
    documents = [TextDocument(text, "title") for text in texts]
    source = TextSource(where="here", documents=lambda: iter(documents))
    wording, _, _ = find_wording(source, ImportOptions(stop_words="none"), lambda *_: None)
    return [set(wording.tokens(wording.clean_document(document, source.counted))) for document in documents]


def test_a_capital_i_has_no_dot_in_turkish_texts_alone() -> None:
    turkish = "ISPANAK FİYATI ARTTI, IŞIK söndü: pazarda ıspanak fiyatı arttı ve ışık söndü çünkü soğuk"
    english = "In Istanbul I saw the IRON bridge, and İzmir was INVITING in the long light of that evening by the sea"
    words = find_words(*[turkish] * 4, english)
    assert {"ıspanak", "ışık", "fiyatı"} <= words[0]
    assert not {"ispanak", "işik", "isik"} & words[0]
    assert {"istanbul", "iron", "inviting", "in"} <= words[4]
    assert "iron" in find_words(*[english] * 9, turkish)[0]


def test_the_places_of_words_stay_when_capitals_lose_their_dots() -> None:
    wording = Wording(pattern=r"\w+", dotless="all")
    text = "IŞIK İZMİR <IMG>"
    lower = wording.lower_capitals(text)
    assert (lower, len(lower)) == ("ıŞıK iZMiR <IMG>", len(text))
    assert clean_with_places(lower)[0].split() == ["ışık", "izmir"]


OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # how files of old Office programs begin


@pytest.mark.parametrize(
    ("name", "raw", "said"),
    [
        ("a.xls", OLD, ".xlsx or .csv"), ("a.xls", b"PK\3\4", "rename it to .xlsx"), ("a.doc", OLD, ".docx"),
        ("a.xls", b"<html><table>", "open it there"), ("a.xls", b"id\ttext\n1\tsea\n", "rename it to .csv"),
        ("a.DOC", OLD, ".docx"), ("a.sav", b"$FL2@(#)", "SPSS"), ("a.dta", b"<stata_dta>", "Stata"),
        ("a.rds", b"\x1f\x8b", "write.csv"), ("a.db", b"SQLite format 3\0", "export the table"),
        ("a.ods", b"PK\3\4", ".xlsx"), ("a.sas7bdat", b"\0\0", "SAS"), ("a.msg", b"\xd0\xcf\x11\xe0", ".eml"),
        ("unknown", b"SQLite format 3\0", "database"),
        ("a.pages", b"PK\3\4", ".docx"), ("a.key", b"PK\3\4", ""),
    ],
)  # fmt: skip
def test_files_of_other_programs_are_refused_with_what_to_do(name: str, raw: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(raw)
    advice = advise_export(path)
    assert said in advice
    assert bool(said) == bool(advice)
    if said:
        for options in (ImportOptions(), *([ImportOptions(format="csv")] if b"\0" in raw else [])):
            with pytest.raises(IngestError) as refused:
                choose_reader(path, options)
            assert refused.value.cause == advice
        assert name == "unknown" or advise_exports([path, Path("b.unknown")])


@pytest.mark.parametrize("places", [("{n}.xml", "{n}.txt"), ("tei/{n}.xml", "txt/{n}.txt"), ("{n}.txt", "{n}.srt")])
def test_a_text_in_two_formats_is_read_once(places: tuple[str, str], tmp_path: Path) -> None:
    write = {
        ".xml": lambda text: tei(f"<p>{text}</p>"),
        ".txt": str,
        ".srt": lambda text: f"1\n00:00:01,000 --> 00:00:09,000\n{text}\n",
    }
    files: Files = {
        place.format(n=n): write[Path(place).suffix](text) for place in places for n, text in enumerate(SENTENCES)
    }
    source = read_source(write_files(tmp_path, files))
    assert isinstance(source, TextSource)
    documents = list(source.documents())
    assert len(documents) == 4
    assert {document.label for document in documents} == {None}
    first, second = (Path(place).suffix for place in places)
    assert any(f"4 texts are there as {first} and as {second}" in note for note in source.notes)


def test_the_kind_of_a_message_that_has_no_text_is_no_label(tmp_path: Path) -> None:
    messages: list[dict[str, Any]] = []
    for n, text in enumerate(SENTENCES * 3):
        said = {"type": "message", "from": ["Ann", "Bo", "Cy"][n % 3], "text": [text, {"type": "bold", "text": "!"}]}
        messages += [{"id": 2 * n, **said}, {"id": 2 * n + 1, "type": "service", "actor": "Ann", "text": ""}]
    path = tmp_path / "result.json"
    path.write_text(json.dumps({"name": "Club", "type": "private_group", "messages": messages}))
    source = read_source(path)
    assert isinstance(source, TextSource)
    assert source.columns is not None
    assert source.columns.roles["from"] == "label"


BOMB = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "ha" * 10}">' for n in range(9))


@pytest.mark.parametrize(
    ("entity", "said"), [(BOMB, "expand beyond all bounds"), ("", "uses the entity &e8;")], ids=["bomb", "undefined"]
)
def test_files_refused_for_their_entities_say_so(entity: str, said: str, tmp_path: Path) -> None:
    page = '<!DOCTYPE TEI SYSTEM "tei.dtd" [{}]><TEI><text><body><p>sea &e8;</p></body></text></TEI>'
    for n in range(6):
        (tmp_path / f"{n}.xml").write_text(page.format(entity))
    with pytest.raises(IngestError, match=rf"{said}.*and 5 more files"):
        inspect_path(tmp_path)


def test_right_letters_stay_where_a_few_look_garbled() -> None:
    assert not are_garbled(["größer, »Spaß«", "schöner"])
    assert not are_garbled(["LIBERTÉ»", "ÉGALITÉ", "forêt"])


@pytest.mark.data
@pytest.mark.parametrize(
    ("case", "form", "documents", "classes", "kinds"),
    [
        ("orange_tab_three_lines/data/notes.tab", "csv", 30, 3, {}),
        ("mail_without_from_line/data", "mail", 30, 2, {"date": "date"}),
        ("mixed_endings/data", "text", 60, 2, {}),
        ("mojibake_messenger/data/message_1.json", "json", 30, 2, {}),
        ("captions_json_folder/data", "captions", 30, 0, {}),
        ("iramuteq_stars/data/corpus.txt", "iramuteq", 30, 3, {"year": "date"}),
        ("json_sidecars/data", "text", 30, 2, {"year": "date", "name": "category"}),
        ("short_month_year/data/months.csv", "csv", 30, 0, {"date": "date"}),
        ("short_month_year/data/quarter.csv", "csv", 30, 0, {"date": "date"}),
        ("word_count_files/jstor", "wordcounts", 60, 0, {}),
        ("turkish_capital_i/data/haber.json", "json", 27, 0, {}),  # three have no word that the others lack
    ],
)
def test_the_shared_cases_are_read_right(
    case: str, form: str, documents: int, classes: int, kinds: dict[str, str]
) -> None:
    if not (SHARED / case).exists():
        pytest.skip(f"needs the shared cases at {SHARED}; set TOPIARY_SHARED_CASES to where they are")
    report = inspect_path(SHARED / case)
    assert (report.format, report.documents, report.classes) == (form, documents, classes)
    assert kinds.items() <= report.kinds.items()
