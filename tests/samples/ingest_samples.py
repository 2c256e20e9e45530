"""Tiny files of every format, whole ones and broken ones."""

import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
from format_samples import MORE_BROKEN, MORE_SAMPLES
from office_samples import spoilt
from record_samples import RECORD_BROKEN, RECORD_SAMPLES
from sample_files import Broken, Sample, cut_short, file_of, write
from scipy import io, sparse
from sqlalchemy import select

from topiary.store import tables
from topiary.store.database import Database


def text_folder(folder: Path) -> Path:
    for label, words in (("fruit", "apple pear apple"), ("metal", "iron tin iron")):
        for n in range(3):
            write(folder / label / f"{n}.txt", f"{words} number\nthe {words}\n")
    return folder


def text_zip(folder: Path) -> Path:
    return zipped_as(text_folder(folder / "in"), folder / "texts.zip")


def zipped_as(folder: Path, path: Path) -> Path:
    """Pack all files of a folder into a zip file."""
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(file for file in folder.rglob("*") if file.is_file()):
            archive.write(file, f"all/{file.relative_to(folder).as_posix()}")
    return path


def table(folder: Path) -> Path:
    rows = [f'{n},"apple, pear {word}",{label},{split}' for n, (word, label, split) in enumerate(TABLE)]
    return write(folder / "table.csv.gz", "\n".join(["id,text,label,split", *rows]) + "\n")


TABLE = [("red", "a", "train"), ("green", "a", "test"), ("red", "b", "train"), ("green", "b", "train")]


def json_lines(folder: Path) -> Path:
    lines = [f'{{"text": "apple pear {word}", "label": "{label}", "split": "{split}"}}' for word, label, split in TABLE]
    return write(folder / "objects.jsonl", "\n".join(lines))


def plain_lines(folder: Path) -> Path:
    return write(
        folder / "lines.txt", "".join(f"n{n}\t{label}\tapple {word}\n" for n, (word, label, _) in enumerate(TABLE))
    )


def uci(folder: Path) -> Path:
    write(folder / "vocab.tiny.txt", "None\nnan\n1992\n")
    return write(folder / "docword.tiny.txt.gz", "4\n3\n5\n1 1 2\n1 3 1\n2 2 4\n4 1 1\n4 2 1\n")


def ldac(folder: Path) -> Path:
    write(folder / "vocab.txt", "None\nnan\n1992\n")
    return write(folder / "tiny.dat.gz", "2 0:2 2:1\n1 1:4\n0\n2 1:1 0:1\n")


def matrix_market(folder: Path) -> Path:
    head = "%%MatrixMarket matrix coordinate integer general\n% documents x words\n"
    write(folder / "vocabulary.txt", "None\nnan\n1992\n")
    write(folder / "labels.map", "fruit 1\nmetal 2\n")
    write(folder / "train.mtx", head + "3 3 4\n3 2 1\n1 1 2\n1 3 1\n2 2 4\n")
    write(folder / "train.label", "1\n2\n2\n")
    write(folder / "test.mtx", head + "2 3 2\n1 1 5\n2 2 1\n")
    write(folder / "test.label", "2\n1\n")
    return folder


def svmlight(folder: Path) -> Path:
    write(folder / "vocabulary.txt", "None 12\nnan 7\n1992 3\n")
    write(folder / "train.feat.gz", "1 3:1 1:2\n2 2:4\n1 1:1 2:1\n")
    write(folder / "test.feat.gz", "2 2:1\n")
    return folder


def idx(folder: Path) -> Path:
    for name, pixels, labels in (("train", PIXELS, [7, 3, 7]), ("t10k", PIXELS[:1], [3])):
        head = b"".join(int(n).to_bytes(4, "big") for n in (0x803, *pixels.shape))
        write(folder / f"{name}-images-idx3-ubyte.gz", head + pixels.tobytes())
        head = b"".join(int(n).to_bytes(4, "big") for n in (0x801, len(labels)))
        write(folder / f"{name}-labels-idx1-ubyte.gz", head + bytes(labels))
    return folder


PIXELS = np.array([[[0, 255, 1], [0, 0, 0]], [[9, 0, 0], [0, 0, 200]], [[0, 0, 0], [128, 127, 0]]], np.uint8)


def triples(folder: Path) -> Path:
    lines = ["Count,user_id,Item", "2,7,None", '1,ann,"a, b"', "3,7,nan", "1.0,bob,None", "4,7,None", "0,ann,nan"]
    return write(folder / "plays.csv.gz", "\n".join(lines) + "\n")


