"""``import topiary``: fast, typed, and one sentence when a file of the user's is in the way."""

import subprocess
import sys
from pathlib import Path

import pytest
import topiary

HEAVY = ("numba", "panel", "bokeh", "pandas", "sklearn", "holoviews", "sqlalchemy", "scipy")
LOADED = f"import sys, topiary; print([name for name in {HEAVY} if name in sys.modules])"
USES = {
    "import": ["-c", "import topiary; topiary.open('s.db')"],
    "from": ["-c", "from topiary import DLDA"],
    "command": ["-c", "import sys; from topiary.__main__ import main; sys.exit(main())"],
    "module": ["-m", "topiary", "runs"],
}


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


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", ["app", "engine", "store"])
def test_a_file_of_the_user_in_our_way_is_named_in_one_sentence(tmp_path, name, use):
    (tmp_path / f"{name}.py").write_text("", encoding="utf-8")
    _refused(python(tmp_path, *USES[use]), f"the file {tmp_path / name}.py hides the package {name!r} of Topiary", use)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", ["app", "engine", "store"])
def test_a_package_of_the_user_in_our_way_is_named_too(tmp_path, name, use):
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("", encoding="utf-8")
    _refused(python(tmp_path, *USES[use]), f"the folder {tmp_path / name} hides the package {name!r} of Topiary", use)


def test_a_script_called_like_a_package_of_ours_says_so(tmp_path):
    (tmp_path / "app.py").write_text("import topiary\ntopiary.open('s.db')\n", encoding="utf-8")
    _refused(python(tmp_path, "app.py"), f"the file {tmp_path / 'app.py'} hides the package 'app' of Topiary", "import")


def test_a_folder_without_code_is_in_the_way_only_where_it_is_found_before_ours(tmp_path):
    """Python takes a regular package from anywhere on its path before such a folder."""
    (tmp_path / "store").mkdir()
    found = python(tmp_path, "-m", "topiary", "runs", "--store", str(tmp_path / "s.db"))
    assert found.returncode == 2
    assert "AttributeError" not in found.stderr
    assert len(found.stderr.splitlines()) == 1


def test_the_module_is_the_command(tmp_path):
    found = python(tmp_path, "-m", "topiary", "--help")
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.startswith("usage: topiary ")


def _refused(found, sentence, use):
    report = found.stderr.splitlines()
    assert sentence in report[-1]
    assert "rename it" in report[-1]
    if use in ("command", "module"):
        assert (found.returncode, len(report)) == (2, 1)
        assert report[0].startswith("topiary: ")
    else:
        assert found.returncode == 1
        assert report[-1].startswith("topiary.ShadowedError: ")
