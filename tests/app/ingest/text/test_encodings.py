"""Encodings: marks and UTF-8 first, a guess only where that fails, and every guess said."""

from pathlib import Path

import pytest
from ingest_samples import everything, write

from topiary.app.ingest import packing
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.importing import import_path, read_source
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.source import TextSource
from topiary.app.ingest.text import encodings
from topiary.store.database import Database

TEXTS = {
    "fr": "L'été dernier, nous avons mangé des crêpes à la crème près de l'hôtel où naît la forêt; c'était délicieux.",
    "de": "Die Straße über den Fluß führt zum schönen Schloß; Ärger mit Öl und Übermut gab es dort häufig.",
    "ru": "Съешь ещё этих мягких французских булок, да выпей чаю. Однажды весною, в час небывало жаркого заката.",
    "pl": "Zażółć gęślą jaźń, a wtedy ćwierć łąki będzie świeża. Wieczorem poszliśmy nad rzekę, żeby zobaczyć łódź.",
    "el": "Η γρήγορη καφέ αλεπού πήδηξε πάνω από τον τεμπέλη σκύλο και έφυγε προς το δάσος.",
    "ja": "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。",
    "zh": "我们昨天去了市场买了很多水果，今天天气很好，大家都很高兴。",
    "ko": "우리는 어제 시장에 가서 과일을 많이 샀다. 오늘 날씨가 좋다.",
    "ar": "ذهبنا إلى السوق أمس واشترينا الكثير من الفاكهة. الطقس جميل اليوم.",
}


@pytest.mark.parametrize(
    ("language", "encoding"),
    [
        ("fr", "cp1252"), ("fr", "latin-1"), ("fr", "cp850"), ("fr", "mac_roman"), ("de", "cp1252"), ("ru", "cp1251"),
        ("ru", "koi8-r"), ("ru", "cp866"), ("ru", "iso8859-5"), ("pl", "cp1250"), ("pl", "iso8859-2"), ("el", "cp1253"),
        ("el", "iso8859-7"), ("ja", "shift_jis"), ("ja", "euc_jp"), ("zh", "gb18030"), ("zh", "gbk"), ("ko", "euc_kr"),
        ("ar", "cp1256"), ("fr", "utf-8"), ("ru", "utf-8-sig"), ("zh", "utf-16"), ("fr", "utf-16-le"),
        ("de", "utf-16-be"), ("fr", "utf-32"),
    ],
)  # fmt: skip
def test_usual_encodings_are_found_and_said(language: str, encoding: str, tmp_path: Path) -> None:
    text = TEXTS[language]
    path = write(tmp_path / "a.txt", (f"{text}\n" * 3).encode(encoding))
    source = read_source(path)
    assert isinstance(source, TextSource)
    assert [document.text for document in source.documents()] == [text] * 3
    guessed = "utf-8" not in encoding and encoding not in ("utf-16", "utf-32")
    assert bool(source.notes) == guessed
    assert ("guess" in source.understood["encoding"] or "zero" in source.understood["encoding"]) == guessed
    if guessed:
        assert "is not UTF-8 and read as" in source.notes[0]
        assert source.notes[0].endswith("--encoding names another")


def test_a_given_encoding_is_taken_at_its_word(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "Ä und Ö".encode("cp1252"))
    source = read_source(path, ImportOptions(encoding="cp1251"))
    assert isinstance(source, TextSource)
    assert [document.text for document in source.documents()] == ["Д und Ц"]
    assert source.understood["encoding"] == "CP1251 (as given)"


def test_few_letters_are_no_evidence_and_read_as_is_usual(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", b"plain words\n" * 90 + b"caf\xe9\n")
    source = read_source(path)
    assert isinstance(source, TextSource)
    assert [document.text for document in source.documents()][-1:] == ["café"]
    assert source.understood["encoding"] == "CP1252 (a guess from few letters, for it is not UTF-8)"


@pytest.mark.parametrize("bad", [b"\xff", b"\xe9 "])
def test_damaged_utf8_is_refused_and_not_guessed_at(bad: bytes, tmp_path: Path, db: Database) -> None:
    before = everything(db)
    raw = (TEXTS["fr"] + "\n").encode() + b"x" + bad + b"\n"
    path = write(tmp_path / "a.txt", raw)
    with pytest.raises(IngestError, match=r"line 2: byte \d+ of the file .0x.*. is not UTF-8"):
        import_path(db, path)
    assert everything(db) == before


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", bytes(range(256)) * 20)
    with pytest.raises(IngestError, match="is not UTF-8"):
        list(packing.read_lines(path))


def test_the_first_doubtful_letter_may_come_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "CHUNK", 1_000)
    path = write(tmp_path / "a.txt", b"plain words here\n" * 1_000 + (TEXTS["ru"] + "\n").encode("koi8-r"))
    assert packing.find_encoding(path, "utf-8") == encodings.Encoding(
        "koi8_r", "a guess from its letters, for it is not UTF-8", guessed=True
    )