def term_matrix(folder: Path) -> Path:
    lines = [",doc_id,None,nan,apple", "0,a,2,0,1", "1,b,0,4,0", "2,c,0,0,2", "3,d,1,1,0"]
    return write(folder / "matrix.csv", "\n".join(lines) + "\n")


def deep(folder: Path) -> Path:
    write(folder / "vocab.txt", "None\nnan\n1992\nspare\n")
    return write(folder / "deep.dat", "3 3\n0 2\n0 2 2 1\n1 1\n1 4\n2 1\n0 1\n")


def matlab(folder: Path, **changed: object) -> Path:
    content: dict[str, object] = {
        "wordsTrain": sparse.csc_matrix(np.array([[2.0, 0, 1], [0, 4, 0]])),
        "wordsHeldout": sparse.csc_matrix(np.array([[3.0, 0], [0, 2]])),
        "wordsTest": sparse.csc_matrix(np.array([[1.0, 0], [1, 0]])),
        "labelsTrain": np.array([[1], [2], [1]], np.uint8),
        "labelsTest": np.array([[2], [2]], np.uint8),
        "labelsToGroup": np.array([["fruit"], ["metal"]], object),
        "vocabulary": np.array([["None"], ["nan"]], object),
    }
    content |= changed
    folder.mkdir(parents=True, exist_ok=True)
    io.savemat(folder / "paper.mat", {name: value for name, value in content.items() if value is not None})
    return folder / "paper.mat"


LARGE = sparse.csc_matrix(np.array([[2e9, 0], [0, 2]]))
HALF = sparse.csc_matrix(np.array([[0.5], [1]]))

# Tokens of texts are those of the default options with min_df=1 and max_df=1: "the" and single letters go.
SAMPLES = {
    "text": Sample(text_folder, 6, 5, 42),
    "csv": Sample(table, 4, 4, 12),
    "jsonl": Sample(json_lines, 4, 4, 12),
    "lines": Sample(plain_lines, 4, 3, 8),
    "uci": Sample(uci, 4, 3, 9),
    "ldac": Sample(ldac, 4, 3, 9),
    "mtx": Sample(matrix_market, 5, 3, 14),
    "svmlight": Sample(svmlight, 4, 3, 10),
    "idx": Sample(idx, 4, 6, 8),
    "def": Sample(deep, 3, 4, 8),
    "mat": Sample(matlab, 5, 2, 14),
    "triples": Sample(triples, 3, 3, 11),
    "dtm": Sample(term_matrix, 4, 3, 11),
    **MORE_SAMPLES,
    **RECORD_SAMPLES,
}


def _misnamed(*, directory: bool) -> Callable[[Path], Path]:
    """A zip file with a name that says it is UTF-8 and is not: in its directory, or only before the file itself."""

    def make(folder: Path) -> Path:
        with zipfile.ZipFile(packed := BytesIO(), "w") as archive:
            archive.writestr("é.txt", "pear")
        raw = packed.getvalue()
        place = raw.rindex("é".encode()) if directory else raw.index("é".encode())
        return write(folder / "a.zip", raw[:place] + b"\xff\xfe" + raw[place + 2 :])

    return make


