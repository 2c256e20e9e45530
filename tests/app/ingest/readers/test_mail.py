"""Mail: what of a message is its text, and where one message ends."""

from email.message import EmailMessage
from pathlib import Path

import pytest
from format_samples import MESSAGE, PAGE
from ingest_samples import write

from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.importing import read_source
from topiary.app.ingest.source import TextDocument, TextSource
from topiary.app.ingest.tables import sniff


def read_mail_messages(path: Path) -> tuple[TextSource, list[TextDocument]]:
    source = read_source(path)
    assert isinstance(source, TextSource)
    return source, list(source.documents())


def mbox(*letters: str) -> str:
    return "".join(f"From someone Mon Jan 1 10:00:00 2024\n{letter}\n" for letter in letters)


def test_subjects_are_titles_and_pages_lose_their_marks_and_attachments_are_left_out(tmp_path: Path) -> None:
    source, (one, other) = read_mail_messages(write(tmp_path / "a.mbox", mbox(MESSAGE, PAGE)))
    assert (one.title, one.text.strip()) == ("Apples and pêars", "red apple\nFrom the tree")
    assert dict(one.columns) == {"from": "Ann <ann@example.org>", "date": "Mon, 1 Jan 2024 10:00:00 +0000"}
    assert (other.title, other.text.strip()) == ("pears", "green apple")
    assert "pêars" in source.counted(one)
    assert other.label is None


def test_a_message_has_its_own_encodings(tmp_path: Path) -> None:
    letter = EmailMessage()
    letter["Subject"] = "Größe"
    letter.set_content("Съешь ещё", charset="koi8-r", cte="base64")
    strange = b"Subject: caf\xe9\nContent-Type: text/plain; charset=no-such\n\ncr\xe8me\n"
    write(tmp_path / "in" / "a.eml", letter.as_bytes())
    write(tmp_path / "in" / "b.eml", strange)
    _, found = read_mail_messages(tmp_path / "in")
    assert [(each.title, each.text.strip()) for each in found] == [("Größe", "Съешь ещё"), ("caf�", "crème")]


def test_folders_are_labels_and_what_is_no_mail_is_told(tmp_path: Path) -> None:
    for name in ("work/a.eml", "home/b.eml"):
        write(tmp_path / name, MESSAGE)
    write(tmp_path / "home" / "notes.txt", "no mail")
    source, found = read_mail_messages(tmp_path)
    assert [each.label for each in found] == ["home", "work"]
    assert source.notes == ["left out what is no mail: 1 .txt"]


def test_several_mailboxes_are_labels_by_their_names(tmp_path: Path) -> None:
    for name in ("one.mbox", "two.mbox"):
        write(tmp_path / name, mbox(MESSAGE))
    assert [each.label for each in read_mail_messages(tmp_path)[1]] == ["one", "two"]


def test_only_a_line_after_an_empty_one_begins_a_message(tmp_path: Path) -> None:
    letter = "Subject: a\n\nwe came\nFrom afar\n\n>From here\n"
    _, found = read_mail_messages(write(tmp_path / "a.mbox", mbox(letter, letter)))
    assert [each.text for each in found] == ["we came\nFrom afar\n\nFrom here\n\n"] * 2


def test_a_message_beyond_all_bounds_is_refused_with_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topiary.app.ingest.readers.mail._LARGEST", 200)
    path = write(tmp_path / "a.mbox", mbox("Subject: a\n\nb\n", "Subject: c\n\n" + "word " * 90))
    with pytest.raises(IngestError, match="line 6: has a message of more than"):
        read_mail_messages(path)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("header", [b"Subject: " + b"=?" * 50_000, b"Content-Type: text/plain; " + b"a=b; " * 50_000])
def test_a_header_of_any_length_is_read_in_no_time(header: bytes, tmp_path: Path) -> None:
    _, (found,) = read_mail_messages(write(tmp_path / "a.eml", header + b"\n\npear\n"))
    assert found.text == "pear\n"
    assert len(found.title) <= 300


def test_a_message_nested_beyond_all_sense_is_refused(tmp_path: Path) -> None:
    parts = "".join(f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(3_000))
    with pytest.raises(IngestError, match="nested too deeply"):
        read_mail_messages(write(tmp_path / "a.eml", parts))


def test_the_archive_of_a_mailing_list_is_mail_by_its_content(tmp_path: Path) -> None:
    letter = "From: ann at example.org (Ann)\nDate: Sat, 1 May 2010\nSubject: [List] storm\n\n"
    letter += "The ferry\n\nFrom here on it rains.\n\n"
    text = f"\n{'From ann at example.org  Sat May  1 10:00:00 2010'}\n{letter}" * 2
    for name in ("2010-May.txt", "2010-June.txt.gz"):
        _, found = read_mail_messages(write(tmp_path / name, text))
        assert [each.title for each in found] == ["[List] storm"] * 2
        assert found[0].text.strip() == "The ferry\n\nFrom here on it rains."
    assert [each.label for each in read_mail_messages(tmp_path)[1]] == ["2010-June"] * 2 + ["2010-May"] * 2


def read_chat_messages(path: Path) -> tuple[TextSource, list[TextDocument]]:
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
    source, (one, other) = read_chat_messages(write(tmp_path / "_chat.txt", chat))
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
        ("\u200f12\u200f/3\u200f/2021, 2:05 م - ", "12/3/2021 2:05 م"),
        ("[2021. 3. 12. 오후 2:05:11] ", "2021. 3. 12. 오후 2:05:11"),
    ],
)  # fmt: skip
def test_a_message_of_any_country_has_its_author_and_date(stamp: str, date: str, tmp_path: Path) -> None:
    chat = "".join(f"{stamp}{name}: hello {name}\n" for name in ("Ann", "+91 98765 43210", "Ann"))
    _, found = read_chat_messages(write(tmp_path / "WhatsApp Chat with Ann.txt", chat))
    assert [(each.label, each.text, each.columns["date"]) for each in found] == [
        (name, f"hello {name}", date) for name in ("Ann", "+91 98765 43210", "Ann")
    ]


@pytest.mark.parametrize(
    "line", ["2021-03-12 14:05:01,123 - root: starting", "3/12/21 - Ann: hello", "14:05 - Ann: hello"]
)
def test_logs_and_the_like_are_no_chats(line: str) -> None:
    assert sniff.find_kind_of_text(f"{line}\n" * 5) is None


def test_several_chats_are_told_apart_by_a_column(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / f"{name}.txt", "".join(f"12.03.21, 14:0{n} - Ann: hello\n" for n in range(3)))
    assert [message.columns["chat"] for message in read_chat_messages(tmp_path)[1]] == ["one"] * 3 + ["two"] * 3
