"""The error with which an import is refused."""

import re
from pathlib import Path

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class IngestError(Exception):
    """Input that cannot become a corpus; the message is one sentence with file, line and cause.

    Attributes
    ----------
    where : str
        The file or folder (for a member of a zip file: ``archive.zip/member.txt``).
    line : int or None
        Line of the file, counted from 1, where there is one to name.
    cause : str
        What is wrong and what to do; options stand in it as they are typed, ``--min-df``.
    """

    def __init__(self, where: str | Path, cause: str, line: int | None = None) -> None:
        self.where, self.line, self.cause = _write_one_line(str(where)), line, _write_one_line(cause)
        super().__init__(
            f"{self.where}: {self.cause}" if line is None else f"{self.where}, line {line:,}: {self.cause}"
        )


def _write_one_line(text: str) -> str:
    """Return a text with its control characters, which names of files may have, as Python escapes."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
