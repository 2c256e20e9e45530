"""The text of subtitles: SubRip (.srt), WebVTT (.vtt) and YouTube's .sbv, without times, numbers and marks."""

import re
from html import unescape

KINDS = (".srt", ".vtt", ".sbv")

_CLOCK = r"(?:[0-9]+:)?[0-9]{1,2}:[0-9]{2}[.,][0-9]{1,3}"
_TIMES = re.compile(rf"\s*{_CLOCK}\s*(?:-+>|,)\s*{_CLOCK}(?:\s.*)?")
_BLOCK = re.compile(r"(?:NOTE|STYLE|REGION)(?:\s|$)")
_SPEAKER = re.compile(r"<v(?:\.[^\s<>]*)?\s+([^<>]{1,200})>")
_MARK = re.compile(r"<[^<>\n]{0,300}>|\{\\[^{}\n]{0,300}\}|\{[A-Za-z]:[^{}\n]{0,100}\}")


def read_subtitles(text: str) -> str:
    r"""Return the lines that are spoken, those of rolling captions once.

    >>> read_subtitles("1\n00:01,000 --> 00:02,000\n<i>The ferry</i>\n\n2\n00:02,000 --> 00:03,000\nwas late.")
    'The ferry\nwas late.'
    """
    said: list[str] = []
    shown: list[str] = []  # lines of the cue before
    for cue in _split_cues(text.splitlines()):
        lines = [line for each in cue if (line := _strip_marks(each))]
        fresh = lines
        for size in range(min(len(shown), len(lines)), 0, -1):
            if shown[-size:] == lines[:size]:
                fresh = lines[size:]
                break
        said += fresh
        shown = lines or shown
    return "\n".join(said)


def _split_cues(lines: list[str]) -> list[list[str]]:
    """Return the lines below each line of times, up to the next one without its number or name."""
    starts = [place for place, line in enumerate(lines) if _TIMES.fullmatch(line)]
    if not starts:
        return [lines]
    cues = []
    for start, end in zip(starts, [*starts[1:], len(lines) + 1], strict=True):
        cue = lines[start + 1 : end]
        if end <= len(lines) and cue and (cue[-1].strip().isdecimal() or (len(cue) > 1 and not cue[-2].strip())):
            cue = cue[:-1]  # the number or name of the next one
        cues.append(_drop_blocks(cue))
    return cues


def _drop_blocks(lines: list[str]) -> list[str]:
    """Return lines without remarks, styles and regions of WebVTT, which stand between cues."""
    for place, line in enumerate(lines):
        if _BLOCK.match(line) and place and not lines[place - 1].strip():
            return lines[:place]
    return lines


def _strip_marks(line: str) -> str:
    """Return a line without its marks; who speaks stands before it."""
    return " ".join(unescape(_MARK.sub("", _SPEAKER.sub(r"\1: ", line))).split())
