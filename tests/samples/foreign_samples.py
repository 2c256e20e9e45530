"""Inputs of many programs in the forms in which these write them, each with what is right of it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sample_files import write

WORDS = (
    "ferry harbour storm captain sails anchor", "court verdict appeal witness statute hearing",
    "orchard compost seedling harvest plough meadow", "comet planet orbit telescope eclipse nebula",
)  # fmt: skip
SENTENCES = tuple(f"The {words} came with the rain {place} times, and we saw it." for place, words in enumerate(WORDS))
LABELS = ("sea", "law", "sea", "law")
Files = dict[str, str | bytes]


def write_files(folder: Path, files: Files) -> Path:
    """Write files, and return the only one, or their folder."""
    for name, content in files.items():
        write(folder / name, content)
    return folder / next(iter(files)) if len(files) == 1 else folder


class Foreign(NamedTuple):
    """Files, and what is right of them: documents, the set of labels, and columns or words that must be there."""

    files: Files
    documents: int
    labels: frozenset[str] = frozenset()
    columns: frozenset[str] = frozenset()
    title: str = ""
    text: str = ""


def _case(
    files: Files, documents: int = 4, labels: str = "", columns: str = "", title: str = "", text: str = ""
) -> Foreign:
    return Foreign(files, documents, frozenset(labels.split()), frozenset(columns.split()), title, text)


def _table(heads: list[str], separator: str = "\t", cells: tuple[str, ...] = ("{label}", "{n}", "{text}")) -> str:
    rows = [
        separator.join(cell.format(label=label, n=f"name {n}", text=text) for cell in cells)
        for n, (label, text) in enumerate(zip(LABELS, SENTENCES, strict=True))
    ]
    return "\n".join([*heads, *rows]) + "\n"


_TYPES, _FLAGS = "d\tstring\tstring", "class\tmeta\tmeta include=True"
ORANGE = {
    "three lines": {"a.tab": _table(["Mood\tCaption\tBody", _TYPES, _FLAGS])},
    "long words": {"a.tab": _table(["Mood\tCaption\tBody", "discrete\tstring\tstring", _FLAGS])},
    "listed values, commas, ignored": {
        "a.csv": _table(["Mood,Caption,Body", "sea law,s,s", "class,i,meta"], ",", ("{label}", "{n}", '"{text}"'))
    },
    "prefixes": {"a.tsv": _table(["cD#Mood\tmS#Caption\tmS#Body"])},
    "class last": {
        "a.tab": _table(["Caption\tBody\tMood", "s\ts\td", "m\tmeta\tclass"], cells=("{n}", "{text}", "{label}"))
    },
}

_BODY = "\n\n{text}\n"
_HEADS = (
    "Return-Path: <a@x.org>\nReceived: from x.org by y.org;\n\tMon, 7 May 2001 16:39:00 -0700\nFrom: Ann <a@x.org>\n"
    "Subject: On {n}\nDate: Mon, 7 May 2001 16:39:00 -0700",
    "Delivered-To: b@y.org\nMessage-ID: <{n}@x.org>\nDate: Mon, 7 May 2001 16:39:00 -0700\nFrom: a@x.org\n"
    "Subject: On {n}",
    "Message-ID: <{n}.JavaMail@thyme>\nDate: Mon, 7 May 2001 16:39:00 -0700 (PDT)\nFrom: a@x.org\nTo: b@y.org\n"
    "Subject: On {n}\nMime-Version: 1.0\nX-Folder: \\Ann\\inbox\nX-cc:",
    "Subject: On {n}\nFrom: a@x.org\nTo: b@y.org\nDate: Mon, 7 May 2001 16:39:00 -0700\nContent-Type: text/plain",
)


def _mail(n: int, *, ends: str = "\n") -> bytes:
    text = (_HEADS[n % 4] + _BODY).format(n=n, text=SENTENCES[n % 4])
    return text.replace("\n", ends).encode()


_FROM = b"From a@x.org Mon May  7 16:39:00 2001\n"
MAIL = {
    "any header first": {f"{label}/{n}.txt": _mail(n) for n, label in enumerate(LABELS)},
    "lines of Windows": {f"{label}/{n}.text": _mail(n, ends="\r\n") for n, label in enumerate(LABELS)},
    "numbered, without ending": {f"{label}/{n}.": _mail(n) for n, label in enumerate(LABELS)},
    "hashes as endings": {f"{label}/000{n}.{n}a7ff2b46e6d6a1a9": _mail(n) for n, label in enumerate(LABELS)},
    "some with a line From": {f"{label}/{n}": (_FROM if n % 2 else b"") + _mail(n) for n, label in enumerate(LABELS)},
    "Maildir": {f"{label}/12{n}.M1P2.host:2,S": _mail(n) for n, label in enumerate(LABELS)},
}

_PLAIN = {f"{label}/{n}": text for n, (label, text) in enumerate(zip(LABELS, SENTENCES, strict=True))}
MIXED: dict[str, Files] = {
    "some with an ending": {name + (".txt" if name.endswith("3") else ""): text for name, text in _PLAIN.items()},
    "capital endings": {name + (".TXT" if name.endswith("1") else ".text"): text for name, text in _PLAIN.items()},
    "a read-me file": _PLAIN | {"README.md": "# What this is", "LICENSE": "Use it."},
    "pictures and programs": {
        **_PLAIN,
        "sea/p.jpg": b"\xff\xd8\xff\0",
        "run.py": "print(1)",
        "law/core": b"\x7fELF\0\0",
    },
    "one with an ending": {name + ".md" * (name == "sea/0"): text for name, text in _PLAIN.items()},
}

_FRENCH = (
    "La forêt était mouillée après l'été",
    "Les élèves sont arrivés à l'école très tôt",
    "Le congrès a décidé, déjà 😀",
)


def _garble(text: str, encoding: str = "latin-1") -> str:
    return "".join(bytes([byte]).decode(encoding, "ignore") or chr(byte) for byte in text.encode())


def _messages(texts: tuple[str, ...]) -> str:
    people = [{"sender_name": _garble(f"Zoë {n % 2}"), "timestamp_ms": 1_580_000_000_000 + n, "content": text}
              for n, text in enumerate(texts * 3)]  # fmt: skip
    return json.dumps({"participants": [], "messages": people})


GARBLED: dict[str, Files] = {
    "a messenger": {"message_1.json": _messages(tuple(map(_garble, _FRENCH)))},
    "a table in letters of Windows": {
        "a.csv": "id,text\n" + "".join(f'{n},"{_garble(text, "cp1252")}"\n' for n, text in enumerate(_FRENCH * 3))
    },
    "texts": {f"{n}.txt": _garble(f"{n} {text}", "cp1252") for n, text in enumerate(_FRENCH * 3)},
}


def _cues(text: str, start: str = "start", end: str = "duration", field: str = "text") -> list[dict[str, Any]]:
    words = text.split()
    return [{start: 3.5 * n, end: 3.5, field: " ".join(words[n : n + 4])} for n in range(0, len(words), 4)]


def _each(shape: Any, ending: str = ".json") -> Files:
    return {f"talk{n}{ending}": json.dumps(shape(text)) for n, text in enumerate(SENTENCES)}


def _events(text: str) -> dict[str, Any]:
    pieces = [
        {"tStartMs": 900 * n, "dDurationMs": 900, "segs": [{"utf8": word + " "}]} for n, word in enumerate(text.split())
    ]
    return {"wireMagic": "pb3", "events": [{"tStartMs": 0, "id": 1}, *pieces]}


def _whisper(text: str) -> dict[str, Any]:
    segments = [
        {"id": n, "seek": 0, **cue, "tokens": [1, 2], "temperature": 0.0}
        for n, cue in enumerate(_cues(text, end="end"))
    ]
    return {"text": text, "segments": segments, "language": "en"}


CAPTIONS: dict[str, Files] = {
    "a list": _each(_cues),
    "dur": _each(lambda text: _cues(text, end="dur")),
    "clock times": _each(
        lambda text: [
            {"begin": f"00:00:{n:02d}.000", "end": f"00:00:{n + 1:02d}.000", "text": word}
            for n, word in enumerate(text.split())
        ]
    ),
    "events of YouTube": _each(_events, ".json3"),
    "Whisper": _each(_whisper),
    "chunks": _each(
        lambda text: {
            "text": text,
            "chunks": [{"timestamp": [n, n + 1], "text": word} for n, word in enumerate(text.split())],
        }
    ),
    "snippets": _each(lambda text: {"video_id": "abc", "language": "English", "snippets": _cues(text)}),
    "all in one file": {"all.json": json.dumps({f"talk{n}": _cues(text) for n, text in enumerate(SENTENCES)})},
}

_STARS = tuple(
    f"**** *id_{n} *year_{2001 + n} *theme_{label}\n{text}\nOn and on.\n"
    for n, (label, text) in enumerate(zip(LABELS, SENTENCES, strict=True))
)
STARRED: dict[str, Files] = {
    "one file": {"c.txt": "\n".join(_STARS)},
    "a byte-order mark and lines of Windows": {
        "c.txt": b"\xef\xbb\xbf" + "\n".join(_STARS).replace("\n", "\r\n").encode()
    },
    "Alceste": {"c.txt": "".join(text.replace("****", f"{n:04d}") for n, text in enumerate(_STARS, 1))},
    "themes": {"c.txt": "".join(text.replace("\nOn", "\n-*second\nOn") for text in _STARS)},
    "files of their own": {f"{n}.txt": text for n, text in enumerate(_STARS)},
    "Latin-1": {"c.txt": "\n".join(_STARS).replace("rain", "pluie d'été").encode("latin-1")},
}


def _beside(ending: str, write: Any, name: str = "{n}") -> Files:
    facts = [{"year": 2001 + n, "party": label, "tags": ["a", "b"]} for n, label in enumerate(LABELS)]
    texts: Files = {f"{n}.txt": text for n, text in enumerate(SENTENCES)}
    return texts | {name.format(n=n) + ending: write(each) for n, each in enumerate(facts)}


def _lines(fact: dict[str, Any]) -> str:
    return "".join(f"{name}: {value}\n" for name, value in fact.items())


SIDECARS: dict[str, Files] = {
    "json": _beside(".json", json.dumps),
    "txt.json": _beside(".txt.json", json.dumps),
    "meta.json": _beside(".meta.json", lambda fact: json.dumps({"about": fact})),
    "yaml": _beside(".yaml", _lines),
    "a list of one": _beside(".json", lambda fact: json.dumps([fact])),
    "in a folder": _beside(".json", json.dumps, "metadata/{n}"),
}

_COUNTED = tuple({word: 6 - n for n, word in enumerate(words.split())} for words in WORDS)


def _counts(line: str, head: str = "", name: str = "article-{n}-ngram1.txt") -> Files:
    return {
        name.format(n=n): head + "".join(line.format(word=word, count=count) for word, count in each.items())
        for n, each in enumerate(_COUNTED)
    }


def _tidy(head: str, line: str) -> Files:
    rows = [
        line.format(name=f"work {n}", word=word, count=count)
        for n, each in enumerate(_COUNTED)
        for word, count in each.items()
    ]
    return {"t.csv": head + "".join(rows)}


COUNTS: dict[str, Files] = {
    "tabs": _counts("{word}\t{count}\n"),
    "numbers and signs among the words": _counts("{word}\t{count}\n", "1999\t4\n&\t2\n"),
    "commas below names": _counts("{word},{count}\n", "WORDCOUNTS,WEIGHT\n", "wordcounts_{n}.csv"),
    "blanks": _counts("{word} {count}\n"),
    "pairs": _counts("{word} sea\t{count}\n", name="article-{n}-ngram2.txt"),
    "counts first": _counts("{count:>7} {word}\n"),
    "tidy": _tidy('"book","word","n"\n', '"{name}","{word}",{count}\n'),
    "doc_id, term, count": _tidy("doc_id,term,count\n", "{name},{word},{count}\n"),
    "word first": _tidy("word,document,n\n", "{word},{name},{count}\n"),
    "numbered rows": _tidy(",text,word,n\n", "1,{name},{word},{count}\n"),
    "semicolons": _tidy("Datei;Wort;Anzahl\n", "{name};{word};{count}\n"),
}

_MEMO = "From: Dr. Ann\nTo: the board\nDate: 3 May 2001\nSubject: ferries\n\n{text}\n"
_POST = "From: a@x.org (Ann)\nSubject: ferries\nOrganization: Sea\nLines: 3\n\n{text}\n"
# What looks like an input of these programs and is none: its format, and the number of its documents.
_ENTITIES = [{"text": text, "start": n, "end": n + 5, "label": "x"} for n, text in enumerate(SENTENCES)]
_TIMETABLE = [{"title": "A talk", "start": "10:00", "duration": "00:30", "text": text} for text in SENTENCES]
_ANSWERS = "q1\tq2\tsaid\n" + "".join(f"d\tc\t{text}\n" for text in SENTENCES)
_NUMBERED = {f"{n}.txt": text for n, text in enumerate(SENTENCES)}
LOOKALIKES: dict[str, tuple[Files, str, int]] = {
    "answers that are letters": ({"a.tab": _ANSWERS}, "csv", 4),
    "memos": ({name: _MEMO.format(text=text) for name, text in _NUMBERED.items()}, "text", 4),
    "posts": ({name: _POST.format(text=text) for name, text in _NUMBERED.items()}, "text", 4),
    "entities": ({"a.json": json.dumps(_ENTITIES)}, "json", 4),
    "a timetable": ({"a.json": json.dumps(_TIMETABLE)}, "json", 4),
    "asterisks between scenes": ({"a.txt": "".join(f"{text}\n****\n" for text in SENTENCES)}, "lines", 8),
    "other texts of the same names": (
        _NUMBERED | {f"{n}.md": f"Nothing alike number {n}" for n in range(4)},
        "text",
        8,
    ),
    "numbers under numbers": ({f"{n}.txt": "1990\t3\n1991\t5\n1992\t4\n" for n in range(4)}, "text", 4),
}


_TALK = " ".join(SENTENCES[0].split()[:6])


def _name_cases(kind: str, cases: Mapping[str, Files], **right: Any) -> dict[str, Foreign]:
    return {f"{kind}, {name}": _case(files, **right) for name, files in cases.items()}


CASES: dict[str, Foreign] = {
    **_name_cases("Orange", ORANGE, labels="sea law", title="name 0", text="ferry"),
    **_name_cases("mail", MAIL, labels="sea law", columns="from date", text="ferry"),
    **_name_cases("endings", MIXED, labels="sea law", columns="file", text="ferry"),
    **_name_cases("garbled", GARBLED, documents=9, text="forêt était mouillée"),
    **_name_cases("captions", CAPTIONS, columns="file", title="talk0", text=_TALK),
    **_name_cases("stars", STARRED, labels="sea law", columns="id year", text="ferry"),
    **_name_cases("beside", SIDECARS, labels="sea law", columns="year tags", text="ferry"),
}