COMPRESSIONS = (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


def _spoilt(compression: int) -> Callable[[Path], Path]:
    """A zip file whose first member has bytes in its middle overwritten."""

    def make(folder: Path) -> Path:
        with zipfile.ZipFile(packed := BytesIO(), "w", compression) as archive:
            archive.writestr("all/a.txt", " ".join(map(str, range(2000))))
            archive.writestr("all/b.txt", "pear")
        return write(folder / "a.zip", spoilt(packed.getvalue()))

    return make


_WORDS = "a\nb\nc\n"
_MANY = "2000000000"
_NEAR = "9999999"  # as many words as a document may have, but one
_SIZES = "%%MatrixMarket matrix coordinate integer general\n"
_REALS = "%%MatrixMarket matrix coordinate real general\n"

BROKEN = [
    Broken("text", lambda folder: write(folder / "empty" / "readme.doc", "no text").parent, None, "no texts"),
    Broken("text", file_of("bad.zip", b"PK\x03\x04 not a zip"), None, "zip"),
    Broken("text", _misnamed(directory=True), None, "says it is UTF-8"),
    Broken("text", _misnamed(directory=False), None, "cannot be unpacked"),
    *(Broken("text", _spoilt(how), None, "all/a.txt: cannot be unpacked") for how in COMPRESSIONS),
    Broken("text", lambda folder: write(folder / "blank" / "0.txt", "").parent, None, "no words"),
    Broken("csv", file_of("a.csv", "id,text\n1,pear\n2,apple,3\n"), 3, "3 columns"),
    Broken("csv", file_of("a.csv", 'id,text\n1,pear\n2,"apple\n3,fig\n'), 3, "cannot be read"),
    Broken("csv", file_of("a.csv", b"id,text\n1,p\xc3\xaar\n2,app\xe9le\n"), 3, "is not UTF-8"),
    Broken("csv", file_of("a.csv", "text,split\n" + "pear,train\n" * 250 + "fig,trial\n"), 252, "'trial'"),
    Broken("csv", file_of("a.csv", "text\npear\n".encode("utf-16")[:-1]), None, "but is damaged further on"),
    Broken("csv", file_of("a.csv", ""), None, "empty"),
    Broken("csv", file_of("a.csv", "id,text\n"), None, "no documents"),
    Broken("csv", cut_short(table), None, "cut short"),
    Broken("triples", file_of("a.csv", "user,item,count\nann,pear,2\nbob,fig,-1\n"), 3, "'-1' is not a whole number"),
    Broken("triples", file_of("a.csv", "user,item,count\nann,pear,2\nbob,fig,0.5\n"), 3, "'0.5' is not a whole"),
    Broken("triples", file_of("a.csv", "user,item,count\nann,pear,2\nbob,fig\n"), 3, "has 2 columns"),
    Broken("triples", file_of("a.csv", "user,item,count\nann,,2\n"), 2, "column has no name"),
    Broken("triples", file_of("a.csv", "user,item,count\n"), None, "no counts"),
    Broken("triples", file_of("a.csv", "user,item,count\nann,pear,10000001\n"), 2, "is more than 10,000,000"),
    Broken("triples", file_of("a.csv", f"user,item,count\na,b,{_NEAR}\na,b,{_NEAR}\n"), None, "meant"),
    Broken("triples", cut_short(triples), None, "cut short"),
    Broken("dtm", file_of("a.csv", "pear,fig\n0,1\n2,-3\n"), 3, "'-3' is not a number"),
    Broken("dtm", file_of("a.csv", "pear,fig\n" + "1,0\n" * 250 + "0,x\n"), 252, "'x' is not a number"),
    Broken("dtm", file_of("a.csv", "pear,fig\n1,0\n2\n"), 3, "has 1 column"),
    Broken("jsonl", file_of("a.jsonl", '{"text": "pear"}\n{"text": "fig"\n'), 2, "not JSON"),
    Broken("jsonl", file_of("a.jsonl", '{"text": "pear"}\n["fig"]\n'), 2, "object"),
    Broken("jsonl", file_of("a.jsonl", '{"text": "pear"}\n\n{"body": "fig"}\n'), 3, "no field 'text'"),
    Broken("jsonl", file_of("a.jsonl", b'{"text": "p\xc3\xaar"}\n{"text": "f\xffg"}\n'), 2, "byte 29"),
    Broken("jsonl", file_of("a.jsonl", '{"text": "pear"}\n{"text": "fig", "n": ' + "1" * 5000 + "}\n"), 2, "digits"),
    Broken("lines", file_of("a.txt", "n\tx\tpear\n" * 60 + "fig\n"), 61, "tab"),
    Broken("lines", file_of("a.txt", "\n\n"), None, "no documents"),
    Broken("uci", file_of("docword.x.txt", "2\n3\n2\n1 1 2\n2 4 1\n", vocab_x_txt=_WORDS), 5, "word 4"),
    Broken("uci", file_of("docword.x.txt", "2\n3\n2\n1 1 2\n2 2 -1\n", vocab_x_txt=_WORDS), 5, "negative"),
    Broken("uci", file_of("docword.x.txt", "2\n3\n2\n1 1 2\n2 2 0.5\n", vocab_x_txt=_WORDS), 5, "not a whole number"),
    Broken("uci", file_of("docword.x.txt", "2\n3\n2\n1 1 2\n2 2\n", vocab_x_txt=_WORDS), 5, "2 numbers"),
    Broken("uci", file_of("docword.x.txt", "2\n3\n2\n2 1 2\n1 2 1\n", vocab_x_txt=_WORDS), 5, "sort the file"),
    Broken("uci", file_of("docword.x.txt", "2\n3\n9\n1 1 2\n2 2 1\n", vocab_x_txt=_WORDS), 3, "promises 9"),
    Broken("uci", file_of("docword.x.txt", "2\n3\n2\n1 1 2\n2 2 1\n"), None, "vocabulary"),
    Broken("uci", file_of("docword.x.txt", "2\n3\n2\n1 1 2\n2 2 1\n", vocab_x_txt="a\nb\n"), None, "2 words"),
    Broken("uci", file_of("docword.x.txt", "2\n3\n2\n1 1 2\n2 2 1\n", vocab_x_txt="a\n\nb\n"), 2, "empty"),
    Broken("uci", file_of("docword.x.txt", b"\xb2\n3\n2\n1 1 2\n", vocab_x_txt=_WORDS), 1, "is not the number"),
    Broken("uci", file_of("docword.x.txt", f"{10**23}\n3\n1\n1 1 2\n", vocab_x_txt=_WORDS), 1, "up to 2,147,483,647"),
    Broken("uci", file_of("docword.x.txt", "1\n3\n1\n1 1 2\n".encode("utf-16")), 1, "is not the number"),
    Broken("uci", file_of("docword.x.txt", f"1\n3\n{'9' * 5000}\n1 1 2\n", vocab_x_txt=_WORDS), 3, "up to 2,147"),
    Broken("uci", file_of("docword.x.txt", f"{_MANY}\n3\n1\n1 1 2\n", vocab_x_txt=_WORDS), 1, "only 1 entries"),
    Broken("uci", file_of("docword.x.txt", f"1\n3\n2\n1 1 {_NEAR}\n1 1 {_NEAR}\n", vocab_x_txt=_WORDS), None, "meant"),
    Broken("uci", cut_short(uci), None, "cut short"),
    Broken("ldac", file_of("a.ldac", "1 0:1\n2 0:1 3:1\n", vocab_txt=_WORDS), 2, "word 3"),
    Broken("ldac", file_of("a.ldac", "1 0:1\n3 0:1 1:1\n", vocab_txt=_WORDS), 2, "says that it has 3"),
    Broken("ldac", file_of("a.ldac", "1 0:1\n1 0:-4\n", vocab_txt=_WORDS), 2, "negative"),
    Broken("ldac", file_of("a.ldac", "1 0:1\n1 0=4\n", vocab_txt=_WORDS), 2, "word:count"),
    Broken("ldac", file_of("a.ldac", "1 0:1\n\n1 0:4\n", vocab_txt=_WORDS), 2, "line is empty"),
    Broken("ldac", file_of("a.ldac", "1 0:1\n1 0:4\n"), None, "vocabulary"),
    Broken("ldac", file_of("a.ldac", f"2 0:{_NEAR} 0:{_NEAR}\n", vocab_txt=_WORDS), None, "meant"),
    Broken("mtx", file_of("a.mtx", _SIZES + "2 3 2\n1 1 1\n3 1 1\n", vocab_txt=_WORDS), 4, "document 3"),
    Broken("mtx", file_of("a.mtx", _SIZES + "2 3 3\n1 1 1\n2 1 1\n", vocab_txt=_WORDS), 2, "promises 3"),
    Broken("mtx", file_of("a.mtx", _SIZES + "2 3 1\n1 1 1\n2 1 1\n", vocab_txt=_WORDS), 2, "more"),
    Broken("mtx", file_of("a.mtx", _SIZES + "2 3 2\n1 1 1\n2 x 1\n", vocab_txt=_WORDS), 4, "'x'"),
    Broken("mtx", file_of("a.mtx", "%%MatrixMarket matrix array real general\n", vocab_txt=_WORDS), 1, "array"),
    Broken("mtx", file_of("a.mtx", _SIZES + "2 5 1\n1 1 1\n", vocab_txt=_WORDS), None, "3 words"),
    Broken("mtx", file_of("a.mtx", _SIZES + f"{10**23} 3 1\n1 1 1\n", vocab_txt=_WORDS), 2, "up to 2,147,483,647"),
    Broken("mtx", file_of("a.mtx", _SIZES + "4000000000 3 1\n1 1 1\n", vocab_txt=_WORDS), 2, "up to 2,147,483,647"),
    Broken("mtx", file_of("a.mtx", _SIZES + f"{_MANY} 3 1\n1 1 1\n", vocab_txt=_WORDS), 2, "only 1 entries"),
    Broken("mtx", file_of("a.mtx", _SIZES + f"2 3 {_MANY}\n1 1 1\n", vocab_txt=_WORDS), 2, "promises 2,000,000,000"),
    Broken("mtx", file_of("a.mtx", _SIZES + f"1 3 2\n1 2 {_NEAR}\n1 2 {_NEAR}\n", vocab_txt=_WORDS), None, "meant"),
    Broken("mtx", file_of("a.mtx", _REALS + "1 3 1\n1 2 2147483647\n", vocab_txt=_WORDS), None, "add up"),
    Broken("svmlight", file_of("a.svmlight", f"1 1:{_NEAR} 1:{_NEAR}\n", vocab_txt=_WORDS), None, "meant"),
    Broken("svmlight", file_of("a.svmlight", "1 1:1\n2 4:1\n", vocab_txt=_WORDS), 2, "word 4"),
    Broken("svmlight", file_of("a.svmlight", "1 1:1\n2 1:-1\n", vocab_txt=_WORDS), 2, "negative"),
    Broken("svmlight", file_of("a.svmlight", "1 1:1\n2 1:nan\n", vocab_txt=_WORDS), 2, "nan"),
    Broken("svmlight", file_of("a.svmlight", "1 1:1\nspam 1:1\n", vocab_txt=_WORDS), 2, "'spam'"),
    Broken("svmlight", file_of("a.svmlight", "", vocab_txt=_WORDS), None, "empty"),
    Broken("idx", file_of("x-images-idx3-ubyte", b"\0\0\x08\x03" + b"\0\0\0\x01" * 3), None, "promises 1 x 1 x 1"),
    Broken("idx", file_of("x-images-idx3-ubyte", b"\0\0\x08\x03\xff\xff\xff\xff" + bytes(8)), None, "0 x 0 pixels"),
    Broken("idx", cut_short(lambda folder: idx(folder) / "t10k-images-idx3-ubyte.gz"), None, "cut short"),
    Broken("def", file_of("a.dat", "2 3\n0 1\n0 1\n1 2\n0 1 1\n", vocab_txt=_WORDS), 5, "2 pairs"),
    Broken("def", file_of("a.dat", "2 3\n0 1\n0 1\n1 1\n3 1\n", vocab_txt=_WORDS), 5, "word 3"),
    Broken("def", file_of("a.dat", "2 3\n0 1\n0 1\n", vocab_txt=_WORDS), 1, "promises 2 documents"),
    Broken("def", file_of("a.dat", "² 3\n0 1\n0 1\n", vocab_txt=_WORDS), 1, "two whole numbers"),
    Broken("def", file_of("a.dat", f"1 3\n0 {10**23}\n0 1\n", vocab_txt=_WORDS), 2, "up to 2,147,483,647"),
    Broken("def", file_of("a.dat", f"1 3\n0 2\n0 {_NEAR} 0 {_NEAR}\n", vocab_txt=_WORDS), None, "meant"),
    Broken("mat", file_of("a.mat", b"no MATLAB"), None, "not a MATLAB file"),
    Broken("mat", cut_short(matlab), None, "cannot be read"),
    Broken("mat", lambda folder: matlab(folder, vocabulary=None), None, "no variable vocabulary"),
    Broken("mat", lambda folder: matlab(folder, wordsTrain=HALF), None, "wordsTrain has a value"),
    Broken("mat", lambda folder: matlab(folder, wordsTrain=np.array([["ab"], ["cd"]])), None, "of numbers"),
    Broken("mat", lambda folder: matlab(folder, wordsTrain=np.array([[3e9], [1]])), None, "above 2,147,483,647"),
    Broken("mat", lambda folder: matlab(folder, wordsTrain=np.array([[np.inf], [1]])), None, "above 2,147,483,647"),
    Broken("mat", lambda folder: matlab(folder, wordsHeldout=LARGE, wordsTest=LARGE), None, "add up"),
    Broken("mat", lambda folder: matlab(folder, labelsTrain=np.array(["a", "b", "a"], object)), None, "of numbers"),
    Broken("mat", lambda folder: matlab(folder, labelsTest=np.array([[1]])), None, "one label for each"),
    *MORE_BROKEN,
    *RECORD_BROKEN,
]  # fmt: skip


def everything(db: Database) -> dict[str, list[tuple[object, ...]]]:
    """All rows of all tables: the store as it is."""
    with db.read() as connection:
        return {
            table.name: [tuple(row) for row in connection.execute(select(table))]
            for table in tables.metadata.sorted_tables
        }
