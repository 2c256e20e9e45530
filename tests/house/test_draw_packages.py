"""The picture of the code in the chapter Contributing is the one drawn from the imports."""

import ast

from tests.house.draw_packages import PICTURE, draw_packages, link_packages
from tests.samples.sources import Source, sources


def test_the_picture_of_the_code_is_the_one_drawn_from_the_imports():
    drawn = draw_packages(sources())
    assert PICTURE.read_text(encoding="utf-8") == drawn, "run python -m tests.house.draw_packages"
    assert f"]({PICTURE.name})" in PICTURE.with_name("contributing.md").read_text(encoding="utf-8")


def test_a_new_import_between_packages_changes_the_picture():
    texts = {
        "app/__init__.py": '"""App."""',
        "app/views/__init__.py": '"""Views; pure."""',
        "app/views/tree.py": "import numpy",
        "app/paths.py": '"""Paths."""',
        "store/__init__.py": '"""Store."""',
    }

    def read(more: dict[str, str]) -> list[Source]:
        return [Source(path, text, ast.parse(text)) for path, text in (texts | more).items()]

    before, after = read({}), read({"app/views/tree.py": "def f():\n    from app import paths"})
    assert set(link_packages(before).edges) == set()
    assert set(link_packages(after).edges) == {("app.views", "app.paths")}
    assert draw_packages(before) != draw_packages(after)
    assert ">Views</text>" in draw_packages(before)
