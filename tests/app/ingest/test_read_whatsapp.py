"""Chats as phones of several countries export them."""

# ruff: noqa: E501 - samples as they are written elsewhere

from pathlib import Path

import pytest
from ingest_samples import write

from app.ingest.importing import read_source
from app.ingest.readers import text_kinds
from app.ingest.source import TextDocument, TextSource


def messages(path: Path) -> tuple[TextSource, list[TextDocument]]:
    source = read_source(path)
    assert isinstance(source, TextSource)
    return source, list(source.documents())


def test_messages_go_on_over_lines_and_what_is_no_message_is_left_out_and_counted(tmp_path: Path) -> None:
    chat = (
        "\u200e[12.03.21, 14:05:11] Sea Club: \u200eMessages and calls are end-to-end encrypted.\r\n"
        "[12.03.21, 14:05:12] Ann: The ferry\r\nis late: again\r\n\r\nand full\r\n"
        "\u200e[12.03.21, 14:06:00] Bo Öst: \u200eimage omitted\r\n[12.03.21, 14:06:30] Ann changed the subject\r\n"
        "[12.03.21, 14:07:00] ~\u202fBo Öst: fine\r\n"
    )
    source, (one, other) = messages(write(tmp_path / "_chat.txt", chat))
    assert (one.text, one.label) == ("The ferry\nis late: again\n\nand full", "Ann")
    assert one.columns == {"author": "Ann", "date": "12.03.21 14:05:12"}
    assert (other.text, other.label, other.titled) == ("fine", "Bo Öst", False)
    assert source.notes == ["left out of the chat: 2 pictures, recordings and the like, 1 message of WhatsApp itself"]
    assert source.understood["guess"] == "every message is a document of its own, and its author the label"


@pytest.mark.parametrize(
    ("stamp", "date"),
    [
        ("3/12/21, 2:06\u202fPM - ", "3/12/21 2:06 PM"), ("[3/12/21, 2:05:11 PM] ", "3/12/21 2:05:11 PM"),
        ("12.03.21, 14:05 - ", "12.03.21 14:05"), ("12/3/21 14:05 - ", "12/3/21 14:05"),
        ("12/3/21, 2:05 p.\u00a0m. - ", "12/3/21 2:05 p. m."), ("12-03-2021 14:05 - ", "12-03-2021 14:05"),
        ("2021-03-12, 14:05 - ", "2021-03-12 14:05"), ("12/03/2021 à 14:05 - ", "12/03/2021 à 14:05"),
        ("12.3.2021 klo 14.05 - ", "12.3.2021 klo 14.05"), ("[2021/3/12 下午2:05:11] ", "2021/3/12 下午2:05:11"),
        ("\u200f12\u200f/3\u200f/2021, 2:05 م - ", "12/3/2021 2:05 م"), ("[2021. 3. 12. 오후 2:05:11] ", "2021. 3. 12. 오후 2:05:11"),
    ],
)  # fmt: skip
def test_a_message_of_any_country_has_its_author_and_date(stamp: str, date: str, tmp_path: Path) -> None:
    chat = "".join(f"{stamp}{name}: hello {name}\n" for name in ("Ann", "+91 98765 43210", "Ann"))
    _, found = messages(write(tmp_path / "WhatsApp Chat with Ann.txt", chat))
    assert [(each.label, each.text, each.columns["date"]) for each in found] == [
        (name, f"hello {name}", date) for name in ("Ann", "+91 98765 43210", "Ann")
    ]


@pytest.mark.parametrize(
    "line", ["2021-03-12 14:05:01,123 - root: starting", "3/12/21 - Ann: hello", "14:05 - Ann: hello"]
)
def test_logs_and_the_like_are_no_chats(line: str) -> None:
    assert text_kinds.find_kind_of_text(f"{line}\n" * 5) is None


def test_several_chats_are_told_apart_by_a_column(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / f"{name}.txt", "".join(f"12.03.21, 14:0{n} - Ann: hello\n" for n in range(3)))
    assert [message.columns["chat"] for message in messages(tmp_path)[1]] == ["one"] * 3 + ["two"] * 3
