"""Tiny files of records about publications, feeds, chats and the like, whole ones and broken ones."""

import json
from collections.abc import Callable
from pathlib import Path

from sample_files import Broken, Sample, cut_short, file_of, write

WORDS = ("red", "green", "red", "green")


def ris_of(number: int, word: str, **more: str) -> str:
    """A record of RIS; more lines by their tags."""
    lines = "".join(f"{tag}  - {said}\n" for tag, said in more.items())
    return (
        f"TY  - JOUR\nAU  - Miller, Ann\nTI  - Notes {number}\nPY  - 199{number}\nAB  - apple {word}\n{lines}ER  - \n\n"
    )


def ris(folder: Path) -> Path:
    return write(folder / "export.ris", "".join(ris_of(n, word) for n, word in enumerate(WORDS)))


def wos(folder: Path) -> Path:
    records = "".join(
        f"PT J\nAU Miller, A\n   Brown, B\nTI Notes {n}\nSO {'AB'[n % 2]}\nAB apple\n   {word}\nPY 199{n}\nER\n\n"
        for n, word in enumerate(WORDS)
    )
    return write(folder / "savedrecs.txt", f"\ufeffFN Clarivate Analytics Web of Science\nVR 1.0\n{records}EF")


def medline(folder: Path) -> Path:
    records = (
        f"PMID- {n}\nOWN - NLM\nTI  - Notes\n      {n}\nAB  - apple\n      {word}\n" for n, word in enumerate(WORDS)
    )
    return write(folder / "pubmed.nbib", "\n".join(records))


def bibtex(folder: Path) -> Path:
    entries = (
        f'@article{{a{n},\n  title = "Notes {{{n}}}",\n  abstract = {{apple\n {word}}},\n  year = 199{n}\n}}\n'
        for n, word in enumerate(WORDS)
    )
    return write(folder / "library.bib", "\n".join(entries))


def feed(folder: Path) -> Path:
    items = "".join(
        f"<item><title>Notes {n}</title><description>&lt;p&gt;apple {word}&lt;/p&gt;</description></item>"
        for n, word in enumerate(WORDS)
    )
    return write(folder / "feed.xml", f'<rss version="2.0"><channel><title>News</title>{items}</channel></rss>')


def xml_list(folder: Path) -> Path:
    rows = "".join(f'<row id="{n}"><title>Notes</title><body>apple {word}</body></row>' for n, word in enumerate(WORDS))
    return write(folder / "rows.xml", f'<?xml version="1.0"?>\n<rows>{rows}</rows>')


def chat(folder: Path) -> Path:
    lines = (f"[12.03.21, 14:05:1{n}] {'AB'[n % 2]}nn: apple\n{word}\n" for n, word in enumerate(WORDS))
    return write(folder / "_chat.txt", "[12.03.21, 14:05:10] Messages are encrypted.\n" + "".join(lines))


def word_counts(folder: Path) -> Path:
    for n, word in enumerate(WORDS):
        write(folder / "ngram1" / f"article-{n}-ngram1.txt", f"apple\t{n + 1}\n{word}\t2\nthe\t1\n")
    return folder


def captions(folder: Path) -> Path:
    for n, word in enumerate(WORDS):
        cues = [{"text": text, "start": 2.0 * n, "duration": 2.0} for n, text in enumerate(("apple", f"{word} wine"))]
        write(folder / f"{n}.json", json.dumps(cues))
    return folder


def starred(folder: Path) -> Path:
    return write(folder / "c.txt", "".join(f"**** *id_{n} *kind_a\napple\n{word}\n" for n, word in enumerate(WORDS)))


def _more(make: Callable[[Path], Path], name: str, text: str) -> Callable[[Path], Path]:
    """The folder of what ``make`` makes, with one more file."""

    def made(folder: Path) -> Path:
        make(folder)
        write(folder / name, text)
        return folder

    return made


RECORD_SAMPLES = {
    "ris": Sample(ris, 4, 4, 12),
    "wos": Sample(wos, 4, 4, 12),
    "medline": Sample(medline, 4, 4, 12),
    "bibtex": Sample(bibtex, 4, 4, 12),
    "feed": Sample(feed, 4, 4, 12),
    "xml": Sample(xml_list, 4, 4, 12),
    "whatsapp": Sample(chat, 4, 3, 8),
    "wordcounts": Sample(word_counts, 4, 4, 22),
    "captions": Sample(captions, 4, 4, 12),
    "iramuteq": Sample(starred, 4, 3, 8),
}

_SINGLE = (("ris", ris), ("wos", wos), ("medline", medline), ("bibtex", bibtex), ("whatsapp", chat))


def _shortened(make: Callable[[Path], Path]) -> Callable[[Path], Path]:
    """What ``make`` makes, compressed and cut short."""

    def made(folder: Path) -> Path:
        path = make(folder)
        return write(path.with_name(f"{path.name}.gz"), path.read_bytes())

    return cut_short(made)


# fmt: off
RECORD_BROKEN = [
    Broken("ris", file_of("a.ris", "no records\n"), None, "has no records"),
    Broken("wos", file_of("a.txt", "FN Clarivate\nVR 1.0\nEF\n"), None, "has no records"),
    Broken("medline", file_of("a.nbib", "\n\n"), None, "has no records"),
    Broken("bibtex", file_of("a.bib", "@comment{nothing}\n"), None, "has no records"),
    Broken("feed", file_of("a.xml", "<rss><channel><item><title>a</title></item>"), None, "no sound XML"),
    Broken("feed", file_of("a.xml", "<rss><channel></channel></rss>"), None, "has no records"),
    Broken("xml", file_of("a.xml", "<rows><row><t>pear</t></row><row><t>fig</t></rows>"), None, "no sound XML"),
    Broken("xml", file_of("a.xml", "<text>pear</text>"), None, "no element that repeats"),
    Broken("xml", file_of("a.xml", "<rows><row id='1'/><row id='2'/>" + "<a>" * 300), None, "within each other"),
    Broken("captions", file_of("a.json", '[{"text": "pear"}]'), None, "has no captions"),
    Broken("captions", _more(captions, "x.json", '[{"text": "pear", "start": 0.5, "dur'), None, "not JSON"),
    Broken("iramuteq", file_of("a.txt", "pear\n**** *id_1\nfig\n"), 1, "above the first line of stars"),
    Broken("iramuteq", file_of("a.txt", "\n"), None, "no line of stars"),
    Broken("whatsapp", file_of("_chat.txt", "no messages\n"), None, "has no messages"),
    Broken("wordcounts", file_of("a.txt", "pear\t1\nfig\t2\nplum\t3\n"), None, "one document"),
    Broken("wordcounts", _more(word_counts, "x.txt", "fig\t9\npear\t1\nplum\t4\nfig\t9999999999\n"), 4, "not a word"),
    *(Broken(name, _shortened(make), None, "cut short") for name, make in _SINGLE),
]
# fmt: on
