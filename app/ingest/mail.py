"""Mail and news: the lines of headers, what is quoted of others, and the signature, taken away."""

import re

# What a header begins with; a block is one when its first line and one in two of the others do.
_HEADER = re.compile(
    r"(?:>?from|to|cc|bcc|reply-to|sender|subject|date|sent|received|return-path|message-id|in-reply-to|references|"
    r"newsgroups|path|organi[sz]ation|lines|distribution|followup-to|keywords|summary|expires|approved|mime-version|"
    r"content-[a-z-]+|article-i\.d\.|nntp-posting-[a-z-]+|user-agent|importance|priority|delivered-to|list-[a-z-]+|"
    r"x-[a-z0-9-]+|originator|xref)\s*:|from \S+@\S+ ",
    re.IGNORECASE,
)
_SUBJECT = re.compile(r"subject\s*:\s*(?:(?:re|fwd?|aw|wg)\s*:\s*)*", re.IGNORECASE)
_QUOTED = re.compile(r"\s*(?:>|\||[A-Za-z]{0,4}>)")
_ANNOUNCED = re.compile(
    r"(?:in (?:article|message) <|(?:on .{6,80}, )?.{1,120}\b(?:writes|wrote|said|schrieb|a écrit|escribió|ha scritto)"
    r"\s*:\s*$|-+ ?original message ?-+\s*$|-+ ?forwarded (?:message|by) ?)",
    re.IGNORECASE,
)
_SIGNATURE = re.compile(r"--\s*$")
_MOST_OF_SIGNATURE = 15  # lines


def without_mail(text: str) -> str:
    r"""A text without headers (the words of the subject stay), quoted lines and signature.

    >>> without_mail("From: a@b.c\nSubject: Re: The comet\n\nBo writes:\n> bright?\nVery bright.\n-- \nAl, Inc.")
    'The comet\n\nVery bright.'
    """
    lines = _body(text.splitlines())
    kept = [line for line in _unsigned(lines) if not _QUOTED.match(line) and not _ANNOUNCED.match(line.strip())]
    return "\n".join(kept)


def _body(lines: list[str]) -> list[str]:
    """The lines without a block of headers at the beginning; its subject stays as a line."""
    start = next((place for place, line in enumerate(lines) if line.strip()), 0)
    end = next((place for place in range(start, len(lines)) if not lines[place].strip()), len(lines))
    block = [line for line in lines[start:end] if not line.startswith((" ", "\t"))]
    headers = [line for line in block if _HEADER.match(line)]
    if len(headers) < 2 or not _HEADER.match(block[0]) or 2 * len(headers) < len(block):
        return lines
    subjects = [_SUBJECT.sub("", line) for line in block if _SUBJECT.match(line)]
    return [*subjects, *lines[end:]]


def _unsigned(lines: list[str]) -> list[str]:
    """The lines before the last one that is two dashes, where few follow it."""
    last = next((place for place in range(len(lines) - 1, -1, -1) if _SIGNATURE.match(lines[place])), None)
    return lines if last is None or len(lines) - last > _MOST_OF_SIGNATURE else lines[:last]
