"""How large each part of the program is, against the table in the guide: growth is a decision."""

import ast
import re

import pytest
from sources import ROOT, Source, nodes, sources

PARTS = {"app/ingest": "app/ingest/", "app, without ingest": "app/", "engine": "engine/", "store": "store/"}


def list_part(place: str) -> list[Source]:
    """The modules of a part that are not empty."""
    room = place.partition("/")[0]
    inner = [each for each in PARTS.values() if each != place and each.startswith(place)]
    found = [each for each in sources(room) if each.path.startswith(place)]
    return [each for each in found if count_lines(each) and not each.path.startswith(tuple(inner))]


def count_lines(source: Source) -> int:
    """The lines of code of a module, without those that are blank, a comment or a docstring."""
    skipped: set[int] = set()
    for node in nodes(source):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if documented and ast.get_docstring(node, clean=False) is not None:
            text = node.body[0]
            skipped |= set(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    lines = enumerate(source.text.splitlines(), 1)
    return sum(1 for n, line in lines if n not in skipped and line.strip() and not line.lstrip().startswith("#"))


def read_row(part: str) -> tuple[int, int]:
    """The files and lines that the guide allows a part."""
    guide = (ROOT / "assets" / "guide" / "contributing.md").read_text(encoding="utf-8")
    row = re.search(rf"^\| `?{re.escape(part)}`? \| ([\d,]+) \| ([\d,]+) \|$", guide, re.M)
    assert row, f"contributing.md has no row for {part}"
    files, lines = (int(each.replace(",", "")) for each in row.groups())
    return files, lines


@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_the_program_has_no_more_files_and_lines_than_the_guide_allows(part):
    files, lines = read_row(part)
    found = list_part(PARTS[part])
    assert len(found) <= files
    assert sum(map(count_lines, found)) <= lines


def test_the_templates_have_no_more_files_and_lines_than_the_guide_allows():
    files, lines = read_row("assets/templates")
    found = [path.read_text(encoding="utf-8").splitlines() for path in (ROOT / "assets" / "templates").glob("*.html")]
    assert 0 < len(found) <= files
    assert sum(map(len, found)) <= lines
