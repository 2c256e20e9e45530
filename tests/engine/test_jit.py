"""Where compiled kernels are kept: in a folder that nobody else can put anything into."""

import os
import stat

import pytest

from engine import jit

pytestmark = pytest.mark.skipif(os.name != "posix", reason="rights of this kind are those of POSIX")


@pytest.fixture(autouse=True)
def _usual_rights():
    before = os.umask(0o002)
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_the_folder_is_open_to_its_owner_only_whatever_the_umask(tmp_path):
    folder = jit.private_folder(tmp_path / "cache", "kernels", "abc")
    assert folder == tmp_path / "cache" / "topiary" / "kernels" / "abc"
    assert [mode(each) for each in (folder, folder.parent, folder.parent.parent)] == [0o700] * 3


def test_a_folder_that_others_could_read_is_closed_and_used(tmp_path):
    (tmp_path / "topiary" / "kernels" / "abc").mkdir(parents=True)
    for path in ("topiary", "topiary/kernels", "topiary/kernels/abc"):
        (tmp_path / path).chmod(0o755)
    folder = jit.private_folder(tmp_path, "kernels", "abc")
    assert folder.parts[-3] == "topiary"
    assert mode(folder) == 0o700


@pytest.mark.parametrize("open_part", ["topiary", "topiary/kernels", "topiary/kernels/abc"])
@pytest.mark.parametrize("rights", [0o775, 0o1777])
def test_a_folder_that_others_could_write_to_is_left_alone(tmp_path, open_part, rights):
    folder = tmp_path / "topiary" / "kernels" / "abc"
    folder.mkdir(parents=True, mode=0o755)
    for each in (folder, folder.parent, folder.parent.parent):
        each.chmod(0o755)
    (tmp_path / open_part).chmod(rights)
    found = jit.private_folder(tmp_path, "kernels", "abc")
    assert found == tmp_path / "topiary-private" / "kernels" / "abc"
    assert mode(tmp_path / open_part) == rights


def test_a_folder_of_another_user_or_a_link_is_left_alone(tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (tmp_path / "topiary").symlink_to(elsewhere)
    assert jit.private_folder(tmp_path, "kernels").parts[-2] == "topiary-private"
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    found = jit.private_folder(tmp_path, "kernels")
    assert found == tmp_path / "topiary" / "kernels"
    assert not jit.is_private(found)
