"""The exception for input that cannot be imported, and phrases of sentences about inputs."""

import re
from collections.abc import Sequence
from pathlib import Path

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
NO_MEMORY = "needs more memory than this machine has free; import a part of it, or close other programs"


class IngestError(Exception):
    """Raised for input that cannot become a corpus; the message is one sentence with file, line and cause.

    Attributes
    ----------
    where : str
        The file or folder; a member of a zip file is written ``archive.zip/member.txt``.
    line : int or None
        Line of the file, counted from 1; None where no line can be named.
    cause : str
        What is wrong and what to do; options are written as flags, such as ``--min-df``.
    """

    def __init__(self, where: str | Path, cause: str, line: int | None = None) -> None:
        self.where, self.line, self.cause = _escape_controls(str(where)), line, _escape_controls(cause)
        super().__init__(
            f"{self.where}: {self.cause}" if line is None else f"{self.where}, line {line:,}: {self.cause}"
        )


def _escape_controls(text: str) -> str:
    """Replace control characters, which file names may contain, by Python escapes."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def plural(n: int, one: str, several: str = "") -> str:
    """Return a number and what there is of it: in the singular, or in the plural, which by default ends in s.

    >>> plural(1, "row has", "rows have"), plural(2, "row has", "rows have"), plural(1_000, "word")
    ('1 row has', '2 rows have', '1,000 words')
    """
    return f"{n:,} {one if n == 1 else several or one + 's'}"


def list_some(names: Sequence[str], most: int) -> str:
    """Return the first of some names, separated by commas, and a sign that there are more.

    >>> list_some(["a", "b", "c"], 2), list_some(["a", "b"], 2)
    ('a, b …', 'a, b')
    """
    return ", ".join(names[:most]) + (" …" if len(names) > most else "")
