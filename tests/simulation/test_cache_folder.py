"""Machine code is read back from folders of one's own only: a cache is a pickle, and pickles run."""

import os
import stat
import warnings
from pathlib import Path

import pytest

from noisewise.policies.registry import rule_named
from noisewise.simulation.cache_folder import private_folder
from noisewise.simulation.compilation import cache_directory

SOMEBODY_ELSE = 12345
needs_owners = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="folders have no owners here")
needs_root = pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() != 0, reason="only root may give away")


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@needs_owners
def test_new_folders_are_for_their_owner_alone(tmp_path, monkeypatch):
    before = os.umask(0o000)
    try:
        monkeypatch.setenv("NOISEWISE_CACHE_DIR", str(tmp_path / "new"))
        os.umask(0o022)
        folder = cache_directory(rule_named("vaee"))
    finally:
        os.umask(before)
    assert folder is not None
    assert mode_of(folder) == mode_of(folder.parent) == 0o700


@needs_owners
@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777])
@pytest.mark.parametrize("place", ["noisewise", "noisewise/hash"])
def test_a_folder_that_others_may_write_to_is_not_used(tmp_path, place, mode):
    (tmp_path / "noisewise" / "hash").mkdir(parents=True, mode=0o700)
    (tmp_path / "noisewise").chmod(0o700)
    (tmp_path / place).chmod(mode)
    with pytest.warns(UserWarning, match="may be written to by others, and what is read from a cache is"):
        assert private_folder(tmp_path, "noisewise", "hash") is None


@needs_owners
def test_a_place_where_others_may_exchange_folders_is_not_used(tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o777)
    with pytest.warns(UserWarning, match="'.*shared' may be written to by others"):
        assert private_folder(tmp_path / "shared", "noisewise") is None
    (tmp_path / "shared").chmod(0o1777)  # like /tmp: what is ours stays ours
    assert private_folder(tmp_path / "shared", "noisewise") is not None


@needs_root
@pytest.mark.parametrize("place", ["noisewise", "noisewise/hash", "noisewise/hash/sub/loop.nbi"])
def test_what_belongs_to_somebody_else_is_not_used(tmp_path, place):
    (tmp_path / "noisewise" / "hash" / "sub").mkdir(parents=True)
    (tmp_path / "noisewise" / "hash" / "sub" / "loop.nbi").write_bytes(b"")
    os.chown(tmp_path / place, SOMEBODY_ELSE, SOMEBODY_ELSE)
    with pytest.warns(UserWarning, match=f"belongs to another user \\(number {SOMEBODY_ELSE}\\)"):
        assert private_folder(tmp_path, "noisewise", "hash") is None


def test_a_place_that_cannot_be_written_to_is_no_cache_and_no_warning(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert private_folder(tmp_path / "file", "noisewise") is None
    assert isinstance(private_folder(tmp_path, "noisewise"), Path)
