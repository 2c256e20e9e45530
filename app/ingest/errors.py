"""The one way in which an import is refused."""

from pathlib import Path


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
        self.where, self.line, self.cause = str(where), line, cause
        super().__init__(f"{where}: {cause}" if line is None else f"{where}, line {line:,}: {cause}")