def test_a_file_that_changed_is_looked_at_again(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", (TEXTS["ru"] + "\n").encode("koi8-r"))
    assert packing.find_encoding(path, "utf-8").name == "koi8_r"
    write(path, "tea\n")
    assert packing.find_encoding(path, "utf-8").name == "utf-8"


def test_texts_of_a_folder_are_each_read_as_their_letters_suggest(tmp_path: Path) -> None:
    for name, language, encoding in (("a", "ru", "koi8-r"), ("b", "fr", "cp1252"), ("c", "fr", "utf-16-le")):
        write(tmp_path / f"{name}.txt", TEXTS[language].encode(encoding))
    write(tmp_path / "d.txt", b"caf\xe9")
    source = read_source(tmp_path)
    assert isinstance(source, TextSource)
    assert {document.text for document in source.documents()} == {TEXTS["ru"], TEXTS["fr"], "café"}
    assert sorted(note.rpartition(": ")[2] for note in source.notes) == [
        "read as CP1252", "read as KOI8-R",
    ]  # fmt: skip


MORE_TEXTS = {
    "uk": "Стара бібліотека в кінці вулиці була побудована людьми, які ніколи не бачили моря. Їжак і ґава живуть тут.",
    "bg": "Старата библиотека в края на улицата беше построена от хора, които никога не бяха виждали морето.",
    "kk": "Көшенің соңындағы ескі кітапхананы теңізді ешқашан көрмеген адамдар салған. Біз үйге қайтып келдік.",
    "be": "Старая бібліятэка ў канцы вуліцы была пабудавана людзьмі, якія ніколі не бачылі мора.",
    "hu": "Az utca végén álló régi könyvtárat olyan emberek építették, akik soha nem látták a tengert. Őszintén jó.",
    "tr": "Sokağın sonundaki eski kütüphane, denizi hiç görmemiş olan insanlar tarafından yapıldı. İlk gemi geldi.",
    "lt": "Seną biblioteką gatvės gale pastatė žmonės, kurie niekada nebuvo matę jūros. Žąsys ėjo į ūkį.",
    "he": "הספרייה הישנה בסוף הרחוב נבנתה על ידי אנשים שלא ראו את הים מעולם.",
    "es": "Leían lo que los marineros habían escrito sobre él. ¿Mañana también? ¡Sí, señor! Había una canción.",
}


@pytest.mark.parametrize(
    ("language", "encoding"),
    [
        ("ar", "iso8859-6"), ("uk", "koi8-u"), ("uk", "cp1251"), ("uk", "cp866"), ("bg", "cp1251"), ("kk", "kz1048"),
        ("be", "cp1251"), ("hu", "cp1250"), ("tr", "cp1254"), ("lt", "cp1257"), ("he", "cp862"), ("es", "cp850"),
        ("es", "mac_roman"), ("es", "cp1252"),
    ],
)  # fmt: skip
def test_a_text_is_read_in_the_encoding_in_which_it_has_letters_and_words_of_a_language(
    language: str, encoding: str
) -> None:
    text = MORE_TEXTS.get(language) or TEXTS[language]
    raw = text.encode(encoding, "ignore")
    assert raw.decode(encodings.replace_encoding(raw, "utf-8", "latin-1")) == raw.decode(encoding)


def folder_of(folder: Path, pieces: list[str], encoding: str) -> Path:
    for number, piece in enumerate(pieces):
        write(folder / f"{number:02}.txt", piece.encode(encoding))
    return folder


@pytest.mark.parametrize(("language", "encoding"), [("ar", "iso8859-6"), ("es", "cp850"), ("kk", "kz1048")])
def test_files_too_short_to_tell_are_read_as_all_of_them_tell(language: str, encoding: str, tmp_path: Path) -> None:
    words = (MORE_TEXTS.get(language) or TEXTS[language]).encode(encoding, "ignore").decode(encoding).split()
    pieces = [" ".join(words[n : n + 3]) for n in range(0, len(words) - 2, 2)]
    source = read_source(folder_of(tmp_path / "in", pieces, encoding))
    assert isinstance(source, TextSource)
    assert {document.text for document in source.documents()} == set(pieces)
    assert "guess from the letters of all" in source.understood["encoding"]


def test_a_file_of_another_language_keeps_an_encoding_of_its_own(tmp_path: Path) -> None:
    folder_of(tmp_path / "in", [TEXTS["ru"][:60], TEXTS["ru"][20:80], TEXTS["ru"]], "cp1251")
    french = TEXTS["fr"] * 3
    write(tmp_path / "in" / "fr.txt", french.encode("cp1252"))
    source = read_source(tmp_path / "in")
    assert isinstance(source, TextSource)
    assert {TEXTS["ru"], french} < {document.text for document in source.documents()}
    assert "CP1251" in source.understood["encoding"]
    assert "CP1252" in source.understood["encoding"]
