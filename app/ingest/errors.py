"""The exception for input that cannot be imported."""

import re
from pathlib import Path

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


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
