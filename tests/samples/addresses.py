"""What the address of a page says, for tests in a browser."""

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit


def says(**fields: object) -> Callable[[str], bool]:
    """Whether an address says these values; None is a field that has its default and so is not in it."""
    request = {name: None if value is None else str(value) for name, value in fields.items()}

    def check(url: str) -> bool:
        found = parse_qs(urlsplit(url).query, keep_blank_values=True)
        return all(found.get(name, [None])[0] == value for name, value in request.items())

    return check
