"""Sentences about what is probably not as it was meant, and silence about a sound table."""

from collections.abc import Callable
from pathlib import Path

import pytest

from app.ingest.importing import inspect_path
from app.ingest.options import ImportOptions

VOCABULARY = [f"word{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(120)]


def sound(n: int) -> str:
    return " ".join(VOCABULARY[(7 * n + 3 * k) % 120] for k in range(12))


def warnings(tmp_path: Path, body: Callable[[int], str], label: Callable[[int], str], **options: object) -> list[str]:
    path = tmp_path / "notes.csv"
    path.write_text("\n".join(["body,label", *(f"{body(n)},{label(n)}" for n in range(100))]), encoding="utf-8")
    asked = ImportOptions(text_column="body", label_column="label", **options)  # type: ignore[arg-type]
    return list(inspect_path(path, asked).warnings)


def test_a_sound_table_has_no_warnings(tmp_path: Path) -> None:
    assert warnings(tmp_path, sound, lambda n: "ab"[n % 2]) == []


@pytest.mark.parametrize(
    ("body", "label", "said"),
    [
        (lambda n: sound(n % 10), lambda n: "ab"[n % 2], "nine of ten documents have the same content"),
        (lambda n: sound(n) if n % 2 else "", lambda n: "ab"[n % 2], "50 % of the documents are empty"),
        (sound, lambda n: f"label {n}", "the label is another one in every document"),
        (sound, lambda n: f"label {n // 2 * 2 if n > 50 else n}", "the label has 75 values in 100 documents"),
        (sound, lambda _: "a", "the label is 'a' in every document"),
        (lambda n: sound(n) if n < 5 else f"{n}.5", lambda n: "ab"[n % 2], "the text has a number in 95 % of the"),
        (
            lambda n: f"{sound(n)[:24]} {'0123456789' * 4}7",
            lambda n: "ab"[n % 2],
            "two of three characters are not in any word",
        ),
        (lambda n: f"{sound(n)} \ufffd", lambda n: "ab"[n % 2], "the replacement character \ufffd occurs 100 times"),
    ],
)
def test_what_is_odd_is_said(
    tmp_path: Path, body: Callable[[int], str], label: Callable[[int], str], said: str
) -> None:
    found = warnings(tmp_path, body, label, min_df=1, max_df=1.0)
    assert any(warning.startswith(said) for warning in found), found


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_words": 3}, "only 3 different words are kept"),
        ({"max_words": 3}, "the cuts take"),
        ({"max_words": 1, "test_share": 0.5}, "documents have no word that is kept"),
    ],
)
def test_cuts_that_leave_too_little_are_said(tmp_path: Path, options: dict[str, object], said: str) -> None:
    found = warnings(tmp_path, sound, lambda n: "ab"[n % 2], **options)
    assert any(said in warning for warning in found), found


def test_a_handful_of_documents_is_said_to_be_few(tmp_path: Path) -> None:
    path = tmp_path / "notes.csv"
    path.write_text(f"text\n{sound(1)}\n{sound(2)}\n", encoding="utf-8")
    found = inspect_path(path, ImportOptions(min_df=1, max_df=1.0)).warnings
    assert found[0].startswith("there are only 2 documents, and topics are learnt from many")
