"""An installation, for the tests of what is installed and of who imports whom."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.samples.sources import ROOMS, ROOT

BUILD = "import sys, setuptools.build_meta as backend; backend.build_wheel(sys.argv[1])"


@pytest.fixture(scope="session")
def installed(tmp_path_factory) -> Path:
    """A folder with what the wheel holds, built from a copy so that nothing is left in the tree."""
    copy, wheels, folder = (tmp_path_factory.mktemp(name) for name in ("copy", "wheels", "installed"))
    for name in ("pyproject.toml", "README.md", "assets", *ROOMS):
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
