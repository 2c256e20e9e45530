"""Advice on files that are not read: which program wrote them, and as what it can save them again."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path, PurePath

from topiary.app.ingest import files

_CSV, _XLSX, _DOCX = "save it as .csv", "save it as .xlsx or .csv", "save it as .docx"
_SHEET, _IN_R = f"is a spreadsheet: open it and {_XLSX}", 'in R, write.csv(data, "data.csv") saves it'
_R = f"is a file of R: {_IN_R}"
_DATABASE = "is a database: export the table or query with the texts as .csv"
_PICTURE = "is a picture: recognise its text (OCR) and save that as .txt"
_SOUND = "is a recording: transcribe it and save the text as .txt or .srt"
_OUTLOOK = "is mail of Outlook: save the messages as .eml or .mbox"
# fmt: off
_ADVICE: dict[str, str] = {
    ".xls": f"is an old Excel workbook: open it and {_XLSX}",
    ".xlsb": f"is a binary Excel workbook: open it and {_XLSX}",
    **dict.fromkeys((".ods", ".fods", ".numbers", ".wks", ".wk1", ".gnumeric", ".sxc"), _SHEET),
    ".doc": f"is an old Word document: open it and {_DOCX}",
    **dict.fromkeys((".pages", ".wpd", ".wps", ".sxw", ".fodt", ".hwp", ".abw"),
                    f"is a document of a word processor that is not read: open it and {_DOCX}"),
    **dict.fromkeys((".ppt", ".pptx", ".odp"), "has slides: save them as .pdf, or their text as .txt"),
    **dict.fromkeys((".sav", ".zsav", ".por", ".spv"), f"is a file of SPSS: {_CSV} there, with value labels"),
    ".dta": 'is a file of Stata: export delimited using "data.csv" saves it as .csv',
    **dict.fromkeys((".sas7bdat", ".xpt", ".sas7bcat"), f"is a file of SAS: {_CSV} there (PROC EXPORT)"),
    **dict.fromkeys((".rds", ".rda", ".rdata"), _R), ".qs": _R,
    **dict.fromkeys((".db", ".sqlite", ".sqlite3", ".db3", ".mdb", ".accdb", ".dbf", ".duckdb"), _DATABASE),
    **dict.fromkeys((".sql", ".dump"), "is a dump of a database: export the table with the texts as .csv"),
    **dict.fromkeys((".pkl", ".pickle", ".joblib"),
                    "is a pickle, which could run programs, so it is not opened: save the texts as .csv or .jsonl"),
    **dict.fromkeys((".msg", ".pst", ".ost", ".oft"), _OUTLOOK),
    **dict.fromkeys((".mobi", ".azw", ".azw3", ".fb2", ".lit"), "is an e-book: convert it to .epub"),
    **dict.fromkeys((".djvu", ".ps", ".xps"), "is a document in print form: save it as .pdf or .txt"),
    **dict.fromkeys((".nvpx", ".nvp", ".qdpx", ".mx20", ".mx22", ".atlproj"),
                    "is a project of a program for qualitative analysis: export its documents as .docx or .txt"),
    **dict.fromkeys((".jpg", ".jpeg", ".png", ".tif", ".tiff", ".gif", ".bmp", ".webp", ".heic"), _PICTURE),
    **dict.fromkeys((".mp3", ".mp4", ".wav", ".m4a", ".mov", ".avi", ".mkv", ".ogg", ".flac", ".webm"), _SOUND),
    **dict.fromkeys((".rar", ".7z", ".sit"), "is an archive that is not read: unpack it, and import the folder"),
}
# The first bytes of files, whatever they are called.
_BEGINNINGS = (
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
     "is a file of an old version of Office, or one with a password: open it and save it as .xlsx, .docx or .csv"),
    (b"SQLite format 3\0", _DATABASE), (b"$FL2", _ADVICE[".sav"]), (b"$FL3", _ADVICE[".sav"]),
    (b"<stata_dta>", _ADVICE[".dta"]), (b"RDX2\n", _R), (b"RDX3\n", _R), (b"RDA3\n", _R),
    (b"Rar!", _ADVICE[".rar"]), (b"7z\xbc\xaf", _ADVICE[".7z"]), (b"\x89PNG", _PICTURE), (b"\xff\xd8\xff", _PICTURE),
    (b"!BDN", _OUTLOOK),
)
# fmt: on


def advise_export(path: Path) -> str:
    """Return what a file is and how to save it in a format that is read; empty if that is not known."""
    ending = files.find_suffix(path)
    start = files.read_start(path, 64)
    if ending == ".xls" and start.startswith(b"PK"):
        return "is a new Excel workbook under an old name: rename it to .xlsx"
    if ending == ".doc" and start.startswith((b"PK", b"{\\rtf")):
        return f"is a new document under an old name: rename it to {'.docx' if start[:2] == b'PK' else '.rtf'}"
    if ending == ".xls" and start.lstrip(b"\xef\xbb\xbf\r\n\t ")[:1] == b"<":
        return f"is a page or XML that Excel opens: open it there and {_XLSX}"
    if ending == ".xls" and start and b"\0" not in start and not start.startswith(_BEGINNINGS[0][0]):
        return "is a text under the name of an Excel workbook: rename it to .csv or .tsv"
    return _ADVICE.get(ending) or next((advice for mark, advice in _BEGINNINGS if start.startswith(mark)), "")


def advise_exports(names: Iterable[PurePath]) -> str:
    """Return how to save the most frequent kind of file among some names; empty if that is not known."""
    kinds = Counter(name.suffix.lower() for name in names)
    kind = next((kind for kind, _ in kinds.most_common() if kind in _ADVICE), None)
    return f"each {kind} {_ADVICE[kind]}" if kind else ""
