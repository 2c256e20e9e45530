"""Words that the code, its messages and the guide do not use."""

import io
import re
import tokenize

import pytest

from tests.samples.sources import ROOT, Source, sources

UNUSED = re.compile(
    r"\b(?:somebody|whoever|anew|beside|nobody told|as it stands|say it of|what came in, said|of the house|each his)\b",
    re.IGNORECASE,
)


def test_no_source_uses_them():
    found = [
        f"{source.path}:{number} {match.group()}"
        for source in sources()
        for number, text in words_of(source)
        for match in UNUSED.finditer(text)
    ]
    assert found == []


@pytest.mark.parametrize("page", [*sorted((ROOT / "assets" / "guide").glob("*.md")), ROOT / "README.md"], ids=str)
def test_no_page_of_the_guide_uses_them(page):
    lines = page.read_text(encoding="utf-8").splitlines()
    assert [f"{number} {line}" for number, line in enumerate(lines, 1) if UNUSED.search(line)] == []


def words_of(source: Source) -> list[tuple[int, str]]:
    """Return the comments and texts of a module, docstrings among them, with their lines."""
    tokens = tokenize.generate_tokens(io.StringIO(source.text).readline)
    return [(token.start[0], token.string) for token in tokens if token.type in (tokenize.COMMENT, tokenize.STRING)]
