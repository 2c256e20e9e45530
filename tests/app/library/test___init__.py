"""``import topiary``: fast and typed."""

import subprocess
import sys
from pathlib import Path

import pytest

import topiary

HEAVY = ("numba", "panel", "bokeh", "pandas", "sklearn", "holoviews", "sqlalchemy", "scipy")
LOADED = f"import sys, topiary; print([name for name in {HEAVY} if name in sys.modules])"


def python(folder, *words):
    """Python run in a folder whose modules come first, as beside a script of the user's."""
    return subprocess.run([sys.executable, *words], cwd=folder, check=False, capture_output=True, text=True)


def test_importing_loads_nothing_heavy(tmp_path):
    found = python(tmp_path, "-c", LOADED)
    assert (found.returncode, found.stdout.strip()) == (0, "[]"), found.stderr


def test_every_name_is_told_of_and_loaded_when_it_is_used():
    names = [name for name in topiary.__all__ if name != "plots"]
    assert [name for name in names if getattr(topiary, name).__name__ != name] == []
    assert dir(topiary) == sorted(topiary.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'colour'"):
        _ = topiary.colour


def test_the_types_travel_with_it():
    assert (Path(topiary.__file__).parent / "py.typed").is_file()


def test_the_module_is_the_command(tmp_path):
    found = python(tmp_path, "-m", "topiary", "--help")
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.startswith("usage: topiary ")
