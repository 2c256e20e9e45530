"""Tiny files of the formats that need a library, or are folders, whole ones and broken ones."""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
from sample_files import Broken, Sample, cut_short, file_of, write
from scipy import sparse

WORDS = ("red", "green", "red", "green")
LABELS = ("a", "a", "b", "b")
SPLITS = ("train", "test", "train", "train")
RECORDS = [
    {"text": f"apple pear {word}", "label": label, "split": split}
    for word, label, split in zip(WORDS, LABELS, SPLITS, strict=True)
]
COUNTS = np.array([[2, 0, 1], [0, 4, 0], [1, 1, 0], [0, 1, 5]])
VOCABULARY = "None\nnan\n1992\n"


def json_array(folder: Path) -> Path:
    return write(folder / "objects.json", json.dumps(RECORDS, indent=1))


def parquet(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(RECORDS), folder / "rows.parquet")
    return folder / "rows.parquet"


def dataset(folder: Path) -> Path:
    """A Hugging Face dataset as it is saved: a folder for each part, a stream of batches, names of the classes."""
    features = {"text": {"_type": "Value"}, "label": {"_type": "ClassLabel", "names": ["fruit", "metal"]}}
    for part, words in (("train", ("red", "green", "blue")), ("test", ("red",))):
        table = pa.table(
            {"text": [f"apple pear {word}" for word in words], "label": [n % 2 for n in range(len(words))]}
        )
        write(folder / part / "dataset_info.json", json.dumps({"features": features}))
        out = io.BytesIO()
        with pa.ipc.new_stream(out, table.schema) as stream:
            stream.write_table(table)
        write(folder / part / "data-00000-of-00001.arrow", out.getvalue())
    write(folder / "dataset_dict.json", json.dumps({"splits": ["train", "test"]}))
    return folder


def workbook(folder: Path, rows: list[list[Any]] | None = None) -> Path:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in rows if rows is not None else [["text", "label", "split"], *(list(each.values()) for each in RECORDS)]:
        sheet.append(row)
    book.create_sheet("Notes").append(["nothing here"])
    folder.mkdir(parents=True, exist_ok=True)
    book.save(folder / "table.xlsx")
    return folder / "table.xlsx"


def saved_sparse(folder: Path, matrix: Any = COUNTS, name: str = "counts.npz") -> Path:
    write(folder / "vocab.txt", VOCABULARY)
    write(folder / "counts.label", "x\ny\nx\ny\n")
    sparse.save_npz(folder / name, sparse.csr_matrix(matrix))
    return folder / name


def saved_array(folder: Path, array: Any = COUNTS, **options: Any) -> Path:
    write(folder / "vocab.txt", VOCABULARY)
    np.save(folder / "counts.npy", array, **options)
    return folder / "counts.npy"


def _parts(**changed: Any) -> Callable[[Path], Path]:
    """A sparse matrix whose saved arrays are not what they should be."""

    def make(folder: Path) -> Path:
        matrix = sparse.csr_matrix(COUNTS)
        arrays = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": matrix.shape}
        write(folder / "vocab.txt", VOCABULARY)
        np.savez(folder / "a.npz", **(arrays | {"format": np.array(b"csr")} | changed))
        return folder / "a.npz"

    return make


MESSAGE = (
    "From: Ann <ann@example.org>\nSubject: =?utf-8?q?Apples_and_p=C3=AAars?=\nDate: Mon, 1 Jan 2024 10:00:00 +0000\n"
    "Content-Type: text/plain; charset=utf-8\n\nred apple\n>From the tree\n"
)
PAGE = (
    "From: Bob\nSubject: pears\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=XX\n\n--XX\n"
    "Content-Type: text/html\n\n<p>green <b>apple</b></p><style>p {}</style>\n--XX\n"
    "Content-Type: text/plain\nContent-Disposition: attachment\n\nsecret\n--XX--\n"
)


_LETTER = f"From ann Mon Jan 1 10:00:00 2024\n{MESSAGE}"


def mailbox(folder: Path) -> Path:
    letters = "".join(f"From ann Mon Jan 1 10:00:00 2024\n{letter}\n" for letter in (MESSAGE, PAGE))
    return write(folder / "letters.mbox", letters)


def mallet(folder: Path) -> Path:
    rows = zip(WORDS, LABELS, strict=True)
    return write(
        folder / "lines.mallet", "".join(f"n{n} {label} apple {word}\n" for n, (word, label) in enumerate(rows))
    )


