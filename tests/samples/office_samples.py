"""Small files of other programs, written by hand: PDF, Word, OpenDocument, EPUB and others."""

import io
import json
import zipfile
from collections.abc import Mapping, Sequence

from pypdf import PdfReader, PdfWriter

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_T = 'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
_DC = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'


def pdf(lines: Sequence[str], title: str = "") -> bytes:
    """A PDF of one page."""
    drawn = "BT /F1 12 Tf 72 720 Td 14 TL " + " ".join(f"({line}) Tj T*" for line in lines) + " ET"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        "/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
        f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream",
        f"<< /Title ({title}) >>",
    ]
    made, places = "%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(made))
        made += f"{number} 0 obj\n{each}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R /Info 5 0 R >>\nstartxref\n{len(made)}\n%%EOF\n"
    return f"{made}xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{end}".encode("latin-1")


def locked_pdf() -> bytes:
    """A PDF that wants a password."""
    writer, out = PdfWriter(), io.BytesIO()
    writer.append(PdfReader(io.BytesIO(pdf(["secret"]))))
    writer.encrypt("password", algorithm="RC4-128")
    writer.write(out)
    return out.getvalue()


def docx(paragraphs: Sequence[Sequence[str]], title: str | None = None) -> bytes:
    """A Word document; a paragraph is its pieces, "\\t" among them a tab."""
    piece = lambda text: "<w:tab/>" if text == "\t" else f"<w:t>{text}</w:t>"  # noqa: E731
    body = "".join(f"<w:p><w:r>{''.join(map(piece, pieces))}</w:r></w:p>" for pieces in paragraphs)
    return docx_of(body, title=title)


def docx_of(body: str, notes: str = "", title: str | None = None) -> bytes:
    """A Word document of this XML."""
    parts = {"word/document.xml": f"<w:document {_W}><w:body>{body}</w:body></w:document>"}
    if notes:
        parts["word/footnotes.xml"] = f"<w:footnotes {_W}>{notes}</w:footnotes>"
    if title is not None:
        parts["docProps/core.xml"] = f"<about {_DC}><dc:title>{title}</dc:title></about>"
    return _packed(parts)


def spoilt(raw: bytes) -> bytes:
    """A packed document with bytes in the middle of its first member overwritten."""
    return raw[:60] + b"\xff" * 20 + raw[80:]


def misnamed() -> bytes:
    """A packed document with a name in its directory that says it is UTF-8 and is not."""
    raw = _packed({"word/é.xml": ""})
    place = raw.rindex("é".encode())
    return raw[:place] + b"\xff\xfe" + raw[place + 2 :]


def repacked(raw: bytes, compression: int) -> bytes:
    """A packed document in another compression."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        return _packed({name: archive.read(name).decode() for name in archive.namelist()}, compression)


def odt(heading: str, paragraph: str, title: str) -> bytes:
    """An OpenDocument text."""
    body = f"<body {_T}><text:h>{heading}</text:h><text:p>{paragraph}</text:p></body>"
    return _packed({"content.xml": body, "meta.xml": f"<about {_DC}><dc:title>{title}</dc:title></about>"})


def _packed(parts: dict[str, str], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return out.getvalue()


def epub(pages: Mapping[str, str], about: str = "", spine: Sequence[str] = ()) -> bytes:
    """A book of these pages, in the order of ``spine``; without one it says nothing of itself."""
    items = "".join(f'<item id="{name}" href="text/{name}"/>' for name in pages)
    order = "".join(f'<itemref idref="{name}"/>' for name in spine)
    package = f"<package {_DC}><metadata>{about}</metadata><manifest>{items}</manifest><spine>{order}</spine></package>"
    container = '<container><rootfiles><rootfile full-path="book/content.opf"/></rootfiles></container>'
    parts = {"mimetype": "application/epub+zip", "META-INF/container.xml": container}
    if spine:
        parts["book/content.opf"] = package
    return _packed(parts | {f"book/text/{name}": f"<html><body>{page}</body></html>" for name, page in pages.items()})


def notebook(*cells: tuple[str, str]) -> bytes:
    """A notebook of these cells, each a kind and its source."""
    made = [{"cell_type": kind, "metadata": {}, "source": source.splitlines(keepends=True)} for kind, source in cells]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def tei(body: str, header: str = "<title>Apples</title><author>Ann</author>") -> bytes:
    """A document in TEI with this body and titles."""
    about = f"<teiHeader><fileDesc><titleStmt>{header}</titleStmt></fileDesc></teiHeader>"
    return f'<TEI xmlns="http://www.tei-c.org/ns/1.0">{about}<text><body>{body}</body></text></TEI>'.encode()
