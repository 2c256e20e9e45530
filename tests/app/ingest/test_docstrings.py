"""Docstrings are found in code that never runs, and read as prose."""

import importlib.util
import py_compile
import sys
from pathlib import Path

import pytest

from topiary.app.ingest import docstrings
from topiary.app.ingest.docstrings import Docstring, Package, extract_prose

SOURCE = '''
"""Trees that grow in gardens, and in \\d everything between them: a module about trees."""

class AppleTree:
    """A tree that bears apples."""

    def pick_apple(self):
        """Pick one apple from the tree."""

        def inner():
            """Nobody sees this."""

try:
    pass
except ImportError:
    async def shake():
        """Shake the tree until all apples fall."""

class Bare:
    __doc__ = AppleTree.__doc__
    text = "not a docstring"

raise RuntimeError("this module must never run")

def bare():
    pass
'''

DOCSTRING = """Read a DataFrame from read_csv output.

Parameters
----------
path : str
    Where the HTTPServer keeps it.

.. versionadded:: 1.2

>>> secret = 1
>>> print(secret)
hidden output

Use it like this::

    unseen = code()

    more_unseen()

Then see :class:`TextReader`.

.. code-block:: python

    invisible()

```
fenced
```
Last words."""


def made(tmp_path: Path, text: str = SOURCE) -> Package:
    folder = tmp_path / "orchard"
    folder.mkdir()
    (folder / "__init__.py").write_text(text, encoding="utf-8")
    return Package("orchard", tmp_path, (folder / "__init__.py",))


def test_docstrings_are_found_without_running_the_module(tmp_path: Path) -> None:
    found = list(docstrings.read_docstrings(made(tmp_path)))
    assert [(each.kind, each.name) for each in found] == [
        ("module", ""), ("class", "AppleTree"), ("function", "AppleTree.pick_apple"), ("function", "shake"),
    ]  # fmt: skip
    assert {each.module for each in found} == {"orchard"}
    assert found[1].text == "A tree that bears apples."


def test_compiled_code_is_read_only_while_it_is_as_new_as_its_source(tmp_path: Path) -> None:
    text = SOURCE.replace("\\d", "all")
    package = made(tmp_path, text)
    found = list(docstrings.read_docstrings(package))
    py_compile.compile(str(package.files[0]))
    compiled = Path(importlib.util.cache_from_source(package.files[0]))
    assert list(docstrings.read_docstrings(package)) == found
    package.files[0].write_text(text.replace("bears apples", "has fallen"), encoding="utf-8")
    assert list(docstrings.read_docstrings(package))[1].text == "A tree that has fallen."
    py_compile.compile(str(package.files[0]))
    compiled.write_bytes(compiled.read_bytes().replace(b"has fallen", b"has hidden"))
    assert list(docstrings.read_docstrings(package))[1].text == "A tree that has hidden."
    compiled.write_bytes(compiled.read_bytes()[:10])
    assert list(docstrings.read_docstrings(package))[1].text == "A tree that has fallen."
    assert compiled.stat().st_size == 10


@pytest.mark.parametrize("text", ["def broken(:\n", "\0", "print 'Python 2'", "x = '\\"])
def test_a_source_that_cannot_be_parsed_is_passed_over(text: str, tmp_path: Path) -> None:
    assert list(docstrings.read_docstrings(made(tmp_path, text))) == []


def test_prose_keeps_sentences_and_splits_identifiers_but_drops_code_and_markup() -> None:
    request = """Read a Data Frame from read csv output. path : str Where the HTTP Server keeps it.
    Use it like this Then see Text Reader`. Last words."""
    assert extract_prose(DOCSTRING).replace("_", " ").split() == request.split()


def test_short_and_repeated_docstrings_are_left_out(tmp_path: Path) -> None:
    long = "apple trees bear fruit when bees come by " * 5
    text = "".join(f'def f{n}():\n    """{content}"""\n' for n, content in enumerate((long, long, "short")))
    found, counted = docstrings.collect_docstrings([made(tmp_path, text)], lambda *_: None)
    assert [each.name for each in found] == ["f0"]
    assert list(counted) == [found[0].text]


def test_packages_take_turns_and_have_a_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = []
    for label in ("one", "two"):
        files = []
        for n in range(6):
            path = tmp_path / label / f"{n}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(f'"""{label} {n} {"tree bears fruit " * 20}"""')
            files.append(path)
        packages.append(Package(label, tmp_path, tuple(files)))
    monkeypatch.setattr(docstrings, "MOST", 7)
    found, _ = docstrings.collect_docstrings(packages, lambda *_: None)
    assert sorted(each.package for each in found) == ["one"] * 4 + ["two"] * 4
    monkeypatch.setattr(docstrings, "MOST_OF_ONE", 2)
    found, _ = docstrings.collect_docstrings(packages, lambda *_: None)
    assert len(found) == 4


def test_tests_and_copies_of_other_packages_are_not_read() -> None:
    paths = [path for package in docstrings.list_packages() for path in package.files]
    assert paths
    for path in paths:
        names = {
            part.lower() for part in path.relative_to(sys.prefix if path.is_relative_to(sys.prefix) else "/").parts
        }
        assert not names & {"tests", "_vendor", "idlelib", "lib2to3"}
        assert not path.name.startswith("test_")


def test_the_same_installation_gives_the_same_packages() -> None:
    assert docstrings.list_packages() == docstrings.list_packages()


def test_what_is_counted_includes_the_name() -> None:
    words = docstrings.join_words(Docstring("p", "p.m", "AppleTree.pick_fruit", "function", "Takes it."))
    assert words.split() == ["apple", "tree.pick_fruit", "takes", "it."]
