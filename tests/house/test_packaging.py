"""What lies in the repository, and that all of it that matters arrives where Topiary is installed."""

import itertools
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from sources import ROOMS, ROOT, imports, sources

TOP = {"pyproject.toml", "README.md", "app", "engine", "store", "tests", "assets"}
BUILT = {"build", "dist", "htmlcov", "__pycache__"}  # left by installing or testing; git ignores them
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
BUILD = "import sys, setuptools.build_meta as backend; backend.build_wheel(sys.argv[1])"
FIND = """
import pathlib, sys
import app.machine, engine.models, store.tables
here = pathlib.Path(sys.argv[1]).resolve()
assert pathlib.Path(app.machine.__file__).is_relative_to(here), app.machine.__file__
for name in ("guide", "guide/index.md", "css", "js/tree.js", "icons", "fonts"):
    assert app.machine.find_asset(name).resolve().is_relative_to(here / "app" / "assets"), name
print(",".join(engine.models.list_names()))
"""


EXTRAS = ("parquet", "zst", "asian", "lemmas", "cluster", "bridges")  # without them the readers say how to get them


def test_the_top_of_the_repository_holds_nothing_but_the_rooms():
    here = {path.name for path in ROOT.iterdir() if not path.name.startswith(".") and path.suffix != ".egg-info"}
    assert here - BUILT == TOP


def test_every_package_listed_is_there_and_every_package_there_is_listed():
    setup = PROJECT["tool"]["setuptools"]
    places = {name: ROOT / setup["package-dir"].get(name, name.replace(".", "/")) for name in setup["packages"]}
    places |= {"app.assets.guide": ROOT / "assets" / "guide"}
    missing = [name for name, folder in places.items() if not (folder / "__init__.py").is_file()]
    assert missing == []
    folders = {path.parent for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    assert folders - set(places.values()) == set()


def test_every_import_from_outside_is_a_declared_dependency():
    names = {"sklearn": "scikit-learn", "markdown_it": "markdown-it-py", "panel_material_ui": "panel-material-ui"}
    names |= {"charset_normalizer": "charset-normalizer", "dateutil": "python-dateutil", "yaml": "pyyaml"}
    names |= {"arviz_stats": "arviz-stats", "arviz_base": "arviz-base"}
    extras = PROJECT["project"]["optional-dependencies"]
    needed = [*PROJECT["project"]["dependencies"], *itertools.chain(*(extras[name] for name in EXTRAS))]
    declared = {requirement.partition(">")[0].partition("[")[0] for requirement in needed}
    found = {each.module.partition(".")[0] for source in sources() for each in imports(source)}
    outside = found - set(sys.stdlib_module_names) - set(ROOMS) - {"__future__"}
    assert {names.get(name, name) for name in outside} - declared - {"tomotopy"} == set()


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """A folder with what the wheel holds, built from a copy so that nothing is left in the tree."""
    copy, wheels, folder = (tmp_path_factory.mktemp(name) for name in ("copy", "wheels", "installed"))
    for name in TOP - {"tests"}:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, copy)
    built = subprocess.run(
        [sys.executable, "-c", BUILD, str(wheels)], cwd=copy, check=False, capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr[-3000:]
    (wheel,) = wheels.glob("topiary_explorer-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def test_the_wheel_brings_the_rooms_and_nothing_else_to_the_top(installed):
    names = {path.name for path in installed.iterdir() if path.suffix != ".dist-info"}
    assert names == {*ROOMS, "topiary"}


def test_the_wheel_holds_every_module_and_every_asset(installed):
    request = {path.relative_to(ROOT) for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    library = {path for path in request if path.is_relative_to("app/library")}
    request = request - library | {"topiary" / path.relative_to("app/library") for path in library}
    request.add(Path("topiary/py.typed"))
    assets = (ROOT / "assets").rglob("*")
    request |= {
        Path("app") / path.relative_to(ROOT) for path in assets if path.is_file() and "__pycache__" not in path.parts
    }
    assert {path for path in request if not (installed / path).is_file()} == set()


def test_an_installed_topiary_finds_its_assets_and_models(installed, tmp_path):
    environment = os.environ | {
        "PYTHONPATH": str(installed),
        "XDG_CACHE_HOME": str(tmp_path),
        "LOCALAPPDATA": str(tmp_path),
    }
    command = [sys.executable, "-P", "-c", FIND, str(installed)]
    found = subprocess.run(command, cwd=tmp_path, env=environment, check=False, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert "dlda" in found.stdout.strip().split(",")


def test_the_command_is_called_topiary(installed):
    (points,) = installed.glob("*.dist-info/entry_points.txt")
    assert "topiary = topiary.__main__:main" in points.read_text(encoding="utf-8")