def topmost(folder: Path) -> Path:
    write(folder / "vocab.txt", VOCABULARY)
    for name, rows in (("train", slice(0, 3)), ("test", slice(3, 4))):
        sparse.save_npz(folder / f"{name}_bow.npz", sparse.csr_matrix(COUNTS[rows].astype(np.float32)))
        write(folder / f"{name}_texts.txt", "".join(f"text {n} of {name}\n" for n in range(len(COUNTS[rows]))))
        write(folder / f"{name}_labels.txt", "".join(f"{n % 2}\n" for n in range(len(COUNTS[rows]))))
    return folder


def octis(folder: Path) -> Path:
    rows = zip(WORDS, SPLITS, LABELS, strict=True)
    write(folder / "corpus.tsv", "".join(f"apple pear {word} other\t{part}\t{label}\n" for word, part, label in rows))
    write(folder / "vocabulary.txt", "apple\npear\nred\ngreen\n")
    return folder


def extracted(folder: Path) -> Path:
    blocks = [
        f'<doc id="{n}" url="https://example.org/{n}" title="A &amp; {word}">\nA & {word}\n\napple {word}\n</doc>\n'
        for n, word in enumerate(WORDS)
    ]
    write(folder / "AA" / "wiki_00", "".join(blocks[:3]))
    write(folder / "AB" / "wiki_00", "".join(blocks[3:]))
    return folder


def of_gensim(folder: Path) -> Path:
    """A corpus of gensim with its dictionary, as ``MmCorpus.serialize`` and ``save_as_text`` write them."""
    cells = [(row + 1, column + 1, COUNTS[row, column]) for row, column in zip(*np.nonzero(COUNTS), strict=True)]
    body = "".join(f"{row} {column} {value}\n" for row, column, value in cells)
    write(folder / "news.mm", f"%%MatrixMarket matrix coordinate real general\n4 3 {len(cells)}\n{body}")
    write(folder / "news.mm.index", b"\x80\x04]\x00.")
    write(folder / "news.dict.txt", "4\n2\t1992\t2\n0\tNone\t2\n1\tnan\t3\n")
    return folder / "news.mm"


def _pickled_dictionary(folder: Path) -> Path:
    path = of_gensim(folder)
    (folder / "news.dict.txt").unlink()
    write(folder / "news.dict", b"\x80\x04\x95.")
    return path


