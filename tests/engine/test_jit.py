"""Where compiled kernels are kept: in a private folder, under a digest of what is compiled."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from topiary.engine import jit

KERNEL = """
import sys
from topiary.engine.jit import compiled

@compiled
def add_one(x):
    '''Return x + 1.'''
    return x + 1

print(add_one(1), sum(add_one.stats.cache_hits.values()), "numba.np.linalg" in sys.modules)  # for the compiler
"""


@pytest.fixture
def copied_engine(tmp_path, monkeypatch):
    folder = tmp_path / "engine"
    shutil.copytree(jit.ENGINE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(jit, "ENGINE", folder)
    return folder


def digests(folder: Path) -> list[str]:
    jit._read_codes.cache_clear()
    return [jit.compute_kernel_digest(folder / "gibbs" / "upper.py"), jit._digest_files(sorted(folder.rglob("*.py")))]


def test_a_changed_docstring_or_comment_of_a_callee_compiles_nothing_again(copied_engine):
    before = digests(copied_engine)
    streams = copied_engine / "streams.py"
    _, _, code = streams.read_text().split('"""', 2)
    streams.write_text('"""Another sentence."""\n# a comment\n' + code)
    assert digests(copied_engine) == before


def test_a_changed_callee_in_a_module_imported_indirectly_compiles_again(copied_engine):
    gibbs = copied_engine / "gibbs"
    assert copied_engine / "streams.py" in jit.list_imported_files(gibbs / "upper.py")
    before = digests(copied_engine)
    streams = copied_engine / "streams.py"
    streams.write_text(streams.read_text() + "\nSTEP = 3\n")
    assert all(new != old for new, old in zip(digests(copied_engine), before, strict=True))


def test_a_change_in_a_module_that_a_kernel_does_not_import_leaves_it_alone(copied_engine):
    before = digests(copied_engine)
    unrelated = copied_engine / "quality" / "measures.py"
    unrelated.write_text(unrelated.read_text() + "\nSTEP = 3\n")
    after = digests(copied_engine)
    assert after[0] == before[0]
    assert after[1] != before[1]


def test_what_was_found_out_about_the_code_is_kept_until_a_file_changes(copied_engine, monkeypatch, tmp_path):
    monkeypatch.setattr(jit, "_FOLDER", tmp_path)
    monkeypatch.setattr(jit, "_CACHED", True)
    computed, compute = [], jit._compute_code
    monkeypatch.setattr(jit, "_compute_code", lambda source: computed.append(source) or compute(source))
    before = digests(copied_engine)
    assert len(computed) == len(set(computed)) > 50
    computed.clear()
    assert digests(copied_engine) == before
    assert computed == []
    (copied_engine / "streams.py").touch()
    assert digests(copied_engine) == before
    assert len(computed) > 50
    (kept,) = tmp_path.glob("code-*.json")
    kept.write_text("damaged")
    assert digests(copied_engine) == before


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_a_kernel_is_taken_from_the_cache_although_its_docstring_and_its_line_changed(tmp_path):
    def run(text: str) -> str:
        file = tmp_path / "kernel.py"
        file.write_text(text)
        done = subprocess.run([sys.executable, file], capture_output=True, text=True, check=True, env=environment)
        return done.stdout.strip()

    environment = {
        "XDG_CACHE_HOME": str(tmp_path), "LOCALAPPDATA": str(tmp_path), "HOME": str(tmp_path),
        "PYTHONPATH": str(jit.ENGINE.parent),
    }  # fmt: skip
    assert run(KERNEL) == "2 0 True"
    assert run("# moved down\n" + KERNEL.replace("Return x + 1", "Add one")) == "2 1 False"
    assert run(KERNEL.replace("return x + 1", "return x + 2")) == "3 0 True"


posix = pytest.mark.skipif(os.name != "posix", reason="rights of this kind are those of POSIX")


@pytest.fixture
def usual_rights():
    before = os.umask(0o002)
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@posix
@pytest.mark.usefixtures("usual_rights")
def test_the_folder_is_open_to_its_owner_only_whatever_the_umask(tmp_path):
    folder = jit.make_private_folder(tmp_path / "cache", "kernels", "abc")
    assert folder == tmp_path / "cache" / "topiary" / "kernels" / "abc"
    assert [mode(each) for each in (folder, folder.parent, folder.parent.parent)] == [0o700] * 3


@posix
@pytest.mark.usefixtures("usual_rights")
def test_a_folder_that_others_could_read_is_closed_and_used(tmp_path):
    (tmp_path / "topiary" / "kernels" / "abc").mkdir(parents=True)
    for path in ("topiary", "topiary/kernels", "topiary/kernels/abc"):
        (tmp_path / path).chmod(0o755)
    folder = jit.make_private_folder(tmp_path, "kernels", "abc")
    assert folder.parts[-3] == "topiary"
    assert mode(folder) == 0o700


@posix
@pytest.mark.usefixtures("usual_rights")
@pytest.mark.parametrize("open_part", ["topiary", "topiary/kernels", "topiary/kernels/abc"])
@pytest.mark.parametrize("rights", [0o775, 0o1777])
def test_a_folder_that_others_could_write_to_is_left_alone(tmp_path, open_part, rights):
    folder = tmp_path / "topiary" / "kernels" / "abc"
    folder.mkdir(parents=True, mode=0o755)
    for each in (folder, folder.parent, folder.parent.parent):
        each.chmod(0o755)
    (tmp_path / open_part).chmod(rights)
    found = jit.make_private_folder(tmp_path, "kernels", "abc")
    assert found == tmp_path / "topiary-private" / "kernels" / "abc"
    assert mode(tmp_path / open_part) == rights


@posix
@pytest.mark.usefixtures("usual_rights")
def test_a_folder_of_another_user_or_a_link_is_left_alone(tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (tmp_path / "topiary").symlink_to(elsewhere)
    assert jit.make_private_folder(tmp_path, "kernels").parts[-2] == "topiary-private"
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    found = jit.make_private_folder(tmp_path, "kernels")
    assert found == tmp_path / "topiary" / "kernels"
    assert not jit.is_private(found)
