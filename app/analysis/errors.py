"""The one error of everybody who reads results: pages, commands, the library, tables, figures and reports."""


class ReadError(ValueError):
    """What was asked for cannot be read or measured; the message is one sentence without a full stop."""