def _bomb(name: str) -> Callable[[Path], Path]:
    """An archive whose member says that it is 1 TB, which no file of its size is."""

    def make(folder: Path) -> Path:
        with zipfile.ZipFile(packed := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.csv", "text\n" + "pear\n" * 100)
        raw = packed.getvalue()
        place = raw.rindex(b"PK\x01\x02") + 24
        return write(folder / name, raw[:place] + (0xFFFFFFF0).to_bytes(4, "little") + raw[place + 4 :])

    return make


def _without(make: Callable[[Path], Path], name: str, text: str | bytes | None) -> Callable[[Path], Path]:
    """The folder that ``make`` makes, one of its files gone or another."""

    def made(folder: Path) -> Path:
        path = make(folder)
        if text is None:
            (folder / name).unlink()
        else:
            write(folder / name, text)
        return path

    return made


MORE_SAMPLES = {
    "json": Sample(json_array, 4, 4, 12),
    "parquet": Sample(parquet, 4, 4, 12),
    "xlsx": Sample(workbook, 4, 4, 12),
    "npz": Sample(saved_sparse, 4, 3, 15),
    "mail": Sample(mailbox, 2, 7, 8),
    "mallet": Sample(mallet, 4, 3, 8),
    "topmost": Sample(topmost, 4, 3, 15),
    "octis": Sample(octis, 4, 4, 12),
    "wiki": Sample(extracted, 4, 3, 12),
}

# fmt: off
MORE_BROKEN = [
    Broken("json", file_of("a.json", '[{"text": "pear"},\n{"text": "fig"\n'), 3, "not JSON"),
    Broken("json", file_of("a.json", '[{"text": "pear"},\n{"text": "fig"}\n'), 3, "cut short"),
    Broken("json", file_of("a.json", '[{"text": "pear"}\n{"text": "fig"}]'), 2, "comma is missing"),
    Broken("json", file_of("a.json", '[{"text": "pear"}, 3]'), 1, "object"),
    Broken("json", file_of("a.json", "[]"), None, "no documents"),
    Broken("json", file_of("a.json", '[{"text": "pear", "n": ' + "1" * 5000 + "}]"), 1, "digits"),
    Broken("json", file_of("a.json", "[" * 100_000), 1, "nested too deeply"),
    Broken("parquet", file_of("a.parquet", b"PAR1 no table"), None, "no sound table"),
    Broken("parquet", cut_short(parquet), None, "no sound table"),
    Broken("parquet", file_of("a.arrow", b"no table either"), None, "no sound table"),
    Broken("parquet", _without(lambda folder: parquet(folder).parent, "test.parquet", b"PAR1"), None, "and others"),
    Broken("xlsx", file_of("a.xlsx", b"PK\x03\x04 no workbook"), None, "no sound Excel workbook"),
    Broken("xlsx", cut_short(workbook, -100), None, "no sound Excel workbook"),
    Broken("xlsx", lambda folder: workbook(folder, [["text", "n"]]), None, "no documents"),
    Broken("xlsx", _bomb("a.xlsx"), None, "far more than a workbook"),
    Broken("npz", file_of("a.npz", b"PK\x03\x04", vocab_txt=VOCABULARY), None, "no sound file of NumPy"),
    Broken("npz", _bomb("a.npz"), None, "vocabulary"),
    Broken("npz", _without(_bomb("a.npz"), "vocab.txt", VOCABULARY), None, "far more than a file"),
    Broken("npz", lambda folder: saved_array(folder, np.array([{}], object)), None, "Python objects"),
    Broken("npz", lambda folder: saved_array(folder, np.arange(3)), None, "1 dimensions"),
    Broken("npz", lambda folder: saved_array(folder, COUNTS - 1), None, "is negative"),
    Broken("npz", lambda folder: saved_array(folder, COUNTS * 3 * 2**31), None, "is more than 10,000,000"),
    Broken("npz", lambda folder: saved_array(folder, COUNTS * np.nan), None, "is not a number"),
    Broken("npz", lambda folder: saved_array(folder, np.ones((4, 5), int)), None, "3 words"),
    Broken("npz", _parts(indices=np.array([0, 2, 1, 0, 1, 1, 7])), None, "place outside"),
    Broken("npz", _parts(indptr=np.array([0, 2, 90, 5, 7])), None, "place outside"),
    Broken("npz", _parts(indptr=np.array([0, 2, 90, 5, 0])), None, "place outside"),
    Broken("npz", _parts(shape=np.array([2_000_000_000, 3])), None, "should be 2000000001"),
    Broken("npz", _parts(format=np.array(b"dia")), None, "no sound file of NumPy"),
    Broken("mail", file_of("a.mbox", "no mail\n"), 1, "is no mail"),
    Broken("mail", cut_short(lambda folder: _without(mailbox, "b.mbox.gz", _LETTER)(folder).parent / "b.mbox.gz"), None,
           "cut short"),
    Broken("mallet", file_of("a.mallet", b"\xac\xed\x00\x05sr"), None, "only MALLET reads"),
    Broken("mallet", file_of("a.mallet", "one x pear\ntwo\n"), 2, "no label"),
    Broken("topmost", _without(topmost, "train_texts.txt", "one\n"), None, "1 lines, but there are 3"),
    Broken("topmost", _without(topmost, "vocab.txt", "a\nb\n"), None, "2 words"),
    Broken("topmost", _without(topmost, "train_bow.npz", b"PK"), None, "no sound file"),
    Broken("octis", _without(octis, "corpus.tsv", "pear\ttrain\tx\nfig\ttrial\tx\n"), 2, "'trial'"),
    Broken("octis", _without(octis, "vocabulary.txt", "a\n\nb\n"), 2, "empty"),
    Broken("wiki", _without(extracted, "AA/wiki_00", "<doc id='1'>\npear\n"), 1, "never ends"),
    Broken("wiki", _without(extracted, "AA/wiki_00", '<doc id="1">\npear\n</doc>\npear\n'), 4, "is neither"),
    Broken("wiki", _without(extracted, "AA/wiki_00", '{"title": "pear"}\n'), 1, "no JSON object"),
    Broken("mtx", _pickled_dictionary, None, "is a pickle"),
]
# fmt: on
