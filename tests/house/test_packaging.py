"""What lies in the repository, and that all of it that matters arrives where Topiary is installed."""

import itertools
import os
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.samples.sources import ROOMS, ROOT, imports, sources

TOP = {"pyproject.toml", "README.md", "app", "engine", "store", "tests", "assets"}
BUILT = {"build", "dist", "htmlcov", "__pycache__"}  # left by installing or testing; git ignores them
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FIND = """
import pathlib, sys
from topiary.app import machine
from topiary.engine import models
here = pathlib.Path(sys.argv[1]).resolve()
assert pathlib.Path(machine.__file__).is_relative_to(here), machine.__file__
for name in ("guide", "guide/index.md", "css", "js/tree.js", "icons", "fonts"):
    assert machine.find_asset(name).resolve().is_relative_to(here / "topiary" / "assets"), name
print(",".join(models.list_names()))
"""


EXTRAS = (
    "parquet",
    "zst",
    "asian",
    "lemmas",
    "cluster",
    "bridges",
    "names",
)  # without them the readers say how to get them


def test_the_top_of_the_repository_holds_nothing_but_the_rooms():
    here = {path.name for path in ROOT.iterdir() if not path.name.startswith(".") and path.suffix != ".egg-info"}
    assert here - BUILT == TOP


def test_every_package_listed_is_there_and_every_package_there_is_listed():
    setup = PROJECT["tool"]["setuptools"]
    places = {name: find_place(name, setup["package-dir"]) for name in setup["packages"]}
    missing = [name for name, folder in places.items() if not (folder / "__init__.py").is_file()]
    assert missing == []
    folders = {path.parent for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    assert folders - set(places.values()) == set()


def find_place(name: str, places: dict[str, str]) -> Path:
    """The folder of a package: that of the nearest package above it with a place of its own, and below."""
    parts = name.split(".")
    above = next(".".join(parts[:n]) for n in range(len(parts), 0, -1) if ".".join(parts[:n]) in places)
    return ROOT / places[above] / name.removeprefix(above).removeprefix(".").replace(".", "/")


def test_every_import_from_outside_is_a_declared_dependency():
    names = {"sklearn": "scikit-learn", "markdown_it": "markdown-it-py", "panel_material_ui": "panel-material-ui"}
    names |= {"charset_normalizer": "charset-normalizer", "dateutil": "python-dateutil", "yaml": "pyyaml"}
    names |= {"arviz_stats": "arviz-stats", "arviz_base": "arviz-base"}
    extras = PROJECT["project"]["optional-dependencies"]
    needed = [*PROJECT["project"]["dependencies"], *itertools.chain(*(extras[name] for name in EXTRAS))]
    declared = {requirement.partition(">")[0].partition("[")[0] for requirement in needed}
    found = {each.module.partition(".")[0] for source in sources() for each in imports(source)}
    outside = found - set(sys.stdlib_module_names) - set(ROOMS) - {"__future__", "topiary"}
    assert {names.get(name, name) for name in outside} - declared - {"tomotopy"} == set()


def test_the_wheel_brings_one_package_and_nothing_else_to_the_top(installed):
    names = {path.name for path in installed.iterdir() if path.suffix != ".dist-info"}
    assert names == {"topiary"}


def test_the_wheel_holds_every_module_and_every_asset(installed):
    request = {path.relative_to(ROOT) for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    library = {path for path in request if path.is_relative_to("app/library")}
    request = request - library | {path.relative_to("app/library") for path in library} | {Path("py.typed")}
    assets = (ROOT / "assets").rglob("*")
    request |= {path.relative_to(ROOT) for path in assets if path.is_file() and "__pycache__" not in path.parts}
    assert {path for path in request if not (installed / "topiary" / path).is_file()} == set()


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


TRAIN = """
import app, engine, store
import topiary

texts = ["apple pear plum apple fig", "saw hammer nail saw drill"] * 20
with topiary.open("topics.db") as opened:
    run = opened.train(opened.import_corpus(texts, name="fruit"), layers=(3, 2), minibatches=3, wait=True)
    print(run.state, topiary.__file__, app.mine, engine.mine, store.mine)
"""


def test_a_project_with_modules_called_like_our_folders_trains_from_an_installed_topiary(installed, tmp_path):
    """The modules of the user are found first; the worker, a process of its own, finds Topiary all the same."""
    (tmp_path / "store").mkdir()
    for name in ("app.py", "engine.py", "store/__init__.py"):
        (tmp_path / name).write_text("mine = True\n", encoding="utf-8")
    (tmp_path / "train.py").write_text(TRAIN, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(installed)}
    command = [sys.executable, "train.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, check=False, capture_output=True, text=True)
    assert done.stdout.split() == ["finished", str(installed / "topiary" / "__init__.py"), "True", "True", "True"], (
        done.stderr
    )
    command = [sys.executable, "-m", "topiary", "runs", "--store", "topics.db"]
    listed = subprocess.run(command, cwd=tmp_path, env=environment, check=False, capture_output=True, text=True)
    assert (listed.returncode, listed.stderr) == (0, "")
    assert "finished" in listed.stdout
