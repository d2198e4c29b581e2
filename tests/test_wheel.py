"""The package as it is shipped: a wheel that runs without a compiler, and one made where there is none."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.long("wheels")
ROOT = Path(__file__).parents[1]
SMOKE = ROOT / "tests" / "support" / "smoke.py"


def built(folder, **environment):
    """The files of a wheel made from a copy of the sources, which must not find what was built before."""
    source = folder / "source"
    source.mkdir(parents=True)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(
        ROOT / "src", source / "src", ignore=shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info")
    )
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run(
        [*command, "--disable-pip-version-check", "--wheel-dir", str(folder), str(source)],
        check=True,
        capture_output=True,
        env=os.environ | environment,
    )
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "installed")
    return folder / "installed"


def smoke(installed):
    """What the package says of its verbs after a little of everything, where no compiler can be found."""
    done = subprocess.run(
        [sys.executable, "-P", str(SMOKE), str(installed)],
        cwd=installed,
        env={"PATH": "", "PYTHONPATH": str(installed), "HOME": str(installed), "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler here")
def test_a_wheel_runs_without_a_compiler(tmp_path):
    installed = built(tmp_path, NOISEWISE_CFLAGS="-O0")  # what is tested is not how fast it is
    assert list(installed.glob("noisewise/core/native/_verbs*"))
    assert (installed / "noisewise" / "py.typed").exists()
    assert list(installed.glob("noisewise/data/*.csv"))
    assert "compiled verbs" in smoke(installed)


def test_without_a_compiler_the_package_is_installed_and_runs_on_numpy(tmp_path):
    installed = built(tmp_path, CC=str(tmp_path / "no-compiler"))
    assert not list(installed.glob("noisewise/core/native/_verbs*"))
    assert "NumPy verbs: the compiled ones were not built" in smoke(installed)
