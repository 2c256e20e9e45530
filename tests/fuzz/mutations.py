"""Files of a format with random damage: bytes changed, cut, doubled and swapped, numbers made absurd."""

import bz2
import gzip
import lzma
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import TypeAlias

import numpy as np

Files: TypeAlias = dict[str, bytes]

_NUMBERS = (
    b"-1", b"0", b"3", b"255", b"65536", b"2147483647", b"6442450944", b"99999999999999999999999", b"1e308", b"nan",
    b"1.5", b"-0",
)  # fmt: skip
_TOKENS = (
    b"\0", b"\n", b"\r", b"\t", b'"', b"'", b",", b";", b":", b"[", b"]", b"{", b"}", b"<", b">", b"&#0;", b"\xff\xfe",
    b"\xef\xbb\xbf", b"\x1b[2J", b"=cmd()", b"../../x", b"\xf0\x9f\x98\x80", b"\xed\xa0\x80", b"%%", b" " * 300,
    b"(" * 2000, b"[" * 5000, b"\xff" * 16, b"\0" * 16, b"\x7f\xff\xff\xff", b"\xff\xff\xff\x7f",
    b"\\", b"$", b"@a{", b"---\n", b"<!DOCTYPE a [<!ENTITY b 'c'>]>", b"<![CDATA[", b"{\\rtf1", b"TY  - ", b"&b;",
)  # fmt: skip
_ZIPS = (".xlsx", ".npz", ".zip", ".docx", ".odt", ".epub")
_PACKERS: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    ".gz": (gzip.decompress, lambda raw: gzip.compress(raw, 1)),
    ".bz2": (bz2.decompress, bz2.compress),
    ".xz": (lzma.decompress, lambda raw: lzma.compress(raw, preset=0)),
}


def files_of(path: Path) -> Files:
    """The bytes of a file, or of all files of a folder, by their names in it."""
    if path.is_dir():
        every = sorted(file for file in path.rglob("*") if file.is_file())
        return {file.relative_to(path).as_posix(): file.read_bytes() for file in every}
    return {path.name: path.read_bytes()}


def damaged(files: Files, rng: np.random.Generator) -> Files:
    """The files, one or a few of them with one damage or a few; compressed ones inside or outside."""
    names = list(files)
    changed = dict(files)
    for place in rng.choice(len(names), size=min(len(names), int(rng.integers(1, 3))), replace=False):
        name = names[place]
        ending = next((each for each in _PACKERS if name.endswith(each)), None)
        if name.endswith(_ZIPS) and rng.random() < 0.7:
            changed[name] = _inside(files[name], rng)
        elif ending is not None and rng.random() < 0.7:
            unpack, pack = _PACKERS[ending]
            changed[name] = pack(_spoilt(unpack(files[name]), rng))
        else:
            changed[name] = _spoilt(files[name], rng)
    if len(names) > 1 and rng.random() < 0.05:
        del changed[names[int(rng.integers(len(names)))]]
    return changed


def _inside(raw: bytes, rng: np.random.Generator) -> bytes:
    """A zip file with one of its members spoilt, and its checksum that of the spoilt bytes."""
    with zipfile.ZipFile(BytesIO(raw)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    chosen = list(members)[int(rng.integers(len(members)))]
    members[chosen] = _spoilt(members[chosen], rng)
    with zipfile.ZipFile(out := BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def _spoilt(raw: bytes, rng: np.random.Generator) -> bytes:
    for _ in range(int(rng.integers(1, 5))):
        raw = _DAMAGES[int(rng.integers(len(_DAMAGES)))](raw, rng)
    return raw


def _place(raw: bytes, rng: np.random.Generator) -> int:
    return int(rng.integers(len(raw) + 1))


def _flip(raw: bytes, rng: np.random.Generator) -> bytes:
    if not raw:
        return raw
    spoilt = bytearray(raw)
    for _ in range(int(rng.integers(1, 9))):
        spoilt[int(rng.integers(len(raw)))] = int(rng.integers(256))
    return bytes(spoilt)


def _bit(raw: bytes, rng: np.random.Generator) -> bytes:
    if not raw:
        return raw
    spoilt = bytearray(raw)
    spoilt[int(rng.integers(len(raw)))] ^= 1 << int(rng.integers(8))
    return bytes(spoilt)


def _cut(raw: bytes, rng: np.random.Generator) -> bytes:
    return raw[: _place(raw, rng)]


def _remove(raw: bytes, rng: np.random.Generator) -> bytes:
    begin = _place(raw, rng)
    return raw[:begin] + raw[begin + int(rng.integers(1, 40)) :]


def _double(raw: bytes, rng: np.random.Generator) -> bytes:
    begin, place = _place(raw, rng), _place(raw, rng)
    return raw[:place] + raw[begin : begin + int(rng.integers(1, 400))] + raw[place:]


def _insert(raw: bytes, rng: np.random.Generator) -> bytes:
    place = _place(raw, rng)
    return raw[:place] + _TOKENS[int(rng.integers(len(_TOKENS)))] + raw[place:]


def _number(raw: bytes, rng: np.random.Generator) -> bytes:
    """A number of the text made another, or four bytes of a binary file."""
    digits = [place for place in range(len(raw)) if raw[place : place + 1].isdigit()]
    if digits and rng.random() < 0.7:
        begin = end = digits[int(rng.integers(len(digits)))]
        while end < len(raw) and raw[end : end + 1].isdigit():
            end += 1
        return raw[:begin] + _NUMBERS[int(rng.integers(len(_NUMBERS)))] + raw[end:]
    place = _place(raw, rng)
    value = int(rng.choice([0, 1, 0x7FFFFFFF, 0xFFFFFFFF, 0x10000, 0x180000000 & 0xFFFFFFFF]))
    return raw[:place] + value.to_bytes(4, "little" if rng.random() < 0.5 else "big") + raw[place + 4 :]


_DAMAGES = (_flip, _bit, _bit, _cut, _remove, _double, _insert, _number, _number)
